#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# FTS's messages from a real broker, RabbitMQ with STOMP: plain, and by TLS that is verified; the broker killed and begun anew, nwfts killed,
# the box killed. Each message becomes one event, each transfer one session with its phases, and the time away is a gap.
. tests/lib.sh

home=$(ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin 2>/dev/null) || skip "no RabbitMQ is installed"
command -v openssl >/dev/null || skip "no openssl is installed"
ports() { python3 -c 'import socket; l = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]; print(*(s.getsockname()[1] for s in l))'; }
read -r amqp epmd dist plain tls <<PORTS
$(ports)
PORTS
q=$tmp/broker
mkdir -p "$q/db" "$q/log"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=ca -keyout "$q/ca.key" -out "$q/ca.crt" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout "$q/server.key" -out "$q/server.csr" 2>/dev/null
echo subjectAltName=DNS:localhost >"$q/names"
openssl x509 -req -in "$q/server.csr" -CA "$q/ca.crt" -CAkey "$q/ca.key" -CAcreateserial -days 9 -extfile "$q/names" -out "$q/server.crt" 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=other -keyout "$q/other.key" -out "$q/other.crt" 2>/dev/null
echo '[rabbitmq_stomp].' >"$q/plugins"
printf '%s\n' "listeners.tcp.1 = 127.0.0.1:$amqp" "stomp.listeners.tcp.1 = 127.0.0.1:$plain" "stomp.listeners.ssl.1 = 127.0.0.1:$tls" \
    "ssl_options.cacertfile = $q/ca.crt" "ssl_options.certfile = $q/server.crt" "ssl_options.keyfile = $q/server.key" >"$q/rabbit.conf"
start_broker() {
	HOME=$q RABBITMQ_MNESIA_BASE=$q/db RABBITMQ_LOG_BASE=$q/log RABBITMQ_NODENAME=nw$$@localhost RABBITMQ_DIST_PORT=$dist \
	    RABBITMQ_CONFIG_FILE=$q/rabbit.conf RABBITMQ_ENABLED_PLUGINS_FILE=$q/plugins RABBITMQ_PID_FILE=$q/pid ERL_EPMD_PORT=$epmd \
	    "$home/rabbitmq-server" >"$q/said" 2>&1 &
	pids="$pids $!"
	until_true 40 grep -q "completed with 1 plugins" "$q/said" || fail "RabbitMQ: $(tail -n 5 "$q/said")"
	broker=$(cat "$q/pid")
}
# epmd, the directory of Erlang's nodes, is not the broker's child
broker_end() {
	status=$?
	for p in $(pgrep -x epmd); do
		! tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "ERL_EPMD_PORT=$epmd" || kill "$p" 2>/dev/null || :
	done
	lib_cleanup
	exit $status
}
trap broker_end EXIT

# messages FIRST LAST: starts, states and ends of transfers, published to topics that keep them
cat >"$tmp/publish.py" <<'PY'
import json, socket, sys, time
port, first, last = map(int, sys.argv[1:4])
s = socket.create_connection(("127.0.0.1", port))
s.sendall(b"CONNECT\naccept-version:1.2\nhost:/\nlogin:guest\npasscode:guest\n\n\0")
assert s.recv(4096).startswith(b"CONNECTED")
end = int(time.time() * 1000) - 5000


def send(topic, word, receipt, **body):
    text = f"{word} {json.dumps(body)}"
    s.sendall(f"SEND\ndestination:/topic/transfer.fts_monitoring_{topic}\npersistent:true\nreceipt:{receipt}\ncontent-length:{len(text)}\n\n{text}\0".encode())
    got = b""
    while not got.endswith(b"\0\n"):
        got += s.recv(4096)
    assert got.startswith(b"RECEIPT"), got


