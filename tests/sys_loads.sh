#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What nwrun loads into programs fits into old and foreign ones, and programs run as without nwrun: those of tests/programs, in
# "make check" a sample, all with PROGRAMS=all, some with PROGRAMS=REGEX. No box is needed.
set -eu
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }

# --- hosts with glibc 2.28 load both libraries: no function has a newer version ---
for so in nwrun.so nwrun-collect.so; do
	objdump -T "$B/bin/$so" | grep -o 'GLIBC_[0-9.]*)* *[A-Za-z_0-9]*' | sort -u >"/tmp/sys_loads.$$" || :
	newer=$(awk '{ split($1, v, "[_.)]"); if (v[2] > 2 || v[3] > 28) print }' "/tmp/sys_loads.$$")
	n=$(wc -l <"/tmp/sys_loads.$$")
	rm -f "/tmp/sys_loads.$$"
	[ "$n" -gt 10 ] || fail "$so: objdump shows $n functions of the C library"
	[ -z "$newer" ] || fail "$so needs $newer"
done

# --- programs of every kind, by themselves and below another: output and end are those without nwrun ---
tmp=$(mktemp -d /tmp/sys_loads.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
NARROWS_BOX=127.0.0.1/1 XDG_RUNTIME_DIR=$tmp
export NARROWS_BOX XDG_RUNTIME_DIR
unset ASAN_OPTIONS
cc=${CC:-cc}
cat >"$tmp/say.c" <<'C'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) { return printf("%s\n", argc > 1 ? argv[1] : "nothing") > 100 ? 1 : 5; }
C
cat >"$tmp/say.s" <<'S'
.globl _start
_start: mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $6, %edx; int $0x80; mov $1, %eax; mov $7, %ebx; int $0x80
.data
text: .ascii "hello\n"
S
programs=
# made NAME COMMAND ...: a program of that name, if the command makes one that runs here
made() {
	name=$1
	shift
	if "$@" -o "$tmp/$name" >"$tmp/made" 2>&1 && { "$tmp/$name" hello >/dev/null 2>&1 || [ $? -lt 100 ]; }; then
		programs="$programs $name"
	else
		echo "untested: $name: $(tail -n 1 "$tmp/made")"
	fi
}
made glibc "$cc" "$tmp/say.c"
cp "$tmp/glibc" "$tmp/turns"
made static "$cc" -static "$tmp/say.c"
made sanitized "$cc" -fsanitize=address "$tmp/say.c"
made musl musl-gcc "$tmp/say.c"
made musl_static musl-gcc -static "$tmp/say.c"
[ "$(uname -m)" != x86_64 ] || made words_of_32_bits "$cc" -m32 -nostdlib -static "$tmp/say.s"
loader=$(readelf -l "$B/bin/nwrun" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
if [ -n "$loader" ] && cp "$loader" "$tmp/ld-linux-copy.so"; then
	made another_loader "$cc" -Wl,--dynamic-linker="$tmp/ld-linux-copy.so" "$tmp/say.c"
fi
for p in $programs; do
	printf '#!%s\n' "$tmp/$p" >"$tmp/script_$p"
	chmod 755 "$tmp/script_$p"
done
for p in spawn kinds; do
	"$cc" -D_GNU_SOURCE -O1 -pthread -o "$tmp/$p" tests/host/nwrun/$p.c || fail "$p.c does not compile"
done

# same AS COMMAND ...: bare and under nwrun, with the words of AS before both
same() {
	as=$1 status=0
	shift
	$as "$@" >"$tmp/bare" 2>&1 || status=$?
	$as "$B/bin/nwrun" -q "$@" >"$tmp/under" 2>&1 && got=0 || got=$?
	[ "$got" = "$status" ] || fail "$*: ends with $got under nwrun, not $status: $(cat "$tmp/under")"
	cmp -s "$tmp/bare" "$tmp/under" || fail "$*: $(diff "$tmp/bare" "$tmp/under")"
}
# also where system calls cannot be watched
weak=
[ "$(id -u)" != 0 ] || weak="setpriv --bounding-set=-all --inh-caps=-all"
for p in $programs; do
	for as in "" $weak; do
		[ -z "$as" ] || as=$weak
		same "$as" "$tmp/$p" hello
		PATH=$tmp:$PATH same "$as" "$p" hello
		same "$as" "$tmp/script_$p" hello
		same "$as" sh -c "$tmp/$p hello; exit 3"
		[ -n "$weak" ] || break
	done
	same "$weak" "$tmp/spawn" "$tmp/$p" hello
	same "" "$tmp/spawn" "$tmp/script_$p" hello
done
# past nwrun.so's calls: a static parent does not take nwrun.so out of the environment
case $programs in *" musl"*)
	if "$cc" -D_GNU_SOURCE -static -pthread -o "$tmp/spawn_static" tests/host/nwrun/spawn.c 2>"$tmp/made"; then
		same "$weak" "$tmp/spawn_static" "$tmp/musl" hello
		same "" sh -c "$tmp/spawn_static $tmp/musl hello"
	fi
	"$tmp/musl" hello >"$tmp/bare" 2>&1 || :
	LD_PRELOAD=$B/bin/nwrun.so NWRUN_SHM=/none "$tmp/musl" hello >"$tmp/under" 2>&1 || :
	cmp "$tmp/bare" "$tmp/under" || fail "nwrun.so in a program of musl: $(cat "$tmp/under")" ;;
