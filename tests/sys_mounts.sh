#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A file system over the network (sshfs to an SFTP server behind a slow link) limits a copy: the sentence names mount, server and
# type, no disk appears, and a faster link makes the same copy faster. So of a program that maps the file: the kernel counts no reads.
. tests/lib.sh
sftp=/usr/lib/openssh/sftp-server
[ -c /dev/fuse ] && [ "$(id -u)" = 0 ] || skip "needs root and FUSE"
command -v sshfs >"$tmp/tools" && [ -x $sftp ] || skip "needs sshfs and sftp-server"

cat >"$tmp/serve.py" <<'PY'
import os, signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]
    if os.fork() == 0:
        os.dup2(c.fileno(), 0)
        os.dup2(c.fileno(), 1)
        os.execv(sys.argv[1], [sys.argv[1]])
    c.close()
PY
# behind FILE COMMAND ...: starts what prints its port to FILE, and sets $port
behind() {
	file=$1
	shift
	"$@" >"$file" 2>"$file.log" &
	pids="$pids $!"
	until_true 20 test -s "$file" || fail "$*: no port"
	port=$(cat "$file")
}
start_box
mkdir "$tmp/far" "$tmp/slow" "$tmp/fast"
head -c 12000000 /dev/urandom >"$tmp/far/file"
head -c 8000000 /dev/urandom >"$tmp/far/mapped"
behind "$tmp/sftp.port" python3 -B "$tmp/serve.py" $sftp
served=$port
mounts_end() { for m in slow fast; do umount -l "$tmp/$m" 2>/dev/null || :; done; lib_cleanup; }
trap mounts_end EXIT
# mounted NAME BITS: $tmp/NAME over a link of so many bits a second
mounted() {
	behind "$tmp/$1.port" python3 -B tests/slowlink.py "127.0.0.1/$served" "$2" 0.002
	sshfs -f -o directport="$port",dir_cache=no,fsname=me@nas.example:/export "127.0.0.1:$tmp/far" "$tmp/$1" 2>"$tmp/$1.log" &
	pids="$pids $!"
	until_true 20 mountpoint -q "$tmp/$1" || skip "sshfs cannot mount: $(cat "$tmp/$1.log")"
}
# copied TASK MOUNT: prints the document
copied() {
	timeout $((60 * PATIENCE)) "$bin/nwrun" -H here -t "$1" dd if="$tmp/$2/file" of="$tmp/$1.out" bs=128k status=none || fail "$1"
	cmp -s "$tmp/far/file" "$tmp/$1.out" || fail "$1: other bytes"
	until_true 30 judged "$1" || fail "$1: no verdict"
}
judged() {
	id=$(nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1)
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
mounted slow 32000000
mounted fast 4000000000
copied far slow
copied quick fast
cat >"$tmp/map.py" <<'PY'
import mmap, sys
with open(sys.argv[1], "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    print(sum(m[::4096]))
PY
timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t mapped python3 -B "$tmp/map.py" "$tmp/slow/mapped" >/dev/null || fail mapped
until_true 30 judged mapped || fail "mapped: no verdict"
python3 - "$tmp" <<'PY'
import json, re, sys
tmp = sys.argv[1]
docs = {name: json.load(open(f"{tmp}/{name}.json")) for name in ("far", "quick")}
for name, mount in ("far", "slow"), ("quick", "fast"):
    doc, point = docs[name], f"{tmp}/{mount}"
    verdict, told = doc["verdict"], f"{point} on here from me@nas.example:/export (fuse.sshfs, a file system over the network)"
    assert name == "quick" or verdict["stage"] == "storage.read" and "eading " + told in verdict["sentence"], verdict
    (m,) = doc["session"]["mounts"]
    assert (m["point"], m["type"], m["place"], m["server"]) == (point, "fuse.sshfs", "network", "nas.example"), m
    stages = {s["stage"]: s for s in doc["bottleneck"]["stages"]}
    assert "disk.read" not in stages and stages["storage.read"]["mount"] == m, stages
    text = json.dumps([doc["verdict"], doc["io"], doc["advice"]])
    assert not re.search(r"page cache|disk read|disk\.read", text), text
    assert not any(w["name"] == "disk" for w in verdict["witnesses"]) or verdict["stage"] != "storage.read", verdict
doc = json.load(open(f"{tmp}/mapped.json"))
verdict, (m,) = doc["verdict"], doc["session"]["mounts"]
assert (verdict["stage"], verdict["cause"]) == ("storage.read", "mmap") and f"eading {tmp}/slow on here from me@nas" in verdict["sentence"], verdict
assert "disk" not in verdict["sentence"] and m["place"] == "network" and 6e6 < m["read_bytes"] < 9e6, (verdict, m)
assert 6e6 < doc["session"]["bytes"] < 9e6 and any(c["rule"] == "mapped-file" for c in doc["advice"]), doc["session"]
# lifting the limit helps
assert docs["quick"]["session"]["bytes_per_s"] > 1.2 * docs["far"]["session"]["bytes_per_s"], docs["quick"]["session"]
PY
