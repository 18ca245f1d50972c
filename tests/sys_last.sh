#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `narrows report last` after nwrun: the session of the run, or a word that the newest session is another one, and why.
. tests/lib.sh

start_box -o session-linger=1s
head -c 4M /dev/zero >"$tmp/in"
run() { "$bin/nwrun" "$@"; }
# task_of_report: the task that the report of the last session names
task_of_report() { nw report last 2>"$tmp/err" | sed -n '1s/.*, task //p'; }

# at once, before the box has the data: the report waits for the run's session, and as the run is over, for its verdict
run -t first cp "$tmp/in" "$tmp/out"
nw report last >"$tmp/report" 2>"$tmp/err"
head -n 1 "$tmp/report" | grep -q ', task first$' || fail "the first run: $(cat "$tmp/report")"
! grep -q 'still running' "$tmp/report" || fail "the report came before the verdict: $(cat "$tmp/report")"
[ ! -s "$tmp/err" ] || fail "the first run: $(cat "$tmp/err")"
run -t second cp "$tmp/in" "$tmp/out"
[ "$(task_of_report)" = second ] || fail "the second run: $(nw report last | head -n 1)"

# without a name the task id is random and a secret: the report finds the run, and shows no task
run -v cp "$tmp/in" "$tmp/out" 2>"$tmp/said"
secret=$(sed -n 's/^nwrun: task //p' "$tmp/said")
[ ${#secret} = 36 ] || fail "no random task: $(cat "$tmp/said")"
nw report last >"$tmp/report" 2>"$tmp/err"
case $(head -n 1 "$tmp/report") in
*", task "*) fail "a random task is shown: $(head -n 1 "$tmp/report")" ;;
"session 3: cp, "*) ;;
*) fail "a random task: $(head -n 1 "$tmp/report")" ;;
esac
! grep -q "$secret" "$tmp/report" || fail "the report tells the secret"
[ ! -s "$tmp/err" ] || fail "a random task: $(cat "$tmp/err")"
for what in session/last.json session/last.bson session/last.csv sessions.json session/last; do
	curl -sL "$url/$what" | grep -aq "$secret" && fail "$what shows the task id"
done
"$bin/narrows" -s "$tmp/state" sql "SELECT count(*) FROM metadata WHERE instr(narrows_original(raw), '$secret') OR instr(subject, '$secret')" |
	grep -qx 0 || fail "the store has the task id"

# filters of the list; every one must pass
count() { nw sessions --json "$@" | wc -l; }
routed() { [ "$(count --host "$(hostname)")" = 3 ]; }
until_true 20 routed || fail "--host: $(nw sessions)"
[ "$(count --program cp)" = 3 ] && [ "$(count --program tar)" = 0 ] || fail "--program: $(nw sessions)"
[ "$(count --host other)" = 0 ] || fail "--host: $(nw sessions)"
[ "$(count --since 1h)" = 3 ] && [ "$(count --since 2200-01-01T00:00:00Z)" = 0 ] || fail "--since: $(nw sessions)"
[ "$(count --verdict network)" = 0 ] || fail "--verdict: $(nw sessions)"
words=$(nw sessions | awk 'NR == 2' | sed 's/.*B\/s  [a-z-]* *//')
[ "$(count --verdict "$words")" -ge 1 ] || fail "--verdict \"$words\": $(nw sessions)"
nw sessions --verdict nosuch >"$tmp/none" 2>"$tmp/err" && fail "--verdict nosuch: $(cat "$tmp/none")" || [ $? = 2 ] || fail "--verdict nosuch: the status"
grep -q 'nosuch: no verdict: write a stage' "$tmp/err" || fail "--verdict nosuch: $(cat "$tmp/err")"
[ "$(count --program cp -n 1)" = 1 ] || fail "-n 1: $(nw sessions)"
! nw sessions --since 2026-13-45 2>"$tmp/err" && grep -q 'since: "2026-13-45" is not' "$tmp/err" || fail "a wrong time: $(cat "$tmp/err")"
nw sessions --csv >"$tmp/csv" || fail "--csv"
nw sessions --json >"$tmp/json" || fail "--json"
python3 - "$tmp/csv" "$tmp/json" <<'END' || fail "--csv: $(cat "$tmp/csv")"
import csv, json, sys
rows, docs = list(csv.DictReader(open(sys.argv[1], newline=""))), [json.loads(line) for line in open(sys.argv[2])]
assert [r["id"] for r in rows] == [str(d["id"]) for d in docs] and len(rows) == 3
for r, d in zip(rows, docs):
    assert r["task_id"] == d["task_id"] and r["confidence"] == (d["confidence"] or "") and float(r["duration_s"]) == d["duration_s"]
END