esac
same "" sh -c 'kill -9 $$'
# a program's file that nwrun.so has looked into, and that another program is written over
case $programs in *" sanitized"*)
	while [ $(($(date +%s) - $(stat -c %Z "$tmp/turns"))) -lt 3 ]; do sleep 0.2; done
	"$B/bin/nwrun" -q sh -c '"$0" one; "$0" two; cat "$1" >"$0"; "$0" three; sleep 3; "$0" four' "$tmp/turns" "$tmp/sanitized" >"$tmp/under" 2>&1 || :
	printf 'one\ntwo\nthree\nfour\n' | cmp - "$tmp/under" || fail "a file with another program: $(cat "$tmp/under")" ;;
esac

# --- a loader that refuses nwrun.so: nwrun finds out before, and one line says why ---
case $programs in *another_loader*)
	"$B/bin/nwrun" "$tmp/another_loader" hello 2>"$tmp/err" >/dev/null || [ $? = 5 ] || fail "another loader: $(cat "$tmp/err")"
	! grep -q "another_loader is" "$tmp/err" || fail "a loader of the same C library: $(cat "$tmp/err")"
	mkdir "$tmp/broken"
	cp "$B/bin/nwrun" "$B/bin/nwrun-collect.so" "$tmp/broken"
	echo 'extern int nowhere; int *p = &nowhere;' >"$tmp/broken.c"
	"$cc" -shared -fPIC -o "$tmp/broken/nwrun.so" "$tmp/broken.c"
	status=0
	"$tmp/broken/nwrun" "$tmp/another_loader" hello >"$tmp/out" 2>"$tmp/err" || status=$?
	[ $status = 5 ] && [ "$(cat "$tmp/out")" = hello ] || fail "a broken nwrun.so: $status, $(cat "$tmp/out" "$tmp/err")"
	is_said="another_loader is loaded by $tmp/ld-linux-copy.so, which refuses nwrun.so, and cannot be measured from outside"
	grep -q "$is_said (nwflow was not found): the box gets the kernel's count of its bytes$" "$tmp/err" || fail "one line: $(cat "$tmp/err")" ;;
esac

# --- the collector of a box without TLS is inside nwrun; a box with TLS needs the library ---
mkdir "$tmp/inside"
cp "$B/bin/nwrun" "$B/bin/nwrun.so" "$tmp/inside"
for box in tls:// ""; do
	"$tmp/inside/nwrun" -b "${box}127.0.0.1/1" true 2>"$tmp/err" || fail "nwrun by itself: $?"
	if [ -n "$box" ] || ldd "$B/bin/nwrun" | grep -q bson; then
		grep -q "^nwrun: nwrun-collect.so was not found" "$tmp/err" || fail "TLS without the library: $(cat "$tmp/err")"
	else
		grep -q "^nwrun: the box does not answer" "$tmp/err" || fail "the collector inside: $(cat "$tmp/err")"
	fi
