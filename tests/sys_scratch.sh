#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp measures a scratch directory when a session is over that a rule of the box has ordered it for, not before, within its
# bounds, and leaves nothing there. A host without the directive writes nothing, whatever the box orders.
if [ -z "${NARROWS_INSIDE:-}" ]; then
	unshare -n true 2>/dev/null || { echo "network namespaces cannot be made"; exit 77; }
	exec env NARROWS_INSIDE=1 unshare -n sh "$0"
fi
. tests/lib.sh
ip link set lo up || skip "network namespaces cannot be made"
start_box -o rule="open ps:tools:blipp:linux:scratch 1s" -o analysis-interval=1s
mkdir "$tmp/scratch"
echo kept >"$tmp/scratch/file"
for host in mover other; do
	"$bin/blipp" -d -b "$xsp" -H $host -o probes=scratch -o configuration=no $([ $host = other ] || echo "-o scratch=$tmp/scratch -o scratch-size=4MiB") \
		2>"$tmp/$host.log" &
	pids="$pids $!"
	until_true 10 grep -q box.connected "$tmp/$host.log" || fail "blipp of $host does not connect"
done
programs=
cat >"$tmp/move.py" <<'PY'
import os, sys, time
while not os.path.exists(sys.argv[1] + ".stop"):
    with open(sys.argv[1], "wb") as f:
        f.write(bytes(1 << 20))
    time.sleep(0.02)
PY
for host in mover other; do
	"$bin/nwrun" -H $host -t moved-$host -b "$xsp" python3 "$tmp/move.py" "$tmp/m" &
	programs="$programs $!"
done
pids="$pids $programs"
value() { # FIELD [HOST]
	"$bin/narrows" -s "$tmp/state" sql "SELECT value FROM v_sample WHERE host = '${2:-mover}' AND event_type = 'ps:tools:blipp:linux:scratch'
		AND field = '$1' ORDER BY t_ns DESC LIMIT 1" 2>/dev/null | tail -n +2 | tail -n 1
}
ordered() { grep -q 'orders=[1-9]' "$tmp/$1.log"; }
until_true 20 ordered mover && until_true 20 ordered other || fail "the box orders nothing: $(tail -n 3 "$tmp/mover.log")"
sleep 2.2 # two looks at a quiet host whose session goes on
[ -z "$(value written_bytes)" ] || fail "a measurement beside the session that it is for"
: >"$tmp/m.stop"
wait $programs || fail "a program ended with status $?"
known() { [ -n "$(value written_bytes "$@")" ]; }
until_true 60 known || fail "no measurement behind the session: $(tail -n 5 "$tmp/mover.log")"
awk -v n="$(value written_bytes)" -v r="$(value write_bytes_per_s)" 'BEGIN { exit !(n > 0 && n <= 4194304 && r > 0) }' ||
	fail "$(value written_bytes) bytes at $(value write_bytes_per_s)"
[ "$(ls -A "$tmp/scratch")" = file ] && [ "$(cat "$tmp/scratch/file")" = kept ] || fail "the scratch directory has $(ls -A "$tmp/scratch")"
! known other || fail "a host without a scratch directory wrote $(value written_bytes other) bytes"
session=$("$bin/narrows" -s "$tmp/state" sql "SELECT session FROM v_verdict WHERE document LIKE '%"moved-mover"%'" | tail -n 1)
page() { curl -sL "$url/session/$session" >"$tmp/page" && grep -q 'id="sensors"' "$tmp/page" && grep -q "$tmp/scratch" "$tmp/page"; }
until_true 30 page || fail "the session's page does not show the measurement: $(head -c 300 "$tmp/page")"
echo "$(value written_bytes) bytes behind the session"
