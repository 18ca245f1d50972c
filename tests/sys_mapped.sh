#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program that reads a map of a file on a throttled disk: the disk is named, by page faults, with the bytes and the card. So
# they are where the program sends what it reads. A faster disk makes the program faster.
. tests/lib.sh
paced
throttle=/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device
[ "$(id -u)" = 0 ] && [ -w $throttle ] || skip "needs root and a blkio controller that throttles"
head -c 64000000 /dev/zero >"$tmp/disk"
mkfs.ext4 -q -F "$tmp/disk" || skip "needs mkfs.ext4"
loop=$(losetup -f --show "$tmp/disk" 2>/dev/null) || skip "no loop device here"
device=$(stat -c '%Hr:%Lr' "$loop")
mapped_end() {
	umount "$tmp/mnt" 2>/dev/null || :
	echo "$device 0" >$throttle
	losetup -d "$loop" || :
	lib_cleanup
}
trap mapped_end EXIT
mkdir "$tmp/mnt"
mount "$loop" "$tmp/mnt" || skip "cannot mount here"
head -c 30000000 /dev/urandom >"$tmp/mnt/file"
cat >"$tmp/mapped.c" <<'C'
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = open(argv[1], O_RDONLY), s = -1;
	struct stat st;
	size_t at, n;
	long sum = 0;
	char *p;

	if (fd < 0 || fstat(fd, &st) != 0)
		return 1;
	if (argc > 2) {
		to.sin_port = htons((uint16_t)atoi(argv[2]));
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, (struct sockaddr *)&to, sizeof(to)) != 0)
			return 1;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	for (at = 0; at < (size_t)st.st_size; at += 65536) {
		n = (size_t)st.st_size - at < 65536 ? (size_t)st.st_size - at : 65536;
		if (s >= 0 && write(s, p + at, n) != (ssize_t)n)
			return 1;
		for (n += at; n-- > at && s < 0;)
			sum += p[n];
	}
	printf("%ld\n", sum);
	return 0;
}
C
${CC:-cc} -O1 -std=gnu11 -Wall -Wextra -Werror -o "$tmp/mapped" "$tmp/mapped.c" || fail "mapped.c"
cat >"$tmp/sink.py" <<'PY'
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]
    while c.recv(1 << 20):
        pass
PY
python3 -B "$tmp/sink.py" >"$tmp/port" &
pids="$pids $!"
until_true 20 test -s "$tmp/port" || fail "no sink"
start_box

judged() {
	id=$(nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1)
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
# mapped TASK BYTES/S ARGUMENT ...: reads the file, which no memory has, from a disk of that rate
mapped() {
	task=$1
	echo "$device $2" >$throttle
	shift 2
	umount "$tmp/mnt" && mount "$loop" "$tmp/mnt" || fail "$task: mount"
	# the mount may live on in another name space, with its pages
	dd if="$tmp/mnt/file" iflag=nocache count=0 status=none || fail "$task: nocache"
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$task" "$tmp/mapped" "$tmp/mnt/file" "$@" >/dev/null || fail "$task"
	until_true 20 judged "$task" || fail "$task: no verdict"
}
mapped reads 8000000
mapped sends 8000000 "$(cat "$tmp/port")"
mapped fast 24000000
python3 - "$tmp" <<'PY' || fail "the disk behind the map"
import json, sys
docs = {n: json.load(open(f"{sys.argv[1]}/{n}.json")) for n in ("reads", "sends", "fast")}
for name, d in docs.items():
    v = d["verdict"]
    print(name, v["sentence"], v["confidence"], v["cause"], d["session"]["bytes"], [(c["rule"]) for c in d["advice"]])
d, v = docs["reads"], docs["reads"]["verdict"]
assert v["stage"] == "disk.read" and v["cause"] == "mmap", v
assert "page faults of a mapped file" in v["sentence"] and "network" not in v["sentence"], v["sentence"]
assert 28e6 < d["session"]["bytes"] < 36e6, d["session"]["bytes"]
assert any(c["rule"] == "mapped-file" for c in d["advice"]), d["advice"]
# a reader that hardly uses a processor is told of from its first interval on: the rate is the disk's
assert 6e6 < d["session"]["bytes_per_s"] < 11e6, d["session"]
# looks at the socket, whose lock the program holds while it waits for the disk, do not make the windows few
v = docs["sends"]["verdict"]
assert v["stage"] == "disk.read", v
# the lift: three times the disk's rate is at least one and a half times the transfer's
assert docs["fast"]["session"]["bytes_per_s"] > 1.5 * docs["reads"]["session"]["bytes_per_s"], docs["fast"]["session"]
PY
nw report --check all | grep -q ' 0 contradictions$' || fail "a document contradicts itself"
stop_box
