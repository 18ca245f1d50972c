#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What peers of three generations sent is exported as they sent it, byte for byte; imported, and sent again over XSP,
# it makes the same series in a fresh box.
. tests/lib.sh

# --- every generation, as senders wrote them, and odd ones among them ---
start_box -o analysis-interval=60s -o session-linger=1s
NARROWS_TASK=job-42 "$bin/nwrun" dd if=/dev/zero of="$tmp/zero" bs=64k count=200 2>/dev/null || fail "nwrun"
python3 -B - "$xsp" "$tmp/sent" "$tmp/recorded" <<'EOF' || fail "senders"
import sys, time
sys.path.insert(0, "tests")
from xsp import *
now, sent = float(int(time.time())), []
def item(d):
    sent.append(bson(d))
    return (3, sent[-1])
def envelope(metas=(), data=()):
    return bson({"version": "0.1", "meta": list(metas), "data": list(data)})
recorded = open(sys.argv[3], "wb")
class Original(Peer):
    """Says no HELLO; what it sends is recorded."""
    def open(self):
        recorded.write(bson({"sender": self.sid.hex(), "host": "127.0.0.1"}))
        return super().open()
    def app(self, option, doc):
        recorded.write(doc)
        super().app(option, doc)

# generation 1: XIO, the network stack and the disk stack, each a session of its own
for n, subject in enumerate(({"type": "network", "src": "192.0.2.10", "dst": "198.51.100.7", "sport": "50432", "dport": "50001"},
                             {"type": "disk", "resource": "/data/\xe4", "size": 2**40})):
    p = Original(sys.argv[1]).open()
    transfer = {"_id": f"x{n}", "event_type": "xfer.xsp.xio", "params": {}, "subject": {"task_id": "job-42", **subject}}
    p.app(0x30, envelope([item(transfer)]))
    calipers = [{"_id": f"c{n}", "_pid": f"x{n}", "event_type": f"nl.{op}.summary", "params": {"dt": 5.0, "ts": 1297112631.70669},
                 "subject": {"stream_id": "50432:50001"}} for op in ("read", "write")]
    for i in range(40):
        p.app(0x32, envelope([item(c) for c in calipers] if i == 0 else [],
            [{"_id": "%024x" % i, "_mid": f"c{n}", "event_type": c["event_type"],
              "values": {"_sample": i, "sum.v": 2.7e9 + i, "min.v": 1.7976931348623157e308 if i == 0 else 262144.0,
                         "sd.v": -1.0 if i == 0 else 1 / (3 + i), "count": 10330 + i, "dur": 5.0, "dur.i": 2.5}} for c in calipers]))
    p.app(0x31, envelope([(3, bson(transfer))]))
    p.sync(); p.close()

# generation 2: a host, and a connection of the transfer
p = Original(sys.argv[1]).open()
metas = [{"id": "h", "type": "ps:host:host", "subject": {"hostname": "dtn1", "ipv4": "192.0.2.10"}},
         {"id": "t", "pid": "h", "type": "ps:host:timeseries", "params": {"ts": now, "dt": 1.0}, "subject": {}},
         {"id": "u", "pid": "t", "event_type": "ps:host:stat:cpu:socket:user", "subject": {"index": 0}, "params": {}},
         {"id": "f", "pid": "h", "type": "ps:host:tcp", "subject": {"LocalAddress": "192.0.2.10", "LocalPort": 50432,
          "RemAddress": "198.51.100.7", "RemPort": 50001, "task_id": "job-42"}},
         {"id": "r", "pid": "f", "event_type": "ps:host:tcp:SmoothedRTT", "subject": {}, "params": {}},
         {"id": "odd", "subject": {"process": 17}, "params": {}}]
p.app(0x20, envelope([item(m) for m in metas], [{"mid": "u", "values": [[now - 2.5, 0.13], [now - 1.25, 0.17]]}]))
for i in range(20):
    p.app(0x20, envelope([], [{"mid": "r", "values": [[now + i / 3, 100 + i]]}, {"mid": "r", "data": {"ts": now + i / 3 + 0.1, "value": i, "min_v": 2.0}}]))
p.sync(); p.close()

