#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Debian's GridFTP server and client with the driver on both stacks: get and put by 1 and 4 streams, 8 threads, server to server,
# UDT, a client with a driver of its own, and -nlb. Files stay as they were, and every stack and every stream has the bytes
# of the file. One task is one session; "none" joins nothing. A box that is away and a client that is killed change nothing.
. tests/lib.sh

command -v globus-gridftp-server >/dev/null && command -v globus-url-copy >/dev/null || skip "no GridFTP is installed"
[ -f "$B/lib/libglobus_xio_narrows_driver.so" ] || skip "the driver is not built"
LD_LIBRARY_PATH=$(cd "$B/lib" && pwd)
export LD_LIBRARY_PATH

start_box -o session-linger=1s
chmod 711 "$tmp"
mkdir -m 777 "$tmp/out"
size=6303801 # no whole number of blocks
head -c $size /dev/urandom >"$tmp/f"
head -c 17 "$tmp/f" >"$tmp/f17"  # as long as a header of mode E
head -c 262161 "$tmp/f" >"$tmp/f262161" # its last block is as long as one
: >"$tmp/f0"
listens() { grep -q ":$(printf %04X "$1") .* 0A " /proc/net/tcp /proc/net/tcp6; }
free_port() {
	while port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000)) && listens $port; do :; done
	echo $port
}
[ "$(id -u)" = 0 ] && as="-anonymous-user nobody" || as="-anonymous-user $(id -un)"

# server NAME [OPTION ...]: sets $port_NAME and $server_NAME
server() {
	name=$1 port=$(free_port)
	shift
	# shellcheck disable=SC2086
	${under:-} globus-gridftp-server -c /dev/null $(${secure:+:} echo -aa $as) -p "$port" -control-interface 127.0.0.1 -data-interface 127.0.0.1 \
	    -dc-whitelist tcp,udt,gsi,narrows,netlogger -fs-whitelist file,narrows,netlogger -log-level ALL -logfile "$tmp/$name.log" "$@" >/dev/null 2>&1 &
	pids="$pids $!"
	eval "port_$name=$port server_$name=$!"
	until_true 20 listens "$port" || fail "the server does not start: $(cat "$tmp/$name.log")"
}
# copy ARGUMENT ...: a transfer
copy() { timeout $((60 * $(patience))) globus-url-copy "$@" >"$tmp/copy.log" 2>&1 || fail "$*: $(cat "$tmp/copy.log")"; }
same() { cmp -s "$1" "$2" || fail "$2 differs from $1"; }
rows() { nw sql --csv "$1" | tr -d '\r'; }
# sums: "TASK,WHAT,BYTES" for each stage, file and stream of all sessions
sums() {
	rows "SELECT t.task_id, coalesce(json_extract(v.subject, '\$.stage'), v.field), CAST(sum(s.value) AS INTEGER)
	    FROM sample s JOIN v_series v USING (series) JOIN session t ON t.id = v.session
	    WHERE v.field IN ('sum_v', 'bytes_in', 'bytes_out', 'read_bytes', 'write_bytes') AND v.event_type <> 'nw:process'
	    GROUP BY v.mid, v.field" >"$tmp/sums"
}
# closed: waits until the box has closed all sessions
closed() {
	until_true 20 all_closed || fail "a session does not end: $(sql 'SELECT id, task_id, closed_ns FROM session')"
	sums
}
all_closed() { [ "$(sql 'SELECT count(*) FROM session WHERE closed_ns IS NULL')" = 0 ]; }
# has_bytes: as expect asks, of $stage
has_bytes() {
	awk -F, -v task="$task" -v stage="$stage" -v d="$direction" -v bytes="$bytes" -v streams="$streams" -v ends="$(echo "$stages" | grep -o net | wc -l)" '
	    $1 == task && $2 == stage { whole = $3 }
	    $1 == task && $2 == d { sum += $3; n++ }
	    END { exit !(whole == bytes && sum == bytes && (d !~ /^bytes/ || n == streams * ends)) }' "$tmp/sums" || { sums; false; }
}
# expect TASK BYTES STREAMS STAGE ...: each stage, the file and all streams of the stage together have the bytes, as soon as the
# last report has come. A stream may have moved nothing.
expect() {
	task=$1 bytes=$2 streams=$3
	shift 3
	stages=$*
	for stage in "$@"; do
		case $stage in
		net.read) direction=bytes_in ;;
		net.write) direction=bytes_out ;;
		disk.read) direction=read_bytes ;;
		disk.write) direction=write_bytes ;;
		esac
		until_true 20 has_bytes || fail "$task: $stage: $(grep "^$task," "$tmp/sums")"
	done
}

