#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Original senders name no task: one XSP session per file and per network peer, on each host. What belongs together
# becomes one session; what does not stays apart.
. tests/lib.sh
start_box -o session-linger=300ms
python3 -B - "$xsp" "$url" <<'PY' || fail "join"
import sys, time, json, socket, urllib.request
sys.path.insert(0, "tests")
import xsp

address, url = sys.argv[1:3]
get = lambda path: json.loads(urllib.request.urlopen(url + path).read())
t0 = time.time()

def peer(host):
    """An XSP session that comes from another loopback address: another host."""
    p = xsp.Peer.__new__(xsp.Peer)
    h, port = address.rsplit("/", 1)
    p.s = socket.create_connection((h, int(port)), 10, (host, 0))
    p.sid, p.buf = b"", b""
    import os
    p.sid = os.urandom(16)
    return p.open()

def new_xfer(p, ident, **subject):
    p.app(0x30, xsp.bson({"version": "0.1", "meta": [{"_id": ident, "event_type": "xfer.xsp.xio", "params": {}, "subject": subject}], "data": []}))

def end_xfer(p, ident, **subject):
    p.app(0x31, xsp.bson({"version": "0.1", "meta": [{"_id": ident, "event_type": "xfer.xsp.xio", "params": {}, "subject": subject}], "data": []}))

def rows(p, mid, n=8, **f):
    for i in range(n):
        p.app(0x21, xsp.data(mid, i, t0 + 5 * i, sum_v=4e6, dur=5.0, **f))

def closed(n, seconds=8):
    end = time.time() + seconds * xsp.PATIENCE
    while time.time() < end:
        s = get("/sessions.json")["sessions"]
        if len(s) == n and all(x["state"] == "closed" and x.get("analysed") for x in s):
            return s
        time.sleep(0.1)
    raise AssertionError(get("/sessions.json")["sessions"])

A, B = "127.0.0.2", "127.0.0.3"
net_a = dict(type="network", src="192.0.2.1", dst="192.0.2.2", sport="50432", dport="50001")
net_b = dict(type="network", src="192.0.2.2", dst="192.0.2.1", sport="50001", dport="50432")
# the worst order: both disks first, so that two sessions begin, which turn out to be one
da, db = peer(A), peer(B)
new_xfer(da, "xd-a", type="disk", resource="/in", size=1 << 30)
new_xfer(db, "xd-b", type="disk", resource="/out", size=1 << 30)
da.app(0x20, xsp.meta("d-a", type="disk", resource="/in", xfer_id="xd-a"))
db.app(0x20, xsp.meta("d-b", event="nl:tools:calipers:summary:write", type="disk", resource="/out", xfer_id="xd-b"))
rows(da, "d-a", dur_inst=0.1); rows(db, "d-b", dur_inst=0.2)
na, nb = peer(A), peer(B)
new_xfer(na, "xn-a", **net_a); new_xfer(nb, "xn-b", **net_b)
na.app(0x20, xsp.meta("n-a", event="nl:tools:calipers:summary:write", xfer_id="xn-a", **net_a))
nb.app(0x20, xsp.meta("n-b", xfer_id="xn-b", **net_b))
rows(na, "n-a", dur_inst=4.8); rows(nb, "n-b", dur_inst=4.7)
# the transfer ends; the BLiPP-like connection of na stays open and must not keep it
for p, i, s in ((na, "xn-a", net_a), (nb, "xn-b", net_b)):
    end_xfer(p, i, **s)
da.close(); db.close(); nb.close()
s = closed(1)
doc = get("/session/%d.json" % s[0]["id"])
assert sorted(h["name"] for h in doc["session"]["hosts"]) == [A, B], doc["session"]["hosts"]
assert doc["verdict"]["stage"] == "network", doc["verdict"]
assert doc["session"]["route"] == "%s -> %s" % (A, B), doc["session"]["route"]

# a second transfer through the connection that stayed is another session
new_xfer(na, "xn-2", **dict(net_a, sport="50999"))
na.app(0x20, xsp.meta("n-2", event="nl:tools:calipers:summary:write", xfer_id="xn-2", **dict(net_a, sport="50999")))
rows(na, "n-2", dur_inst=4.8)
na.close()
closed(2)

# two transfers of one host at once: their disks cannot be told apart and stay by themselves
n1, n2, d1 = peer(A), peer(A), peer(A)
for p, i, port in ((n1, "t1", "1111"), (n2, "t2", "2222")):
    p.app(0x20, xsp.meta("m" + i, event="nl:tools:calipers:summary:write", **dict(net_a, sport=port)))
    rows(p, "m" + i, dur_inst=1.0)
    p.sync()                            # both must be known when the disk comes
d1.app(0x20, xsp.meta("mdisk", type="disk", resource="/which"))
rows(d1, "mdisk", dur_inst=1.0)
for p in (n1, n2, d1):
    p.close()
closed(5)

# both ends on one host: what reads and sends, and what receives and writes, in the worst order; and a BLiPP that is told
# of each file by a connection of its own
net_c, net_d = dict(net_a, dst="192.0.2.1", sport="7001", dport="7002"), dict(net_a, dst="192.0.2.1", sport="7002", dport="7001")
uuid = "03f0120c-e4d9-11f1-b5b2-02fc0000000%d"
ends = (("read", dict(type="disk", resource="/in")), ("write", dict(type="disk", resource="/out")), ("write", net_c), ("read", net_d))
all_of_it = []
for i, (event, subject) in enumerate(ends):
    told, p = peer(A), peer(A)
    new_xfer(told, uuid % i, **subject)
    told.sync()
    p.app(0x20, xsp.meta(uuid % i, event="nl:tools:calipers:summary:" + event, xfer_id=uuid % i, **subject))
    rows(p, uuid % i, dur_inst=1.0)
    p.sync()
    all_of_it += [told, p]
for p in all_of_it:
    p.close()
judged = lambda n: get("/session/%d.json" % max(closed(n), key=lambda x: x["id"])["id"])["bottleneck"]["stages"]
assert {x["stage"] for x in judged(6)} == {"disk.read", "network", "disk.write"}, judged(6)

# the same of the first generation, where only the notice says what is measured, and not in which direction
all_of_it = [peer(A) for _ in ends]
for i, (event, subject) in enumerate(ends):
    new_xfer(all_of_it[i], "x%d" % i, **subject)
    all_of_it[i].sync()
for i, (event, subject) in reversed(list(enumerate(ends))):
    stream = {"stream_id": subject["sport"] + ":" + subject["dport"]} if "sport" in subject else {}
    all_of_it[i].app(0x32, xsp.bson({"version": "0.1", "data": [], "meta": [
        {"_id": "c%d" % i, "_pid": "x%d" % i, "event_type": "nl.%s.summary" % event, "params": {"dt": 5.0, "ts": t0}, "subject": stream}]}))
    rows(all_of_it[i], "c%d" % i, dur_inst=1.0)
    all_of_it[i].sync()
for p in all_of_it:
    p.close()
assert {x["stage"] for x in judged(7)} == {"disk.read", "network", "disk.write"}, judged(7)
PY
[ "$(sql 'pragma integrity_check')" = ok ] || fail "integrity"
[ "$(sql 'pragma foreign_key_check' | wc -l)" = 0 ] || fail "references"
stop_box
