# SPDX-License-Identifier: BSD-3-Clause
# What every system test uses: . tests/lib.sh. A box in a temporary directory, everything ends with the script.
set -eu
. tests/patience.sh
B=${B:-build/release}
bin=$(cd "$B/bin" && pwd)
tmp=$(mktemp -d)
export XDG_RUNTIME_DIR="$tmp" # the record of nwrun's newest run
export XDG_STATE_HOME="$tmp/programs" # journals of nwlog
export XDG_CONFIG_HOME="$tmp/configuration" # host.conf of a user
unset STATE_DIRECTORY
pids=

fail() { printf 'FAIL: %s\n' "$*" >&2; [ ! -f "$tmp/box.log" ] || tail -n 30 "$tmp/box.log" >&2; exit 1; }
skip() { printf '%s\n' "$*"; exit 77; }

lib_cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null || :; done
	for p in $pids; do wait "$p" 2>/dev/null || :; done
	contradictions=$(lib_contradictions)
	rm -rf "$tmp"
	[ -z "$contradictions" ] || { printf 'FAIL: sentences of a document:\n%s\n' "$contradictions" >&2; exit 1; }
}
# lib_contradictions: what the sentences of the box's documents say against figures or each other
lib_contradictions() {
	[ ! -f "$tmp/state/narrows.db" ] || timeout 10 "$bin/narrows" -s "$tmp/state" report --check all 2>/dev/null | grep '^session ' || :
}
trap lib_cleanup EXIT
trap 'exit 1' INT TERM

# start_box [OPTION ...]: sets $box (pid), $xsp (host/port), $url
start_box() {
	rm -f "$tmp/state/narrowsd.run"
	"$bin/narrowsd" -f /dev/null -d -o state-dir="$tmp/state" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 -o listen-events=127.0.0.1/0 "$@" 2>>"$tmp/box.log" &
	box=$!
	pids="$pids $box"
	until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
	xsp=$(sed -n 's/^xsp //p' "$tmp/state/narrowsd.run")
	url=http://$(sed -n 's/^http //p' "$tmp/state/narrowsd.run" | tr / :)
	export NARROWS_BOX="$xsp"
}
stop_box() {
	kill "$box"
	wait "$box" || fail "the box ended with status $?"
}
nw() { "$bin/narrows" -s "$tmp/state" "$@"; }
sql() { sqlite3 -readonly "$tmp/state/narrows.db" "$1"; }

# paced: what this script starts from now on runs before the other programs of a busy machine, if it may: for programs with
# a pace of their own, at which the test looks. $unpaced before a command takes that back.
unpaced=
paced() { if chrt -r -p 1 $$ >/dev/null 2>&1; then unpaced="chrt -o 0"; fi; }

# until_true SECONDS COMMAND ...: SECONDS of an idle machine, and twice as many more: another machine may be slower than those
# on which the tests were written. The first look has a pause before it, in which a program that was just started in the
# background empties the file that the look reads.
until_true() {
	uptime_now
	until_begin=$uptime_now until_seconds=$1
	shift
	sleep 0.05
	until "$@" >/dev/null 2>&1; do
		patience_grown
		uptime_now
		[ $((uptime_now - until_begin)) -le $((until_seconds * (2 + patience_now))) ] || return 1
		sleep 0.05
	done
}

# outside_or_skip: skips the test where system calls cannot be watched
outside_or_skip() {
	sleep 600 &
	idle=$!
	"$bin/nwflow" -v -p $idle 2>"$tmp/why" &
	watcher=$!
	pids="$pids $idle $watcher"
	until_true 20 test -s "$tmp/why" || fail "nwflow says nothing"
	kill -INT $watcher 2>/dev/null || :
	wait $watcher || :
	kill $idle
	! grep "nothing is measured" "$tmp/why" >"$tmp/lacks" || skip "watching system calls: $(cat "$tmp/lacks")"
}

# two_networks: sets $a and $b, two network namespaces that end with the script
two_networks() {
	[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
	a=nw$$-a b=nw$$-b
	trap two_networks_end EXIT
	ip netns add $a 2>/dev/null && ip netns add $b 2>/dev/null || skip "no network namespaces here"
}
two_networks_end() {
	status=$?
	ip netns del $a 2>/dev/null || :
	ip netns del $b 2>/dev/null || :
	lib_cleanup
	exit $status
}
