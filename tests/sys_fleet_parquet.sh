#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fleet of Parquet files: one file for each site and day, which a reader that is not ours (npm's hyparquet) reads value for value;
# a verdict judged anew replaces the old one, a session that the box has forgotten stays, a full disk leaves the old file.
. tests/lib.sh
mkdir "$tmp/fleet"
start_box
stop_box
db=$tmp/state/narrows.db
# 2,600 sessions of a day (three row groups), and some of others: nothing known, extremes, texts of all kinds
python3 - "$db" <<'PY'
import random, sqlite3, sys
db, rng, day = sqlite3.connect(sys.argv[1]), random.Random(7), 86400 * 10**9
base = 20000 * day
texts = ["", "plain", "gr\u00fc\u00dfe \u2192 \U0001f600", "a\nb\t\"c\" \\ d", "x" * 70000, "'; DROP TABLE session; --"]
def add(i, start, rate=None, sentence=None, stage=None):
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, start, start + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns, took_ns) VALUES (?, ?, 'verdict', ?, ?)", (i, i, start + 9, rng.choice([None, 0, 2**62])))
    db.execute("INSERT INTO result(session_id, run_id, route, stage, sentence, bytes, bytes_per_s, start_ns, duration_ns, usual, exit_status, host_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,0)",
               (i, i, rng.choice([None, "a -> b"]), stage, sentence, rng.choice([None, 0.0, 1e300, 5e-324]), rate, start, rng.choice([None, 0, 2**53 + 1]), rng.choice([None, 1.0, i % 7 / 4]), rng.choice([None, 0, 139])))
for i in range(1, 2601):
    add(i, base + i * 10**9 + i, rng.random() * 1e9 if i % 3 else None, rng.choice(texts[:4]), rng.choice([None, "network"]))
for i, t in enumerate(texts):
    add(3000 + i, base - day + i, 1 / 3, t, "host")
add(4000, base + day - 1)
add(4001, base + day)
db.commit()
PY
conf() { printf '%s\n' "site here" "fleet $1" "rate 100000" >"$tmp/$2.conf"; }
conf "file://$tmp/fleet" parquet
conf "sqlite:$tmp/fleet.db" sqlite
fl() { engine=$1; shift; nw fleet -f "$tmp/$engine.conf" -m "$tmp/$engine.memory" "$@" 2>"$tmp/err"; }
push() { for engine in parquet sqlite; do fl $engine push >"$tmp/said" || fail "push: $(cat "$tmp/err")"; done; }
here=$tmp/fleet/here

push
grep -qx '2608 sessions sent, 0 stay here.' "$tmp/said" || fail "$(cat "$tmp/said")"
[ "$(cd "$here" && echo *)" = "2024-10-03.level.parquet 2024-10-03.parquet 2024-10-04.level.parquet 2024-10-04.parquet 2024-10-05.parquet manifest.json rows.db" ] || fail "files: $(ls -A "$here")"
python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))
files = {k: n for k, n in m["files"].items() if ".level." not in k}
assert set(m["files"]) - set(files) == {"2024-10-03.level.parquet", "2024-10-04.level.parquet"}, m
assert files == {"2024-10-03.parquet": 6, "2024-10-04.parquet": 2601, "2024-10-05.parquet": 1} and m["site"] == "here", m' "$here/manifest.json" || fail manifest

# --- read by hyparquet ---
js=${NARROWS_PARQUET_JS:-}
if [ -z "$js" ] && command -v npm >/dev/null 2>&1 && (mkdir "$tmp/js" && cd "$tmp/js" &&
    timeout 120 npm install --silent --no-audit --no-fund hyparquet@1 hyparquet-compressors@1 >/dev/null 2>&1); then
	js=$tmp/js
fi
if [ -n "$js" ]; then
	cat >"$js/read.mjs" <<'JS'
import { readFileSync } from 'node:fs';
import { parquetReadObjects, parquetMetadata } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
for (const path of process.argv.slice(2)) {
	const bytes = readFileSync(path), file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	const meta = parquetMetadata(file);
	const t = meta.schema.find(e => e.name === 'start_ns').logical_type;
	if (t.type !== 'TIMESTAMP' || t.unit !== 'NANOS' || t.isAdjustedToUTC !== true) throw new Error(JSON.stringify(t));
	if (path.endsWith('10-04.parquet') && meta.row_groups.length !== 3) throw new Error('row groups: ' + meta.row_groups.length);
	// times as they are stored: a Date has no nanoseconds
	const parsers = { timestampFromNanoseconds: v => v };
	for (const row of await parquetReadObjects({ file, compressors, parsers })) {
		for (const k in row) if (typeof row[k] === 'bigint') row[k] = row[k].toString(); else if (row[k] === undefined) row[k] = null;
		console.log(JSON.stringify(row));
	}
}
JS
	cat >"$tmp/same.py" <<'PY'
