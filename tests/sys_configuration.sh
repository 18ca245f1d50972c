#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The configuration of a host: told at the start, stored as changes only, and a planted change (sysctl, MTU, queueing discipline,
# offload, mount option) is a line of history with the value before.
. tests/lib.sh

start_box
was() { sql "SELECT value FROM config WHERE name = '$1' ORDER BY t_ns DESC LIMIT 1"; }
lines() { sql "SELECT count(*) FROM config"; }
told() { [ -n "$(was "$1")" ]; }

# --- an update of a program is a change of its host ---
runs() { # FILE: as a program named mover
	cp "$1" "$tmp/mover.new"
	chmod 755 "$tmp/mover.new"
	mv "$tmp/mover.new" "$tmp/mover"
	"$bin/nwrun" -H dtn9 -t "$2" "$tmp/mover" "$3" &
	pids="$pids $!"
}
builds() { [ "$(sql "SELECT count(DISTINCT value) FROM config WHERE name = 'program.mover.build' AND value <> 'unknown'")" = "$1" ]; }
runs "$(command -v sleep)" first 600
until_true 20 builds 1 || fail "the build of a program is not told: $(sql "SELECT name, value FROM config WHERE name LIKE 'program.%'")"
[ "$(was program.mover.path)" = "$(readlink -f "$tmp/mover")" ] || fail "the path of a program: $(was program.mover.path)"
runs "$(command -v tail)" second -f
until_true 20 builds 2 || fail "an update of a program is not told: $(sql "SELECT name, value FROM config WHERE name LIKE 'program.%'")"

# --- the host as it is; each value beside the kernel's own words ---
blipp_start() {
	$in_namespace "$bin/blipp" -b "$xsp" -H dtn1 -i 1s -o probes=load -o spool-dir="$tmp/spool" 2>>"$tmp/blipp.log" &
	blipp=$!
	pids="$pids $blipp"
}
in_namespace=
blipp_start
until_true 10 told sysctl.vm.swappiness || fail "no configuration: $(cat "$tmp/blipp.log")"
[ "$(was kernel.release)" = "$(uname -r)" ] || fail "kernel.release is $(was kernel.release)"
[ "$(was kernel.boot_time)" = "$(date -u -d "@$(sed -n 's/^btime //p' /proc/stat)" +%Y-%m-%dT%H:%MZ)" ] || fail "boot_time is $(was kernel.boot_time)"
[ "$(was sysctl.vm.swappiness)" = "$(cat /proc/sys/vm/swappiness)" ] || fail "swappiness is $(was sysctl.vm.swappiness)"
tcp_rmem=$(tr '\t' ' ' </proc/sys/net/ipv4/tcp_rmem)
[ "$(was sysctl.net.ipv4.tcp_rmem)" = "$tcp_rmem" ] || fail "tcp_rmem is $(was sysctl.net.ipv4.tcp_rmem)"
[ "$(was sysctl.net.ipv4.tcp_congestion_control)" = "$(cat /proc/sys/net/ipv4/tcp_congestion_control)" ] || fail "no congestion control"
[ "$(was mount./.type)" = "$(awk '$2 == "/" { t = $3 } END { print t }' /proc/mounts)" ] || fail "mount./.type is $(was mount./.type)"
[ "$(was net.lo.mtu)" = "$(cat /sys/class/net/lo/mtu)" ] || fail "net.lo.mtu is $(was net.lo.mtu)"
[ "$(sql "SELECT count(*) FROM config WHERE name GLOB '*secret*' OR name GLOB '*fastopen_key'")" = 0 ] || fail "secrets are told"
[ "$(sql "SELECT count(*) FROM metadata WHERE event_type = 'ps:host:config'")" = 0 ] || fail "settings are metadata, too"

# --- a restart tells nothing new; where others change the machine meanwhile, one of a few restarts does ---
settled() { before=$(lines); sleep 0.5; [ "$(lines)" = "$before" ]; }
# restart N: the Nth
restart() {
	until_true 10 settled || return 1
	blipp_start
	until_true 10 sh -c "[ \$(grep -c box.connected '$tmp/blipp.log') -gt $1 ]" || fail "blipp does not come again"
	sleep 0.5
	kill "$blipp" && wait "$blipp" # all that was said is acknowledged
	[ "$(lines)" = "$before" ]
}
until_true 10 settled || :
kill "$blipp" && wait "$blipp"
restart 1 || restart 2 || restart 3 || restart 4 || restart 5 ||
	fail "a restart made $before lines $(lines): $(sql "SELECT name, value, before FROM v_config ORDER BY t_ns DESC LIMIT 5")"

# --- planted changes, in a network name space of the test ---
ns=nwconf$$
if ip netns add "$ns" 2>/dev/null; then
	trap 'ip netns del "$ns" 2>/dev/null || :; lib_cleanup' EXIT
	ip -n "$ns" link set lo up
	ip -n "$ns" link add d0 type veth peer name d1
	ip -n "$ns" addr add 198.51.100.1/24 dev d0
	ip -n "$ns" link set d0 up && ip -n "$ns" link set d1 up
	ip netns exec "$ns" ping -c 1 -W 1 127.0.0.1 >/dev/null 2>&1 || :
	# an interface counts once something went over it: a question for an address that nobody has
	cat >"$tmp/packets.py" <<'END'
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.2", 9))
for line in open("/proc/net/dev"):
    name, _, rest = line.partition(":")
    v = rest.split()
    if v and int(v[1]) + int(v[9]) == 0:
        sys.exit(1)
END
	until_true 20 ip netns exec "$ns" python3 "$tmp/packets.py" || fail "nothing goes over an interface"
	once() { ip netns exec "$ns" "$bin/blipp" -H dtn2 --list-configuration >"$tmp/$1"; }
	once conf.before
	ip -n "$ns" link set d0 mtu 1400
	ip netns exec "$ns" tc qdisc replace dev d0 root tbf rate 8mbit burst 16kb latency 50ms
	ip netns exec "$ns" sysctl -qw net.ipv4.tcp_notsent_lowat=131072
	once conf.after
	grep -q '^net.d0.mtu=1500$' "$tmp/conf.before" || fail "no MTU: $(grep ^net "$tmp/conf.before")"
	diff "$tmp/conf.before" "$tmp/conf.after" | sed -n 's/^> //p' >"$tmp/diff"
	for line in net.d0.mtu=1400 sysctl.net.ipv4.tcp_notsent_lowat=131072; do
		grep -qx "$line" "$tmp/diff" || fail "$line is not told: $(cat "$tmp/diff")"
	done
	grep -q '^net.d0.qdisc=tbf #' "$tmp/diff" || fail "the shaper is not told: $(cat "$tmp/diff")"
	[ "$(wc -l <"$tmp/diff")" = 3 ] || fail "more than three settings changed: $(cat "$tmp/diff")"
	ip netns exec "$ns" tc qdisc replace dev d0 root tbf rate 9mbit burst 16kb latency 50ms
	once conf.rate
	[ "$(diff "$tmp/conf.after" "$tmp/conf.rate" | grep -c '^>')" = 1 ] || fail "another rate of the shaper is not told"
fi
echo "$before settings, each once"
