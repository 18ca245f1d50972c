#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs measured from outside, by their system calls: what runs already, what is static, requests of io_uring; beside
# nwrun.so in the same run the bytes are equal and the times agree. Nothing stays behind. LONG=1: a hundred attachments.
. tests/lib.sh
nwrun=$bin/nwrun
outside_or_skip
start_box

# total REPORT WORD KEY [PROGRAM|STAGE]: sum of a key over the lines of a report
total() {
	awk -v word="$2" -v key="$3" -v of="${4:-}" '$1 == word {
		n = 0
		for (i = 2; i <= NF; i++) {
			split($i, kv, "=")
			if (kv[1] == key) n = kv[2]
			if (of != "" && (kv[1] == "stage" || kv[1] == "program") && kv[2] != of) next
		}
		sum += n
	} END { printf "%.9f\n", sum }' "$1"
}
is() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a == b) }' || fail "$3: $1 instead of $2"; }
bytes=16777216
head -c $bytes /dev/urandom >"$tmp/from"

# --- a program that runs already, and nothing else of it ---
cat >"$tmp/copy.py" <<'PY'
import os, socket, sys, threading, time
source, to, go = sys.argv[1:4]
listener = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(listener.getsockname())
c, _ = listener.accept()
while not os.path.exists(go):
    time.sleep(0.01)
if os.fork() > 0: # the child is new to both measures
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
a, b = os.open(source, os.O_RDONLY), os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
def drain():
    while True:
        d = c.recv(1 << 18)
        if not d:
            break
        os.write(b, d)
t = threading.Thread(target=drain)
t.start()
while True:
    d = os.read(a, 1 << 18)
    if not d:
        break
    s.sendall(d)
s.shutdown(socket.SHUT_WR)
t.join()
os.close(b)
PY
python=$(python3 -c 'import sys; print(sys.executable)') # not what starts it
# beside: both measures of one run; inside.report and outside.report
beside() {
	rm -f "$tmp/inside.report" "$tmp/outside.report" "$tmp/go"
	NWRUN_REPORT=$tmp/inside.report "$nwrun" -q "$python" "$tmp/copy.py" "$tmp/from" "$tmp/to" "$tmp/go" &
	program=$!
	NWRUN_REPORT=$tmp/outside.report "$nwrun" -v -p "$program" 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin: $(cat "$tmp/err")"
	until_true 20 grep -q copy.py "/proc/$program/cmdline"
	sleep 0.3
	touch "$tmp/go"
	wait "$program" || fail "the program ends with $?"
	wait "$watcher" || fail "nwrun -p ends with $?"
	until_true 20 test -s "$tmp/inside.report" || fail "no report from inside"
	sed -i "/^stage pid=$program /d; /^process pid=$program /d" "$tmp/inside.report" "$tmp/outside.report"
	cmp -s "$tmp/from" "$tmp/to" || fail "the copy is damaged"
}
# agree STAGE: busy and wait within 5 % or 1 us per call
agree() {
	for key in busy_s wait_s; do
		in_s=$(total "$tmp/inside.report" stage $key "$1") out_s=$(total "$tmp/outside.report" stage $key "$1")
		awk -v a="$in_s" -v b="$out_s" -v n="$(total "$tmp/inside.report" stage ops "$1")" 'BEGIN {
			d = a > b ? a - b : b - a
			exit !(d <= 0.05 * a || d <= n * 1e-6) }' || { disagree="$1 $key: $in_s inside, $out_s outside"; return 1; }
	done
}
# A busy machine may take the processor away between the two clocks: of a few runs one agrees.
tries=0
while :; do
	beside
	for stage in disk.read disk.write net.read net.write; do
		is "$(total "$tmp/outside.report" stage bytes $stage)" "$(total "$tmp/inside.report" stage bytes $stage)" "bytes of $stage"
		is "$(total "$tmp/outside.report" stage ops $stage)" "$(total "$tmp/inside.report" stage ops $stage)" "operations of $stage"
	done
	grep -q "read=$bytes .*resource=$tmp/from\$" "$tmp/outside.report" || fail "the file that was read: $(cat "$tmp/outside.report")"
	agree disk.read && agree disk.write && agree net.read && agree net.write && break
	tries=$((tries + 1))
	[ $tries -lt 8 ] || fail "$disagree"
