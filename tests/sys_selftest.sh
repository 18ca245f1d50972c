#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fresh box: the first page says how to measure; narrows selftest makes a first session by itself, once; then the page shows
# the session, and still how to measure a program, until there is a session of somebody's own.
. tests/lib.sh
start_box
curl -fsS "$url/" >"$tmp/page" || fail "the first page"
grep -q 'Nothing has been measured yet' "$tmp/page" && grep -q 'nwrun rsync' "$tmp/page" && grep -q 'narrows selftest' "$tmp/page" ||
	fail "the first page does not say how to measure"
TMPDIR=$tmp nw selftest --if-empty || fail "selftest"
# judged N: N sessions are closed and have a verdict
judged() { [ "$(sql 'SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id WHERE s.closed_ns IS NOT NULL')" -ge "$1" ]; }
until_true 20 judged 1 || fail "no verdict of the self-test"
nw sessions --label self-test --json >"$tmp/list" || fail "sessions"
python3 - "$tmp/list" <<'EOF' || fail "the session: $(cat "$tmp/list")"
import json, sys
s, = map(json.loads, open(sys.argv[1]))
assert s["label"] == "self-test" and s["program"] == "narrows" and s["bytes"] > 1e6 and s["exit_status"] == 0
EOF
curl -fsS "$url/" >"$tmp/page" || fail "the page"
grep -q 'Measure your own program' "$tmp/page" && grep -q 'nwrun rsync' "$tmp/page" || fail "the page does not go on from the self-test"
TMPDIR=$tmp nw selftest --if-empty || fail "selftest again"
[ "$(sql 'SELECT count(*) FROM session')" = 1 ] || fail "a box with a session measures itself again"
dd if=/dev/zero of="$tmp/from" bs=1000000 count=4 2>/dev/null
NARROWS_INTERVAL=100ms "$bin/nwrun" cp "$tmp/from" "$tmp/to" || fail "nwrun"
until_true 20 judged 2 || fail "no verdict of cp"
! curl -fsS "$url/" | grep -q 'Measure your own program' || fail "the hint stays"
[ -z "$(find "$tmp" -name 'narrows-selftest-*')" ] || fail "files are left"
stop_box
echo PASS
