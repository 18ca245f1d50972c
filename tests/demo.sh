#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make demo: a box, two real transfers, two verdicts. DEMO_ONCE=1: stop afterwards. DEMO_KEEP=1: leave build/demo behind.
# As root the ends are two network namespaces and the limit is a token bucket on the link between them; otherwise both
# ends are on loopback and the limit is rsync's own, at the sender.
set -eu
. "${0%/*}/../conf/progress.sh"
. "${0%/*}/verdict.sh"

B=${B:-build/release}
bin=$(cd "$B/bin" && pwd)
dir=${DEMO_DIR:-build/demo}
mib=${DEMO_MIB:-256}
tries=3      # of the limited transfer, where a loaded machine leaves its verdict open
. "${0%/*}/patience.sh"
patience=$((30 * PATIENCE)) # seconds for anything that takes a moment on an idle machine
tag=nwdemo$$
ns_a=$tag-a ns_b=$tag-b
in_a="nsenter --net=/run/netns/$ns_a" in_b="nsenter --net=/run/netns/$ns_b"
pids=

say() { printf '%s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	tail -n 20 "$dir/narrowsd.log" >&2 2>/dev/null || :
	exit 1
}

cleanup() {
	trap '' INT TERM
	for p in $pids; do kill "$p" 2>/dev/null || :; done
	for p in $pids; do wait "$p" 2>/dev/null || :; done
	ip netns del "$ns_a" 2>/dev/null || :
	ip netns del "$ns_b" 2>/dev/null || :
	[ "${DEMO_KEEP:-0}" = 1 ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# wait_for WHAT COMMAND...: until the command succeeds
wait_for() {
	limit=$(($(date +%s) + patience)) what=$1
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$limit" ] || die "$what did not happen within $patience s"
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
	$in_a tc qdisc add dev va root tbf rate 200mbit burst 256kb latency 50ms && $in_a tc qdisc del dev va root
}

if link_up 2>/dev/null; then
	on_a=$in_a on_b=$in_b address=10.231.0.1
	limit_words="a 200 Mbit/s token bucket on the link" expected=network
	limit_on() { $on_a tc qdisc add dev va root tbf rate 200mbit burst 256kb latency 50ms; }
	limit_off() { $on_a tc qdisc del dev va root; }
else
	on_a= on_b= address=127.0.0.1
	limit_words="rsync --bwlimit at the sender (no root: no link of our own to limit)" expected=sender.host
	limit_on() { rsync_limit="--bwlimit=24000"; }
	limit_off() { rsync_limit=; }
fi
rsync_limit=

# --- the box ---
rm -rf "$dir"
mkdir -p "$dir/src" "$dir/dst"
say "[1/5] starting a box, its state in $dir"
start_box() {
	"$bin/narrowsd" -f /dev/null -d -o state-dir="$dir" -o listen-xsp=127.0.0.1/0 -o listen-http="127.0.0.1/$1" 2>"$dir/narrowsd.log" &
	box=$!
	until [ -f "$dir/narrowsd.run" ]; do
		kill -0 "$box" 2>/dev/null || return 1
		sleep 0.1
	done
}
start_box "${DEMO_PORT:-8080}" || start_box 0 || die "the box does not start"
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

file_size() { echo "      $(($(du -sb "$1" | cut -f1) >> 20)) of $mib MiB"; }
made() { file_size "$dir/src"; }
say "[2/5] making a file of $mib MiB"
head -c "${mib}M" /dev/urandom >"$dir/src/data.bin" &
pids="$pids $!"
progress $! made || die "no room for the file"
cat >"$dir/rsyncd.conf" <<CONF
use chroot = no
[data]
path = $(cd "$dir/src" && pwd)
read only = yes
CONF
[ "$(id -u)" != 0 ] || printf 'uid = root\ngid = root\n' >>"$dir/rsyncd.conf"

# session_of TASK: the number the box gave it
session_of() { "$bin/narrows" -s "$dir" sql --csv "SELECT max(id) FROM session WHERE task_id = '$1'" 2>/dev/null; }
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && [ "$(document_value "$dir" "$id" '$.session.state')" = closed ] &&
	[ -n "$(document_value "$dir" "$id" '$.verdict.sentence')" ]
}
listening() { $on_a sh -c "ss -Hltn 'sport = :$port' | grep -q ."; }
copied() { file_size "$dir/dst"; }

# transfer TASK: rsync from a daemon on dtn-a to dtn-b, both ends under nwrun; then waits for the verdict
transfer() {
	task=$1
	port=$((18730 + $$ % 1000))
	rm -f "$dir/dst/data.bin"
	"$bin/nwrun" -i 0.05 -t "$task" -H dtn-a -p rsync $on_a \
	    rsync --daemon --no-detach $rsync_limit --address="$address" --port="$port" --config="$dir/rsyncd.conf" \
	    >"$dir/$task-a.log" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_for "the start of rsync's daemon" listening
	"$bin/nwrun" -i 0.05 -t "$task" -H dtn-b -p rsync $on_b \
	    rsync -W --no-compress $rsync_limit "rsync://$address:$port/data/data.bin" "$dir/dst/" >"$dir/$task-b.log" 2>&1 &
	pids="$pids $!"
	progress $! copied || { cat "$dir/$task-b.log" >&2; die "rsync failed"; }
	kill "$server" 2>/dev/null || :
	wait "$server" 2>/dev/null || :
	cmp -s "$dir/src/data.bin" "$dir/dst/data.bin" || die "the copy differs from the original"
	wait_for "the verdict of $task" judged "$task" &
	progress $! waiting || exit 1
}
waiting() { echo "      waiting for the verdict"; }

# show TASK: the verdict in words with its reasons, and where the rest is
show() {
	id=$(session_of "$1")
	csv=$dir/$1.csv
	"$bin/narrows" -s "$dir" export "$id" --csv "$csv"
	# of the report the verdict's sentence, and the second paragraph
	"$bin/narrows" -s "$dir" report --md "$id" | sed -n 's/^- \*\*Where?\*\* /      /p'
	"$bin/narrows" -s "$dir" report "$id" | awk 'NF == 0 { part++ } part == 1 && NF > 0 { print "      " $0 }'
	printf '      page: %s/session/%s\n      CSV:  %s (%s rows)\n' "$url" "$id" "$csv" "$(($(wc -l <"$csv") - 1))"
}
load() { awk -v n="$(nproc)" '{ print "load " $1 " on " n " processors" }' /proc/loadavg; }

# --- the limited transfer first: its answer is known ---
limit_on
n=1 task=demo-limited
say "[3/5] transfer 1: limited by $limit_words"
while transfer "$task"; [ -z "$(document_value "$dir" "$(session_of "$task")" '$.verdict.stage')" ] && [ "$n" -lt "$tries" ]; do
	show "$task"
	n=$((n + 1))
	task=demo-limited-$n
	say "      no verdict on a busy machine ($(load)): once more"
done
show "$task"
limited=$(session_of "$task")
limit_off

say "[4/5] transfer 2: free, limited by whatever is slowest here"
transfer demo-free
show demo-free
# the limit was one if the same transfer without it is at least 1.3 times as fast
status=0
lifted=$(awk -v a="$(document_value "$dir" "$(session_of demo-free)" '$.session.bytes_per_s')" \
    -v b="$(document_value "$dir" "$limited" '$.session.bytes_per_s')" 'BEGIN { printf "%.1f", a / b }')
if verdict_is "$dir" "$limited" "${DEMO_EXPECTED:-$expected}"; then
	say "      Without the limit of transfer 1 the same file took its way $lifted times as fast."
elif awk -v x="$lifted" 'BEGIN { exit !(x < 1.3) }'; then
	say "      The limit of transfer 1 was none: without it the same file took its way $lifted times as fast on this busy machine ($(load))."
else
	status=1
	say "      WRONG: transfer 1 was limited by $limit_words, and is $lifted times as fast without ($(load))"
fi
rm -rf "$dir/src" "$dir/dst"

say "[5/5] done"
if [ "${DEMO_ONCE:-0}" = 1 ]; then
	kill "$box"
	wait "$box" || status=1
	exit "$status"
fi
say "      The box stays up at $url/ until Ctrl-C, which removes $dir as well (DEMO_KEEP=1 keeps the directory)."
[ "$status" = 0 ] || exit "$status"
wait "$box"
