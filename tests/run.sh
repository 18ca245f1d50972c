#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of one build, tells the seconds of each and ends with "N passed, N failed". A system test that failed runs
# once more after all others; a test that passes then is named before the last line. usage: B=build/release tests/run.sh unit|all|program PATH
set -u
B=${B:-build/release}
what=${1:-all}
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
	took="$(($(date +%s) - begin)) s"
}
show_failure() { echo "FAIL $name $took"; tail -n 40 "$file.log" | sed 's/^/    /'; }

# count: exit status 77 means skipped, with the reason as the last line of output
count() {
	case $status in
	0) passed=$((passed + 1)); echo "PASS $name $took" ;;
	77) skipped=$((skipped + 1)); echo "SKIP $name: $(tail -n 1 "$file.log")" ;;
	*) failed=$((failed + 1)); show_failure ;;
	esac
}

# system NAME: a failure is shown, and counted when all others have run
system() {
	run "$1" sh "tests/$1.sh"
	case $status in
	0 | 77) count ;;
	*) again="$again $1"; show_failure; mv "$log/$1.log" "$log/$1.first.log" ;;
	esac
}

# system_again NAME: who failed first and is skipped now has failed
system_again() {
	run "$1" sh "tests/$1.sh"
	[ "$status" != 77 ] || status=1
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
# programs PATTERN: as many at once as there are processors; who says nothing in the end has failed
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

[ "$what" != program ] || { program "$2"; exit 0; }
programs "test_*"
programs "fuzz_*"
if [ "$what" = all ]; then
	for t in tests/sys_*.sh; do
		[ -f "$t" ] || continue
		t=${t##*/}
		system "${t%.sh}"
	done
	for t in $again; do
		system_again "$t"
	done
fi
[ -z "$second" ] || echo "$(set -- $second; echo $#) passed at their second run:$second"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
