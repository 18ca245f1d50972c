#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a provider sends is what the box has: values exactly, sessions joined by task, numbers acknowledged, duplicates
# once; a closed session judged within 2 s, an open one while it runs.
. tests/lib.sh
start_box -o session-linger=200ms -o analysis-interval=1s
python3 -B - "$xsp" "$url" "$tmp" <<'PY' || fail "ingest"
import sys, time, json, csv, io, struct, sqlite3, urllib.request
sys.path.insert(0, "tests")
import xsp

address, url, tmp = sys.argv[1:4]
get = lambda path: urllib.request.urlopen(url + path).read().decode()
sessions = lambda: json.loads(get("/sessions.json"))["sessions"]
find = lambda task: next((s for s in sessions() if s["task_id"] == task), None)

def wait(what, seconds, name):
    end = time.time() + seconds * xsp.PATIENCE
    while time.time() < end:
        got = what()
        if got:
            return got
        time.sleep(0.05)
    raise AssertionError(name)

# two XSP sessions of one task, from two hosts; one says so in HELLO, one (original) in its metadata
t0 = 1700000000.0
a = xsp.Peer(address).open().hello("prov-a", host="dtn-a", task_id="joined", program="mover <1>")
xsp.Peer(address).open().hello("forger", host="h\nnarrowsd fake.event x=1", dropped=10, lost=10).close()
b = xsp.Peer(address).open()
a.app(0x20, xsp.meta("disk", type="disk", resource="/data/we \"quote\",\n<b>", size=1 << 40))
b.app(0x20, xsp.meta("net", event="nl:tools:calipers:summary:write", type="network", task_id="joined", src="192.0.2.1",
                     dst="192.0.2.2", sport="5000", dport="6000"))
values = [0.1, 1e300, -0.0, 5e-324, 123456789.123456789, 1.0]
for i, v in enumerate(values):
    a.app(0x21, xsp.data("disk", i, t0 + i, mean_r=v))
    b.app(0x21, xsp.data("net", i, t0 + i))
assert a.until_stored(len(values)) == len(values)
# the same again after a reconnect: the box knows the numbers
a.s.close()
a = xsp.Peer(address).open().hello("prov-a", first_seq=1, host="dtn-a", task_id="joined")
kind, blocks = a.message()
assert kind == xsp.APP and blocks[0][0] == 0x80 and xsp.stored_of(blocks[0][1]) == len(values)
a.app(0x20, xsp.meta("disk", type="disk", resource="/data/we \"quote\",\n<b>", size=1 << 40))
for i, v in enumerate(values):
    a.app(0x21, xsp.data("disk", i, t0 + i, mean_r=v))
a.app(0x21, xsp.data("disk", 99, t0 + 99, mean_r=7.0))
assert a.until_stored(len(values) + 1) == len(values) + 1
assert json.loads(get("/healthz"))["ok"]

# while it is open it is judged, too
s = wait(lambda: (lambda x: x if x and x.get("analysed") else None)(find("joined")), 10, "open session judged")
assert s["state"] == "open", s
a.close(); b.close()
closed = time.time()
s = wait(lambda: (lambda x: x if x and x["state"] == "closed" else None)(find("joined")), 5, "session closes")
doc = wait(lambda: (lambda d: d if d["session"]["state"] == "closed" else None)(json.loads(get("/session/%d.json" % s["id"]))),
           5, "closed session judged")
assert time.time() - closed < 3 * xsp.PATIENCE, "judged late"
assert doc["schema"] == "narrows-result/1"
assert sorted(h["name"] for h in doc["session"]["hosts"]) == ["127.0.0.1", "dtn-a"], doc["session"]["hosts"]
assert doc["session"]["program"] == "mover <1>"

