#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Kernel events: counts are exact, losses are told, filters and views let through what they should and nothing else.
. tests/lib.sh
magnet=$bin/magnet

"$magnet" points >"$tmp/points" 2>"$tmp/why" || skip "kernel events: $(cat "$tmp/why")"
[ "$(id -u)" = 0 ] || skip "kernel events: root is needed to make views of others"

# Sends and receives N datagrams of 100 bytes on a port of 127.0.0.1, one after the other.
cat >"$tmp/datagrams.py" <<'PY'
import socket, sys
n, port = int(sys.argv[1]), int(sys.argv[2])
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", port))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", port))
for i in range(n):
    s.send(b"x" * 100)
    r.recv(200)
PY

# record FILE DATAGRAMS OPTION ...: records while the datagrams are sent on $port; status in $status
record() {
	file=$1 n=$2
	shift 2
	"$magnet" record -o "$file" -T 50 "$@" 2>"$tmp/record" &
	recorder=$!
	until_true 20 test -s "$file" || fail "the recording does not begin: $(cat "$tmp/record")"
	size=$(stat -c %s "$file")
	taskset -c 0 python3 "$tmp/datagrams.py" "$n" "$port"
	[ -z "${again:-}" ] || {
		until_true 20 grown "$file" "$size" || fail "the recording does not go on: $(cat "$tmp/record")"
		taskset -c 0 python3 "$tmp/datagrams.py" "$again" "$port"
	}
	kill "$recorder"
	status=0
	wait "$recorder" || status=$?
}
# grown FILE BYTES: the reader has emptied its ring since the file had so many bytes
grown() { [ "$(stat -c %s "$1")" -gt "$2" ]; }
# attached PID: its programs are in the kernel, and it waits
attached() { n=$(ls -l "/proc/$1/fd" | grep -c bpf_link) && sleep 0.1 && [ "$(ls -l "/proc/$1/fd" | grep -c bpf_link)" = "$n" ]; }
count() { "$magnet" dump -F csv "$1" 2>/dev/null | awk -F, -v p="$2" '$2 == p { n++ } END { print n + 0 }'; }

port=$((20000 + $$ % 4000))
record "$tmp/all" 997 -p socket,transport,ip,access -f port=$port
[ $status = 0 ] || fail "record ended with $status: $(cat "$tmp/record")"
for p in socket.tx socket.rx ip.tx ip.rx access.tx access.rx driver.tx; do
	grep -q "$p .* none " "$tmp/points" && continue
	[ "$(count "$tmp/all" $p)" = 997 ] || fail "$p: $(count "$tmp/all" $p) of 997"
done

# One in 40 of 997: exactly 24 from one processor, at every point that the sender passes there.
record "$tmp/sampled" 997 -p socket.tx,ip.tx,access.tx -f port=$port -s 40
for p in socket.tx ip.tx access.tx; do
	grep -q "$p .* none " "$tmp/points" && continue
	[ "$(count "$tmp/sampled" $p)" = 24 ] || fail "one in 40 of 997 is $(count "$tmp/sampled" $p) at $p"
done

# A ring that is too small: what is missing by the numbers is what the kernel says that it lost. The second burst comes
# after the ring was emptied, so the first one's losses show as gaps.
again=53
record "$tmp/small" 4999 -p socket.tx,ip.tx,access.tx,access.rx -f port=$port -b 4K -w 1G
again=
[ $status = 3 ] || fail "a loss is not told by the exit status ($status)"
kept=$("$magnet" dump -F csv "$tmp/small" 2>/dev/null | tail -n +2 | wc -l)
lost=$(sed -n 's/.* records, \([0-9]*\) lost/\1/p' "$tmp/record")
[ $((kept + lost)) = $((5052 * 4)) ] || fail "$kept kept and $lost lost are not $((5052 * 4))"
"$magnet" dump -F csv "$tmp/small" 2>/dev/null | tail -n +2 | awk -F, '
	{ gaps += $7 - (seen[$3]++ ? last[$3] + 1 : 0); last[$3] = $7 }
	END { print gaps + 0 }' >"$tmp/gaps"
