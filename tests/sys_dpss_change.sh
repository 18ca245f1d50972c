#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The storage system changes beneath its readers: a server comes and another is drained, dies for good and is replaced, the
# master is killed; two masters share the disks of one owner; what was damaged is stored anew.
. tests/lib.sh
. tests/dpss.sh
cd "$tmp"

for i in 1 2 3 4; do
	grant $i master 300 8192
	server $i
	grant $i other 20 4096
done
mkdir master other
start m "$bin/dpss-master" -s master -L m.log
start o "$bin/dpss-master" -s other -n other
export DPSS_MASTER=127.0.0.1/$(cat m.port)
for i in 1 2 3; do add $i; done
until_true 10 ups 3 || fail "servers do not come up: $(cat m.err)"

# a grant that is younger than the running server; a refused master says so once
main=$DPSS_MASTER DPSS_MASTER=127.0.0.1/$(cat o.port)
tr 0-9a-f 1-9a-f0 <s4.other >s4.wrong
add 4 wrong
until_true 10 grep -q server.refused o.err || fail "another secret is not refused: $(cat o.err)"
sleep 1
"$bin/dpss" server-drop 1 && add 2 other || fail "the other master's servers"
until_true 10 ups 1 || fail "a running server does not take a new grant: $(cat o.err s2.err)"
[ "$(grep -c server.refused o.err)" = 1 ] || fail "refused, and not said once: $(cat o.err)"
"$bin/dpss" server-drop "$("$bin/dpss" servers | awk '/ up / { print $1 }')" || fail "the other master's server"
DPSS_MASTER=$main
head -c 1000003 /dev/urandom >file
"$bin/dpss" -b 8192 -c 2 load file copies && "$bin/dpss" -b 8192 -k 2 load file parity || fail "load"

# applications of the library: frames, tiles and predictions; delivery to another handle; a layout of their own; a recording
"$bin/dpss-cases" access copies file || fail "access methods"
"$bin/dpss-cases" third copies file || fail "delivery to a third party"
"$bin/dpss-cases" layout laid 3 || fail "the application's layout"
placed() { sqlite3 -cmd ".timeout 10000" master/master.db "SELECT count(*) FROM place JOIN data_set ON id = data_set WHERE name = '$1' AND $2"; }
[ "$(placed laid 'logical % 4 = 0 AND (server <> 3 OR disk <> 1)')" = 0 ] && [ "$(placed laid 'logical >= 0')" = 40 ] || fail "the layout is not the wanted one"
head -c 409600 file | "$bin/dpss" -b 8192 -r 500 record tape 80 >said || fail "record: $(cat said)"
grep -q '^50 blocks recorded, 0 dropped' said && "$bin/dpss" unload tape out.tape && head -c 409600 file | cmp - out.tape || fail "the recording: $(cat said)"
head -c 12345 file | "$bin/dpss" -b 8192 record short 80 >said || fail "record a short input: $(cat said)"
"$bin/dpss" unload short out.short && head -c 12345 file | cmp - out.short || fail "the recording's tail: $(cat said)"
! head -c 409600 file | "$bin/dpss" -b 1024 -r 100 record fast 400 >said 2>why || fail "dropped blocks, and status 0: $(cat said)"
grep -q '[1-9][0-9]* dropped$' said && grep -q '^dpss: blocks 1[0-9]* to [0-9]* of the input dropped$' why || fail "which blocks were dropped: $(cat said why)"
head -c 409600 file | "$bin/dpss" -b 8192 record full 10 >said 2>why || fail "a full set: $(cat said why)"
grep -q 'nothing from block 10 of the input on' why || fail "a full set: $(cat why)"

# a server that freezes and one that is killed are reported within a second
"$bin/dpss-cases" watch copies 5 >watched &
watcher=$!
sleep 0.3
at=$(date +%s.%N)
kill -STOP "$(cat s3.pid)"
until_true 10 grep -q "$(cat s3.port) dead" watched || fail "a frozen server is not reported"
[ "$(patience)" -gt 1 ] || awk -v at="$at" -v port="$(cat s3.port)" '$2 == port && $3 == "dead" && $1 - at > 1 { bad = 1 } END { exit bad }' watched ||
	fail "a frozen server was reported late: $at $(cat watched)"
kill -CONT "$(cat s3.pid)"
until_true 10 sh -c "tail -n 1 watched | grep -q '$(cat s3.port) alive'" || fail "the server that is back is not reported"
kill $watcher
until_true 10 ups 3 || fail "the server is not back"

# a viewer reads all the time
"$bin/tv_sim" -k -t 6 -r 20 -n 20 -w 10 copies >said 2>&1 &
viewer=$!
sleep 0.5


