#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A session goes from the store while its senders are still connected. The box goes on, whatever they say of it then.
. tests/lib.sh
start_box -o session-linger=300ms
python3 -B - "$xsp" "$url" "$tmp/state/narrows.db" <<'PY' || fail "forgotten"
import sys, time, json, sqlite3, urllib.request
sys.path.insert(0, "tests")
import xsp

address, url, path = sys.argv[1:4]
get = lambda path: json.loads(urllib.request.urlopen(url + path).read())
t0 = time.time()
net = dict(type="network", src="192.0.2.1", dst="192.0.2.2", sport="50432", dport="50001")

def xfer(p, option, ident, **subject):
    p.app(option, xsp.bson({"version": "0.1", "data": [], "meta": [
        {"_id": ident, "event_type": "xfer.xsp.xio", "params": {}, "subject": subject}]}))

def rows(p, mid, n=8, at=0, **f):
    for i in range(n):
        p.app(0x21, xsp.data(mid, i, t0 + at + 5 * i, sum_v=4e6, dur=5.0, **f))

def until(what, seconds=10):
    end = time.time() + seconds * xsp.PATIENCE
    while not what():
        assert time.time() < end
        time.sleep(0.05)

def state(ident):
    return [s["state"] for s in get("/sessions.json")["sessions"] if s["id"] == ident and s.get("analysed")]

# an original sender whose transfer ends before its connection does
p = xsp.Peer(address).open()
xfer(p, 0x30, "x1", **net)
p.app(0x20, xsp.meta("m1", event="nl:tools:calipers:summary:write", xfer_id="x1", **net))
rows(p, "m1")
xfer(p, 0x31, "x1", **net)
# a task, and a host that tells of it
q = xsp.Peer(address).open().hello("sender", task_id="task")
q.app(0x20, xsp.meta("m2", task_id="task"))
rows(q, "m2")
w = xsp.Peer(address).open().hello("witness")
w.app(0x20, xsp.meta("m3", event="ps:host:tcp", task_id="task"))
rows(w, "m3", 4)
w.sync()
q.sync()
q.close()
until(lambda: state(1) == ["closed"] and state(2) == ["closed"])
newest = xsp.Peer(address).open().hello("newest", task_id="other")
newest.sync()

db = sqlite3.connect(path, isolation_level=None, timeout=10)
ask = lambda sql: db.execute(sql).fetchone()[0]
until(lambda: ask("SELECT count(*) FROM layout l WHERE tail_after > 0") == 3 and ask("SELECT count(*) FROM session") == 3)
db.execute("PRAGMA foreign_keys = ON")
db.executescript("""BEGIN IMMEDIATE;
    UPDATE tier_size SET bytes = 0;
    DELETE FROM label; DELETE FROM metric; DELETE FROM chunk; DELETE FROM layout; DELETE FROM metadata; DELETE FROM result; DELETE FROM run;
    UPDATE xsp_session SET session_id = NULL WHERE session_id < 3; DELETE FROM session WHERE id < 3; COMMIT""")

rows(p, "m1", 3, at=100)                # as before, and with a field of its own
rows(p, "m1", 2, at=200, more=1.0)
rows(w, "m3", 5, at=100)
w.app(0x20, xsp.meta("m4", event="ps:host:tcp", task_id="task", again="1"))
rows(w, "m4", 7)
assert w.until_stored(16) == 16
# the next transfer through the connection is told of as if nothing had been
xfer(p, 0x30, "x2", **dict(net, sport="50999"))
p.app(0x20, xsp.meta("m5", event="nl:tools:calipers:summary:write", xfer_id="x2", **dict(net, sport="50999")))
rows(p, "m5")
p.sync()
p.close()
w.close()
newest.close()
until(lambda: ask("SELECT count(*) FROM xsp_session WHERE closed_ns IS NULL") == 0)
until(lambda: ask("SELECT count(*) FROM session WHERE closed_ns IS NULL") == 0)
assert get("/healthz")["store"]["late_rows"] == 3 + 2 + 5, get("/healthz")["store"]
assert ask("SELECT group_concat(mid, ' ') FROM (SELECT mid FROM metadata ORDER BY id)") == "m4 x2 m5"
assert ask("SELECT session_id IS NULL FROM metadata WHERE mid = 'm4'") == 1
assert ask("SELECT count(*) FROM session s JOIN metadata m ON m.session_id = s.id WHERE m.mid = 'm5'") == 1
PY
kill -0 "$box" || fail "the box is gone"
stop_box
grep -q 'batch\.' "$tmp/box.log" && fail "a batch was refused"
[ "$(sql 'pragma foreign_key_check' | wc -l)" = 0 ] || fail "references"
nw verify >"$tmp/verify" 2>&1 || fail "$(cat "$tmp/verify")"
grep -q ' 15 rows' "$tmp/verify" || fail "$(cat "$tmp/verify")"