import json, sqlite3, sys
got = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    assert (row["site"], row["session"]) not in got, row
    got[row["site"], row["session"]] = row
db = sqlite3.connect(sys.argv[2])
db.row_factory = sqlite3.Row
rows = db.execute("SELECT * FROM session").fetchall()
assert len(rows) == len(got) == int(sys.argv[3]), (len(rows), len(got))
for row in rows:
    g = got[row["site"], str(row["session"])]
    assert list(g) == row.keys(), g
    for k in row.keys():
        v = str(row[k]) if isinstance(row[k], int) else row[k]
        assert v == g[k], (k, v, g[k])
PY
	same() { (cd "$js" && node read.mjs "$here"/????-??-??.parquet) >"$tmp/read" 2>"$tmp/err" || fail "read: $(cat "$tmp/err")"
		python3 "$tmp/same.py" "$tmp/read" "$tmp/fleet.db" "$1" || fail "another value"; }
	# roll-ups, but for the time of the count
	(cd "$js" && node read.mjs "$here"/*.level.parquet) >"$tmp/read" 2>"$tmp/err" || fail "read: $(cat "$tmp/err")"
	python3 - "$tmp/read" "$tmp/fleet.db" <<'PY' || fail "roll-ups differ"
import json, sqlite3, sys
got = sorted([str(v) for k, v in json.loads(line).items() if k != "judged_ns"] for line in open(sys.argv[1]))
db = sqlite3.connect(sys.argv[2])
names = [r[1] for r in db.execute("PRAGMA table_info(level)") if r[1] != "judged_ns"]
want = [list(r) for r in db.execute(f"SELECT {', '.join(names)} FROM level")]
number = lambda v: float(v) if v not in (None, "None") and v.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit() else v
key = lambda rows: sorted([number(str(v)) if v is not None else "None" for v in r] for r in rows)
assert len(want) > 3 and key(want) == key(got), (len(want), len(got), key(want)[:2], key(got)[:2])
PY
else
	echo "untested: the files are not read: neither npm nor NARROWS_PARQUET_JS leads to hyparquet"
	same() { :; }
fi
same 2608

# --- judged anew, onto another day; forgotten by the box; and both again, a push that is repeated ---
sqlite3 "$db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 9000, 4001, 'verdict', 1 + started_ns FROM run WHERE id = 4001;
	UPDATE result SET stage = 'disk.read', run_id = 9000, start_ns = start_ns - 1 WHERE session_id = 4001;
	DELETE FROM result WHERE session_id < 100; DELETE FROM session WHERE id < 100"
cp "$tmp/parquet.memory" "$tmp/before"
push
[ ! -e "$here/2024-10-05.parquet" ] || fail "a day without sessions has a file"
same 2608
cp "$tmp/before" "$tmp/parquet.memory"
push
same 2608

# --- a disk that fills up while a day is written: the old file stays, the next push makes it good ---
sum=$(md5sum <"$here/2024-10-04.parquet")
sqlite3 "$db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 9001, 200, 'verdict', 1 + started_ns FROM run WHERE id = 200;
	UPDATE result SET stage = 'disk.write', run_id = 9001 WHERE session_id = 200"
! (ulimit -f 100; fl parquet push) >/dev/null 2>&1 || fail "a full disk takes a day"
[ "$(md5sum <"$here/2024-10-04.parquet")" = "$sum" ] || fail "the day is damaged"
push
[ "$(md5sum <"$here/2024-10-04.parquet")" != "$sum" ] || fail "the verdict is lost"
same 2608

# --- rows that are safe, and a day that cannot be written: a push without new rows writes the day ---
sqlite3 "$db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 9002, 201, 'verdict', 1 + started_ns FROM run WHERE id = 201;
	UPDATE result SET stage = 'network', run_id = 9002 WHERE session_id = 201"
sum=$(md5sum <"$here/2024-10-04.parquet")
mkdir "$here/.2024-10-04.parquet.new"
! fl parquet push >/dev/null || fail "a day that cannot be written is none"
grep -q "2024-10-04.parquet" "$tmp/err" || fail "why: $(cat "$tmp/err")"
[ "$(md5sum <"$here/2024-10-04.parquet")" = "$sum" ] || fail "the day is damaged"
rmdir "$here/.2024-10-04.parquet.new"
push
[ "$(md5sum <"$here/2024-10-04.parquet")" != "$sum" ] || fail "the verdict is lost"
same 2608

# --- hashed names are nowhere in clear, in no file of the fleet ---
sqlite3 "$db" "INSERT INTO host(id, name) VALUES (900, 'secret-dtn.example'); CREATE TABLE kept AS SELECT * FROM result; UPDATE result SET route = 'secret-dtn.example -> b',
	label = 'of secret-dtn', sentence = 'secret-dtn.example waits', program = 'secret-dtn.example-copy' WHERE session_id % 2"
mkdir "$tmp/hashed"
head -c 32 /dev/urandom | base64 >"$tmp/key"
chmod 600 "$tmp/key"
printf '%s\n' "site here" "fleet file://$tmp/hashed" "rate 100000" "names hashed" "key-file $tmp/key" >"$tmp/hashed.conf"
fl hashed push >/dev/null || fail "push: $(cat "$tmp/err")"
! grep -raqi secret-dtn "$tmp/hashed" || fail "a name in clear: $(grep -rali secret-dtn "$tmp/hashed")"
if [ -n "$js" ]; then # pages are compressed
	(cd "$js" && node read.mjs "$tmp"/hashed/here/*.parquet) >"$tmp/read" || fail "read"
	grep -q 'h-[0-9a-f]\{20\} -> h-' "$tmp/read" && ! grep -qi secret-dtn "$tmp/read" || fail "a name in clear in Parquet: $(grep -m 1 secret-dtn "$tmp/read" | head -c 300)"
fi
sqlite3 "$db" "DELETE FROM result; INSERT INTO result SELECT * FROM kept; DROP TABLE kept; DELETE FROM host WHERE id = 900"

# --- a site whose user may not write another site's directory writes, reads and deletes nothing there ---
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -p "$tmp/shared/a" "$tmp/shared/b" "$tmp/box"
	cp "$db" "$tmp/box/narrows.db"
	chmod 755 "$tmp" "$tmp/shared"
	chmod 700 "$tmp/shared/a" "$tmp/shared/b"
	chown 20001 "$tmp/shared/a" "$tmp/box" "$tmp/box/narrows.db"
	chown 20002 "$tmp/shared/b"
	for site in a b; do printf '%s\n' "site $site" "fleet file://$tmp/shared" "rate 100000" >"$tmp/as-$site.conf"; done
	as() { setpriv --reuid=20001 --clear-groups "$bin/narrows" -s "$tmp/box" fleet -f "$tmp/as-$1.conf" -m "$tmp/box/$1.memory" $2 2>"$tmp/err"; }
	as a push >/dev/null || fail "a's own push: $(cat "$tmp/err")"
	for what in push "delete all"; do
		! as b "$what" >/dev/null || fail "a, as b: $what"
		grep -q "shared/b.*" "$tmp/err" || fail "why: $(cat "$tmp/err")"
	done
	[ -z "$(ls -A "$tmp/shared/b")" ] || fail "a wrote as b: $(ls -A "$tmp/shared/b")"
	! setpriv --reuid=20001 --clear-groups ls "$tmp/shared/b" 2>/dev/null || fail "a reads b's directory"
else
	echo "untested: another user's directory: this needs root and setpriv"
fi

# --- deleted: gone from the day and from the rows, and never back ---
sqlite3 "$db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 9003, 202, 'verdict', 1 + started_ns FROM run WHERE id = 202;
	UPDATE result SET sentence = 'to-be-deleted', run_id = 9003 WHERE session_id = 202"
push
grep -aq to-be-deleted "$here/rows.db" || fail "the search finds nothing"
for engine in parquet sqlite; do fl $engine delete 202 203 4001 || fail "delete: $(cat "$tmp/err")"; done
! grep -aq to-be-deleted "$here"/* "$tmp"/fleet.db* || fail "a deleted sentence stands in a file"
same 2605
rm "$tmp"/*.memory
for engine in parquet sqlite; do fl $engine --all push >/dev/null || fail "push: $(cat "$tmp/err")"; done
same 2605

# --- questions need DuckDB's library, and say so ---
# asks ENGINE "REPORT [ARGUMENT]": as CSV
asks() { case $2 in *' '*) fl $1 --csv "${2%% *}" "${2#* }" ;; *) fl $1 --csv "$2" ;; esac; }
for asked in routes "query SELECT 1"; do
	! asks parquet "$asked" >/dev/null || fail "a report without DuckDB"
	grep -q "duckdb-library PATH" "$tmp/err" || fail "why: $(cat "$tmp/err")"
done
fl parquet schema | grep -q '^judged_ns  *INT64 (TIMESTAMP, ns, UTC)' || fail "schema"

duck=${NARROWS_DUCKDB:-}
if [ -z "$duck" ] && command -v npm >/dev/null 2>&1 && (mkdir "$tmp/duck" && cd "$tmp/duck" &&
    timeout 120 npm install --silent --no-audit --no-fund "@duckdb/node-bindings-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')@1" >/dev/null 2>&1); then
	duck=$(find "$tmp/duck" -name libduckdb.so)
fi
[ -n "$duck" ] || { echo "untested: no question about Parquet is asked: neither npm nor NARROWS_DUCKDB leads to libduckdb.so"; exit 0; }
echo "duckdb-library $duck" >>"$tmp/parquet.conf"
# another site, that says it were the first, and a third without a session
mkdir "$tmp/fleet/liar" "$tmp/fleet/idle"
cp "$here/2024-10-03.parquet" "$tmp/fleet/liar/2024-10-03.parquet"
printf '{"site": "here", "seen_ns": 1, "clock": "synchronised", "software": "x"}' >"$tmp/fleet/liar/manifest.json"
echo '[]' >"$tmp/fleet/idle/manifest.json"
sqlite3 "$tmp/fleet.db" "INSERT INTO session(site, session, judged_ns, start_ns, duration_ns, route, bytes, bytes_per_s, stage, usual)
	SELECT 'liar', session, judged_ns, start_ns, duration_ns, route, bytes, bytes_per_s, stage, usual FROM session WHERE start_ns BETWEEN 1727913600000000000 AND 1727999999999999999;
	INSERT INTO site VALUES ('liar', 1, 'synchronised', 'x'); UPDATE site SET seen_ns = 2 WHERE site = 'here'; DELETE FROM site WHERE site = 'idle'"
# the same questions to both engines: the same tables
cat >"$tmp/tables.py" <<'PY'
import csv, sys
a, b = ([r for r in csv.reader(open(p, newline=""))] for p in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b) > 1, (len(a), len(b), a[0], b[0])
for x, y in zip(a[1:], b[1:]):
    for k, v, w in zip(a[0], x, y):
        if k not in ("seen_ns", "seen", "clock", "software") and v != w:
            assert abs(float(v) - float(w)) <= 0.0011 + 1e-12 * abs(float(w)), (k, x, y)
PY
for asked in routes worst verdicts "history a -> b" sites "query SELECT site, count(*) AS n, max(start_ns) AS t, min(judged_ns) AS j, percentile(bytes_per_s, 1) AS p, percentile(bytes_per_s, 0) AS z FROM session GROUP BY site ORDER BY site"; do
	for engine in parquet sqlite; do
		asks $engine "$asked" >"$tmp/$engine.csv" || fail "$engine $asked: $(cat "$tmp/err")"
	done
	python3 "$tmp/tables.py" "$tmp/parquet.csv" "$tmp/sqlite.csv" || fail "$asked: other answers"
done
[ "$(fl parquet --csv silent | tail -n +2 | cut -d, -f1)" = liar ] || fail "silent: $(fl parquet silent)"
# while days are written a session may stand in two files
count() { fl parquet --csv query "SELECT count(*), count(DISTINCT stage) FROM session WHERE site = 'here'" | tail -n +2 | tr -d '\r'; }
before=$(count)
cp "$here/2024-10-03.parquet" "$here/2024-10-02.parquet"
: >"$here/writing"
[ "$(count)" = "$before" ] || fail "a session counts twice while days are written"
rm "$here/writing" "$here/2024-10-02.parquet"
# questions only ask
echo secret >"$tmp/secret"
for sql in "COPY session TO '$tmp/fleet/x.parquet'" "CREATE TABLE x(i INTEGER)" "SELECT * FROM read_text('$tmp/secret')" "SELECT 1; SELECT 2" "SET enable_external_access = true" "ATTACH '$tmp/fleet/x.db'" "INSTALL httpfs" "DELETE FROM site"; do
	! fl parquet query "$sql" >/dev/null || fail "taken: $sql"
done
[ ! -e "$tmp/fleet/x.parquet" ] && [ ! -e "$tmp/fleet/x.db" ] || fail "a question writes"
mkdir "$tmp/none"
conf "file://$tmp/none" parquet
echo "duckdb-library $duck" >>"$tmp/parquet.conf"
fl parquet routes | grep -q '^route  *program' || fail "a fleet without files: $(cat "$tmp/err")"
