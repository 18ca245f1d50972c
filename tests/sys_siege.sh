#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Floods, half-open handshakes, slow readers, giant requests, foreign orders and guessed ids, each beside a well-behaved
# client that must be served: nobody is locked out, memory stays within its budget, the box lives.
. tests/lib.sh
mkdir "$tmp/hosts"
mkdir "$tmp/state"
nw enroll -o "$tmp/hosts" dtn1 >/dev/null || fail enroll
[ "$(ulimit -n)" -ge 4096 ] || ulimit -n 4096 || skip "needs 4096 descriptors"
start_box -o listen-xsp-tls=127.0.0.1/0 -o listen-https=127.0.0.1/0 -o max-memory=64MiB -o handshake-timeout=20s -o http-answer-timeout=5s
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
https=$(sed -n 's/^https //p' "$tmp/state/narrowsd.run")
cat >"$tmp/siege.py" <<'PY'
# usage: siege.py XSP TLS HTTP HTTPS HOSTS_DIR STATE BOX_PID CASE
import os, socket, ssl, struct, sys, time
sys.path.insert(0, "tests")
import xsp
plain, tls, http, https, hosts, state, box, case = sys.argv[1:9]
place = lambda text: (text.split("/")[0], int(text.split("/")[1]))

def resident():
    for line in open("/proc/%s/status" % box):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024

def connect(to, source=None):
    s = socket.socket()
    if source:
        s.bind((source, 0))
    s.settimeout(5 * xsp.PATIENCE)
    s.connect(place(to))
    return s

def flood(to, first, n=300, addresses=("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")):
    """Connections from several addresses that send a beginning and no more."""
    out = []
    for i in range(n):
        for a in addresses:
            try:
                s = connect(to, a)
                s.sendall(first)
                out.append(s)
            except OSError:
                pass
    return out

def good():
    """A session over plain XSP, one over TLS, and a page: all within the patience of a user."""
    t = time.time()
    p = xsp.Peer(plain).open().hello("good-" + case, task_id="good-" + case, host="good")
    p.app(0x20, xsp.meta("m"))
    for i in range(10):
        p.app(0x21, xsp.data("m", i, 1700000000.0 + i, mean_r=0.5))
    assert p.until_stored(10, 10 * xsp.PATIENCE) == 10
    p.close()
    c = ssl.create_default_context(cafile=hosts + "/ca.crt")
    c.load_cert_chain(hosts + "/dtn1.crt", hosts + "/dtn1.key")
    c.check_hostname = False
    s = c.wrap_socket(connect(tls))
    s.sendall(xsp.auth(b"\1" * 16) + xsp.open_(b"\1" * 16))
    assert s.recv(4096), "no answer over TLS"
    s.close()
    s = connect(http)
    s.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert b" 200 " in s.recv(4096).split(b"\n")[0]
    return time.time() - t

def hold(sockets):
    took = good()
    for s in sockets:
        s.close()
    return took