done
grep -q "resource=$tmp/to\$" "$tmp/outside.report" || fail "the written file has no name"
is "$(total "$tmp/outside.report" process missed_ops)" 0 "missed operations"
is "$(total "$tmp/outside.report" process unseen_read)" 0 "bytes read unseen"
is "$(grep -c ^connection "$tmp/outside.report")" 2 "ends of connections"

# --- a static program, by calls and by a ring: nwrun takes the way by itself, and says so ---
if ${CC:-cc} -O2 -static -o "$tmp/rawcalls" tests/rig/rawcalls.c 2>"$tmp/err"; then
	for way in "" ring; do
		rm -f "$tmp/report"
		status=0
		NWRUN_REPORT=$tmp/report "$nwrun" "$tmp/rawcalls" "$tmp/from" "$tmp/to" $way 2>"$tmp/err" || status=$?
		if [ "$status" = 3 ]; then
			printf 'no io_uring here\n'
			continue
		fi
		[ "$status" = 0 ] || fail "the static program ends with $status: $(cat "$tmp/err")"
		grep -q "statically linked: measured from outside" "$tmp/err" || fail "nwrun does not say how it measures: $(cat "$tmp/err")"
		until_true 20 test -s "$tmp/report" || fail "no report of a static program"
		for stage in disk.read disk.write; do
			is "$(total "$tmp/report" stage bytes $stage)" $bytes "static program ($way): bytes of $stage"
		done
		grep -q "read=$bytes .*resource=$tmp/from\$" "$tmp/report" || fail "static program ($way): the file has no name"
		is "$(grep -c '^process ' "$tmp/report")" 1 "processes of a static program"
	done
fi

# --- a program that seccomp kills at every call but a few: alive under both measures, and counted to the byte by both ---
mkfifo "$tmp/start"
# sealed_bytes WAY: what the report must have
sealed_bytes() {
	until_true 20 test -s "$tmp/report" || fail "$1: no report of a sealed program"
	is "$(total "$tmp/report" stage bytes disk.read)" $bytes "$1: bytes that a sealed program read"
	is "$(total "$tmp/report" stage bytes disk.write)" $bytes "$1: bytes that a sealed program wrote"
	grep -q "read=$bytes .*resource=$tmp/from\$" "$tmp/report" || fail "$1: the sealed program's file has no name"
	cmp -s "$tmp/from" "$tmp/sealed.to" || fail "$1: the sealed program's copy is damaged"
}
${CC:-cc} -O2 -o "$tmp/sealed" tests/rig/sealed.c || fail "sealed.c does not compile"
rm -f "$tmp/report" "$tmp/sealed.to"
"$tmp/sealed" "$tmp/from" "$tmp/sealed.to" "$tmp/start" &
program=$!
pids="$pids $program"
until_true 20 sh -c "readlink /proc/$program/fd/* | grep -q sealed.to" || fail "the sealed program opens no file"
NWRUN_REPORT=$tmp/report "$nwrun" -v -p $program 2>"$tmp/err" &
watcher=$!
until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin: $(cat "$tmp/err")"
timeout 60 sh -c "echo >$tmp/start"
wait $program || fail "the sealed program ends with $? beside nwrun -p"
wait $watcher || fail "nwrun -p ends with $?"
sealed_bytes "nwrun -p"
rm -f "$tmp/report" "$tmp/sealed.to"
NWRUN_REPORT=$tmp/report "$nwrun" -q "$tmp/sealed" "$tmp/from" "$tmp/sealed.to" "$tmp/start" &
program=$!
pids="$pids $program"
timeout 60 sh -c "echo >$tmp/start"
wait $program || fail "the sealed program ends with $? under nwrun"
sealed_bytes nwrun

