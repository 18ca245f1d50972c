#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of one build, prints the seconds of each, and ends with the slowest tests, those skipped with their reasons,
# the last lines of each that failed, and "N passed, N failed, N skipped". The unit tests come first, then the system tests of
# tests/alone, one at a time. At last come the tests of tests/machine, one at a time, beside one of the others, and then the
# others two at a time, those of tests/long first. The tests of tests/quiet, which mostly sleep, run beside all of these. Quiet
# tests and others have a network of their own. A test that failed runs once more, alone, after all others of its kind; a test that passes then is named
# before the last line. A skipped test has failed, unless a line of tests/skips has its name and a condition that holds. A test that skips a part of itself prints a line "untested: ...". When nothing else is said for SILENCE
# (6) seconds, a line names the running tests. Unit tests that repeat themselves (check_repeats in tests/check.h) do so on a
# sample, except in "whole".
# usage: B=build/release tests/run.sh unit|all|whole|only NAME ...|program PATH|single NAME|beside NAME
set -u
B=${B:-build/release}
what=${1:-all}
[ $# -eq 0 ] || shift
export B
asked=${PATIENCE:-}
. tests/patience.sh
# a test begins with the patience of its moment, unless somebody asked for one
[ -n "$asked" ] || unset PATIENCE
patience() { patience_now; patience=${asked:-$patience_now}; }
silence=${SILENCE:-6}
log=$B/log
[ -d "$log" ] || mkdir -p "$log"
# Several hundred tests run by what stands here, and a process costs milliseconds: a test that passes has two of the runner's own.
# say LINES: in one write, because two tests may end at once; the heartbeat waits from then on
say() { [ -z "$1" ] || printf '%s\n' "$1"; : >"$log/said"; }
passed=0 failed=0 skipped=0
again= second=

# centiseconds MINUTESmSECONDSs: into $value
centiseconds() {
	value=${1#*m} value=${value%s} # 1.230000
	whole=${value%.*} part=${value#*.}00 part=${part%"${part#??}"}
	value=$((${1%%m*} * 6000 + whole * 100 + ${part#0}))
}

# run NAME COMMAND ...: the test's output into its log; $status and $took of the test. NAME may begin with ROOM and a dot.
run() {
	file=$log/$1 name=${1##*.}
	shift
	patience
	uptime_now
	begin=$uptime_now
	echo "$begin $name" >"$file.running"
	(
		timeout $((300 * patience)) "$@" >"$file.log" 2>&1 </dev/null
		status=$?
		times >"$file.cpu"
		exit $status
	)
	status=$?
	uptime_now
	seconds=$((uptime_now - begin))
	took="$seconds s"
	# the last line of the times is that of the test and its children: "0m1.230000s 0m0.040000s"
	{ read -r _ && read -r user sys; } <"$file.cpu"
	centiseconds "$user" && cpu=$value && centiseconds "$sys" && cpu=$((cpu + value))
	echo "$seconds $name $(((cpu + 50) / 100))" >"$file.seconds"
	rm -f "$file.running" "$file.cpu" "$file.failure" # of the first run
	[ "$status" != 77 ] || may_skip || status=78
}

# may_skip: succeeds if tests/skips has a condition that holds for test $name
may_skip() {
	[ -f tests/skips ] || return 1
	while IFS='	' read -r names condition words; do
		case " $names " in
		" #"*) ;;
		*" $name "*) ! sh -c "$condition" >/dev/null 2>&1 </dev/null || return 0 ;;
		esac
	done <tests/skips
	return 1
}

show_failure() {
	{
		echo "FAIL $name $took"
		tail -n 40 "$file.log" | sed 's/^/    /'
		[ "$status" != 78 ] || echo "    skipped, and no condition in tests/skips allows that"
	} >"$file.failure"
	say "$(cat "$file.failure")"
}

# count: exit status 77 means skipped, with the reason as the last line of output
count() {
	case $status in
	0)
		passed=$((passed + 1))
		say "PASS $name $took"
		! grep -aq '^untested: ' "$file.log" || { sed -n "s/^untested: /PART $name: /p" "$file.log" >"$file.skipped"; say "$(cat "$file.skipped")"; } ;;
	77)
		skipped=$((skipped + 1))
		echo "SKIP $name: $(tail -n 1 "$file.log")" >"$file.skipped"
		say "$(cat "$file.skipped")" ;;
	*) failed=$((failed + 1)); show_failure ;;
	esac
}

# system NAME [COMMAND ...]: a failure is shown, and counted when all others have run
system() {
	t=$1
	shift
	run "$t" "$@" sh "tests/$t.sh"
	case $status in
	0 | 77) count ;;
	*) again="$again $t"; show_failure; mv "$log/$t.log" "$log/$t.first.log" ;;
	esac
}

