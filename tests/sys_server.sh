#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A client of a slow server behind a Unix socket, as pg_dump of PostgreSQL: a child that the server makes for the connection
# delivers the bytes. The verdict names that child and the socket, measured by nwrun.so and from outside.
. tests/lib.sh
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
# the interpreter itself: what is first in PATH may be a script that becomes it
python=$(python3 -c 'import sys; print(sys.executable)')

cat >"$tmp/backend.py" <<'PY'
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    c = s.accept()[0]
    c.recv(16)
    if os.fork() == 0:
        open(sys.argv[1] + ".pid", "w").write(str(os.getpid()))
        for _ in range(30):
            time.sleep(0.1)
            c.sendall(bytes(65536))
        os._exit(0)
    c.close()
PY
cat >"$tmp/dump.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"COPY")
with open(sys.argv[2], "wb", buffering=0) as f:
    while data := s.recv(65536):
        f.write(data)
PY
start_box
"$python" "$tmp/backend.py" "$tmp/server" 2>"$tmp/server.log" &
server=$!
pids="$pids $server"
until_true 10 test -S "$tmp/server" || fail "the server does not listen"

session_of() { nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1; }
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
# named TASK: the sentence has the child's program and number, and the socket
named() {
	until_true 20 judged "$1" || fail "$1: no verdict"
	child=$(cat "$tmp/server.pid")
	grep -q "waited for backend.py (python3) (pid $child) behind the Unix socket $tmp/server" "$tmp/$1.json" ||
		fail "$1: no server (pid $child, listener $server) in: $(grep -o '"sentence": *"[^"]*"' "$tmp/$1.json")"
	nw report --check "$(session_of "$1")" >/dev/null || fail "$1: the document contradicts itself"
}
"$bin/nwrun" -i 0.1 -H here -t inside "$python" "$tmp/dump.py" "$tmp/server" "$tmp/out" || fail "the client failed"
named inside
grep -q '"waited_at_socket"' "$tmp/inside.json" || fail "no record of the claim"

# From outside, where the machine allows it; else nwrun says why not.
"$bin/nwrun" -o -i 0.1 -H here -t outside "$python" "$tmp/dump.py" "$tmp/server" "$tmp/out" 2>"$tmp/outside.log" || fail "the client failed"
[ -s "$tmp/outside.log" ] || named outside
stop_box
