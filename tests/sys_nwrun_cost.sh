#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What nwrun.so adds to a program, in system calls, which are the same on a busy machine: little to a program that moves
# nothing, none to each of many small files. The bytes stay exact. No box is needed: NWRUN_REPORT tells.
set -u
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
tmp=$(mktemp -d /tmp/sys_nwrun_cost.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
NARROWS_BOX=127.0.0.1/1 ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 XDG_RUNTIME_DIR=$tmp
export NARROWS_BOX ASAN_OPTIONS XDG_RUNTIME_DIR
fail() {
	echo "FAIL: $*"
	exit 1
}
"${CC:-cc}" -D_GNU_SOURCE -O1 -o "$tmp/calls" tests/host/nwrun/calls.c || fail "calls.c does not compile"
"$tmp/calls" true 2>"$tmp/bare" || { echo "programs cannot be traced here"; exit 77; }
# calls FILE: the count of all
calls() { awk '{ print $2 }' "$1"; }
# added NAME PROGRAM ...: system calls of the program under nwrun above those without
added() {
	name=$1
	shift
	"$tmp/calls" "$@" >/dev/null 2>"$tmp/bare" && "$tmp/calls" "$B/bin/nwrun" -q "$@" >/dev/null 2>"$tmp/under" || fail "$name: $(cat "$tmp/under")"
	n=$(($(calls "$tmp/under") - $(calls "$tmp/bare")))
	echo "$name: $n more system calls"
}

added "a program that moves nothing" /bin/true
[ "$n" -le 35 ] || fail "bare: $(cat "$tmp/bare"); under nwrun: $(cat "$tmp/under")"

i=0
while [ $i -lt 300 ]; do
	head -c $((1000 + i)) /dev/zero >"$tmp/small.$i"
	i=$((i + 1))
done
NWRUN_REPORT=$tmp/report
export NWRUN_REPORT
added "300 small files" cat "$tmp"/small.*
[ "$n" -le 200 ] || fail "bare: $(cat "$tmp/bare"); under nwrun: $(cat "$tmp/under")"
i=0
while [ ! -s "$tmp/report" ] && [ $i -lt $((300 * PATIENCE)) ]; do
	sleep 0.1
	i=$((i + 1))
done
grep -q '^process .* seen_read=344850 seen_written=344850 ' "$tmp/report" || fail "not exact: $(cat "$tmp/report")"
echo "PASS nwrun_cost"
