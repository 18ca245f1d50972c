#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tests/run.sh by tests of its own: a test that always fails fails the run; a system test that fails once runs again and is named; a
# test is skipped only as tests/skips says; system tests run side by side, each in a network of its own; those of tests/alone run one at a
# time in the machine's network, and then those of tests/machine beside the others, all with those of tests/quiet beside them; a silent run
# names the running tests.
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
# run_all WANTED [ARGUMENT ...]: runs the tests that stand in $tmp; exit status of the run, whose output is $tmp/out
run_all() {
	wanted=$1
	shift
	[ $# -gt 0 ] || set -- all
	rm -rf "$tmp/ran" && mkdir "$tmp/ran"
	status=0
	(cd "$tmp" && B=build sh tests/run.sh "$@") >"$tmp/out" 2>&1 || status=$?
	[ "$status" = "$wanted" ] || fail "exit status $status, not $wanted: $(cat "$tmp/out")"
}
told() { grep -qx "$1" "$tmp/out" || fail "no line \"$1\": $(cat "$tmp/out")"; }
ends_with() { [ "$(tail -n 1 "$tmp/out")" = "$1" ] || fail "the last line is not \"$1\": $(cat "$tmp/out")"; }
fails_once='[ -e ran/$(basename "$0") ] || { : >"ran/$(basename "$0")"; echo "the first run"; exit 1; }'

# --- all pass, or are skipped for a reason ---
make_test build/tests/test_good 'echo "untested: a browser"'
make_test build/tests/fuzz_lines '[ "$1" = tests/corpus/lines ]'
make_test tests/sys_good.sh 'exit 0'
make_test tests/sys_skipped.sh 'echo much; echo "no such program"; exit 77'
tab='	'
printf '%s\n' '# names, condition, words' "sys_other sys_skipped${tab}[ -e ran ]${tab}there is a reason" "sys_never${tab}true${tab}never" >"$tmp/tests/skips"
run_all 0
told 'PASS test_good [0-9]* s'
told 'SKIP sys_skipped: no such program'
ends_with '3 passed, 0 failed, 1 skipped'
! grep -q second "$tmp/out" || fail "a second run without a failure: $(cat "$tmp/out")"
[ "$(grep -c '^SKIP sys_skipped: no such program$' "$tmp/out")" = 2 ] || fail "the summary does not name the skipped test: $(cat "$tmp/out")"

[ "$(grep -c '^PART test_good: a browser$' "$tmp/out")" = 2 ] || fail "the summary does not name what was not tested: $(cat "$tmp/out")"

# --- skipped without a line, or with a condition that does not hold ---
cp "$tmp/tests/skips" "$tmp/kept"
for wrong in '' "sys_skipp${tab}true${tab}another test" "sys_skipped${tab}[ ! -e ran ]${tab}no reason" "# sys_skipped${tab}true${tab}a comment"; do
	printf '%s\n' "$wrong" >"$tmp/tests/skips"
	run_all 1 only sys_skipped
	told 'FAIL sys_skipped [0-9]* s, second run'
	told '    skipped, and no condition in tests/skips allows that'
	ends_with '0 passed, 1 failed, 0 skipped'
done
mv "$tmp/kept" "$tmp/tests/skips"

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
make_test tests/sys_never.sh 'echo run >>ran/never; echo "FAIL: the reason"; seq 100; exit 3'
run_all 1
ends_with '5 passed, 1 failed, 1 skipped'
told 'FAILED  *FAIL: the reason'
[ "$(wc -l <"$tmp/ran/never")" = 2 ] || fail "sys_never ran $(wc -l <"$tmp/ran/never") times, not twice"
run_all 0 unit
make_test tests/sys_never.sh "$fails_once" 'exit 77'
run_all 0
ends_with '5 passed, 0 failed, 2 skipped'
sed -i '/^sys_never/d' "$tmp/tests/skips"
run_all 1
ends_with '5 passed, 1 failed, 1 skipped'
rm "$tmp/tests/sys_never.sh"

# --- pairs: each waits for the other, and both have the same port; those of tests/alone have the network of the machine, and wait here for
# those of tests/quiet, which wait for each other, and the last of them for a pair ---
if [ "$(nproc)" -gt 1 ] && unshare --net ip link set lo up 2>/dev/null; then
	for i in a b; do
		make_test tests/sys_pair_$i.sh ": >ran/\$(basename \"\$0\")" 'n=0' 'until [ -e ran/sys_pair_a.sh ] && [ -e ran/sys_pair_b.sh ]; do' \
		    'sleep 0.1; n=$((n + 1)); [ $n -lt 100 ] || exit 1; done' \
		    'python3 -c "import socket, time; s = socket.create_server((\"127.0.0.1\", 4)); time.sleep(1)"'
	done
	for i in single other; do
		make_test tests/sys_$i.sh "[ \"\$(readlink /proc/self/ns/net)\" = '$(readlink /proc/self/ns/net)' ] || exit 1" \
		    'mkdir ran/single || exit 1' 'n=0; until [ -e ran/quiet_a ] && [ -e ran/quiet_b ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 100 ] || exit 1; done' \
		    'rmdir ran/single'
		echo "sys_$i${tab}the network" >>"$tmp/tests/alone"
	done
	for i in a b; do
		make_test tests/sys_quiet_$i.sh ": >ran/quiet_$i" 'n=0' 'until [ -e ran/quiet_a ] && [ -e ran/quiet_b ]; do' \
		    'sleep 0.1; n=$((n + 1)); [ $n -lt 100 ] || exit 1; done' 'sh -c "kill -INT \$\$" && exit 1' 'exit 0'
		echo "sys_quiet_$i${tab}0.1 of 1" >>"$tmp/tests/quiet"
	done
	make_test tests/sys_quiet_c.sh 'n=0; until [ -e ran/sys_pair_a.sh ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 100 ] || exit 1; done'
	echo "sys_quiet_c${tab}0.1 of 1" >>"$tmp/tests/quiet"
	make_test tests/sys_machine.sh "[ \"\$(readlink /proc/self/ns/net)\" = '$(readlink /proc/self/ns/net)' ] || exit 1" \
	    'n=0; until [ -e ran/sys_pair_a.sh ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 100 ] || exit 1; done'
	echo "sys_machine${tab}the kernel" >"$tmp/tests/machine"
	PATIENCE=1 run_all 0
	ends_with '13 passed, 0 failed, 1 skipped'
	! grep -qE 'sys_(single|other|quiet|machine).*second run' "$tmp/out" || fail "the lanes are not beside each other: $(cat "$tmp/out")"
	! grep -q 'sys_pair.*second run' "$tmp/out" || fail "pairs are not beside each other: $(cat "$tmp/out")"
	run_all 0 only sys_pair_a sys_pair_b
	ends_with '2 passed, 0 failed, 0 skipped'
	told 'slowest:.* sys_pair_[ab] [0-9]* s.*'
	rm "$tmp"/tests/sys_pair_* "$tmp"/tests/sys_quiet_* "$tmp/tests/sys_single.sh" "$tmp/tests/sys_other.sh" "$tmp/tests/sys_machine.sh"
fi

# --- a long test is named while nothing else is said, and not afterwards ---
make_test tests/sys_long.sh 'sleep 5'
SILENCE=2 run_all 0 only sys_long sys_good
grep -q '^running: sys_long [1-5] s$' "$tmp/out" || fail "the running test is not named: $(cat "$tmp/out")"
! sed '1,/^PASS sys_good/d' "$tmp/out" | grep -q 'running:.*sys_good' || fail "a test that has ended is named: $(cat "$tmp/out")"
ends_with '2 passed, 0 failed, 0 skipped'
rm "$tmp/tests/sys_long.sh"

# --- the user's environment does not reach the tests ---
make_test tests/sys_around.sh '[ "$(umask)" = 0022 ] && [ -n "$HOME" ] && [ -z "${TZ:-}${LANG:-}${NARROWS_BOX:-}${NARROWS_TLS:-}" ] || exit 1' \
    'case ${TMPDIR:-/tmp} in *" "*) exit 1 ;; esac' '[ "$LC_ALL" = C.UTF-8 ] && [ "$NARROWS_ARROW_JS" = a ] && case $no_proxy in *127.0.0.1*,far) ;; *) false ;; esac'
mkdir "$tmp/two words"
(umask 077 && unset HOME && export TZ=Asia/Kathmandu LANG=tr_TR LC_ALL=tr_TR.UTF-8 TMPDIR="$tmp/two words" NARROWS_BOX=far/1 NARROWS_TLS=ca=/none \
    NARROWS_ARROW_JS=a no_proxy=far && run_all 0 only sys_around)
rm "$tmp/tests/sys_around.sh"

# --- a unit test has a second run, after all others; a fuzzer has one ---
for t in test_once fuzz_lines; do
	cp "$tmp/build/tests/$t" "$tmp/kept" 2>/dev/null || rm -f "$tmp/kept"
	make_test build/tests/$t "$fails_once"
	if [ $t = test_once ]; then
		run_all 0 unit
		told "PASS $t [0-9]* s, second run"
		told "1 passed at their second run: $t"
		make_test build/tests/$t 'exit 1'
		run_all 1 unit
		told "FAIL $t [0-9]* s, second run"
	else
		run_all 1 unit
		told "FAIL $t [0-9]* s"
		! grep -q "second run" "$tmp/out" || fail "$t has a second run"
	fi
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

# --- the lists name tests that exist, and every test that may be skipped ---
for name in $(cut -f 1 tests/skips tests/alone tests/quiet tests/long tests/machine | grep -v '^#'); do
	[ -f "tests/$name.sh" ] || fail "a list of tests/run.sh names $name, which does not exist"
done
for test in $(grep -lE '(^|\|\| |^	)skip "|echo .*; exit 77|^outside_or_skip|^\. tests/browser.sh' tests/sys_*.sh); do
	name=$(basename "$test" .sh)
	[ "$name" = sys_run ] || cut -f 1 tests/skips | grep -qw "$name" || fail "$name may be skipped, and tests/skips has no condition for it"
done
echo "PASS"
