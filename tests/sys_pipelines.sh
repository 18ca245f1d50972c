#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Real programs that talk over pipes and local sockets, each pipeline with one known limit: the verdict must name it.
# On a busy machine it may have to say that it cannot tell, and then gets two more chances; to name an innocent stage it
# gets none. Slow disks, links and pauses, and the files for them, shrink with PATIENCE, so that a slow machine's
# processors are not the limit.
. tests/lib.sh
paced
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

"${CC:-cc}" -D_GNU_SOURCE -O2 -shared -fPIC -o "$tmp/slowdisk.so" tests/slowdisk.c -ldl || fail "slowdisk.so"
# In the texts below: one program of the pipeline gets the slow disk, and nwrun's own object still comes first.
SLOW="env LD_PRELOAD=\$LD_PRELOAD:$tmp/slowdisk.so"
start_box

mkdir "$tmp/src" "$tmp/bulk" "$tmp/out"
# the interpreter itself: what is first in PATH may be a script that becomes it
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/python3"
slow=$((PATIENCE < 8 ? PATIENCE : 8))
export SLOW_BY=$slow
head -c 50000000 /dev/urandom >"$tmp/bulk/three"
head -c $((40000000 / slow)) /dev/urandom >"$tmp/src/one"
head -c $((20000000 / slow)) /dev/urandom >"$tmp/src/two"
head -c $((4000000 / slow)) /dev/urandom >"$tmp/four"
cat >"$tmp/serve.py" <<'PY'
import http.server, socketserver
class server(socketserver.ThreadingMixIn, http.server.HTTPServer): pass
s = server(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_address[1], flush=True)
s.serve_forever()
PY
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
cat >"$tmp/pause.py" <<'PY'
import os, time
while data := os.read(0, 65536):
    time.sleep(len(data) / (2e7 / int(os.environ["SLOW_BY"])))
    os.write(1, data)
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
behind "$tmp/http.port" sh -c "cd $tmp && exec python3 serve.py"
http=$port
behind "$tmp/link.port" python3 -B tests/slowlink.py "127.0.0.1/$http" $((80000000 / slow)) 0.002
link=$port

# pipeline TASK TEXT: below one nwrun
pipeline() {
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$1" sh -c "cd $tmp && $2" 2>"$tmp/$1.log" || fail "$1: $(cat "$tmp/$1.log")"
}
# far TASK TEXT: a host "there", its pipeline behind a program that is not measured, as below sshd; sets $port and $far
far() {
	{ python3 "$tmp/arrive.py" 2>"$tmp/$1.port" | timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H there -t "$1" sh -c "$2"; } &
	far=$!
	until_true 20 test -s "$tmp/$1.port" || fail "$1: nobody listens"
	port=$(cat "$tmp/$1.port")
}
send() {
	pipeline "$1" "cat $2 | ./python3 leave.py $port" && wait "$far" || fail "$1"
}

# Each case runs as task $1.
rsync_read() { rm -rf "$tmp/out/r"; pipeline "$1" "SLOWDISK_READ=$((30000000 / slow)) $SLOW rsync -a -W src/ out/r/"; cmp -s "$tmp/src/one" "$tmp/out/r/one"; }
rsync_write() { rm -rf "$tmp/out/w"; pipeline "$1" "SLOWDISK_WRITE=$((30000000 / slow)) $SLOW rsync -a -W src/ out/w/"; cmp -s "$tmp/src/one" "$tmp/out/w/one"; }
tar_write() { pipeline "$1" "tar cf - src/two | gzip -1 | SLOWDISK_WRITE=$((8000000 / slow)) $SLOW cat >out/tar_write"; }
tar_gzip() { pipeline "$1" "tar cf - bulk bulk | gzip -6 | cat >out/tar_gzip"; }
cat_gzip() { pipeline "$1" "cat bulk/three bulk/three | gzip -6 >out/cat_gzip"; }
cat_pause() { pipeline "$1" "cat src/one | ./python3 pause.py | cat >out/cat_pause"; cmp -s "$tmp/src/one" "$tmp/out/cat_pause"; }
curl_net() { pipeline "$1" "curl -s http://127.0.0.1:$link/four | dd of=out/curl_net bs=64k status=none"; cmp -s "$tmp/four" "$tmp/out/curl_net"; }
curl_write() {
	pipeline "$1" "curl -s http://127.0.0.1:$http/src/one | SLOWDISK_WRITE=$((20000000 / slow)) $SLOW dd of=out/curl_write bs=64k status=none"
	cmp -s "$tmp/src/one" "$tmp/out/curl_write"
}
far_net() {
	far "$1" "cat >$tmp/out/far_net"
	behind "$tmp/$1.link" python3 -B tests/slowlink.py "127.0.0.1/$port" $((80000000 / slow)) 0.002 65536
	send "$1" four
	cmp -s "$tmp/four" "$tmp/out/far_net"
}
far_write() { far "$1" "SLOWDISK_WRITE=$((20000000 / slow)) $SLOW cat >$tmp/out/far_write"; send "$1" src/one; cmp -s "$tmp/src/one" "$tmp/out/far_write"; }
far_pause() { far "$1" "$tmp/python3 $tmp/pause.py | cat >$tmp/out/far_pause"; send "$1" src/one; cmp -s "$tmp/src/one" "$tmp/out/far_pause"; }
# Others have the only processor it may use.
crowded() {
	cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
	hogs=
	for _ in 1 2 3 4; do
		$unpaced taskset -c "$cpu" sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	pids="$pids$hogs"
	pipeline "$1" "$unpaced taskset -c $cpu gzip -1 -c bulk/three >out/crowded"
	# shellcheck disable=SC2086
	kill $hogs
}
# The slow neighbour is not measured: nobody may be blamed.
outside() {
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$1" tar cf - -C "$tmp" src |
		SLOWDISK_WRITE=$((30000000 / slow)) LD_PRELOAD="$tmp/slowdisk.so" dd of="$tmp/out/outside" bs=64k status=none
}

