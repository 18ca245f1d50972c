#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What nwrun loads into programs fits into old and foreign ones. No box is needed.
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
"$cc" -D_GNU_SOURCE -O1 -pthread -o "$tmp/spawn" tests/host/nwrun/spawn.c || fail "spawn.c does not compile"

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
echo "PASS loads: $programs"
