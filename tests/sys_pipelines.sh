#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Real programs that talk over pipes and local sockets, each pipeline with one known limit: the verdict must name it,
# or nothing, but never an innocent stage.
. tests/lib.sh
for program in python3 curl rsync tar gzip "${CC:-cc}"; do
	command -v "$program" >/dev/null 2>&1 || skip "no $program here"
done
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

"${CC:-cc}" -D_GNU_SOURCE -O2 -shared -fPIC -o "$tmp/slowdisk.so" tests/slowdisk.c -ldl || fail "slowdisk.so"
# The texts of pipelines find these: one program below nwrun gets the slow disk, and nwrun's own object still comes first.
SLOW="env LD_PRELOAD=\$LD_PRELOAD:$tmp/slowdisk.so"
start_box

mkdir "$tmp/src" "$tmp/out"
head -c 30000000 /dev/urandom >"$tmp/src/one"
head -c 15000000 /dev/urandom >"$tmp/src/two"
head -c 3000000 /dev/urandom >"$tmp/three"

# pipeline TASK TEXT: a shell under nwrun
pipeline() {
	timeout 60 "$bin/nwrun" -i 0.1 -H here -t "$1" sh -c "cd $tmp && $2" 2>"$tmp/$1.log" || fail "$1: $(cat "$tmp/$1.log")"
}
session_of() { nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1; }
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
# verdict TASK STAGE [TEXT]: "none" is "cannot tell"
verdict() {
	until_true 20 judged "$1" || fail "$1: no verdict"
	python3 - "$tmp/$1.json" "$2" "${3:-}" <<'PY' || fail "$1: want $2 ${3:-}"
import json, sys
doc = json.load(open(sys.argv[1]))
verdict, want, text = doc["verdict"], sys.argv[2], sys.argv[3]
print(verdict["stage"], verdict["confidence"], verdict["sentence"])
for s in doc["bottleneck"]["stages"]:
    print("   ", s["stage"], "%.3f" % (1 - s["free_share"]))
sys.exit(0 if (verdict["stage"] or "none") == want and text in verdict["sentence"] + " ".join(verdict["reasons"]) else 1)
PY
}

# --- one machine ---
pipeline rsync-read "SLOWDISK_READ=3e7 $SLOW rsync -a -W src/ rsync-read/"
pipeline rsync-write "SLOWDISK_WRITE=3e7 $SLOW rsync -a -W src/ rsync-write/"
pipeline tar-write "tar cf - src/two | gzip -1 | SLOWDISK_WRITE=1e7 $SLOW cat >out/tar-write"
pipeline tar-gzip "tar cf - src | gzip -6 | cat >out/tar-gzip"
pipeline cat-gzip "cat src/one src/two | gzip -6 >out/cat-gzip"

# --- a network before a pipe ---
(cd "$tmp" && exec python3 -c '
import http.server, socketserver
class server(socketserver.ThreadingMixIn, http.server.HTTPServer): pass
s = server(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_address[1], flush=True)
s.serve_forever()' >"$tmp/http.port" 2>"$tmp/http.log") &
pids="$pids $!"
until_true 5 test -s "$tmp/http.port" || fail "no http server"
http=127.0.0.1/$(cat "$tmp/http.port")
python3 -B tests/slowlink.py "$http" 80000000 0.002 >"$tmp/link.port" 2>"$tmp/link.log" &
pids="$pids $!"
until_true 5 test -s "$tmp/link.port" || fail "no slow link"
pipeline curl-net "curl -s http://127.0.0.1:$(cat "$tmp/link.port")/three | dd of=out/curl-net bs=64k status=none"
pipeline curl-disk "curl -s http://$(echo "$http" | tr / :)/src/one | SLOWDISK_WRITE=2e7 $SLOW dd of=out/curl-disk bs=64k status=none"

# --- neighbours that are not measured ---
timeout 60 "$bin/nwrun" -i 0.1 -H here -t outside tar cf - -C "$tmp" src |
	SLOWDISK_WRITE=3e7 LD_PRELOAD="$tmp/slowdisk.so" dd of="$tmp/out/outside" bs=64k status=none || fail "outside"

# As with ssh: what sends is measured, what receives is a pipe behind a program that is not.
cat >"$tmp/arrive.py" <<'PY'
import os, socket
s = socket.create_server(("127.0.0.1", 0))
os.write(2, b"%d\n" % s.getsockname()[1])
c = s.accept()[0]
while data := c.recv(65536):
    while data:
        data = data[os.write(1, data):]
PY
cat >"$tmp/leave.py" <<'PY'
import os, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)   # or all of it is gone before the link feels it
s.connect(("127.0.0.1", int(sys.argv[1])))
while data := os.read(0, 65536):
    s.sendall(data)
PY
# far TASK [LINK_BITS_PER_S]: "there" waits for a connection, through a slow link perhaps; sets $port
far() {
	{ python3 "$tmp/arrive.py" 2>"$tmp/$1.port" | timeout 60 "$bin/nwrun" -i 0.1 -H there -t "$1" sh -c "$far_text"; } &
	far_pid=$!
	until_true 5 test -s "$tmp/$1.port" || fail "$1: nobody listens"
	port=$(cat "$tmp/$1.port")
	[ -n "${2:-}" ] || return 0
	python3 -B tests/slowlink.py "127.0.0.1/$port" "$2" 0.002 65536 >"$tmp/$1.link" 2>"$tmp/$1.link.log" &
	pids="$pids $!"
	until_true 5 test -s "$tmp/$1.link" || fail "$1: no slow link"
	port=$(cat "$tmp/$1.link")
}
far_text="cat >$tmp/out/far-net" && far far-net 80000000
pipeline far-net "cat three | python3 leave.py $port" && wait "$far_pid" || fail "far-net"
far_text="SLOWDISK_WRITE=2e7 $SLOW cat >$tmp/out/far-disk" && far far-disk
pipeline far-disk "cat src/one | python3 leave.py $port" && wait "$far_pid" || fail "far-disk"
far_text="gzip -6 >$tmp/out/far-gzip" && far far-gzip
pipeline far-gzip "cat src/one | python3 leave.py $port" && wait "$far_pid" || fail "far-gzip"

for task in rsync-read rsync-write; do
	cmp -s "$tmp/src/one" "$tmp/$task/one" || fail "$task: the copy differs"
done
cmp -s "$tmp/three" "$tmp/out/curl-net" && cmp -s "$tmp/src/one" "$tmp/out/curl-disk" || fail "curl: the copies differ"
cmp -s "$tmp/three" "$tmp/out/far-net" && cmp -s "$tmp/src/one" "$tmp/out/far-disk" || fail "far: the copies differ"

verdict rsync-read disk.read
verdict rsync-write disk.write
verdict tar-write disk.write
verdict tar-gzip host "The program gzip on here, which was busy computing,"
verdict cat-gzip host "The program gzip on here, which was busy computing,"
verdict curl-net net.read
verdict curl-disk disk.write
verdict outside none "waited at a pipe for"
verdict far-net network "One end was measured at a pipe"
verdict far-disk disk.write "Disk write on there"
verdict far-gzip receiver.host "The receiving program"
stop_box
