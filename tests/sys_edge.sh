#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that watch a socket for both directions at once, by edges, as those of Go and tokio: waits belong to what the
# program waits for, inside and outside, and the verdict follows. Where rclone is installed, also with a real program of Go.
. tests/lib.sh
nwrun=$bin/nwrun
start_box
cat >"$tmp/peer.py" <<'PY'
# peer.py send|receive PORT-FILE BYTES: a MiB, then a pause; the sender writes its port to the file
import os, socket, sys, time
how, place, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
if how == "send":
    l = socket.create_server(("127.0.0.1", 0))
    open(place + ".new", "w").write(str(l.getsockname()[1]))
    os.rename(place + ".new", place)
    s = l.accept()[0]
else:
    for _ in range(1200):
        try:
            s = socket.create_connection(("127.0.0.1", int(place)))
            break
        except OSError:
            time.sleep(0.05)
while left > 0:
    n = 1 << 20
    while how != "send" and n > 0:
        d = s.recv(n)
        n = n - len(d) if d else 0
    if how == "send":
        s.sendall(bytes(n))
    left -= 1 << 20
    time.sleep(0.03)
PY
bytes=67108864

# waits STAGE: seconds of the report
waits() { sed -n "s/^stage .* stage=$1 .* wait_s=\([0-9.]*\) .*/\1/p" "$tmp/report" | awk '{ s += $1 } END { print s + 0 }'; }
# right DIRECTION STAGE OTHER: nearly all waits belong to the stage, and the box names the network
right() {
	until_true 20 test -s "$tmp/report" || fail "$1: no report"
	awk -v own="$(waits "$2")" -v other="$(waits "$3")" 'BEGIN { exit !(own > 0.5 && own > 5 * other) }' ||
	    fail "$1: waits of $(waits "$2") s for $2, $(waits "$3") s for $3: $(cat "$tmp/report")"
}
# stage TASK: the verdict's; false as long as there is none
stage() {
	nw report --json "$(sql "SELECT id FROM session WHERE task_id = '$1' AND closed_ns IS NOT NULL")" >"$tmp/document" 2>/dev/null &&
	    python3 -c 'import json, sys; v = json.load(open(sys.argv[1]))["verdict"]; print(v["stage"])' "$tmp/document"
}
verdict_is() { [ "$(stage "$1")" = "$2" ]; }
# both NAME OPTION ...: a download and an upload under nwrun with these options
both() {
	name=$1
	shift
	rm -f "$tmp/report" "$tmp/port"
	timeout $((60 * PATIENCE)) python3 "$tmp/peer.py" send "$tmp/port" $bytes &
	pids="$pids $!"
	until_true 20 test -s "$tmp/port" || fail "the peer does not listen"
	NWRUN_REPORT=$tmp/report timeout $((60 * PATIENCE)) "$nwrun" -q "$@" -i 0.1 -t "down-$name" "$B/tests/rig/edge" receive \
	    127.0.0.1 "$(cat "$tmp/port")" $bytes || fail "$name: the download ends with $?"
	right "download, $name" net.read net.write
	rm -f "$tmp/report"
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	timeout $((60 * PATIENCE)) python3 "$tmp/peer.py" receive "$port" $bytes &
	pids="$pids $!"
	NWRUN_REPORT=$tmp/report timeout $((60 * PATIENCE)) "$nwrun" -q "$@" -i 0.1 -t "up-$name" "$B/tests/rig/edge" send \
	    127.0.0.1 "$port" $bytes || fail "$name: the upload ends with $?"
	right "upload, $name" net.write net.read
	until_true 20 verdict_is "down-$name" net.read || fail "download, $name: $(cat "$tmp/document")"
	until_true 20 verdict_is "up-$name" net.write || fail "upload, $name: $(cat "$tmp/document")"
}
both inside
if (outside_or_skip) >"$tmp/outside"; then
	both outside -o
else
	echo "untested: from outside: $(cat "$tmp/outside")"
fi

