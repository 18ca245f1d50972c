#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fleet on two replicas, which ZooKeeper keeps together: the schema's tables are replicated, what came by one server is at the
# other after the first was killed, deletions reach both, and a push by the second goes on.
. tests/lib.sh
command -v clickhouse-server >/dev/null || skip "clickhouse-server is not installed"
[ -e /usr/share/java/zookeeper.jar ] && command -v java >/dev/null || skip "zookeeper is not installed"
set -- $(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(7)]
print(*(x.getsockname()[1] for x in s))')
http1=$1 http2=$2 tcp1=$3 tcp2=$4 inter1=$5 inter2=$6 zk=$7
mkdir -p "$tmp/zk"
printf '%s\n' "tickTime=500" "dataDir=$tmp/zk" "clientPort=$zk" "clientPortAddress=127.0.0.1" "admin.enableServer=false" >"$tmp/zoo.cfg"
java -Xmx128m -Dzookeeper.log.dir="$tmp/zk" -cp /usr/share/java/zookeeper.jar org.apache.zookeeper.server.quorum.QuorumPeerMain "$tmp/zoo.cfg" >"$tmp/zk.log" 2>&1 &
pids="$pids $!"
listens() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$1" 2>/dev/null; }
until_true 30 listens $zk || fail "ZooKeeper does not start: $(tail -n 5 "$tmp/zk.log")"
# configure N HTTP TCP INTERSERVER
configure() {
	d=$tmp/ch$1
	mkdir -p "$d/tmp" "$d/flags" "$d/formats"
	cat >"$d/users.xml" <<END
<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
<default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
END
	cat >"$d/config.xml" <<END
<yandex><logger><level>error</level><log>$d/log</log><errorlog>$d/errors</errorlog></logger><http_port>$2</http_port><tcp_port>$3</tcp_port>
<interserver_http_port>$4</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host><path>$d/</path><tmp_path>$d/tmp/</tmp_path><flags_path>$d/flags/</flags_path><format_schema_path>$d/formats/</format_schema_path>
<users_config>$d/users.xml</users_config><mark_cache_size>100000000</mark_cache_size><default_profile>default</default_profile><default_database>default</default_database>
<zookeeper><node><host>127.0.0.1</host><port>$zk</port></node></zookeeper><macros><shard>1</shard><replica>r$1</replica></macros>
<remote_servers><fleet><shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>$tcp1</port></replica>
<replica><host>127.0.0.1</host><port>$tcp2</port></replica></shard></fleet></remote_servers></yandex>
END
	clickhouse-server --config-file="$d/config.xml" >"$d/out" 2>&1 &
	server=$!
	pids="$pids $server"
}
configure 1 $http1 $tcp1 $inter1
first=$server
configure 2 $http2 $tcp2 $inter2
for port in $http1 $http2; do
	until_true 30 curl -sf "http://127.0.0.1:$port/ping" || fail "ClickHouse does not start: $(tail -n 5 "$tmp"/ch*/out "$tmp"/ch*/errors)"
done
coordinated() { curl -sf "http://127.0.0.1:$1/" -d "SELECT name FROM system.zookeeper WHERE path = '/'"; }
for port in $http1 $http2; do until_true 30 coordinated $port || fail "ZooKeeper does not answer: $(tail -n 5 "$tmp/zk.log")"; done
start_box
stop_box
python3 - "$tmp/state/narrows.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for i in range(1, 2001):
    t = (20000 * 86400 + i * 60) * 10**9
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, t, t + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, t + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, program, stage, bytes, bytes_per_s, start_ns, host_id) VALUES (?,?,?,?,?,?,?,?,0)", (i, i, f"a -> b{i % 9}", "scp", "network", float(i), 1e6 * i, t))
db.commit()
PY
url() { echo "clickhouse://127.0.0.1:$1/default"; }
# conf SERVER: sends and asks by this server
conf() { printf '%s\n' "site a" "fleet $(url $1)" "replicated yes" "cluster fleet" "shard $(url $http1)" "shard $(url $http2)" "rate 100000" "timeout 20s" >"$tmp/fleet.conf"; }
fl() { "$bin/narrows" -s "$tmp/state" fleet -f "$tmp/fleet.conf" -m "$tmp/memory" "$@" 2>"$tmp/err"; }
at() { curl -sf "http://127.0.0.1:$1/" -d "$2"; }
conf $http1
fl --apply schema >"$tmp/schema" || fail "schema: $(cat "$tmp/err")"
[ "$(grep -c "ENGINE = Replicated.*MergeTree('/clickhouse/tables/{shard}/default/" "$tmp/schema")" = 5 ] || fail "schema: $(cat "$tmp/schema")"
fl push >"$tmp/said" || fail "push: $(cat "$tmp/err")"
fl delete 1 2 3 || fail "delete: $(cat "$tmp/err")"
fl push >"$tmp/said" || fail "push: $(cat "$tmp/err")"
sums() { at $1 "SELECT count(), uniqExact(session), sum(bytes) FROM session_local FINAL; " && at $1 "SELECT sum(sessions), sum(bytes) FROM level_local FINAL WHERE span_ns = 3600000000000"; }
want="1997 1997 2000994 1997 2000994"
same() { [ "$(sums $1 | tr '\n\t' '  ')" = "$want " ]; }
for port in $http1 $http2; do until_true 20 same $port || fail "rows at $port: $(sums $port)"; done

# --- one server is gone for ever: the other has all, and takes more ---
kill -9 $first
wait $first 2>/dev/null || :
sqlite3 "$tmp/state/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 9000, 9, 'verdict', 1 + started_ns FROM run WHERE id = 9;
	UPDATE result SET stage = 'host', run_id = 9000 WHERE session_id = 9"
printf '%s\n' "site a" "fleet $(url $http2)" "replicated yes" "cluster fleet" "shard $(url $http2)" "rate 100000" "timeout 20s" >"$tmp/fleet.conf"
fl --all push >"$tmp/said" || fail "push: $(cat "$tmp/err")"
[ "$(at $http2 "SELECT stage FROM session FINAL WHERE session = 9")" = host ] || fail "a verdict is lost"
same $http2 || fail "rows: $(sums $http2)"
fl --csv routes | tr -d '\r' | awk -F, 'NR > 1 { s += $3 } END { exit s != 1997 }' || fail "routes: $(fl --csv routes)"
