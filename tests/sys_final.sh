#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One verdict, once: a verdict of the data so far says so, and nobody takes it for the verdict of the whole.
. tests/lib.sh

start_box -o session-linger=1s -o analysis-interval=1s
head -c 4M /dev/zero >"$tmp/in"
run() { "$bin/nwrun" -q "$@"; }

# `report last` says that a verdict is interim while the program runs
run -t whole sh -c 'i=0; while [ ! -f "$1" ]; do head -c 64k /dev/zero >>"$0"; sleep 0.1; done; :' "$tmp/slow" "$tmp/enough" &
whole=$!
interim() { nw report last >"$tmp/report" 2>"$tmp/err" && grep -q '^So far, while the transfer runs: ' "$tmp/report"; }
until_true 30 interim || fail "no interim verdict: $(cat "$tmp/report" "$tmp/err")"
head -n 1 "$tmp/report" | grep -q '^Interim, still running: session 1: ' || fail "an interim report: $(head -n 1 "$tmp/report")"
nw sessions | awk 'NR == 2' | grep -q '  so far: ' || fail "the list: $(nw sessions)"
curl -fs "$url/session/1" | grep -q '<b>Interim: still running' || fail "the page of an interim verdict"
curl -fs "$url/" | grep -q 'running</span> so far ' || fail "the page of the list"

# .. and waits for the verdict of the whole after the program's end, also where the session of another user is newer
touch "$tmp/enough"
wait $whole || fail "the program failed"
mkdir "$tmp/other"
XDG_RUNTIME_DIR="$tmp/other" "$bin/nwrun" -q -t theirs cp "$tmp/in" "$tmp/out"
theirs() { nw sessions --json | grep -q '"task_id": *"theirs"'; }
until_true 20 theirs || fail "no session of the other user: $(nw sessions --json)"
nw report last >"$tmp/report" 2>"$tmp/err" || fail "no report: $(cat "$tmp/err")"
head -n 1 "$tmp/report" | grep -q '^session 1: .*, task whole$' || fail "not this user's last run: $(head -n 1 "$tmp/report")"
! grep -q 'Interim\|So far' "$tmp/report" || fail "an interim verdict after the end: $(cat "$tmp/report")"
grep -q 'session 2 is newer' "$tmp/err" || fail "no word on the newer session: $(cat "$tmp/err")"

# nwrun's collector prints the final verdict on the terminal, soon after the program's end; the program does not wait for the words
cat >"$tmp/terminal.py" <<'END'
# terminal.py SECONDS COMMAND ...: runs the command on a terminal, prints the command's seconds and status, then the seconds until
# no process has the terminal any more, or the output has ENOUGH (at most SECONDS), and the output
import os, pty, re, select, sys, time
begin = time.monotonic()
master, slave = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.closerange(3, 256)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(slave)
status = None
out = b""
while time.monotonic() - begin < float(sys.argv[1]):
    if status is None:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status, ended = os.waitstatus_to_exitcode(code), time.monotonic()
    if status is not None and "ENOUGH" in os.environ and re.search(os.environ["ENOUGH"].encode(), out):
        break
    if not select.select([master], [], [], 0.05)[0]:
        continue
    try:
        more = os.read(master, 65536)
    except OSError:
        break
    out += more
if status is None:
    done, code = os.waitpid(pid, 0)
    status, ended = os.waitstatus_to_exitcode(code), time.monotonic()
print("%.2f %d %.2f" % (ended - begin, status, time.monotonic() - ended))
sys.stdout.write(out.decode(errors="replace").replace("\r\n", "\n"))
END
on_terminal() { python3 "$tmp/terminal.py" 60 "$@" >"$tmp/shown" || fail "no terminal: $(cat "$tmp/shown")"; }
# word N: of the first line: seconds of the command, status, seconds to the last word
word() { head -n 1 "$tmp/shown" | cut -d' ' -f"$1"; }
copy() { on_terminal "$bin/nwrun" "$@" cp "$tmp/in" "$tmp/out"; }

