#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Eight transfers between two hosts with a limit that lifting proves, and the box names the limit. A case that other
# work on the machine disturbed has a second try. The rig leaves no namespace, disk or control group.
set -u
B=${B:-build/release}
[ "$(id -u)" = 0 ] || { echo "the rig makes namespaces and disks: needs root"; exit 77; }
[ -c /dev/net/tun ] && [ -d /sys/fs/cgroup/blkio ] && [ -d /sys/fs/cgroup/cpu ] ||
    { echo "no TUN devices or no control groups of version 1"; exit 77; }
ip netns add nwtruth$$ 2>/dev/null && ip netns del nwtruth$$ || { echo "no namespaces here"; exit 77; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
B=$B python3 tests/rig/rig.py --certain --fast --out "$out" & rig=$!
wait $rig
status=$?
left=$(ip netns | grep -o "nwrig$rig[abc]"; grep -o "/tmp/nwrig$rig/[^ ]*" /proc/mounts; ls -d /sys/fs/cgroup/cpu/nwrig$rig /sys/fs/cgroup/pids/nwrig$rig /tmp/nwrig$rig 2>/dev/null)
[ -z "$left" ] || { echo "the rig left: $left"; exit 1; }
exit $status
