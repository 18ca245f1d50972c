#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fleet on ClickHouse: each session is there once with its newest verdict, value for value as in the box, also after the server was
# killed; reports agree with those of SQLite; a site reaches no other site's database; passwords are told to nobody.
. tests/lib.sh
command -v clickhouse-server >/dev/null || skip "clickhouse-server is not installed"
mkdir -p "$tmp/ch/tmp" "$tmp/ch/flags" "$tmp/ch/formats"
echo 'password of site a' >"$tmp/password"
chmod 600 "$tmp/password"
hash=$(printf %s 'password of site a' | sha256sum | cut -d' ' -f1)
cat >"$tmp/ch/users.xml" <<END
<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
<default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<site_a><password_sha256_hex>$hash</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
<allow_databases><database>fleet_a</database></allow_databases></site_a></users></yandex>
END
ports=$(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(x.getsockname()[1] for x in s))')
http=${ports% *}
cat >"$tmp/ch/config.xml" <<END
<yandex><logger><level>error</level><log>$tmp/ch/log</log><errorlog>$tmp/ch/errors</errorlog></logger><http_port>$http</http_port><tcp_port>${ports#* }</tcp_port>
<listen_host>127.0.0.1</listen_host><path>$tmp/ch/</path><tmp_path>$tmp/ch/tmp/</tmp_path><flags_path>$tmp/ch/flags/</flags_path><format_schema_path>$tmp/ch/formats/</format_schema_path>
<users_config>$tmp/ch/users.xml</users_config><mark_cache_size>100000000</mark_cache_size><default_profile>default</default_profile><default_database>default</default_database></yandex>
END
answers() { curl -sf "http://127.0.0.1:$http/ping"; }
start_server() {
	clickhouse-server --config-file="$tmp/ch/config.xml" >"$tmp/ch/out" 2>&1 &
	server=$!
	pids="$pids $server"
	until_true 30 answers || fail "ClickHouse does not start: $(tail -n 5 "$tmp/ch/out" "$tmp/ch/errors")"
}
start_server
for site in a b; do curl -sf "http://127.0.0.1:$http/" -d "CREATE DATABASE fleet_$site" || fail "no database"; done

start_box
stop_box
python3 - "$tmp/state/narrows.db" <<'PY'
import random, sqlite3, sys
db, rng, week = sqlite3.connect(sys.argv[1]), random.Random(5), 7 * 86400 * 10**9
texts = ["plain", "a\tb\nc\\d 'e' \"f\"", "gr\u00fc\u00dfe \U0001f600", "", "\\N", "{route}"]
for i in range(1, 1301):
    start = 2600 * week + (i % 5) * week + i * 10**9 + i
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, start, start + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, start + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, program, stage, sentence, bytes, bytes_per_s, start_ns, duration_ns, usual, exit_status, host_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,0)",
               (i, i, rng.choice(["a -> b", "it's -> \\b"]), rng.choice(["rsync", "scp"]), rng.choice([None, "network", "disk.read"]), rng.choice(texts), rng.choice([None, 1.5e300]),
                float(rng.randrange(10**9)), start, rng.choice([None, -1, 2**53 + 1]), float(rng.randrange(8)) / 4, rng.choice([None, 0, 139])))
db.commit()
PY
conf() { name=$1 fleet=$2; shift 2; printf '%s\n' "site a" "fleet $fleet" "rate 100000" "$@" >"$tmp/$name.conf"; }
conf ch clickhouse://127.0.0.1:$http/fleet_a "user site_a" "password-file $tmp/password"
conf other clickhouse://127.0.0.1:$http/fleet_b "user site_a" "password-file $tmp/password"
conf lite "sqlite:$tmp/fleet.db"
fl() { name=$1; shift; nw fleet -f "$tmp/$name.conf" -m "$tmp/$name.memory" "$@" 2>"$tmp/err"; }
push() { for name in ch lite; do fl $name "$@" push >"$tmp/said" || fail "$name: $(cat "$tmp/err")"; done; }
fl ch --apply schema >"$tmp/schema" || fail "schema: $(cat "$tmp/err")"
grep -q ReplacingMergeTree "$tmp/schema" || fail "schema: $(cat "$tmp/schema")"
fl lite --apply schema >/dev/null || fail "schema of SQLite"
# same: both fleets have the same rows, each session once
same() {
	fl ch --json query "SELECT * FROM session FINAL ORDER BY session" >"$tmp/ch.rows" || fail "query: $(cat "$tmp/err")"
	fl lite --json query "SELECT * FROM session ORDER BY session" >"$tmp/lite.rows" || fail "query: $(cat "$tmp/err")"
	python3 - "$tmp/ch.rows" "$tmp/lite.rows" <<'PY' || fail "the fleets differ"
import json, sys
a, b = ([json.loads(l) for l in open(p)] for p in sys.argv[1:])
assert len(a) == len(b) == 1300, (len(a), len(b))
real = {"bytes", "bytes_per_s", "effect", "usual"}
for x, y in zip(a, b):
    assert x.keys() == y.keys()
    for k in x:
        assert x[k] == y[k] or (k in real and abs(float(x[k]) - float(y[k])) <= 1e-14 * abs(float(y[k]))), (k, x[k], y[k])
PY
}
push
grep -qx '1300 sessions sent, 0 stay here.' "$tmp/said" || fail "$(cat "$tmp/said")"
same

