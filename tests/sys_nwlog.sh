#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nwlog ships every line of a log once: across rotations by rename and by copy and truncation, kill -9 of nwlog, a kill of the
# box, and while nwlog is away. Bad lines are counted and quoted; without -f standard input is shipped.
. tests/lib.sh
mkdir "$tmp/hosts" "$tmp/state"
nw enroll -o "$tmp/hosts" dtn1 >/dev/null || fail "enroll"
start_box -o flush-interval=20ms -o commit-interval=20ms -o listen-events-tls=127.0.0.1/0
log=$tmp/app.log
n=0
# add N: lines with rising numbers
add() {
	seq $((n + 1)) $((n + $1)) | awk '{ printf "ts=%d.%06d event=app.step id=%d host=h\n", 1777888805 + $1 / 1000, $1 % 1000 * 1000, $1 }' >>"$log"
	n=$((n + $1))
}
follow() {
	"$bin/nwlog" -f "$log" -H loghost "$@" 2>>"$tmp/nwlog.log" &
	nwlog=$!
	pids="$pids $nwlog"
}
stored() { nw sql --csv "SELECT count(*), count(DISTINCT json_extract(ids, '\$.id')), coalesce(max(json_extract(ids, '\$.id')), 0) FROM event WHERE name = 'app.step'" | tail -n 1 | tr -d '\r'; }
all_stored() { [ "$(stored)" = "$n,$n,$n" ]; }
check() { until_true 15 all_stored || fail "$1: stored $(stored), written $n: $(cat "$tmp/nwlog.log")"; }

add 1000
follow
check "the beginning"
add 3000
check "appended lines"

mv "$log" "$log.1"
add 500
check "renamed"
add 700
cp "$log" "$log.2" && : >"$log" # as copytruncate does, with lines that nwlog may not have read
add 300
check "copied and emptied"

# killed at any moment, with the box's answers under way
for i in 1 2 3; do
	add 2000
	sleep 0.0$i
	kill -9 "$nwlog"
	wait "$nwlog" 2>/dev/null || :
	add 100
	follow
done
check "killed"

# away during two rotations
kill -9 "$nwlog"
wait "$nwlog" 2>/dev/null || :
add 400
sleep 0.02
mv "$log" "$log.4"
add 400
sleep 0.02
mv "$log" "$log.3"
add 400
follow
check "two rotations while away"

# the box is killed, and comes back
kill -9 "$box"
wait "$box" 2>/dev/null || :
add 5000
start_box -o listen-xsp="$xsp" -o listen-events-tls=127.0.0.1/0
check "a box that was killed"

# a second nwlog on the same log is refused; -1 ends by itself, with nothing to do
if "$bin/nwlog" -1 -f "$log" 2>"$tmp/err"; then fail "two of them"; fi
grep -q "another nwlog uses it: stop that nwlog, or give another file with -p" "$tmp/err" || fail "two of them: $(cat "$tmp/err")"
kill "$nwlog"
wait "$nwlog" || fail "nwlog ended with status $?"
timeout 60 "$bin/nwlog" -1 -f "$log" -H loghost 2>>"$tmp/nwlog.log" || fail "nwlog -1: $(tail -n 3 "$tmp/nwlog.log")"
check "once more"

# the journal stands in the state directory; one beside the log, as earlier versions had it, is moved
[ "$(ls "$XDG_STATE_HOME/narrows")" = "$(ls "$XDG_STATE_HOME/narrows" | grep '^app\.log-[0-9a-f]*\.nwlog$')" ] || fail "journals: $(ls "$XDG_STATE_HOME/narrows")"
[ ! -e "$log.nwlog" ] || fail "a journal beside the log"
mv "$XDG_STATE_HOME"/narrows/app.log-*.nwlog "$log.nwlog"
add 10
timeout 60 "$bin/nwlog" -1 -f "$log" -H loghost 2>"$tmp/err" || fail "an old journal: $(cat "$tmp/err")"
[ ! -e "$log.nwlog" ] && ls "$XDG_STATE_HOME"/narrows/app.log-*.nwlog >/dev/null || fail "an old journal stays"
check "an old journal"

# a user who writes the directory of the log turns nothing of root's against root: links in place of journals are not followed, nor
# in place of logs; a second name of root's file is no log
mkdir "$tmp/evil"
echo "root:secret" >"$tmp/shadow"
chmod 600 "$tmp/shadow"
cp "$tmp/shadow" "$tmp/shadow.before"
head -n 3 "$log" >"$tmp/evil/app.log"
ln -s "$tmp/shadow" "$tmp/evil/app.log.nwlog.new"
ln -s "$tmp/shadow" "$tmp/evil/app.log.nwlog"
ln -s "$tmp/shadow" "$tmp/evil/link.log"
ln -s "$tmp/shadow" "$tmp/evil/j.new"
ln -s "$tmp/shadow" "$tmp/evil/j2"
ln "$tmp/shadow" "$tmp/evil/second.log"
mkfifo "$tmp/evil/fifo.log"
chmod 777 "$tmp/evil"
timeout 60 "$bin/nwlog" -1 -f "$tmp/evil/app.log" -H evilhost 2>"$tmp/err" || fail "links of journals: $(cat "$tmp/err")"
grep -q 'app.log.nwlog why="another user may have written it: nwlog begins a new one"' "$tmp/err" || fail "an old journal that is a link: $(cat "$tmp/err")"
timeout 60 "$bin/nwlog" -1 -f "$tmp/evil/app.log" -p "$tmp/evil/j" -H evilhost 2>"$tmp/err" || fail "a link beside -p: $(cat "$tmp/err")"
for bad in "-p $tmp/evil/j2 -f $log" "-f $tmp/evil/link.log" "-f $tmp/evil/second.log" "-f $tmp/evil/fifo.log"; do
	# shellcheck disable=SC2086
	if timeout 60 "$bin/nwlog" -1 $bad -H evilhost 2>"$tmp/err"; then fail "taken: $bad"; fi
	grep -Eq 'another user may|of this user alone|a symbolic link:|second name' "$tmp/err" || fail "not said why: $bad: $(cat "$tmp/err")"
	! grep -q secret "$tmp/err" || fail "root's file is in the log: $bad"