# --- one server; the network's stack has no id, and follows the disk's. ---
server one -dc-default tcp,narrows -fs-default file
# shellcheck disable=SC2154
at=ftp://127.0.0.1:$port_one
task_is() { echo "-fsstack file,narrows:task_id=$1;interval=0.5;nonsense=1;exact=perhaps"; }
# shellcheck disable=SC2046
{
	copy $(task_is get1) "$at$tmp/f" "file://$tmp/out/get1"
	copy -p 4 $(task_is get4) "$at$tmp/f" "file://$tmp/out/get4"
	copy $(task_is put1) "file://$tmp/f" "$at$tmp/out/put1"
	copy -p 4 $(task_is put4) "file://$tmp/f" "$at$tmp/out/put4"
	copy -fast $(task_is tiny1) "$at$tmp/f17" "file://$tmp/out/tiny1"
	copy -p 2 -bs 262144 $(task_is tiny2) "file://$tmp/f262161" "$at$tmp/out/tiny2"
	copy $(task_is tiny3) "$at$tmp/f17" "file://$tmp/out/tiny3"
	copy $(task_is empty) "$at$tmp/f0" "file://$tmp/out/empty"
	copy -p 2 -off 1000000 -len 5000000 $(task_is part) "$at$tmp/f" "file://$tmp/out/part"
	copy $(task_is none) "$at$tmp/f17" "file://$tmp/out/none1"
	copy $(task_is NONE) "$at$tmp/f17" "file://$tmp/out/none2"
}
for name in get1 get4 put1 put4; do same "$tmp/f" "$tmp/out/$name"; done
for name in tiny1 tiny3 none1 none2; do same "$tmp/f17" "$tmp/out/$name"; done
same "$tmp/f262161" "$tmp/out/tiny2"
same "$tmp/f0" "$tmp/out/empty"
tail -c +1000001 "$tmp/f" | head -c 5000000 >"$tmp/fpart"
tail -c +1000001 "$tmp/out/part" | cmp -s - "$tmp/fpart" || same "$tmp/fpart" "$tmp/out/part"
closed
expect get1 $size 1 disk.read net.write
expect get4 $size 4 disk.read net.write
expect put1 $size 1 disk.write net.read
expect put4 $size 4 disk.write net.read
expect tiny1 17 1 disk.read net.write
expect tiny2 262161 2 disk.write net.read
expect tiny3 17 1 disk.read net.write
expect part 5000000 2 disk.read net.write
# the first record has the options in force; a box names no session "none", and two of them are two
[ "$(rows "SELECT DISTINCT json_extract(subject, '\$.options'), json_extract(subject, '\$.driver') FROM metadata
    WHERE event_type = 'nw:process' AND json_extract(subject, '\$.task_id') = 'get4'")" = "interval=0.5;exact=yes;stack=auto;refused=1,narrows" ] ||
	fail "options: $(rows "SELECT subject FROM metadata WHERE event_type = 'nw:process'")"
[ "$(sql "SELECT count(*) FROM session WHERE lower(task_id) = 'none'")" = 0 ] || fail "a session of the task none"
[ "$(sql "SELECT count(*) FROM session WHERE task_id LIKE 'task-%'")" = 2 ] || fail "sessions without a task: $(sql 'SELECT id, task_id FROM session')"
# of each stream the kernel's own word, at the end at least
[ "$(rows "SELECT count(DISTINCT v.metadata) FROM sample s JOIN v_series v USING (series) JOIN session t ON t.id = v.session
    WHERE t.task_id = 'get4' AND v.field = 'rtt_s' AND s.value > 0")" = 4 ] || fail "no round trips of four streams"

