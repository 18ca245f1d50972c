#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every recorded case of tests/cases is answered, and every answer is right within the case's tolerances.
. tests/lib.sh
"$B/bin/stat-cases" tests/cases "$tmp/answers" || fail "not all cases were answered"
python3 tests/cases/compare.py --all tests/cases "$tmp/answers" >"$tmp/compared" || { cat "$tmp/compared"; fail "wrong answers"; }
cases=$(find tests/cases -name case.json | wc -l)
compared=$(grep -c '^ok ' "$tmp/compared")
[ "$cases" -gt 0 ] && [ "$compared" -eq "$cases" ] || fail "$compared of $cases cases were compared"
grep -q NaN "$tmp"/answers/*.json && fail "NaN in an answer"
python3 - "$tmp"/answers/*.json <<'P' || fail "an answer is not JSON"
import json, sys
def refuse(word):
    raise ValueError(word)
for name in sys.argv[1:]:
    json.load(open(name), parse_constant=refuse)
P
echo "$compared cases"
