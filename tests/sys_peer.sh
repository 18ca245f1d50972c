#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp's sensors: connect time, round trip, MTU and hops towards a peer behind two routers; a refusal is an answer, and a peer
# that is not there is said so. A session to the peer has the way in its document, where a longer way is a cause (test_changed).
. tests/lib.sh
[ "$(id -u)" = 0 ] && ip netns add "nwp0-$$" 2>/dev/null || skip "no network name spaces here"
end() { for i in 0 1 2 3; do ip netns del "nwp$i-$$" 2>/dev/null || :; done; lib_cleanup; }
trap end EXIT
in_ns() { n=$1; shift; ip netns exec "nwp$n-$$" "$@"; }
for i in 1 2 3; do ip netns add "nwp$i-$$"; done
# 0 -- 1 -- 2 -- 3
for i in 0 1 2; do
	k=$((i + 1))
	ip link add "l$i" netns "nwp$i-$$" type veth peer name "r$k" netns "nwp$k-$$"
	in_ns $i ip addr add "10.77.$i.1/24" dev "l$i"
	in_ns $k ip addr add "10.77.$i.2/24" dev "r$k"
	in_ns $i ip link set "l$i" up
	in_ns $k ip link set "r$k" up
done
for i in 0 1 2 3; do in_ns $i ip link set lo up; in_ns $i sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0; done
in_ns 0 ip route add default via 10.77.0.2
in_ns 1 ip route add 10.77.2.0/24 via 10.77.1.2
in_ns 2 ip route add 10.77.0.0/24 via 10.77.1.1
in_ns 3 ip route add default via 10.77.2.1
ip netns exec "nwp3-$$" python3 -c '
import socket
s = socket.create_server(("10.77.2.2", 7777))
while True:
    c, _ = s.accept()
    assert c.recv(1) == b""      # never a word' &
pids="$pids $!"
until_true 20 in_ns 3 grep -q ":1E61 " /proc/net/tcp || fail "nobody listens at port 7777"

look() { in_ns 0 "$bin/blipp" -i 1s -o probes=peer -o peer=10.77.2.2/7777 -o peer=10.77.2.2/7 -o peer=10.77.9.9/7 --format csv; }
value() { awk -F, -v d="$1" -v f="$2" '$3 == d && $4 == f { print $5 }' "$tmp/look"; }
look >"$tmp/look"
for peer in 10.77.2.2/7777 10.77.2.2/7; do
	[ "$(value $peer hops)" = 3 ] || fail "$peer: $(value $peer hops) hops, not 3: $(cat "$tmp/look")"
	[ "$(value $peer reachable)" = 1 ] || fail "$peer is not reachable"
	awk -v v="$(value $peer rtt_ms)" 'BEGIN { exit !(v > 0 && v < 100) }' || fail "$peer: round trip $(value $peer rtt_ms) ms"
done
[ "$(value 10.77.2.2/7 refused)" = 1 ] || fail "a refusal is not told"
[ "$(value 10.77.9.9/7 reachable)" != 1 ] || fail "nobody is reachable"
[ "$(value 10.77.2.2/7777 path_mtu)" = 1500 ] || fail "MTU $(value 10.77.2.2/7777 path_mtu)"

# --- the way of a session, through a box ---
mkdir "$tmp/in0"
printf '#!/bin/sh\nexec ip netns exec "nwp0-%s" "%s/narrowsd" "$@"\n' $$ "$bin" >"$tmp/in0/narrowsd"
chmod 755 "$tmp/in0/narrowsd"
real=$bin bin=$tmp/in0
start_box -o session-linger=1s
bin=$real
ip netns exec "nwp3-$$" python3 -c '
import socket
s = socket.create_server(("10.77.2.2", 7778))
c, _ = s.accept()
while c.recv(65536): pass' &
pids="$pids $!"
until_true 20 in_ns 3 grep -q ":1E62 " /proc/net/tcp || fail "nobody listens at port 7778"
ip netns exec "nwp0-$$" "$bin/blipp" -b "$xsp" -i 1s -o probes=peer -o peer=10.77.2.2/7777 -o peer=10.77.1.2/7 2>>"$tmp/blipp.log" &
pids="$pids $!"
known() { [ "$(nw sql "SELECT count(*) FROM v_sample WHERE field = 'hops' AND value > 0" | tail -n 1)" -ge 2 ]; }
until_true 30 known || fail "the box knows no hops: $(cat "$tmp/blipp.log")"
in_ns 0 "$bin/nwrun" -t way python3 -c '
import socket, time
s, stop = socket.create_connection(("10.77.2.2", 7778)), time.time() + 1
while time.time() < stop:
    s.sendall(b"x" * 65536)
    time.sleep(0.01)'
ways() { nw report last --json | python3 -c '
import json, sys
print([(w["peer"], w["hops"], w["mtu_bytes"]) for w in json.load(sys.stdin)["session"]["ways"]])'; }
until_true 20 sh -c "'$bin/narrows' -s '$tmp/state' report last --json | grep -q '\"ways\"'" || fail "the session has no verdict"
[ "$(ways)" = "[('10.77.2.2', 3.0, 1500.0)]" ] || fail "the way of the session: $(ways)"

echo "hops, round trip and MTU of a path of three hops"
