#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A full disk, then a size ceiling that only pinned rows stand under: the box keeps what it has, stops acknowledging and
# reading, says why in /healthz, and goes on by itself. Nothing that was called stored is missing, nothing is there twice.
. tests/lib.sh
cat >"$tmp/load.py" <<'PY'
# usage: load.py ADDRESS URL STATE_DIR BOX_PID NARROWS disk|ceiling
import glob, json, os, random, resource, select, struct, subprocess, sys, time, urllib.error, urllib.request
sys.path.insert(0, "tests")
import xsp

address, url, state, box, narrows, what = sys.argv[1:7]
box = int(box)
FIELDS, CEILING = 250, 16 << 20
names = [b"\x01f%d\0" % i for i in range(FIELDS)]

def document(seq):
    """A row of noise, which does not compress; its first field is its number."""
    values = [struct.pack("<d", random.random()) for _ in names]
    body = b"\x01ts\0" + struct.pack("<d", time.time()) + b"\x01seq\0" + struct.pack("<d", seq) + \
        b"".join(k + v for k, v in zip(names, values)) + b"\0"
    data = struct.pack("<i", len(body) + 4) + body
    outer = b"\x02mid\0" + struct.pack("<i", 2) + b"m\0" + b"\x03data\0" + data + b"\0"
    return struct.pack("<i", len(outer) + 4) + outer

def health():
    try:
        r = urllib.request.urlopen(url + "/healthz")
    except urllib.error.HTTPError as e:
        r = e
    return r.status if hasattr(r, "status") else r.code, json.loads(r.read().decode())

def store_bytes():
    return sum(os.path.getsize(f) for f in glob.glob(state + "/narrows.db") + glob.glob(state + "/narrows.db-wal"))

class Load:
    def __init__(self, name):
        self.seq = self.acked = 0
        self.told = []                       # what the box says of its trouble
        self.p = xsp.Peer(address).open().hello(name, first_seq=1, task_id="full-" + what, host="h")
        self.p.message()
        self.p.app(0x20, xsp.meta("m", event="test:noise", pid=1))
        self.p.s.setblocking(False)
        self.out = b""

    def step(self):
        """Sends what goes, hears what comes; returns how many bytes went."""
        went = 0
        if not self.out:
            for _ in range(8):
                self.seq += 1
                self.out += xsp.app(self.p.sid, 0x21, document(self.seq))
        readable, writable, _ = select.select([self.p.s], [self.p.s], [], 0.05)
        if readable:
            self.p.buf += self.p.s.recv(1 << 16)
            while len(self.p.buf) >= 176:
                n = int.from_bytes(self.p.buf[172:174], "big")
                if len(self.p.buf) < 176 + n:
                    break
                if int.from_bytes(self.p.buf[168:170], "big") == 0x85:
                    self.acked = max(self.acked, xsp.stored_of(self.p.buf[176:176 + n]))
                    if b"\x02trouble\0" in self.p.buf[176:176 + n]:
                        self.told.append(xsp.text_of(self.p.buf[176:176 + n], "trouble"))
                self.p.buf = self.p.buf[176 + n:]
        if writable:
            went = self.p.s.send(self.out)
            self.out = self.out[went:]
        return went

    def until_stuck(self, seconds):
        """Until nothing more is taken and nothing acknowledged for a while; the reason /healthz gives."""
        end, quiet, acked = time.time() + seconds * xsp.PATIENCE, time.time(), self.acked
        while time.time() < end:
            if self.step() or self.acked != acked:
                quiet, acked = time.time(), self.acked
            assert what == "disk" or store_bytes() <= CEILING, store_bytes()
            if time.time() - quiet > 1.5:
                code, h = health()
                if code == 503:
                    return h
        raise AssertionError("never stuck: %d of %d acknowledged, %d bytes, %s" % (self.acked, self.seq, store_bytes(), health()))

    def until_going(self, seconds):
        end, stuck = time.time() + seconds * xsp.PATIENCE, self.acked
        while time.time() < end:
            self.step()
            assert what == "disk" or store_bytes() <= CEILING, store_bytes()
            if self.acked > stuck + (50 if what == "disk" else 2000) and health()[0] == 200:
                return
        raise AssertionError("does not go on: %d of %d, %s" % (self.acked, self.seq, health()))