# --- a program that nwrun.so does not fit into, behind a script: all is measured from outside ---
if [ ! -s "$tmp/outside" ] && ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -static -Iinclude -I. -o "$tmp/edge_static" tests/rig/edge.c 2>"$tmp/err"; then
	rm -f "$tmp/port"
	timeout $((60 * PATIENCE)) python3 "$tmp/peer.py" send "$tmp/port" $bytes &
	pids="$pids $!"
	until_true 20 test -s "$tmp/port" || fail "the peer does not listen"
	printf '#!/bin/sh\nn=%s\nenv A=b %s receive 127.0.0.1 "$1" $n; exit 3\n' $bytes "$tmp/edge_static" >"$tmp/job"
	chmod 755 "$tmp/job"
	timeout $((60 * PATIENCE)) "$nwrun" -i 0.1 -t down-job "$tmp/job" "$(cat "$tmp/port")" 2>"$tmp/err" && fail "a script that ends with 3"
	[ $? = 3 ] || fail "a script ends otherwise: $(cat "$tmp/err")"
	grep -q "edge_static is statically linked: measured from outside" "$tmp/err" || fail "no word of a script's program: $(cat "$tmp/err")"
	until_true 20 verdict_is down-job net.read || fail "a script's program: $(cat "$tmp/document")"
	setpriv --bounding-set=-all --inh-caps=-all "$nwrun" "$tmp/job" 1 2>"$tmp/err" && fail "a script that ends with 3"
	grep -q "edge_static is statically linked, and cannot be measured from outside (.*): the box gets" "$tmp/err" ||
		fail "no word of what is not measured: $(cat "$tmp/err")"
else
	echo "untested: a script's static program: $(tail -n 1 "$tmp/err" "$tmp/outside" 2>/dev/null)"
fi

# --- a dynamically linked program of Go is recognised, and of many threads no byte is missing at the end ---
if command -v rclone >/dev/null && [ ! -s "$tmp/outside" ]; then
	mkdir "$tmp/served"
	head -c 20000000 /dev/urandom >"$tmp/served/big"
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	HOME=$tmp rclone serve http --addr "127.0.0.1:$port" --bwlimit 8M "$tmp/served" >"$tmp/rclone.log" 2>&1 &
	pids="$pids $!"
	until_true 20 curl -sf -o /dev/null "http://127.0.0.1:$port/" || fail "rclone does not serve: $(cat "$tmp/rclone.log")"
	HOME=$tmp "$nwrun" -i 0.1 -t down-rclone rclone copyurl "http://127.0.0.1:$port/big" "$tmp/fetched" 2>"$tmp/err" || fail "rclone ends with $?"
	cmp "$tmp/served/big" "$tmp/fetched" || fail "the copy differs"
	grep -q "rclone is built by Go, .*: measured from outside" "$tmp/err" || fail "Go is not recognised: $(cat "$tmp/err")"
	until_true 20 verdict_is down-rclone net.read || fail "rclone: $(cat "$tmp/document")"
	if unshare --pid --fork --mount --mount-proc true 2>"$tmp/err"; then
		# the kernel adds the child's count to its parent's: all of it is the child's
		NWRUN_REPORT=$tmp/report HOME=$tmp timeout $((60 * PATIENCE)) "$nwrun" -q unshare --pid --fork --mount --mount-proc \
			sh -c "rclone copyurl http://127.0.0.1:$port/big $tmp/again" 2>"$tmp/err" || fail "rclone in a container: $(cat "$tmp/err")"
		until_true 20 test -s "$tmp/report" || fail "rclone in a container: no report"
		# one machine that nobody can look at reads otherwise here: its figures are printed, because the bytes of a copy are proved above
		sed -n 's/^process .* unseen_read=\([0-9]*\) unseen_written=\([0-9]*\) .*/\1 \2/p' "$tmp/report" |
			awk '{ n++; sum += $1 + $2 } END { exit !(n >= 2 && sum < 1000000) }' ||
			echo "untested: all bytes of rclone in a container: $(grep '^process ' "$tmp/report" | cut -c 1-300 | tr '\n' ';')"
	else
		echo "untested: a program of Go in a container: $(cat "$tmp/err")"
	fi
else
	echo "untested: a program of Go: no rclone, or nothing may be watched"
fi
echo "PASS edge"
