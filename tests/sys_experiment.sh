#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The experiment on metric reduction: figures and a report, without the recording and with a wrong one.
. tests/lib.sh
"$bin/experiment-reduction" "$tmp/out" || fail "the experiment ends with $?"
for f in fig2 fig3-paper fig3-ours fig4 fig5-paper fig5-ours fig6-paper fig6-ours; do
	[ "$(wc -l <"$tmp/out/$f.csv")" -ge 11 ] || fail "$f.csv is short"
	grep -q '<polyline.* points="[0-9]' "$tmp/out/$f.svg" || fail "$f.svg has no line"
done
[ "$(wc -l <"$tmp/out/fig6-ours.csv")" = 25 ] || fail "Figure 6 has 24 clients"
# both methods find the drivers; ours with few metrics, which hold without a new fit
awk '/^Figure [356] on/ { n = $2 } /^  paper.s method / { its[n] = $3; loose[n] = $8 } /^  ours / { ours[n] = $2; firm[n] = $7; found[n] = $8 / $10 }
	END { for (n in ours) { sets++; if (!(ours[n] < its[n] && firm[n] > 0.8 && firm[n] > loose[n] && found[n] >= 0.8)) bad = 1 } exit bad || sets != 3 }' \
	"$tmp/out/report.txt" || fail "the report: $(cat "$tmp/out/report.txt")"
[ "$(grep -c 'The headline is right' "$tmp/out/report.txt")" = 3 ] || fail "a headline is wrong"
grep -q 'No recording was given' "$tmp/out/report.txt" || fail "the report is silent on the recording"
! "$bin/experiment-reduction" "$tmp/out" "$tmp/none" 2>"$tmp/says" || fail "a missing recording is no fault"
grep -q 'no recording' "$tmp/says" || fail "it says $(cat "$tmp/says")"
# a recording that is cut, and one that is none
mkdir "$tmp/bad"
printf 'series,group,column,group_name,name,unit,kind,constant\n0,0,0,host.stat,cpu.user,ticks,counter,0\n' >"$tmp/bad/series.csv"
head -c 100 /dev/urandom >"$tmp/bad/dtn.nwp.zst"
! "$bin/experiment-reduction" "$tmp/out" "$tmp/bad" 2>/dev/null || fail "rubbish is a recording"
