#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo itself, smaller: two real transfers, the limited one judged right, in the words of the README's transcript; the demo's own
# check can fail; nothing is left.
set -eu
. tests/verdict.sh
bin=$(cd "${B:-build/release}/bin" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

out=$(DEMO_ONCE=1 DEMO_KEEP=1 DEMO_DIR="$dir/demo" DEMO_MIB=160 DEMO_PORT=0 sh tests/demo.sh) || { echo "$out"; exit 1; }
echo "$out"
for want in "limited this transfer" "Confidence: " "page: http://127.0.0.1:" "CSV: "; do
	case $out in *"$want"*) ;; *) fail "no \"$want\"" ;; esac
done

busy=false
case $out in *"The limit of transfer 1 was none"*) busy=true && echo "untested: the transcript and the verdict, as this machine is too busy for the limit to be one" ;; esac

# every line of the transcript in README.md is a line of the demo, in the same order; numbers may differ
words() { sed -e "s|$dir/demo|build/demo|g" -e 's/[0-9][0-9.,]*/N/g'; }
awk '/^<!-- transcript: make demo -->$/ { marked = 1 } marked && /^```/ { if (inside) exit; inside = 1; next } inside' README.md >"$dir/transcript"
[ "$(wc -l <"$dir/transcript")" -ge 8 ] || fail "README.md has no transcript of the demo: $(cat "$dir/transcript")"
words <"$dir/transcript" >"$dir/promised"
if $busy; then
	:
elif [ "$(id -u)" = 0 ] && unshare --net true 2>/dev/null; then
	echo "$out" | words | awk 'NR == FNR { want[++n] = $0; next } i < n && $0 == want[i + 1] { i++ }
	    END { if (i < n) print "the demo does not print, or not in this order: " want[i + 1] }' "$dir/promised" - >"$dir/missing"
	[ ! -s "$dir/missing" ] || fail "README.md: $(cat "$dir/missing")"
else
	echo "untested: the transcript of the README, which is root's"
fi

# the check reads the verdict, not any stage of the document
task=$("$bin/narrows" -s "$dir/demo" sql --csv "SELECT max(id) FROM session WHERE task_id LIKE 'demo-limited%'")
"$bin/narrows" -s "$dir/demo" report --json "$task" | grep -q '"disk.write"' || fail "the document does not list disk.write"
verdict_is "$dir/demo" "$task" disk.write && fail "a wrong verdict passes"
$busy || verdict_is "$dir/demo" "$task" network || verdict_is "$dir/demo" "$task" sender.host || fail "the right verdict does not pass"
verdict_is "$dir/demo" 999 network && fail "no document passes"

# an interrupted demo leaves nothing
DEMO_DIR="$dir/gone" DEMO_PORT=0 sh tests/demo.sh >"$dir/out" 2>&1 &
demo=$!
n=0
until grep -q '^\[2/5\]' "$dir/out"; do
	n=$((n + 1))
	[ "$n" -lt 600 ] || fail "the demo does not begin: $(cat "$dir/out")"
	sleep 0.1
done
kill -TERM "$demo"
wait "$demo" && fail "an interrupted demo ends well"
[ ! -e "$dir/gone" ] || fail "an interrupted demo leaves $(ls "$dir/gone")"