# a mistyped box: the older session is shown as what it is
run -t lost -b 127.0.0.1/1 cp "$tmp/in" "$tmp/out" 2>/dev/null
noted() { grep -q '^why .' "$tmp/narrows/last-run"; }
until_true 20 noted || fail "nwrun notes no reason: $(cat "$tmp/narrows/last-run")"
nw report last 2>"$tmp/err" | head -n 1 | grep -q '^session 3: cp, ' || fail "after a lost run: $(nw report last | head -n 1)"
grep -q 'task lost.* is not in this box: .' "$tmp/err" && grep -q 'older than that run' "$tmp/err" || fail "a lost run: $(cat "$tmp/err")"

# a run that another box has stored hides no run to this one
record() { printf 'start %s000000000\npid 1\ntask %s\nbox %s\nwhy \n' "$(date +%s)" "$@"; }
{ record elsewhere 192.0.2.1/1; record second "$xsp"; } >"$tmp/narrows/last-run"
[ "$(task_of_report)" = second ] || fail "a run to another box: $(cat "$tmp/err")"
! grep -q 'not in this box' "$tmp/err" || fail "a run to another box: $(cat "$tmp/err")"

# a later run to this box ends that
run -t third cp "$tmp/in" "$tmp/out"
[ "$(task_of_report)" = third ] && [ ! -s "$tmp/err" ] || fail "the third run: $(cat "$tmp/err")"

# a program that fails before anything moves is a failed session, not one that is folded away
run -t broken sh -c 'exit 5' && fail "nwrun hides that the program failed"
broken() { nw sessions --json -n 1 | grep -q '"exit_status":5'; }
until_true 20 broken || fail "how the program ended: $(nw sessions --json -n 1)"
broken_id=$(nw sessions --state failed --csv -n 1 | tail -n 1 | cut -d, -f1)
curl -fs "$url/session/$broken_id" | grep -o 'href="/route?[^"]*"' | head -n 1 | sed 's/href="//;s/"$//;s/&amp;/\&/g' >"$tmp/route"
[ ! -s "$tmp/route" ] || curl -fs "$url$(cat "$tmp/route")" >/dev/null || fail "the session links a route without a page: $(cat "$tmp/route")"
until_true 20 sh -c "curl -s '$url/?state=failed' | grep -q broken" || fail "the list of failed sessions"

# a script that could not start a program has failed, too
for status in 126 127; do
	run -t never$status sh -c 'cp "$0" "$1"; exit "$2"' "$tmp/in" "$tmp/out" $status && fail "nwrun hides the status $status"
	never() { nw sessions --state failed --json | grep "\"never$status\"" | grep -q "\"exit_status\":$status[,.}]"; }
	until_true 20 never || fail "the status $status is no failure: $(nw sessions --json -n 1)"
done

# a script has a status, also where its shell moved nothing
run sh -c 'cp "$0" "$1"; true' "$tmp/in" "$tmp/out"
went_well() { nw sessions --json -n 1 | grep -q '"exit_status":0'; }
until_true 20 went_well || fail "the status of a script: $(nw sessions --json -n 1)"

# A signal ends the program before anything moves: 128 and the signal, as a shell says, where the kernel tells (Linux 6.15).
if [ -x "$B/tests/host/nwrun/collect/test_exitcode" ] && ! "$B/tests/host/nwrun/collect/test_exitcode" | grep -q 'tells nobody'; then
	# the collector has to see the program before the program's end
	"$bin/nwrun" -q sh -c 'sleep 0.5; kill -9 $$' || :
	killed() { nw sessions --json -n 1 | grep -q '"exit_status":137'; }
	until_true 30 killed || fail "a program that a signal ended: $(nw sessions --json -n 1)"
	# A server that is stopped after its client ended well is no failure; a program that is stopped before is.
	for stop in served cut; do
		"$bin/nwrun" -q -t $stop sh -c 'cp "$0" "$1"; exec sleep 60' "$tmp/in" "$tmp/served" &
		server=$!
		pids="$pids $server"
		until_true 20 cmp -s "$tmp/in" "$tmp/served" || fail "the server copied nothing"
		sleep 0.5
		[ $stop = served ] || kill -TERM $server
		"$bin/nwrun" -q -t $stop sh -c 'sleep 2; cp "$0" "$1"' "$tmp/in" "$tmp/out" || fail "the client of $stop"
		[ $stop = cut ] || kill -TERM $server
		wait $server || :
	done
	status_of() { nw sessions --json -n 5 | grep "\"$1\"" | grep -q "\"exit_status\":$2[,.}]"; }
	until_true 30 status_of cut 143 || fail "a program that was stopped at work: $(nw sessions --json -n 2)"
	until_true 30 status_of served 0 || fail "a server that was stopped after its work: $(nw sessions --json -n 2)"
else
	echo "untested: this kernel does not tell how others' children end: a signal is not tested"
fi
