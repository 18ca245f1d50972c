#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Three servers over a network whose last switch has a small buffer: the switch drops, reading
# slows down; with a larger buffer hardly. A box makes lifelines of the logs, and knows the switch's counters by SNMP.
. tests/lib.sh
B=$B timeout 120 python3 tests/experiment-dpss.py --short "$tmp/out" >"$tmp/said" 2>&1 || {
	[ $? != 77 ] || skip "$(cat "$tmp/said")"
	fail "$(cat "$tmp/said")"
}
python3 - "$tmp/out" <<'EOF' || fail "$(cat "$tmp/said")"
import json, re, sys
small, large = json.load(open(f"{sys.argv[1]}/results.json"))
assert sum(small["dropped"]) > 20 + 3 * sum(large["dropped"]), (small, large)
assert large["received"] > small["received"], (small, large)
events = [line.split("; ") for line in open(f"{small['directory']}/switch.log")]
assert len(events) >= sum(small["dropped"]) and all(len(e) == 7 and e[0] == "SWITCH_DROP" for e in events)
assert all(open(f"{r['directory']}/lifelines.svg").read().startswith("<") and r["sentence"] and r["finished"] > 100 for r in (small, large)), (small, large)
assert not large["stalls"] or max(s["stood_s"] for s in large["stalls"]) < 1, large["stalls"]
for r in (small, large): # asked by SNMP, the switch's port says the same
    assert r["dropped_snmp"] in (None, sum(r["dropped"])), r
    assert r["dropped_snmp"] is None or all(s["port_dropped"] is None or s["port_dropped"] >= s["dropped"] for s in r["stalls"]), r["stalls"]
assert re.search(r"times as fast with 600 KB", open(f"{sys.argv[1]}/report.txt").read())
EOF
