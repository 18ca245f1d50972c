#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tests/run.sh by tests of its own: a test that always fails fails the run; a system test that fails once runs again and is told.
. tests/lib.sh
src=$PWD
mkdir -p "$tmp/tests/corpus/lines" "$tmp/build/tests"
cp tests/patience.sh tests/run.sh "$tmp/tests"

# make_test FILE LINE ...: a program of these lines of shell
make_test() {
	file=$1
	shift
	{ echo '#!/bin/sh'; printf '%s\n' "$@"; } >"$tmp/$file"
	chmod +x "$tmp/$file"
}
# run_all WANTED: runs the tests that stand in $tmp; exit status of the run, whose output is $tmp/out
run_all() {
	rm -rf "$tmp/ran" && mkdir "$tmp/ran"
	status=0
	(cd "$tmp" && B=build sh tests/run.sh "${2:-all}") >"$tmp/out" 2>&1 || status=$?
	[ "$status" = "$1" ] || fail "exit status $status, not $1: $(cat "$tmp/out")"
}
told() { grep -qx "$1" "$tmp/out" || fail "no line \"$1\": $(cat "$tmp/out")"; }
ends_with() { [ "$(tail -n 1 "$tmp/out")" = "$1" ] || fail "the last line is not \"$1\": $(cat "$tmp/out")"; }
fails_once='[ -e ran/$(basename "$0") ] || { : >"ran/$(basename "$0")"; echo "the first run"; exit 1; }'

# --- all pass, or are skipped for a reason ---
make_test build/tests/test_good 'exit 0'
make_test build/tests/fuzz_lines '[ "$1" = tests/corpus/lines ]'
make_test tests/sys_good.sh 'exit 0'
make_test tests/sys_skipped.sh 'echo much; echo "no such program"; exit 77'
run_all 0
told 'PASS test_good [0-9]* s'
told 'SKIP sys_skipped: no such program'
ends_with '3 passed, 0 failed, 1 skipped'
! grep -q second "$tmp/out" || fail "a second run without a failure: $(cat "$tmp/out")"

# --- two fail once: the output of their first runs, a second run after all others, exit status 0 ---
make_test tests/sys_a_once.sh "$fails_once"
make_test tests/sys_b_once.sh "$fails_once"
run_all 0
told 'FAIL sys_a_once [0-9]* s'
told '    the first run'
told 'PASS sys_a_once [0-9]* s, second run'
told '2 passed at their second run: sys_a_once sys_b_once'
ends_with '5 passed, 0 failed, 1 skipped'
awk '/^PASS sys_good/ { good = NR } /^PASS sys_a_once/ { exit !(good && NR > good) }' "$tmp/out" || fail "the second run is not after all others"

# --- a system test that always fails, one that fails and is skipped then ---
make_test tests/sys_never.sh 'echo run >>ran/never; exit 3'
run_all 1
ends_with '5 passed, 1 failed, 1 skipped'
[ "$(wc -l <"$tmp/ran/never")" = 2 ] || fail "sys_never ran $(wc -l <"$tmp/ran/never") times, not twice"
run_all 0 unit
make_test tests/sys_never.sh "$fails_once" 'exit 77'
run_all 1
ends_with '5 passed, 1 failed, 1 skipped'
rm "$tmp/tests/sys_never.sh"

# --- unit tests and fuzzers have one run ---
for t in test_once fuzz_lines; do
	cp "$tmp/build/tests/$t" "$tmp/kept" 2>/dev/null || rm -f "$tmp/kept"
	make_test build/tests/$t "$fails_once"
	run_all 1 unit
	told "FAIL $t [0-9]* s"
	run_all 1
	! grep -q "PASS $t" "$tmp/out" || fail "$t has a second run"
	rm "$tmp/build/tests/$t"
	[ ! -e "$tmp/kept" ] || cp "$tmp/kept" "$tmp/build/tests/$t"
done

# --- two rooms may have a test of one name ---
mkdir "$tmp/build/tests/room"
make_test build/tests/room/test_good 'echo "the other"; exit 1'
run_all 1 unit
told 'PASS test_good [0-9]* s'
told 'FAIL test_good [0-9]* s'
told '    the other'
ends_with '2 passed, 1 failed, 0 skipped'

# --- a run without tests has proved nothing ---
rm -r "$tmp/build/tests" "$tmp/tests"/sys_*
mkdir "$tmp/build/tests"
run_all 1
ends_with '0 passed, 0 failed, 0 skipped'
echo "PASS"
