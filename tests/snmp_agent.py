# SPDX-License-Identifier: BSD-3-Clause
# An agent of SNMP v2c for tests: answers GET out of a file with lines "OID TYPE VALUE" (integer, counter32, gauge32, timeticks,
# counter64, text), which it reads anew for every question. usage: snmp_agent.py PORTFILE VALUEFILE COMMUNITY
import os, socket, sys

TAGS = {"integer": 0x02, "text": 0x04, "counter32": 0x41, "gauge32": 0x42, "timeticks": 0x43, "counter64": 0x46}


def tlv(tag, body):
    n = len(body)
    head = bytes([n]) if n < 128 else bytes([0x82, n >> 8, n & 255])
    return bytes([tag]) + head + body


def take(data, at):
    tag, n = data[at], data[at + 1]
    at += 2
    if n & 0x80:
        k = n & 0x7F
        n = int.from_bytes(data[at:at + k], "big")
        at += k
    if at + n > len(data):
        raise ValueError("short")
    return tag, data[at:at + n], at + n


def oid_text(body):
    parts, n = [body[0] // 40, body[0] % 40], 0
    for b in body[1:]:
        n = n << 7 | b & 0x7F
        if not b & 0x80:
            parts.append(n)
            n = 0
    return ".".join(map(str, parts))


def value_tlv(kind, text):
    if kind == "text":
        return tlv(TAGS[kind], text.encode())
    n = int(text)
    return tlv(TAGS[kind], n.to_bytes(n.bit_length() // 8 + 1, "big"))


def values(path):
    out = {}
    for line in open(path):
        word = line.split(None, 2)
        if len(word) == 3:
            out[word[0]] = value_tlv(word[1], word[2].strip())
    return out


def answer(data, path, community):
    _, message, _ = take(data, 0)
    _, version, at = take(message, 0)
    _, name, at = take(message, at)
    tag, pdu, _ = take(message, at)
    if name.decode() != community or tag != 0xA0 or version != b"\1":
        return None
    _, request, at = take(pdu, 0)
    _, _, at = take(pdu, at)
    _, _, at = take(pdu, at)
    _, asked, _ = take(pdu, at)
    have, out, at = values(path), b"", 0
    while at < len(asked):
        _, one, at = take(asked, at)
        _, name_body, _ = take(one, 0)
        out += tlv(0x30, tlv(6, name_body) + have.get(oid_text(name_body), b"\x81\0"))
    body = tlv(2, request) + tlv(2, b"\0") + tlv(2, b"\0") + tlv(0x30, out)
    return tlv(0x30, tlv(2, version) + tlv(4, name) + tlv(0xA2, body))


def main():
    port_file, path, community = sys.argv[1:]
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))
    with open(port_file + ".part", "w") as f:
        f.write(str(s.getsockname()[1]))
    os.rename(port_file + ".part", port_file)
    while True:
        data, peer = s.recvfrom(65536)
        try:
            reply = answer(data, path, community)
        except (ValueError, IndexError, OSError):
            reply = None
        if reply is not None:
            s.sendto(reply, peer)


main()
