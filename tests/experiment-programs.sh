#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Real programs under nwrun, those that are installed here: the bytes that nwrun.so counted beside the kernel's count
# (/proc/PID/io) and beside what the program was given to move. A line per program; bytes that are neither counted nor named as
# unseen are a failure. A program's reading before main (its libraries' headers, some KiB per process) is not nwrun.so's.
set -u
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
tmp=$(mktemp -d /tmp/experiment_programs.XXXXXX)
servers=
ends() {
	for p in $servers; do kill "$p" 2>/dev/null; done
	rm -rf "$tmp"
}
trap ends EXIT
trap 'exit 1' INT TERM
NARROWS_BOX=127.0.0.1/1 XDG_RUNTIME_DIR=$tmp HOME=$tmp GIT_CONFIG_GLOBAL=/dev/null
export NARROWS_BOX XDG_RUNTIME_DIR HOME GIT_CONFIG_GLOBAL
bytes=33554432 before_main=65536 failures=0 tried=0
cd "$tmp" || exit 1
head -c $bytes /dev/urandom >in
mkdir tree small
i=0
while [ $i -lt 500 ]; do
	head -c 4000 in >small/$i
	i=$((i + 1))
done
ln in tree/in
# sum FILE KEY: over the processes of a report
sum() {
	awk -v key="$2=" '$1 == "process" { for (i = 2; i <= NF; i++) if (index($i, key) == 1) s += substr($i, length(key) + 1) }
		END { printf "%d\n", s }' "$1"
}
# judge NAME READ WRITTEN: at least so many bytes went by the program's calls, in and out
judge() {
	r=$tmp/$1.report
	i=0
	while [ ! -s "$r" ] && [ $i -lt $((400 * PATIENCE)) ]; do
		sleep 0.1
		i=$((i + 1))
	done
	[ -s "$r" ] || { echo "$1: FAIL: no report: $(cat "$tmp/$1.err")"; failures=$((failures + 1)); return; }
	n=$(grep -c '^process ' "$r")
	left=$(($(sum "$r" unseen_read) + $(sum "$r" unseen_written)))
	named=$(grep -o 'unseen_by=[a-z_-]*' "$r" | sort -u | tr '\n' ' ')
	short=0
	[ "$(sum "$r" seen_read)" -ge "$2" ] && [ "$(sum "$r" seen_written)" -ge "$3" ] || short=1
	word=exact
	if [ $short = 1 ] || [ "$left" -gt $((n * before_main)) ]; then
		word="named $named"
		[ -n "$named" ] || { word=SILENT; failures=$((failures + 1)); }
	fi
	printf '%-10s %-22s %3d processes, seen %d and %d, kernel %d and %d, moved %d and %d, not seen %d\n' "$1" "$word" "$n" \
		"$(sum "$r" seen_read)" "$(sum "$r" seen_written)" "$(sum "$r" rchar)" "$(sum "$r" wchar)" "$2" "$3" "$left"
}
# try NAME READ WRITTEN COMMAND ...
try() {
	name=$1 in=$2 out=$3
	shift 3
	command -v "$1" >/dev/null || { printf '%-10s not installed\n' "$name"; return; }
	tried=$((tried + 1))
	NWRUN_REPORT=$tmp/$name.report timeout $((120 * PATIENCE)) "$B/bin/nwrun" -q "$@" >"$tmp/$name.stdout" 2>"$tmp/$name.err" ||
		{ printf '%-10s FAIL: status %d: %s\n' "$name" $? "$(tail -n 1 "$tmp/$name.err")"; failures=$((failures + 1)); return; }
	judge "$name" "$in" "$out"
}
# A web server of files.
port=$((20000 + $$ % 10000))
serve() {
	python3 -m http.server --bind 127.0.0.1 $port >/dev/null 2>&1 &
	servers="$servers $!"
	i=0
	until curl -s -o /dev/null "http://127.0.0.1:$port/small/0" || [ $i -ge $((100 * PATIENCE)) ]; do
		sleep 0.1
		i=$((i + 1))
	done
}

all=$((500 * 4000))
try cp $bytes $bytes cp --reflink=never in cp.out
try dd $bytes $bytes dd if=in of=dd.out bs=64k conv=fsync status=none
try cat $bytes $bytes cat in
try tar $all $all tar cf tar.out small
try untar $all $all sh -c 'mkdir x && tar xf tar.out -C x'
try rsync $((bytes + all)) $((bytes + all)) rsync -a tree small rsync.out
try gzip $bytes $bytes gzip -1 -k -c in
try zstd $bytes $bytes zstd -q -1 -k -f in -o zstd.out
try sh-pipe $((2 * bytes)) $((2 * bytes)) sh -c 'cat in | cat >pipe.out'
try python $bytes $bytes python3 -c 'import shutil; shutil.copyfileobj(open("in", "rb"), open("python.out", "wb"))'
try perl $bytes $bytes perl -e 'open I, "in"; open O, ">perl.out"; print O while read I, $_, 65536'
try node $bytes $bytes node -e 'require("fs").writeFileSync("node.out", require("fs").readFileSync("in"))'
printf 'import java.nio.file.*; class C { public static void main(String[] a) throws Exception { Files.write(Path.of("java.out"), Files.readAllBytes(Path.of("in"))); } }' >C.java
try java $bytes $bytes java C.java
try sqlite3 0 1000000 sqlite3 db 'create table t (a); with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) insert into t select randomblob(400) from c; select count(*) from t'
(mkdir repo && cd repo && git init -q . && cp ../in . && git add in && git -c user.name=a -c user.email=a@b commit -qm a) 2>/dev/null
try git 0 $bytes git clone -q --no-local repo clone
try sftp $bytes $bytes sh -c 'echo "get in sftp.got" >batch && sftp -q -b batch -D "$(ls /usr/lib/openssh/sftp-server /usr/libexec/sftp-server 2>/dev/null | head -n 1)"'
if command -v python3 >/dev/null && command -v curl >/dev/null; then
	serve
	try curl $bytes $bytes curl -s -o curl.out "http://127.0.0.1:$port/in"
	try wget $bytes $bytes wget -q -O wget.out "http://127.0.0.1:$port/in"
fi
if command -v iperf3 >/dev/null; then
	iperf3 -s -1 -p $((port + 1)) >/dev/null 2>&1 &
	servers="$servers $!"
	sleep 1
	try iperf3 0 $bytes iperf3 -c 127.0.0.1 -p $((port + 1)) -n $bytes
fi
if command -v nginx >/dev/null && command -v curl >/dev/null; then
	printf 'daemon off; master_process off; pid %s/pid; error_log %s/e; events {} http { access_log off; sendfile on; client_body_temp_path %s/b; proxy_temp_path %s/b; fastcgi_temp_path %s/b; uwsgi_temp_path %s/b; scgi_temp_path %s/b; server { listen 127.0.0.1:%d; root %s; } }' \
		"$tmp" "$tmp" "$tmp" "$tmp" "$tmp" "$tmp" "$tmp" $((port + 2)) "$tmp" >nginx.conf
	chmod 755 "$tmp"
	try nginx $bytes $bytes sh -c "nginx -c $tmp/nginx.conf & i=0; until curl -sf -o curl2.out http://127.0.0.1:$((port + 2))/in || [ \$i -ge 100 ]; do sleep 0.1; i=\$((i + 1)); done; kill \$!; wait"
fi
echo "$tried programs, $failures failed"
[ $failures = 0 ]