# --- a server whose threads arm a socket for one event each: while a thread is at work, nothing waits for the socket ---
cat >"$tmp/once.py" <<'PY'
import os, select, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(listener.getsockname())
c, _ = listener.accept()
threading.Thread(target=lambda: (s.sendall(bytes(1 << 21)), time.sleep(2), s.sendall(b"."), s.close())).start()
poller, work = select.epoll(), threading.Semaphore(0)
poller.register(c, 0)
once = select.EPOLLIN | select.EPOLLONESHOT
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
busy = 0
def serve():
    global busy
    while work.acquire():
        begin = time.monotonic()
        for _ in range(10):
            if not c.recv(1 << 16):
                print(begin - start - busy, busy, flush=True)
                os._exit(0)
            time.sleep(0.02)
            if not select.select([c], [], [], 0)[0]:
                break
        busy += time.monotonic() - begin
        poller.modify(c, once)
threading.Thread(target=serve).start()
start = time.monotonic()
poller.modify(c, once)
while True:
    for _ in poller.poll():
        work.release()
PY
rm -f "$tmp/report" "$tmp/go"
"$python" "$tmp/once.py" "$tmp/go" >"$tmp/once" &
program=$!
pids="$pids $program"
until_true 20 sh -c "readlink /proc/$program/fd/* | grep -q eventpoll"
NWRUN_REPORT=$tmp/report "$nwrun" -v -p $program 2>"$tmp/err" &
watcher=$!
until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin"
touch "$tmp/go"
wait $program
wait $watcher
until_true 20 test -s "$tmp/report"
awk -v s="$(total "$tmp/report" stage wait_s net.read)" '{ exit !(s > 0.7 * $1 - 0.05 && s < $1 + 0.3 * $2) }' "$tmp/once" ||
	fail "a socket that is armed for one event was waited for $(total "$tmp/report" stage wait_s net.read) s, idle and busy: $(cat "$tmp/once")"

# --- children are measured, and what the others do is not ---
rm -f "$tmp/report"
sh -c "while [ ! -e $tmp/go2 ]; do sleep 0.05; done; cp $tmp/from $tmp/to2; cat $tmp/to2 >$tmp/to3" &
program=$!
NWRUN_REPORT=$tmp/report "$nwrun" -v -p $program 2>"$tmp/err" &
watcher=$!
until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin"
touch "$tmp/go2"
cat "$tmp/from" >"$tmp/other"
wait $program
wait $watcher
is "$(total "$tmp/report" stage bytes disk.write)" $((2 * bytes)) "bytes that children wrote"
grep -q "resource=$tmp/other" "$tmp/report" && fail "somebody else's file is in the report"

# --- a set-user-ID program ---
if [ "$(id -u)" = 0 ]; then
	install -m 4755 -o nobody "$(command -v cp)" "$tmp/cp"
	mkdir -m 777 "$tmp/open"
	chmod 755 "$tmp"
	chmod 644 "$tmp/from"
	rm -f "$tmp/report"
	NWRUN_REPORT=$tmp/report "$nwrun" "$tmp/cp" "$tmp/from" "$tmp/open/to" 2>"$tmp/err" || fail "the set-user-ID program ends with $?"
	grep -q "set-user-ID: measured from outside" "$tmp/err" || fail "nwrun does not say how it measures: $(cat "$tmp/err")"
	until_true 20 test -s "$tmp/report" || fail "no report of a set-user-ID program"
	is "$(total "$tmp/report" stage bytes disk.write)" $bytes "bytes that a set-user-ID program wrote"
fi

