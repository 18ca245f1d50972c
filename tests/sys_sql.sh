#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Everything there is by SQL, while the box runs: by the narrows command, by sqlite3 with the extension, by Python; the
# same samples as the CSV of the report, and nothing can be written.
. tests/lib.sh
start_box -o session-linger=100ms
python3 -B - "$xsp" <<'PY' || fail "load"
import sys
sys.path.insert(0, "tests")
import xsp
t0 = 1700000000.0
odd = [0.1, 1e300, -0.0, 5e-324, 123456789.123456789, float("nan")]
a = xsp.Peer(sys.argv[1]).open().hello("prov-a", host="dtn-a", task_id="sql, \"quoted\"")
b = xsp.Peer(sys.argv[1]).open().hello("prov-b", host="dtn-b", task_id="sql, \"quoted\"")
a.app(0x20, xsp.meta("disk", resource="/data/\u00e4\nb"))
b.app(0x20, xsp.meta("net", event="nl:tools:calipers:summary:write", type="network", src="192.0.2.1", dst="192.0.2.2"))
for i in range(1500):
    a.app(0x21, xsp.data("disk", i, t0 + i, mean_r=odd[i % 6]))
    b.app(0x21, xsp.data("net", i, t0 + i / 7, mean_r=i / 3))
assert a.until_stored(1500) == 1500 and b.until_stored(1500) == 1500
a.close(); b.close()
h = xsp.Peer(sys.argv[1]).open().hello("host-1", host="dtn-a")
h.app(0x20, xsp.meta("cpu", event="ps:tools:blipp:linux:cpu:utilization:user", type="host"))
h.app(0x21, xsp.bson({"mid": "cpu", "data": {"ts": 5.0, "value": 0.5}}))
assert h.until_stored(1) == 1
h.close()
PY
until_true 10 sh -c "$bin/narrows -s $tmp/state sessions --json | grep -q '\"state\":\"closed\"'" || fail "the session does not close"

# --- the same samples as the report's CSV ---
columns="session,series_id,host,event_type,field,time,t_ns,value"
nw sql --csv --header "SELECT $columns FROM v_sample WHERE session = 1" >"$tmp/sql.csv" || fail "narrows sql"
python3 -B - "$url" "$tmp/sql.csv" "$columns" <<'PY' || fail "narrows sql and the report differ"
import sys, csv, io, urllib.request
names = sys.argv[3].split(",")
web = urllib.request.urlopen(sys.argv[1] + "/session/1.csv").read().decode()
want = sorted(tuple(r[n] for n in names) for r in csv.DictReader(io.StringIO(web)))
got = sorted(tuple(r[n] for n in names) for r in csv.DictReader(open(sys.argv[2])))
assert len(want) > 1500 * 9, len(want)
assert got == want, (len(got), len(want), [x for x in zip(got, want) if x[0] != x[1]][:3])
PY

# --- sqlite3 and Python, with the extension ---
all="SELECT count(*), count(value), sum(t_ns % 1000003), round(total(value) / 1e300, 6) FROM sample"
want=$(nw sql --csv "$all" | tr , '|')
got=$(sqlite3 -readonly -cmd ".load $bin/narrows_sqlite" "$tmp/state/narrows.db" "$all") || fail "sqlite3 does not load the extension"
[ "${got%.0}" = "$want" ] || fail "sqlite3 says $got, narrows sql $want"
one="session_id = 1 AND field = 'mean_r' AND t_ns BETWEEN 1700000000000000000 AND 1700000001000000000"
[ "$(sqlite3 -readonly -cmd ".load $bin/narrows_sqlite" "$tmp/state/narrows.db" \
    "SELECT count(*) || ' ' || max(time) FROM sample WHERE $one AND host = 'dtn-a'")" = "2 2023-11-14T22:13:21.000000000Z" ] ||
    fail "a stretch of one series"
