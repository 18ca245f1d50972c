#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The recipes of CONTRIBUTING.md, applied to a copy of the tree: each fits, the copy compiles without a warning, and what a recipe adds
# works. A recipe without a check below fails, too.
. tests/lib.sh
[ -n "${WHOLE:-}" ] || skip "a copy of the tree is compiled where WHOLE is set"
copy=$tmp/tree
mkdir -p "$copy/${B%/*}"
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$copy"
# without the logs, which the tests beside this one write
tar -c --exclude="$B/log" "$B" | tar -x -C "$copy"
python3 tests/recipes.py CONTRIBUTING.md "$copy" >"$tmp/titles" || fail "$(cat "$tmp/titles")"
cd "$copy"
if command -v clang >/dev/null && command -v llvm-strip >/dev/null; then
	make magnet-object >"$tmp/make" 2>&1 || fail "make magnet-object: $(cat "$tmp/make")"
	has_point=yes
else
	echo "untested: the point of the kernel, which clang and llvm compile"
	has_point=
fi
# the programs that are asked below, compiled without optimisation, which takes half of the time and warns of nothing else
make -j"$(nproc)" MODE="${B##*/}" WERROR=1 CFLAGS="-O0 -g0 -Wno-maybe-uninitialized" \
	$(printf "$B/bin/%s " narrowsd narrows blipp magnet dpss dpss-master dpss-server) \
	"$B/tests/analyze/verdict/route/test_advice" "$B/tests/web/test_resource" >"$tmp/make" 2>&1 || fail "the recipes do not compile: $(grep -A5 error "$tmp/make")"
bin=$copy/$B/bin
start_box

while read -r title; do
	case $title in
	"A probe of blipp")
		"$bin/blipp" --list | grep -qx 'entropy kernel:entropy available unit=bit kind=gauge source=/proc/sys/kernel/random/entropy_avail' ||
			fail "blipp --list: $("$bin/blipp" --list | grep entropy)"
		"$bin/blipp" -o probes=entropy -i 100ms --format csv >"$tmp/said" || fail "blipp --format csv"
		grep -q "kernel:entropy.*[0-9]" "$tmp/said" || fail "blipp does not send the probe: $(cat "$tmp/said")"
		;;
	"A command of narrows")
		[ "$(nw hello)" = "$tmp/state" ] || fail "narrows hello prints $(nw hello)"
		"$bin/narrows" --help | grep -q '^ *hello  *print the state directory' || fail "narrows --help does not name the command"
		;;
	"An address of the report")
		[ "$(curl -sSf "$url/version")" = "$("$bin/narrowsd" --version | grep -o '[0-9.]*$')" ] || fail "/version: $(curl -sS "$url/version")"
		[ "$(curl -sS -o /dev/null -w '%{http_code} %{content_type}' "$url/version")" = "200 text/plain; charset=utf-8" ] || fail "the type of /version"
		[ "$(curl -sS -o /dev/null -w '%{http_code}' -d a=b "$url/version")" = 405 ] || fail "POST /version is not refused"
		! "$B/tests/web/test_resource" >"$tmp/said" 2>&1 && grep -q version "$tmp/said" || fail "test_resource does not name the address: $(cat "$tmp/said")"
		;;
	"A counter of the box")
		python3 -B -c '
import sys
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open()
p.s.sendall(xsp.frame(xsp.PING, sid=p.sid))
p.sync()
p.close()' "$xsp" || fail "a frame without a block"
		curl -sSf "$url/healthz" | python3 -c 'import json, sys; assert json.load(sys.stdin)["counters"]["frames_empty"] >= 1' ||
			fail "/healthz: $(curl -s "$url/healthz")"
		curl -sSf "$url/health" | grep -q "Frames without a block" || fail "the health page does not show the counter"
		;;
	"A statistic of narrows stat")
		printf 'a,b\n1,10\n5,30\n' | "$bin/narrows" stat range --format json - >"$tmp/said" || fail "narrows stat range"
		python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["a"] == 4 and d["b"] == 20, d' "$tmp/said" || fail "range: $(cat "$tmp/said")"
		"$bin/narrows" stat --help | grep -q range || fail "narrows stat --help does not name the statistic"
		;;
	"A format of events")
		line='2026-05-04T10:00:01.118305Z dtn1 rsync xfer.start'
		echo "$line" >"$tmp/events.log"
		"$bin/narrows" -s "$tmp/events" import -f events "$tmp/events.log" >/dev/null || fail "import of a plain line"
		[ "$("$bin/narrows" -s "$tmp/events" export -f plain last)" = "$line" ] || fail "export -f plain: $("$bin/narrows" -s "$tmp/events" export -f plain last)"
		;;
	"A point of the kernel")
		[ -n "$has_point" ] || continue
		"$bin/magnet" points >"$tmp/said" 2>&1 || continue # sys_magnet says what the kernel refuses
		grep -q '^26 scheduler  signal.send  *tp_btf  *signal_generate  *exact' "$tmp/said" || fail "magnet points: $(cat "$tmp/said")"
		"$bin/magnet" stat -p signal.send -i 1 -n 1 -c >"$tmp/said" &
		stat=$!
		signals() { kill -0 $stat && sh -c 'kill -WINCH $$'; }
		until_true 1 signals || fail "magnet stat ends"
		while kill -0 $stat 2>/dev/null; do sh -c 'kill -WINCH $$'; sleep 0.05; done
		wait $stat && awk -F, '$2 == "signal.send" && $4 > 0 { ok = 1 } END { exit !ok }' "$tmp/said" || fail "no signal is counted: $(cat "$tmp/said")"
		;;
	"A rule of advice")
		grep -q -a "Swap less" "$bin/narrowsd" && "$B/tests/analyze/verdict/route/test_advice" >"$tmp/said" || fail "the rule: $(cat "$tmp/said")"
		;;
	"A layout of the DPSS")
		(
			. tests/dpss.sh
			cd "$tmp"
			mkdir master
			start m "$bin/dpss-master" -s master
			export DPSS_MASTER="127.0.0.1/$(cat m.port)"
			for i in 1 2; do
				grant $i master 100 65536
				server $i
				add $i
			done
			until_true 10 ups 2 || fail "the servers do not come up"
			head -c 524288 /dev/urandom >file
			"$bin/dpss" -b 65536 -w 1,2 -g 4 load file set >said || fail "dpss load -g 4: $(cat said)"
			runs=$(sqlite3 -cmd ".timeout 10000" master/master.db "SELECT group_concat(server, '') FROM (SELECT server FROM place WHERE copy = 0 AND logical < 8 ORDER BY logical)")
			[ "$runs" = 11112222 ] || fail "blocks stand on the servers $runs"
			"$bin/dpss" unload set back && cmp file back || fail "the set came back different"
			for p in s1 s2 m; do kill "$(cat $p.pid)"; done
			wait
		) || fail "the layout"
		;;
	"A case of the rig")
		(cd tests/rig && python3 -B -c '
import cases
case = ("single", ("net_slow_start",), "x-read-write")
assert case in cases.SHORT and cases.fits("net_slow_start", "x-read-write") and cases.FAULTS["net_slow_start"][0] == "network"') || fail "the case of the rig"
		;;
	*) fail "no check of the recipe \"$title\"" ;;
	esac
	echo "$title: works"
done <"$tmp/titles"
[ "$(wc -l <"$tmp/titles")" -ge 10 ] || fail "CONTRIBUTING.md has $(wc -l <"$tmp/titles") recipes"