[ "$(cat "$tmp/gaps")" -le "$lost" ] && [ "$(cat "$tmp/gaps")" -gt 0 ] || fail "gaps $(cat "$tmp/gaps"), lost $lost"

# A minimum count: the file grows when as many records wait and not before, long before the time is over. The records of a
# flow are longer than the shortest, so bytes alone would wake the reader early.
whole() { [ "$(count "$tmp/least" socket.tx)" = 40 ]; }
"$magnet" record -o "$tmp/least" -T 600000 -m 40 -p socket.tx -f port=$port 2>"$tmp/record" &
recorder=$!
pids="$pids $recorder"
until_true 20 test -s "$tmp/least" || fail "the recording does not begin: $(cat "$tmp/record")"
size=$(stat -c %s "$tmp/least")
python3 "$tmp/datagrams.py" 39 "$port"
sleep 0.3
[ "$(stat -c %s "$tmp/least")" = "$size" ] || fail "39 records are written, of at least 40"
python3 "$tmp/datagrams.py" 1 "$port"
until_true 20 whole || fail "40 records are not written: $(count "$tmp/least" socket.tx)"
kill "$recorder"
wait "$recorder" || fail "a recording with a minimum count ended with $?: $(cat "$tmp/record")"

# A filter by identity in the kernel: of two sockets that send alike, all events of the one and none of the other.
cat >"$tmp/two.py" <<'PY'
import os, socket, sys, time
port, folder = int(sys.argv[1]), sys.argv[2]
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", port))
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2)]
for s in sockets: s.connect(("127.0.0.1", port))
open(folder + "/cookie.new", "w").write("%d\n" % int.from_bytes(sockets[0].getsockopt(socket.SOL_SOCKET, 57, 8), sys.byteorder))
os.rename(folder + "/cookie.new", folder + "/cookie")
while not os.path.exists(folder + "/go"): time.sleep(0.01)
for i in range(499):
    for s in sockets:
        s.send(b"x" * 100)
        r.recv(200)
PY
python3 "$tmp/two.py" "$port" "$tmp" &
two=$!
until_true 10 test -e "$tmp/cookie" || fail "the two sockets are not there"
"$magnet" record -o "$tmp/one" -T 50 -p socket.tx,access.tx -f id="$(cat "$tmp/cookie")" 2>"$tmp/record" &
recorder=$!
until_true 20 test -s "$tmp/one" || fail "the recording by identity does not begin"
: >"$tmp/go"
wait $two || fail "the two sockets failed"
kill "$recorder"
wait "$recorder" || fail "the recording by identity ended with $?: $(cat "$tmp/record")"
for p in socket.tx access.tx; do
	[ "$(count "$tmp/one" $p)" = 499 ] || fail "filter by identity: $(count "$tmp/one" $p) of 499 at $p"
done
"$magnet" dump -F csv "$tmp/one" | tail -n +2 | awk -F, -v id="$(cat "$tmp/cookie")" '$6 != id { exit 1 }' || fail "another socket's events"

# A filter by flow, in either direction, and nothing of another port.
record "$tmp/other" 101 -p socket.tx,access.tx -f flow=127.0.0.1/1-127.0.0.1/2
[ "$(count "$tmp/other" socket.tx)" = 0 ] || fail "a filter by another flow lets events through"
cat >"$tmp/pair.py" <<'PY'
import socket, sys
a, b = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2)]
a.bind(("127.0.0.1", int(sys.argv[2]))); b.bind(("127.0.0.1", int(sys.argv[2]) + 1))
a.connect(b.getsockname()); b.connect(a.getsockname())
for i in range(int(sys.argv[1])): a.send(b"x"); b.recv(9); b.send(b"y"); a.recv(9)
PY
mv "$tmp/datagrams.py" "$tmp/datagrams.py.one" && cp "$tmp/pair.py" "$tmp/datagrams.py"
record "$tmp/flow" 101 -p socket.tx,access.tx -f flow=127.0.0.1/$((port + 1))-127.0.0.1/$port
mv "$tmp/datagrams.py.one" "$tmp/datagrams.py"
for p in socket.tx access.tx; do
	[ "$(count "$tmp/flow" $p)" = 202 ] || fail "filter by flow: $(count "$tmp/flow" $p) of 202 at $p"
