#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What narrows(1) promises of an export of original documents, against what comes back: the recorded clients of
# both GridFTP years and a sender of everything odd are played, and each document is compared with the exported ones.
. tests/lib.sh
start_box -o session-linger=200ms
cat >"$tmp/play.py" <<'PY'
import collections, json, os, pickle, struct, sys
sys.path.insert(0, "tests")
import xsp

capture = open("tests/sys_captures.sh").read()
exec(capture[capture.index("def records"):capture.index("def measured")])
sent = []
for path in sys.argv[3:]:
    streams = {}
    for name, b in records(path):
        streams[name] = streams.get(name, b"") + b
    for b in streams.values():
        p = xsp.Peer(sys.argv[1])
        p.send(b)
        p.s.shutdown(1)
        while p.s.recv(65536):
            pass
        sent += [(option, d) for _, blocks in messages(b) for option, d in blocks if option in (0x20, 0x21, 0x30, 0x31, 0x32)]
odd = xsp.Peer(sys.argv[1]).open()
t0 = 1.7e9
docs = [(0x20, xsp.meta("odd", type="disk", resource="/odd"))]
for i in range(5):
    docs.append((0x21, xsp.bson({"mid": "odd", "data": {"ts": t0 + i, "_sample": i, "sum_v": 2.0 + i, "count": i, "n": 7 + i, "prog": "gridftp",
        "h_gd": [i, 2, 3], "h_rd": [4, 5]}})))
for option, d in docs:
    odd.app(option, d)
odd.sync()
odd.close()
pickle.dump(sent + docs, open(sys.argv[2], "wb"))
PY
python3 -B "$tmp/play.py" "$xsp" "$tmp/sent" tests/data/xsp/gridftp1.cap tests/data/xsp/gridftp3.cap || fail "senders"
closed() { [ "$(sql 'SELECT count(*) FROM session WHERE closed_ns IS NULL OR closed_ns = 0')" = 0 ] && [ "$(sql 'SELECT count(*) FROM session')" = 3 ]; }
until_true 20 closed || fail "sessions: $(sql 'SELECT id, task_id, closed_ns FROM session')"
stop_box
for id in $(sql 'SELECT id FROM session'); do nw export -f bson -o "$tmp/$id.bson" "$id" || fail "export $id"; done
cat >"$tmp/compare.py" <<'PY'
import collections, glob, os, pickle, sys
sys.path.insert(0, "tests")
import xsp

sent = pickle.load(open(sys.argv[1], "rb"))
whole, metas, rows = set(), collections.Counter(), collections.defaultdict(dict)
inner = lambda item: xsp.unbson(item.get("data") or item.get("values"))
mid_of = lambda item: item.get("mid") or item["_mid"]
for path in glob.glob(sys.argv[2] + "/*.bson"):
    for d in xsp.documents(open(path, "rb").read()):
        if "sender" in xsp.unbson(d):
            continue
        whole.add(d)
        metas.update(xsp.items(d, "meta"))
        for item in map(xsp.unbson, xsp.items(d, "data")):
            rows[mid_of(item), item.get("event_type")][round(inner(item)["ts"] * 1e6)] = item

# metadata: each that was sent comes back once, byte for byte, whatever was around it
wanted = {m for _, d in sent for m in xsp.items(d, "meta")}
assert len(wanted) >= 15 and all(metas[m] == 1 for m in wanted), [m for m in wanted if metas[m] != 1]

# data: per kind, how many documents are the same bytes, and the keys in which the rows differ
kinds = collections.defaultdict(lambda: [0, 0, set(), set()])
none = lambda v: v != v or abs(v) > 1.79e308
for option, d in sent:
    items = list(map(xsp.unbson, xsp.items(d, "data")))
    kind = kinds["envelope" if option != 0x21 else "odd" if mid_of(items[0]) == "odd" else "single"] if items else \
        kinds["single metadata" if option == 0x20 else "notice"]
    kind[0] += 1
    kind[1] += d in whole
    for item in items:
        was, at = inner(item), round(inner(item)["ts"] * 1e6)
        got, = [r[at] for key, r in rows.items() if key[0] == mid_of(item) and at in r and
            all(abs(inner(r[at]).get(k.replace("_", "."), inner(r[at]).get(k, 0)) - v) < 1e-9 * (1 + abs(v))
                for k, v in was.items() if isinstance(v, float) and not none(v) and k != "ts")][:1]
        now = inner(got)
        same_name = lambda k: k if k in now or "_" not in k[1:] else k.replace("_", ".")
        kind[2] |= {k for k in was if same_name(k) not in now}
        kind[3] |= {k for k in was if same_name(k) in now and type(was[k]) != type(now[same_name(k)])}
        for k in was:
            if same_name(k) in now and not none(was[k]):
                assert was[k] == now[same_name(k)], (k, was[k], now[same_name(k)])
print({k: (n, same, sorted(gone), sorted(other)) for k, (n, same, gone, other) in kinds.items()})
promise = {   # documents that are the same bytes, keys that are gone, keys of another type
    "single metadata": (True, set(), set()),
    "notice": (False, set(), set()),
    "single": (False, {"_sample"}, set()),
    "envelope": (False, {"_sample"}, set()),
    "odd": (False, {"_sample", "prog", "h_gd", "h_rd"}, {"n"}),
}
assert set(kinds) == set(promise), set(kinds)
for name, (n, same, gone, other) in kinds.items():
    assert n >= 5 and ((same == n), gone, other) == promise[name], (name, n, same, gone, other)
PY
python3 -B "$tmp/compare.py" "$tmp/sent" "$tmp" || fail "other than narrows(1) says"

# --- and that is what is said ---
sed -n '/^\.Ss Documents/,/^\.S[sh] [^D]/p' cli/narrows.1 | tr '\n' ' ' >"$tmp/said"
for words in "a metadata by itself .* the same bytes" "metadata in an envelope .* its bytes" "data by itself .* _sample" \
	"data in envelopes .* dots" "h_gd .*h_rd" "text among the values" "integers among numbers .*count"; do
	grep -q "$words" "$tmp/said" || fail "narrows(1) does not say: $words"
done
