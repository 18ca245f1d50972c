#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Families of calls that move bytes, under nwrun: each is counted to the byte, or named as unseen, with the kernel's count
# where the kernel counts. None is silent. No box is needed: the collector's report (NWRUN_REPORT) tells.
set -u
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
tmp=$(mktemp -d /tmp/sys_unseen.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
NARROWS_BOX=127.0.0.1/1 ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
export NARROWS_BOX ASAN_OPTIONS
bytes=16777216
failures=0
fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}
if ! "${CC:-cc}" -D_GNU_SOURCE -O1 -pthread -o "$tmp/families" tests/host/nwrun/families.c; then
	fail "families.c does not compile"
	exit 1
fi
cd "$tmp" || exit 1
head -c $bytes /dev/urandom >in
cp families suid && chmod 4755 suid
chmod 755 . && chmod 644 in
"${CC:-cc}" -D_GNU_SOURCE -O1 -pthread -static -o fixed "$OLDPWD/tests/host/nwrun/families.c" 2>/dev/null || rm -f fixed

# sum NAME KEY: of KEY over the processes of NAME's report
sum() {
	awk -v key="$2=" '$1 == "process" { for (i = 2; i <= NF; i++) if (index($i, key) == 1) s += substr($i, length(key) + 1) }
		END { printf "%d\n", s }' "$1/report"
}
# start NAME PROGRAM FAMILY [AS ...]
start() {
	name=$1 program=$2 family=$3
	shift 3
	mkdir -m 777 "$name" && ln "$tmp/in" "$name/in"
	(cd "$name" && NWRUN_REPORT=$tmp/$name/report "$@" "$B/bin/nwrun" "../$program" "$family" >/dev/null 2>err; echo $? >status) &
}
# ended NAME: false where the kernel does not have the family
ended() {
	i=0
	while { [ ! -s "$1/report" ] || [ ! -s "$1/status" ]; } && [ $i -lt $((300 * PATIENCE)) ]; do sleep 0.1; i=$((i + 1)); done
	[ "$(cat "$1/status")" != 77 ] || { echo "untested: $1: this kernel refuses such calls"; return 1; }
	[ "$(cat "$1/status")" = 0 ] && [ -s "$1/report" ] || { fail "$1: status $(cat "$1/status"), $(cat "$1/err")"; return 1; }
}
# exact NAME READ WRITTEN: both counted to the byte, and no word of unseen bytes
exact() {
	[ "$(sum "$1" seen_read)" = "$2" ] && [ "$(sum "$1" seen_written)" = "$3" ] || fail "$1: not exact: $(cat "$1/report")"
	[ "$(sum "$1" unseen_read)" -lt 65536 ] && ! grep -q '^process .* unseen_by=' "$1/report" || fail "$1: unseen: $(cat "$1/report")"
}
# named NAME WORD BYTES: the reason, and at least the kernel's count
named() {
	grep -Eq "^process .* unseen_by=$2( |\$)" "$1/report" || fail "$1: not named $2: $(cat "$1/report")"
	[ "$(($(sum "$1" unseen_read) + $(sum "$1" unseen_written)))" -ge "$3" ] || fail "$1: no count: $(cat "$1/report")"
}

names=$(./families)
for f in $names; do start "$f" families "$f"; done
# a set-user-id program is seen by its owner, so somebody else has to start it, and may not look into root's home
if [ "$(id -u)" = 0 ] && (umask 022 && mkdir -p open/bin && install -m 755 "$B/bin/nwrun" "$B/bin/nwrun.so" "$B/bin/nwrun-collect.so" open/bin) &&
    setpriv --reuid 65534 --clear-groups open/bin/nwrun -V >/dev/null 2>&1; then
	B=$tmp/open start setuid suid plain setpriv --reuid 65534 --clear-groups
	names="$names setuid"
else
	echo "untested: set-user-id, because no other user can run nwrun here"
fi
# most of the short processes do not ask for their counts, and the parent's count has those of all
printf '#!/bin/sh\ni=0\nwhile [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done\n' >many
chmod 755 many
start short many plain
names="$names short"
# a busy machine may look at the process seconds later
[ -x fixed ] && start static fixed plain env FAMILY_LINGER_MS=$((3000 * PATIENCE)) && names="$names static"
for f in $names; do
	ended "$f" || continue
	case $f in
	short) exact "$f" "$(wc -c <many)" 0 ;;
	send | sendmsg | sendmmsg) exact "$f" $((2 * bytes)) $bytes ;;
	tee) exact "$f" $((3 * bytes)) $((3 * bytes)) ;; # into both pipes, out, and out of the copy
	vmsplice | memfd) exact "$f" $((2 * bytes)) $((2 * bytes)) ;;
	passed) exact "$f" $((bytes + 1)) $((bytes + 1)) ;; # and the message
	splice) exact "$f" $((2 * bytes)) $((2 * bytes)) ;; # into the pipe, and out
	instruction) named "$f" direct-calls $((2 * bytes)) ;;
	memory) named "$f" memory-map 0 ;;
	aio) named "$f" aio $((2 * bytes)) ;;
	queue) named "$f" aio 0 ;;
	ring) named "$f" io_uring 0 ;;
	sealed_late) named "$f" sealed $((2 * bytes)) ;;
	setuid) named "$f" set-user-id 0 ;; # whose counts only its own user may read
	# where the kernel's events may be read, a static program is measured from outside
	static) grep -q ' unseen_by=' static/report && named "$f" static $((2 * bytes)) || exact "$f" $bytes $bytes ;;
	*) exact "$f" $bytes $bytes ;;
	esac
done
[ $failures = 0 ] && echo "PASS unseen"
exit $failures
