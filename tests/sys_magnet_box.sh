#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Waiting times inside the kernel reach the box: of the connection and the host that an order names, while the order
# lasts, within the budget; nothing is attached before and after.
. tests/lib.sh
magnet=$bin/magnet
"$magnet" stat -l -n 1 -i 0.01 >/dev/null 2>"$tmp/why" || skip "kernel events: $(cat "$tmp/why")"

# A connection over loopback, from port $1 to port $2, that moves 10 kB every 2 ms until it is killed; the reader
# lets bytes lie for 10 ms.
cat >"$tmp/talk.py" <<'PY'
import socket, sys, threading, time
here, there = int(sys.argv[1]), int(sys.argv[2])
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", there))
listener.listen(1)
def read():
    c = listener.accept()[0]
    while True:
        time.sleep(0.01)
        if not c.recv(1 << 20): return
threading.Thread(target=read, daemon=True).start()
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", here))
s.connect(("127.0.0.1", there))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
open(sys.argv[3], "w").close()
while True:
    s.send(b"x" * 10000)
    time.sleep(0.002)
PY

port=$((24000 + $$ % 4000))
start_box -o escalate-kernel=always
"$magnet" serve -S "$tmp/magnet.sock" -b "$xsp" -H kernelhost -o budget=0.9 2>"$tmp/magnet.log" &
server=$!
pids="$pids $server"
python3 "$tmp/talk.py" $port $((port + 1)) "$tmp/talks" &
pids="$pids $!"
until_true 10 test -e "$tmp/talks" || fail "the connection is not there"
programs() { ls -l "/proc/$server/fd" | grep -c bpf_link || :; }
until_true 10 nw control kernelhost status || fail "magnet does not reach the box: $(cat "$tmp/magnet.log")"
[ "$(programs)" = 0 ] || fail "programs are attached before anybody asks"

has() { [ "$(sql "SELECT count(*) FROM v_series WHERE event_type = 'ps:host:kernel:$1' AND field = '$3' AND json_extract(subject, '\$.sport') IS $2")" -ge 1 ]; }
nw control kernelhost start -e ps:host:kernel -c 127.0.0.1/$port-127.0.0.1/$((port + 1)) -f 60s >"$tmp/order" || fail "the order is not taken"
nw control kernelhost start -e ps:host:kernel -c 127.0.0.1/$((port + 1))-127.0.0.1/$port -f 60s >>"$tmp/order" || fail "the second order"
nw control kernelhost start -e ps:host:kernel:point:socket.tx -f 60s >>"$tmp/order" || fail "a point cannot be ordered"
for wait in send_buffer driver run_queue; do
	until_true 10 has $wait $port sum_d || fail "no $wait of the sending end: $(cat "$tmp/magnet.log"; nw control kernelhost status)"
done
for wait in receive read; do
	until_true 10 has $wait $((port + 1)) sum_d || fail "no $wait of the receiving end"
done
until_true 10 has point:socket.tx NULL hits || fail "the ordered point does not count"
[ "$(programs)" -gt 8 ] || fail "$(programs) programs are attached"
nw control kernelhost status | grep -q "tcp:127.0.0.1/$port" || fail "the status does not name the connection: $(nw control kernelhost status)"

"$magnet" status -S "$tmp/magnet.sock" | grep -q '^socket.tx on' || fail "the ordered point is not on"

# The reader lets bytes lie for up to 10 ms: that is what the kernel says, and not what it says of the bytes' way out.
mean() {
	nw sql --csv "SELECT avg(value) FROM v_sample WHERE event_type = 'ps:host:kernel:$1' AND field = 'mean_d' AND json_extract(subject, '\$.sport') = $2" | tail -n 1
}
sleep 2
awk -v read="$(mean read $((port + 1)))" -v out="$(mean send_buffer $port)" 'BEGIN { exit !(read > 0.002 && out < read / 2 && out > 0) }' ||
	fail "bytes wait $(mean read $((port + 1))) s to be read and $(mean send_buffer $port) s to be sent"

# A STOP ends it all.
nw control kernelhost stop >/dev/null || fail "stop"
none() { [ "$(programs)" -le 2 ]; } # socket.tx, attached once, stays with the program beside it, both switched off
until_true 10 none || fail "$(programs) programs stay attached"
"$magnet" status -S "$tmp/magnet.sock" | grep -q '^socket.tx off' || fail "the point stays on"

# A transfer whose reader is slow: the box orders what the kernel knows, the witness says where bytes lay, and the page
# shows it. Both programs are started with nwrun, and do not know.
cat >"$tmp/move.py" <<'PY'
import socket, sys, time
s, port = socket.socket(), int(sys.argv[2])
if sys.argv[1] == "receive":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", port))
    s.listen(1)
    c = s.accept()[0]
    while c.recv(65536):
        end = time.monotonic() + 0.002
        while time.monotonic() < end: pass
else:
    while s.connect_ex(("127.0.0.1", port)) != 0:
        s = socket.socket()
        time.sleep(0.05)
    end = time.monotonic() + 5
    while time.monotonic() < end: s.sendall(b"x" * 65536)
PY
export NARROWS_HOST=kernelhost
"$bin/nwrun" -t moved python3 "$tmp/move.py" receive $((port + 2)) >/dev/null 2>&1 &
receiver=$!
"$bin/nwrun" -t moved python3 "$tmp/move.py" send $((port + 2)) >/dev/null 2>&1 || fail "the transfer failed"
wait $receiver || fail "the receiver failed"
told() { nw report last --json >"$tmp/result" 2>/dev/null && python3 - "$tmp/result" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
w = [w for w in d["verdict"]["witnesses"] if w["name"] == "kernel"]
lay = {(w["end"], w["wait"]): w["at_once"] for w in d["kernel"]["waits"]}
sys.exit(not (len(w) == 1 and w[0]["says"] == "the receiving end" and w[0]["agrees"] is not False and
              lay[("receiving", "read")] > 0.7 and d["kernel"]["sentence"].startswith("Below the programs")))
PY
}
until_true 10 told || fail "the kernel does not say that bytes lay before the receiver: $(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["verdict"]["sentence"], d["verdict"]["witnesses"], [(w["wait"], w["share"]) for w in (d["kernel"] or {"waits": []})["waits"]])' "$tmp/result" 2>&1)"
id=$(sql "SELECT max(id) FROM session")
curl -sf "$url/session/$id" >"$tmp/page" || fail "no page"
grep -q 'id="p-below"' "$tmp/page" && grep -q 'class="stack f0"' "$tmp/page" || fail "the page does not show what was below the programs"
curl -sf "$url/session/$id/p-below.csv" | grep -q 'in the receiving socket, kernelhost' || fail "no CSV of the figure"
until_true 10 none || fail "programs stay attached after the session"