for n in range(first, last + 1):
    of = dict(job_id="0ab1-job", file_id=n, src_url=f"davs://se1.example:443/data/{n}", dst_url=f"root://se2.example:1094//data/{n}")
    begin = end - 60000
    send("state", "SS", f"a{n}", file_state="SUBMITTED", timestamp=begin - 2405000, submit_time=begin - 2405000, staging_start=0, staging_finished=0, vo_name="atlas", **of)
    send("start", "ST", f"b{n}", timestamp=begin - 5000, vo="atlas", **of)
    send("complete", "CO", f"c{n}", tr_id=f"t{n}", tr_timestamp_start=begin - 5000, tr_timestamp_complete=end + 9000, timestamp_tr_st=begin, timestamp_tr_comp=end,
         timestamp_chk_src_st=begin - 4000, timestamp_chk_src_ended=begin - 1000, timestamp_checksum_dest_st=end, timestamp_checksum_dest_ended=end + 8000,
         tr_bt_transfered=3000000000, nstreams=4, t_final_transfer_state="Ok", retry=0, vo="atlas", scitag=137, **of)
PY
publish() { timeout 60 python3 "$tmp/publish.py" "$plain" "$1" "$2" || fail "publish $1 $2"; }
raw() { python3 - "$plain" "$1" <<'PY' || fail "raw"; }
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"CONNECT\naccept-version:1.2\nhost:/\nlogin:guest\npasscode:guest\n\n\0")
assert s.recv(4096).startswith(b"CONNECTED")
s.sendall(f"SEND\ndestination:/topic/transfer.fts_monitoring_complete\nreceipt:1\n\n{sys.argv[2]}\0".encode())
assert s.recv(4096).startswith(b"RECEIPT")
PY
start_fts() {
	"$bin/nwfts" -f "$tmp/nwfts.conf" -p "$tmp/fts.state" 2>>"$tmp/fts.log" &
	fts=$!
	pids="$pids $fts"
}
events() { nw sql --csv "SELECT count(*) FROM event WHERE name = '$1'" | tail -n 1; }
has() { [ "$(events transfer.fts)" = "$1" ] && [ "$(events fts.start)" = "$1" ] && [ "$(events fts.state)" = "$1" ]; }
waiting() { HOME=$q RABBITMQ_NODENAME=nw$$@localhost ERL_EPMD_PORT=$epmd timeout 60 "$home/rabbitmqctl" -q list_queues name messages | awk '/^narrows/ { n += $2 } END { print n + 0 }'; }
none_waits() { [ "$(waiting)" = 0 ]; }

start_broker
start_box -o session-linger=1s -o flush-interval=20ms -o commit-interval=20ms

# --- what the configuration refuses ---
printf 'guest\nguest\n' >"$tmp/login"
chmod 644 "$tmp/login"
refused() {
	printf '%s\n' "$@" >"$tmp/bad.conf"
	"$bin/nwfts" -n -f "$tmp/bad.conf" 2>"$tmp/err" && fail "accepted: $*"
	grep -q "$why" "$tmp/err" || fail "$why: $(cat "$tmp/err")"
}
why="broker is missing" refused "login-file $tmp/login"
why="broker-ca is missing" refused "broker tls://localhost/$tls"
why="a password in clear" refused "broker broker.example.net/61613" "login-file $tmp/login"
why="give a port" refused "broker broker.example.net"

# --- plain, and a login that others may read ---
printf '%s\n' "broker 127.0.0.1/$plain" "login-file $tmp/login" "box $xsp" >"$tmp/nwfts.conf"
start_fts
until_true 20 grep -q "chmod 600" "$tmp/fts.log" || fail "a login that others may read is taken: $(cat "$tmp/fts.log")"
chmod 600 "$tmp/login"
until_true 20 grep -q "nwfts.connect" "$tmp/fts.log" || fail "no connection: $(cat "$tmp/fts.log")"
subscribed() { [ "$(HOME=$q RABBITMQ_NODENAME=nw$$@localhost ERL_EPMD_PORT=$epmd "$home/rabbitmqctl" -q list_queues name | grep -c ^narrows)" = 3 ]; }
until_true 20 subscribed || fail "no subscriptions"
publish 1 3
until_true 20 has 3 || fail "three transfers: $(nw sql --csv "SELECT name, count(*) FROM event GROUP BY name") $(cat "$tmp/fts.log")"
raw 'CO {"job_id": "x", "file_id": 1}'
raw 'CO [1'
raw 'OP {"rationale": "hill"}'
until_true 20 none_waits || fail "wrong messages stay at the broker: $(waiting)"
[ "$(grep -c message.reject "$tmp/fts.log")" = 2 ] || fail "wrong messages: $(cat "$tmp/fts.log")"
judged() { [ "$(nw sessions --json | grep '"program": *"fts"' | grep -c '"analysed": *true')" = "$1" ]; }
until_true 30 judged 3 || fail "sessions: $(nw sessions --json)"
id=$(nw sessions --json | sed -n 's/.*"id": *\([0-9]*\).*"program": *"fts".*/\1/p' | head -n 1)
nw report "$id" >"$tmp/report"
nw report "$id" --json >"$tmp/document"
python3 - "$tmp/document" <<'PY' || fail "the document: $(cat "$tmp/report")"
import json, sys
d = json.load(open(sys.argv[1]))
s, v = d["session"], d["verdict"]
a = s["announced"][0]
assert s["announced_alone"] and a["by"] == "fts" and s["route"] == "se1.example -> se2.example", s
assert s["bytes"] == 3e9 and abs(s["duration_s"] - 60) < .01, s
assert abs(a["queue_s"] - 2400) < .01 and a["source_check_s"] == 3 and a["target_check_s"] == 8, a
assert v["stage"] is None and "waited 40 min 0 s in the queue of FTS, longer than it ran" in v["sentence"], v["sentence"]
assert s["label"] is not None, s
PY

