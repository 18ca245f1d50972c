#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Lifelines of an imported log: the delay that was planted is named with its size, in words, JSON, and on the page of a
# running box; a log without a delay says nothing; a server's clock that is 5 ms behind is the finding, by host
# and size, and no delay.
. tests/lib.sh
cd "$tmp"

# blocks of three servers; $1 ms more on the disk of server s2 for one block in ten, clock of s2 $2 ms behind, and so many ms
# more each second as $3 says
log() {
	awk -v more="$1" -v behind="$2" -v drift="${3:-0}" 'function at(name, host, t) { printf "%s; %s; %d; %09d; %d; 1; 77; %d\n", name, host, 1795162331 + int(t / 1000), (t % 1000) * 1000000, block, list }
	BEGIN { srand(4); for (list = 0; list < 60; list++) for (i = 0; i < 12; i++) {
		block = list * 12 + i; s = "s" (1 + i % 3); t = 100 + list * 200 + rand()
		off = s == "s2" ? -behind - drift * t / 1000 : 0
		at("APP_SEND", "app", t); t += 1 + rand(); at("DPSS_SERV_IN", s, t + off)
		t += 1 + rand(); at("DPSS_START_READ", s, t + off)
		t += 6 + 3 * rand() + (s == "s2" && list % 10 == i % 10 ? more : 0); at("DPSS_END_READ", s, t + off)
		t += 1 + rand(); at("DPSS_START_WRITE", s, t + off); t += 2 + rand(); at("APP_RECEIVE", "app", t) } }'
}
log 40 0 >slow.log
log 0 0 >even.log
log 0 5 >behind.log
log 0 -10 1.6 >drifts.log
awk -F'; ' '/END_READ|START_WRITE|RECEIVE/ { ns = $4 + 20000000; $3 += int(ns / 1000000000); $4 = sprintf("%09d", ns % 1000000000) } { print $1 "; " $2 "; " $3 "; " $4 "; " $5 "; " $6 "; " $7 "; " $8 }' even.log >all.log
for name in slow even behind all; do
	"$bin/narrows" -s state import "$name.log" >said 2>&1 || fail "import: $(cat said)"
