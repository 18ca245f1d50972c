#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A run measured from outside keeps its label, its name and the program's exit status; -l is a label in every program, and a
# number that is no process is refused in one line.
. tests/lib.sh

start_box -o session-linger=1s
head -c 8M /dev/zero >"$tmp/in"

# refused COMMAND ...: status 125 and one line
refused() {
	"$bin/$@" 2>"$tmp/err" && fail "$*: accepted" || [ $? = 125 ] || fail "$*: status $?"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "$*: $(cat "$tmp/err")"
}
for pid in abc 0 '' 12x -1 99999999; do refused nwrun -p "$pid"; done
refused nwrun -p 1 --unit x
refused nwrun --unit ''
refused nwflow -p abc

outside_or_skip
# last_is LABEL STATUS PROGRAM: the session with the label
last_is() { nw sessions --label "$1" --json | grep "\"program\": *\"$3\"" | grep -q "\"exit_status\": *$2[,.}]"; }
check() { until_true 20 last_is "$@" || fail "label $1, status $2, program $3: $(nw sessions --json)"; }

"$bin/nwrun" -q -o -l nightly sh -c 'cat "$0" >"$1"; exit 6' "$tmp/in" "$tmp/out" && fail "-o hides the status" || [ $? = 6 ] || fail "-o: the status"
check nightly 6 sh
"$bin/nwrun" -q -o -n backup sh -c 'cat "$0" >"$1"; kill -TERM $$' "$tmp/in" "$tmp/out" 2>/dev/null && fail "-o hides a signal" || :
nw sessions --json | grep -q '"label": *"backup"' && fail "a name is a label"
killed() { nw sessions --json | grep '"program": *"backup"' | grep -q '"exit_status": *143[,.}]'; }
until_true 20 killed || fail "a program that a signal ended: $(nw sessions --json)"

sh -c 'while [ ! -f "$2" ]; do sleep 0.1; done; cat "$0" >"$1"; exit 4' "$tmp/in" "$tmp/out" "$tmp/go" &
program=$!
"$bin/nwrun" -v -l running -p $program 2>"$tmp/watch" &
watcher=$!
pids="$pids $program $watcher"
until_true 20 grep -q task "$tmp/watch" || fail "-p: $(cat "$tmp/watch")"
touch "$tmp/go"
wait $watcher || fail "-p: status $?"
check running 4 sh

if have=$(command -v cc) && printf '%s\n' '#include <stdio.h>' '#include <stdlib.h>' 'int main(int n, char **v) { static char b[1 << 16]; size_t k; FILE *f = fopen(v[1], "r"), *t = fopen(v[2], "w"); while ((k = fread(b, 1, sizeof(b), f)) > 0) fwrite(b, 1, k, t); fclose(t); exit(9); }' |
	"$have" -x c -static -o "$tmp/static" - 2>/dev/null; then
	"$bin/nwrun" -q -l alone "$tmp/static" "$tmp/in" "$tmp/out" && fail "a static program: status 0" || [ $? = 9 ] || fail "a static program: the status"
	check alone 9 static
fi
