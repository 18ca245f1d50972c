#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nwflow as an agent: a box in NARROWS_BOX by TLS gets the sessions; while nothing is stored the agent says so; a signal ends
# the agent and `nwflow -p` at once, also where the box does not answer.
. tests/lib.sh

# in a network of its own: an agent sees the transfers of all programs
if [ -z "${AGENT_ALONE:-}" ]; then
	unshare -n true 2>/dev/null || skip "a network of its own needs root"
	AGENT_ALONE=1 exec unshare -n sh "$0"
fi
ip link set lo up
outside_or_skip
mkdir "$tmp/hosts" "$tmp/state"
nw enroll -o "$tmp/hosts" dtn1 >/dev/null || fail "enroll"
start_box -o listen-xsp-tls=127.0.0.1/0 -o session-linger=1s
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")

# agent LOG [OPTION ...]: an agent for large transfers, the loopback's too
agent() {
	log=$1
	shift
	"$bin/nwflow" -d -o watch=yes -o loopback=yes -o "bytes=1 MiB" -o "look=50 ms" -o "quiet=1 s" "$@" 2>"$log" &
	agent=$!
	pids="$pids $agent"
	until_true 20 grep -q agent.start "$log" || fail "the agent does not start: $(cat "$log")"
}
# ends PID LOG: within a second of an idle machine
ends() {
	begin=$(date +%s%N)
	kill -INT "$1"
	wait "$1" || :
	ms=$((($(date +%s%N) - begin) / 1000000))
	[ $ms -lt $((1000 * (1 + $(patience)))) ] || fail "the end takes $ms ms: $(cat "$2")"
}

# a box that is away: the agent says so, and ends at once
NARROWS_BOX=127.0.0.1/1 agent "$tmp/away.log"
until_true 20 grep -q 'agent.away .*nothing is stored' "$tmp/away.log" || fail "no word on the box: $(cat "$tmp/away.log")"
ends $agent "$tmp/away.log"
grep -q 'agent.end sessions=0 .*the box is away' "$tmp/away.log" || fail "no word at the end: $(cat "$tmp/away.log")"

# the environment names the box and the host
NARROWS_BOX=tls://$tls NARROWS_HOST=dtn1 NARROWS_TLS=$tmp/hosts agent "$tmp/agent.log"
cat >"$tmp/transfer.py" <<'PY'
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(listener.getsockname())
c, _ = listener.accept()
def drain():
    while c.recv(1 << 16):
        pass
t = threading.Thread(target=drain)
t.start()
for i in range(60):
    s.sendall(bytes(1 << 17))
    time.sleep(0.05)
s.close()
t.join()
PY
python3 "$tmp/transfer.py" || fail "the transfer"
came() { nw sessions --json --host dtn1 | grep -q '"program": *"transfer.py (python3)"'; }
until_true 10 came || fail "no session: $(cat "$tmp/agent.log"; nw sessions --json)"
# it began in the middle: of the 7.5 MiB at least the 1 MiB that makes a transfer had moved
id=$(nw sessions --json --host dtn1 | sed -n '/transfer.py/s/.*"id":\([0-9]*\),.*/\1/p' | tail -n 1)
before() { nw report --json "$id" >"$tmp/report" && python3 -c 'import json, sys
assert 1 << 20 <= json.load(open(sys.argv[1]))["quality"]["bytes_before"] < 7864320' "$tmp/report" 2>/dev/null; }
until_true 10 before || fail "bytes before the session: $(grep -o '"quality".*' "$tmp/report")"
! grep -q agent.away "$tmp/agent.log" || fail "the box is there: $(cat "$tmp/agent.log")"
python3 "$tmp/transfer.py" &
moving=$!
pids="$pids $moving"
begun() { [ "$(grep -c session.begin "$tmp/agent.log")" -ge 2 ]; }
until_true 20 begun || fail "no second session: $(cat "$tmp/agent.log")"
# a stopped box, while a session runs
kill -STOP "$box"
ends $agent "$tmp/agent.log"
kill -CONT "$box"
kill $moving 2>/dev/null || :

# one process: the box is away, and nothing is seen
sleep 600 &
idle=$!
pids="$pids $idle"
"$bin/nwflow" -b 127.0.0.1/1 -p $idle 2>"$tmp/one.log" &
one=$!
pids="$pids $one"
until_true 20 grep -q '^nwrun: the box does not answer' "$tmp/one.log" || fail "nwflow -p says nothing of the box: $(cat "$tmp/one.log")"
ends $one "$tmp/one.log"
until_true 20 grep -q '^nwrun: nothing of the processes was seen' "$tmp/one.log" || fail "nothing was seen: $(cat "$tmp/one.log")"
