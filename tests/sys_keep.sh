#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The box finds the metrics worth keeping by itself: sessions of a week on two routes, whose rate two metrics drive, one at
# either end; a route whose rate and metrics merely begin in the same way; and a program that tells its own seconds per iteration.
. tests/lib.sh
cat >"$tmp/send.py" <<'END'
import math, random, sys, time
sys.path.insert(0, "tests")
import xsp
address, serial = sys.argv[1], [0]
rng = random.Random(7)
ROWS, DAY = 120, 86400
noise = ["noise%d" % i for i in range(12)]

def hello(host, task=None, software="test"):
    serial[0] += 1
    more = {"task_id": task, "program": "mover"} if task else {}
    return xsp.Peer(address).open().hello("p%d" % serial[0], host=host, software=software, **more)

def series(p, mid, event, rows, t0, **subject):
    """rows: one dict of fields a second."""
    p.app(0x20, xsp.meta(mid, event=event, **subject))
    for i, fields in enumerate(rows):
        p.app(0x21, xsp.bson({"mid": mid, "data": {"ts": t0 + i + 1.0, **fields}}))

def steps(n):
    """A slow metric: autocorrelated, without trend."""
    v, out = 0.0, []
    for _ in range(n):
        v = 0.6 * v + rng.gauss(0, 0.8)
        out.append(v)
    return out

def blipp(host, t0, driver, values):
    p = hello(host, software="blipp")
    others = {n: steps(ROWS) for n in noise}
    rows = [{driver: 100 + 10 * values[i], "idle": 0.0, "twin": 7 + 3 * values[i], **{n: 50 + others[n][i] for n in noise}}
            for i in range(ROWS)]
    series(p, "m%d" % serial[0], "ps:tools:blipp:linux:probe", rows, t0, type="host")
    p.sync()
    p.close()

def transfer(a, b, task, t0, related=True):
    disk, softirq = steps(ROWS), steps(ROWS)
    rate = [5e7 + 1e7 * disk[i] - 8e6 * softirq[i] + 2e6 * rng.gauss(0, 1) for i in range(ROWS)]
    if not related:
        begin = [math.exp(-i / 12) for i in range(ROWS)]
        rate = [5e7 - 4e7 * begin[i] + 2e6 * rng.gauss(0, 1) for i in range(ROWS)]
        disk, softirq = ([4 * begin[i] + 0.3 * v[i] for i in range(ROWS)] for v in (disk, softirq))
    blipp(a, t0, "disk", disk)
    blipp(b, t0, "softirq", softirq)
    net = dict(type="network", src="192.0.2.1", dst="192.0.2.2", sport="50000", dport="50001")
    for host, event, share, subject in ((a, "read", 0.2, {"type": "disk", "resource": "/in"}), (a, "write", 0.8, net),
                                        (b, "read", 0.7, net), (b, "write", 0.3, {"type": "disk", "resource": "/out"})):
        p = hello(host, task)
        rows = [{"sum_v": r, "count": 100.0, "mean_v": r / 100, "window": 1.0, "busy": share, "busy_max": share} for r in rate]
        series(p, "c%d" % serial[0], "nl:tools:calipers:summary:" + event, rows, t0, program="mover", pid=str(10 + (host == b)), **subject)
        p.sync()
        p.close()

def iterations(host, task, t0):
    load = steps(ROWS)
    blipp(host, t0, "load", load)
    p = hello(host, task)
    series(p, "i%d" % serial[0], "app:cactus:iteration", [{"seconds": 2 + 0.3 * v + 0.05 * rng.gauss(0, 1)} for v in load], t0)
    p.sync()
    p.close()

now = int(time.time())
for day in range(6, 0, -1):
    transfer("dtn-a", "dtn-b", "ab%d" % day, now - day * DAY)
    iterations("node-1", "it%d" % day, now - day * DAY + 7200)
for day in range(3, 1, -1):
    transfer("dtn-c", "dtn-d", "cd%d" % day, now - day * DAY + 3600)
for day in range(6, 0, -1):
    transfer("dtn-e", "dtn-f", "ef%d" % day, now - day * DAY + 5 * 3600, related=False)
END
start_box -o session-linger=1s -o reduction-every=0s
python3 "$tmp/send.py" "$xsp" || fail "the box does not take the sessions"
judged() { [ "$(sql 'SELECT count(*) FROM result')" = 20 ]; }
until_true 60 judged || fail "the sessions are not judged: $(sql 'SELECT count(*) FROM session') $(sql 'SELECT count(*) FROM result')"
stop_box
[ "$(sql 'SELECT count(*) FROM keeplist')" = 0 ] || fail "reduction-every 0 makes lists"