# --- by TLS, which is verified ---
kill $fts && wait $fts || fail "nwfts ends with $?"
printf '%s\n' "broker tls://localhost/$tls" "broker-ca $q/other.crt" "login-file $tmp/login" "box $xsp" >"$tmp/nwfts.conf"
: >"$tmp/fts.log"
start_fts
until_true 20 grep -q 'nwfts.broker.*certificate' "$tmp/fts.log" || fail "a broker of another CA: $(cat "$tmp/fts.log")"
grep -q nwfts.connect "$tmp/fts.log" && fail "a broker of another CA is believed"
kill $fts && wait $fts
publish 4 6 # nobody listens: the broker keeps them
sed -i "s|other.crt|ca.crt|" "$tmp/nwfts.conf"
start_fts
until_true 20 has 6 || fail "by TLS: $(cat "$tmp/fts.log")"
until_true 20 test "$(events fts.away)" -ge 1 || fail "no gap is told"

# --- nwfts is killed, and what it had not acknowledged comes again ---
kill -9 $fts
wait $fts || :
publish 7 30
kill -STOP $box
start_fts
sleep 1
kill -9 $fts
wait $fts || :
kill -CONT $box
start_fts
until_true 20 has 30 || fail "behind a kill: $(nw sql --csv "SELECT name, count(*) FROM event GROUP BY name") $(cat "$tmp/fts.log")"

# --- the box is killed with messages on the way, and begins again ---
publish 31 60 &
publisher=$!
kill -9 $box
wait $box || :
wait $publisher || fail "publish"
start_box -o session-linger=1s -o listen-xsp="$(echo "$xsp")"
until_true 40 has 60 || fail "behind the box's kill: $(nw sql --csv "SELECT name, count(*) FROM event GROUP BY name") $(cat "$tmp/fts.log")"

# --- the broker is killed, and begins again ---
kill -9 "$broker"
start_broker
publish 61 70
until_true 40 has 70 || fail "behind the broker's kill: $(nw sql --csv "SELECT name, count(*) FROM event GROUP BY name") $(cat "$tmp/fts.log")"
until_true 20 none_waits || fail "messages stay at the broker: $(waiting)"
each_once() { [ "$(nw sql --csv "SELECT count(*) FROM v_session WHERE program = 'fts'" | tail -n 1)" = 70 ]; }
until_true 20 each_once || fail "sessions: $(nw sql --csv "SELECT count(*) FROM v_session WHERE program = 'fts'")"
# --- 40 minutes in the queue, and the rate of the transfers before: one sentence of the verdict ---
id=$(nw sql --csv "SELECT max(id) FROM v_session WHERE program = 'fts'" | tail -n 1)
said="It waited 40 min 0 s in the queue of FTS, then ran at the usual rate; no measured host says what limits that rate"
reported() { nw report "$id" | tr '\n' ' ' | tr -s ' ' | grep -q "$said"; }
until_true 40 reported || fail "the report of a usual transfer: $(nw report "$id")"
nw report "$id" --json | grep -q "$said" || fail "the document of a usual transfer"
curl -s "$url/session/$id" | grep -q "$said" || fail "the page of a usual transfer"
echo "70 transfers: 210 messages, each once"
