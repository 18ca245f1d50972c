#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One user ends eight hundred sessions in a moment. Another user's session is judged before most of them, and the box ends in
# seconds; the next box judges what was left.
. tests/lib.sh
[ "$(ulimit -n)" -ge 2048 ] || ulimit -n 2048 || skip "needs 2048 descriptors"
[ "$(id -u)" = 0 ] || skip "needs root, to be two users"
chmod 755 "$tmp"
mkdir "$tmp/state"
start_box -o session-linger=1s -o max-connections-per-address=1000
cat >"$tmp/sessions.py" <<'PY'
# usage: sessions.py XSP UID NAME COUNT ROWS: sessions of so many rows each, that all end at once
import encodings.idna, os, sys
sys.path.insert(0, "tests")
import xsp
box, uid, name, count, rows = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
os.setgid(uid)
os.setuid(uid)
peers = []
for k in range(count):
    p = xsp.Peer(box).open().hello("%s-%d" % (name, k), task_id="%s-%d" % (name, k), host=name)
    p.app(0x20, xsp.meta("m"))
    for i in range(rows):
        p.app(0x21, xsp.data("m", i + 1, 1700000000.0 + i, dur=1.0 + i % 7))
    if k + 1 == count or k % 100 == 99:
        assert p.until_stored(rows, 20) == rows
    peers.append(p)
for p in peers:
    p.send(xsp.frame(xsp.CLOSE, sid=p.sid))
    p.s.close()
PY
judged() { sql "SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id WHERE s.task_id LIKE '$1-%'"; }
is_judged() { [ "$(judged "$1")" -ge "$2" ]; }

# how long a verdict takes here: linger and analysis
python3 "$tmp/sessions.py" "$xsp" 61001 alone 1 60 || fail "a session"
until_true 20 is_judged alone 1 || fail "a session alone is not judged"

python3 "$tmp/sessions.py" "$xsp" 61001 flood 800 60 || fail "the flood"
python3 "$tmp/sessions.py" "$xsp" 61002 other 1 60 || fail "the other user"
until_true 20 is_judged other 1 || fail "beside the flood nothing of another user is judged"
before=$(judged flood)
[ "$(sql "SELECT count(*) FROM session WHERE task_id LIKE 'flood-%'")" -ge 790 ] || fail "the flood is not there"
[ "$before" -lt 600 ] || fail "another user's session waits behind $before of 800"

python3 "$tmp/sessions.py" "$xsp" 61001 more 800 60 || fail "another flood"

began=$(date +%s)
stop_box
[ $(($(date +%s) - began)) -le $((5 * (2 + $(patience)))) ] || fail "the box ends after $(($(date +%s) - began)) s"
left=$((1600 - $(judged flood) - $(judged more)))
echo "another user is judged after $before of 800 sessions; $left of 800 more are left at the end of the box"
[ "$left" -gt 0 ] || echo "untested: the next box judges what was left (this one had judged all)"
start_box -o session-linger=1s -o max-connections-per-address=1000
until_true 60 is_judged more 800 || fail "the next box does not judge what was left"
