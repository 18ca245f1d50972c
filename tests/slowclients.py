# SPDX-License-Identifier: BSD-3-Clause
"""Original clients over a slow link: whole sessions (open, metadata, one message of data, the end right behind) go to
the box in segments of an Ethernet, with the pauses of a link of so many Mbit/s. usage: slowclients.py BOX MBIT SESSIONS"""
import random
import socket
import struct
import sys
import time

sys.path.insert(0, "tests")
import xsp

SEGMENT = 1448
CLOSE = 3
# bytes of the data message, about: one row is 44 bytes
SIZES = [1, 1000, 1448, 4000, 4200, 8200, 9000, 20000, 65000, 200000, 1000000]


def rows(size, t):
    """Rows of generation 3 that take about `size` bytes."""
    return [{"ts": t + i / 1000, "bytes": float(i)} for i in range(max(1, size // 44))]


def session(size):
    """The bytes of a whole session, and the number of values in it."""
    p = xsp.Peer.__new__(xsp.Peer)
    sid = random.randbytes(16)
    data = rows(size, 1700000000.0)
    option = lambda o, d: xsp.frame(xsp.APP, xsp.block(o, d, len(d) > 65000), 1, sid)
    return (xsp.auth(sid) + xsp.open_(sid) + option(0x20, xsp.meta("m", task_id="slow-%s" % sid.hex())) +
            option(0x21, xsp.bson({"mid": "m", "data": data})) + xsp.frame(CLOSE, sid=sid)), len(data)


def send(address, stream, mbit, offset):
    """Segments as the network would deliver them; `offset` moves their borders through the messages."""
    host, port = address.rsplit("/", 1) if "/" in address else address.rsplit(":", 1)
    s = socket.create_connection((host, int(port)), timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    at, begin, sent = 0, time.monotonic(), 0
    while at < len(stream):
        n = offset or SEGMENT
        offset = 0
        s.sendall(stream[at:at + n])
        at += n
        sent += n
        ahead = sent * 8 / (mbit * 1e6) - (time.monotonic() - begin)
        if ahead > 0.0002:
            time.sleep(ahead)
    while s.recv(65536):
        pass                                    # until the box ends its side
    s.close()


if __name__ == "__main__":
    address, mbit, sessions = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    random.seed(20261122)
    values = 0
    for i in range(sessions):
        size = SIZES[i % len(SIZES)]
        if size * 8 > mbit * 1e6:               # no more than a second of the link
            size = random.choice(SIZES[:8])
        stream, n = session(size)
        send(address, stream, mbit, random.randrange(1, SEGMENT))
        values += n
    print(values)
