#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The sentences of a session are printed from records that agree with its figures and with each other; narrows report --check finds
# every planted contradiction. lib.sh runs the same check over the documents that other tests leave.
. tests/lib.sh
start_box
TMPDIR=$tmp nw selftest >/dev/null || fail "selftest"
until_true 20 nw report --check last || fail "the session's document: $(nw report --check last)"
nw report --json last >"$tmp/document" || fail "report"
nw report --check all | grep -q '^1 documents checked, 0 contradictions$' || fail "all: $(nw report --check all)"
python3 tests/claims.py "$bin/narrows" analyze/verdict/claim/claims.def "$tmp/document" || fail "the check of planted contradictions"
stop_box
[ -z "$(lib_contradictions)" ] || fail "contradictions: $(lib_contradictions)"
# a test that leaves a contradiction fails
mkdir "$tmp/liar"
printf '#!/bin/sh\necho session 1, verdict.sentence: planted\nexit 1\n' >"$tmp/liar/narrows"
chmod +x "$tmp/liar/narrows"
! B=$B sh -c '. tests/lib.sh; mkdir "$tmp/state"; >"$tmp/state/narrows.db"; bin=$0; exit 0' "$tmp/liar" 2>"$tmp/said" &&
	grep -q '^session 1, verdict.sentence: planted$' "$tmp/said" || fail "lib.sh accepts contradictions: $(cat "$tmp/said")"
echo PASS