done

# --- a filter of system calls from before the program's start, which kills at a call of nwrun.so ---
cat >"$tmp/filtered.c" <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { 4, f };
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != 0)
		return 77;
	execvp(argv[1], argv + 1);
	return 99;
}
C
"$cc" -o "$tmp/filtered" "$tmp/filtered.c" || fail "filtered.c does not compile"
if "$tmp/filtered" true; then
	same "$tmp/filtered" sh -c 'echo hello; exit 3' # dash calls no statx
	same "$tmp/filtered" "$tmp/glibc" hello
else
	echo "untested: filters of system calls: the kernel refuses"
fi

# --- programs of tests/programs: output, errors, status and files are the same under nwrun ---
rows=$tmp/rows
case ${PROGRAMS:-} in
"") grep -v '^#' tests/programs | awk -F'\t' '$2 == "*"' ;;
all) grep -v '^#' tests/programs ;;
*) grep -v '^#' tests/programs | awk -F'\t' -v wanted="$PROGRAMS" '$1 ~ wanted' ;;
esac >"$rows"
mkdir "$tmp/T" "$tmp/proto" "$tmp/proto/tree"
chmod 755 "$tmp" "$tmp/T"
cp "$tmp/kinds" "$tmp/filtered" "$tmp/spawn" "$tmp/say.c" "$tmp/T"
cp "$tmp/glibc" "$tmp/T/say"
cp "$tmp/static" "$tmp/T/say_static" 2>/dev/null || :
head -c 1000003 /dev/urandom >"$tmp/proto/in"
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	dd if="$tmp/proto/in" of="$tmp/proto/tree/$i" bs=$((i * 100)) count=1 status=none
done
cat >"$tmp/T/C.java" <<'J'
import java.nio.file.*;
public class C {
	public static void main(String[] a) throws Exception {
		System.out.println(Files.copy(Path.of(a[0]), Path.of(a[1])).getFileName());
		Thread t = new Thread(() -> System.out.println(Thread.currentThread().isDaemon()));
		t.start();
		t.join();
		System.exit(3);
	}
}
J
cat >"$tmp/gocopy.go" <<'G'
package main
import ("fmt"; "io"; "os")
func main() {
	in, err := os.Open(os.Args[1])
	if err != nil { fmt.Println(err); os.Exit(4) }
	out, _ := os.Create(os.Args[2])
	n, _ := io.Copy(out, in)
	done := make(chan int)
	for i := 0; i < 50; i++ { go func() { done <- i }() }
	for i := 0; i < 50; i++ { <-done }
	fmt.Println(n)
}
G
cat >"$tmp/rustcopy.rs" <<'R'
use std::{env, fs, process, thread};
fn main() {
	let a: Vec<String> = env::args().collect();
	let t = thread::spawn(move || fs::copy(&a[1], &a[2]));
	match t.join().unwrap() { Ok(n) => println!("{}", n), Err(e) => { eprintln!("{}", e); process::exit(4) } }
}
R
# ssh as scp and the table call the command: a server on standard input, no port
cat >"$tmp/T/ssh.sh" <<'S'
#!/bin/sh
printf 'PermitRootLogin yes\nStrictModes no\nUsePAM no\nAuthorizedKeysFile %s/k.pub\nHostKey %s/k\n' "$PWD" "$PWD" >"$PWD/conf"
chmod 600 "$PWD/k"
mkdir -p /run/sshd
exec ssh -q -i "$PWD/k" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
	-o "ProxyCommand=/usr/sbin/sshd -i -f $PWD/conf" "$@"
