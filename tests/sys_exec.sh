#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The administrator's own probes: commands whose output becomes series at the box; slow, failing and hostile commands hurt
# nothing else.
. tests/lib.sh
start_box
cat >"$tmp/blipp.conf" <<END
box $xsp
host here
interval 200ms
probes load exec
probe plain every 200ms exec echo "depth=3 rate=1.5"; echo depth=4
probe json every 200ms exec printf '{"temp": 41.5, "state": "ok", "n": 2}\\\\n'
probe slow every 200ms within 300ms exec sleep 60 & echo x=1; sleep 60
probe silent every 200ms exec exit 3
probe leaver every 200ms within 60s exec sleep 4321 & echo x=1
probe flood every 200ms exec yes a=1
END
"$bin/blipp" -n -f "$tmp/blipp.conf" || fail "the configuration"
! "$bin/blipp" -n -o "probe=bad name exec x" 2>/dev/null || fail "a probe without exec"
# A command that answers twice is one metric.
"$bin/blipp" -o interval=1s -o probes=exec -o "probe=twice every 100ms exec echo a=1" --format openmetrics >"$tmp/open" || fail "--format openmetrics"
[ "$(grep -c '^blipp_exec_twice_a 1$' "$tmp/open")" = 1 ] || fail "one metric: $(cat "$tmp/open")"
"$bin/blipp" -f "$tmp/blipp.conf" 2>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
series() { sql "SELECT count(*) FROM metadata WHERE event_type = 'ps:tools:blipp:linux:exec:$1'"; }
for name in plain json flood leaver; do
	until_true 20 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"SELECT count(*) FROM metadata WHERE event_type = 'ps:tools:blipp:linux:exec:$name'\")\" -ge 1 ]" || fail "no series of $name: $(cat "$tmp/blipp.log")"
done
[ "$(series silent)" = 0 ] || fail "a series of nothing"
for field in temp n; do
	nw sql "SELECT DISTINCT field FROM v_series WHERE event_type LIKE '%exec:json'" | tr -d '"' | grep -qx "$field" || fail "no field $field of json"
done
for field in depth rate; do
	nw sql "SELECT DISTINCT field FROM v_series WHERE event_type LIKE '%exec:plain'" | tr -d '"' | grep -qx "$field" || fail "no field $field of plain"
done
# The slow command was killed with its child, again and again.
sleep 2
left=$(ps -o pid=,args= --ppid "$blipp" | grep -c 'sleep 60' || :)
[ "$left" -le 1 ] || fail "$left slow commands are left"
# A command that leaves another behind takes that along.
one_sleeper() { [ "$(ps -o args= -e | grep -c '^sleep 4321')" -le 1 ]; }
until_true 5 one_sleeper || fail "commands left behind: $(ps -o pid,ppid,args -e | grep 'sleep 4321')"
kill "$blipp"
wait "$blipp" || fail "blipp: $?"
survivors() { ps -o args= -e | grep '^yes a=1\|^sleep 4321'; }
no_survivor() { ! survivors; }
until_true 2 no_survivor || fail "a command survived blipp"
