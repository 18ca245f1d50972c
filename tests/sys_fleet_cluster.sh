#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fleet on two ClickHouse servers: a server is killed while rows come, the push is killed, sessions are judged anew while a shard is
# down: no session is lost or there twice, the newest verdict is in one row each, and deletions reach both shards.
. tests/lib.sh
command -v clickhouse-server >/dev/null || skip "clickhouse-server is not installed"
ports=$(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(x.getsockname()[1] for x in s))')
set -- $ports
http1=$1 http2=$2 tcp1=$3 tcp2=$4
# server N: its directory is of the starting user
configure() {
	d=$tmp/ch$1
	mkdir -p "$d/tmp" "$d/flags" "$d/formats"
	cat >"$d/users.xml" <<END
<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
<default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
END
	cat >"$d/config.xml" <<END
<yandex><logger><level>error</level><log>$d/log</log><errorlog>$d/errors</errorlog></logger><http_port>$2</http_port><tcp_port>$3</tcp_port>
<listen_host>127.0.0.1</listen_host><path>$d/</path><tmp_path>$d/tmp/</tmp_path><flags_path>$d/flags/</flags_path><format_schema_path>$d/formats/</format_schema_path>
<users_config>$d/users.xml</users_config><mark_cache_size>100000000</mark_cache_size><default_profile>default</default_profile><default_database>default</default_database>
<remote_servers><fleet><shard><replica><host>127.0.0.1</host><port>$tcp1</port></replica></shard>
<shard><replica><host>127.0.0.1</host><port>$tcp2</port></replica></shard></fleet></remote_servers></yandex>
END
}
configure 1 $http1 $tcp1
configure 2 $http2 $tcp2
start_server() {
	clickhouse-server --config-file="$tmp/ch$1/config.xml" >"$tmp/ch$1/out" 2>&1 &
	server=$!
	pids="$pids $server"
	until_true 30 curl -sf "http://127.0.0.1:$2/ping" || fail "ClickHouse does not start: $(tail -n 5 "$tmp/ch$1/out" "$tmp/ch$1/errors")"
}
start_server 1 $http1
start_server 2 $http2
second=$server
start_box
stop_box
n=20000
python3 - "$tmp/state/narrows.db" $n <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for i in range(1, int(sys.argv[2]) + 1):
    t = (20000 * 86400 + i * 60) * 10**9
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, t, t + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, t + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, stage, bytes, bytes_per_s, start_ns, host_id) VALUES (?,?,?,?,?,?,?,0)", (i, i, f"a -> b{i % 9}", "network", float(i), 1e6, t))
db.commit()
PY
url() { echo "clickhouse://127.0.0.1:$1/default"; }
printf '%s\n' "site a" "fleet $(url $http1)" "cluster fleet" "shard $(url $http1)" "shard $(url $http2)" "rate 100000" "timeout 20s" >"$tmp/fleet.conf"
fl() { "$bin/narrows" -s "$tmp/state" fleet -f "$tmp/fleet.conf" -m "$tmp/memory" "$@" 2>"$tmp/err"; }
fl --apply schema >"$tmp/schema" || fail "schema: $(cat "$tmp/err")"
grep -q 'Distributed(fleet, default, session_local, cityHash64(site, session))' "$tmp/schema" || fail "schema: $(cat "$tmp/schema")"
at() { curl -sf "http://127.0.0.1:$1/" -d "$2"; }
sums() { at $http1 "SELECT count(), uniqExact(session), sum(bytes), sum(stage = 'host') FROM session FINAL"; }

# --- a shard is killed while rows come, and then the push ---
push_beside() {
	"$bin/narrows" -s "$tmp/state" fleet -f "$tmp/fleet.conf" -m "$tmp/memory" push >/dev/null 2>&1 &
	pusher=$!
}
push_beside
until_true 20 test -s "$tmp/memory" || fail "no batch came: $(cat "$tmp/err")"
kill -9 $second
wait $second 2>/dev/null || :
! wait $pusher || fail "a fleet without a shard took all rows"
[ "$(at $http1 "SELECT count() FROM session_local")" -gt 0 ] || fail "nothing had come"
# judged anew while the shard is down: one in a hundred
sqlite3 "$tmp/state/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT id + 100000, id, 'verdict', started_ns + 1 FROM run WHERE id % 100 = 0;
	UPDATE result SET stage = 'host', run_id = run_id + 100000 WHERE session_id % 100 = 0"
! fl push >/dev/null || fail "a fleet without a shard took all rows"
start_server 2 $http2
second=$server
push_beside
sleep 0.3
kill -9 $pusher 2>/dev/null || :
wait $pusher 2>/dev/null || :
fl push >/dev/null || fail "push: $(cat "$tmp/err")"
want=$(sqlite3 "$tmp/state/narrows.db" "SELECT count(*), count(*), CAST(sum(bytes) AS INTEGER), sum(stage = 'host') FROM result" | tr '|' '\t')
[ "$(sums)" = "$want" ] || fail "sums: $(sums), want $want"
for port in $http1 $http2; do
	[ "$(at $port "SELECT count() FROM session_local")" -gt $((n / 3)) ] || fail "a shard has few rows: $(at $port "SELECT count() FROM session_local")"
done
[ "$(fl --csv routes | tail -n +2 | cut -d, -f 3 | awk '{ s += $1 } END { print s }')" = $n ] || fail "routes: $(fl routes)"
[ "$(fl --csv sites | tail -n +2 | cut -d, -f 1,5 | tr -d '\r')" = "a,$n" ] || fail "sites: $(fl sites) $(cat "$tmp/err")"

# --- deleted on both shards, for ever ---
fl delete 1 2 3 4 5 6 7 8 100 200 || fail "delete: $(cat "$tmp/err")"
for port in $http1 $http2; do
	[ "$(at $port "SELECT count() FROM session_local WHERE session < 9 OR session IN (100, 200)")" = 0 ] || fail "deleted rows are there"
done
rm "$tmp/memory"
fl push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(sums | cut -f 1)" = $((n - 10)) ] || fail "deleted sessions are back: $(sums)"