! sqlite3 "$tmp/state/narrows.db" "SELECT * FROM v_sample" >"$tmp/out" 2>&1 || fail "v_sample without the extension"
for python in python3 /usr/bin/python3; do
	"$python" -c 'import sqlite3; sqlite3.connect("").enable_load_extension' 2>/dev/null || continue
	got=$("$python" - "$tmp/state/narrows.db" "$bin/narrows_sqlite.so" "$all" <<'PY'
import sys, sqlite3
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
db.enable_load_extension(True)
db.load_extension(sys.argv[2])
print("|".join("%g" % x if isinstance(x, float) else str(x) for x in db.execute(sys.argv[3]).fetchone()))
PY
	) || fail "Python does not load the extension"
	[ "$got" = "$want" ] || fail "Python says $got, narrows sql $want"
	break
done

# --- forms ---
[ "$(nw sql 'SELECT 1 AS one, NULL AS two, '"'a\"b,c'"' AS three')" = "$(printf 'one  two  three\n1    -    a"b,c')" ] || fail "table"
[ "$(nw sql --csv 'SELECT 1, NULL, '"'a\"b,c'"', 0.1')" = '1,,"a""b,c",0.1' ] || fail "csv"
[ "$(nw sql --json 'SELECT 1 AS a, NULL AS b, 9e999 AS c, x'"'00ff'"' AS d, 0.1 AS "e"')" = '{"a":1,"b":null,"c":1e999,"d":"00ff","e":0.1}' ] ||
    fail "json"
[ "$(nw sql --json 'SELECT char(27) AS a' | python3 -c 'import json, sys; print(ord(json.load(sys.stdin)["a"]))')" = 27 ] || fail "json text"
! nw sql 'SELECT char(27) || char(10)' | tail -n +2 | grep -q "$(printf '\033')" || fail "a control byte on the terminal"
[ "$(printf 'SELECT 1;\nSELECT\n2; SELECT 3' | nw sql --csv | tr '\n' ' ')" = "1 2 3 " ] || fail "statements from standard input"
! printf 'SELECT 1;\nSELCT;\nSELECT 2;' | nw sql --csv >"$tmp/out" 2>"$tmp/err" || fail "a statement that is none"
[ "$(cat "$tmp/out")" = 1 ] && grep -q 'syntax error' "$tmp/err" || fail "after a statement that is none"
timeout -s INT 1 "$bin/narrows" -s "$tmp/state" sql "SELECT count(*) FROM sample a, sample b, sample c" >"$tmp/out" 2>"$tmp/err" || :
grep -q interrupted "$tmp/err" || fail "not to be interrupted"

# --- nothing is written ---
cp "$tmp/state/narrows.db" "$tmp/before"
for s in "DELETE FROM host" "UPDATE session SET task_id = 'x'" "DROP TABLE tail" "CREATE TABLE x(a)" "CREATE TEMP TABLE x(a)" \
    "ATTACH '$tmp/evil' AS e" "VACUUM INTO '$tmp/evil'" "PRAGMA journal_mode = DELETE" "PRAGMA user_version = 7" "ANALYZE" \
    "PRAGMA writable_schema = 1" "UPDATE sqlite_master SET sql = ''" "INSERT INTO sample(value) VALUES (1)" \
    "SELECT load_extension('$bin/narrows_sqlite')" "DETACH main" "REINDEX"; do
	! nw sql "$s" >"$tmp/out" 2>&1 || fail "allowed: $s"
done
[ ! -e "$tmp/evil" ] || fail "a file was made"
[ "$(nw sql --csv 'PRAGMA user_version')" = "$(sql 'PRAGMA user_version')" ] || fail "a PRAGMA that only tells"
stop_box
# without a box, and without a store
[ "$(nw sql --csv "SELECT count(*) FROM v_session")" = 1 ] || fail "without a box"
! "$bin/narrows" -s "$tmp/none" sql "SELECT 1" >"$tmp/out" 2>&1 || fail "without a store"
! "$bin/narrows" -u "127.0.0.1/1" sql "SELECT 1" >"$tmp/out" 2>&1 || fail "over HTTP"

# a command that fits nothing does not load the libraries of fits
! ldd "$bin/narrows" | grep -q openblas || fail "narrows loads OpenBLAS at its start"