# --- a control group, by its directory and as a unit of the service manager: who enters later counts from then on ---
# group_measured DIRECTORY OPTION VALUE
group_measured() {
	rm -f "$tmp/report" "$tmp/to4"
	NWRUN_REPORT=$tmp/report "$nwrun" -v "$2" "$3" 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "nwrun $2 does not begin: $(cat "$tmp/err")"
	sh -c "echo \$\$ >$1/cgroup.procs && exec cp $tmp/from $tmp/to4" || fail "no process enters the control group"
	cp "$tmp/from" "$tmp/to5"
	kill -INT $watcher
	wait $watcher || fail "nwrun $2 ends with $?"
	is "$(total "$tmp/report" stage bytes disk.write)" $bytes "$2: bytes written in the control group"
}
groups=$(mount | sed -n 's/^[^ ]* on \([^ ]*\) type cgroup2 .*/\1/p' | head -n 1)
slice=
[ -d "$groups/system.slice" ] || slice=$groups/system.slice
unit=nwunit-$$.service
if mkdir -p "$groups/system.slice/$unit" 2>/dev/null; then
	trap 'rmdir "$groups/system.slice/$unit" $slice 2>/dev/null || :; lib_cleanup' EXIT
	group_measured "$groups/system.slice/$unit" --cgroup "$groups/system.slice/$unit"
	group_measured "$groups/system.slice/$unit" --unit "${unit%.service}"
	group_measured "$groups/system.slice/$unit" --unit "$unit"
fi
status=0
"$nwrun" --unit nwunit-none 2>"$tmp/err" || status=$?
[ $status = 125 ] && grep -q "no such unit" "$tmp/err" || fail "a unit that is not there: $status $(cat "$tmp/err")"

# --- the answer: a program that pauses is the limit, whoever looks, and both have the same words for that ---
# paused N: one transfer under both measures, as the tasks insideN and outsideN
paused() {
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"$B/tests/rig/xfer" send -n 67108864 127.0.0.1 "$port" - memory &
	pids="$pids $!"
	until_true 20 sh -c "ss -Hltn 'sport = :$port' | grep -q ." || fail "the sender does not listen"
	"$nwrun" -q -i 0.1 -t "inside$1" -H inside sh -c 'read -r go <"$0" && exec "$@"' "$tmp/start" \
	    "$B/tests/rig/xfer" receive -n 67108864 -p 40 127.0.0.1 "$port" "$tmp/received" write &
	program=$!
	"$nwrun" -v -i 0.1 -t "outside$1" -H outside -p $program 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin: $(cat "$tmp/err")"
	timeout 60 sh -c "echo go >$tmp/start" || fail "the program does not wait"
	wait $program || fail "the transfer ends with $?"
	wait $watcher || fail "nwrun -p ends with $?"
}
# answer TASK: stage and cause; false as long as there is no verdict
answer() {
	nw report --json "$(sql "SELECT id FROM session WHERE task_id = '$1' AND closed_ns IS NOT NULL")" >"$tmp/document" 2>/dev/null &&
	    python3 -c 'import json, sys; v = json.load(open(sys.argv[1]))["verdict"]; print(v["stage"], v["cause"])' "$tmp/document" >"$tmp/answer.${1%?}" 2>/dev/null
}
agreed() { answer "inside$1" && answer "outside$1" && cmp -s "$tmp/answer.inside" "$tmp/answer.outside" && grep -q '^receiver.host pace$' "$tmp/answer.inside"; }
# A busy machine may hold one of the programs up for longer than the pauses last: of three transfers one has the answer.
for try in 1 2 3; do
	paused $try
	until_true 5 agreed $try && break
	[ $try -lt 3 ] || fail "two answers of one transfer: $(cat "$tmp/answer.inside") inside, $(cat "$tmp/answer.outside") outside"
done

