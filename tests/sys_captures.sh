#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What original programs sent, played to a box as it came, whole, and byte by byte: each connection is answered as its
# client expects, and every number that was measured is there, once, under its own series and in one session.
#
# tests/data/xsp/*.cap has all that clients sent through a recording proxy, as records of connection (1 byte), length (4,
# big-endian) and bytes; length 0 ends a connection. The senders' uninitialised bytes are among them.
#	client     the original client library: sessions with nothing, with pings, INF_DATA, a path request, rubbish in known
#	           and unknown options, a further hop that does not speak XSP; two calipers of one id; a session in version 0;
#	           a message too long for it, which it sends without the last byte of the header
#	gridftp1   the original GridFTP driver of 2011 in both servers of a third-party transfer: two streams, disk and network
#	gridftp3   the same of 2012, which also tells a BLiPP (here the box as well) of files and streams
. tests/lib.sh
cat >"$tmp/play.py" <<'PY'
import sys, struct, socket, csv, io, collections, json, subprocess, time
sys.path.insert(0, "tests")
import xsp

DATA_OPTIONS = (0x20, 0x21, 0x30, 0x31, 0x32)
ANSWERS = {xsp.OPEN: xsp.ACK, xsp.PING: xsp.PONG, 11: xsp.NACK}


def records(path):
    b, at = open(path, "rb").read(), 0
    while at < len(b):
        peer, n = struct.unpack_from(">BI", b, at)
        yield peer, b[at + 5:at + 5 + n]
        at += 5 + n


def messages(b):
    """(type, blocks) of a stream of frames in either version; what it does not have whole is left out."""
    at = 0
    while at + 20 <= len(b):
        if b[at] == 0:
            kind, n = struct.unpack_from(">BH", b, at + 1)
            body, at = b[at + 20:at + 20 + n], at + 20 + n
            yield kind, [(struct.unpack_from(">H", body)[0], body[8:])] if kind == xsp.APP else []
            continue
        kind, n_blocks = struct.unpack_from(">HH", b, at + 2)
        at, blocks = at + 168, []
        for _ in range(n_blocks):
            option, _, n, _ = struct.unpack_from(">HHHH", b, at)
            blocks.append((option, b[at + 8:at + 8 + n]))
            at += 8 + n
        if at <= len(b):
            yield kind, blocks


def measured(doc):
    """(metadata, field, microseconds, value) of a document, without the original's markers for no value."""
    if len(doc) < 5 or struct.unpack_from("<i", doc)[0] != len(doc):
        return
    for item in xsp.items(doc, "data"):
        d = xsp.unbson(item)
        row = xsp.unbson(d["data"])
        for field, v in row.items():
            if field not in ("ts", "_sample") and not isinstance(v, bytes) and abs(v) < 1e308 and \
                    not (field.startswith("sd_") and v == -1):
                yield d["mid"], field, round(row["ts"] * 1e6), float(v)


def play(address, path, how):
    """Returns what each connection sent, and the types of the messages it was answered with."""
    peers, sent, answers = {}, collections.defaultdict(bytes), {}
    for name, b in records(path):
        if name not in peers:
            peers[name] = xsp.Peer(address)
        sent[name] += b
        if how == "recorded" and b:
            peers[name].send(b)
        elif how == "recorded":
            peers[name].s.shutdown(socket.SHUT_WR)
    for name, p in peers.items():
        if how != "recorded":
            for i in range(0, len(sent[name]), 1 if how == "bytes" else len(sent[name])):
                p.send(sent[name][i:] if how == "whole" else sent[name][i:i + 1])
            p.s.shutdown(socket.SHUT_WR)
        answers[name] = []
        try:
            while True:
                answers[name].append(p.message()[0])
        except (EOFError, ConnectionResetError):
            p.s.close()
    return sent, answers


address, how, state, narrows = sys.argv[1:5]
want = collections.Counter()
for path in sys.argv[5:]:
    sent, answers = play(address, path, how)
    for name, b in sent.items():
        expected = [ANSWERS[kind] for kind, _ in messages(b) if kind in ANSWERS]
        assert answers[name] == expected, (path, name, answers[name], expected)
        for kind, blocks in messages(b):
            for option, doc in blocks:
                if kind == xsp.APP and option in DATA_OPTIONS:
                    want.update(measured(doc))
assert len(want) > 500, len(want)


def query(sql):
    return csv.reader(io.StringIO(subprocess.run([narrows, "-s", state, "sql", "--csv", sql], check=True, text=True,
                                                 stdout=subprocess.PIPE).stdout))


def stored():
    return collections.Counter((mid, field, round(int(t_ns) / 1000), float(v)) for mid, field, t_ns, v in query(
        "SELECT m.mid, s.field, s.t_ns, s.value FROM v_sample s JOIN metadata m ON m.id = s.series_id WHERE s.value NOT NULL"))


end = time.time() + 20 * xsp.PATIENCE
while (got := stored()) != want and time.time() < end:
    time.sleep(0.1)
assert got == want, (len(got), len(want), list((want - got).items())[:3], list((got - want).items())[:3])

# the two calipers of one id: what was read are 65,536 bytes at a time, what was written 65,537
for event_type, size in query("SELECT DISTINCT s.event_type, s.value FROM v_sample s JOIN metadata m ON m.id = s.series_id "
                              "WHERE s.field = 'min_v' AND m.mid LIKE '0f0e%'"):
    assert float(size) == 65536 + event_type.endswith(":write"), (event_type, size)

# a transfer is one session: what the driver said of disk and network, of both ends, whichever year it is from
for task in ("first-generation", "third-generation"):
    (session_id, _), = query("SELECT id, 0 FROM session WHERE task_id = '%s'" % task)
    doc = {}
    while (doc.get("verdict") is None or doc["session"]["state"] == "open") and time.time() < end:
        time.sleep(0.1)
        doc = json.loads(subprocess.run([narrows, "-s", state, "report", session_id, "--json"], text=True,
                                        stdout=subprocess.PIPE).stdout or "{}")
    assert {x["stage"] for x in doc["bottleneck"]["stages"]} == {"disk.read", "network", "disk.write"}, doc["bottleneck"]
    read = {x["path"]: (x["read_bytes"] > 1e9, x["write_bytes"] > 1e9) for x in doc["session"]["files"]}
    assert read == {"/dev/zero": (True, False), "/dev/null": (False, True)}, read
    ports = [(x["sport"], x["dport"]) for x in doc["session"]["connections"] if x["bytes_out"] + x["bytes_in"] > 5e8]
    assert len(set(ports)) == 4 and set(ports) == {(b, a) for a, b in ports}, ports
PY


for how in recorded whole bytes; do
	rm -rf "$tmp/state"
	start_box -o session-linger=200ms
	timeout $((100 * PATIENCE)) python3 -B "$tmp/play.py" "$xsp" $how "$tmp/state" "$bin/narrows" tests/data/xsp/*.cap || fail "played $how"
	stop_box
done
