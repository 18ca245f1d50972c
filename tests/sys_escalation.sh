#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# While a transfer runs, blipp on both of its hosts samples at 10 Hz and follows the transfer's TCP connection, within
# 1 s of its start; afterwards, and when the box is killed, it goes back by itself. By hand it obeys, too. Original
# peers hear nothing of it, and orders that are none are counted.
. tests/lib.sh
paced

cat >"$tmp/transfer.py" <<'PY'
import os, socket, sys, time
end, port, arg = sys.argv[1:]
if end == "send":                       # for so many seconds, some 5 MB/s
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port + ".part", "w") as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(port + ".part", port)
    c, _ = listener.accept()
    stop = time.time() + float(arg)
    while time.time() < stop:
        c.sendall(b"x" * 65536)
        time.sleep(0.012)
    c.close()
else:                                   # into a file
    c = socket.create_connection(("127.0.0.1", int(open(port).read())))
    with open(arg, "wb", 0) as f:
        while block := c.recv(65536):
            f.write(block)
PY

# transfer TASK SECONDS: both ends under nwrun, as if on two hosts; sets $send, $receive
transfer() {
	rm -f "$tmp/port"
	"$bin/nwrun" -H dtn-a -t "$1" python3 "$tmp/transfer.py" send "$tmp/port" "$2" &
	send=$!
	until_true 10 test -f "$tmp/port" || fail "the sender does not start"
	"$bin/nwrun" -H dtn-b -t "$1" python3 "$tmp/transfer.py" receive "$tmp/port" "$tmp/received" &
	receive=$!
	pids="$pids $send $receive"
}

blipps_start() {
	for h in a b; do
		"$bin/blipp" -d -b "$xsp" -H dtn-$h -i 1 2>>"$tmp/blipp-$h.log" &
		pids="$pids $!"
		eval "blipp_$h=$!"
		until_true 5 grep -q 'box.connected' "$tmp/blipp-$h.log" || fail "blipp of dtn-$h does not connect"
	done
}

# rate HOST MS: whether blipp's last word on its interval is that
rate() { [ "$(sed -n 's/.* rate interval_ms=\([0-9]*\) .*/\1/p' "$tmp/blipp-$1.log" | tail -n 1)" = "$2" ]; }
both() { rate a "$1" && rate b "$1"; }

# --- an original client: nothing is ever said to it after the opening, whatever runs beside it ---
start_box -o escalate-fastest=100ms
blipps_start
cat >"$tmp/original.py" <<'PY'
import os, socket, sys, time
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open()
p.app(0x20, xsp.meta("m1", event="nl:tools:calipers:summary:read", task_id="original", src="127.0.0.1", sport=1, dst="127.0.0.1", dport=2))
end, said = time.time() + float(sys.argv[2]), b""
p.s.settimeout(0.2)
n = 0
while time.time() < end:
    p.app(0x21, xsp.data("m1", n)); n += 1
    try:
        said += p.s.recv(4096)
    except socket.timeout:
        pass
p.close()
assert said == b"", said
PY
python3 "$tmp/original.py" "$xsp" 3 2>"$tmp/original.err" &
original=$!
pids="$pids $original"

# --- malformed, and of whom nobody asked: counted, and the connection stays ---
python3 - "$xsp" <<'PY' || fail "malformed control"
import struct, sys
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open().hello("stranger", host="elsewhere", can="status clock")
questions = 0
bad = [(0x84, b""), (0x84, b"\x05\0\0\0"), (0x84, xsp.bson({"cpu_s": "much"})), (0x84, xsp.bson({"cpu_s": -1.0})),
       (0x86, xsp.bson({"t1_ns": 1, "t2_ns": 2, "t3_ns": 3})), (0x86, xsp.bson({"t1_ns": -5})), (0x86, b"\xff" * 40),
       (0x84, xsp.bson({str(i): i for i in range(30)}))]
for opt, doc in bad:
    p.app(opt, doc)
p.app(0x84, xsp.bson({"cpu_s": 1.0, "collecting": "things"}))
p.app(0x21, xsp.data("none", 1))
q = xsp.Peer(sys.argv[1]).open()        # did not even say HELLO
q.app(0x84, xsp.bson({"cpu_s": 1.0}))
p.send(xsp.frame(xsp.PING, sid=p.sid))
q.send(xsp.frame(xsp.PING, sid=q.sid))
while p.message()[0] != xsp.PONG:
    pass