# system_again NAME
system_again() {
	run "$1" sh "tests/$1.sh"
	[ "$status" != 0 ] || second="$second $1"
	took="$took, second run"
	count
}

# key PATH: into $key, with the directories, because two rooms may have a test of one name
key() {
	key=${1#"$B/tests/"}
	while :; do case $key in */*) key=${key%%/*}.${key#*/} ;; *) break ;; esac; done
}
program_run() {
	key "$1"
	case $1 in */fuzz_*) run "$key" "$1" "tests/corpus/${1##*/fuzz_}" ;; *) run "$key" "$1" ;; esac
}
# program PATH: a unit test, or a fuzzer over its corpus; a failure is shown, and counted when all others have run
program() {
	program_run "$1"
	case $status in
	0 | 77) count; echo $passed $skipped 0 >"$file.count" ;;
	*)
		case $name in
		fuzz_*) count; echo 0 0 $failed >"$file.count" ;;
		*) show_failure; mv "$file.log" "$file.first.log" ;;
		esac ;;
	esac
}
built() { find "$B/tests" -name "$1" -type f -perm -u+x | sort; }
# programs TEST ...: as many at once as there are processors; a test that left no count runs once more, alone. A fuzzer that
# fails has found its input, and a second run would hide it.
programs() {
	for t; do key "$t"; rm -f "$log/$key.count"; done
	[ $# -eq 0 ] || printf '%s\n' "$@" | xargs -P "$PROCESSORS" -n 1 sh tests/run.sh program
	for t; do
		p=0 s=0 f=0
		key "$t"
		[ ! -s "$log/$key.count" ] || read -r p s f <"$log/$key.count"
		passed=$((passed + p)) skipped=$((skipped + s)) failed=$((failed + f))
		[ $((p + s + f)) = 0 ] || continue
		program_run "$t"
		[ "$status" != 0 ] || second="$second $name"
		took="$took, second run"
		count
	done
}

own_network='ip link set lo up && exec "$@"'
# single NAME and beside NAME: a system test in the machine's network, or in its own
single() { system "$1"; echo $passed $skipped >"$log/$1.count"; }
beside() {
	system "$1" unshare --net sh -c "$own_network" sh
	echo $passed $skipped >"$log/$1.count"
}
listed() { grep -q "^$2	" "tests/$1" 2>/dev/null; }
# lane KIND PLACES NAME ...: as many at once as there are places
lane() {
	kind=$1 places=$2
	shift 2
	[ $# -eq 0 ] || printf '%s\n' "$@" | xargs -P "$places" -n 1 sh tests/run.sh "$kind"
}
# take NAME ...: runs each that no other has taken
take() {
	for t; do mkdir "$log/$t.taken" 2>/dev/null && sh tests/run.sh beside "$t"; done
}
# systems NAME ...: those of tests/alone, and then those of tests/machine beside the others, all beside those of tests/quiet; then
# the second runs
systems() {
	alone= machine= quiet= long= others= own=
	[ "$PROCESSORS" -lt 2 ] || ! unshare --net sh -c "$own_network" sh true 2>/dev/null || own=yes
	for t; do
		rm -rf "$log/$t.count" "$log/$t.taken"
		if [ -z "$own" ] || listed alone "$t"; then
			alone="$alone $t"
		elif listed machine "$t"; then
			machine="$machine $t"
		elif listed quiet "$t"; then
			quiet="$quiet $t"
		elif listed long "$t"; then
			long="$long $t"
		else
			others="$others $t"
		fi
	done
	# a busy machine has no place for a third
	places=2
	patience
	[ "$patience" -lt 4 ] || places=1
	lane beside $places $quiet &
	sleepers=$!
	lane single 1 $alone
	take $long $others &
	rest=$!
	lane single 1 $machine
	take $long $others
	wait $rest $sleepers
	for t; do
		p=0 s=0
		[ ! -s "$log/$t.count" ] || read -r p s <"$log/$t.count"
		passed=$((passed + p)) skipped=$((skipped + s))
		[ $((p + s)) = 1 ] || again="$again $t"
	done
	for t in $again; do system_again "$t"; done
}

# heartbeat: names the running tests when nothing was said for a while
heartbeat() {
	while sleep 1; do
		[ -z "$(find "$log/said" -newermt "-$silence seconds" 2>/dev/null)" ] || continue
		uptime_now
		cat "$log"/*.running 2>/dev/null | awk -v now="$uptime_now" '{ printf "%s %s %d s", n++ ? "," : "running:", $2, now - $1 } END { if (n) print "" }' >"$log/heart"
		say "$(cat "$log/heart")"
	done
}

case $what in
program | single | beside)
	# by the runner, which has set the environment
	[ ! -e "$log/said" ] || "$what" "$1" # the run has ended otherwise
	exit 0 ;;
esac

# the tests of every user, in the same environment: no words of another language, no proxy to this machine, no box of the user's own
umask 022
unset LANG LANGUAGE TZ POSIXLY_CORRECT $(env | sed -n '/^NARROWS_ARROW_JS=/d; s/^\(LC_[A-Z]*\|NARROWS_[A-Z_]*\|NWRUN_[A-Z_]*\)=.*/\1/p')
export LC_ALL=C.UTF-8 HOME="${HOME:-/}" no_proxy="localhost,127.0.0.0/8,127.0.0.1,::1${no_proxy:+,$no_proxy}"
export NO_PROXY="$no_proxy"
# the system's programs before a user's, of which some are scripts that take their time
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export PATH
# a test's own directory has no blanks in its name, and can be written
case ${TMPDIR:-} in *[!A-Za-z0-9_./-]*) unset TMPDIR ;; esac
[ -z "${TMPDIR:-}" ] || [ -w "$TMPDIR" ] || unset TMPDIR

rm -f "$log"/*.seconds "$log"/*.skipped "$log"/*.running "$log"/*.cpu "$log"/*.failure
: >"$log/said"
heartbeat &
heart=$!
trap 'kill $heart 2>/dev/null; rm -f "$log/said"' EXIT
trap 'exit 1' INT TERM
case $what in
only) systems "$@" ;;
whole)
	export WHOLE=1
	programs $(grep -rl --include='test_*.c' check_repeats tests | sed "s|^|$B/|; s|\.c\$||") ;;
*)
	programs $(built "test_*")
	programs $(built "fuzz_*")
	[ "$what" != all ] || systems $(ls tests | sed -n 's/^\(sys_.*\)\.sh$/\1/p')
	;;
esac
slowest=$(cat "$log"/*.seconds 2>/dev/null | sort -rn | awk 'NR <= 10 && $1 > 0 { printf "%s %s %s s", (NR > 1 ? "," : ""), $2, $1 }')
busy=$(cat "$log"/*.seconds 2>/dev/null | sort -k3 -rn | awk '{ n += $3 } NR <= 10 && $3 > 0 { text = text (NR > 1 ? ", " : " ") $2 " " $3 " s" } END { if (text) print text "; all " n " s" }')
[ -z "$slowest" ] || echo "slowest:$slowest"
[ -z "$busy" ] || echo "most processor:$busy"
cat "$log"/*.skipped 2>/dev/null
[ -z "$second" ] || echo "$(set -- $second; echo $#) passed at their second run:$second"
# once more at the end, because a long run is often read by its end alone
# the test's own word of the failure, which the log of its box may follow, and the last lines
[ "$failed" = 0 ] || for f in "$log"/*.failure; do sed -n '1s/^FAIL //p' "$f"; grep -a -m 1 -A 3 '^FAIL: ' "${f%.failure}.log" 2>/dev/null | cut -c 1-1000 | sed 's/^/    /'; sed 1d "$f" | tail -n 4; done | sed 's/^/FAILED /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