def half_plain(): return hold(flood(plain, b"\x01\0\0\0"))
def half_tls(): return hold(flood(tls, b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"))
def half_https(): return hold(flood(https, b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 40))
def half_http(): return hold(flood(http, b"GET / HTTP/1.1\r\nHost: local", 40))

def slow_readers():
    out = []
    for i in range(60):
        s = connect(http, "127.0.0.%d" % (2 + i % 4))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        s.sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        out.append(s)
    return hold(out)

def giant_headers():
    out = []
    for i in range(8):
        s = connect(http, "127.0.0.2")
        try:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + (b"A: " + b"x" * 8000 + b"\r\n") * 500)
            s.sendall(b"GET /" + b"y" * 2000000)
        except OSError:
            pass
        out.append(s)
    return hold(out)

def giant_bodies():
    c = ssl._create_unverified_context()
    out = []
    for i in range(20):
        s = c.wrap_socket(connect(https, "127.0.0.2"))
        s.sendall(b"POST /enroll HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000000\r\n\r\n")
        try:
            s.sendall(b"z" * 200000)
        except OSError:
            pass
        out.append(s)
    return hold(out)

def many_ids():
    """One host under thousands of provider ids, each with series."""
    out = []
    for i in range(1500):
        p = xsp.Peer(plain).open().hello("id-%d" % i, task_id="ids-%d" % (i % 300), host="many")
        p.app(0x20, xsp.meta("m%d" % i))
        p.app(0x21, xsp.data("m%d" % i, 1, 1700000000.0, mean_r=1.0))
        if i % 4 == 0:
            out.append(p.s)
        else:
            p.s.close()
    return hold(out)

def unfinished():
    """Messages of megabytes that never end, from sessions that are open."""
    out = []
    for i in range(120):
        try:
            p = xsp.Peer(plain).open()
            p.s.sendall(xsp.frame(xsp.APP, xsp.block(0x99, b"w" * 900000, True) * 3, 4, p.sid))
            out.append(p.s)
        except OSError:
            pass
    return hold(out)

def orders():
    """What only the box may say, said by a provider; nonsense numbers of orders."""
    p = xsp.Peer(plain).open().hello("orders", task_id="orders", host="orders", can="start stop rate status clock")
    for option in (0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x8a, 0xff):
        for doc in ({}, {"id": "x" * 9000}, {"orders": "1 2 3", "collecting": "y" * 60000}, {"stored": 1 << 62}, {"id": "1", "event_type": "*"}):
            try:
                p.app(option, xsp.bson(doc))
            except OSError:
                p = xsp.Peer(plain).open().hello("orders", task_id="orders", host="orders")
    return hold([p.s])

def guessed():
    """Sessions of others by their numbers, labels and odd names."""
    out = []
    for name in ("1", "last", "good-half_plain", "xsp:" + "00" * 16, "../1", "", "\u202e", "%s%n", "'; DROP TABLE session; --", "x" * 5000):
        p = xsp.Peer(plain).open()
        try:
            p.hello("guess", task_id=name, host="guess")
            p.app(0x20, xsp.meta("m", task_id=name))
            p.app(0x21, xsp.data("m", 1, 1e300, mean_r=float("nan")))
        except OSError:
            pass
        out.append(p.s)
    return hold(out)

def pings():
    """Pings whose answers nobody reads."""
    out = []
    for i in range(50):
        s = connect(plain, "127.0.0.3")
        s.settimeout(0.2)
        try:
            for _ in range(400):
                s.sendall(xsp.ping_v0(b"\3" * 16) * 200)
        except OSError:
            pass
        out.append(s)
    return hold(out)

def resets():
    """Connections that are reset in every state."""
    for i in range(600):
        s = connect(plain if i % 2 else tls, "127.0.0.4")
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall((xsp.auth(b"\4" * 16) + xsp.open_(b"\4" * 16))[:i % 200 + 1])
        s.close()
    return hold([])

took = globals()[case]()
print("%-14s good client served in %.1f s, box at %.0f MiB" % (case, took, resident()))
assert took < 5 * xsp.PATIENCE, "served after %.1f s" % took
assert resident() < 64 + 160, "memory: %.0f MiB" % resident()
PY
for case in half_plain half_tls half_https half_http slow_readers giant_headers giant_bodies many_ids unfinished orders guessed pings resets; do
	python3 -B "$tmp/siege.py" "$xsp" "$tls" "$(echo "${url#http://}" | tr : /)" "$https" "$tmp/hosts" "$tmp/state" "$box" $case 2>"$tmp/err" ||
		fail "$case: $(tail -n 3 "$tmp/err")"
	kill -0 "$box" || fail "$case: the box died"
done
# another user of the machine has no say
[ "$(id -u)" != 0 ] || ! su -s /bin/sh nobody -c "$bin/narrows -s $tmp/state control all status" >/dev/null 2>&1 || fail "another user gives orders"
stop_box
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
[ "$(wc -c <"$tmp/box.log")" -lt 2000000 ] || fail "the log has $(wc -c <"$tmp/box.log") bytes"
echo "PASS sys_siege"
