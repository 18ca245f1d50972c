#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Places of magnet serve: a user who takes all that there are locks out neither root nor another user.
. tests/lib.sh
magnet=$bin/magnet
"$magnet" points >"$tmp/points" 2>"$tmp/why" || skip "kernel events: $(cat "$tmp/why")"
[ "$(id -u)" = 0 ] || skip "kernel events: root is needed to make views of others"
chmod 755 "$tmp"
"$magnet" serve -S "$tmp/socket" 2>"$tmp/serve" &
pids="$pids $!"
until_true 20 test -S "$tmp/socket" || fail "magnet serve: $(cat "$tmp/serve")"
until_true 20 "$magnet" status -S "$tmp/socket" || fail "status: $("$magnet" status -S "$tmp/socket" 2>&1)"
# hold UID N FILE: N connections of a user that stay; FILE gets the number of those that the owner keeps
cat >"$tmp/hold.py" <<'PY'
import os, select, socket, sys, time
uid, n, path, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
f = open(out, "w")
os.setresuid(uid, uid, uid)
held = []
for _ in range(n):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.setblocking(False)
    held.append(s)
while True:
    time.sleep(0.1)
    for s in held[:]:
        try:
            s.recv(999)
            held.remove(s)
        except BlockingIOError:
            pass
        except OSError:
            held.remove(s)
    f.seek(0)
    f.truncate()
    f.write("%d\n" % len(held))
    f.flush()
PY
hold() {
	python3 -B "$tmp/hold.py" "$1" "$2" "$tmp/socket" "$3" &
	pids="$pids $!"
}
keeps() { [ "$(cat "$1")" = "$2" ]; }
hold 60001 100 "$tmp/first"
until_true 20 keeps "$tmp/first" 16 || fail "one user holds $(cat "$tmp/first") places"
"$magnet" on -S "$tmp/socket" ip_send >"$tmp/out" 2>&1 || "$magnet" status -S "$tmp/socket" >"$tmp/out" 2>&1 || fail "root is locked out: $(cat "$tmp/out")"
# three more fill the rest of the users' places, and a fifth takes places of those
for uid in 60002 60003 60004; do hold $uid 100 "$tmp/$uid"; done
until_true 20 test -s "$tmp/60004" || fail "no fourth user"
hold 60005 1 "$tmp/fifth"
until_true 20 keeps "$tmp/fifth" 1 || fail "the fifth user has no place"
"$magnet" status -S "$tmp/socket" >/dev/null 2>"$tmp/out" || fail "root is locked out: $(cat "$tmp/out")"
# a user over its share hears why
python3 - "$tmp/socket" <<'PY' || fail "no reason"
import os, socket, sys, time
os.setresuid(60001, 60001, 60001)
kept, reasons = [], []
for _ in range(40):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(0.2)
    s.connect(sys.argv[1])
    kept.append(s)
    try:
        reasons.append(s.recv(999))
    except OSError:
        pass
assert any(b"too many connections" in r for r in reasons), reasons
PY
