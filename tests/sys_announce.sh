#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fireflies: sessions of what is announced alone, their verdicts, and the session of a measured end, which an announcement joins
# and does not change. Foreign, malformed, repeated and flooding datagrams: counted, memory flat, half a core for 20,000 a second.
. tests/lib.sh

start_box -o session-linger=1s -o listen-announcements=127.0.0.1/0 -o announce-from="127.0.0.0/8 10.1.0.0/16" -o announce-names=conf/scitags.conf
port=$(sed -n 's/^announcements .*\///p' "$tmp/state/narrowsd.run")
cat >"$tmp/ff.py" <<'PY'
import json, socket, sys, time

to = ("127.0.0.1", int(sys.argv[1]))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def iso(t):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + ".%06dZ" % (t % 1 * 1e6)


def firefly(state, start, now, sent=0, received=0, src="10.1.0.1", sport=1094, dst="10.2.0.2", dport=40000, **extra):
    life = {"state": state, "current-time": iso(now), "start-time": iso(start)}
    if state == "end":
        life["end-time"] = iso(now)
    d = {"version": 1, "flow-lifecycle": life, "usage": {"received": received, "sent": sent},
         "context": {"experiment-id": 2, "activity-id": 9, "application": "xrdcp"},
         "flow-id": {"afi": "ipv4", "src-ip": src, "dst-ip": dst, "protocol": "tcp", "src-port": sport, "dst-port": dport}}
    d.update(extra)
    return ("<134>1 - vm xrootd - firefly-json - " + json.dumps(d)).encode()


def send(*a, **k):
    udp.sendto(firefly(*a, **k), to)
PY
cat >"$tmp/alone.py" <<'PY'
from ff import *
now = time.time()
send("start", now - 100, now - 100)
send("ongoing", now - 100, now - 50, sent=500_000_000)
send("end", now - 100, now, sent=1_000_000_000, received=1000)
send("end", now - 100, now, sent=1_000_000_000, received=1000)
stats = {"bytes-transferred": 10**9, "connection-time": 100000, "read-active": "PT1M3S", "read-idle": "PT37S"}
send("end", now - 100, now, sent=10**9, dport=40001, **{"storage-stats": stats})
send("end", now - 100, now, received=3 * 10**8, dport=40002)
send("end", now - 100, now, sent=1, src="10.3.0.1", dport=40003)  # touches no network of the list
send("end", now - 100, now, dport=40005, usage={})
send("end", now - 5000, now - 4000, sent=1, dport=40004)  # too old
udp.sendto(b"hello", to)
PY
PYTHONPATH=$tmp python3 "$tmp/alone.py" "$port"
judged() { nw report 4 | grep -q Missing; }
until_true 20 judged || fail "no verdicts: $(nw sessions)"
nw report 1 | grep -q "Cannot tell what limited this transfer: its program announced it, and no host of it is measured" || fail "alone: $(nw report 1)"
nw report 2 | grep -q "waited for its storage for 63 % of the transfer, as it says itself" || fail "storage-stats: $(nw report 2)"
nw report 4 >"$tmp/unsaid"
grep -q "^Bytes unknown, in 1" "$tmp/unsaid" && grep -q "^Rate unknown: limit unknown" "$tmp/unsaid" || fail "without bytes: $(cat "$tmp/unsaid")"
nw report 3 | grep -q "10.2.0.2 -> 10.1.0.1" || fail "the direction of an upload: $(nw report 3)"
curl -s "$url/session/2" | grep -q "No host of this transfer is measured" || fail "the page leaves open where the transfer was limited"
for s in 1 2 3; do nw report $s --json >"$tmp/$s.json"; done
python3 - "$tmp" <<'PY' || fail "the documents"
import json, sys
d = [json.load(open(f"{sys.argv[1]}/{i}.json")) for i in (1, 2, 3)]
assert all(x["session"]["announced_alone"] and x["session"]["label"] == "ATLAS/activity 9" for x in d), d[0]["session"]
assert d[0]["session"]["bytes"] == 1e9 and abs(d[0]["session"]["duration_s"] - 100) < 0.01, d[0]["session"]
assert d[0]["verdict"]["stage"] is None and d[1]["verdict"]["stage"] == "disk.read" and d[1]["verdict"]["confidence"] == "low"
assert d[2]["verdict"]["stage"] is None
PY
# counted NAME NUMBER: a counter of the box
counted() { curl -s "$url/metrics" | grep -q "^narrows_$1\(_total\)\? $2\$"; }
counted announcements 6 && counted announcements_stale 2 && counted announcements_foreign 1 && counted announcements_malformed 1 ||
	fail "counters: $(curl -s "$url/metrics" | grep '^narrows_announc')"

