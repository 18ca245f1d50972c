#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Series that told nothing for a (short) month are proposed, accepted, sampled seldom by blipp, kept so over restarts of box
# and blipp, and sampled as before after undo; a session's orders go before the diet.
. tests/lib.sh
cat >"$tmp/send.py" <<'END'
import random, sys, time
sys.path.insert(0, "tests")
import xsp
address, rng = sys.argv[1], random.Random(5)
ROWS = 90

def series(p, mid, event, rows, t0, **subject):
    p.app(0x20, xsp.meta(mid, event=event, **subject))
    for i, fields in enumerate(rows):
        p.app(0x21, xsp.bson({"mid": mid, "data": {"ts": t0 + i + 1.0, **fields}}))

def steps(n):
    v, out = 0.0, []
    for _ in range(n):
        v = 0.6 * v + rng.gauss(0, 0.8)
        out.append(v)
    return out

def session(n, t0):
    """A transfer whose rate the metric `kernel:tables processes` drives; noise and stillness beside it."""
    driver, noise = steps(ROWS), steps(ROWS)
    p = xsp.Peer(address).open().hello("b%d" % n, host="dtn1", software="blipp")
    # the names of real series of blipp
    for event, fields in (("kernel:tables", lambda i: {"files": 500 + 40 * driver[i]}),
                          ("network:softnet", lambda i: {"dropped": 10 + noise[i]}),
                          ("network:sockets", lambda i: {"raw_inuse": 0.0, "frag_inuse": 0.0})):
        series(p, "dtn1/" + event + str(n), "ps:tools:blipp:linux:" + event, [fields(i) for i in range(ROWS)], t0, type="host", hostname="dtn1")
    p.sync()
    p.close()
    rate = [5e7 + 1e7 * driver[i] + 2e6 * rng.gauss(0, 1) for i in range(ROWS)]
    p = xsp.Peer(address).open().hello("s%d" % n, host="dtn1", software="test", task_id="t%d" % n, program="mover")
    for event, subject in (("read", {"type": "disk", "resource": "/in"}), ("write", {"type": "disk", "resource": "/out"})):
        rows = [{"sum_v": r, "count": 100.0, "mean_v": r / 100, "window": 1.0, "busy": 0.5, "busy_max": 0.5} for r in rate]
        series(p, "c%d%s" % (n, event), "nl:tools:calipers:summary:" + event, rows, t0, program="mover", pid="10", **subject)
    p.sync()
    p.close()

now = int(time.time())
for n in range(6):
    session(n, now - 3600 * (18 - n))
END
start_diet_box() { start_box -o session-linger=1s -o escalate-lease=3s -o reduction-every=1s -o diet-after=2s -o diet-interval=20s "$@"; }
start_diet_box
start_blipp() {
	"$bin/blipp" -H dtn1 -i 50ms -o probes="sockets softnet kernel load" 2>>"$tmp/blipp.log" &
	blipp=$!
	pids="$pids $blipp"
}
start_blipp
brings() { [ "$(rows "$2" "$since" "$3")" -ge "$1" ]; }
rows() { nw sql --csv "SELECT count(*) FROM sample WHERE host = 'dtn1' AND event_type = 'ps:tools:blipp:linux:$1' AND t_ns > $2 AND field = '$3'" | tail -n 1; }
since=0
until_true 20 brings 20 network:sockets TCP_inuse || fail "blipp sends nothing"
python3 "$tmp/send.py" "$xsp" || fail "the box does not take the sessions"
# --- proposed: what never moved and what only made noise, not what drives the rate ---
proposed() { [ "$(sql "SELECT count(*) FROM v_diet WHERE state = 'proposed' AND probe IN ('network:softnet', 'network:sockets')")" = 2 ]; }
until_true 60 proposed || fail "nothing is proposed: $(sql 'SELECT * FROM v_diet') $(sql 'SELECT document FROM diet_seen')"
[ "$(sql "SELECT count(*) FROM v_diet WHERE probe IN ('kernel:tables', 'cpu:load')")" = 0 ] || fail "a driver, or a metric that people look at, is proposed"
id() { sql "SELECT id FROM diet WHERE probe = '$1' AND ended_ns IS NULL"; }
nw diet dtn1 >"$tmp/diet.txt" && grep -q "no R2 is lost: none of them moved" "$tmp/diet.txt" && grep -q "lost (95 %:" "$tmp/diet.txt" ||
	fail "narrows diet: $(cat "$tmp/diet.txt")"
