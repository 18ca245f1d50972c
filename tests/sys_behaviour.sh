#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collection follows the behaviour of a session: while the session is new its host sends samples of 10 Hz; when the session is steady
# the host keeps them and sends those of 1 Hz; when its rate falls, the samples of the time before arrive, with their times, and
# a rule of the administrator switches a probe on, and while the rate stays low the samples become more, step by step.
. tests/lib.sh
paced

start_box -o analysis-interval=1s -o escalate-interval=100ms -o escalate-keep=60s -o rule="changed ps:tools:blipp:linux:percpu:utilization 200ms"
"$bin/blipp" -d -b "$xsp" -H dtn -i 1 -o probes="load cpu" -o configuration=no 2>"$tmp/blipp.log" &
pids="$pids $!"
until_true 5 grep -q box.connected "$tmp/blipp.log" || fail "blipp does not connect"
cat >"$tmp/paced.py" <<'PY'
import os, sys, time
go = sys.argv[1]
source, sink = os.open("/dev/zero", os.O_RDONLY), os.open(go + ".out", os.O_WRONLY | os.O_CREAT, 0o600)
while not os.path.exists(go + ".stop"):      # waits for its disk, as far as anybody can tell
    os.pwrite(sink, os.read(source, 65536), 0)
    time.sleep(0.4 if os.path.exists(go + ".slow") else 0.04)
PY
"$bin/nwrun" -H dtn -t steady python3 "$tmp/paced.py" "$tmp/go" &
program=$!
pids="$pids $program"
rate() { [ "$(sed -n 's/.* rate interval_ms=\([0-9]*\) .*/\1/p' "$tmp/blipp.log" | tail -n 1)" = "$1" ]; }
until_true 10 rate 100 || fail "a new session is not looked at closely"
until_true 60 rate 1000 || fail "a steady session is looked at closely for ever: $(grep -c analysis.done "$tmp/box.log") analyses"
begin=$(date +%s)
samples() {
	"$bin/narrows" -s "$tmp/state" sql "SELECT count(DISTINCT t_ns) FROM v_sample WHERE event_type = 'ps:tools:blipp:linux:cpu:load' AND field = 'onemin'
	AND t_ns BETWEEN $begin * 1000000000 AND ($begin + 3) * 1000000000" | tail -n 1
}
sleep 4
n=$(samples)
# unless a busy machine has made the session uneasy meanwhile
[ "$n" -le 20 ] || ! rate 1000 || grep -q history.sent "$tmp/blipp.log" || fail "$n samples of three steady seconds are sent"
: >"$tmp/go.slow"
until_true 20 grep -q history.sent "$tmp/blipp.log" || fail "a slower session does not bring the samples of the time before"
until_true 20 rate 50 || fail "a session that stays slow is not looked at more closely, step by step"
until_true 20 sh -c "'$bin/narrows' -s '$tmp/state' control all status | grep -q percpu" ||
	fail "the rule does not switch the probe on: $(nw control all status)"
: >"$tmp/go.stop"
wait "$program" || fail "the program ended with status $?"
enough() { n=$(samples) && [ "$n" -ge 27 ]; }
until_true 5 enough || fail "$n samples of three steady seconds, not 30"
echo "$n samples of three steady seconds came when they were wanted"
