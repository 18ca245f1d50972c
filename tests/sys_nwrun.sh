#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nwrun around real programs: the same output and status as without it, and byte counts equal to what was moved.
# No box is needed: the collector's own report (NWRUN_REPORT) is compared with the files.
set -u
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
nwrun=$B/bin/nwrun
tmp=$(mktemp -d /tmp/sys_nwrun.XXXXXX)
bytes=3000017
failures=0
servers=
NARROWS_BOX=127.0.0.1/1 ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
export NARROWS_BOX ASAN_OPTIONS

cleanup() {
	for p in $servers; do kill "$p" 2>/dev/null; done
	rm -rf "$tmp"
}
trap cleanup EXIT
fail() {
	echo "FAIL: $*"
	[ -f report ] && cat report
	failures=$((failures + 1))
}
have() {
	command -v "$1" >/dev/null 2>&1 || { echo "untested: no $1 here"; return 1; }
}

# measured NAME COMMAND ...: runs it; its output is in NAME.out, NAME.err, its status in $status, the report in report
measured() {
	name=$1
	shift
	rm -f report
	NWRUN_REPORT=$tmp/report "$nwrun" "$@" >"$name.out" 2>"$name.err" </dev/null
	status=$?
	await report || fail "$name: no report"
}
await() {
	i=0
	while [ ! -s "$1" ] && [ $i -lt $((100 * PATIENCE)) ]; do sleep 0.05; i=$((i + 1)); done
	[ -s "$1" ]
}
# sum LINE KEY [PATTERN]: of KEY over the report's lines that begin with LINE and match PATTERN
sum() {
	awk -v line="$1" -v key="$2=" -v pattern="${3:-.}" '
		$1 == line && $0 ~ pattern { for (i = 2; i <= NF; i++) if (index($i, key) == 1) s += substr($i, length(key) + 1) }
		END { printf "%d\n", s }' report
}
# file_is NAME KEY PATH BYTES: what the report says was read from or written to PATH
file_is() {
	got=$(sum file "$2" "resource=$3\$")
	[ "$got" = "$4" ] || fail "$1: $3 $2 $got, want $4"
}
same() {
	cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"
}
status_is() {
	[ "$status" = "$2" ] || fail "$1: status $status, want $2"
}
port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
listening() {
	i=0
	until python3 -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt $((50 * PATIENCE)) ] || return 1
		sleep 0.1
	done
}

# bound PORT: a TCP socket listens there; asked without a connection, of which iperf3 -1 takes one
bound() {
	i=0
	until grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; do
		i=$((i + 1))
		[ $i -lt $((50 * PATIENCE)) ] || return 1
		sleep 0.1
	done
}

cd "$tmp" && chmod 755 . || exit 1   # an rsync daemon serves as nobody
head -c $bytes /dev/urandom >src
mkdir tree && cp src tree/one && head -c 70000 /dev/urandom >tree/two

# --- steps between operations ---

cat >walk.py <<'END'
import os
fd = os.open("src", os.O_RDONLY)
for _ in range(11): os.read(fd, 4096)                             # 10 forward
for _ in range(5): os.pread(fd, 4096, 40960)                      # 5 at the same place
for i in range(1, 8): os.pread(fd, 4096, 40960 - 4096 * i)        # 7 backward
for at in (1000000, 50000, 777777): os.pread(fd, 512, at)         # 3 random
os.lseek(fd, 2000000, 0)                                          # 2 random (the second is another distance), then 2 strided
for i in range(4):
    os.read(fd, 100)
    os.lseek(fd, 9900, 1)
END
measured walk python3 -S walk.py
for k in forward=10 same=5 backward=7 strided=2 random=5; do
	[ "$(sum file "${k%=*}" 'resource=[^ ]*/src$')" = "${k#*=}" ] || fail "walk: not $k"
done

# two threads, each with steps of its own, share a descriptor
cat >walks.py <<'END'
import os, threading
fd, turn = os.open("src", os.O_RDONLY), threading.Barrier(2)
def walk(way):
    for i in range(60):
        turn.wait()
        os.pread(fd, 9000, 600000 + way * 9000 * i)
threads = [threading.Thread(target=walk, args=(way,)) for way in (1, -1)]
for t in threads: t.start()
for t in threads: t.join()
END
measured walks python3 -S walks.py
for k in forward=59 backward=59 random=0; do
	[ "$(sum file "${k%=*}" 'resource=[^ ]*/src$')" = "${k#*=}" ] || fail "walks of two threads: not $k"
done

# --- addresses and labels that no box takes ---