# --- LONG: programs of others, measured both ways at once ---
# both COMMAND ...: waits until both measures are there, then runs the command in the same process
both() {
	rm -f "$tmp/inside.report" "$tmp/outside.report" "$tmp/go"
	NWRUN_REPORT=$tmp/inside.report "$nwrun" -q sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@"' "$tmp/go" "$@" >/dev/null 2>"$tmp/out" &
	program=$!
	: >"$tmp/err"
	NWRUN_REPORT=$tmp/outside.report "$nwrun" -v -p "$program" 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin: $(cat "$tmp/err")"
	sleep 0.3
	touch "$tmp/go"
}
# ended NAME: bytes are equal, and whether the times agree. What the dynamic linker reads is seen from outside only.
ended() {
	wait "$program" || fail "$1 ends with $?: $(cat "$tmp/out")"
	wait "$watcher" || fail "nwrun -p ends with $?"
	until_true 20 test -s "$tmp/inside.report" || fail "no report from inside"
	for stage in disk.write net.read net.write; do
		is "$(total "$tmp/outside.report" stage bytes $stage)" "$(total "$tmp/inside.report" stage bytes $stage)" "$1: bytes of $stage"
	done
	agree disk.write && agree net.read && agree net.write
}
# repeated FUNCTION: of a few runs one agrees
repeated() {
	for try in 1 2 3 4 5 6 7 8; do
		"$1" && return
		[ $try -lt 8 ] || fail "$1: $disagree"
	done
}
port=$((20000 + $$ % 20000))
run_rsync() { rm -rf "$tmp/rs"; both rsync -a "$tmp/from" "$tmp/rs/"; ended rsync; }
run_iperf() {
	port=$((port + 1))
	iperf3 -s -1 -B 127.0.0.1 -p $port >/dev/null &
	until_true 10 sh -c "ss -ltn | grep -q :$port"
	both iperf3 -c 127.0.0.1 -p $port -n 300M
	ended iperf3
}
nginx_conf() {
	port=$((port + 1))
	printf 'daemon off; master_process off; pid %s; error_log %s; events { } http { access_log off; server { listen 127.0.0.1:%s; location / { root %s; } } }\n' \
		"$tmp/ng.pid" "$tmp/ng.log" $port "$tmp" >"$tmp/ng.conf"
}
run_nginx() {
	nginx_conf
	both nginx -c "$tmp/ng.conf"
	until_true 10 sh -c "ss -ltn | grep -q :$port"
	curl -s -o /dev/null "http://127.0.0.1:$port/from" || fail "curl"
	kill "$(cat "$tmp/ng.pid")"
	ended nginx
}
run_curl() {
	nginx_conf
	nginx -c "$tmp/ng.conf" &
	server=$!
	until_true 10 sh -c "ss -ltn | grep -q :$port"
	both curl -s -o "$tmp/fetched" "http://127.0.0.1:$port/from"
	# curl writes through a stream of the C library, whose calls are others than the system's
	ended curl || case $disagree in disk.write*) agree net.read && agree net.write ;; *) false ;; esac && kill $server && wait $server
}
if [ -n "${LONG:-}" ]; then
	for name in rsync iperf nginx curl; do
		command -v $name >/dev/null || command -v ${name}3 >/dev/null || continue
		repeated run_$name
		echo "$name: agrees"
	done
fi

# --- attaching and detaching leaves nothing behind, and never stops the program ---
programs() { bpftool prog show 2>/dev/null | grep -c 'name outside_' || :; }
left() { ! pgrep -x nwflow -P $$ && [ "$(programs)" -le "$before" ]; }
cat >"$tmp/count.py" <<'PY'
import sys, time
last, worst = time.monotonic(), 0
while True:
    fd = open("/dev/zero", "rb", buffering=0)
    fd.read(4096)
    fd.close()
    with open("/proc/self/status") as f:
        if "T (stopped)" in f.read() or "t (tracing" in f.read():
            sys.exit(9)
    time.sleep(0.001)