# generation 3: one id with two event types, then with other parameters; lists; what some made arrays
p = Original(sys.argv[1]).open()
for event in ("read", "write"):
    p.app(0x20, item({"id": "g", "eventType": "nl:tools:calipers:summary:" + event, "subject": {"task_id": "job-42", "type": "disk", "resource": "/in", "size": 5},
                      "parameters": {"collectionInterval": 1.0, "datumSchema": "http://unis.incntre.iu.edu/schema/20120709/datum#"}})[1])
    for i in range(30):
        p.app(0x21, data("g", i, ts=now + i / 7, mean_r=float("nan") if i == 3 else i / 7, count=i))
p.app(0x20, item({"id": "g", "eventType": "nl:tools:calipers:summary:write", "subject": {"task_id": "job-42"}, "param": {"collectionInterval": 2}})[1])
p.app(0x21, bson({"mid": "g", "data": (4, bson({"ts": now + 9.5, "_sample": 0, "sum_v": 1.0, "dur": 2.0}))}))
odd = {"_id": (7, bytes(range(12))), "pid": "g", "event_type": "nl:odd", "param": {"d": 5.0, "l": 2**60, "when": (9, struct.pack("<q", 1)), "none": (10, b"")},
       "subject": (4, bson({"task_id": "job-42", "b": (5, b"\3\0\0\0\0abc"), "list": [1, {"k": True}], "text": 'a"\\\n'}))}
p.app(0x20, item(odd)[1])
p.app(0x21, bson({"mid": bytes(range(12)).hex(), "data": [{"ts": now, "ts_ns": int(now) * 10**9 + 1, "v": -0.0}, {"ts": now, "ts_ns": int(now) * 10**9 + 2, "v": 5e-324}]}))
p.app(0x21, bson({"mid": bytes(range(12)).hex(), "data": {"ts": int(now * 1e6) + 7, "value": 0.25}}))
p.sync(); p.close()

# ours: another host with the ids of before, histograms, columns; a parent that nobody has
p = Peer(sys.argv[1]).open().hello("provider-1", host="dtn2", task_id="job-42")
p.app(0x20, item({"id": "g", "pid": "gone", "eventType": "nl:tools:calipers:summary:read", "subject": {"hostname": "dtn2"}, "parameters": {}})[1])
p.app(0x21, bson({"mid": "g", "data": {"ts": now, "ts_ns": int(now) * 10**9 + 1, "sum_v": 1.0, "h_dur": (5, b"\7\0\0\0\0\1\7\5\3\1\xff\1")}}))
p.app(0x87, b"\1g\0\2sum_v\0extra\0\3" + struct.pack("<q", int(now) * 10**9 + 5) + b"\2\4" + struct.pack("<6d", 1.5, 2.5, 3.5, float("nan"), 4.5, 5.5))
assert p.until_stored(2) == 2
p.close()
open(sys.argv[2], "w").writelines(d.hex() + "\n" for d in sent)
EOF
judged() { [ "$(sql 'select count(*) from session s join result r on r.session_id = s.id where s.closed_ns > 0')" = 1 ]; }
until_true 20 judged || fail "the session does not end"
stop_box
[ "$(sql "select count(*) from session")" = 1 ] || fail "not one session: $(sql 'select id, task_id from session')"
nw export -o "$tmp/a.csv" 1
for f in bson g1 g2 g3; do nw export -f $f -o "$tmp/a.$f" 1 || fail "export $f"; done

# all but the two columns of ids; what hosts said comes last at first, and then where its sender comes
bare() { cut -d, -f3- "$1" | sort; }
bare "$tmp/a.csv" >"$tmp/a"
[ "$(wc -l <"$tmp/a")" -gt 1000 ] || fail "only $(wc -l <"$tmp/a") values"
same() { "$bin/narrows" -s "$1" export last >"$tmp/got.csv" && bare "$tmp/got.csv" | cmp - "$tmp/a" || fail "$2: not the same"; }