done

# A socket without a peer: by the flow, and by both ports, all that the sender sent arrives at all points of both ends.
cat >"$tmp/bound.py" <<'PY'
import socket, sys
n, port = int(sys.argv[1]), int(sys.argv[2])
r, s = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2)]
r.bind(("0.0.0.0", port)); s.bind(("0.0.0.0", port + 1))
for i in range(n):
    s.sendto(b"x" * 100, ("127.0.0.1", port))
    r.recv(200)
PY
mv "$tmp/datagrams.py" "$tmp/datagrams.py.one" && cp "$tmp/bound.py" "$tmp/datagrams.py"
for filter in flow=127.0.0.1/$((port + 1))-127.0.0.1/$port port=$port:$((port + 1)); do
	rm -f "$tmp/bound"
	record "$tmp/bound" 101 -p socket,transport,ip,access -f $filter
	for p in socket.tx socket.rx transport.rx ip.tx ip.rx access.tx access.rx; do
		grep -q "$p .* none " "$tmp/points" && continue
		[ "$(count "$tmp/bound" $p)" = 101 ] || fail "$filter, a socket without a peer: $(count "$tmp/bound" $p) of 101 at $p"
	done
done
rm -f "$tmp/bound"
record "$tmp/bound" 11 -p socket,transport -f flow=127.0.0.1/$((port + 2))-127.0.0.1/$((port + 3))
[ "$("$magnet" dump -F csv "$tmp/bound" | tail -n +2 | wc -l)" = 0 ] || fail "the filter of another flow lets a socket without a peer through"
mv "$tmp/datagrams.py.one" "$tmp/datagrams.py"

# A value that nothing can have is refused by name.
for wrong in port=99999 port=0 port=1:99999 pid=-1 pid=0 cpu=4096 flow=127.0.0.1/1-127.0.0.1/65536 id=x; do
	"$magnet" record -o "$tmp/wrong" -p socket.tx -t 0.1 -f $wrong >/dev/null 2>"$tmp/why" && fail "-f $wrong is taken"
	grep -qF "\"${wrong#*=}\" is no ${wrong%%=*}" "$tmp/why" || fail "-f $wrong: $(cat "$tmp/why")"
done

# Who causes most comes first. A signal ends the interval.
"$magnet" top -p socket.tx -f port=$port -i 600 -n 1 >"$tmp/top" &
top=$!
pids="$pids $top"
until_true 20 attached $top || fail "top attaches nothing"
python3 "$tmp/datagrams.py" 97 "$port"
kill $top
wait $top || fail "top"
awk '$1 == "socket.tx" { n++; if ($3 <= 0) exit 1 } END { exit n != 1 }' "$tmp/top" || fail "top: $(cat "$tmp/top")"

# The same for a recording.
id=$("$magnet" dump -F csv "$tmp/all" | awk -F, -v p=$port '$2 == "socket.tx" && $13 == p { print $6; exit }')
[ -n "$id" ] && [ "$id" != 0 ] || fail "the socket has no identity"
"$magnet" dump -F csv -f id="$id" "$tmp/all" | tail -n +2 | awk -F, -v id="$id" '$6 != id { exit 1 }' || fail "dump -f id"