long=$(printf '%01001d' 0)
"$nwrun" -b xsp://127.0.0.1/5006 touch touched 2>refused && fail "-b xsp://: accepted"
grep -q 'not an address' refused && [ ! -e touched ] || fail "-b xsp://: $(cat refused)"
"$nwrun" -l "$long" touch touched 2>refused && fail "-l of 1001 bytes: accepted"
grep -q 'at most 1000 bytes' refused && [ ! -e touched ] || fail "-l of 1001 bytes: $(cat refused)"
NARROWS_BOX=xsp://127.0.0.1/5006 "$nwrun" touch touched 2>refused || fail "NARROWS_BOX: the program did not run"
grep -q 'not an address.*runs unmeasured' refused && [ -e touched ] || fail "NARROWS_BOX: $(cat refused)"

# --- copying files ---

measured dd dd if=src of=dd.dst bs=64k
status_is dd 0
same dd src dd.dst
file_is dd read "$tmp/src" $bytes
file_is dd written "$tmp/dd.dst" $bytes
grep -q "^$bytes bytes" dd.err || fail "dd: its message is missing"
[ "$(sum process wchar)" = "$(sum process seen_written)" ] || fail "dd: the kernel counted other writes than nwrun"

measured cp cp src cp.dst
same cp src cp.dst
file_is cp read "$tmp/src" $bytes
file_is cp written "$tmp/cp.dst" $bytes

measured cp cp --reflink=never --sparse=never src cp2.dst
file_is cp2 written "$tmp/cp2.dst" $bytes

measured cat cat src tree/two
cat src tree/two | cmp -s - cat.out || fail "cat: wrong output"
file_is cat read "$tmp/src" $bytes
file_is cat written "$tmp/cat.out" $((bytes + 70000))

# of many small files some have documents of their own, and the rest one
mkdir many
i=0
while [ $i -lt 100 ]; do
	head -c 1000 src >many/$i
	i=$((i + 1))
done
measured many cat many/*
n=$(sum run docs_queued)
[ "$n" -ge 32 ] && [ "$n" -le 50 ] || fail "cat many: $n documents"

measured tar tar cf t.tar tree
file_is tar written "$tmp/t.tar" "$(wc -c <t.tar)"
file_is tar read "$tmp/tree/one" $bytes
mkdir x
measured untar tar xf t.tar -C x
same untar src x/tree/one
file_is untar written "$tmp/x/tree/one" $bytes

if have gzip; then
	gzip -nc src >want.gz
	measured gzip gzip -nc src
	same gzip want.gz gzip.out
	file_is gzip read "$tmp/src" $bytes
	file_is gzip written "$tmp/gzip.out" "$(wc -c <want.gz)"
fi

# stdio: what is pending at exit counts too
seq 200000 >numbers
measured sort sort -nr numbers -o sorted
file_is sort written "$tmp/sorted" "$(wc -c <numbers)"
measured wc wc numbers
status_is wc 0
measured getconf getconf PAGESIZE   # leaves its line to libc, which writes it when nobody can look any more
[ "$(sum process wchar)" = "$(wc -c <getconf.out)" ] && [ "$(sum process seen_written)" = "$(wc -c <getconf.out)" ] ||
	fail "getconf: its line is not in both counts"
measured seq seq 30000
file_is seq written "$tmp/seq.out" "$(wc -c <seq.out)"

if have python3; then
	measured py_shutil python3 -c 'import shutil; shutil.copyfile("src", "py.dst")'
	same py_shutil src py.dst
	file_is py_shutil written "$tmp/py.dst" $bytes
	measured py_rw python3 -c 'open("py2.dst", "wb").write(open("src", "rb").read())'
	same py_rw src py2.dst
	file_is py_rw read "$tmp/src" $bytes
	file_is py_rw written "$tmp/py2.dst" $bytes
fi
if have sqlite3; then
	measured sqlite sqlite3 t.db "create table t(a, b); insert into t values(1, 'x'); select count(*) from t"
	[ "$(cat sqlite.out)" = 1 ] || fail "sqlite: wrong answer"
	[ "$(sum stage bytes stage=disk.write)" -ge "$(wc -c <t.db)" ] || fail "sqlite: its database was not seen"
fi

# --- processes ---

measured sh sh -c 'cat src | dd bs=10k status=none | cat >sh.dst; exit 7'
status_is sh 7
same sh src sh.dst
file_is sh read "$tmp/src" $bytes
file_is sh written "$tmp/sh.dst" $bytes
if have make; then
	printf 'all: a.o b.o\n%%.o:\n\tcp src $@\n' >Makefile
	measured make make -s -j2
	file_is make written "$tmp/a.o" $bytes
	file_is make written "$tmp/b.o" $bytes
fi
measured term sh -c 'kill -TERM $$'
status_is term 143
measured kill sh -c 'dd if=src of=kill.dst bs=1k status=none; kill -KILL $$'
status_is kill 137
file_is kill written "$tmp/kill.dst" $bytes
measured timeout timeout 0.3 sleep 10
status_is timeout 124
measured nohup nohup cp src nohup.dst
file_is nohup written "$tmp/nohup.dst" $bytes
"$nwrun" ./no-such-program 2>err
[ $? = 127 ] && grep -q 'no-such-program: No such file' err || fail "a missing program: status or message"
"$nwrun" ./src 2>err
[ $? = 126 ] || fail "a program that is none: status"
"$nwrun" -i nonsense true 2>err
[ $? = 125 ] || fail "a bad option: status"

# a pipe ends with the program, not with the collector
[ "$("$nwrun" echo hello | cat)" = hello ] || fail "echo: output lost"
began=$(date +%s)
"$nwrun" true | cat
[ $(($(date +%s) - began)) -lt $((4 * PATIENCE)) ] || fail "the collector keeps pipes open"

# nothing is left behind, and no limit is in the way
(ulimit -f 8; "$nwrun" -v true 2>err; [ $? = 0 ] && grep -q 'unmeasured' err) || fail "ulimit -f: not run, or not said"
case $B in
*/release) (ulimit -v 200000; "$nwrun" true) || fail "ulimit -v: not run" ;;   # a sanitizer needs more for itself
esac
(ulimit -n 4; "$nwrun" true) || fail "ulimit -n: not run"

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# no room for the shared memory, or part of it: the program must not be killed for it
	# processes and files enough for several pages of each table
	many='i=0; while [ $i -lt 24 ]; do cat err >full.$i & i=$((i+1)); done; wait; cat src | cat >full.dst'
	for size in 24k 36k 40k 44k 48k 64k 150k 500k; do
		rm -f full.*
		unshare -m sh -c 'mount -t tmpfs -o size=$1 none /dev/shm && exec "$0" sh -ec "$2"' \
		    "$nwrun" $size "$many" || fail "$size of /dev/shm"
		for i in $(seq 0 23); do cmp -s err full.$i || fail "$size of /dev/shm: a file differs"; done
		same full src full.dst
	done
