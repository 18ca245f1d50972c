#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Blocks of the storage system from one network to another, with the kernel's events of both hosts: each block's line goes through
# its packets, in the order of the layers, on the right host. The recordings alone make lines, too, and accuse no clock.
. tests/lib.sh
. tests/dpss.sh
"$bin/magnet" points >"$tmp/points" 2>"$tmp/why" || skip "kernel events: $(cat "$tmp/why")"
two_networks
ip link add veth0 netns $a type veth peer name veth0 netns $b
for n in "$a 10.61.0.1" "$b 10.61.0.2"; do
	ip -n ${n% *} addr add ${n#* }/24 dev veth0
	ip -n ${n% *} link set lo up
	ip -n ${n% *} link set veth0 up
done
cd "$tmp"
in_a() { ip netns exec $a "$@"; }
in_b() { ip netns exec $b "$@"; }

# server and master in network a
mkdir -p s1/a master
in_a "$bin/dpss-server" -s s1 -d s1/a -g master 200 65536 >s1.master || fail "grant"
ip netns exec $a "$bin/dpss-server" -p -s s1 -d s1/a -L store.log -l 10.61.0.1/0 -P s1.port >s1.out 2>s1.err &
server=$!
ip netns exec $a "$bin/dpss-master" -p -s master -l 0.0.0.0/0 -P m.port >m.out 2>m.err &
pids="$pids $server $!"
until_true 10 test -s s1.port || fail "no server: $(cat s1.err)"
until_true 10 test -s m.port || fail "no master: $(cat m.err)"
export DPSS_MASTER=10.61.0.1/$(cat m.port)
in_a env DPSS_MASTER=127.0.0.1/$(cat m.port) "$bin/dpss" server-add "10.61.0.1/$(cat s1.port)" s1.master || fail "server-add"
up() { [ "$(in_a "$bin/dpss" servers | grep -c ' up ')" = 1 ]; }
until_true 10 up || fail "the server does not come up"
head -c 5000000 /dev/urandom >file
in_a "$bin/dpss" -b 65536 load file set || fail "load"

# both hosts record
for n in "store $a" "viewer $b"; do
	ip netns exec ${n#* } "$bin/magnet" record -o ${n% *}.k -T 50 -p socket,transport,ip,access -f netns=/run/netns/${n#* } 2>${n% *}.err &
	pids="$pids $!"
	echo $! >${n% *}.pid
done
for host in store viewer; do
	until_true 60 test -s $host.k || fail "the recording does not begin: $(cat $host.err)"
done
in_b "$bin/tv_sim" -k -t 1.5 -r 4 -n 20 -p sequential -L viewer.log set >said || fail "tv_sim: $(cat said)"
kill $server "$(cat store.pid)" "$(cat viewer.pid)"
wait $server "$(cat store.pid)" "$(cat viewer.pid)" || :
grep -q '^DPSS_STREAM; ' store.log || fail "the server does not tell which bytes are a block: $(cut -d ';' -f 1 store.log | sort | uniq -c)"

# each host's own events, under the names of the recordings
{ sed 's/^\([A-Z_]*\); [^;]*;/\1; store;/' store.log; sed -n 's/^\(APP_[A-Z]*\); [^;]*;/\1; viewer;/p' viewer.log; } >blocks.log
narrows() { "$bin/narrows" -s state "$@"; }
narrows import -n blocks blocks.log >said 2>&1 && narrows import -n blocks -H store store.k >>said 2>&1 && narrows import -n blocks -H viewer viewer.k >>said 2>&1 ||
	fail "import: $(cat said)"
narrows lifelines --json last >blocks.json || fail "lifelines"
narrows import -n kernel -H store store.k >said 2>&1 && narrows import -n kernel -H viewer viewer.k >>said 2>&1 || fail "import: $(cat said)"
narrows lifelines --json last >kernel.json || fail "lifelines of the kernel alone"
python3 - <<'END' || fail "the lines"
import json
WAY = ["ip.tx", "access.tx", "driver.tx", "access.rx", "ip.rx", "transport.rx"]
d = json.load(open("blocks.json"))
path = d["path"]
assert d["path_source"] == "known" and d["lifelines"] == d["finished"] == 120, (d["path_source"], d["lifelines"], d["finished"], d["sentence"])
assert [p for p in path if p in WAY] == WAY and path.index("DPSS_START_WRITE") + 1 == path.index("ip.tx") and path[-2:] == ["transport.rx", "APP_RECEIVE"], path
assert "wrong" not in d["sentence"], d["sentence"]
for s in d["segments"]:
    assert s["order_impossible"] == 0, s
    if s["from"] in WAY and s["to"] in WAY:
        # a layer may miss the packet of a line or two on a busy machine: such lines step over that layer
        beside = WAY.index(s["to"]) == WAY.index(s["from"]) + 1
        assert (s["n"] >= 115) == beside and (beside or s["n"] <= 5) and s["duration_s"]["min"] >= 0 and s["order_reversed"] == 0, s
assert {c["host"] for c in d["clocks"]} >= {"store", "viewer"}, d["clocks"]
k = json.load(open("kernel.json"))
assert k["object"] == [] and k["server_by"] == "flow" and k["path_source"] == "known" and k["path"] == WAY + ["socket.rx"], (k["object"], k["server_by"], k["path"])
assert k["finished"] >= 100 and k["finished"] > 0.9 * k["lifelines"] and "wrong" not in k["sentence"], (k["lifelines"], k["finished"], k["sentence"])
assert all(s["order_impossible"] == s["order_reversed"] == 0 for s in k["segments"]), k["segments"]
END