# --- threads, server to server, UDT: two servers, one session ---
server two -threads 8 -dc-default tcp,narrows -fs-default file,narrows
# shellcheck disable=SC2154
there=ftp://127.0.0.1:$port_two
# shellcheck disable=SC2046
{
	copy -p 4 $(task_is threads-get) "$there$tmp/f" "file://$tmp/out/threads-get"
	copy -p 4 $(task_is threads-put) "file://$tmp/f" "$there$tmp/out/threads-put"
	copy -p 3 $(task_is third) "$at$tmp/f" "$there$tmp/out/third"
}
for name in threads-get threads-put third; do same "$tmp/f" "$tmp/out/$name"; done
closed
expect threads-get $size 4 disk.read net.write
expect threads-put $size 4 disk.write net.read
expect third $size 3 disk.read net.write disk.write net.read
if [ -n "$(find /usr/lib -name 'libglobus_xio_udt_driver.so' 2>/dev/null | head -n 1)" ]; then
	server three -threads 2 -dc-default udt,narrows
	server four -threads 2 -dc-default udt,narrows
	# shellcheck disable=SC2046,SC2154
	copy -p 2 $(task_is udt) "ftp://127.0.0.1:$port_three$tmp/f262161" "ftp://127.0.0.1:$port_four$tmp/out/udt"
	same "$tmp/f262161" "$tmp/out/udt"
	closed
	expect udt 262161 2 disk.read net.write disk.write net.read
	[ "$(rows "SELECT DISTINCT json_extract(subject, '\$.transport') FROM metadata m JOIN session t ON t.id = m.session_id
	    WHERE t.task_id = 'udt' AND event_type = 'nw:connection'")" = udt ] || fail "UDT was not used"
	# shellcheck disable=SC2154
	kill "$server_three" "$server_four" # their threads never rest
else
	echo "untested: no UDT driver is installed"
fi

# --- netlogger: the summary of both servers comes in the client's replies ---
server five -dc-default tcp,netlogger:io_type=net
server six -dc-default tcp,netlogger:io_type=net
# shellcheck disable=SC2154
copy -nlb -dbg "ftp://127.0.0.1:$port_five$tmp/f" "ftp://127.0.0.1:$port_six$tmp/out/nlb"
same "$tmp/f" "$tmp/out/nlb"
for stages in "disk.read=$size/.* net.write=$size/" "disk.write=$size/.* net.read=$size/"; do
	grep -q "^226.*narrows task=.* streams=1 $stages" "$tmp/copy.log" || fail "no summary: $(grep ^226 "$tmp/copy.log")"
done

# --- nwrun measures the calls of a server beside the driver, without threads and with eight. No stop of a tracer falls into either time. ---
truncate -s 268435456 "$tmp/big"
under="$bin/nwrun -q -t oracle" server nine -dc-default tcp,narrows
under="$bin/nwrun -q -t oracle-threads" server ten -threads 8 -dc-default tcp,narrows
# shellcheck disable=SC2046,SC2154
for way in "beside $port_nine" "beside-threads $port_ten"; do
	set -- $way
	copy -p 2 $(task_is "$1") "file://$tmp/big" "ftp://127.0.0.1:$2$tmp/out/beside"
	same "$tmp/big" "$tmp/out/beside"
	copy -p 2 $(task_is "$1") "ftp://127.0.0.1:$2$tmp/big" file:///dev/null
	rm "$tmp/out/beside"
done
# shellcheck disable=SC2154
kill "$server_nine" "$server_ten"
closed
# of a server with threads the transport tells when calls end, for the pass returns later
[ "$(rows "SELECT DISTINCT json_extract(subject, '\$.threads') || ' ' || json_extract(subject, '\$.disk_times') FROM metadata
    WHERE json_extract(subject, '\$.threads') IS NOT NULL AND json_extract(subject, '\$.task_id') LIKE 'beside%' ORDER BY 1" | paste -sd ,)" = "one calls,several calls" ] ||
	fail "how the driver timed disks: $(rows "SELECT subject FROM metadata WHERE event_type = 'nw:process'")"