fi

# the first program keeps nwrun's pid, and nested runs share one task
[ "$(sh -c 'echo $$; exec "$0" sh -c "echo \$\$"' "$nwrun" | sort -u | wc -l)" = 1 ] || fail "another pid"
measured nested sh -c "cp src nested.dst; $nwrun dd if=src of=inner.dst status=none"
file_is nested written "$tmp/nested.dst" $bytes
file_is nested written "$tmp/inner.dst" 0   # that is the inner run's
grep -q 'run ' report && same nested src inner.dst
[ "$("$nwrun" -t job-42 "$nwrun" sh -c 'echo $NARROWS_TASK')" = job-42 ] || fail "nested: another task"

# one line says that nothing will be stored, and -q not even that
"$nwrun" true 2>err
[ "$(wc -l <err)" = 1 ] && grep -q '^nwrun: the box does not answer (no server listens at the address)' err || fail "away: $(cat err)"
"$nwrun" -q true 2>err && [ ! -s err ] || fail "-q: $(cat err)"

# a program that nwrun.so cannot see is named, with the kernel's count of its bytes
cat >static.c <<'EOF'
#include <fcntl.h>
#include <unistd.h>
static char b[1 << 20];
int main(void)
{
	int fd = open("/dev/zero", O_RDONLY), i;

	for (i = 0; i < 300; i++) {
		if (read(fd, b, sizeof(b)) != sizeof(b))
			return 1;
		usleep(1000);
	}
	return 0;
}
EOF
if "${CC:-cc}" -static -o unseen static.c 2>/dev/null; then
	measured static ./unseen
	# where the kernel's events may be read, the program is measured from outside
	if [ "$(sum process seen_read)" != 314572800 ]; then
		grep -q '^process .*unseen_by=static' report || fail "static: no reason"
		# the bytes after the last look are not known
		[ "$(sum process unseen_read)" -ge 200000000 ] || fail "static: no count"
	fi
	grep -q 'unseen is statically linked' static.err || fail "static: $(cat static.err)"
	measured below sh -c 'p=./unseen; $p; true'
	[ "$(sum process unseen_read)" -ge 314572800 ] || fail "below: no count"
	grep -q '^process .*unseen_by=' report || fail "below: no reason"