PY
python3 "$tmp/count.py" &
program=$!
pids="$pids $program"
before=$(programs)
rounds=4
[ -z "${LONG:-}" ] || rounds=100
i=0
while [ $i -lt $rounds ]; do
	: >"$tmp/err"
	"$nwrun" -v -p $program 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "attachment $i does not begin"
	kill -INT $watcher
	wait $watcher || fail "attachment $i ends with $?"
	i=$((i + 1))
done
until_true 10 left || fail "$(programs) programs are in the kernel, not $before"
kill -0 $program || fail "the program has ended"
is "$(find /dev/shm -maxdepth 1 -name 'nwrun.*' -newer "$tmp/from" -user "$(id -un)" | while read -r f; do flock -n "$f" true && echo "$f"; done | wc -l)" 0 "shared files without a collector"

# --- in a container with processes of its own, and in a container below: the numbers are the container's ---
cat >"$tmp/contained" <<'SH'
rm -f "$2/report" "$2/to6"
NWRUN_REPORT=$2/report "$1" -o $3 cp "$2/from" "$2/to6" || exit
i=0
until [ -s "$2/report" ] || [ $i -ge 400 ]; do sleep 0.1; i=$((i + 1)); done
[ "$(cat "$2/go.container")" = go ] || exit
sleep 600 &
echo $! >"$2/pid"
"$1" -v -p $! 2>"$2/err" &
until grep -q task "$2/err" || [ $i -ge 400 ]; do sleep 0.1; i=$((i + 1)); done
kill -9 "$(cat "$2/pid")"
wait
SH
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	for below in "" "unshare --pid --fork --mount-proc"; do
		echo go >"$tmp/go.container"
		timeout $((120 * PATIENCE)) unshare --pid --fork --mount-proc sh "$tmp/contained" "$nwrun" "$tmp" "$below" 2>"$tmp/err.container" || fail "in a container: $(cat "$tmp/err.container")"
		is "$(total "$tmp/report" stage bytes disk.write)" $bytes "bytes written in a container $below"
		! grep -q "nothing is measured\|nwrun.so measures" "$tmp/err.container" || fail "in a container: $(cat "$tmp/err.container")"
		grep -q "task" "$tmp/err" || fail "nwrun -p in a container: $(cat "$tmp/err")"
		[ "$(cat "$tmp/pid")" -lt 1000 ] || fail "the container has the machine's numbers"
	done
fi
# where the container has users of its own, one line says who may watch; the host's root does
if unshare --user --map-root-user true 2>/dev/null; then
	unshare --user --map-root-user "$nwrun" -o cp "$tmp/from" "$tmp/to7" 2>"$tmp/err" || fail "in a container with users of its own: $(cat "$tmp/err")"
	grep -q "only root of the host may watch.*: nwrun.so measures the program" "$tmp/err" || fail "one line: $(cat "$tmp/err")"
	rm -f "$tmp/report" "$tmp/go.user"
	unshare --user --map-root-user sh -c 'until [ -e "$1" ]; do sleep 0.05; done; exec cp "$2" "$3"' sh "$tmp/go.user" "$tmp/from" "$tmp/to8" &
	program=$!
	NWRUN_REPORT=$tmp/report "$nwrun" -v -p $program 2>"$tmp/err" &
	watcher=$!
	until_true 20 grep -q task "$tmp/err" || fail "nwrun -p does not begin: $(cat "$tmp/err")"
	touch "$tmp/go.user"
	wait $program
	wait $watcher || fail "nwrun -p ends with $?"
	is "$(total "$tmp/report" stage bytes disk.write)" $bytes "bytes written in a container with users of its own"
fi

# --- what cannot be watched is told ---
status=0
"$nwrun" -p 4194304 2>"$tmp/err" || status=$?
[ $status = 125 ] && grep -q "no such process" "$tmp/err" || fail "a process that is not there: $status $(cat "$tmp/err")"
