#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GridFTP's server with our network manager, between two network namespaces with an agent in each: every transfer of Debian's
# programs is one session with the right bytes, all connections and the right verdict, and no transfer fails, whatever the
# agents do. Notices of a process about connections of others begin nothing.
. tests/lib.sh

command -v globus-gridftp-server >/dev/null && command -v globus-url-copy >/dev/null || skip "GridFTP's programs are not installed"
library=$(cd "$B/lib" && pwd)
[ -e "$library/libglobus_net_manager_narrows.so" ] || skip "the network manager is not built: make gridftp"
[ "$(id -u)" = 0 ] || skip "network name spaces need root"
[ -c /dev/net/tun ] || skip "the kernel has no TUN devices"
outside_or_skip
disk=
cleanup() {
	status=$?
	for n in $a $b; do
		for p in $(ip netns pids "$n" 2>/dev/null); do kill "$p" 2>/dev/null || :; done
	done
	[ -z "$disk" ] || { umount "$tmp/disk" 2>/dev/null; losetup -d "$disk"; } || :
	ip netns del "$a" 2>/dev/null || :
	ip netns del "$b" 2>/dev/null || :
	lib_cleanup
	exit $status
}
two_networks
trap cleanup EXIT
chmod 711 "$tmp"

# --- two hosts, a link between them, a box, and an agent and a server on each ---
# link RATE_MBIT DELAY_MS: the queue holds 50 ms at 100 Mbit/s
link_is() { printf '%s %s 0 625000\n%s %s 0 625000\n' "$1" "$2" "$1" "$2" >"$tmp/parameters"; }
link_is 400 0.1
"$B/tests/rig/link" "$a" wan "$b" wan "$tmp/parameters" >"$tmp/counters" 2>&1 &
link=$!
pids="$pids $link"
until_true 10 grep -q ready "$tmp/counters" || fail "no link: $(cat "$tmp/counters")"
link() { link_is "$@" && kill -HUP "$link" && sleep 0.2; }
i=0
for n in $a $b; do
	i=$((i + 1))
	ip -n "$n" link set lo up
	ip -n "$n" addr add 10.99.8.$i/30 dev wan && ip -n "$n" link set wan txqueuelen 10000 up
	printf '127.0.0.1 localhost\n10.99.8.%s host%s %s\n' $i $i "$(hostname)" >"$tmp/hosts$i"
done
in1="nsenter --net=/run/netns/$a" in2="nsenter --net=/run/netns/$b"
$in2 "$bin/narrowsd" -f /dev/null -d -o state-dir="$tmp/state" -o listen-xsp=10.99.8.2/0 -o plain-xsp-beyond-loopback=yes \
    -o listen-http=127.0.0.1/0 -o session-linger=1s 2>>"$tmp/box.log" &
pids="$pids $!"
until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
NARROWS_BOX=$(sed -n 's/^xsp //p' "$tmp/state/narrowsd.run")
export NARROWS_BOX
# agent N: large thresholds, so that notices alone begin sessions
agent() {
	eval "in=\$in$1"
	rm -f "$tmp/flows$1"
	NARROWS_HOST=host$1 $in "$bin/nwflow" -d -o watch=yes -o "bytes=100 GiB" -o "rate=100 GiB" -o notices="$tmp/flows$1" 2>>"$tmp/agent$1.log" &
	pids="$pids $!"
	eval "agent$1=$!"
	until_true 20 test -S "$tmp/flows$1" || fail "the agent does not start: $(cat "$tmp/agent$1.log")"
}
agent 1
agent 2
mkdir -m 777 "$tmp/data"
data=$tmp/data
head -c 16M /dev/urandom >"$data/f"
# a disk of its own, which can be slow
blkio=/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device
if [ -e "$blkio" ] && truncate -s 64M "$tmp/image" && disk=$(losetup -f --show "$tmp/image"); then
	mkdir "$tmp/disk"
	mkfs.ext4 -q -F -O ^has_journal "$disk" && mount "$disk" "$tmp/disk" || fail "no disk"
	cp "$data/f" "$tmp/disk/f"
	umount "$tmp/disk" && mount "$disk" "$tmp/disk" # nothing of the file is cached
