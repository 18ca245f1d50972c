#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Clients with unfinished messages and idle connections take neither the master's memory nor the places of others.
. tests/lib.sh
. tests/dpss.sh
cd "$tmp"
mkdir master
start m "$bin/dpss-master" -s master
export DPSS_MASTER=127.0.0.1/$(cat m.port)
cat >flood.py <<'PY'
import resource, socket, struct, sys, threading, time
port, pid = int(sys.argv[1]), sys.argv[2]
patience = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
HELLO, FAILED, CREATE, PLACE, OPENED, LIST, SETS = 1, 2, 16, 19, 32, 20, 35
def check(ok, what):
    if not ok: sys.exit(what)
def text(t): return struct.pack(">H", len(t)) + t.encode()
def message(kind, body=b""): return struct.pack(">IH", len(body), kind) + body
def connect(address):
    s = socket.socket()
    s.settimeout(20 * patience)
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    s.sendall(message(HELLO, struct.pack(">HB", 1, 1)))
    return s
def whole(s, n):
    got = b""
    while len(got) < n:
        part = s.recv(n - len(got))
        if not part: raise ConnectionError("closed")
        got += part
    return got
def answer(s):
    while True:
        n, kind = struct.unpack(">IH", whole(s, 6))
        whole(s, n)
        if kind != 4: return kind
def is_closed(s):
    s.settimeout(20 * patience)
    try:
        while s.recv(65536): pass
    except ConnectionError: pass
    except socket.timeout: return False
    return True
def rss_mib():
    return [int(l.split()[1]) for l in open("/proc/%s/status" % pid) if l.startswith("VmRSS")][0] / 1024
def push(s, data):
    s.settimeout(3)
    try: s.sendall(data)
    except OSError: pass
sets = 0
def session(address):
    global sets
    sets += 1
    s = connect(address)
    s.sendall(message(CREATE, text("flood%d" % sets) + struct.pack(">IQ", 4096, 1 << 30) + layout))
    check(answer(s) == OPENED, "no session")
    return s
def serves():
    begun = time.monotonic()
    s = connect("127.0.0.1")
    s.sendall(message(LIST))
    check(answer(s) == SETS, "another client gets no answer")
    check(time.monotonic() - begun < 10 * patience, "another client waits for %.0f s" % (time.monotonic() - begun))
    return s
layout = bytes([1, 0])  # one copy, no parity

# a message that drips ends, though no byte is late
drip = connect("127.0.0.3")
drip.sendall(struct.pack(">IH", 1000, CREATE))
dripped = []
def dripping():
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < 60 * patience:
            drip.sendall(b"x")
            time.sleep(0.5)
    except OSError:
        dripped.append(time.monotonic() - begun)
dripper = threading.Thread(target=dripping, daemon=True)
dripper.start()

# without a right to any set: 15 MiB are refused by their length
some = [connect("127.0.0.2") for _ in range(200)]
for s in some[:20]: push(s, struct.pack(">IH", 15 << 20, PLACE) + bytes(1 << 20))
check(all(is_closed(s) for s in some[:20]), "a message of 15 MiB is read before a right is proved")
for s in some[20:]: push(s, struct.pack(">IH", 60000, CREATE) + bytes(59999))
check(rss_mib() < 150, "%.0f MiB by small messages" % rss_mib())
serves()
for s in some: s.close()

# with rights: lists of 1.9 MiB but for the last byte, by 200 connections of two addresses
some = [session("127.0.0.%d" % (2 + n % 2)) for n in range(200)]
pushers = [threading.Thread(target=push, args=(s, struct.pack(">IH", 1900000, PLACE) + bytes(1899999)), daemon=True) for s in some]
for p in pushers: p.start()
for p in pushers: p.join()
check(rss_mib() < 200, "%.0f MiB by unfinished lists" % rss_mib())
serves()
begun = time.monotonic()
mine = session("127.0.0.1")
mine.sendall(message(PLACE, struct.pack(">I", 20000) + b"".join(struct.pack(">QII", i, 2**32 - 1, 2**32 - 1) for i in range(20000))))
check(answer(mine) == FAILED, "a long list of another address is not answered")
check(time.monotonic() - begun < 10 * patience, "a long list of another address waits for %.0f s" % (time.monotonic() - begun))
for s in some: s.close()
dripper.join(40 * patience)
check(dripped, "a dripping message goes on")

# idle connections of five addresses take no place of a sixth
some = [connect("127.0.0.%d" % (10 + n % 5)) for n in range(1270)]
keep = [serves() for _ in range(20)]
time.sleep(1)
for s in keep:
    s.sendall(message(LIST))
    check(answer(s) == SETS, "a connection with few neighbours lost its place")
print("largest %.0f MiB" % rss_mib())
PY
python3 -B flood.py "$(cat m.port)" "$(cat m.pid)" "$PATIENCE" || fail "flood"
kill -0 "$(cat m.pid)" || fail "the master ended: $(cat m.err)"
