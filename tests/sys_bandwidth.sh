#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp's bandwidth sensor: sends bytes within its bounds to another blipp, and to nobody else; not while its host moves data;
# and a rule makes it look at the other end of a transfer when the transfer is over, not before.
# Everything happens in a network name space of its own, where nobody else moves data.
if [ -z "${NARROWS_INSIDE:-}" ]; then
	unshare -n true 2>/dev/null || { echo "no network name spaces here"; exit 77; }
	exec env NARROWS_INSIDE=1 unshare -n sh "$0"
fi
. tests/lib.sh
ip link set lo up && ip link add busy0 type veth peer name busy1 && ip link set busy1 up && ip addr add 10.79.0.1/24 dev busy0 && ip link set busy0 up || skip "no interfaces here"

# A program that greets nobody gets no byte; one that the sensor shall wait for says busy until told otherwise.
cat >"$tmp/others.py" <<'PY'
import os, socket, sys, threading
def curt():  # greets, and never answers
    s = socket.create_server(("127.0.0.5", 5010))
    while True:
        c, _ = s.accept()
        c.sendall(b"narrows-bandwidth ready\n")
        c.close()
threading.Thread(target=curt, daemon=True).start()
def mute(port):
    s = socket.create_server(("127.0.0.3", port))
    while True:
        c, _ = s.accept()
        c.sendall(b"SSH-2.0-other\r\n")
        got = len(c.recv(1 << 16))
        open(sys.argv[1] + ".mute", "a").write("%d\n" % got)
        c.close()
threading.Thread(target=mute, args=(5010,), daemon=True).start()
open(sys.argv[1] + ".ready", "w").close()
blast = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while not os.path.exists(sys.argv[1] + ".quiet"):  # data through an interface: a transfer, for all that anybody knows
    blast.sendto(bytes(60000), ("10.79.0.7", 9))
threading.Event().wait()
PY
# Nobody answers for 10.79.0.7: a fixed neighbour takes the packets.
ip neigh add 10.79.0.7 lladdr 02:00:00:00:00:07 dev busy0
python3 "$tmp/others.py" "$tmp/o" &
pids="$pids $!"
until_true 10 test -e "$tmp/o.ready" || fail "the other programs do not start"

start_box -o rule="open ps:tools:blipp:linux:bandwidth 1s" -o analysis-interval=1s
"$bin/blipp" -b "$xsp" -H far -o probes=bandwidth -o bandwidth-listen=127.0.0.2/5010 -o configuration=no 2>"$tmp/far.log" &
pids="$pids $!"
"$bin/blipp" -b "$xsp" -H near -o probes=bandwidth -o bandwidth=127.0.0.2/5010 -o bandwidth=127.0.0.3/5010 -o bandwidth=127.0.0.4/5010 -o bandwidth=127.0.0.5/5010 -o bandwidth-listen=127.0.0.3/5010 \
	-o bandwidth-size=2MiB -o bandwidth-every=10s -o configuration=no 2>"$tmp/near.log" &
near=$!
pids="$pids $near"
until_true 10 grep -q box.connected "$tmp/near.log" || fail "blipp does not connect"
# A transfer within the host, which the box follows: the rule wants a probe towards its other end.
cat >"$tmp/move.py" <<'PY'
import os, socket, sys, threading, time
s = socket.create_server(("127.0.0.2", 0))
def take():
    c, _ = s.accept()
    while c.recv(1 << 20):
        pass
threading.Thread(target=take, daemon=True).start()
c = socket.create_connection(s.getsockname(), source_address=("127.0.0.1", 0))
while not os.path.exists(sys.argv[1] + ".stop"):
    c.sendall(bytes(65536))
    time.sleep(0.01)
c.close()
PY
"$bin/blipp" -d -b "$xsp" -H mover -o probes=bandwidth -o configuration=no 2>"$tmp/mover.log" &
pids="$pids $!"
until_true 10 grep -q box.connected "$tmp/mover.log" || fail "blipp of the transfer does not connect"
"$bin/nwrun" -H mover -t moved python3 "$tmp/move.py" "$tmp/m" &
program=$!
pids="$pids $program"
follows() { grep -q ' follows=[1-9]' "$tmp/mover.log"; }
value() { # PEER FIELD [HOST]
	"$bin/narrows" -s "$tmp/state" sql "SELECT value FROM v_sample WHERE host = '${3:-near}' AND event_type = 'ps:tools:blipp:linux:bandwidth'
		AND field = '$2' AND subject LIKE '%$1/5010%' ORDER BY t_ns DESC LIMIT 1" 2>/dev/null | tail -n +2 | tail -n 1
}
sleep 2.2 # two looks at a host that moves data
[ -z "$(value 127.0.0.2 bytes)" ] || fail "a probe beside a transfer: $(value 127.0.0.2 bytes) bytes"
[ ! -e "$tmp/o.mute" ] || fail "another program was asked beside a transfer"
: >"$tmp/o.quiet"
known() { [ -n "$(value "$@")" ]; }
until_true 30 known 127.0.0.2 bytes_per_s || fail "no probe of a quiet host: $(cat "$tmp/near.log") $(nw sql "SELECT * FROM v_series WHERE event_type LIKE '%bandwidth'")"
awk -v r="$(value 127.0.0.2 bytes_per_s)" -v b="$(value 127.0.0.2 best_bytes_per_s)" -v n="$(value 127.0.0.2 bytes)" -v w="$(value 127.0.0.2 postponed)" \
	'BEGIN { exit !(r > 1000 && b > 1000 && n > 0 && n <= 2097152 + 65536 && w >= 1) }' ||
	fail "rate $(value 127.0.0.2 bytes_per_s), best $(value 127.0.0.2 best_bytes_per_s), $(value 127.0.0.2 bytes) bytes, postponed $(value 127.0.0.2 postponed)"
gone() { [ "$(value "$1" reachable | cut -c1)" = 0 ]; }
until_true 30 gone 127.0.0.3 || fail "a program that is no blipp is reachable"
until_true 30 gone 127.0.0.4 || fail "nobody is reachable"
there() { [ "$(value "$1" reachable | cut -c1)" = 1 ]; }
until_true 30 there 127.0.0.5 || fail "a peer that greets and never answers is not reachable"
grep -q 'probe.error name=bandwidth why="Address already in use"' "$tmp/near.log" || fail "an address that is taken is not told: $(cat "$tmp/near.log")"
! grep -qv '^0$' "$tmp/o.mute" || fail "another program got bytes: $(cat "$tmp/o.mute")"
kill $near
wait $near || fail "blipp ended with status $?"

# --- by rule, towards the other end of a transfer, behind the transfer ---
until_true 30 follows || fail "the box does not follow the transfer"
sleep 1.2 # a look at a quiet host whose transfer goes on
[ -z "$(value 127.0.0.2 bytes mover)" ] || fail "a probe beside the transfer that it is for"
: >"$tmp/m.stop"
wait $program || fail "the program ended with status $?"
until_true 60 known 127.0.0.2 bytes_per_s mover || fail "no probe behind the transfer: $(cat "$tmp/mover.log" | tail -n 5)"
page() { curl -sL "$url/session/last" >"$tmp/page" && grep -q 'id="sensors"' "$tmp/page" && grep -q '127.0.0.2/5010' "$tmp/page"; }
until_true 30 page || fail "the session's page does not show the probe: $(head -c 300 "$tmp/page")"
echo "$(value 127.0.0.2 bytes mover) bytes behind the transfer"