cat >"$tmp/look.py" <<'EOF'
import sys
sys.path.insert(0, "tests")
from xsp import *
read = lambda name: documents(open(name, "rb").read())
EOF
cat "$tmp/look.py" - >"$tmp/bytes.py" <<'EOF'
docs, sent = [d for d in read(sys.argv[1]) if "sender" not in unbson(d)], [bytes.fromhex(l) for l in open(sys.argv[2])]
metas = [m for d in docs for m in items(d, "meta")]
for m in sent:
    assert metas.count(m) == 1, (metas.count(m), m)
assert len(metas) > len(sent), len(metas)       # nwrun's
# data look as their senders'
kinds = {}
for i in [unbson(i) for d in docs for i in items(d, "data")]:
    kinds.setdefault(i.get("_mid") or i["mid"], []).append((list(i), unbson(i.get("values") or i.get("data"))))
top, values = kinds["c0"][5]
assert top == ["_mid", "event_type", "values"] and "sum.v" in values and isinstance(values["_sample"], int) and isinstance(values["count"], int), (top, values)
assert [v["_sample"] for t, v in kinds["c1"]] == 2 * list(range(40)) and not any("ts" in v for t, v in kinds["c1"])
assert all(t == ["mid", "values"] and len(v) == 1 for t, v in kinds["u"]) and len(kinds["u"]) == 2
assert sorted(t for t, v in kinds["r"]) == 20 * [["mid", "data"]] + 20 * [["mid", "values"]]
assert kinds["g"][0][0] == ["mid", "data"] and "ts_ns" not in kinds["g"][0][1]
assert any(v.get("h_dur") == b"\7\0\0\0\0\1\7\5\3\1\xff\1" for t, v in kinds["g"])
EOF
python3 -B "$tmp/bytes.py" "$tmp/a.bson" "$tmp/sent" || fail "not what was sent"

# --- into a fresh store, into a fresh box, and over the wire as its senders would ---
"$bin/narrows" -s "$tmp/direct" import "$tmp/a.bson" >"$tmp/said" || fail "import without a box"
grep -q 'hosts, session job-42$' "$tmp/said" || fail "said: $(cat "$tmp/said")"
same "$tmp/direct" "import without a box"
"$bin/narrows" -s "$tmp/direct" export -f bson -o "$tmp/b.bson" last
mv "$tmp/state" "$tmp/first"
start_box
nw import "$tmp/a.bson" >/dev/null || fail "import"
same "$tmp/state" "import"
nw import "$tmp/a.bson" | grep -q 'the box had all of them already' || fail "twice is not once"
[ "$(sql 'select count(*) from session')" = 1 ] || fail "the second import made a session"
curl -sSf "$url/session/1.bson" >"$tmp/c.bson" && curl -sSf "$url/session/1.bson?shape=g2" >"$tmp/c.g2" || fail "HTTP"
"$bin/narrows" -u "$url" export -f g2 1 | cmp - "$tmp/c.g2" || fail "-u"
stop_box
cat "$tmp/look.py" - >"$tmp/equal.py" <<'EOF'
want, *got = [sorted(d for d in read(name) if "sender" not in unbson(d)) for name in sys.argv[1:]]
for g in got:
    assert len(g) == len(want) > 200 and g == want, [(a, b) for a, b in zip(g, want) if a != b][:1]
EOF
python3 -B "$tmp/equal.py" "$tmp/a.bson" "$tmp/b.bson" "$tmp/c.bson" || fail "exported again: not the same bytes"
rm -rf "$tmp/state"
start_box
cat "$tmp/look.py" - >"$tmp/replay.py" <<'EOF'
assert replay(sys.argv[1], sys.argv[2]) >= 6
EOF
python3 -B "$tmp/replay.py" "$xsp" "$tmp/a.bson" || fail "replay"
same "$tmp/state" "replay"
stop_box

# --- what was recorded of originals: envelopes with both, metadata said again ---
"$bin/narrows" -s "$tmp/recorded.d" import "$tmp/recorded" | grep -q 'of 1 host, session job-42$' || fail "import of what was recorded"
"$bin/narrows" -s "$tmp/recorded.d" export last >"$tmp/got.csv"
grep '^127.0.0.1,' "$tmp/a" >"$tmp/a.originals"
bare "$tmp/got.csv" | grep '^127.0.0.1,' | cmp - "$tmp/a.originals" || fail "what was recorded: not the same"