fi
# server N: as on a host of its own, whose names are in its own /etc/hosts
server() {
	eval "in=\$in$1"
	echo "xnetmgr \"manager=narrows;socket=$tmp/flows$1;\"" >"$tmp/gridftp$1.conf"
	LD_LIBRARY_PATH=$library $in unshare -m sh -c "mount --bind $tmp/hosts$1 /etc/hosts && exec globus-gridftp-server -c $tmp/gridftp$1.conf -aa \
	    -anonymous-user nobody -p 2811 -control-interface 10.99.8.$1 -data-interface 10.99.8.$1 -log-level ERROR,WARN -logfile $tmp/server$1.log" &
	pids="$pids $!"
}
server 1
server 2
listens() { $1 ss -ltn | grep -q :2811; }
until_true 20 listens "$in1" && until_true 20 listens "$in2" || fail "a server does not start: $(cat "$tmp"/server*.log)"
one=ftp://10.99.8.1:2811 two=ftp://10.99.8.2:2811
# copy FROM TO [OPTION ...]: by globus-url-copy on the first host; the copy is the file
copy() {
	source=$1 copied=$2
	shift 2
	rm -f "$data/g"
	timeout $((60 * $(patience))) $in1 globus-url-copy "$@" "$source" "$copied" >"$tmp/said" 2>&1 ||
	    fail "$source to $copied $*: $(cat "$tmp/said" "$tmp"/server*.log)"
	cmp "$data/f" "$data/g" || fail "$source to $copied $*: the copy differs"
}
# with_task STREAMS TASK: from the first server to the second
with_task() {
	rm -f "$data/g"
	timeout $((60 * $(patience))) $in1 python3 tests/gridftp_client.py 10.99.8.1:2811 "$data/f" 10.99.8.2:2811 "$data/g" "$1" "$2" ||
	    fail "with a task, $1 streams: $(cat "$tmp"/server*.log)"
	cmp "$data/f" "$data/g" || fail "with a task, $1 streams: the copy differs"
}

# --- every kind of transfer is a session ---
# A line for each session above a number: hosts that measured, connections, whether the bytes are those of the file, stage, task.
cat >"$tmp/sessions.py" <<'PY'
import json, sqlite3, subprocess, sys
narrows, state, size, since = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
db = sqlite3.connect(f"file:{state}/narrows.db?mode=ro", uri=True)
for id, task in db.execute("SELECT id, task_id FROM session WHERE id > ? ORDER BY id", (since,)).fetchall():
    hosts = db.execute("SELECT count(DISTINCT host_id) FROM xsp_session WHERE session_id = ?", (id,)).fetchone()[0]
    ends = set()
    for (subject,) in db.execute("SELECT subject FROM metadata WHERE session_id = ? AND subject LIKE '%sport%'", (id,)):
        s = json.loads(subject)
        if 2811 not in (s["sport"], s["dport"]):  # the connections of control
            ends.add(tuple(sorted([(s["src"], s["sport"]), (s["dst"], s["dport"])])))
    said = subprocess.run([narrows, "-s", state, "report", "--json", str(id)], capture_output=True, text=True).stdout
    d = json.loads(said)
    if d["session"]["state"] != "closed":
        sys.exit(f"session {id} is open")
    moved, before = d["session"]["bytes"], d["quality"].get("bytes_before") or 0
    whole = 0.94 * size <= moved + before and moved <= 1.02 * size  # calls under way at the begin count for neither
    print(hosts, len(ends), "whole" if whole else f"{moved:.0f}+{before:.0f}", (d["verdict"] or {}).get("stage"),
          "task" if "uuid" in task or len(task) < 30 else "-", task)
PY
newest() { sql "SELECT coalesce(max(id), 0) FROM session" 2>/dev/null || echo 0; }
sessions() { python3 "$tmp/sessions.py" "$bin/narrows" "$tmp/state" "$(stat -c %s "$data/f")" "$since" 2>"$tmp/sessions.err"; }
# settled: all sessions since are judged
settled() {
	sleep 0.3
	[ "$(sql "SELECT count(*) || ' ' || count(CASE WHEN EXISTS (SELECT 1 FROM run WHERE session_id = s.id AND started_ns > s.closed_ns) THEN 1 END)
	    FROM session s WHERE id > $since" | awk '{ print ($1 > 0 && $1 == $2) }')" = 1 ] && sessions >"$tmp/line" && [ -s "$tmp/line" ]
}
# became PATTERN WHAT: the sessions since $since, in one line, fit
became() {
	until_true 20 settled || fail "$2: no session is judged: $(cat "$tmp/sessions.err" "$tmp"/agent*.log)"
	case $(tr '\n' ' ' <"$tmp/line") in $1) ;; *) fail "$2: \"$(cat "$tmp/line")\", not \"$1\": $(cat "$tmp"/agent*.log)" ;; esac
}
# limited STAGE WHAT STREAMS FROM [OPTION ...]: a copy to the second host is limited by the stage. A busy machine may leave a verdict
# open: of a few copies the verdict on one is right, and no verdict is wrong.
limited() {
	stage=$1 what=$2 streams=$3 from=$4
	shift 4
	for round in 1 2 3; do
		since=$(newest)
		copy "$from" "$two$data/g" "$@"
		became "2 $streams whole *" "$what"
		case $(cat "$tmp/line") in
		"2 "?" whole $stage "*) return ;;
		"2 "?" whole None "*) ;;
		*) fail "$what: $(cat "$tmp/line")" ;;
		esac
	done
	fail "$what: three verdicts are open"
}