# Statistics in the kernel add up.
"$magnet" stat -p socket.tx -f port=$port -i 600 -n 1 -c >"$tmp/stat" &
stat=$!
pids="$pids $stat"
until_true 20 test -s "$tmp/stat" || fail "stat does not begin"
python3 "$tmp/datagrams.py" 499 "$port"
kill $stat
wait $stat || fail "stat"
awk -F, '$2 == "socket.tx" && $4 == 499 && $5 == 49900 && $6 == 100 && $7 == 100 { ok = 1 } END { exit !ok }' "$tmp/stat" ||
	fail "statistics: $(cat "$tmp/stat")"

# Pre-emption is a wait for a processor: three programs that only compute share one, and never sleep.
preempted() {
	waited_ns() { cut -d ' ' -f 2 "/proc/$1/schedstat"; }
	cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
	loops=
	for i in 1 2 3; do
		taskset -c "$cpu" sh -c 'while :; do :; done' &
		loops="$loops $!"
	done
	pids="$pids $loops"
	loop=${loops##* }
	before=$(waited_ns "$loop")
	rm -f "$tmp/stat"
	"$magnet" stat -l -F -f pid="$loop" -i 600 -n 1 -c >"$tmp/stat" &
	stat=$!
	pids="$pids $stat"
	until_true 20 test -s "$tmp/stat" || fail "stat -l does not begin"
	began=$(waited_ns "$loop")
	sleep 1
	ended=$(waited_ns "$loop")
	kill $stat
	wait $stat || fail "stat -l"
	after=$(waited_ns "$loop")
	kill $loops
	# what was begun before the first look is not seen: at most one wait, which /proc counts when it ends
	awk -F, -v least=$((ended - began)) -v most=$((after - before)) -v all="$(cat "$tmp/stat")" '
		$2 == "run_queue" { sum += $5 }
		END { if (!(sum >= 0.8 * least && sum <= 1.02 * most)) { print "waits of a loop: " sum " ns, /proc: " least " to " most "\n" all; exit 1 } }' \
		"$tmp/stat" || fail "waits of a pre-empted program"
}
preempted

# Little's law: the bytes of a stage, as sockets tell them, are its rate times the mean wait of a byte, as the kernel is watched. The
# receiver reads 64 KiB every 20 ms, so both sockets are long full; a read takes a small part of what lies there.
cat >"$tmp/little.py" <<'PY'
import csv, fcntl, os, socket, struct, subprocess, sys, termios, threading, time
magnet, port = sys.argv[1], int(sys.argv[2])
SIOCOUTQNSD = 0x894b  # bytes of the send buffer that were not sent
def queued(s, what): return struct.unpack("i", fcntl.ioctl(s, what, bytes(4)))[0]
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 400000)
l.bind(("127.0.0.1", port))
l.listen()
out = socket.socket()
out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1000000)
out.connect(l.getsockname())
into, _ = l.accept()
stat = subprocess.Popen([magnet, "stat", "-l", "-i", "600", "-n", "1", "-c"], stdout=subprocess.PIPE, text=True)
stat.stdout.readline()
end, taken, looks = time.monotonic() + 8, 0, []
def send():
    try:
        while time.monotonic() < end: out.sendall(bytes(65536))
    except OSError: pass
def receive():
    global taken
    while time.monotonic() < end:
        taken += len(into.recv(65536))
        time.sleep(0.02)
for f in send, receive: threading.Thread(target=f, daemon=True).start()
time.sleep(1.5)
began, before = time.monotonic(), taken
while time.monotonic() < began + 6:
    looks.append((queued(out, SIOCOUTQNSD), queued(into, termios.FIONREAD)))
    time.sleep(0.01)
rate = (taken - before) / (time.monotonic() - began)
stat.terminate()
best = {}
for row in csv.reader(stat.stdout):  # of the whole machine; the waits of others are short, and weigh nothing
    if row[1] in ("send_buffer", "read") and float(row[4]) > best.get(row[1], (0, 0))[0]:
        n, total, mean, sd = int(row[3]), float(row[4]), float(row[7]), float(row[8])
        best[row[1]] = total, (mean + sd * sd / mean) * 1e-9 if n > 1 else 0