S
chmod 755 "$tmp/T/ssh.sh"
# wanted NAME COMMAND ...: a helper program of the table, if a chosen line names the program
wanted() {
	grep -q "T/$1\>" "$rows" || return 0
	"$@" >"$tmp/made" 2>&1 || echo "untested: programs with $1: $(tail -n 1 "$tmp/made")"
}
kinds_static() { "$cc" -static -D_GNU_SOURCE -O1 -pthread -o "$tmp/T/kinds_static" tests/host/nwrun/kinds.c; }
kinds_musl() { musl-gcc -D_GNU_SOURCE -O1 -pthread -o "$tmp/T/kinds_musl" tests/host/nwrun/kinds.c; }
other_so() { echo 'int other_library = 1;' | "$cc" -shared -fPIC -o "$tmp/T/other_so" -x c -; }
gocopy() { GO111MODULE=off CGO_ENABLED=0 GOCACHE=$tmp/go go build -o "$tmp/T/gocopy" "$tmp/gocopy.go"; }
rustcopy() { rustc -O -o "$tmp/T/rustcopy" "$tmp/rustcopy.rs"; }
for h in kinds_static kinds_musl other_so gocopy rustcopy; do wanted $h; done
if grep -q 'URL' "$rows"; then
	python3 -u -m http.server -b 127.0.0.1 -d "$tmp/proto" 0 >"$tmp/web" 2>/dev/null &
	trap 'kill '$!' 2>/dev/null; rm -rf "$tmp"' EXIT
	until grep -q port "$tmp/web"; do sleep 0.1; done
	URL=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$tmp/web")
fi

# once HOW NAME LINE: runs the line in a fresh directory; leaves $tmp/NAME.HOW.* for the comparison
once() {
	rm -rf "$tmp/w"
	cp -r "$tmp/proto" "$tmp/w"
	chmod 755 "$tmp/w"
	before= N=env
	case $1 in
	inside) before="$B/bin/nwrun -q" ;;
	direct) N="$B/bin/nwrun -q" ;;
	outside) before="$B/bin/nwrun -qo" ;;
	esac
	(
		cd "$tmp/w" && T=$tmp/T HOME=$tmp/w URL=${URL:-} N=$N
		export T HOME URL N
		status=0
		timeout -k 5 $((60 * PATIENCE)) $before sh -c "$3" <in >"$tmp/$2.$1.out" 2>"$tmp/$2.$1.err" || status=$?
		echo $status >"$tmp/$2.$1.status"
	)
	(cd "$tmp/w" && find . -printf '%P %y %m %s\n' | sort) >"$tmp/$2.$1.files"
}
n=0 different= absent=
while IFS='	' read -r name sample needs line; do
	lacks=
	for c in $(echo "$needs" | tr , ' '); do
		command -v "$c" >/dev/null || [ -x "/usr/sbin/$c" ] || lacks="$lacks $c"
	done
	case $line in *unshare* | *chroot* | *setpriv* | *bwrap* | *ssh.sh* | "su "*) [ "$(id -u)" = 0 ] || lacks="$lacks root" ;; esac
	for h in kinds_static kinds_musl gocopy rustcopy; do
		case $line in *T/$h*) [ -x "$tmp/T/$h" ] || lacks="$lacks $h" ;; esac
	done
	[ -z "$lacks" ] || { absent="$absent $name ($(echo $lacks))"; continue; }
	ways=inside
	case $line in *'$N '*) ways="inside direct" ;; esac
	[ "${PROGRAMS:-}" = "" ] || [ "$(id -u)" != 0 ] || ways="$ways outside"
	once bare "$name" "$line" </dev/null
	for how in $ways; do
		once $how "$name" "$line" </dev/null
		for part in status out err files; do
			cmp -s "$tmp/$name.bare.$part" "$tmp/$name.$how.$part" && continue
			echo "$name, $how, $part: $(diff "$tmp/$name.bare.$part" "$tmp/$name.$how.$part" | head -n 6)"
			case " $different " in *" $name "*) ;; *) different="$different $name" ;; esac
		done
	done
	n=$((n + 1))
	[ "${PROGRAMS:-}" = "" ] || echo "$name: $ways, status $(cat "$tmp/$name.bare.status"), $(wc -c <"$tmp/$name.bare.out") bytes"
done <"$rows"
[ -z "$absent" ] || echo "untested: programs that are not here:$absent"
[ -z "$different" ] || fail "under nwrun other than without it:$different"
echo "PASS loads: $programs; $n programs of the table"