# --- a measured end: the program's own kernel and calls decide, whatever comes by datagram, and before or after ---
cat >"$tmp/mover.py" <<'PY'
import os, sys, time
from ff import *
when = sys.argv[2]
n = 64 << 20
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    out = socket.create_connection(server.getsockname())
    for _ in range(n >> 16):
        out.sendall(b"x" * 65536)
        time.sleep(0.001)
    os._exit(0)
c, peer = server.accept()
start = time.time()
flow = dict(src="127.0.0.1", sport=server.getsockname()[1], dst="127.0.0.1", dport=peer[1])
lie = dict(sent=0, received=10**12, **{"storage-stats": {"connection-time": 100000, "write-active": "PT99S", "write-idle": "PT1S"}})
if when == "before":
    send("start", start, start, **flow)
got = 0
while True:
    b = c.recv(1 << 16)
    if not b:
        break
    got += len(b)
    if when == "during" and got > n // 2:
        send("start", start, start, **flow)
        when = ""
assert got == n
if when == "after":  # the shell sends it, behind the verdict
    json.dump([start, time.time(), {**flow, **lie}], open(sys.argv[3], "w"))
else:
    send("end", start, time.time(), **flow, **lie)
PY
cat >"$tmp/late.py" <<'PY'
from ff import *
start, end, of = json.load(open(sys.argv[2]))
for _ in range(3):  # once is enough: repetitions double nothing
    send("end", start, end, **of)
PY
for when in before during after; do
	PYTHONPATH=$tmp "$bin/nwrun" -q -n "moved-$when" python3 "$tmp/mover.py" "$port" $when "$tmp/flow" || fail "nwrun: $?"
	one() { nw sessions --json | grep "moved-$when" | grep -q closed; }
	until_true 20 one || fail "$when: $(nw sessions)"
	id=$(nw sessions --json | grep "\"moved-$when\"" | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | head -n 1)
	if [ $when = after ]; then
		measured() { nw report "$id" --json 2>/dev/null | grep -q '"announced_alone": *false' && nw sessions --json | grep '"moved-after"' | grep -q '"analysed": *true'; }
		until_true 20 measured || fail "$when: no verdict: $(nw sessions)"
		nw report "$id" --json >"$tmp/early.json"
		PYTHONPATH=$tmp python3 "$tmp/late.py" "$port" "$tmp/flow"
	fi
	has() { nw report "$id" --json | grep -q '"by": *"firefly"'; }
	until_true 20 has || fail "$when: the announcement is not in session $id: $(nw sessions) $(nw report "$id" --json | head -c 600)"
	nw report "$id" --json >"$tmp/measured.json"
	[ $when = after ] || cp "$tmp/measured.json" "$tmp/early.json"
	python3 - "$tmp/measured.json" "$tmp/early.json" <<'PY' || fail "$when: a measured session changed"
import json, sys
d = json.load(open(sys.argv[1]))
s = d["session"]
assert not s["announced_alone"] and s["bytes"] < 10**9, s["bytes"]
assert "as it says itself" not in d["verdict"]["sentence"] and s["label"] is None, d["verdict"]
assert s["announced"][0]["bytes_in"] == 1e12 and len(s["announced"]) == 1
early = json.load(open(sys.argv[2]))
assert early["session"]["bytes"] == s["bytes"] and early["verdict"] == d["verdict"], early["verdict"]
PY
done

# --- 20,000 datagrams a second for five seconds, of a thousand flows; then a flood of new flows ---
cat >"$tmp/flood.py" <<'PY'
from ff import *
start = time.time()
base = [firefly("ongoing", start - 9, start, sent=1, dport=10000 + i).split(b"1094") for i in range(1000)]
udp.connect(to)
sent = 0
while time.time() - start < 5:
    due = int((time.time() - start) * 20000)
    while sent < due:
        udp.send(firefly("ongoing", start - 9, time.time(), sent=sent, dport=10000 + sent % 1000) if sent % 20 == 0 else b"1094".join(base[sent % 1000]))
        sent += 1
    time.sleep(0.002)
for i in range(60000 if len(sys.argv) > 2 else 0):
    udp.send(firefly("start", start, time.time(), dport=1 + i, src="10.1.%d.%d" % (i >> 8 & 255, i & 255)))
