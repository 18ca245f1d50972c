#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of one build and ends with "N passed, N failed". usage: B=build/release tests/run.sh unit|all
set -u
B=${B:-build/release}
what=${1:-all}
export B
patience() { (. tests/patience.sh && echo "$PATIENCE"); }
log=$B/log
mkdir -p "$log"
passed=0 failed=0 skipped=0

# one NAME COMMAND ...: exit status 77 means skipped, with the reason as the last line of output
one() {
	name=$1
	shift
	"$@" >"$log/$name.log" 2>&1 </dev/null
	case $? in
	0) passed=$((passed + 1)); echo "PASS $name" ;;
	77) skipped=$((skipped + 1)); echo "SKIP $name: $(tail -n 1 "$log/$name.log")" ;;
	*) failed=$((failed + 1)); echo "FAIL $name"; sed 's/^/    /' "$log/$name.log" | tail -n 40 ;;
	esac
}

for t in $(find "$B/tests" -name "test_*" -type f -perm -u+x | sort); do
	one "${t##*/}" timeout $((300 * $(patience))) "$t"
done
for t in $(find "$B/tests" -name "fuzz_*" -type f -perm -u+x | sort); do
	n=${t##*/}; one "$n" timeout $((300 * $(patience))) "$t" "tests/corpus/${n#fuzz_}"
done
if [ "$what" = all ]; then
	for t in tests/sys_*.sh; do
		[ -f "$t" ] || continue
		n=${t##*/}
		one "${n%.sh}" timeout $((300 * $(patience))) sh "$t"
	done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