nw diet nobody | grep -q 'No diet' || fail "a filter passes all"

# --- accepted: fewer samples, the orders of a person go before it ---
accepts() { nw diet accept dtn1 "$(id network:softnet)" | grep -q accepted; } # the box learns of a proposal from the store
until_true 10 accepts || fail "accept"
nw diet accept dtn1 --all | grep -q 'network:sockets' || fail "accept --all"
nw diet accept dtn1 4711 2>/dev/null && fail "a diet that is not there is accepted"
obeyed() { nw control dtn1 status | grep -q ' diet=2 diet_unknown=0'; }
until_true 20 obeyed || fail "blipp does not carry the diet out: $(nw control dtn1 status)"
# in the time in which a series outside the diet brings 25 samples, the diet brings one at most, and a turn of the interval
thin() {
	since=$(date +%s%N)
	until_true 30 brings 25 cpu:load onemin
	[ "$(rows network:softnet "$since" dropped)" -le 2 ] && [ "$(rows network:sockets "$since" TCP_inuse)" -le 2 ]
}
thin || fail "the diet changes nothing: $(rows network:softnet "$since" dropped) beside $(rows cpu:load "$since" onemin)"
told() { curl -sf "$url/api/v1/diets" >"$tmp/diets.json" && [ "$(grep -c '"carried_out": *2' "$tmp/diets.json")" -ge 1 ]; }
until_true 30 told || fail "what is carried out is not told: $(cat "$tmp/diets.json")"
curl -sf "$url/host?host=dtn1" >"$tmp/host.html" || fail "no page"
grep -q 'In force' "$tmp/host.html" && grep -q 'narrows diet undo' "$tmp/host.html" || fail "the page says nothing"
python3 - "$tmp/diets.json" <<'END'
import json, sys
doc = json.load(open(sys.argv[1]))
by = {d["group"]: d for d in doc["diets"]}
assert doc["schema"] == "narrows-diets/1" and set(by) >= {"network:softnet", "network:sockets"}, doc
for d in by.values():
    m = d["measured"]
    assert d["state"] == "in force" and d["accepted"] and m["carried_out"] == 2 and m["refused"] == 0, d
    assert d["samples_saved_per_day"] > 1e4 and m["samples"] < 0.5 * m["samples_before"], d
still, noise = by["network:sockets"], by["network:softnet"]
assert still["r2_lost"] == 0 and not still["risks"][0]["moved"], still
risk = noise["risks"][0]
assert risk["moved"] and risk["folds"] >= 4 and risk["r2_with"] > 0.5 and risk["unknown"] is None, risk
assert risk["r2_lost_low"] <= risk["r2_lost"] <= risk["r2_lost_high"] and abs(risk["r2_lost"]) < 0.1, risk
END
nw control dtn1 rate 50ms -e ps:tools:blipp:linux:network -f 60s >"$tmp/id" || fail "no order"
since=$(date +%s%N)
until_true 20 brings 8 network:softnet dropped || fail "an order does not go before the diet"
nw control dtn1 stop "$(cat "$tmp/id")" || fail "stop"

# --- kept by restarts of blipp and of the box ---
kill "$blipp" && wait "$blipp" || :
start_blipp
until_true 20 obeyed || fail "blipp forgets: $(nw control dtn1 status)"
stop_box
port=${xsp#*/}
start_diet_box -o listen-xsp=127.0.0.1/"$port"
until_true 30 obeyed || fail "the box forgets: $(nw control dtn1 status)"
thin || fail "the diet does not last: $(rows network:softnet "$since" dropped)"

# --- undone ---
nw diet undo dtn1 --all | grep -q ended || fail "undo"
since=$(date +%s%N)
until_true 20 brings 8 network:softnet dropped || fail "the samples do not come back: $(nw control dtn1 status)"
until_true 20 brings 8 network:sockets TCP_inuse || fail "the samples do not come back"
[ "$(sql "SELECT count(*) FROM v_diet WHERE state = 'ended'")" = 2 ] || fail "the end is not kept: $(sql 'SELECT * FROM v_diet')"
kill "$blipp" && wait "$blipp" || :
stop_box