nw attach gridftp --check=600 >"$tmp/checked" 2>&1 &
check=$!
pids="$pids $check"
until_true 10 grep -q waiting "$tmp/checked" || fail "attach --check: $(cat "$tmp/checked")"
since=$(newest)
copy "$two$data/f" "file://$data/g"
became "1 1 whole *" "get"
since=$(newest)
copy "$two$data/f" "file://$data/g" -p 4
became "1 4 whole *" "get by four streams"
since=$(newest)
copy "file://$data/f" "$two$data/g"
became "1 1 whole *" "put"
since=$(newest)
copy "file://$data/f" "$two$data/g" -p 4
became "1 4 whole *" "put by four streams"
# third party; with a task, which the box keeps from strangers
since=$(newest)
with_task 1 7d9c4a52-2b8e-11ee-a8e2-8b0cf7a14b3f
became "2 1 whole *" "third party with a task"

# --- the limit is named, of third-party transfers by one stream and by four ---
link 25 0.1
limited network "a slow link" 4 "$one$data/f" -p 4
link 400 20
limited network "a small window" 1 "$one$data/f" -fast -tcp-bs 131072
link 400 0.1
if [ -n "$disk" ]; then
	echo "$(lsblk -dno MAJ:MIN "$disk") 4000000" >"$blkio"
	limited disk.read "a slow disk" 4 "$one$tmp/disk/f" -p 4
	echo "$(lsblk -dno MAJ:MIN "$disk") 0" >"$blkio"
else
	echo "untested: a slow disk: there are no control groups of version 1"
fi

# --- agents that do not answer, and strangers ---
heard() { nw control all status | grep -q "^host$1 host: .*$2"; }
# a stopped agent's socket fills, and a killed agent leaves a socket that refuses: no transfer notices
kill -STOP "$agent1"
copy "$one$data/f" "$two$data/g" -p 16
kill -KILL "$agent1"
copy "$one$data/f" "$two$data/g" -p 4
agent 1

# a server that is killed ends its session, and the other's; the next transfer is as before
link 20 0.1
since=$(newest)
$in1 globus-url-copy "$one$data/f" "$two$data/g" >/dev/null 2>&1 &
client=$!
begun() { [ "$(newest)" -gt "$since" ]; }
until_true 20 begun || fail "no session of the transfer to end: $(cat "$tmp"/agent*.log)"
kill -KILL "$(sed -n 's/.*session.begin .*pid=\([0-9]*\) .*/\1/p' "$tmp/agent2.log" | tail -n 1)"
wait $client && fail "the client has not noticed the end of the server"
ended() { [ "$(sql "SELECT count(*) FROM session WHERE closed_ns IS NULL")" = 0 ]; }
until_true 20 ended || fail "a session of a killed server stays open"

# a stranger tells of another process's connection, of one that is not there, and of nothing
began=$(grep -c session.begin "$tmp/agent1.log" || :)
cat >"$tmp/stranger.py" <<'PY'
import os, socket, sys
path, ends = sys.argv[1], sys.argv[2:]
os.setresuid(12345, 12345, 12345)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for text in "hello", "narrows-flow 1 open tcp 0 {} {} t1".format(*ends), "narrows-flow 1 open tcp 0 localhost:9 10.99.8.2:9 t2":
    s.sendto(text.encode(), path)
PY
link 4 0.1
$in1 globus-url-copy "$one$data/f" "$two$data/g" >/dev/null 2>&1 &
client=$!
begun() { [ "$(grep -c session.begin "$tmp/agent1.log")" -gt "$began" ]; }
until_true 20 begun || fail "no session of a transfer: $(cat "$tmp"/agent*.log)"
began=$((began + 1))
ends=$(sed -n 's|.*session.begin .*local=\(.*\)/\([0-9]*\) peer=\(.*\)/\([0-9]*\) .*|\1:\2 \3:\4|p' "$tmp/agent1.log" | tail -n 1)
# shellcheck disable=SC2086
$in1 python3 "$tmp/stranger.py" "$tmp/flows1" $ends || fail "the stranger's datagrams"
until_true 30 heard 1 "foreign=1 malformed=1" || fail "the stranger's notices: $(nw control all status)"
[ "$(grep -c session.begin "$tmp/agent1.log")" = "$began" ] || fail "a stranger's notice begins a session: $(cat "$tmp/agent1.log")"
link 400 0.1
wait $client || fail "the transfer beside a stranger"
cmp "$data/f" "$data/g" || fail "the transfer beside a stranger: the copy differs"
wait $check || fail "attach --check: $(cat "$tmp/checked")"
grep -q "told of a data channel" "$tmp/checked" || fail "attach --check: $(cat "$tmp/checked")"