done
cmp "$tmp/shadow" "$tmp/shadow.before" || fail "root's file was written"
rm -r "$tmp/evil"

# bad lines, a line without end, standard input, a task
{
	printf 'no event\nts=1777888805 event=e id=1\n\0\nts=x event=e\n'
	head -c 1000000 /dev/zero | tr '\0' x
	printf '\nDPSS_SERV_IN; s1; 1777888806; 5; 42; 7\nts=1777888807 event=last'
} >"$tmp/in"
"$bin/nwlog" -t job-1 <"$tmp/in" 2>"$tmp/err" || fail "standard input: $(cat "$tmp/err")"
grep -q 'nwlog.end lines=7 events=3 bad=4' "$tmp/err" || fail "counts: $(cat "$tmp/err")"
grep -q 'line=4 bad=3 why="ts is not a time" text="ts=x event=e"' "$tmp/err" || fail "quoted: $(cat "$tmp/err")"
[ "$(nw sql --csv "SELECT name, ids FROM event e JOIN session s ON s.id = e.session_id WHERE s.task_id = 'job-1' ORDER BY t_ns" | tr -d '\r' | tr '\n' ' ')" = \
    'e,"{""id"":1}" DPSS_SERV_IN,"{""block"":42,""set"":7}" last,{} ' ] || fail "standard input is there: $(nw sql "SELECT * FROM event WHERE session_id = 1")"

# a secret task id becomes its label
uuid=1b4e28ba-2fa1-41d2-883f-0016d3cca427
echo "ts=1777888805 event=secret task_id=$uuid" | "$bin/nwlog" -t "$uuid" 2>/dev/null || fail "a secret task"
nw sql "SELECT ids FROM event WHERE name = 'secret' AND session_id IS NOT NULL" | grep -q '"task_id":"task-' || fail "the label of a secret task: $(nw sql "SELECT * FROM event WHERE name = 'secret'")"
! grep -q "$uuid" "$tmp/state/narrows.db" "$tmp/state/narrows.db-wal" || fail "the secret is in the store"

# the port for lines: newline, octet counts, bad lines
port=$(sed -n 's/^events .*\///p' "$tmp/state/narrowsd.run")
python3 - "$port" <<'PY' || fail "the port"
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
m = b"<34>1 2026-05-04T10:00:01Z web1 app - - - ts=2026-05-04T10:00:01Z event=port.counted"
s.sendall(b"ts=2026-05-04T10:00:00Z event=port.plain\r\n%d %s%d %sbad\n" % (len(m), m, len(m), m) + b"y" * 200000 + b"\n")
s.sendall(b"DATE=20260504100002 NL.EVNT=port.ulm HOST=h\nts=2026-05-04T10:00:03Z event=port.end")
s.close()
PY
port_stored() { [ "$(nw sql --csv "SELECT count(*) FROM event WHERE name GLOB 'port.*'" | tail -n 1 | tr -d '\r')" = 5 ]; }
until_true 10 port_stored || fail "lines of the port: $(nw sql "SELECT * FROM event WHERE name GLOB 'port.*'")"
grep -q 'line.reject .* why="neither BP nor ULM nor the common format" text="bad"' "$tmp/box.log" || fail "a bad line at the port"
curl -s "$url/healthz" | grep -q '"bad_lines": *2' || fail "bad lines are counted: $(curl -s "$url/healthz")"

# the same in TLS: the certificate names the sender; a stranger is refused, and nothing of a stranger is read
port=$(sed -n 's/^events-tls .*\///p' "$tmp/state/narrowsd.run")
python3 - "$port" "$tmp/hosts" <<'PY' || fail "the port in TLS"
import socket, ssl, sys
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
c.check_hostname = False
c.load_verify_locations(sys.argv[2] + "/ca.crt")
def say(line):
    s = c.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    s.sendall(line)
    s.shutdown(socket.SHUT_WR)
    try:
        while s.recv(100):
            pass
    except (ssl.SSLError, OSError):
        pass
    s.close()
try:
    say(b"ts=2026-05-04T10:00:00Z event=tls.stranger\n")
except (ssl.SSLError, OSError):
    pass
c.load_cert_chain(sys.argv[2] + "/dtn1.crt", sys.argv[2] + "/dtn1.key")
say(b"ts=2026-05-04T10:00:00Z event=tls.known\n")
PY
tls_stored() { [ "$(nw sql --csv "SELECT e.name, h.name FROM event e JOIN host h ON h.id = e.sender_id WHERE e.name GLOB 'tls.*'" | tr -d '\r')" = tls.known,dtn1 ]; }
until_true 10 tls_stored || fail "events in TLS: $(nw sql "SELECT * FROM event WHERE name GLOB 'tls.*'")"
stop_box
nw verify >/dev/null || fail "the store: $(nw verify)"
