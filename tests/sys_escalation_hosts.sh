#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts that are two network namespaces, and a transfer between them of which only the sending end runs under nwrun:
# blipp of both hosts goes to 10 Hz and follows the connection, each from its own end; the other host is found by its
# address. Then only the receiving end runs under nwrun: the account of the sending kernel comes from blipp.
. tests/lib.sh
two_networks
ip link add va netns $a type veth peer name vb netns $b || skip "no veth here"
ip -n $a addr add 10.231.7.1/24 dev va
ip -n $b addr add 10.231.7.2/24 dev vb
for n in $a $b; do ip -n $n link set lo up; done
ip -n $a link set va up
ip -n $b link set vb up

ip netns exec $a "$bin/narrowsd" -d -o state-dir="$tmp/state" -o listen-xsp="127.0.0.1/5006 10.231.7.1/5006" \
    -o plain-xsp-beyond-loopback=yes -o listen-http=127.0.0.1/0 2>"$tmp/box.log" &
pids="$!"
until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
ip netns exec $a "$bin/blipp" -d -H dtn-a -b 127.0.0.1/5006 2>"$tmp/blipp-a.log" &
pids="$pids $!"
ip netns exec $b "$bin/blipp" -d -H dtn-b -b 10.231.7.1/5006 2>"$tmp/blipp-b.log" &
pids="$pids $!"
for h in a b; do
	until_true 5 grep -q box.connected "$tmp/blipp-$h.log" || fail "blipp of dtn-$h does not connect: $(cat "$tmp/blipp-$h.log")"
done

cat >"$tmp/transfer.py" <<'PY'
import socket, sys, time
if sys.argv[1] == "send":
    c, _ = socket.create_server((sys.argv[2], 7777)).accept()
    end = time.time() + 4
    while time.time() < end:
        c.sendall(b"x" * 65536)
        time.sleep(0.012)
else:
    for _ in range(100):
        try:
            c = socket.create_connection((sys.argv[2], 7777))
            break
        except OSError:
            time.sleep(0.1)
    while c.recv(65536):
        pass
PY
NARROWS_BOX=127.0.0.1/5006 ip netns exec $a "$bin/nwrun" -H dtn-a -t one-end python3 "$tmp/transfer.py" send 10.231.7.1 &
send=$!
pids="$pids $send"
ip netns exec $b python3 "$tmp/transfer.py" receive 10.231.7.1 || fail "the transfer"
wait "$send" || fail "the sender"
rate() { [ "$(sed -n 's/.* rate interval_ms=\([0-9]*\) .*/\1/p' "$tmp/blipp-$1.log" | tail -n 1)" = "$2" ]; }
for h in a b; do
	grep -q 'rate interval_ms=100 .* follows=1' "$tmp/blipp-$h.log" || fail "dtn-$h: $(grep rate "$tmp/blipp-$h.log")"
	until_true 5 rate $h 1000 || fail "dtn-$h still samples faster"
done
closed() { [ "$(sql "SELECT count(*) FROM session WHERE task_id = 'one-end' AND closed_ns > 0")" = 1 ]; }
until_true 5 closed || fail "the session does not end"
sleep 0.5
nw export "$(sql "SELECT id FROM session WHERE task_id = 'one-end'")" >"$tmp/rows.csv" || fail "export"
python3 - "$tmp/rows.csv" <<'PY' || fail "what is stored"
import collections, csv, sys
sent, load = collections.defaultdict(list), collections.Counter()
for r in csv.DictReader(open(sys.argv[1])):
    if r["event_type"] == "ps:host:tcp" and r["field"] in ("HCThruOctetsAcked", "HCThruOctetsReceived"):
        ends = dict(w.split("=", 1) for w in r["subject"].split(";"))
        sent[r["host"], ends["src"], r["field"]].append(float(r["value"]))
    load[r["host"]] += r["event_type"].endswith("cpu:load") and r["field"] == "onemin"
acked, received = sent["dtn-a", "10.231.7.1", "HCThruOctetsAcked"], sent["dtn-b", "10.231.7.2", "HCThruOctetsReceived"]
assert len(acked) >= 25 and len(received) >= 25, (len(acked), len(received))
assert acked == sorted(acked) and received == sorted(received) and min(max(acked), max(received)) > 1e7
assert abs(max(acked) - max(received)) < 0.2 * max(acked), (max(acked), max(received))
assert load["dtn-a"] >= 30 and load["dtn-b"] >= 30, load
print("both ends of the connection:", len(acked), "and", len(received), "samples,", int(max(acked)), "bytes acknowledged")
PY

ip netns exec $b python3 "$tmp/transfer.py" send 10.231.7.2 &
send=$!
pids="$pids $send"
NARROWS_BOX=127.0.0.1/5006 ip netns exec $a "$bin/nwrun" -H dtn-a -t far-end python3 "$tmp/transfer.py" receive 10.231.7.2 ||
    fail "the transfer back"
wait "$send" || fail "the far sender"
analysed() {
	nw report --json "$(sql "SELECT id FROM session WHERE task_id = '$1'")" >"$tmp/$1.json" 2>/dev/null &&
	    grep -q '"state": *"closed"' "$tmp/$1.json" && grep -q '"run": *{' "$tmp/$1.json"
}
for task in one-end far-end; do
	until_true 15 analysed $task || fail "$task has no verdict"
done
python3 - "$tmp/one-end.json" "$tmp/far-end.json" <<'PY' || fail "TCP in the documents"
import json, sys
for name, sender in zip(sys.argv[1:], ("dtn-a", "dtn-b")):
    d = json.load(open(name))
    ends = {c["host"]: c for c in d["session"]["connections"]}
    assert len(ends) == len(d["session"]["connections"]) == 2, d["session"]["connections"]
    drawn = d["timeline"]["connections"]
    assert [c["host"] for c in drawn] == [sender], drawn
    known = [v for v in drawn[0]["rtt_s"] if v is not None]
    assert len(known) >= 0.5 * len(drawn[0]["rtt_s"]), drawn[0]["rtt_s"]
    sent = sum(v or 0 for v in drawn[0]["bytes_per_s"]) * d["timeline"]["step_s"]
    assert abs(sent - ends[sender]["bytes_out"]) < 0.2 * sent and sent > 1e7, (sent, ends[sender])
    assert "tcp" in [w["name"] for w in d["verdict"]["witnesses"]], d["verdict"]
PY
