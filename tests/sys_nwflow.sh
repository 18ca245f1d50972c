#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Sessions that nobody starts: between two network name spaces with an agent in each, every ordinary transfer becomes one
# session with both ends and the right verdict; with nwrun on one side the agent's end joins. LONG=1: ten transfers.
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip "network name spaces need root"
outside_or_skip
ns_a=flow-a-$$ ns_b=flow-b-$$
cleanup() {
	for n in $ns_a $ns_b; do
		for p in $(ip netns pids "$n" 2>/dev/null); do kill "$p" 2>/dev/null || :; done
	done
	ip netns del $ns_a 2>/dev/null || :
	ip netns del $ns_b 2>/dev/null || :
	lib_cleanup
}
trap cleanup EXIT
ip netns add $ns_a 2>/dev/null && ip netns add $ns_b && ip link add va netns $ns_a type veth peer name vb netns $ns_b ||
	skip "no network name spaces here"
in_a="nsenter --net=/run/netns/$ns_a" in_b="nsenter --net=/run/netns/$ns_b"
$in_a ip addr add 10.99.7.1/24 dev va
$in_b ip addr add 10.99.7.2/24 dev vb
for n in a b; do
	eval "in=\$in_$n"
	$in ip link set v$n up
	$in ip link set lo up
	$in ethtool -K v$n tso off gso off >/dev/null 2>&1 || :
done

# The box is in the second name space, so that senders come from the addresses of their connections.
$in_b "$bin/narrowsd" -d -o state-dir="$tmp/state" -o listen-xsp=10.99.7.2/0 -o plain-xsp-beyond-loopback=yes -o listen-http=127.0.0.1/0 2>>"$tmp/box.log" &
pids="$pids $!"
until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
xsp=$(sed -n 's/^xsp //p' "$tmp/state/narrowsd.run")
export NARROWS_BOX="$xsp"

cat >"$tmp/flow.conf" <<EOC
bytes 2 MiB
after 2 s
quiet 2 s
look 50 ms
deny program narrowsd
deny port 5999
EOC

# nothing is watched unless the configuration says so
"$bin/nwflow" -f "$tmp/flow.conf" -d 2>"$tmp/off" || fail "nwflow without watch: $?"
grep -q "watch yes" "$tmp/off" || fail "nwflow does not say that it is off: $(cat "$tmp/off")"
for n in a b; do
	eval "in=\$in_$n"
	mkdir -p "$tmp/host-$n/narrows"
	printf 'box %s\nhost dtn-%s\nwatch yes\n' "$xsp" "$n" >"$tmp/host-$n/narrows/host.conf"
	$in env -u NARROWS_BOX XDG_CONFIG_HOME="$tmp/host-$n" "$bin/nwflow" -d -f "$tmp/flow.conf" 2>"$tmp/agent-$n.log" &
	pids="$pids $!"
	eval "agent_$n=$!"
done
until_true 20 grep -q agent.start "$tmp/agent-a.log" || fail "the agent does not start: $(cat "$tmp/agent-a.log")"
until_true 20 grep -q agent.start "$tmp/agent-b.log" || fail "the agent does not start: $(cat "$tmp/agent-b.log")"

# The box knows of the agents, and what they cost, before anything moves.
watches() { nw control all status | grep -q "^dtn-$1 host: .*collecting=\"flows watched=0\""; }
for n in a b; do
	until_true 20 watches $n || fail "the box hears nothing of the agent of dtn-$n: $(nw control all status)"
done

# An ordinary transfer: nothing here knows of any measuring. SLOW is the end that works on every piece.
cat >"$tmp/transfer.py" <<'PY'
import hashlib, os, socket, sys, time
role, port, mebibytes, work = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
if role == "send":
    s = socket.create_connection(("10.99.7.2", port))
    piece = os.urandom(1 << 16)
    for i in range(int(mebibytes * 16)):
        busy(work)
        s.sendall(piece)
    s.close()
else:
    listener = socket.create_server(("10.99.7.2", port))
    s, _ = listener.accept()
    while True:
        d = s.recv(1 << 16)
        if not d:
            break
        busy(work * len(d) / 65536)
