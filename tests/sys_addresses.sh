#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two enrolled hosts whose transfers take another interface than their reports. A named session has both ends, orders reach
# the host that only measures, and the route and the verdict are as with one interface: by the addresses of the certificates
# (enroll --address), and, where both ends report the connection, without them.
. tests/lib.sh
two_networks
for net in 1 2; do # 1: reports, 2: data
	ip link add v$net netns $a type veth peer name v$net netns $b || skip "no veth here"
	for host in 1 2; do
		[ $host = 1 ] && ns=$a || ns=$b
		ip -n $ns addr add 10.235.$net.$host/24 dev v$net
		ip -n $ns link set v$net up
		ip -n $ns link set lo up
	done
done
mkdir "$tmp/state" "$tmp/dtn-a" "$tmp/dtn-b" "$tmp/bare"

# --- what a certificate may list ---
for bad in 127.0.0.1 ::1 0.0.0.0 224.0.0.1 10.235.2 dtn-b 'x y'; do
	nw enroll -o "$tmp" --address "$bad" dtn-x 2>/dev/null && fail "a certificate lists \"$bad\""
done
many=
for i in 1 2 3 4 5 6 7 8 9; do many="$many --address 10.9.9.$i"; done
# shellcheck disable=SC2086
nw enroll -o "$tmp" $many dtn-x 2>"$tmp/why" && fail "a certificate lists nine addresses"
grep -q "too many addresses" "$tmp/why" || fail "nine addresses: $(cat "$tmp/why")"

# The box runs beside the first host, and listens on the network of reports alone.
ip netns exec $a "$bin/narrowsd" -d -o state-dir="$tmp/state" -o listen-xsp=127.0.0.1/5006 -o listen-http=127.0.0.1/0 \
    -o listen-xsp-tls=10.235.1.1/5007 -o listen-https=10.235.1.1/5008 2>"$tmp/box.log" &
pids="$!"
until_true 10 test -f "$tmp/state/narrowsd.run" || fail "the box does not start"
box=tls://10.235.1.1/5007
nw enroll -o "$tmp/dtn-a" --address 10.235.2.1 dtn-a >/dev/null || fail "enroll --address"
token=$(nw enroll --token --address 10.235.2.2 dtn-b) || fail "enroll --token --address"
ip netns exec $b "$bin/narrows-host" join -o "$tmp/dtn-b" https://10.235.1.1:5008 "$token" >/dev/null || fail "join"
for h in a b c; do nw enroll -o "$tmp/bare" bare-$h >/dev/null || fail "enroll bare-$h"; done
sleep 1.2

cat >"$tmp/transfer.py" <<'PY'
import socket, sys, time
if sys.argv[1] == "send":
    c, _ = socket.create_server((sys.argv[2], 7777)).accept()
    end = time.time() + float(sys.argv[3])
    while time.time() < end:
        c.sendall(b"x" * 65536)
        time.sleep(0.012)
else:
    for _ in range(200):
        try:
            c = socket.create_connection((sys.argv[2], 7777))
            break
        except OSError:
            time.sleep(0.05)
    while c.recv(65536):
        pass
PY
# run NAMESPACE TASK HOST DIRECTORY COMMAND ...
run() {
	ns=$1 task=$2 host=$3 tls=$4
	shift 4
	NARROWS_TLS=$tls NARROWS_BOX=$box ip netns exec "$ns" "$bin/nwrun" -q -H "$host" -t "$task" "$@"
}
judged() {
	nw report --json "$(sql "SELECT min(id) FROM session WHERE task_id = '$1'")" >"$tmp/$1.json" 2>/dev/null &&
	    grep -q '"state": *"closed"' "$tmp/$1.json" && grep -q '"run": *{' "$tmp/$1.json"
}

# --- one end under nwrun: orders find the other host by the address of its certificate ---
ip netns exec $b "$bin/blipp" -d -H dtn-b -b $box -o tls-dir="$tmp/dtn-b" 2>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
until_true 5 grep -q box.connected "$tmp/blipp.log" || fail "blipp: $(cat "$tmp/blipp.log")"
ip netns exec $b python3 "$tmp/transfer.py" receive 10.235.2.1 &
receiver=$!
pids="$pids $receiver"
run $a one-end dtn-a "$tmp/dtn-a" python3 "$tmp/transfer.py" send 10.235.2.1 2.5 || fail "the transfer"
wait $receiver || fail "the receiver"
grep -q 'rate interval_ms=100 .* follows=1' "$tmp/blipp.log" || fail "no order for the second host: $(cat "$tmp/blipp.log")"

# --- both ends under nwrun: by certificate, and by the kernels' connection alone ---
both() {
	run $b "$1" "$3" "$5" python3 "$tmp/transfer.py" receive 10.235.2.1 &
	receiver=$!
	pids="$pids $receiver"
	run $a "$1" "$2" "$4" python3 "$tmp/transfer.py" send 10.235.2.1 2 || fail "the transfer $1"
	wait $receiver || fail "the receiver of $1"
}
both certified dtn-a dtn-b "$tmp/dtn-a" "$tmp/dtn-b"
kill $blipp # which would tell of the connection as dtn-b
wait $blipp || :
# a third host joins the session, without a part in the transfer
started() { [ "$(sql "SELECT count(*) FROM session WHERE task_id = 'kernels'")" = 1 ]; }
{
	until_true 10 started && run $b kernels bare-c "$tmp/bare" sleep 0.2
} &
stranger=$!
pids="$pids $stranger"
both kernels bare-a bare-b "$tmp/bare" "$tmp/bare"
wait $stranger || fail "the stranger"
for task in one-end certified kernels; do
	until_true 20 judged $task || fail "$task has no verdict"
done
python3 - "$tmp" <<'PY' || fail "documents"
import json, sys
d = {t: json.load(open(f"{sys.argv[1]}/{t}.json")) for t in ("one-end", "certified", "kernels")}
used = lambda t: {s["owner"]: s["used"] for s in d[t]["senders"]}
hosts = lambda t: {c["host"] for c in d[t]["session"]["connections"]}
assert used("one-end") == {"host:dtn-a": True, "host:dtn-b": True} or used("one-end") == {"host:dtn-a": True}, used("one-end")
assert hosts("one-end") == {"dtn-a", "dtn-b"}, hosts("one-end")
assert used("certified") == {"host:dtn-a": True, "host:dtn-b": True}, used("certified")
assert {k: v for k, v in used("kernels").items() if k != "host:bare-c"} == {"host:bare-a": True, "host:bare-b": True}, used("kernels")
assert not used("kernels").get("host:bare-c"), used("kernels")
# one route, whether one end or both are measured; a host's programs may use any of the addresses of its certificate
assert d["one-end"]["session"]["route"] == "dtn-a -> dtn-b", d["one-end"]["session"]["route"]
for t, sender, receiver in (("certified", "dtn-a", "dtn-b"), ("kernels", "bare-a", "bare-b")):
    assert d[t]["session"]["route"] == f"{sender} -> {receiver}", d[t]["session"]["route"]
    assert d[t]["verdict"]["stage"], d[t]["verdict"]
print("two interfaces:", d["certified"]["verdict"]["sentence"])
PY
