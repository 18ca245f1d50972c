#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A client of the storage system whose clock is 5 ms behind: as logged, blocks arrive before they are sent, and page and words mark
# that. Once the box has compared clocks with a program of that host, times are corrected, and the page tells the error that is left.
. tests/lib.sh
. tests/dpss.sh
faketime -f -0.005s true 2>/dev/null || skip "there is no faketime"
unshare --uts true 2>/dev/null || skip "a host's name cannot be changed here"
cd "$tmp"
# app COMMAND ...: on a host "app" whose wall clock is 5 ms behind
app() { unshare --uts sh -c 'hostname app && FAKETIME_DONT_FAKE_MONOTONIC=1 exec faketime -f -0.005s "$@"' sh "$@"; }

for i in 1 2; do
	grant $i master 150 16384
	server $i
done
mkdir master
start m "$bin/dpss-master" -s master
export DPSS_MASTER=127.0.0.1/$(cat m.port)
for i in 1 2; do add $i; done
until_true 10 ups 2 || fail "servers do not come up: $(cat m.err)"
head -c 1000003 /dev/urandom >file
"$bin/dpss" -b 16384 load file set || fail "load"
start_box -o analysis-interval=1s
app "$bin/tv_sim" -t 1 -r 10 -n 20 -w 8 -L app.log set >said || fail "tv_sim: $(cat said)"
[ "$(grep -c '^APP_RECEIVE; app; ' app.log)" = 200 ] || fail "events: $(head app.log)"
[ "$(grep -c '^DPSS_MASTER_OUT; 127.0.0.1; ' app.log)" = 200 ] || fail "the master's times are not the master's: $(head app.log)"

# nothing is known of the clock: order that cannot be is marked, on the page, too
nw import -n unknown app.log >said || fail "import: $(cat said)"
nw lifelines last >said
grep -q -E '^The clock of 127\.0\.0\.1 is .* ahead of that of app\. ' said || fail "the wrong clock is not the finding: $(head -3 said)"
nw lifelines --raw last >said
grep -q '[0-9]* segments run backwards in time: a clock is wrong by more than its known error' said || fail "a wrong clock is not marked: $(head -3 said)"
marked=$(awk '$1 ~ /^(APP|DPSS)_/ { n += $NF } END { print n }' said)
[ "$marked" -ge 1 ] || fail "no segment is marked: $(cat said)"
id=$(nw sql --csv 'SELECT max(id) FROM session' | tail -n 1 | tr -dc '0-9')
curl -fsS "$url/session/$id/lifelines?clock=raw" >page || fail "the page"
grep -q 'segments run backwards in time' page || fail "the page marks nothing"

# a program of the same host tells its clock; a busy machine may need a few exchanges
head -n 1 app.log >one.log
bound() { nw sql --csv "SELECT coalesce(min(value), 1) FROM v_sample WHERE event_type = 'nw:clock' AND subject LIKE '%\"app\"%' AND field = 'bound_s'" | tail -n 1 | tr -d '\r'; }
is_known() { app "$bin/nwlog" -1 -H app -t clock -f one.log && awk -v b="$(bound)" 'BEGIN { exit !(b + 0 < 0.001) }'; }
until_true 30 is_known || fail "the clock is not compared well: $(bound)"
nw lifelines "$id" >said
grep -q 'Times are corrected by the measured offsets of the clocks, and may be wrong by' said || fail "not corrected: $(head -3 said)"
left=$(awk '$1 ~ /^(APP|DPSS)_/ { n += $NF } END { print n }' said)
[ "$left" = 0 ] || fail "$left of $marked segments are still impossible: $(cat said)"
nw lifelines --json "$id" | python3 -c 'import json, sys
app = next(c for c in json.load(sys.stdin)["clocks"] if c["host"] == "app")
assert abs(app["offset_s"] + 0.005) <= app["bound_s"] < 0.001 and abs(app["corrected_s"] - app["offset_s"]) < 1e-6, app
print("clock of app: %.3f ms, bound %.3f ms" % (app["offset_s"] * 1e3, app["bound_s"] * 1e3))' || fail "the clock"
curl -fsS "$url/session/$id/lifelines" >page || fail "the page"
grep -q 'Times are corrected by the measured offsets' page || fail "the page does not tell the correction"
! grep -q 'run backwards in time' page || fail "the page still marks"
nw lifelines --raw "$id" >said
grep -q "segments run backwards in time" said || fail "as logged: $(head -3 said)"