# no assertion: a busy machine puts a pause between the two clocks
rows "SELECT 'measured: ' || stage || threads || ' ' || round(sum(own), 4) || ' s by the driver, ' || round(sum(oracle), 4) || ' s by nwrun, ' ||
    round(sum(own) / sum(oracle), 3) FROM (
    SELECT json_extract(v.subject, '\$.stage') AS stage, json_extract(v.subject, '\$.pid') AS pid,
    CASE WHEN max(t.task_id LIKE '%-threads') THEN ' with threads' ELSE '' END AS threads,
    sum(CASE WHEN t.task_id LIKE 'oracle%' THEN s.value END) AS oracle, sum(CASE WHEN t.task_id NOT LIKE 'oracle%' THEN s.value END) AS own
    FROM sample s JOIN v_series v USING (series) JOIN session t ON t.id = v.session WHERE v.field = 'busy' GROUP BY 1, 2)
    WHERE own IS NOT NULL AND oracle IS NOT NULL AND stage LIKE 'disk.%' GROUP BY stage, threads"

# --- the client's own side, over GSI: it exits with open handles ---
mkdir "$tmp/ca"
(
	cd "$tmp/ca"
	openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /O=narrows/CN=ca
	hash=$(openssl x509 -in ca.pem -noout -hash)
	cp ca.pem "$hash.0"
	printf "access_id_CA X509 '/O=narrows/CN=ca'\npos_rights globus CA:sign\ncond_subjects globus '\"*\"'\n" >"$hash.signing_policy"
	for name in localhost user; do
		openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj /O=narrows/CN=$name
		printf 'subjectAltName = DNS:localhost, IP:127.0.0.1\n' >$name.ext
		openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.pem
	done
	chmod 600 ./*.key
	echo "\"/O=narrows/CN=user\" $(id -un)" >map
) >"$tmp/ca.log" 2>&1 || fail "certificates: $(cat "$tmp/ca.log")"
export X509_CERT_DIR="$tmp/ca" GRIDMAP="$tmp/ca/map"
X509_USER_CERT="$tmp/ca/localhost.pem" X509_USER_KEY="$tmp/ca/localhost.key" secure=yes server eight -allow-root
# shellcheck disable=SC2154
for way in "gsi-get gsiftp://localhost:$port_eight$tmp/f file://$tmp/out/gsi-get" "gsi-put file://$tmp/f gsiftp://localhost:$port_eight$tmp/out/gsi-put"; do
	# shellcheck disable=SC2086
	set -- $way
	X509_USER_CERT="$tmp/ca/user.pem" X509_USER_KEY="$tmp/ca/user.key" copy -p 2 -dcstack "tcp,narrows:task_id=$1" -fsstack "file,narrows:task_id=$1" "$2" "$3"
	same "$tmp/f" "$tmp/out/$1"
done
closed
expect gsi-get $size 2 disk.read net.write net.read
expect gsi-put $size 2 disk.write net.read net.write

# --- the box is away, the client is killed ---
NARROWS_BOX=127.0.0.1/9 server seven -dc-default tcp,narrows
# shellcheck disable=SC2046,SC2154
{
	copy -p 4 $(task_is away) "ftp://127.0.0.1:$port_seven$tmp/f" "file://$tmp/out/away"
	same "$tmp/f" "$tmp/out/away"
	globus-url-copy -fast -p 2 -t 60 $(task_is killed) "$at/dev/zero" "$there/dev/null" >/dev/null 2>&1 &
}
client=$!
moved() { [ "$(sql "SELECT count(*) FROM metadata m JOIN session t ON t.id = m.session_id WHERE t.task_id = 'killed' AND event_type = 'nw:connection'")" = 4 ]; }
until_true 30 moved || fail "nothing of a transfer that runs: $(cat "$tmp/one.log")"
kill -9 $client
wait $client || :
closed # no server holds the session of the client that was killed
# shellcheck disable=SC2154
for s in "$server_one" "$server_two" "$server_seven"; do
	kill -0 "$s" || fail "a server is gone"
done
for log in "$tmp"/*.log; do
	! grep -i "assertion\|signal 11\|not whitelisted" "$log" || fail "$log"
done
