#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make demo: a box, two real transfers, two verdicts. State under build/demo. DEMO_ONCE=1: stop afterwards.
# As root the ends are two network namespaces and the limit is a token bucket on the link between them; otherwise both
# ends are on loopback and the limit is rsync's own, at the sender.
set -eu

B=${B:-build/release}
bin=$(cd "$B/bin" && pwd)
dir=${DEMO_DIR:-build/demo}
mib=${DEMO_MIB:-512}
tag=nwdemo$$
ns_a=$tag-a ns_b=$tag-b
in_a="nsenter --net=/run/netns/$ns_a" in_b="nsenter --net=/run/netns/$ns_b"
pids=

say() { printf '%s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }

cleanup() {
	trap '' INT TERM
	for p in $pids; do kill "$p" 2>/dev/null || :; done
	for p in $pids; do wait "$p" 2>/dev/null || :; done
	ip netns del "$ns_a" 2>/dev/null || :
	ip netns del "$ns_b" 2>/dev/null || :
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# wait_for SECONDS WHAT COMMAND...: until the command succeeds
wait_for() {
	limit=$(($(date +%s) + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$limit" ] || die "$what did not happen; see $dir/*.log"
		sleep 0.1
	done
}

# --- two hosts, or the nearest thing this user may have ---
link_up() {
	[ "$(id -u)" = 0 ] || return 1
	ip netns add "$ns_a" 2>/dev/null && ip netns add "$ns_b" 2>/dev/null || return 1
	ip link add va netns "$ns_a" type veth peer name vb netns "$ns_b" &&
	$in_a ip addr add 10.231.0.1/24 dev va && $in_b ip addr add 10.231.0.2/24 dev vb &&
	$in_a ip link set lo up && $in_b ip link set lo up && $in_a ip link set va up && $in_b ip link set vb up || return 1
	# the limited link must be possible before anything is promised
	$in_a tc qdisc add dev va root tbf rate 400mbit burst 256kb latency 50ms && $in_a tc qdisc del dev va root
}

if link_up 2>/dev/null; then
	on_a=$in_a on_b=$in_b address=10.231.0.1
	limit_words="a 400 Mbit/s token bucket on the link" expected=network
	limit_on() { $on_a tc qdisc add dev va root tbf rate 400mbit burst 256kb latency 50ms; }
	rsync_limit=
else
	on_a= on_b= address=127.0.0.1
	limit_words="rsync --bwlimit at the sender (no root: no link of our own to limit)" expected=sender.host
	limit_on() { rsync_limit="--bwlimit=48000"; }
	rsync_limit=
fi

# --- the box ---
rm -rf "$dir"
mkdir -p "$dir/src" "$dir/dst"
say "[1/5] starting a box, its state in $dir"
start_box() {
	"$bin/narrowsd" -d -o state-dir="$dir" -o listen-xsp=127.0.0.1/0 -o listen-http="127.0.0.1/$1" 2>"$dir/narrowsd.log" &
	box=$!
	n=0
	while [ ! -f "$dir/narrowsd.run" ]; do
		kill -0 "$box" 2>/dev/null || return 1
		n=$((n + 1))
		[ "$n" -lt 100 ] || return 1
		sleep 0.1
	done
}
start_box "${DEMO_PORT:-8080}" || start_box 0 || { cat "$dir/narrowsd.log" >&2; die "the box does not start"; }
pids="$box"
xsp=$(sed -n 's/^xsp //p' "$dir/narrowsd.run")
http=$(sed -n 's/^http //p' "$dir/narrowsd.run")
url="http://$(echo "$http" | tr / :)"
export NARROWS_BOX="$xsp"
say "      $url/"
for h in dtn-a dtn-b; do
	"$bin/blipp" -i 1 -H "$h" 2>"$dir/blipp-$h.log" &
	pids="$pids $!"
done

say "[2/5] making a file of $mib MiB"
head -c "${mib}M" /dev/urandom >"$dir/src/data.bin"
cat >"$dir/rsyncd.conf" <<CONF
use chroot = no
[data]
path = $(cd "$dir/src" && pwd)
read only = yes
CONF
[ "$(id -u)" != 0 ] || printf 'uid = root\ngid = root\n' >>"$dir/rsyncd.conf"

# session_of TASK: the number the box gave it
session_of() {
	"$bin/narrows" -s "$dir" sessions --json 2>/dev/null |
	    grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1
}
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && "$bin/narrows" -s "$dir" report "$id" --json 2>/dev/null | grep -q '"state": *"closed".*"sentence"'
}
listening() { $on_a sh -c "ss -Hltn 'sport = :$port' | grep -q ."; }

# transfer TASK: rsync from a daemon on dtn-a to dtn-b, both ends under nwrun
transfer() {
	task=$1
	port=$((18730 + $$ % 1000))
	rm -f "$dir/dst/data.bin"
	"$bin/nwrun" -i 0.05 -t "$task" -H dtn-a -p rsync $on_a \
	    rsync --daemon --no-detach $rsync_limit --address="$address" --port="$port" --config="$dir/rsyncd.conf" \
	    >"$dir/$task-a.log" 2>&1 &
	server=$!
	wait_for 10 "rsync's daemon" listening
	"$bin/nwrun" -i 0.05 -t "$task" -H dtn-b -p rsync $on_b \
	    rsync -W --no-compress $rsync_limit "rsync://$address:$port/data/data.bin" "$dir/dst/" >"$dir/$task-b.log" 2>&1 &
	client=$!
	while kill -0 "$client" 2>/dev/null; do
		have=$(du -m "$dir"/dst/.data.bin.* 2>/dev/null | awk '{ print $1; exit }')
		[ -t 1 ] && printf '\r      %s of %s MiB ' "${have:-0}" "$mib"
		sleep 0.2
	done
	[ -t 1 ] && printf '\r                              \r'
	wait "$client" || { cat "$dir/$task-b.log" >&2; die "rsync failed"; }
	kill "$server" 2>/dev/null || :
	wait "$server" 2>/dev/null || :
	cmp -s "$dir/src/data.bin" "$dir/dst/data.bin" || die "the copy differs from the original"
}

say "[3/5] transfer 1: free"
transfer demo-free
say "[4/5] transfer 2: limited by $limit_words"
limit_on
transfer demo-limited
say "[5/5] waiting for the verdicts"
wait_for 20 "the verdict of demo-free" judged demo-free
wait_for 20 "the verdict of demo-limited" judged demo-limited

status=0
for task in demo-free demo-limited; do
	id=$(session_of "$task")
	csv=$dir/$task.csv
	"$bin/narrows" -s "$dir" export "$id" --csv "$csv"
	doc=$("$bin/narrows" -s "$dir" report "$id" --json)
	printf '\n%s\n' "$task"
	"$bin/narrows" -s "$dir" report "$id" | sed -n '2p;4,6p' | sed 's/^/  /'
	printf '  page: %s/session/%s\n  CSV:  %s (%s rows)\n' "$url" "$id" "$csv" "$(($(wc -l <"$csv") - 1))"
	[ "$task" = demo-limited ] || continue
	case $doc in
	*'"stage":"'$expected'"'*) ;;
	*'"stage": "'$expected'"'*) ;;
	*) status=1; say "  WRONG: the limit was $limit_words" ;;
	esac
done

if [ "${DEMO_ONCE:-0}" = 1 ]; then
	kill "$box"
	wait "$box" || status=1
	exit "$status"
fi
say ""
say "The box stays up at $url/ until Ctrl-C."
wait "$box"