load = Load(what)
while load.acked < 100:
    load.step()
if what == "disk":
    resource.prlimit(box, resource.RLIMIT_FSIZE, (store_bytes() + (1 << 20), resource.RLIM_INFINITY))
    h = load.until_stuck(60)
    assert h["problem"].startswith("store: disk"), h["problem"]
    assert h["store"]["queued_batches"] > 0 and h["counters"]["paused_reads"] > 0, h
    resource.prlimit(box, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    subprocess.check_call([narrows, "-s", state, "pin", "last"])
    h = load.until_stuck(100)
    assert h["problem"].startswith("store: size ceiling"), h["problem"]
    assert h["store"]["max_bytes"] == CEILING and h["store"]["tiers"][0]["rolled_up"] == 0, h["store"]
    with open(state + "/late.csv", "w") as f:
        f.write("event_type,field,value,t_ns\nlate,v,1,%d\n" % time.time_ns())
    try:
        subprocess.run([narrows, "-s", state, "import", state + "/late.csv"], timeout=2 * xsp.PATIENCE, stderr=subprocess.PIPE)
        sys.exit("stored at the ceiling")
    except subprocess.TimeoutExpired as e:
        assert b"stores nothing now: size ceiling" in e.stderr, e.stderr
    subprocess.check_call([narrows, "-s", state, "unpin", "last"])
load.until_going(60)
assert load.told and load.told[0] in h["problem"], (load.told, h["problem"])
if what == "ceiling":
    # at this size buckets may have gone again for rows that are still in the tail; that rows became some is counted
    assert health()[1]["store"]["tiers"][0]["rolled_up"] > 0, health()
while load.out or load.acked < load.seq:
    load.step() if load.out else select.select([load.p.s], [], [], 0.1)
    if not load.out:
        try:
            load.p.buf += load.p.s.recv(1 << 16)
        except BlockingIOError:
            continue
        while len(load.p.buf) >= 176 + int.from_bytes(load.p.buf[172:174], "big"):
            n = int.from_bytes(load.p.buf[172:174], "big")
            if int.from_bytes(load.p.buf[168:170], "big") == 0x85:
                load.acked = max(load.acked, xsp.stored_of(load.p.buf[176:176 + n]))
            load.p.buf = load.p.buf[176 + n:]
print("%s: %d rows of %d values acknowledged, %d bytes; %s" % (what, load.acked, FIELDS + 1, store_bytes(), h["problem"]))
with open(state + "/acked", "w") as f:
    f.write("%d\n" % load.acked)
load.p.close()
PY

# --- a full disk ---
start_box -o max-queue-size=1MiB -o session-linger=0s
python3 -B "$tmp/load.py" "$xsp" "$url" "$tmp/state" "$box" "$bin/narrows" disk || fail "full disk"
grep -q "paused" "$tmp/box.log" || :
stop_box
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
acked=$(cat "$tmp/state/acked")
nw sql "SELECT count(*), count(DISTINCT value), min(value), max(value) FROM v_sample WHERE field = 'seq'" >"$tmp/rows" ||
    fail "sql: $(cat "$tmp/rows")"
grep -q "^$acked[|,	 ]*$acked[|,	 ]*1\(\.0\)\{0,1\}[|,	 ]*$acked\(\.0\)\{0,1\}$" "$tmp/rows" || fail "rows: $(cat "$tmp/rows"), acknowledged $acked"

# --- a size ceiling ---
rm -rf "$tmp/state"
start_box -o max-queue-size=1MiB -o session-linger=0s -o max-store-size=16MiB
python3 -B "$tmp/load.py" "$xsp" "$url" "$tmp/state" "$box" "$bin/narrows" ceiling || fail "size ceiling"
stop_box
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
