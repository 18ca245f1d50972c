#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 under load, again and again: what the box called stored is there once, and the file is whole.
. tests/lib.sh
rounds=${CRASH_ROUNDS:-8}
cat >"$tmp/load.py" <<'PY'
# sends numbered rows from several providers, resuming where the box says; prints what was acknowledged
import sys, time, json, os
sys.path.insert(0, "tests")
import xsp

address, state, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
acked = json.load(open(state)) if os.path.exists(state) else {}
end = time.time() + seconds
peers = []

def join(name):
    p = xsp.Peer(address).open().hello(name, first_seq=1, task_id="crash", host="h-" + name)
    kind, blocks = p.message()
    stored = xsp.stored_of(blocks[0][1])
    assert stored >= acked.get(name, 0), (name, stored, acked)
    p.hello(name, first_seq=stored + 1, task_id="crash", host="h-" + name)
    p.app(0x20, xsp.meta("m-" + name, pid=1))
    p.s.setblocking(False)
    peers.append([name, p, stored])

def listen(p, name):
    try:
        p.buf += p.s.recv(1 << 16)
    except BlockingIOError:
        pass
    while len(p.buf) >= 168 + 8:
        n = int.from_bytes(p.buf[172:174], "big")
        if len(p.buf) < 176 + n:
            break
        if int.from_bytes(p.buf[168:170], "big") == 0x85:
            acked[name] = max(acked.get(name, 0), xsp.stored_of(p.buf[176:176 + n]))
        p.buf = p.buf[176 + n:]

try:                                   # the box may die at any moment, the first included
    for name in ("p1", "p2", "p3"):
        join(name)
    open(state + ".sends", "w").close()
    while time.time() < end:
        for q in peers:
            name, p, seq = q
            out = b""
            for _ in range(20):
                seq += 1
                out += xsp.app(p.sid, 0x21, xsp.bson({"mid": "m-" + name, "data": {"ts": 1700000000.0 + seq * 0.001, "seq": float(seq)}}))
            p.s.setblocking(True)
            p.s.sendall(out)
            p.s.setblocking(False)
            q[2] = seq
            listen(p, name)
except (OSError, EOFError):
    pass
for name, p, _ in peers:
    try:
        listen(p, name)
    except OSError:
        pass
json.dump(acked, open(state, "w"))
PY
i=0
while [ "$i" -lt "$rounds" ]; do
	i=$((i + 1))
	start_box
	rm -f "$tmp/acked.sends"
	python3 -B "$tmp/load.py" "$xsp" "$tmp/acked" 30 >"$tmp/load.log" 2>&1 &
	load=$!
	# every second round at any moment of the beginning
	[ $((i % 2)) = 0 ] || until_true 10 test -e "$tmp/acked.sends" || fail "nobody sends, round $i: $(cat "$tmp/load.log")"
	sleep "$(python3 -c "import random; print(random.Random($i).uniform(0.3, 1.2))")"
	kill -9 "$box"
	wait "$box" 2>/dev/null || :
	wait "$load" || { cat "$tmp/load.log"; fail "load, round $i"; }
	[ "$(sql 'pragma integrity_check')" = ok ] || fail "integrity, round $i"
done
start_box -o session-linger=0s
python3 -B - "$xsp" "$url" "$tmp/acked" <<'PY' || fail "what was stored"
import sys, json, csv, io, time, urllib.request
sys.path.insert(0, "tests")
import xsp
address, url, state = sys.argv[1:4]
acked = json.load(open(state))
assert len(acked) == 3 and min(acked.values()) > 100, acked
sessions = json.load(urllib.request.urlopen(url + "/sessions.json"))["sessions"]
s = [x for x in sessions if x["task_id"] == "crash"]
assert len(s) == 1, s
seen = {}
body = urllib.request.urlopen(url + "/session/%d.csv" % s[0]["id"]).read().decode()
for r in csv.DictReader(io.StringIO(body)):
    if r["field"] == "seq":
        seen.setdefault(r["host"][2:], []).append(int(float(r["value"])))
for name, high in acked.items():
    got = seen[name]
    assert len(got) == len(set(got)), "%s: doubled" % name
    assert got and sorted(got) == list(range(1, max(got) + 1)), "%s: holes" % name
    assert max(got) >= high, "%s: %d of %d" % (name, max(got), high)
print(acked)
PY
stop_box