# What the verdict must be, and say.
cat >"$tmp/want" <<'END'
rsync_read disk.read Disk read on here
rsync_write disk.write Disk write on here
tar_write disk.write Disk write on here
tar_gzip host The program gzip on here
cat_gzip host The program gzip on here
cat_pause host The program pause.py (python3) on here limited this transfer: it paces itself at
curl_net net.read The network path to here
curl_write disk.write Disk write on here
far_net network One end was measured at a pipe
far_write disk.write Disk write on there
far_pause receiver.host The receiving program pause.py (python3) on there
crowded host was ready to run, but had no processor, for
outside none waited at a pipe for
END

session_of() { nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1; }
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
# verdict TASK CASE: 0 as wanted, 2 cannot tell, 1 wrong
verdict() {
	python3 - "$tmp/$1.json" "$(grep "^$2 " "$tmp/want")" <<'PY'
import json, sys
doc, (case, stage, says) = json.load(open(sys.argv[1])), sys.argv[2].split(" ", 2)
verdict = doc["verdict"]
got = verdict["stage"] or "none"
# an account of few or like intervals begins with words of its own
account = "In this transfer, " + says[0].lower() + says[1:]
# and of a transfer that other work on the machine held up for a while ends with them
moved = "most of the time " + says[0].lower() + says[1:].rstrip(",")
told = verdict["sentence"] + " ".join(verdict["reasons"])
right = got == stage and (says in told or moved in told or account in told and verdict["confidence"] == "low")
print(case, verdict["sentence"], *verdict["reasons"], *["%s %.2f" % (s["stage"], 1 - s["free_share"]) for s in doc["bottleneck"]["stages"]])
# a program that others keep from the processor is no innocent
unclear = got == "none" or "had to wait for a processor" in verdict["sentence"]
sys.exit(0 if right else 2 if unclear and stage != "none" else 1)
PY
}

pending=$(cut -d' ' -f1 "$tmp/want")
for attempt in 1 2 3; do
	for case in $pending; do
		"$case" "$case.$attempt" || fail "$case: the copies differ"
	done
	unclear=
	for case in $pending; do
		until_true 20 judged "$case.$attempt" || fail "$case: no verdict"
		rc=0
		verdict "$case.$attempt" "$case" || rc=$?
		[ "$rc" != 1 ] || fail "$case: want $(grep "^$case " "$tmp/want")"
		[ "$rc" = 0 ] || unclear="$unclear $case"
	done
	pending=$unclear
	[ -n "$pending" ] || break
done
[ -z "$pending" ] || fail "cannot tell:$pending"

# a wrapper that became a program gives the session its name: the document and the list agree
"$bin/nwrun" -t wrapped env A=1 dd if="$tmp/four" of="$tmp/out/wrapped" bs=64k status=none || fail "env dd"
until_true 20 judged wrapped || fail "wrapped: no verdict"
grep -q '"program": *"dd"' "$tmp/wrapped.json" || fail "wrapped: the document says another program"
nw sessions --json | grep '"task_id":"wrapped"' | grep -q '"program":"dd"' || fail "wrapped: the list says another program"
stop_box