done
ids=$("$bin/narrows" -s state sql "SELECT id FROM session ORDER BY id" | tr -dc '0-9\n')
set -- $ids
[ $# = 4 ] || fail "four logs are sessions: $ids"

"$bin/narrows" -s state lifelines "$1" >said || fail "lifelines"
grep -q -E '^From DPSS_START_READ to DPSS_END_READ, [0-9]+ lines of server s2 .* take (39|40|41)[.0-9]*[^a-z]*ms longer' said || fail "the delay: $(cat said)"
grep -q '^720 lifelines, 720 chosen: 720 finished' said || fail "lines: $(cat said)"
"$bin/narrows" -s state lifelines "$2" >said || fail "lifelines"
grep -q '^Nothing stands out' said || fail "nothing was planted: $(cat said)"
"$bin/narrows" -s state lifelines --server s2 --percentile 90-100 --csv "$1" >said || fail "csv"
[ "$(grep -c ',s2,finished,' said)" -ge 20 ] && ! grep -q ',s1,' said || fail "a choice: $(head -3 said)"
"$bin/narrows" -s state lifelines "$3" >said || fail "lifelines"
grep -q -E '^The clock of s2 is 4[^ ]*ms to 7[^ ]*ms behind that of app\. .* Nothing stands out' said || fail "the wrong clock: $(cat said)"
! grep -q 'longer' said || fail "the clock is told as a delay: $(cat said)"
"$bin/narrows" -s state lifelines --raw "$3" >said || fail "lifelines"
! grep -q 'longer' said || fail "as logged, the clock is told as a delay: $(cat said)"
grep -q '[0-9]* segments run backwards in time' said || fail "a wrong clock: $(cat said)"
# a clock that drifts while the lines are recorded: host, sizes and rate are told, and nothing is left of it in the picture
"$bin/narrows" -s state import drifts.log >said 2>&1 && "$bin/narrows" -s state lifelines last >said || fail "drift: $(cat said)"
grep -q -E '^The clock of s2 loses 1[0-9]+ to 1[0-9]+ ppm against that of app: first [^ ]*ms to [^ ]*ms ahead, last [^ ]*ms to [^ ]*ms behind\. .*With the middle taken off: Nothing stands out' said ||
	fail "the drift: $(cat said)"
grep -q 'clock of s2: corrected by [^ ]*ms at first, and by -1[0-9]* ppm' said || fail "the drift's correction: $(cat said)"
"$bin/narrows" -s state lifelines --json last | python3 -c 'import json, sys
d = json.load(sys.stdin)
w, = d["wrong_clocks"]
assert w["host"] == "s2" and w["kind"] == "drift" and w["rate_low"] < -0.0016 < w["rate_high"], w
assert w["low_s"] < 0.0100 < w["high_s"] + 0.001 and w["end_low_s"] < -0.0092 < w["end_high_s"] + 0.001, w
assert all(s["order_impossible"] == 0 for s in d["segments"]), d["segments"]' || fail "the drift as JSON"
"$bin/narrows" -s state lifelines --otlp -o spans.json "$1" && python3 -m json.tool spans.json >/dev/null || fail "spans"
"$bin/narrows" -s state lifelines --svg "$1" >said && grep -q '^<svg' said || fail "drawing"
# points that no line has are told by name, and nothing is measured
! "$bin/narrows" -s state lifelines --a '12 1 77 1@DPSS_NOWHERE' --b 'none@APP_SEND' "$1" >said 2>why || fail "wrong points are measured"
grep -q 'the path has no point DPSS_NOWHERE' why && grep -q 'no lifeline has the ids none' why || fail "why nothing is measured: $(cat why)"
"$bin/narrows" -s state lifelines --a '12 1 77 1@APP_SEND' --b '12 1 77 1@APP_RECEIVE' "$1" >said || fail "right points are not measured"
# drops of the slow server prove its delay; those of another server at the same time do not. Blocks from memory are told
awk -F'; ' 'NR == FNR { if ($1 == "DPSS_START_READ") begin[$5] = $4; next }
	{ print } $1 == "DPSS_FLUSH" { next }
	$1 == "DPSS_END_READ" && $2 == "s2" && ($4 - begin[$5] + 1000000000) % 1000000000 > 30000000 { for (s = 1; s <= 2; s++) for (i = 0; i < s; i++) printf "SWITCH_DROP; switch; %s; %s; s%d; 1500; 9000\n", $3, $4, 3 - s }
	$1 == "DPSS_END_READ" && $5 % 8 == 0 { sub("DPSS_END_READ", "DPSS_FROM_MEMORY"); print }' slow.log slow.log >dropped.log
"$bin/narrows" -s state import dropped.log >said 2>&1 && "$bin/narrows" -s state lifelines last >said || fail "drops: $(cat said)"
grep -q 'events SWITCH_DROP on switch of server s2 fall into that time' said || fail "whose drops: $(head -n 1 said)"
grep -q ' 90 of 720 finished lines came from memory: the median of these takes' said || fail "blocks from memory: $(head -n 1 said)"
! "$bin/narrows" -s state lifelines --percentile 120 "$1" 2>said || fail "a percentile of 120"

# a delay of all lines is seen against another session
"$bin/narrows" -s state lifelines --against "$2" "$4" >said || fail "lifelines"
grep -q '^Nothing stands out' said && grep -q -E '^From DPSS_START_READ to DPSS_END_READ, lines take 20[.0-9]*[^a-z]*ms longer than in session' said || fail "against: $(head -3 said)"

# notes stay with the session
"$bin/narrows" -s state annotate --at 2.5 --line "12 1 77 1" --point DPSS_END_READ "$1" 'the <disk> again' >said || fail "annotate"
grep -qx 'note 1' said || fail "annotate: $(cat said)"
"$bin/narrows" -s state lifelines --json "$1" | python3 -c 'import json, sys
n = json.load(sys.stdin)["notes"]
assert len(n) == 1 and n[0]["text"] == "the <disk> again" and n[0]["point"] == "DPSS_END_READ", n' || fail "the note"
! "$bin/narrows" -s state annotate --at never "$1" x 2>said || fail "a time that is none"
! "$bin/narrows" -s state annotate 999 x 2>said || fail "a session that is none"

# the page says the same
start_box
base=$url
curl -fsS "$base/session/$1/lifelines" >page || fail "the page"
grep -q 'From DPSS_START_READ to DPSS_END_READ, ' page || fail "the page's sentence"
grep -q 'the &lt;disk&gt; again' page || fail "the note on the page"
# a note from the page's form at a point of a line, and a measurement between two
mark='12%201%2077%201%40DPSS_END_READ'
curl -fsS "$base/session/$1/lifelines?id=12%201%2077%201&a=$mark" >page || fail "a point is chosen"
at=$(sed -n 's/.*name="at" value="\([^"]*\)".*/\1/p' page)
grep -q 'choose the point to measure to' page && grep -q '<g class="marks"' page && [ -n "$at" ] || fail "the chosen point"
to=$(curl -fsS -o /dev/null -w '%{redirect_url}' --data-urlencode 'text=from the <page>' --data-urlencode 'line=12 1 77 1' --data-urlencode point=DPSS_END_READ \
	--data-urlencode "at=$at" "$base/session/$1/note") || fail "the form of a note"
case $to in "$base/session/$1/lifelines?id=12%201%2077%201#notes") ;; *) fail "a note leads to $to" ;; esac
curl -fsS "$base/session/$1/lifelines.json" | python3 -c 'import json, sys
n = [n for n in json.load(sys.stdin)["notes"] if n["text"] == "from the <page>"]
assert len(n) == 1 and (n[0]["line"], n[0]["point"], n[0]["at"]) == ("12 1 77 1", "DPSS_END_READ", sys.argv[1]), (n, sys.argv)' "$at" || fail "the note of the page"
[ "$(curl -sS -o /dev/null -w '%{http_code}' -d text=x -d 'line==verdict' "$base/session/$1/note")" = 400 ] || fail "a note pretends to be a judgement"
nw annotate --delete 1 || fail "a note beside a running box"
! curl -fsS "$base/session/$1/lifelines" | grep -q 'again' || fail "the note is still there"
curl -fsS "$base/session/$1" | grep -q "/session/$1/lifelines" || fail "no link to the lifelines"
curl -fsS "$base/session/last/lifelines.json" -L | python3 -m json.tool >/dev/null || fail "JSON of the last session"
[ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/session/$1/lifelines?percentile=x")" = 400 ] || fail "a query that makes no sense"
[ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/session/999/lifelines")" = 404 ] || fail "no such session"
