#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The static agents in roots that are older or smaller than those of the packages: Debian 11, and a root with nothing but Debian's
# packages musl and busybox-static. In both, nwrun runs programs of the root, and a box outside stores the sessions. Debian 13 builds
# the agents, too, and each is held to the bound of sys_host. Not part of `make check`.
# usage: B=build/release tests/old_roots.sh [bullseye|musl|trixie ...]. Exit status 77: this machine cannot.
set -eu
cd "$(dirname "$0")/.."
B=$(cd "${B:-build/release}" && pwd)
parts=${*:-bullseye musl trixie}
bytes_max=2000000 # of a static agent
skip() { printf 'old_roots: %s\n' "$*"; exit 77; }
fail() { printf 'FAIL: old_roots: %s\n' "$*"; exit 1; }
wants() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }

[ "$(id -u)" = 0 ] || skip "only root makes a root"
unshare -m true 2>/dev/null || skip "no namespaces of mounts here"
for p in blipp nwrun iomodel nwlog nwrun.so; do [ -x "$B/static/$p" ] || fail "no $B/static/$p: make host-static first"; done

# --- the box of this machine ---
state=$(mktemp -d)
box=
box_end() {
	[ -z "$box" ] || { kill "$box" && wait "$box"; } 2>/dev/null || :
	rm -rf "$state"
}
trap box_end EXIT
trap 'exit 1' INT TERM
"$B/bin/narrowsd" -f /dev/null -d -o state-dir="$state" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>"$state/log" &
box=$!
for i in $(seq 100); do [ -f "$state/narrowsd.run" ] && break; sleep 0.1; done
xsp=$(sed -n 's/^xsp //p' "$state/narrowsd.run")
[ -n "$xsp" ] || fail "the box does not start: $(tail -n 3 "$state/log")"
# until_stored SQL NUMBER WHAT
until_stored() {
	for i in $(seq 600); do
		n=$("$B/bin/narrows" -s "$state" sql --csv "$1" 2>/dev/null | tail -n 1)
		[ "${n:-0}" -lt "$2" ] 2>/dev/null || return 0
		sleep 0.2
	done
	tail -n 5 "$state/log"
	fail "the box has no $3: ${n:-nothing}"
}

# within ROOT COMMAND: a shell command in the root, with processes and mounts of its own; a busybox there need not be linked
within() {
	unshare --mount --pid --fork --kill-child sh -c '
		mount --bind "$1" "$1" && mkdir -p "$1/proc" "$1/dev" "$1/tmp" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" || exit 1
		exec chroot "$1" /usr/bin/env -i PATH=/agents:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp TERM=dumb NARROWS_BOX="$3" /bin/sh -c "cd /tmp && $2"' \
	    within "$1" "$2" "$xsp"
}
# same ROOT COMMAND: output and status under nwrun are those without nwrun
same() {
	status=0 got=0
	within "$1" "$2" >"$state/bare" 2>&1 || status=$?
	within "$1" "nwrun -q $2" >"$state/under" 2>&1 || got=$?
	[ "$got" = "$status" ] || fail "$2: ends with $got under nwrun, not $status: $(cat "$state/under")"
	cmp -s "$state/bare" "$state/under" || fail "$2: $(diff "$state/bare" "$state/under")"
}
# agents ROOT NAME: each static agent starts there, and blipp reaches the box
agents() {
	mkdir -p "$1/agents"
	cp "$B/static/"* "$1/agents"
	for p in blipp nwrun iomodel nwlog; do
		within "$1" "$p -V" >"$state/out" 2>&1 || fail "$p does not start in $2: $(cat "$state/out")"
	done
	within "$1" "blipp --once 2>&1" >"$state/out" || fail "blipp --once in $2: $(cat "$state/out")"
	grep -q ' stored=[1-9][0-9]* dropped=0 ' "$state/out" || fail "the box does not acknowledge blipp in $2: $(cat "$state/out")"
	until_stored "SELECT count(*) FROM metadata WHERE event_type LIKE 'ps:tools:blipp:%'" 20 "samples of blipp in $2"
	within "$1" "echo 'DATE=20260504100001.118305 HOST=old PROG=xfer LVL=Info NL.EVNT=xfer.start' >events && nwlog -1 -f events" ||
	    fail "nwlog in $2"
}
# musl_programs ROOT NAME: the loader of the package musl, a program of its own, and what this machine's musl-gcc makes
musl_programs() {
	loader=$(cd "$1" && ls lib/ld-musl-*.so.1 2>/dev/null) || fail "no loader of musl in $2"
	same "$1" "/$loader"
	command -v musl-gcc >/dev/null || { echo "untested: a program of musl in $2: no musl-gcc"; return 0; }
	cat >"$state/copy.c" <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	static char buf[65536];
	size_t n, sum = 0;
	FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
	if (in == NULL || out == NULL)
		return 9;
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		sum += fwrite(buf, 1, n, out);
	printf("%zu\n", sum);
	return fclose(out) != 0 ? 8 : 5;
}
C
	musl-gcc -o "$1/agents/copy" "$state/copy.c" || fail "musl-gcc"
	[ -e "$1/tmp/small" ] || head -c 20000000 /dev/urandom >"$1/tmp/small"
	same "$1" "copy /tmp/small /tmp/copied"
	[ "$(cat "$state/under")" = 20000000 ] && [ "$status" = 5 ] || fail "a copy by a program of musl in $2: $(cat "$state/under")"
	cmp "$1/tmp/small" "$1/tmp/copied" || fail "a copy by a program of musl in $2"
	same "$1" "/$loader /agents/copy /tmp/small /tmp/copied"
	within "$1" "nwrun copy /tmp/small /tmp/copied" 2>"$state/err" >/dev/null || [ $? = 5 ] || fail "copy in $2: $(cat "$state/err")"
	[ "$(wc -l <"$state/err")" = 1 ] && grep -q "copy is loaded by /$loader, and cannot be measured from outside .*: the box gets" "$state/err" ||
	    fail "not one line says how a program of musl is measured in $2: $(cat "$state/err")"
}
# musl_package: fetches the packages musl and busybox-static into $state
musl_package() {
	(cd "$state" && apt-get download -q musl busybox-static >/dev/null 2>&1) || skip "no package musl can be fetched"
}

