#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Behind a session whose gain is unknown the box orders its stages to be repeated alone. The host repeats the stage that its
# configuration allows, in the scratch directory and within the bounds, and the verdict is judged again with what came out.
# A host whose scratch directory is on another mount than the file says at once that it declines.
if [ -z "${NARROWS_INSIDE:-}" ]; then
	unshare -n true 2>/dev/null || { echo "network namespaces cannot be made"; exit 77; }
	exec env NARROWS_INSIDE=1 unshare -mn sh "$0"
fi
. tests/lib.sh
mount_end() { umount -l "$tmp/mount" 2>/dev/null || :; lib_cleanup; }
trap mount_end EXIT
ip link set lo up || skip "network namespaces cannot be made"
start_box -o session-linger=1s
mkdir "$tmp/scratch" "$tmp/mount"
echo kept >"$tmp/scratch/file"
mount -t tmpfs none "$tmp/mount" || skip "a file system cannot be mounted"
for host in mover other decliner; do
	case $host in
	mover) allowed="-o scratch=$tmp/scratch" ;;
	decliner) allowed="-o scratch=$tmp/mount" ;;
	*) allowed= ;;
	esac
	"$bin/blipp" -d -b "$xsp" -H $host -o probes=cpu -o configuration=no $allowed 2>"$tmp/$host.log" &
	pids="$pids $!"
	until_true 10 grep -q box.connected "$tmp/$host.log" || fail "blipp of $host does not connect"
done
# computes for most of the time, and writes in operations of 32 KiB
cat >"$tmp/work.py" <<'PY'
import hashlib, os, sys, time
block, end = os.urandom(32768), time.monotonic() + 5
with open(sys.argv[1], "wb", buffering=0) as f:
    while time.monotonic() < end:
        for _ in range(20):
            hashlib.sha256(block).digest()
        f.write(block)
PY
programs=
for host in mover other decliner; do
	"$bin/nwrun" -H $host -t work-$host -b "$xsp" python3 "$tmp/work.py" "$tmp/$host.out" &
	programs="$programs $!"
done
pids="$pids $programs"
wait $programs || fail "a program ended with status $?"
document() { # HOST
	session=$("$bin/narrows" -s "$tmp/state" sql "SELECT session FROM v_verdict WHERE document LIKE '%\"work-$1\"%'" | tail -n 1)
	curl -s "$url/session/$session.json" >"$tmp/$1.json"
}
has() { document "$1" && grep -q "$2" "$tmp/$1.json"; }
until_true 60 has mover '"way":"write"' || fail "no replay in the verdict: $(tail -n 5 "$tmp/mover.log") $(head -c 300 "$tmp/mover.json")"
python3 - "$tmp/mover.json" <<'PY' || fail "the document of the replay"
import json, re, sys
doc = json.load(open(sys.argv[1]))
v, (y,) = doc["verdict"], doc["verdict"]["replays"]
assert y["host"] == "mover" and 0 < y["bytes"] <= y["cost_bytes"] <= 0.1 * doc["session"]["bytes"] and y["cost_s"] <= 10, y
(stage,) = [s for s in doc["bottleneck"]["stages"] if s["alone_bytes_per_s"] is not None]
assert stage["stage"] == "disk.write" and stage["alone_bytes_per_s"] == y["bytes_per_s"], stage
assert any(r.startswith("Repeated alone") for r in v["reasons"]) and any("took" in r for r in v["reasons"]), v["reasons"]
assert doc["before"][-1]["why"] == "its hosts repeated stages of it alone", doc["before"]
# how much faster a program would be that also waits for a processor, on a busy machine, is not known
waited = max([0] + [int(n) for w in v["witnesses"] for n in re.findall(r"waited for a processor (\d+) %", w["detail"])])
assert v["cause"] != "computing" or (v["effect_from"] == "replay" and (None not in v["interval"] or waited > 10)), v
PY
"$bin/narrows" -s "$tmp/state" report --check all >"$tmp/checked" || fail "sentences: $(cat "$tmp/checked")"
[ "$(ls -A "$tmp/scratch")" = file ] && [ "$(cat "$tmp/scratch/file")" = kept ] || fail "the scratch directory has $(ls -A "$tmp/scratch")"
has other '"replays":\[\]' || fail "a host without a scratch directory repeated a stage: $(grep -o '"replays":.\{200\}' "$tmp/other.json")"
has decliner '"replays":\[\]' || fail "a file of another mount was repeated: $(grep -o '"replays":.\{200\}' "$tmp/decliner.json")"
until_true 20 grep -q "session.declined id=s$session/p" "$tmp/box.log" ||
	fail "the host does not decline the order of session $session: $(tail -n 5 "$tmp/box.log") $(tail -n 5 "$tmp/decliner.log")"
echo "$(grep -o '"cost_bytes":[0-9.e+]*' "$tmp/mover.json" | head -n 1) behind the session"
