#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Backup of a box that works, verify of good and of damaged files, restore, and a store of an older version.
. tests/lib.sh
cat >"$tmp/load.py" <<'PY'
# numbered rows until a file says stop; a second file tells how far they are acknowledged
import sys, os
sys.path.insert(0, "tests")
import xsp
address, told, stop = sys.argv[1:4]
p = xsp.Peer(address).open().hello("load", host="dtn-load", task_id="load")
p.app(0x20, xsp.meta("m"))
n = acked = 0
while not os.path.exists(stop):
    for _ in range(50):
        n += 1
        p.app(0x21, xsp.bson({"mid": "m", "data": {"ts": 1700000000.0 + n / 1000, "seq": float(n), "sum_v": n / 7, "dur": 0.1}}))
    acked = p.until_stored(n)
    assert acked == n, (acked, n)
    open(told + ".new", "w").write(str(acked))
    os.rename(told + ".new", told)
p.close()
PY
acked() { cat "$tmp/told" 2>/dev/null || echo 0; }
ahead() { [ "$(acked)" -gt "$1" ]; }

start_box -o session-linger=100ms
# a session with a verdict, to be seen again
python3 -B - "$xsp" <<'PY' || fail "a session"
import sys
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open().hello("first", host="dtn-a", task_id="first")
p.app(0x20, xsp.meta("disk"))
for i in range(1200):
    p.app(0x21, xsp.data("disk", i, 1700000000.0 + i, mean_r=0.5 + i % 7))
assert p.until_stored(1200) == 1200
p.close()
PY
judged() { nw report 1 --json | grep -q '"state": *"closed"' && ! nw report 1 | grep -q 'Not judged'; }
until_true 10 judged || fail "not judged"
nw report 1 >"$tmp/verdict"

# --- backup under load ---
python3 -B "$tmp/load.py" "$xsp" "$tmp/told" "$tmp/stop" &
load=$!
pids="$pids $load"
until_true 10 ahead 1000 || fail "no load"
before=$(acked)
nw backup "$tmp/copy" >"$tmp/out" || fail "backup"
until_true 10 ahead "$before" || fail "the box stands still"
! nw backup "$tmp/copy" 2>"$tmp/err" || fail "overwrites"
grep -q 'there is such a file' "$tmp/err" || fail "does not say why it does not overwrite"
nw backup -f "$tmp/copy2" >"$tmp/out" && nw backup -f "$tmp/copy2" >"$tmp/out" || fail "backup -f"
nw verify >"$tmp/out" || fail "verify of a store in use: $(cat "$tmp/out")"
touch "$tmp/stop"
wait "$load" || fail "load"
ls "$tmp" | grep -q part && fail "something is left: $(ls "$tmp")"

# one moment: what was acknowledged before, and no hole
nw verify "$tmp/copy" >"$tmp/out" || fail "verify of the copy: $(cat "$tmp/out")"
grep -q 'whole: ' "$tmp/out" || fail "what verify says: $(cat "$tmp/out")"
[ ! -e "$tmp/copy-wal" ] || fail "the copy is more than one file"
seq=$(sqlite3 -readonly -cmd ".load $bin/narrows_sqlite" "$tmp/copy" \
    "SELECT count(*) || ' ' || count(DISTINCT value) || ' ' || CAST(max(value) AS INTEGER) FROM sample WHERE field = 'seq'")
n=${seq%% *}
[ "$seq" = "$n $n $n" ] && [ "$n" -ge "$before" ] || fail "the copy has $seq rows; $before were acknowledged before"

