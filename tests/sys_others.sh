#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A transfer shares its slow disk, and another its slow link, with a session of the box: the verdict names that session
# with its share. A transfer that has its disk for itself names nobody.
set -u
B=${B:-build/release}
[ "$(id -u)" = 0 ] || { echo "the rig makes namespaces and disks: needs root"; exit 77; }
[ -c /dev/net/tun ] && [ -d /sys/fs/cgroup/blkio ] && [ -d /sys/fs/cgroup/cpu ] ||
    { echo "no TUN devices or no control groups of version 1"; exit 77; }
ip netns add nwothers$$ 2>/dev/null && ip netns del nwothers$$ || { echo "no namespaces here"; exit 77; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
B=$B python3 tests/rig/rig.py --fast --out "$out" \
    --only '^single:(src_session:cp|net_session:x-read-write|src_disk:cp):1$' >"$out/log" 2>&1 ||
    { cat "$out/log"; exit 1; }
python3 - "$out/documents.jsonl" <<'END'
import json, sys
told = {}
for line in open(sys.argv[1]):
    d = json.loads(line)
    d = d.get("document", d)
    for o in d["verdict"]["others"]:
        assert o["sentence"] in d["verdict"]["reasons"], o
    told[d["session"]["task_id"], d["verdict"]["stage"], d["session"]["id"]] = d["verdict"]["others"]
named = sorted((o["resource"], o["program"], o["way"]) for others in told.values() for o in others if o["share"] >= 0.3)
silent = [t for t, others in told.items() if not others]
assert named == [("disk", "dd", "read"), ("link", "iperf3", "sent")], (named, told)
assert len(told) == 3 and len(silent) == 1, told
assert all(o["session"] is not None and o["share"] < 0.95 for others in told.values() for o in others), told
END