assert q.message()[0] == xsp.PONG
p.close(); q.close()
PY
rejected() { "$bin/narrows" -s "$tmp/state" health --json | sed -n 's/.*"rejected_control": *\([0-9]*\).*/\1/p'; }
[ "$(rejected)" = 9 ] || fail "9 malformed, $(rejected) counted"

# --- by rule ---
wait "$original" || fail "the original client heard: $(cat "$tmp/original.err")"
until_true 5 both 1000 || fail "blipp is not back after the original client's session"
transfer by-rule 6
until_true 3 both 100 || fail "the hosts do not sample faster: $(cat "$tmp/blipp-a.log")"
wait "$send" "$receive"
until_true 5 both 1000 || fail "5 s after the transfer the hosts still sample faster"
sleep 2.5

# --- by hand ---
order=$(nw control dtn-a rate 50ms -e ps: -f 60s) || fail "no order by hand"
until_true 2 rate a 50 || fail "blipp does not obey"
rate b 1000 || fail "the other host obeys, too"
until_true 2 sh -c "'$bin/narrows' -s '$tmp/state' control dtn-a status | grep -q 'interval_s=0.05 .*orders=\"$order\"'" ||
	fail "status: $(nw control all status)"
nw control dtn-a stop "$order" || fail "stop"
until_true 2 rate a 1000 || fail "blipp does not stop"
order=$(nw control dtn-a rate 20ms -e ps: -f 1s)
until_true 2 grep -q 'rate interval_ms=20 ' "$tmp/blipp-a.log" && until_true 4 rate a 1000 || fail "an order for 1 s does not end"
# a probe that is configured off
"$bin/blipp" -b "$xsp" -H dtn-c -o probes=load 2>/dev/null &
pids="$pids $!"
collecting() { nw control dtn-c status | grep -q "collecting=\"$1\""; }
until_true 5 collecting "load" || fail "blipp of dtn-c does not report: $(nw control all status)"
nw control dtn-c start -e ps:tools:blipp:linux:memory:utilization -i 50ms -f 2s >/dev/null || fail "start by hand"
until_true 2 collecting "load memory" || fail "a probe does not start: $(nw control dtn-c status)"
until_true 5 collecting "load" || fail "a probe does not end"
for wrong in "nobody rate 1s" "dtn-a rate 1ms" "dtn-a rate soon" "dtn-a start" "dtn-a stop h999" "dtn-a dance" "dtn-a start -c 1.2.3.4/1"; do
	if nw control $wrong >"$tmp/out" 2>&1; then fail "control $wrong is taken"; fi
	[ -s "$tmp/out" ] || fail "control $wrong: nothing said"
done
[ "$(stat -c %a "$tmp/state/narrowsd.ctl")" = 600 ] || fail "others may give orders"

# --- the box is killed in the middle: the lease ends, and so does the escalation ---
transfer box-dies 12
until_true 3 both 100 || fail "the hosts do not sample faster, this time"
nw control dtn-a rate 20ms -e nw: -f 60s >/dev/null || fail "no order for nwrun"
nwrun_obeys() { nw control dtn-a status | grep -q '^dtn-a program: .* interval_s=0.02 '; }
until_true 3 nwrun_obeys || fail "nwrun does not obey: $(nw control dtn-a status)"
kill -9 "$box"
wait "$box" || :
killed=$(date +%s)
rate a 100 || fail "blipp gave up before its lease was over"
until_true 7 both 1000 || fail "the lease is over, the escalation is not"
took=$(($(date +%s) - killed))
kill "$send" "$receive" 2>/dev/null || :
start_box -o listen-xsp=127.0.0.1/"${xsp##*/}"
until_true 15 sh -c "[ \$(grep -c box.connected '$tmp/blipp-a.log') -ge 2 ] && [ \$(grep -c box.connected '$tmp/blipp-b.log') -ge 2 ]" ||
	fail "blipp does not come back"
sleep 1
kill "$blipp_a" "$blipp_b"
wait "$blipp_a" "$blipp_b" || :
stop_box