PY
ticks() { awk '{ print $14 + $15 }' "/proc/$box/stat"; }
rss() { awk '/VmRSS/ { print $2 }' "/proc/$box/status"; }
was=$(ticks) && memory=$(rss)
PYTHONPATH=$tmp python3 "$tmp/flood.py" "$port"
used=$(($(ticks) - was))
[ $used -lt 250 ] || fail "20,000 datagrams a second for 5 s take $used ticks of a processor"
PYTHONPATH=$tmp python3 "$tmp/flood.py" "$port" flows
echo "20,000 datagrams a second for 5 s: $((used * 10)) ms of a processor; then again, and 60,000 new flows: $memory kB, then $(rss) kB"
[ "$(rss)" -lt $((memory + 50000)) ] || fail "memory: $memory kB, then $(rss) kB"
"$bin/nwrun" -q -n behind true && nw sessions --json >/dev/null || fail "behind a flood the box does not answer"

# --- real datagrams of every format, changed at random, repeated and from many sources, beside a measured transfer ---
cat >"$tmp/mutate.py" <<'PY'
import glob
from ff import *
import random
seed = int(sys.argv[3])
r = random.Random(seed)
seeds = [open(p, "rb").read() for d in ("firefly", "xrootd", "hearsay") for p in glob.glob(sys.argv[2] + "/%s/*" % d)]
assert len(seeds) > 10
sources = []
for i in range(2, 42):
    sources.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sources[-1].bind(("127.0.0.%d" % i, 0))
numbers = [b"-1", b"0", b"1e999", b"9223372036854775808", b"1795827805", b'"x"', b"null", b"{}", b"[" * 9]


def mutated():
    b = bytearray(r.choice(seeds))
    for _ in range(r.choice((0, 1, 1, 2, 8))):
        at, how = r.randrange(len(b) + 1), r.randrange(6)
        if how == 0 and at < len(b):
            b[at] ^= 1 << r.randrange(8)
        elif how == 1:
            del b[at:]
        elif how == 2:
            b[at:at] = b[:r.randrange(len(b) + 1)]
        elif how == 3:
            other = r.choice(seeds)
            b[at:] = other[r.randrange(len(other)):]
        elif how == 4:
            b[at:at + r.randrange(8)] = r.choice(numbers)
        elif at + 2 < len(b):
            b[at:at + 2] = r.randbytes(2)  # lengths and numbers of XRootD
    return bytes(b[:65000])


begin = time.time()
for n in range(60000):
    b = mutated()
    for _ in range(1 + 2 * (n % 50 == 0)):  # some come thrice
        r.choice(sources).sendto(b, to)
    if n % 100 == 0:
        time.sleep(max(0, begin + n / 10000 - time.time()))
PY
seed=$(date +%s)
echo "seed $seed"
PYTHONPATH=$tmp python3 "$tmp/mutate.py" "$port" tests/corpus "$seed" &
mutator=$!
PYTHONPATH=$tmp "$bin/nwrun" -q -n moved-beside python3 "$tmp/mover.py" "$port" after "$tmp/flow" || fail "nwrun beside wrong datagrams: $?"
wait $mutator || fail "the sender of wrong datagrams, seed $seed"
kill -0 $box || fail "the box ended, seed $seed"
beside() { nw sessions --json | grep '"moved-beside"' | grep closed | grep -q '"analysed": *true'; }
until_true 40 beside || fail "no verdict beside wrong datagrams, seed $seed: $(nw sessions)"
id=$(nw sessions --json | grep '"moved-beside"' | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | head -n 1)
nw report "$id" --json >"$tmp/beside.json"
python3 - "$tmp/beside.json" "$tmp/early.json" <<'PY' || fail "wrong datagrams changed a measured session, seed $seed"
import json, sys
d, e = (json.load(open(p)) for p in sys.argv[1:])
assert not d["session"]["announced"] and d["session"]["announced_alone"] is False, d["session"]
assert d["session"]["bytes"] == e["session"]["bytes"], (d["session"]["bytes"], e["session"]["bytes"])
PY
bad=$(curl -s "$url/metrics" | sed -n 's/^narrows_announcements_malformed\(_total\)\? //p')
echo "60,000 changed datagrams: $bad rejected, $(rss) kB"
[ "$bad" -gt 1000 ] || fail "only $bad datagrams are rejected, seed $seed"
[ "$(rss)" -lt $((memory + 50000)) ] || fail "memory: $memory kB, then $(rss) kB, seed $seed"
