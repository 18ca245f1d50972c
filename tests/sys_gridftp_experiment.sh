#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two cells of the experiment with GridFTP: the tables and figures come of real transfers, a slowed disk is never called network,
# and a second run goes on where the first one ended.
. tests/lib.sh

command -v globus-gridftp-server >/dev/null && [ -f "$B/lib/libglobus_xio_narrows_driver.so" ] || skip "GridFTP's programs are not installed, or the driver is not built"
command -v iperf3 >/dev/null || skip "iperf3 is not installed"
[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] || skip "root and TUN devices are needed"
experiment() { timeout $((150 * $(patience))) python3 tests/experiment-gridftp.py --short --only 'm2m-TCP-4|slow-write' "$@" "$tmp/out" >"$tmp/said" 2>&1; }
status=0
experiment || status=$?
[ $status != 77 ] || skip "$(cat "$tmp/said")"
[ $status = 0 ] || fail "$(cat "$tmp/said")"
python3 - "$tmp/out/results.json" <<'END' || fail "the results: $(cat "$tmp/said")"
import json, sys
doc = json.load(open(sys.argv[1]))
net, disk = sorted(doc["rows"], key=lambda r: r["what"] != "m2m")
assert abs(doc["link_mbit"] / doc["carried_mbit"] - 0.8) < 0.01
assert net["truth"] == ["network"] and disk["truth"] == ["disk.write"], (net["truth"], disk["truth"])
assert disk["stage"] in ("disk.write", None) and disk["published"], disk
for r in net, disk:
    assert 0.97 * r["bytes"] <= r["session_bytes"] <= 1.03 * r["bytes"], r
    assert {"disk.read", "net.write", "net.read", "disk.write"} == set(r["course"]), set(r["course"])
END
grep -q "^Table II" "$tmp/said" && grep -c "Memory to disk, TCP" "$tmp/said" | grep -qx 3 || fail "the tables: $(cat "$tmp/said")"
grep -q "<h1>GridFTP" "$tmp/out/index.html" || fail "no page"
experiment && ! grep -q "^1/" "$tmp/said" || fail "the second run: $(cat "$tmp/said")"

# an end in the middle leaves no host, no process and no disk, and the next run has no cell twice
python3 tests/experiment-gridftp.py --short --only 'm2m-UDT' "$tmp/out" >"$tmp/said" 2>&1 &
run=$!
pids="$pids $run"
until_true 30 test -e "/run/netns/nwrig${run}c" || fail "no rig of $run: $(cat "$tmp/said")"
sleep 1
kill -TERM $run
status=0
wait $run || status=$?
[ $status = 130 ] && grep -q "^Stopped; the same command goes on" "$tmp/said" || fail "the end: $status: $(cat "$tmp/said")"
for left in /run/netns/nwrig"$run"* /tmp/nwrig"$run"* /dev/shm/nwrig"$run" /sys/fs/cgroup/*/nwrig"$run"; do
	[ ! -e "$left" ] || fail "left behind: $left"
done
for p in /proc/[0-9]*; do
	! tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q "[ /]nwrig$run\|$tmp/[o]ut/state" || fail "left behind: $(tr '\0' ' ' <"$p/cmdline")"
done
! grep -q "nwrig$run" /proc/mounts || fail "a disk is mounted"
echo ok