# --- what is stored: nothing that blipp --list does not know, by type, field and unit ---
"$bin/blipp" -i 100ms --list >"$tmp/list" || fail "blipp --list"
sql "SELECT DISTINCT event_type, field, unit FROM v_series WHERE event_type GLOB 'ps:*'" >"$tmp/sent"
grep -q '^ps:host:tcp|SmoothedRTT|ms$' "$tmp/sent" || fail "no connection was followed: $(wc -l <"$tmp/sent") fields"
python3 - "$tmp/list" "$tmp/sent" <<'PY' || fail "blipp --list does not know what blipp sends"
import sys
known = set()
for line in open(sys.argv[1]):
    words = [w for w in line.split() if "=" not in w]
    unit = line.split(" unit=")[1].split()[0]
    known.add((words[1].removeprefix("ps:tools:blipp:linux:"), words[-1], unit))
sent = {tuple(line.rstrip("\n").split("|")) for line in open(sys.argv[2])}
types = {t for t, f, u in known}
def short(t):
    t = t.removeprefix("ps:tools:blipp:linux:")
    return t if t in types else t.rpartition(":")[0]       # the device's name stands at the end
missing = sorted(s for s in sent if (short(s[0]), s[1], s[2]) not in known)
assert len(sent) > 300 and not missing, missing
PY
id=$(sql "SELECT id FROM session WHERE task_id = 'by-rule'")
nw export "$id" >"$tmp/rows.csv" || fail "export"
cat >"$tmp/check.py" <<'PY'
import collections, csv, os, sys

patience = int(os.environ["PATIENCE"])
program, load, tcp, clock = [], collections.defaultdict(list), collections.defaultdict(list), set()
for r in csv.DictReader(open(sys.argv[1])):
    t = int(r["t_ns"]) / 1e9
    if r["event_type"].startswith("nl:") and r["field"] == "count" and r["host"].startswith("dtn"):
        program.append(t)
    elif r["event_type"].endswith("cpu:load") and r["field"] == "onemin":
        load[r["host"]].append(t)
    elif r["event_type"] == "nw:clock" and r["field"] == "offset_s":
        assert abs(float(r["value"])) < 0.5, r          # it is the same clock
        clock.add(r["host"])
    elif r["event_type"] == "ps:host:tcp" and r["session"]:
        tcp[r["host"], r["field"]].append(t)
begin, end = min(program), max(program)
assert end - begin > 4, (begin, end)
for host in ("dtn-a", "dtn-b"):
    fast = [t for t in load[host] if begin + 1 <= t <= end - 0.2]
    steps = [b - a for a, b in zip(fast, fast[1:])]
    print(host, "samples from the second second on:", len(fast), "longest gap: %.3f s" % max(steps))
    assert fast and fast[0] - begin <= 0.2 + patience and len(fast) >= 8 * (end - fast[0] - 0.2) / patience, (host, len(fast), end - begin)
    off = sorted(abs(t * 10 - round(t * 10)) / 10 for t in fast)[len(fast) // 2]
    assert off < 0.02, (host, "not on the grid", off)
    assert host in clock, host
    first = {f: min(v) - begin for (h, f), v in tcp.items() if h == host}
    for field in ("HCThruOctetsAcked", "SmoothedRTT", "CurCwnd", "SegsRetrans", "linux_delivery_rate"):
        assert field in first and first[field] <= patience, (host, field, first)
        span = end - begin - first[field] - 0.2
        assert len(tcp[host, field]) >= 8 * span / patience - 5, (host, field, len(tcp[host, field]))
PY
python3 "$tmp/check.py" "$tmp/rows.csv" || fail "what is stored"
nw report "$id" --json >"$tmp/result.json"
python3 - "$tmp/result.json" <<'PY' || fail "clocks of the session's hosts"
import json, sys
hosts = json.load(open(sys.argv[1]))["session"]["hosts"]
assert sorted(h["name"] for h in hosts) == ["dtn-a", "dtn-b"], hosts
assert all(h["clock"]["known"] and 0 <= h["clock"]["bound_s"] < 0.5 for h in hosts), hosts
PY
echo "both hosts at 10 Hz with TCP, back by themselves $took s after the box died"
