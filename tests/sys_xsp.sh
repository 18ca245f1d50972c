#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Peers on the wire: an original client's session, frames cut at every byte, malformed ones, limits, many at once.
. tests/lib.sh
start_box -o handshake-timeout=2s -o max-connections-per-address=250
python3 -B - "$xsp" "$url" <<'PY' || fail "peers"
import sys, time, urllib.request, json, socket, struct, threading
sys.path.insert(0, "tests")
import xsp

address, url = sys.argv[1], sys.argv[2]
health = lambda: json.load(urllib.request.urlopen(url + "/healthz"))

# an original client: open, 0x20, 0x21, unknown 0x99, ping (version 0), close with FIN
p = xsp.Peer(address).open()
p.app(0x20, xsp.meta("m1", task_id="original", resource="/data/in"))
p.app(0x21, xsp.data("m1", 0)); p.app(0x21, xsp.data("m1", 1))
p.app(0x99, b"abcdefghij")
p.send(xsp.ping_v0(p.sid))
assert p.message()[0] == xsp.PONG
p.close()

# the same byte by byte, and cut in two at every byte
whole = None
for n in list(range(1, 760, 3)) + [None]:
    p = xsp.Peer(address)
    whole = xsp.auth(p.sid) + xsp.open_(p.sid) + xsp.app(p.sid, 0x99, b"abcdefghij") + xsp.ping_v0(p.sid)
    if n is None:
        for i in range(len(whole)):
            p.send(whole[i:i + 1])
    else:
        p.send(whole[:n]); time.sleep(0.001); p.send(whole[n:])
    assert p.message()[0] == xsp.ACK
    assert p.message()[0] == xsp.PONG
    p.close()

# a whole session in version 0
p = xsp.Peer(address)
v0 = lambda kind, body: struct.pack(">BBH", 0, kind, len(body)) + p.sid + body
p.send(v0(5, b"ANON\0\0\0\0\0\0"))
p.send(v0(1, p.sid + b"client".ljust(64, b"\0") + struct.pack(">II", 0, 1)))
assert p.message()[0] == xsp.ACK
p.send(v0(8, b"")); assert p.message()[0] == xsp.PONG
p.close()

# refused with a reason or closed, and the box lives: (bytes, a NACK is due)
sid = b"S" * 16
opened = xsp.auth(sid) + xsp.open_(sid)
bad = {
    "auth without block": (xsp.frame(xsp.AUTH, sid=sid), None),
    "auth with empty block": (xsp.frame(xsp.AUTH, xsp.block(2, b""), 1, sid), None),
    "unknown auth": (xsp.auth(sid, b"PASS\0\0\0\0\0\0"), True),
    "open before auth": (xsp.open_(sid), None),
    "open with short hop block": (xsp.auth(sid) + xsp.frame(xsp.OPEN, xsp.block(1, b"x"), 1, sid), None),
    "further hops": (xsp.auth(sid) + xsp.frame(xsp.OPEN, xsp.block(1, sid + struct.pack(">I", 1) + b"h/1".ljust(76, b"\0") +
                     b"\0\1\0\0" + b"\0\0\0\0"), 1, sid), True),
    "block of 2^63 bytes": (opened + xsp.frame(xsp.APP, struct.pack(">HHHHQ", 0x21, 1, 0xFFFF, 0, 1 << 63), 1, sid), True),
    "65535 blocks": (opened + xsp.frame(xsp.APP, b"", 65535, sid), True),
    "huge before auth": (xsp.frame(xsp.AUTH, xsp.block(2, b"A" * 60000), 1, sid), None),
    "version 9": (b"\x09" * 200, None),
    "type 0": (opened + xsp.frame(0, sid=sid), None),
    "type 77": (opened + xsp.frame(77, sid=sid), None),
    "auth again": (opened + xsp.auth(sid), None),
}
for name, (sent, nack) in bad.items():
    p = xsp.Peer(address)
    p.send(sent)
    kinds = []
    try:
        while True:
            kinds.append(p.message()[0])
    except (EOFError, ConnectionResetError):
        pass
    assert nack is None or xsp.NACK in kinds, (name, kinds)
    assert not nack or kinds[-1] == xsp.NACK, (name, kinds)

# tolerated: the session goes on
fine = {
    "data without blocks": xsp.frame(xsp.APP, b"", 0, sid),
    "open again": xsp.open_(sid),
    "rubbish in 0x20": xsp.app(sid, 0x20, b"\x05\0\0\0"),
    "rubbish in 0x21": xsp.app(sid, 0x21, b"\xff" * 40),
    "an extended length": xsp.frame(xsp.APP, xsp.block(0x99, b"x" * 70000, extended=True), 1, sid),
    "SLAB": xsp.frame(13, xsp.block(7, b"\0" * 12), 1, sid),
    "INF_DATA": xsp.frame(14, sid=sid),
    "pong": xsp.frame(xsp.PONG, sid=sid),
}
for name, sent in fine.items():
    p = xsp.Peer(address); p.sid = sid
    p.open(); p.send(sent); p.send(xsp.ping_v0(sid))
    assert p.message()[0] == xsp.PONG, name
    p.close()

# refused, but the session goes on, as with the original
for name, sent in {"path": xsp.frame(11, xsp.block(6, struct.pack(">HH", 0, 9)), 1, sid),
                   "data channel": xsp.frame(10, xsp.block(5, b"\0" * 80), 1, sid)}.items():
    p = xsp.Peer(address); p.sid = sid
    p.open(); p.send(sent)
    assert p.message()[0] == xsp.NACK, name
    p.send(xsp.ping_v0(sid)); assert p.message()[0] == xsp.PONG, name
    p.close()

# one that never finishes its handshake is closed
p = xsp.Peer(address); p.send(b"\x01")
t = time.time(); assert p.ended(8) and time.time() - t > 1

# 1,000 short sessions, 200 at once
held = [xsp.Peer(address).open() for _ in range(200)]
for i in range(1000):
    p = xsp.Peer(address).open()
    p.close()
for p in held:
    p.send(xsp.ping_v0(p.sid)); assert p.message()[0] == xsp.PONG
h = health(); assert h["ok"], h
# one address may not have them all
over = [xsp.Peer(address) for _ in range(60)]
end = time.time() + 5 * xsp.PATIENCE
while sum(p.ended(0) for p in over) < 10:
    assert time.time() < end
    time.sleep(0.05)
for p in held + over:
    p.s.close()
PY
# what the original client sent is there, under its task
until_true 10 sh -c "[ \"\$(sqlite3 -readonly $tmp/state/narrows.db \"select count(*) from session where task_id='original' and closed_ns > 0\")\" = 1 ]" || fail "no session"
[ "$(nw sessions --json | grep -c '"task_id":"original"')" = 1 ] || fail "the command does not list it"
stop_box
[ "$(sql 'pragma integrity_check')" = ok ] || fail "integrity"
