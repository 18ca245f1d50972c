#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of one build, tells the seconds of each and ends with "N passed, N failed". A system test that failed runs
# once more after all others; a test that passes then is named before the last line. usage: B=build/release tests/run.sh unit|all
set -u
B=${B:-build/release}
what=${1:-all}
export B
patience() { (. tests/patience.sh && echo "$PATIENCE"); }
log=$B/log
mkdir -p "$log"
passed=0 failed=0 skipped=0
again= second=

# run NAME COMMAND ...: the test's output into its log; $status and $took of the test
run() {
	name=$1
	shift
	begin=$(date +%s)
	timeout $((300 * $(patience))) "$@" >"$log/$name.log" 2>&1 </dev/null
	status=$?
	took="$(($(date +%s) - begin)) s"
}
show_failure() { echo "FAIL $name $took"; tail -n 40 "$log/$name.log" | sed 's/^/    /'; }

# count: exit status 77 means skipped, with the reason as the last line of output
count() {
	case $status in
	0) passed=$((passed + 1)); echo "PASS $name $took" ;;
	77) skipped=$((skipped + 1)); echo "SKIP $name: $(tail -n 1 "$log/$name.log")" ;;
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

for t in $(find "$B/tests" -name "test_*" -type f -perm -u+x | sort); do
	run "${t##*/}" "$t"
	count
done
for t in $(find "$B/tests" -name "fuzz_*" -type f -perm -u+x | sort); do
	n=${t##*/}
	run "$n" "$t" "tests/corpus/${n#fuzz_}"
	count
done
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