if wants bullseye; then
	(
		suite=bullseye
		. tests/root.sh
		trap 'rm -rf "$root"; rmdir "$work" 2>/dev/null || :' EXIT
		agents "$root" "Debian 11"
		head -c 50000000 /dev/urandom >"$root/tmp/data"
		within "$root" "nwrun --wait -t old tar -cf /tmp/copy.tar data 2>&1" >"$state/out" || fail "nwrun tar: $(cat "$state/out")"
		! grep -q unmeasured "$state/out" || fail "tar is not measured: $(cat "$state/out")"
		within "$root" "tar -xOf copy.tar data | cmp - data" || fail "tar copies something else"
		until_stored "SELECT count(*) FROM session WHERE task_id = 'old' AND closed_ns IS NOT NULL" 1 "session of tar"
		"$B/bin/narrows" -s "$state" report --json last | grep -q '[^0-9]5[0-9]\{7\}[^0-9]' || fail "nwrun.so does not count the bytes of tar"
		same "$root" "sh -c 'echo hello; exit 3'"
		same "$root" "sh -c 'kill -9 \$\$'"
		in_root "apt-get update -q && apt-get install -yq --no-install-recommends musl" >"$state/out" 2>&1 || { tail -n 4 "$state/out"; fail "no package musl in Debian 11"; }
		musl_programs "$root" "Debian 11"
		echo "PASS old_roots: Debian 11"
	) || exit $?
fi

if wants musl; then
	musl_package
	root=$state/root
	mkdir -p "$root/bin" "$root/usr/bin"
	for p in "$state"/*.deb; do dpkg-deb -x "$p" "$root"; done
	for p in sh env cat cmp dd; do ln -sf /bin/busybox "$root/bin/$p"; done
	[ -x "$root/bin/busybox" ] || cp "$root/usr/bin/busybox" "$root/bin/busybox"
	ln -sf /bin/busybox "$root/usr/bin/env"
	[ ! -e "$root/lib64" ] || fail "the root has a glibc"
	agents "$root" "a root of musl"
	same "$root" "busybox sh -c 'echo hello; exit 3'"
	musl_programs "$root" "a root of musl"
	echo "PASS old_roots: a root of musl and busybox"
fi

if wants trixie; then
	(
		suite=trixie
		. tests/root.sh
		trap 'rm -rf "$root"; rmdir "$work" 2>/dev/null || :' EXIT
		in_root "apt-get update -q && sh conf/deps.sh host && sh conf/build.sh host-static" >"$state/out" 2>&1 || { tail -n 5 "$state/out"; fail "Debian 13 does not build"; }
		for p in blipp nwrun iomodel nwlog; do
			bytes=$(stat -c %s "$root/src/build/release/static/$p")
			echo "old_roots: $p of Debian 13 has $bytes bytes"
			[ "$bytes" -lt $bytes_max ] || fail "$p of Debian 13 has $bytes bytes, not below $bytes_max"
		done
		echo "PASS old_roots: built by Debian 13"
	) || exit $?
fi
