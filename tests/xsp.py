# SPDX-License-Identifier: BSD-3-Clause
"""What the system tests use to speak XSP to a box: frames and documents made by hand from the description of the wire,
independent of the code under test."""
import os, socket, struct, time

PATIENCE = 2 + float(os.environ.get("PATIENCE", 1))  # tests/patience.sh; a machine may be slow, too

OPEN, ACK, CLOSE, AUTH, NACK, PING, PONG, APP = 1, 2, 3, 5, 7, 8, 9, 12


def frame(kind, blocks=b"", n=0, sid=b"\0" * 16, eid=b"\xaa"):
    """A v1 frame; the endpoint ids are filled with rubbish, as original clients do."""
    return struct.pack(">BBHHH", 1, 0, kind, n, 0) + eid * 144 + sid + blocks


def block(kind, data, extended=False):
    if extended:
        return struct.pack(">HHHHQ", kind, 1, 0xFFFF, 0, len(data)) + data
    return struct.pack(">HHHH", kind, 1, len(data), 0) + data


def auth(sid, name=b"ANON\0\xbf\xbf\xbf\xbf\xbf"):
    return frame(AUTH, block(2, name), 1, sid)


def open_(sid):
    return frame(OPEN, block(1, sid + struct.pack(">I", 1)), 1, sid)


def app(sid, option, data):
    return frame(APP, block(option, data), 1, sid)


def ping_v0(sid):
    return struct.pack(">BBH", 0, 8, 0) + sid


# --- BSON, the few types that are needed ---
def bson(d, kind=3):
    out = bytearray()  # a document of many rows grows in place
    for k, v in d.items():
        key = k.encode() + b"\0"
        if isinstance(v, bool):
            out += b"\x08" + key + bytes([v])
        elif isinstance(v, float):
            out += b"\x01" + key + struct.pack("<d", v)
        elif isinstance(v, int):
            out += (b"\x10" + key + struct.pack("<i", v)) if -2**31 <= v < 2**31 else (b"\x12" + key + struct.pack("<q", v))
        elif isinstance(v, str):
            s = v.encode() + b"\0"
            out += b"\x02" + key + struct.pack("<i", len(s)) + s
        elif isinstance(v, dict):
            out += b"\x03" + key + bson(v)
        elif isinstance(v, list):
            out += b"\x04" + key + bson({str(i): x for i, x in enumerate(v)})
        elif isinstance(v, tuple):              # (type, its bytes)
            out += bytes([v[0]]) + key + v[1]
    return struct.pack("<i", len(out) + 5) + bytes(out) + b"\0"


def documents(b):
    """The documents of a file of them."""
    at, out = 0, []
    while at < len(b):
        n = struct.unpack_from("<i", b, at)[0]
        assert n >= 5 and at + n <= len(b) and b[at + n - 1] == 0, (at, n)
        out.append(b[at:at + n])
        at += n
    return out


def unbson(b):
    """A document as a dict; in it, documents and arrays are bytes."""
    at, out = 4, {}
    while b[at]:
        kind, end = b[at], b.index(0, at + 1)
        key, at = b[at + 1:end].decode(), end + 1
        n = {1: 8, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 18: 8}.get(kind)
        if n is None:
            n = struct.unpack_from("<i", b, at)[0] + {2: 4, 3: 0, 4: 0, 5: 5}[kind]
        v, at = b[at:at + n], at + n
        out[key] = v[4:-1].decode() if kind == 2 else struct.unpack({1: "<d", 16: "<i", 18: "<q"}[kind], v)[0] if kind in (1, 16, 18) else v
    return out


def items(doc, part):
    """What an envelope has in meta or data; of any other document, itself if it is that."""
    d = unbson(doc)
    if "meta" in d:
        return list(unbson(d[part]).values())
    return [doc] if part == ("data" if "mid" in d else "meta") else []