start_box -o reduction-every=1s -o "reduction-response=app:cactus:iteration seconds"
made() { [ "$(sql 'SELECT count(*) FROM keeplist')" -ge 4 ]; }
until_true 60 made || fail "no lists: $(sql 'SELECT route, program FROM keeplist')"
worth() { sql "SELECT group_concat(metric, '; ') FROM (SELECT metric FROM v_keep WHERE route = '$1' AND worth_keeping ORDER BY metric)"; }
ab='dtn-a -> dtn-b'
case $(worth "$ab") in
'receiver: probe softirq; sender: probe disk' | 'receiver: probe softirq; sender: probe twin' | \
	'receiver: probe twin; sender: probe disk' | 'receiver: probe twin; sender: probe twin') ;;
*) fail "worth keeping on $ab: $(worth "$ab")" ;;
esac
[ "$(sql "SELECT min(share) > 0.9 FROM v_keep WHERE route = '$ab' AND worth_keeping")" = 1 ] || fail "drivers are not chosen steadily"
[ "$(sql "SELECT response FROM keeplist WHERE route = '$ab'")" = 'delivered rate' ] || fail "a route without the series has no rate"
[ "$(sql "SELECT response FROM keeplist WHERE route LIKE 'node-1%'")" = 'app:cactus:iteration seconds' ] || fail "the series is not the response"
case $(worth "$(sql "SELECT route FROM keeplist WHERE route LIKE 'node-1%'")") in *'probe load' | *'probe twin') ;; *) fail "iterations: $(sql 'SELECT * FROM v_keep')" ;; esac
nw keep >"$tmp/keep.txt" && grep -q "^2 of 30 metrics are worth keeping to follow the delivered rate of mover on $ab" "$tmp/keep.txt" ||
	fail "narrows keep says $(cat "$tmp/keep.txt")"
# the daily job asks the fleet for natural experiments, too
compared() { curl -sf "$url/api/v1/incidents" | grep -q '"schema": *"narrows-experiments/1"'; }
until_true 60 compared || fail "no natural experiments: $(curl -s "$url/api/v1/incidents")"
curl -sf "$url/incidents" | grep -q '<h2>Natural experiments</h2>' || fail "the page has no natural experiments"
curl -sf "$url/keep.json" >"$tmp/keep.json" && curl -sf "$url/api/v1/keep" >"$tmp/api.json" && curl -sf "$url/keep" >"$tmp/keep.html" ||
	fail "the pages are not there"
grep -q 'worth keeping to follow the delivered rate of mover' "$tmp/keep.html" || fail "the page says nothing"
python3 - "$tmp/keep.json" "$tmp/api.json" <<'END'
import json, sys
keep, api = (json.load(open(f)) for f in sys.argv[1:])
assert keep["schema"] == "narrows-keep/1" and len(api["lists"]) == len(keep["lists"]) == 4, keep
ab = [l for l in keep["lists"] if l["route"] == "dtn-a -> dtn-b"][0]
assert ab["headline"] and ab["n_sessions"] == 6 and ab["n_rows"] >= 600 and ab["r2_out_of_sample"] > 0.8, ab
assert ab["r2_out_of_sample"] > ab["r2_random"] and ab["n_metrics"] == 30 and ab["n_varying"] == 28, ab
assert {(h["role"], h["name"]) for h in ab["hosts"]} == {("sender", "dtn-a"), ("receiver", "dtn-b")}, ab["hosts"]
assert all(len(m["members"]) == 1 for m in ab["metrics"] if m["worth_keeping"]), ab["metrics"]
assert ab["time_parts"] == [] and ab["n_time_taken"] == 0, ab
# what merely begins alike is told as that, and no metric of it is worth keeping
ef = [l for l in keep["lists"] if l["route"] == "dtn-e -> dtn-f"][0]
assert "start" in ef["time_parts"] and ef["r2_time"] > 0.7 and ef["n_time_taken"] >= 2, ef
assert set(ef["time_taken"]) & {"sender: probe disk", "receiver: probe softirq"} and not ef["headline"], ef
assert "start) explains " in ef["sentence"] and "the same course in time and explain nothing besides" in ef["sentence"], ef
assert not any(m["worth_keeping"] for m in ef["metrics"]), ef["metrics"]
trial = [t for t in ab["trials"] if t["route"] == "dtn-c -> dtn-d"][0]
assert len(ab["trials"]) == 2 and trial["n_lacking"] == 0, trial
assert trial["r2_adjusted"] > 0.8 > 0.4 > trial["r2_random"] and trial["r2_out_of_sample"] > 0.7, trial
END
nw keep --program nobody | grep . && fail "a filter passes all"
nw keep --json | grep -q '"worth_keeping":true' || fail "narrows keep --json"
stop_box
