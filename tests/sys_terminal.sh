#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# No program lets foreign text steer a terminal: escape sequences, control bytes, turned text, and lines that a name forges.
# In a pipe the formats for machines stay exact.
. tests/lib.sh
. tests/dpss.sh
cat >"$tmp/onpty.py" <<'PY'
import os, pty, re, signal, sys
# onpty.py NEEDLE COMMAND ...: runs the command on a terminal; the output has NEEDLE, nothing that steers, and no forged line
needle, command = sys.argv[1], sys.argv[2:]
got = bytearray()
def read(fd):
    data = os.read(fd, 4096)
    got.extend(data)
    return data
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(command[0], command)
def late(*_):
    os.kill(pid, signal.SIGKILL)
    sys.exit("%s: does not end: %r" % (command, bytes(got)))
signal.signal(signal.SIGALRM, late)
signal.alarm(60)
while True:
    try:
        if not read(fd):
            break
    except OSError:
        break
os.waitpid(pid, 0)
text = bytes(got).replace(b"\r\n", b"\n").replace(b"\r\x1b[K", b"").replace(b"\x1b[H\x1b[2J", b"")
bad = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]", text)
shown = text.decode("utf-8", "surrogateescape")
bad += re.findall("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]", shown)
if bad:
    sys.exit("%s: steers the terminal by %r: %r" % (command, bad[:5], text[:600]))
if re.search("^FORGED", shown, re.M):
    sys.exit("%s: a name forges a line: %r" % (command, text[:600]))
if needle not in shown:
    sys.exit("%s: %s is not shown: %r" % (command, needle, text[:600]))
PY
shown() { python3 -B "$tmp/onpty.py" "$@" </dev/null || fail "terminal"; }
poison=$(printf 'POISON\033]0;owned\007\033[2J\302\233\342\200\256x\377\177')
lines=$(printf 'POISON\nFORGED\033[31m\302\233\342\200\256x')

# --- every program: a word that the program repeats ---
cd "$tmp"
mkdir "$poison"
echo "x$poison y" >"$poison/conf"
chmod 600 "$poison/conf"
shown POISON "$bin/narrows" -s "$poison" sessions
shown POISON "$bin/narrowsd" -n -f "$poison/none"
shown POISON "$bin/nwrun" -i "$poison" true
shown POISON "$bin/blipp" -f "$poison/none" --once
shown POISON "$bin/iomodel" table "$poison/none"
[ ! -x "$bin/nwswitch" ] || shown POISON "$bin/nwswitch" -f "$poison/conf" -n
shown nwlog: "$bin/nwlog" "-$poison"
shown usage: "$bin/narrows-host" "$poison"
shown POISON "$bin/nwflow" -n -f "$poison/none"
shown POISON "$bin/magnet" status -S "$poison/none"
shown POISON "$bin/dpss" -m "$poison" sets
shown POISON "$bin/dpss-master" -s "$poison/none/none"
shown POISON "$bin/dpss-server" -s "$poison/none/none" -d "$poison/none/none" -g a 1 16384
shown POISON "$bin/tv_sim" -m 127.0.0.1/1 -i "$poison/none" x

# --- names of others in the storage system ---
grant 1 master 150 16384
server 1
mkdir master
start m "$bin/dpss-master" -s master
export DPSS_MASTER="127.0.0.1/$(cat m.port)"
add 1
until_true 10 ups 1 || fail "the server does not come up"
head -c 100 /dev/zero >file
"$bin/dpss" -b 16384 load file single || fail "load"
kill "$(cat m.pid)" && wait "$(cat m.pid)" || fail "the master's end"
python3 - "$lines" <<'PY'
import sqlite3, sys
db = sqlite3.connect("master/master.db")
assert db.execute("UPDATE data_set SET name = ?, owner = ?", (sys.argv[1], sys.argv[1])).rowcount == 1
db.commit()
PY
start m "$bin/dpss-master" -s master
shown POISON "$bin/dpss" sets

# --- names of others in a box ---
cd - >/dev/null
start_box
"$bin/nwrun" -t poisoned -H goodhost -l goodlabel dd if=/dev/zero of="$tmp/copy" bs=64k count=20 2>/dev/null || fail "nwrun"
judged() { [ "$(sql 'SELECT count(*) FROM result')" -ge 1 ] && [ "$(sql "SELECT count(*) FROM session WHERE closed_ns IS NULL")" = 0 ]; }
until_true 15 judged || fail "no session is judged"
stop_box
cp "$tmp/state/narrows.db" "$tmp/clean.db"
python3 - "$tmp/state/narrows.db" "$lines" <<'PY'
import json, sqlite3, sys
path, poison = sys.argv[1:]
db = sqlite3.connect(path)
quoted = json.dumps(poison)[1:-1]
for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    try:
        columns = [c[1] for c in db.execute("PRAGMA table_info(%s)" % table)]
        for c in columns:
            for good in ("goodhost", "goodlabel"):
                db.execute("UPDATE %s SET %s = replace(%s, ?, ?) WHERE typeof(%s) = 'text' AND substr(%s, 1, 1) <> '{'" % (table, c, c, c, c), (good, poison))
                db.execute("UPDATE %s SET %s = replace(%s, ?, ?) WHERE typeof(%s) = 'text' AND substr(%s, 1, 1) = '{'" % (table, c, c, c, c), (good, quoted))
    except sqlite3.OperationalError:
        pass
db.commit()
PY
[ "$(sql "SELECT count(*) FROM host WHERE name LIKE 'POISON%'")" -ge 1 ] || fail "nothing is poisoned"
for command in "sessions" "sessions --json" "sessions --csv" "export -f tidy 1" "export -f wide 1" "export -f ndjson 1"; do
	# shellcheck disable=SC2086
	shown POISON "$bin/narrows" -s "$tmp/state" $command
done
shown "session 1" "$bin/narrows" -s "$tmp/state" report 1
select='SELECT name FROM host'
for form in "" --csv --json; do
	# shellcheck disable=SC2086
	shown POISON "$bin/narrows" -s "$tmp/state" sql $form "$select"
done
# a pipe gets the very bytes, and JSON on a terminal is JSON
[ "$(nw sql --csv "$select" | python3 -c 'import csv, sys; print(list(csv.reader(sys.stdin))[-1][0] == sys.argv[1])' "$lines")" = True ] || fail "csv in a pipe: $(nw sql --csv "$select")"
[ "$(nw sql --json "$select" | python3 -c 'import json, sys; print(json.loads(sys.stdin.readlines()[-1])["name"] == sys.argv[1])' "$lines")" = True ] || fail "json in a pipe"
python3 - "$bin/narrows" "$tmp/state" "$select" "$lines" <<'PY' || fail "json on a terminal"
import json, pty, os, sys
got = bytearray()
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["narrows", "-s", sys.argv[2], "sql", "--json", sys.argv[3]])
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    got += data
os.waitpid(pid, 0)
assert json.loads(got.decode().splitlines()[-1])["name"] == sys.argv[4], got
PY

# --- a provider whose name is poisoned, by narrows control ---
start_box
NWRUN_FINAL_WAIT=1 "$bin/nwrun" -H "$lines" sleep 30 >/dev/null 2>&1 &
runner=$!
pids="$pids $runner"
present() { nw control all status | grep -q POISON; }
if until_true 5 present; then shown POISON "$bin/narrows" -s "$tmp/state" control all status; fi