def replay(address, file, option=None):
    """What an export has, sent as its senders would; option: of all blocks. Returns how many they were."""
    peers = {}
    for doc in documents(open(file, "rb").read()):
        d = unbson(doc)
        if "sender" in d:
            name = d["sender"]
            if name not in peers:
                peers[name] = [Peer(address).open().hello("replay-" + name, host=d["host"], task_id=d["task_id"]), 0]
            continue
        numbered = bool(items(doc, "data"))
        peers[name][0].app(option or (0x21 if numbered else 0x20), doc)
        peers[name][1] += numbered
    for p, n in peers.values():
        assert n == 0 or p.until_stored(n) == n
        p.sync()
        p.close()
    return len(peers)


def meta(mid, event="nl:tools:calipers:summary:read", **subject):
    subject.setdefault("type", "disk")
    return bson({"id": mid, "eventType": event,
                 "parameters": {"collectionInterval": 1.0,
                                "datumSchema": "http://unis.incntre.iu.edu/schema/20120709/datum#"},
                 "subject": subject})


def data(mid, sample, ts=None, **fields):
    d = {"ts": ts if ts is not None else 1347900000.0 + sample, "_sample": sample, "sum_v": 1e6, "mean_r": 0.5, "count": 4,
         "dur": 1.0, "dur_inst": 0.5}
    d.update(fields)
    return bson({"mid": mid, "data": d})


class Peer:
    def __init__(self, address, timeout=10):
        host, port = address.rsplit("/", 1)
        self.s = socket.create_connection((host, int(port)), timeout * PATIENCE)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sid = os.urandom(16)
        self.buf = b""

    def open(self):
        self.send(auth(self.sid) + open_(self.sid))
        kind, _ = self.message()
        assert kind == ACK, kind
        return self

    def send(self, b):
        self.s.sendall(b)

    def app(self, option, doc):
        self.send(app(self.sid, option, doc))

    def hello(self, provider, first_seq=1, **more):
        self.app(0x80, bson({"software": "test", "version": "0", "provider": provider, "first_seq": first_seq, **more}))
        return self

    def take(self, n):
        while len(self.buf) < n:
            got = self.s.recv(65536)
            if not got:
                raise EOFError
            self.buf += got
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def message(self):
        """(type, [(block type, payload)]) of the next message, either version."""
        version = self.take(1)[0]
        if version == 0:
            kind, length = struct.unpack(">BH", self.take(3))
            self.take(16)
            return kind, [(None, self.take(length))]
        _, kind, n, _ = struct.unpack(">BHHH", self.take(7))
        self.take(160)
        blocks = []
        for _ in range(n):
            b, _, length, _ = struct.unpack(">HHHH", self.take(8))
            blocks.append((b, self.take(length)))
        return kind, blocks

    def until_stored(self, seq, seconds=10):
        """Reads acknowledgements until the box says that seq is stored; returns the highest heard."""
        high, end = 0, time.time() + seconds
        while high < seq and time.time() < end:
            kind, blocks = self.message()
            if kind == APP and blocks[0][0] in (0x80, 0x85):
                high = max(high, stored_of(blocks[0][1]))
        return high

    def sync(self):
        """Returns when the box has taken all that was sent."""
        self.send(ping_v0(self.sid))
        while self.message()[0] != PONG:
            pass

    def ended(self, seconds=5):
        """True when the box closes; what it says before is ignored."""
        self.s.settimeout(seconds * PATIENCE)
        try:
            while self.s.recv(65536):
                pass
            return True
        except ConnectionResetError:
            return True
        except (socket.timeout, BlockingIOError):
            return False

    def close(self):
        self.send(frame(CLOSE, sid=self.sid))
        self.s.close()


def stored_of(doc):
    at = doc.find(b"stored\0")
    kind = doc[at - 1]
    return struct.unpack_from("<i" if kind == 0x10 else "<q", doc, at + 7)[0]


def text_of(doc, key):
    at = doc.find(b"\x02" + key.encode() + b"\0") + len(key) + 2
    n = struct.unpack_from("<i", doc, at)[0]
    return doc[at + 4:at + 3 + n].decode()