nothing_else() { sed 1d "$tmp/shown" | grep -v '^$' | grep -cv "$1" | grep -qx 0; }
judged_in_time() { copy && grep -q '^nwrun: .* (narrows report [0-9]*)$' "$tmp/shown"; }
until_true 30 judged_in_time || fail "no verdict on the terminal: $(cat "$tmp/shown")"
! grep -q 'So far' "$tmp/shown" || fail "an interim verdict on the terminal: $(cat "$tmp/shown")"
nothing_else '^nwrun: .* (narrows report [0-9]*)$' || fail "more than a verdict: $(cat "$tmp/shown")"
id=$(sed -n 's/.* (narrows report \([0-9]*\))$/\1/p' "$tmp/shown")
sentence=$(sed -n 's/^nwrun: \(.*\) (narrows report [0-9]*)$/\1/p' "$tmp/shown")
shown() { nw report "$id" | grep -qxF "$sentence"; }
until_true 10 shown || fail "the terminal and the report differ: $(cat "$tmp/shown"; nw report "$id")"
"$bin/nwrun" cp "$tmp/in" "$tmp/out" 2>"$tmp/file"
copy -q
nothing_else 'no line' || fail "-q: $(cat "$tmp/shown")"
[ ! -s "$tmp/file" ] || fail "a verdict in a file: $(cat "$tmp/file")"

# --wait stays: status and signals are passed on, and the verdict goes wherever the errors go
"$bin/nwrun" --wait sh -c 'head -c 1M /dev/zero >"$0"; exit 7' "$tmp/out" 2>"$tmp/err" && fail "--wait: status 0" || [ $? = 7 ] || fail "--wait: the status"
grep -q '^nwrun: .*narrows report [0-9]*)*$' "$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ] || fail "--wait says: $(cat "$tmp/err")"
"$bin/nwrun" --wait sh -c 'trap "echo told >\"$0\"; exit 3" USR1; echo $$ >"$1"; while :; do sleep 0.1; done' "$tmp/told" "$tmp/pid" 2>"$tmp/err" &
waiting=$!
until_true 20 test -s "$tmp/pid" || fail "--wait: the program does not run"
[ "$(cat "$tmp/pid")" != $waiting ] || fail "--wait: nwrun became the program"
kill -USR1 $waiting
wait $waiting && fail "--wait: status 0 after a signal" || [ $? = 3 ] || fail "--wait: the status after a signal"
grep -q told "$tmp/told" || fail "--wait: the signal does not arrive"
"$bin/nwrun" --wait sh -c 'kill -TERM $$' 2>"$tmp/err" && fail "--wait: status 0 of a killed program" || [ $? = 143 ] || fail "--wait: a killed program"

# a box that does not answer delays nothing: the command ends, and one line says where the verdict will be
kill -STOP "$box"
ENOUGH=
export ENOUGH
copy
kill -CONT "$box"
[ "$(word 2)" = 0 ] || fail "a stopped box changes the status: $(cat "$tmp/shown")"
[ "$(word 1 | cut -d. -f1)" -lt 10 ] || fail "a stopped box delays the program: $(cat "$tmp/shown")"
# a box that stops while the program runs
copy_then_stop() { on_terminal "$bin/nwrun" sh -c 'cp "$0" "$1"; sleep 0.5; kill -STOP "$2"' "$tmp/in" "$tmp/out" "$box"; }
ENOUGH='not judged yet|narrows report'
copy_then_stop
kill -CONT "$box"
[ "$(word 1 | cut -d. -f1)" -lt 10 ] || fail "a box that stops delays the program: $(cat "$tmp/shown")"
grep -q '^nwrun: not judged yet: narrows report \(last\|[0-9]*\)$' "$tmp/shown" || fail "no word on a verdict to come: $(cat "$tmp/shown")"