PY
port=$((21000 + $$ % 9000))
# transfer MIB SEND_WORK RECEIVE_WORK [COMMAND]: COMMAND runs the sender
transfer() {
	port=$((port + 1))
	$in_b python3 "$tmp/transfer.py" receive $port "$1" "$3" &
	receiver=$!
	until_true 10 sh -c "$in_b ss -ltn | grep -q :$port"
	$in_a ${4:-} python3 "$tmp/transfer.py" send $port "$1" "$2" || fail "the sender ends with $?"
	wait $receiver || fail "the receiver ends with $?"
}
sessions() { sql "SELECT count(*) FROM session WHERE merged_into IS NULL" 2>/dev/null || echo 0; }
# Sessions as "hosts-stage", in the order of their beginning.
sessions() {
	for id in $(sql "SELECT id FROM session WHERE id > $first ORDER BY opened_ns"); do
		n=$(sql "SELECT count(DISTINCT host_id) FROM xsp_session WHERE session_id = $id")
		nw report "$id" --json 2>/dev/null | tr -d '\n' | sed -n "s/.*\"verdict\": *{\"stage\": *\"\([a-z.]*\)\".*/$n-\1/p"
		echo
	done
}
words() { sessions | grep . | tr '\n' ' '; }
said() { [ "$(words)" = "$1" ]; }
limit() { $in_a tc qdisc replace dev va root tbf rate 60mbit burst 64kb latency 50ms; }
no_limit() { $in_a tc qdisc del dev va root; }
# The wait between two keeps their sessions apart in time.
slow_path() { limit; transfer "${1:-18}" 0 0; no_limit; expected="${expected}2-network "; }
slow_sender() { transfer "${1:-18}" 0.008 0; expected="${expected}2-sender.host "; }
slow_receiver() { transfer "${1:-18}" 0 0.008; expected="${expected}2-receiver.host "; }

# Every transfer is one session with both ends. A busy machine may leave a verdict open: of a few rounds one is right.
round() {
	first=$(sql "SELECT coalesce(max(id), 0) FROM session") expected=
	slow_path
	slow_sender
	slow_receiver
	[ -z "${LONG:-}" ] || for i in 1 2; do slow_path; slow_sender; slow_receiver; done
	[ -z "${LONG:-}" ] || slow_path 48
	until_true 10 said "$expected" && return
	[ "$(sessions | grep . | wc -l)" = "$(echo "$expected" | wc -w)" ] || fail "sessions: $(words), not $expected; $(cat "$tmp"/agent-*.log)"
	return 1
}
round || round || round || fail "sessions: $(words), not $expected"
[ "$(sql "SELECT count(*) FROM xsp_session WHERE software = 'nwrun'")" = 0 ] || fail "somebody ran nwrun"

# A refused port, however much it moves; and the loopback.
before=$(sql "SELECT count(*) FROM session") last=$(sql "SELECT max(id) FROM session")
kept=$port
port=5998
transfer 8 0 0
port=$kept
sleep 0.5
[ "$(sql "SELECT count(*) FROM session")" = "$before" ] || fail "a refused port became a session"

# nwrun on one side: the agent's end joins the session, and the agent on nwrun's side keeps away.
transfer 18 0.008 0 "$bin/nwrun -q -H dtn-a -t by-hand"
by_hand() { sql "SELECT count(DISTINCT x.host_id) FROM xsp_session x JOIN session s ON x.session_id = s.id WHERE s.task_id = 'by-hand'"; }
both() { [ "$(by_hand)" = 2 ] && [ "$(sql "SELECT count(*) FROM session")" = $((before + 1)) ]; }
until_true 20 both || fail "nwrun's session has $(by_hand) hosts; $(sql "SELECT count(*) FROM session") sessions, not $((before + 1))"
first=$last
until_true 20 said "2-sender.host " || fail "nwrun's session: $(words)"

kill "$agent_a" "$agent_b"
wait "$agent_a" || fail "the agent ends with $?"
wait "$agent_b" || fail "the agent ends with $?"
left() { find /dev/shm -maxdepth 1 -name 'nwrun.*' -newer "$tmp/flow.conf" | while read -r f; do flock -n "$f" true && echo "$f"; done; }
[ -z "$(left)" ] || fail "shared files are left: $(left)"
grep -q "agent.end" "$tmp/agent-a.log" || fail "the agent does not say its end"