# --- repeated, judged anew into another month, killed: once each, the newest verdict ---
push --all
same
# anew SESSION RUN STAGE
anew() { sqlite3 "$tmp/state/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT $2, $1, 'verdict', max(started_ns) + $2 FROM run;
	UPDATE result SET stage = '$3', run_id = $2, start_ns = start_ns - 864000000000000 WHERE session_id = $1"; }
anew 7 5000 host
anew 8 5001 network
push
same
kill -9 $server
wait $server 2>/dev/null || :
anew 9 5002 disk.write
! fl ch push >/dev/null || fail "a server that is gone took rows"
start_server
# what a kill takes from the server comes again, because the server is younger than the last push
curl -sf "http://127.0.0.1:$http/" -d "TRUNCATE TABLE fleet_a.session" || fail truncate
push
same

# --- reports agree ---
for report in routes worst verdicts "history it's -> \\b"; do
	for name in ch lite; do
		case $report in history*) fl $name --csv history "${report#* }" ;; *) fl $name --csv $report ;; esac >"$tmp/$name.report" || fail "$report: $(cat "$tmp/err")"
	done
	python3 - "$tmp/ch.report" "$tmp/lite.report" <<'PY' || fail "$report differs"
import csv, sys
a, b = ([r for r in csv.reader(open(p, newline=""))] for p in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b) > 1, (len(a), len(b), a[0], b[0])
for x, y in zip(a[1:], b[1:]):
    for k, v, w in zip(a[0], x, y):
        if k.endswith("mb_per_s") or k.startswith("times"):
            assert abs(float(v) - float(w)) <= 0.0011, (k, v, w)
        elif k == "bytes":
            assert float(v or 0) == float(w or 0) or abs(float(v) / float(w) - 1) < 1e-12, (k, v, w)
        elif k != "newest":
            assert v == w, (k, x, y)
PY
done

# --- deleted: gone from every part of the table, and never back ---
for name in ch lite; do fl $name delete 3 7 || fail "$name: delete: $(cat "$tmp/err")"; done
[ "$(curl -sf "http://127.0.0.1:$http/" -d "SELECT count() FROM fleet_a.session WHERE session IN (3, 7)")" = 0 ] || fail "deleted rows are there"
anew 3 5003 host
rm "$tmp"/*.memory
push --all
[ "$(curl -sf "http://127.0.0.1:$http/" -d "SELECT count(), uniqExact(session) FROM fleet_a.session FINAL")" = "1298	1298" ] || fail "a deleted session is back"
fl ch delete all || fail "delete: $(cat "$tmp/err")"
rm "$tmp/ch.memory"
fl ch --all push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(curl -sf "http://127.0.0.1:$http/" -d "SELECT count() FROM fleet_a.session")" = 0 ] || fail "deleted sessions are back"

# --- hashed names are nowhere in clear, in no table and no file of the server ---
sqlite3 "$tmp/state/narrows.db" "INSERT INTO host(id, name) VALUES (900, 'secret-dtn.example'); UPDATE result SET route = 'secret-dtn.example -> secret-dtn.example', label = 'of secret-dtn',
	sentence = 'secret-dtn.example waits', program = 'secret-dtn.example-copy' WHERE session_id % 2"
curl -sf "http://127.0.0.1:$http/" -d "TRUNCATE TABLE fleet_a.gone" || fail truncate
head -c 32 /dev/urandom | base64 >"$tmp/key"
chmod 600 "$tmp/key"
conf hashed clickhouse://127.0.0.1:$http/fleet_a "user site_a" "password-file $tmp/password" "names hashed" "key-file $tmp/key"
rm -f "$tmp/hashed.memory"
fl hashed push >"$tmp/said" || fail "push: $(cat "$tmp/err")"
for table in session level chunk site; do curl -sf "http://127.0.0.1:$http/" -d "SELECT * FROM fleet_a.$table"; done >"$tmp/all" || fail "all rows"
grep -q 'h-[0-9a-f]\{20\} -> h-' "$tmp/all" || fail "no hashed routes: $(head -n 2 "$tmp/all")"
! grep -aqi secret-dtn "$tmp/all" || fail "a name in clear: $(grep -aoi '.\{30\}secret-dtn' "$tmp/all" | head -n 2)"
! grep -raqi secret-dtn "$tmp/ch" || fail "a name in a file of the server: $(grep -rali secret-dtn "$tmp/ch")"

# --- what a site may do, the server enforces ---
! fl other --all push >/dev/null || fail "a site writes into another site's database"
! fl other delete all >/dev/null || fail "a site deletes in another site's database"
! fl other sites >/dev/null || fail "a site asks another site's database"
! fl ch query "SELECT * FROM fleet_b.session" >/dev/null || fail "a site reads another site's database"
! fl ch query "INSERT INTO site VALUES ('x', 1, '', '')" >/dev/null || fail "a question writes"
! fl ch query "DROP TABLE session" >/dev/null || fail "a question drops"
echo wrong >"$tmp/password"
! fl ch push >/dev/null || fail "a wrong password"
chmod 644 "$tmp/password"
! fl ch push >/dev/null || fail "a password that others read"
grep -q "chmod 600" "$tmp/err" || fail "why: $(cat "$tmp/err")"
! grep -rqs 'password of site a' "$tmp/err" "$tmp/ch.memory" "$tmp/ch/log" "$tmp/ch/errors" || fail "a password is told"
conf far clickhouse://192.0.2.1:1/fleet_a "timeout 1s"
! fl far push >/dev/null || fail "a server that is nowhere"
for url in clickhouse://h clickhouse://h:1/ "clickhouse://h:1/a&b" clickhouse:///a mysql://h/a; do
	conf wrong "$url"
	! fl wrong sites >/dev/null || fail "taken: $url"
done