# --- what verify finds ---
damaged() { # WHAT IT SAYS, SQL
	cp "$tmp/copy" "$tmp/bad"
	sqlite3 "$tmp/bad" "PRAGMA foreign_keys = OFF; $2"
	! nw verify "$tmp/bad" >"$tmp/out" 2>&1 || fail "not found: $1"
	grep -q "$1" "$tmp/out" || fail "says $(cat "$tmp/out") and not $1"
	! "$bin/narrows" -s "$tmp/elsewhere" restore "$tmp/bad" >"$tmp/out" 2>&1 || fail "restores what is damaged: $1"
	[ ! -e "$tmp/elsewhere/narrows.db" ] || fail "a damaged store"
}
damaged 'chunk 1 of layout 1: corrupt' "UPDATE chunk SET data = CAST(substr(data, 1, 99) || x'ff' || substr(data, 101) AS BLOB) WHERE id = 1"
damaged 'reference: layout 1: its metadata is not there' "DELETE FROM metadata WHERE id = 1"
damaged 'reference: .*: its session is not there' "DELETE FROM session WHERE id = 1"
damaged 'layout 1' "DELETE FROM layout WHERE id = 1"
damaged 'result of session 1: its document' "UPDATE result SET document = '{' WHERE session_id = 1"
# bytes that the disk has lost
cp "$tmp/copy" "$tmp/bad"
python3 -c "
import sys, random
f = open(sys.argv[1], 'r+b'); n = f.seek(0, 2); r = random.Random(4)
for _ in range(200):
    f.seek(r.randrange(8192, n)); f.write(bytes([r.randrange(256)]))" "$tmp/bad"
! nw verify "$tmp/bad" >"$tmp/out" 2>&1 || fail "200 lost bytes are not found"
! nw verify "$tmp/verdict" >"$tmp/out" 2>&1 || fail "not a store at all"

# --- restore ---
! nw restore -f "$tmp/copy" 2>"$tmp/err" || fail "restores under a running box"
grep -q 'in use' "$tmp/err" || fail "does not say that a box runs"
stop_box
! nw restore "$tmp/copy" 2>"$tmp/err" || fail "restores over a store"
nw restore -f "$tmp/copy" >"$tmp/out" || fail "restore"
kept=$(sed -n 's/: the former store$//p' "$tmp/out")
nw verify "$kept" >"$tmp/out" || fail "the former store: $(cat "$tmp/out")"
[ "$(sqlite3 -readonly "$kept" "SELECT stored_seq FROM provider WHERE id = 'load'")" = "$(acked)" ] || fail "the former store is another"
start_box
nw report 1 >"$tmp/again"
cmp -s "$tmp/verdict" "$tmp/again" || fail "another verdict: $(diff "$tmp/verdict" "$tmp/again")"
# it goes on where the copy ends: the provider is asked for the rest
python3 -B - "$xsp" "$n" <<'PY' || fail "the restored box"
import sys
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open().hello("load", host="dtn-load", task_id="load")
kind, blocks = p.message()
assert xsp.stored_of(blocks[0][1]) == int(sys.argv[2]), (xsp.stored_of(blocks[0][1]), sys.argv[2])
p.close()
PY
stop_box
rm -r "$tmp/state"
nw restore "$tmp/copy" >"$tmp/out" || fail "restore where nothing is"
nw verify >"$tmp/out" || fail "the restored store: $(cat "$tmp/out")"

# --- a store that an older version left ---
rm -r "$tmp/state" && mkdir "$tmp/state"
gzip -dc tests/data/narrows-v1.db.gz >"$tmp/state/narrows.db"
! nw sessions 2>"$tmp/err" || fail "reads an older store"
grep -q 'start narrowsd' "$tmp/err" || fail "says: $(cat "$tmp/err")"
start_box
nw report 1 | grep -q 'Cannot tell whether disk read on dtn-a' || fail "the old verdict"
grep -q "store.upgrade from=1 to=[0-9]* seconds=[0-9.]* backup=$tmp/state/narrows.db.v1.bak" "$tmp/box.log" || fail "the upgrade is not logged"
nw verify >"$tmp/out" || fail "the migrated store: $(cat "$tmp/out")"
stop_box
[ "$(sqlite3 -readonly "$tmp/state/narrows.db.v1.bak" 'PRAGMA user_version')" = 1 ] || fail "no copy of the old store"
nw restore -f "$tmp/state/narrows.db.v1.bak" >"$tmp/out" || fail "restore of an older version"
nw verify >"$tmp/out" || fail "restored from an older version: $(cat "$tmp/out")"
sqlite3 "$tmp/state/narrows.db" 'PRAGMA user_version = 99'
! "$bin/narrowsd" -d -o state-dir="$tmp/state" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>"$tmp/err" ||
    fail "starts on a newer store"
grep -q 'made by a newer narrows' "$tmp/err" || fail "says: $(cat "$tmp/err")"
