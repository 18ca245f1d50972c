#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The storage system: files in and out over three servers, copies and parity when a server dies, damage that is noticed, who
# may do what, and each block's events.
. tests/lib.sh
. tests/dpss.sh
cd "$tmp"

for i in 1 2 3; do
	grant $i master 150 16384
	server $i
done
! "$bin/dpss-server" -s s1 -d s1/a -d s1/b -g master 150 16384 >/dev/null 2>&1 || fail "a second grant for one master"
mkdir master
start m "$bin/dpss-master" -s master
export DPSS_MASTER=127.0.0.1/$(cat m.port)
for i in 1 2 3; do add $i; done
! "$bin/dpss" server-add "127.0.0.1/$(cat s1.port)" s1.master 2>/dev/null || fail "a server twice"
until_true 10 ups 3 || fail "servers do not come up: $(cat m.err)"

# in and out
head -c 1000003 /dev/urandom >file
"$bin/dpss" -b 16384 -c 2 load file copies || fail "load copies"
"$bin/dpss" -b 16384 -k 2 load file parity || fail "load parity"
"$bin/dpss" -b 16384 load file single || fail "load single"
: >empty
"$bin/dpss" -b 16384 load empty empty || fail "an empty file"
for set in copies parity single empty; do
	"$bin/dpss" unload $set out.$set || fail "unload $set"
	cmp "out.$set" "$([ $set = empty ] && echo empty || echo file)" || fail "$set came back different"
done
! "$bin/dpss" load file copies 2>why || fail "a set of the same name"
grep -q 'a set of this name exists' why || fail "no reason: $(cat why)"
"$bin/dpss" sets | grep -q '^copies .* 62 .*complete' || fail "sets: $("$bin/dpss" sets)"

# neighbours stand on different servers
[ "$(sqlite3 -cmd ".timeout 10000" master/master.db "SELECT count(*) FROM place a JOIN place b USING (data_set) WHERE b.logical = a.logical + 1
    AND a.server = b.server AND a.copy = 0 AND b.copy = 0 AND b.logical < 62")" = 0 ] || fail "blocks are not declustered"

# the space ends: said, and nothing of it stays in the way
head -c 20000000 /dev/zero >big
! "$bin/dpss" -b 16384 load big big 2>why || fail "more blocks than slots"
grep -q 'has room' why || fail "no reason: $(cat why)"
"$bin/dpss" drop big || fail "drop"

# events: every block of ten lists, none of which flushes another, has all points in order
"$bin/tv_sim" -k -t 1 -r 10 -n 20 -w 8 -L app.log -o trace copies >said || fail "tv_sim: $(cat said)"
grep -q ' 200 received, 0 lost' said || fail "tv_sim: $(cat said)"
awk -F'; ' '{ n[$1]++; at = $3 * 1000000 + int($4 / 1000); k = $5 " " $8; if (at < last[k]) bad++; last[k] = at }
    END { exit bad > 0 || n["APP_SEND"] != 200 || n["DPSS_START_READ"] != 200 || n["APP_RECEIVE"] != 200 }' app.log || fail "events: $(head app.log)"
"$bin/tv_sim" -i trace -x 4 copies >said || fail "a trace: $(cat said)"
grep -q '^10 lists, 200 blocks asked for' said || fail "a trace: $(cat said)"

# more lists than can be served: what is not sent when the next list comes is flushed, and logged as flushed
"$bin/tv_sim" -t 1 -r 200 -n 62 -p sequential single >said || fail "tv_sim: $(cat said)"

# damage is noticed: a block whose bytes changed on the disk comes from its copy, and is lost without one
for f in s1/a/master.blocks s1/b/master.blocks; do
	python3 - "$f" <<'EOF'
import sys
with open(sys.argv[1], "r+b") as f:
    slot = (40 + 16384 + 511) // 512 * 512
    for i in range(150):
        f.seek(i * slot)
        if f.read(4) == b"DPS2":
            f.seek(i * slot + 40 + 5)
            b = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([b[0] ^ 1]))
