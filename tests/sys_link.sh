#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The rig's link (tests/rig/link.c) delays, limits, loses and drops as its parameters say. Other work on the machine can
# make packets late, never early: bounds from above are wide.
set -u
. tests/patience.sh
B=${B:-build/release}
[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] || { echo "needs root and TUN devices"; exit 77; }
a=nwlink$$a b=nwlink$$b
tmp=$(mktemp -d)
link=
cleanup() {
	[ -z "$link" ] || kill "$link" 2>/dev/null
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
ip netns add $a 2>/dev/null && ip netns add $b || { echo "no namespaces here"; exit 77; }

echo "0 10 0 0
0 10 0 0" >"$tmp/parameters"
"$B/tests/rig/link" $a wan $b wan "$tmp/parameters" >"$tmp/counters" &
link=$!
until grep -q ready "$tmp/counters"; do sleep 0.05; kill -0 "$link" || exit 1; done
for i in 1 2; do
	[ $i = 1 ] && ns=$a || ns=$b
	ip -n $ns addr add 10.233.0.$i/30 dev wan && ip -n $ns link set wan txqueuelen 10000 up || exit 1
done

cat >"$tmp/packets.py" <<'PYTHON'
import socket, struct, sys, time

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), 8 << 20)  # other work on the machine loses nothing
if sys.argv[1] == "answer":                      # returns each packet's number with the time of its arrival
    s.bind(("10.233.0.2", 7))
    print("ready", flush=True)
    while True:
        data, peer = s.recvfrom(2000)
        s.sendto(data[:4] + struct.pack("<d", time.monotonic()), peer)
n, size, gap = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
sent, rtt, arrived = [], [], []
def take(wait):
    s.settimeout(wait)
    try:
        while True:
            data = s.recv(2000)
            rtt.append(time.monotonic() - sent[struct.unpack("<i", data[:4])[0]])
            arrived.append(struct.unpack("<d", data[4:12])[0])
    except (socket.timeout, BlockingIOError):
        pass
for i in range(n):
    sent.append(time.monotonic())
    s.sendto(struct.pack("<i", i).ljust(size, b"x"), ("10.233.0.2", 7))
    if gap:
        take(gap)
take(1.0)
rtt.sort()
print(len(rtt), round(rtt[len(rtt) // 2] * 1e3, 2) if rtt else 0, round(max(arrived) - sent[0], 4) if rtt else 0)
PYTHON
in_a="nsenter --net=/run/netns/$a --" in_b="nsenter --net=/run/netns/$b --"
$in_b python3 "$tmp/packets.py" answer >"$tmp/answer" &
answer=$!
trap 'kill $answer 2>/dev/null; cleanup' EXIT
until grep -q ready "$tmp/answer"; do sleep 0.05; kill -0 $answer || exit 1; done

# counters_told: the link has written its counters once more
told() { grep -c '^b-a' "$tmp/counters"; }
counters_told() {
	before=$(told)
	kill -USR1 $link
	until [ "$(told)" -gt "$before" ]; do sleep 0.05; kill -0 $link || exit 1; done
}
status=0
# case WORDS PARAMETERS N SIZE GAP CONDITION: the condition is awk's, of n (answers), rtt (median, ms), s (from the first
# that was sent to the last that came) and p (PATIENCE)
case_run() {
	words=$1
	printf '%s\n0 10 0 0\n' "$2" >"$tmp/parameters"
	kill -HUP $link # which is served before SIGUSR1
	counters_told
	result=$($in_a python3 "$tmp/packets.py" "$3" "$4" "$5")
	echo "$words: answers, median ms, first sent to last come s: $result"
	echo "$result" | awk -v p="$PATIENCE" "{ n = \$1; rtt = \$2; s = \$3; exit !($6) }" || { echo "FAIL: not $6"; status=1; }
}
case_run "10 ms each way" "0 10 0 0" 100 100 0.002 "n == 100 && rtt >= 20 && rtt < 20 + 5 * p * p"
case_run "40 ms there, 10 back" "0 40 0 0" 50 100 0.002 "n == 50 && rtt >= 50 && rtt < 50 + 5 * p * p"
# 300 packets of 1428 bytes at 10 Mbit/s need 0.342 s
case_run "10 Mbit/s" "10 0 0 10000000" 300 1400 0 "n == 300 && s >= 0.335 && s < 0.6 * p"
# of a burst, what the queue takes and the link carries meanwhile: 14 packets, and a few more on a slow machine
case_run "a queue of 20,000 bytes" "1 0 0 20000" 100 1400 0 "n >= 13 && n <= 15 + 15 * p"
# 2000 packets, 5 % lost: 1900, four standard deviations are 39
case_run "5 % lost" "0 0 5 0" 2000 50 0.0001 "n > 1861 && n < 1939"
counters_told
tail -n 2 "$tmp/counters" | grep -q '^a-b .*lost=[1-9][0-9]* dropped=[1-9]' || { cat "$tmp/counters"; echo "FAIL: counters"; status=1; }

# large packets: bytes stay as they are around lost and dropped segments, of which so many are lost as of small packets
kill $link $answer
wait $link
echo "400 1 1 100000
0 1 0 0" >"$tmp/parameters"
"$B/tests/rig/link" $a wan $b wan "$tmp/parameters" large >"$tmp/counters" &
link=$!
until grep -q ready "$tmp/counters"; do sleep 0.05; kill -0 "$link" || exit 1; done
for i in 1 2; do
	[ $i = 1 ] && ns=$a || ns=$b
	ip -n $ns addr add 10.233.0.$i/30 dev wan && ip -n $ns link set wan mtu 1500 txqueuelen 10000 up || exit 1
done
cat >"$tmp/bytes.py" <<'PYTHON'
import hashlib, socket, sys
if sys.argv[1] == "take":
    with socket.create_server(("10.233.0.2", 9)) as server:
        print("ready", flush=True)
        c, digest = server.accept()[0], hashlib.sha1()
        while data := c.recv(1 << 20):
            digest.update(data)
        print(digest.hexdigest())
else:
    with socket.create_connection(("10.233.0.2", 9)) as c, open(sys.argv[1], "rb") as f:
        c.sendall(f.read())
PYTHON
$in_b python3 "$tmp/bytes.py" take >"$tmp/taken" &
answer=$!
until grep -q ready "$tmp/taken"; do sleep 0.05; kill -0 $answer || exit 1; done
head -c 12M /dev/urandom >"$tmp/sent"
$in_a python3 "$tmp/bytes.py" "$tmp/sent" || exit 1
wait $answer
[ "$(tail -n 1 "$tmp/taken")" = "$(sha1sum <"$tmp/sent" | cut -d ' ' -f 1)" ] || { echo "FAIL: large packets arrive otherwise"; status=1; }
counters_told
# at least 8,700 segments; 1 % of them are lost, give or take four standard deviations
grep '^a-b' "$tmp/counters" | tail -n 1 | tee "$tmp/large" | tr ' =' '\n\n' | paste -sd ' ' |
	awk '{ n = $3; lost = $7; bytes = $5; exit !(n > 8700 && bytes / n > 1300 && lost > n / 100 - 4 * sqrt(n / 100) && lost < n / 100 + 4 * sqrt(n / 100)) }' ||
	{ echo "FAIL: large packets: $(cat "$tmp/large")"; status=1; }
exit $status