for i, wait in enumerate(("send_buffer", "read")):
    lay = sum(look[i] for look in looks) / len(looks)
    law = rate * best.get(wait, (0, 0))[1]
    print(f"{wait}: {lay:.0f} bytes lay there, rate times wait is {law:.0f}")
    # the first byte of a burst waits least, and another program may have a full send buffer
    assert 0.6 * lay < law and (wait != "read" or law < 1.5 * lay), (wait, lay, law, rate, best)
os._exit(0)
PY
timeout 60 python3 "$tmp/little.py" "$magnet" $((port + 3)) || fail "Little's law"

# In a name space of processes filters and records have the numbers that its processes see, also of a process below, whose own
# number is 1.
cat >"$tmp/inside.sh" <<'S'
magnet=$1 tmp=$2 port=$3
go='until [ -e "$0" ]; do sleep 0.01; done; exec python3 "$1" 97 "$2"'
sh -c "$go" "$tmp/go1" "$tmp/datagrams.py" "$port" &
first=$!
unshare --pid --fork sh -c "$go" "$tmp/go2" "$tmp/datagrams.py" "$port" &
parent=$!
until [ -n "$(cat "/proc/$parent/task/$parent/children")" ]; do sleep 0.01; done
below=$(cat "/proc/$parent/task/$parent/children")
"$magnet" record -o "$tmp/inside" -T 50 -p socket.tx,sched.exit -f pid=$first -f pid=$((below)) 2>"$tmp/record" &
recorder=$!
n=0
until [ -s "$tmp/inside" ]; do n=$((n + 1)); [ $n -lt 2000 ] || exit 1; sleep 0.01; done
: >"$tmp/go1"
wait $first
: >"$tmp/go2"
wait $parent
kill $recorder
wait $recorder
echo "$first $((below)) $parent" >"$tmp/numbers"
S
unshare --pid --fork --mount --mount-proc --kill-child sh "$tmp/inside.sh" "$magnet" "$tmp" "$port" || fail "in a name space of processes: $(cat "$tmp/record")"
read -r first below parent <"$tmp/numbers"
"$magnet" dump -F csv "$tmp/inside" | tail -n +2 | awk -F, -v first="$first" -v below="$below" '
	$4 != first && $4 != below { print "of " $4 ": " $0; exit 1 }
	$2 == "socket.tx" { n[$4]++ }
	$2 == "sched.exit" && $6 == $5 { ends[$4]++ }
	END { if (n[first] != 97 || n[below] != 97 || !ends[first] || !ends[below]) { print n[first] + 0, n[below] + 0, ends[first] + 0, ends[below] + 0; exit 1 } }' \
	>"$tmp/out" || fail "in a name space of processes, $first and $below: $(cat "$tmp/out")"

# Whatever is refused for want of a capability names the capability.
bare() { setpriv --reuid 65534 --clear-groups --inh-caps "$1" --ambient-caps "$1" --bounding-set "-all,$1" "$magnet" "$2" -p "$3" -n 1; }
chmod 755 "$tmp"
bare +bpf,+perfmon stat ip 2>"$tmp/why" >/dev/null && fail "points of netfilter need no CAP_NET_ADMIN"
grep -q 'CAP_NET_ADMIN is missing' "$tmp/why" || fail "a missing capability is not named: $(cat "$tmp/why")"
bare +bpf stat socket.tx 2>"$tmp/why" >/dev/null && fail "tracing needs no CAP_PERFMON"
grep -q 'CAP_PERFMON is missing' "$tmp/why" || fail "a missing capability is not named: $(cat "$tmp/why")"

