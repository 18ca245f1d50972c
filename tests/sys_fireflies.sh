#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fireflies of a measured host: nwrun and nwflow tell the far host and a collector of a connection, with bytes and TCP's account, if
# host.conf says so, and else nobody. The far host's box makes a session of a transfer of whose sender it has nothing else.
. tests/lib.sh

two_networks
a=$a b=$b
ip link add va netns $a type veth peer name vb netns $b
ip -n $a addr add 10.97.5.1/24 dev va && ip -n $b addr add 10.97.5.2/24 dev vb
for n in $a $b; do ip -n $n link set lo up; done
ip -n $a link set va up && ip -n $b link set vb up

mkdir -p "$tmp/state" "$tmp/configuration/narrows"
ip netns exec $a "$bin/narrowsd" -f /dev/null -d -o state-dir="$tmp/state" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 \
    -o listen-announcements=10.97.5.1/10514 -o announce-from=10.97.5.0/24 -o announce-names=conf/scitags.conf -o session-linger=1s 2>"$tmp/box.log" &
pids="$pids $!"
until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
cat >"$tmp/listen.py" <<'PY'
import socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("10.97.5.1", 9000))
tcp = socket.create_server(("10.97.5.1", 9001))
print("ready", file=open(sys.argv[1], "w"), flush=True)
if __import__("os").fork() == 0:
    while True:
        with tcp.accept()[0] as c:
            while c.recv(1 << 20):
                pass
with open(sys.argv[2], "ab", buffering=0) as f:
    while True:
        f.write(udp.recv(65536) + b"\n")
PY
ip netns exec $a python3 "$tmp/listen.py" "$tmp/ready" "$tmp/heard" &
listener=$!
pids="$pids $listener $(pgrep -P $listener || :)"
until_true 10 test -s "$tmp/ready" || fail "no listener"
cat >"$tmp/send.py" <<'PY'
import socket, sys, time
c = socket.create_connection(("10.97.5.1", 9001))
for _ in range(24):
    c.sendall(b"x" * (1 << 20))
    time.sleep(0.02)
time.sleep(0.2)
PY
export NARROWS_BOX=127.0.0.1/1
send() { NWRUN_REPORT="$tmp/report" ip netns exec $b "$bin/nwrun" -q "$@" python3 "$tmp/send.py" || fail "nwrun: $?"; }
ended() { grep -q '^run ' "$tmp/report"; }

# --- nobody asked for them ---
send
until_true 20 ended || fail "no report"
! grep -q fireflies= "$tmp/report" || fail "sent unasked: $(cat "$tmp/report")"
[ ! -s "$tmp/heard" ] || fail "heard unasked: $(cat "$tmp/heard")"

# --- a faulty line is told ---
echo "fireflies collector.example.net" >"$tmp/configuration/narrows/host.conf"
ip netns exec $b "$bin/nwrun" true 2>"$tmp/why"
grep -q 'host.conf:1: .*10514' "$tmp/why" || fail "a name of a collector: $(cat "$tmp/why")"

# --- by nwrun: the far host's box, and the collector ---
printf 'fireflies destination 10.97.5.1/9000\nscitag 2.9\n' >"$tmp/configuration/narrows/host.conf"
rm "$tmp/report"
send
told() { grep -q '"state":"end"' "$tmp/heard"; }
until_true 20 told || fail "the collector heard no end: $(cat "$tmp/heard" "$tmp/report")"
until_true 20 ended || fail "no report"
grep -q ' fireflies=4' "$tmp/report" || fail "the count: $(cat "$tmp/report")"
python3 - "$tmp/heard" <<'PY' || fail "the collector: $(cat "$tmp/heard")"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
d = [json.loads(l[l.index("{"):]) for l in lines]
assert all(len(l) < 1232 and l.split(" ")[:1] == ["<134>1"] for l in lines)
assert [x["flow-lifecycle"]["state"] for x in d] == ["start", "end"], d
assert all(x["flow-id"]["dst-ip"] == "10.97.5.1" and x["flow-id"]["dst-port"] == 9001 for x in d)
assert all(x["context"]["experiment-id"] == 2 and x["context"]["activity-id"] == 9 for x in d)
assert d[1]["usage"] == {"received": 0, "sent": 24 << 20}, d[1]
assert 0 < d[1]["netlink"]["tcpInfo"]["minRtt"] <= 1e6 and d[1]["netlink"]["tcpInfo"]["sndCwnd"] > 0
PY
announced() { nw sessions --json | grep -q '"announced": *true' && nw report 1 >"$tmp/text" 2>&1 && grep -q Missing "$tmp/text"; }
until_true 30 announced || fail "no session of the announcement: $(nw sessions --json)"
nw report 1 --json >"$tmp/document"
python3 - "$tmp/document" <<'PY' || fail "the session: $(head -c 2000 "$tmp/document")"
import json, sys
s = json.load(open(sys.argv[1]))["session"]
assert s["announced_alone"] and s["bytes"] == 24 << 20 and 0.4 < s["duration_s"] < 60, s
PY

# --- by nwflow, from outside ---
(outside_or_skip) >"$tmp/outside" 2>&1 || { echo "untested: fireflies of nwflow: $(tail -n 1 "$tmp/outside")"; exit 0; }
: >"$tmp/heard"
send -o
until_true 20 told || fail "the collector heard nothing from outside: $(cat "$tmp/heard")"
grep '"state":"end"' "$tmp/heard" | grep -q "\"sent\":$((24 << 20))}" || fail "bytes from outside: $(cat "$tmp/heard")"
