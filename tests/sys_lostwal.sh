#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A write-ahead log that is lost or damaged under a killed box: verify and the next start say which commits are missing.
# A log that is whole raises no alarm.
. tests/lib.sh
cat >"$tmp/send.py" <<'PY'
import sys
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open().hello(sys.argv[2], host="dtn-a", task_id=sys.argv[2])
p.app(0x20, xsp.meta("disk"))
for i in range(200):
    p.app(0x21, xsp.data("disk", i, 1700000000.0 + i, mean_r=0.5 + i % 7))
    if i % 20 == 19:
        assert p.until_stored(i + 1) == i + 1
p.close()
PY
send() { python3 -B "$tmp/send.py" "$xsp" "$1" || fail "$1 is not stored"; }
end_box() { kill -9 "$box"; wait "$box" 2>/dev/null || :; }
lost() { grep -c 'store.lost' "$tmp/box.log" || :; }

start_box
send first
end_box
nw verify >"$tmp/said" 2>&1 || fail "verify after a kill: $(cat "$tmp/said")"
start_box
[ "$(lost)" = 0 ] || fail "a whole log raises an alarm"
send second
end_box

cp -R "$tmp/state" "$tmp/kept"
[ -s "$tmp/state/narrows.db-wal" ] || fail "the box left no log"
: >"$tmp/state/narrows.db-wal"
nw verify >"$tmp/said" 2>&1 && fail "verify does not miss the log: $(cat "$tmp/said")"
grep -q 'commits [0-9]* to [0-9]* were acknowledged and are missing' "$tmp/said" || fail "verify: $(cat "$tmp/said")"
start_box
[ "$(lost)" = 1 ] || fail "the start does not tell of the lost log"
nw health --json | grep -q '"lost_commits": *[1-9]' || fail "health does not tell of the lost log"
send third
stop_box
start_box
[ "$(lost)" = 1 ] || fail "an orderly end raises an alarm"
stop_box

# One page of the log is damaged: SQLite ends the log there.
rm -rf "$tmp/state"
mv "$tmp/kept" "$tmp/state"
python3 - "$tmp/state/narrows.db-wal" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(32 + 24 + 100)
    f.write(b"\xff" * 16)
PY
nw verify >"$tmp/said" 2>&1 && fail "verify does not see the damage: $(cat "$tmp/said")"
grep -q 'were acknowledged and are missing' "$tmp/said" || fail "verify of a damaged log: $(cat "$tmp/said")"