EOF
done
kill "$(cat s1.pid)"
until_true 10 ups 2 || fail "the server's end is not noticed"
server 1
kill "$(cat m.pid)"
wait "$(cat m.pid)" || fail "the master ends with $?: $(cat m.err)"
start m "$bin/dpss-master" -s master
until_true 10 ups 3 || fail "servers do not come up again: $(cat m.err)"
"$bin/dpss" unload copies out.damaged || fail "a damaged copy: $(cat m.err)"
cmp out.damaged file || fail "a damaged copy was delivered"
"$bin/dpss" verify parity >said || fail "damage with parity: $(cat said)"
grep -q '62 of 62 blocks are good, [1-9]' said || fail "damage with parity: $(cat said)"
! "$bin/dpss" verify single >said || fail "damage without a copy is not noticed"
grep -q 'is lost' said || fail "damage without a copy: $(cat said)"
! "$bin/dpss" unload single out.single2 2>/dev/null || fail "a damaged set was unloaded"
[ ! -e out.single2 ] || fail "an incomplete file stays"

# a server dies: copies and parity serve
"$bin/dpss" -b 16384 -c 2 load file copies2 && "$bin/dpss" -b 16384 -k 2 load file parity2 || fail "load after damage"
kill -9 "$(cat s2.pid)"
"$bin/dpss" unload copies2 out.dead && cmp out.dead file || fail "a dead server, copies"
"$bin/dpss" unload parity2 out.dead2 && cmp out.dead2 file || fail "a dead server, parity"
! "$bin/dpss" unload parity out.dead3 2>why || fail "two of three members are lost, and something was delivered"
grep -q 'a block is lost' why || fail "reason: $(cat why)"
server 2

# a server dies beneath a reader: the rest comes from others, within the time in which death is noticed
until_true 10 ups 3 || fail "servers do not come up once more: $(cat m.err)"
"$bin/tv_sim" -k -t 3 -r 20 -n 20 -w 8 copies2 >said 2>&1 &
viewer=$!
sleep 1
kill -STOP "$(cat s2.pid)"
wait $viewer || froze="failed"
kill -CONT "$(cat s2.pid)"
until_true 10 ups 3 || fail "the server does not come again: $(cat m.err)"
grep -q ' 1200 blocks asked for, 1200 received, 0 lost' said || fail "a server froze beneath a reader: ${froze:-} $(cat said)"

# tickets: a server takes no word but a master's, and no ticket but its own
python3 - "$(cat s3.port)" <<'EOF' || fail "a server believed a stranger"
import socket, struct, sys
def message(kind, body): return struct.pack(">IH", len(body), kind) + body
def text(s): return struct.pack(">H", len(s)) + s
def answer(s):
    data = b""
    while len(data) < 6 or len(data) < 6 + struct.unpack(">I", data[:4])[0]:
        part = s.recv(4096)
        if not part: return None
        data += part
    return struct.unpack(">H", data[4:6])[0]
for role, then in ((1, message(64, text(b"master") + struct.pack(">QIQ", 7, 1, 2**62) + b"\0" * 42)), (2, message(49, text(b"master") + b"\0" * 32)),
        (2, message(49, text(b"nobody") + b"\0" * 32)), (1, message(65, b"\0" * 24)), (2, message(51, b"\0" * 64))):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    s.sendall(message(1, struct.pack(">HB", 1, role)))
    if role == 2: assert answer(s) == 48
    s.sendall(then)
    assert answer(s) in (2, None), (role, then)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
s.sendall(struct.pack(">IH", 2**31, 1))
assert s.recv(10) == b""
EOF

# rights: another user's set is not there for me until it is allowed
sqlite3 -cmd ".timeout 10000" master/master.db "UPDATE data_set SET owner = 'alice' WHERE name = 'copies'"
! "$bin/dpss" unload copies out.alice 2>why || fail "another's set"
grep -q 'no set of this name for you' why || fail "reason: $(cat why)"
sqlite3 -cmd ".timeout 10000" master/master.db "INSERT INTO access SELECT id, '*', 1 FROM data_set WHERE name = 'copies'"
"$bin/dpss" unload copies out.alice || fail "an allowed set"
! "$bin/dpss" drop copies 2>/dev/null || fail "a reader dropped the set"
for i in 1 2 3; do kill "$(cat s$i.pid)" && wait "$(cat s$i.pid)" || fail "the end of server $i: $(cat s$i.err)"; done