# --- all in one generation: 1 and 3 can say all of it; 2 has microseconds, and a series for each field ---
for f in g1 g3; do
	"$bin/narrows" -s "$tmp/via_$f" import "$tmp/a.$f" >/dev/null || fail "import $f"
	same "$tmp/via_$f" $f
done
"$bin/narrows" -s "$tmp/via_g2" import "$tmp/a.g2" >/dev/null || fail "import g2"
"$bin/narrows" -s "$tmp/via_g2" export -o "$tmp/g2.csv" last
cat "$tmp/look.py" - >"$tmp/one.py" <<'EOF'
import csv
rows = lambda name, split: sorted((r["host"], r["event_type"] + (":" + r["field"] if split and r["field"] != "value" else ""), r["subject"],
                                   float(r["value"]), int(r["t_ns"])) for r in csv.DictReader(open(name, newline="")))
want, got = rows(sys.argv[1], True), rows(sys.argv[2], False)
assert len(got) == len(want), (len(got), len(want))
for a, b in zip(got, want):
    assert a[:4] == b[:4] and abs(a[4] - b[4]) <= 620, (a, b)        # half a microsecond, and half a step of a double
shapes = {"g1": ("_id", "_mid", "params", "event_type"), "g2": ("id", "mid", "params", "event_type"), "g3": ("id", "mid", "parameters", "eventType")}
for name in sys.argv[3:]:
    id_, mid, params, event = shapes[name[-2:]]
    docs = [d for d in read(name) if "sender" not in unbson(d)]
    metas = [unbson(m) for d in docs for m in items(d, "meta")]
    assert all(("meta" in unbson(d)) == (name[-2:] != "g3") for d in docs)
    assert len(metas) >= 15 and all(id_ in m for m in metas) and all(mid in unbson(i) for d in docs for i in items(d, "data"))
    # what had to be turned into it kept its types, also those that JSON does not tell apart
    m, = [m for m in metas if m.get(event) == "nl:odd"]
    if name[-2:] != "g1":                       # it was one of generation 1
        assert b"\1d\0\0\0\0\0\0\0\x14\x40" in m[params] and unbson(m["subject"])["b"] == b"\3\0\0\0\0abc" and m["id"] == bytes(range(12)).hex(), m
    m, = [m for m in metas if m.get(event) == "ps:host:tcp:SmoothedRTT"]
    assert list(m) == [id_, "_pid" if name[-2:] == "g1" else "pid", event] + (["subject", params])
EOF
python3 -B "$tmp/one.py" "$tmp/a.csv" "$tmp/g2.csv" "$tmp/a.g1" "$tmp/a.g2" "$tmp/a.g3" || fail "one generation"

# --- faults: one line that says where, and nothing done ---
bad() {
	want=$1 rc=0
	shift
	"$bin/narrows" -s "$tmp/none" import -f bson "$@" "$tmp/bad" >/dev/null 2>"$tmp/err" || rc=$?
	[ "$rc" = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$want" "$tmp/err" || fail "status $rc, $(cat "$tmp/err") instead of $want"
	[ ! -e "$tmp/none" ] || fail "$want: something was done"
}
head -c 5000 "$tmp/a.bson" >"$tmp/bad"; bad 'bad: document at byte [0-9]*: cut off, or not a BSON document$'
cat "$tmp/look.py" - >"$tmp/nometa.py" <<'EOF'
open(sys.argv[2], "wb").write(b"".join(d for d in read(sys.argv[1]) if "sender" in unbson(d) or not items(d, "meta")))
EOF
python3 -B "$tmp/nometa.py" "$tmp/a.bson" "$tmp/bad"; bad 'byte [0-9]*: data of a series without metadata before$'
{ cat "$tmp/a.bson"; printf '\005\000\000\000\000'; } >"$tmp/bad"; bad 'byte [0-9]*: neither metadata nor data: no id$'
cp "$tmp/a.bson" "$tmp/bad"; bad 'byte [0-9]*: the document names another session' --session mine
: >"$tmp/bad"; bad 'bad:1:1: the file has no values$'