# a server comes, another is drained: blocks move beneath the viewer, and the server can go
add 4
until_true 10 ups 4 || fail "the fourth server does not come up"
"$bin/dpss" server-drain 1 >moved || fail "drain: $(cat moved)"
grep -q '^copies: [1-9][0-9]* copies stored anew, 0 lost' moved && grep -q '^parity: [1-9][0-9]* copies stored anew, 0 lost' moved || fail "drain: $(cat moved)"
"$bin/dpss" server-drain 1 >moved || fail "drain again: $(cat moved)"
grep -q '^copies: 0 copies' moved || fail "blocks stand there still: $(cat moved)"
! "$bin/dpss" server-drop 2 2>why || fail "a server with blocks was dropped"
grep -q 'drain the server first' why || fail "reason: $(cat why)"
"$bin/dpss" server-drop 1 || fail "server-drop"
kill "$(cat s1.pid)"

# the master is killed: the viewer goes on with the next one
kill -9 "$(cat m.pid)"
sleep 0.3
start m "$bin/dpss-master" -s master -L m.log
wait $viewer || fail "the viewer fails: $(cat said)"
grep -q ' 2400 blocks asked for, 2400 received, 0 lost' said || fail "the viewer missed blocks: $(cat said)"
until_true 10 ups 3 || fail "servers do not come up again: $(cat m.err)"
for set in copies parity; do "$bin/dpss" unload $set out.$set && cmp out.$set file || fail "$set came back different"; done

# a server dies for good: its blocks are computed from copies and parity, and stored on the others
kill -9 "$(cat s2.pid)"
until_true 10 ups 2 || fail "the death is not noticed"
server 1
add 1
until_true 10 ups 3 || fail "the replacement does not come up: $(cat m.err)"
! "$bin/dpss" server-drain 2 >moved || fail "blocks without a copy are not missed"
grep -q '^laid: .* [1-9][0-9]* lost' moved || fail "what is lost is not said: $(cat moved)"
for set in laid tape short fast full; do "$bin/dpss" drop $set || fail "drop"; done
"$bin/dpss" server-drain 2 >moved || fail "drain of a dead server: $(cat moved)"
"$bin/dpss" server-drop 2 || fail "server-drop of a dead server"
"$bin/dpss" verify parity >said && grep -q ' 123 of 123 blocks are good, 0 of them' said || fail "after the replacement: $(cat said)"

# damage is mended
python3 - s3/a/master.blocks <<'EOF2'
import sys
with open(sys.argv[1], "r+b") as f:
    slot, n = (40 + 8192 + 511) // 512 * 512, 0
    for i in range(300):
        f.seek(i * slot)
        if f.read(4) == b"DPS2":
            f.seek(i * slot + 4000)
            b = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([b[0] ^ 1]))
            n += 1
    assert n > 10
EOF2
"$bin/dpss" verify copies >said && "$bin/dpss" verify parity >said || fail "damage: $(cat said)"
grep -q 'block.damaged server=' m.err || fail "the master does not say that blocks are damaged"
"$bin/dpss" repair >moved || fail "repair: $(cat moved)"
grep -q '^parity: [1-9]' moved || fail "nothing was mended: $(cat moved)"
"$bin/dpss" verify parity >said && grep -q ' 0 of them' said || fail "after the repair: $(cat said)"

# a server is killed beneath a writer: copies serve, what is missing is stored anew
"$bin/dpss" drop copies && "$bin/dpss" drop parity || fail "drop"
until_true 10 ups 3 || fail "servers before the writer: $("$bin/dpss" servers)"
"$bin/dpss" -b 8192 -c 2 load file killed >said 2>&1 &
writer=$!
kill -9 "$(cat s3.pid)"
wait $writer || fail "a server was killed beneath a writer: $(cat said)"
"$bin/dpss" unload killed out.killed && cmp out.killed file || fail "after a kill beneath a writer"
server 3
until_true 10 ups 3 || fail "the killed server does not come again"
"$bin/dpss" repair >moved || fail "repair after a kill: $(cat moved)"
[ "$(placed killed 'state <> 1')" = 0 ] || fail "copies are missing still"

# a set that is complete stays as it is; another master has disks and sets of its own, and may do what its owners say
DPSS_MASTER=127.0.0.1/$(cat o.port)
for i in 1 3; do add $i other; done
until_true 10 ups 2 || fail "the other master's servers do not come up: $(cat o.err)"
head -c 30000 file >small
"$bin/dpss" -b 4096 load small mine && "$bin/dpss" unload mine out.mine && cmp out.mine small || fail "the other master"
! "$bin/dpss" unload copies out.foreign 2>/dev/null || fail "another master's set"
! "$bin/dpss" -b 4096 load file large 2>why || fail "more than the other master was granted"
grep -q 'has room' why || fail "reason: $(cat why)"