# one row a sample, every value exact, nothing twice
rows = list(csv.DictReader(io.StringIO(get("/session/%d.csv" % s["id"]))))
assert list(rows[0]) == "session,series_id,host,subject,event_type,field,unit,time,t_ns,value".split(","), list(rows[0])
got = [(int(r["t_ns"]), float(r["value"])) for r in rows if r["field"] == "mean_r" and r["host"] == "dtn-a"]
want = [(int((t0 + i) * 1e9), v) for i, v in enumerate(values)] + [(int((t0 + 99) * 1e9), 7.0)]
assert [(t, struct.pack("<d", v)) for t, v in got] == [(t, struct.pack("<d", v)) for t, v in want], got
assert any("we \"quote\",\n<b>" in r["subject"] for r in rows)
# hostile names are text on the page
page = get("/session/%d" % s["id"])
assert "mover <1>" not in page and "mover &lt;1&gt;" in page, page[:3000]

# data before its metadata is kept until it comes; data that never gets any is counted, not kept
p = xsp.Peer(address).open()
p.app(0x21, xsp.data("late", 0, t0)); p.app(0x21, xsp.data("never", 0, t0))
p.app(0x20, xsp.meta("late", task_id="late")); p.app(0x21, xsp.data("late", 1, t0 + 1))
p.close()
s = wait(lambda: (lambda x: x if x and x["state"] == "closed" else None)(find("late")), 5, "late session")
rows = list(csv.DictReader(io.StringIO(get("/session/%d.csv" % s["id"]))))
assert sum(r["field"] == "sum_v" for r in rows) == 2, rows
wait(lambda: json.loads(get("/healthz")).get("data_without_metadata", 0) >= 1 or "data_without_metadata" in get("/healthz"), 3, "counted")

# a document with one series that is known and one that is not is taken once, whatever comes later
p = xsp.Peer(address).open()
p.app(0x20, xsp.meta("known", task_id="half"))
p.app(0x32, xsp.bson({"version": "0.1", "meta": [], "data": [{"mid": "known", "values": [[t0, 1.0]]}, {"mid": "unknown", "values": [[t0, 2.0]]}]}))
p.app(0x20, xsp.meta("unknown", task_id="half"))
# times that nobody can have measured are refused, not computed with
for bad in (-(1 << 63) + 1, -1, 7300000000 * 10**9, (1 << 63) - 1):
    p.app(0x21, xsp.bson({"mid": "known", "data": {"ts_ns": bad, "value": 3.0}}))
p.close()
s = wait(lambda: (lambda x: x if x and x["state"] == "closed" else None)(find("half")), 5, "half session")
rows = list(csv.DictReader(io.StringIO(get("/session/%d.csv" % s["id"]))))
assert sorted(float(r["value"]) for r in rows) == [1.0, 2.0], rows

# host series make no session
n = len(sessions())
p = xsp.Peer(address).open().hello("host-1", host="dtn-a")
p.app(0x20, xsp.meta("cpu", event="ps:tools:blipp:linux:cpu:utilization", type="host"))
p.app(0x21, xsp.bson({"mid": "cpu", "data": {"ts": t0, "idle": 0.5}}))
assert p.until_stored(1) == 1
p.close()
assert len(sessions()) == n
PY
grep -q '^narrowsd fake' "$tmp/box.log" && fail "a peer forged a line of the log"
stop_box
# after a restart the numbers and the sessions are known
start_box
python3 -B - "$xsp" <<'PY' || fail "restart"
import sys
sys.path.insert(0, "tests")
import xsp
a = xsp.Peer(sys.argv[1]).open().hello("prov-a", host="dtn-a", task_id="joined")
kind, blocks = a.message()
assert xsp.stored_of(blocks[0][1]) == 7, blocks
a.close()
PY
[ "$(sql "select count(*) from session where task_id='joined'")" = 1 ] || fail "the task has two sessions"
[ "$(sql "select count(*) from v_session where verdict is not null" )" -ge 1 ] || fail "sqlite3 alone sees no verdict"
stop_box