# A view: a reader without privilege sees the events of its network namespace, and no others.
ip netns add "nw$$" 2>/dev/null || skip "views: network namespaces cannot be made here"
trap 'ip netns del "nw$$" 2>/dev/null; lib_cleanup' EXIT
ip -n "nw$$" link set lo up
${CC:-cc} -O1 -std=c11 -Iinclude -o "$tmp/viewer" tests/viewer.c "$B/lib/libmagnet.a" || fail "viewer does not compile"
chmod 755 "$tmp"
socket=$tmp/magnet.sock
"$magnet" serve -S "$socket" &
pids="$pids $!"
until_true 10 "$magnet" status -S "$socket" >/dev/null 2>&1 || fail "magnet serve does not listen"
"$magnet" view -S "$socket" mine netns=/run/netns/nw$$ uid=65534 bytes=65536 || fail "no view"
"$magnet" on -S "$socket" socket.tx,ip >/dev/null || fail "on"
each=1 # records of a datagram: the IP layer's too, where its points can be taken
grep -q "ip.tx .* none " "$tmp/points" || each=3
setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/viewer" "$socket" mine 600 >"$tmp/seen" 2>&1 &
viewer=$!
pids="$pids $viewer"
until_true 10 grep -q open "$tmp/seen" || fail "the view cannot be opened: $(cat "$tmp/seen")"
python3 "$tmp/datagrams.py" 101 $((port + 1))
nsenter --net=/run/netns/nw$$ python3 "$tmp/datagrams.py" 211 "$port"
kill $viewer
wait $viewer || fail "the viewer failed"
[ "$(sed -n "s/^$port //p" "$tmp/seen")" = $((211 * each)) ] || fail "the view has not all of its events: $(cat "$tmp/seen")"
! grep -q "^$((port + 1)) " "$tmp/seen" || fail "the view has events of others: $(cat "$tmp/seen")"
grep -q '^lost 0' "$tmp/seen" || fail "the view lost events"
! setpriv --reuid 65534 --regid 65534 --clear-groups "$magnet" off -S "$socket" socket.tx >/dev/null 2>&1 ||
	fail "a user without privilege switched a point off"
! setpriv --reuid 65533 --regid 65533 --clear-groups "$tmp/viewer" "$socket" mine 1 >/dev/null 2>&1 ||
	fail "another user opened the view"
"$magnet" off -S "$socket" socket.tx,ip || fail "off"
before=$("$magnet" status -S "$socket")
python3 "$tmp/datagrams.py" 11 "$port"
[ "$before" = "$("$magnet" status -S "$socket")" ] || fail "a point that is off still counts"

# A filter of another namespace, for a recording: the IP layer has its events, too.
if [ $each = 3 ]; then
	"$magnet" record -o "$tmp/there" -T 50 -p ip -f netns=/run/netns/nw$$ -f port=$port 2>"$tmp/record" &
	recorder=$!
	pids="$pids $recorder"
	until_true 20 test -s "$tmp/there" || fail "the recording of a namespace does not begin: $(cat "$tmp/record")"
	python3 "$tmp/datagrams.py" 13 "$port"
	nsenter --net=/run/netns/nw$$ python3 "$tmp/datagrams.py" 17 "$port"
	kill $recorder
	wait $recorder || fail "the recording of a namespace: $(cat "$tmp/record")"
	for p in ip.tx ip.rx; do
		[ "$(count "$tmp/there" $p)" = 17 ] || fail "a namespace: $(count "$tmp/there" $p) of 17 at $p"
	done
fi

# What is missing is named.
setpriv --bounding-set -all,+setuid --inh-caps -all --ambient-caps -all --reuid 65534 --regid 65534 --clear-groups \
	"$magnet" points >/dev/null 2>"$tmp/why" && fail "no capability is needed?"
grep -q 'CAP_BPF is missing' "$tmp/why" || fail "the missing capability is not named: $(cat "$tmp/why")"