fi
measured all sh -c 'cat src | tr a b >seen.dst'
[ "$(sum process unseen_read)" -lt 100000 ] || fail "all: bytes were seen and called unseen"
grep -q 'unseen_by' report && fail "all: a reason without need"

# --- the network ---

if have python3 && have curl; then
	p=$(port)
	python3 -m http.server --bind 127.0.0.1 "$p" >http.log 2>&1 &
	servers="$servers $!"
	listening "$p" || fail "no http server"
	measured curl curl -s -o curl.dst "http://127.0.0.1:$p/src"
	status_is curl 0
	same curl src curl.dst
	file_is curl written "$tmp/curl.dst" $bytes
	n=$(sum connection read "dport=$p\$")
	[ "$n" -gt $bytes ] && [ "$n" -lt $((bytes + 1000)) ] || fail "curl: $n bytes from the server"
	measured curl_fail curl -sf "http://127.0.0.1:$p/none"
	status_is curl_fail 22
	if have wget; then
		measured wget wget -q -O wget.dst "http://127.0.0.1:$p/src"
		same wget src wget.dst
		file_is wget written "$tmp/wget.dst" $bytes
	fi
fi
if have python3 && have rsync; then
	p=$(port)
	cat >rsyncd.conf <<-END
	port = $p
	address = 127.0.0.1
	use chroot = no
	pid file = $tmp/rsyncd.pid
	[m]
	path = $tmp
	END
	NWRUN_REPORT=$tmp/rsyncd.report "$nwrun" rsync --daemon --no-detach --config=rsyncd.conf &
	listening "$p" || fail "no rsync daemon"
	measured rsync rsync "rsync://127.0.0.1:$p/m/src" rsync.dst
	status_is rsync 0
	same rsync src rsync.dst
	file_is rsync written "$tmp/rsync.dst" $bytes
	n=$(sum connection read "dport=$p\$")
	[ "$n" -gt $bytes ] || fail "rsync: $n bytes from the daemon"
	kill "$(cat rsyncd.pid)"
	await rsyncd.report && mv rsyncd.report report || fail "rsync daemon: no report"
	file_is rsyncd read "$tmp/src" $bytes
	sent=$(sum connection written "sport=$p ")
	[ "$sent" = "$n" ] || [ "$sent" -gt "$n" ] || fail "rsync: the daemon sent $sent bytes, $n arrived"
	measured rsync_local rsync -a src local.dst
	same rsync_local src local.dst
	file_is rsync_local read "$tmp/src" $bytes
	file_is rsync_local written "$tmp/local.dst" $bytes
fi
if have python3 && have iperf3; then
	p=$(port)
	NWRUN_REPORT=$tmp/iperf.report "$nwrun" iperf3 -s -1 -p "$p" -B 127.0.0.1 >iperf.log 2>&1 &
	bound "$p" || fail "iperf3: no server"
	measured iperf iperf3 -c 127.0.0.1 -p "$p" -n 20M
	status_is iperf 0
	n=$(sum stage bytes stage=net.write)
	[ "$n" -ge 20971520 ] || fail "iperf3: $n bytes sent"
	await iperf.report && mv iperf.report report || fail "iperf3 server: no report"
	n=$(($(sum process rchar) - $(sum process seen_read)))   # it stops before all has arrived
	[ $n -ge 0 ] && [ $n -lt 4096 ] || fail "iperf3 server: the kernel counted $n bytes more than nwrun"
fi

# no box: the report says so, and why
NWRUN_REPORT=$tmp/away.report "$nwrun" -b 127.0.0.1/1 dd if="$tmp/src" of=/dev/null bs=64k count=1 status=none
await away.report && grep -q '^run .* connected=0 why=no%20server%20listens%20at%20the%20address$' away.report || fail "away: $(cat away.report)"
NARROWS_TLS=$tmp/none NWRUN_REPORT=$tmp/keyless.report "$nwrun" -b tls://127.0.0.1/1 true
await keyless.report && grep -q '^run .* connected=0 why=.*/none/ca.crt:%20.*No%20such%20file' keyless.report || fail "keyless: $(cat keyless.report)"

sleep 0.5
ls /dev/shm/nwrun.* >/dev/null 2>&1 && {
	sleep 2   # other tests' runs may be under way
	for f in /dev/shm/nwrun.*; do
		[ -e "$f" ] && ! grep -lq "$f" /proc/[0-9]*/maps 2>/dev/null && fail "$f was left behind"
	done
}
[ $failures = 0 ]
