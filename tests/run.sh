#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of one build, prints the seconds of each, and ends with the slowest tests, those skipped with their reasons,
# and "N passed, N failed, N skipped". Two system tests run side by side, each in a network of its own, except those that
# tests/alone names. A system test that failed runs once more, alone, after all others; a test that passes then is named before
# the last line. A skipped test has failed, unless a line of tests/skips has its name and a condition that holds. A test that skips
# a part of itself prints a line "untested: ...".
# usage: B=build/release tests/run.sh unit|all|only NAME ...|program PATH|beside NAME
set -u
B=${B:-build/release}
what=${1:-all}
[ $# -eq 0 ] || shift
export B
patience() { (. tests/patience.sh && echo "$PATIENCE"); }
log=$B/log
mkdir -p "$log"
passed=0 failed=0 skipped=0
again= second=

# run NAME COMMAND ...: the test's output into its log; $status and $took of the test. NAME may begin with ROOM and a dot.
run() {
	file=$log/$1 name=${1##*.}
	shift
	begin=$(date +%s)
	timeout $((300 * $(patience))) "$@" >"$file.log" 2>&1 </dev/null
	status=$?
	seconds=$(($(date +%s) - begin))
	took="$seconds s"
	echo "$seconds $name" >"$file.seconds"
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

# show_failure: in one write, because two tests may end at once
show_failure() {
	{
		echo "FAIL $name $took"
		tail -n 40 "$file.log" | sed 's/^/    /'
		[ "$status" != 78 ] || echo "    skipped, and no condition in tests/skips allows that"
	} >"$file.failure"
	cat "$file.failure"
}

# count: exit status 77 means skipped, with the reason as the last line of output
count() {
	case $status in
	0)
		passed=$((passed + 1))
		{ echo "PASS $name $took"; sed -n "s/^untested: /PART $name: /p" "$file.log" | tee "$file.skipped"; } >"$file.passed"
		cat "$file.passed" ;;
	77)
		skipped=$((skipped + 1))
		echo "SKIP $name: $(tail -n 1 "$file.log")" | tee "$file.skipped" ;;
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

# key PATH: two rooms may have a test of one name
key() { echo "${1#"$B/tests/"}" | tr / .; }
# program PATH: a unit test, or a fuzzer over its corpus
program() {
	case $1 in */fuzz_*) run "$(key "$1")" "$1" "tests/corpus/${1##*/fuzz_}" ;; *) run "$(key "$1")" "$1" ;; esac
	count
	echo $passed $failed $skipped >"$file.count"
}
# programs PATTERN: as many at once as there are processors; a test that left no count has failed
programs() {
	list=$(find "$B/tests" -name "$1" -type f -perm -u+x | sort)
	for t in $list; do rm -f "$log/$(key "$t").count"; done
	echo "$list" | xargs -r -P "$(nproc)" -n 1 sh tests/run.sh program
	for t in $list; do
		p=0 f=1 s=0
		[ ! -s "$log/$(key "$t").count" ] || read -r p f s <"$log/$(key "$t").count"
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	done
}

own_network='ip link set lo up && exec "$@"'
# beside NAME: a system test beside another one
beside() {
	system "$1" unshare --net sh -c "$own_network" sh
	echo $passed $skipped >"$log/$1.count"
}
# systems NAME ...: those of tests/alone, then the others in pairs, then the second runs
systems() {
	pairs=
	if [ "$(nproc)" -gt 1 ] && unshare --net sh -c "$own_network" sh true 2>/dev/null; then
		for t; do
			grep -q "^$t	" tests/alone 2>/dev/null || pairs="$pairs $t"
		done
	fi
	for t; do
		case " $pairs " in *" $t "*) ;; *) system "$t" ;; esac
	done
	for t in $pairs; do rm -f "$log/$t.count"; done
	echo $pairs | xargs -r -P 2 -n 1 sh tests/run.sh beside
	for t in $pairs; do
		p=0 s=0
		[ ! -s "$log/$t.count" ] || read -r p s <"$log/$t.count"
		passed=$((passed + p)) skipped=$((skipped + s))
		[ $((p + s)) = 1 ] || again="$again $t"
	done
	for t in $again; do system_again "$t"; done
}

case $what in
program | beside) "$what" "$1"; exit 0 ;;
esac
rm -f "$log"/*.seconds "$log"/*.skipped
case $what in
only) systems "$@" ;;
*)
	programs "test_*"
	programs "fuzz_*"
	[ "$what" != all ] || systems $(ls tests | sed -n 's/^\(sys_.*\)\.sh$/\1/p')
	;;
esac
slowest=$(cat "$log"/*.seconds 2>/dev/null | sort -rn | awk 'NR <= 10 && $1 > 0 { printf "%s %s %s s", (NR > 1 ? "," : ""), $2, $1 }')
[ -z "$slowest" ] || echo "slowest:$slowest"
cat "$log"/*.skipped 2>/dev/null
[ -z "$second" ] || echo "$(set -- $second; echo $#) passed at their second run:$second"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
