#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Points of users join the stream of the kernel's events while it runs, and leave again; what cannot be is refused with the
# reason.
. tests/lib.sh
magnet=$bin/magnet
"$magnet" stat -l -n 1 -i 0.01 >/dev/null 2>"$tmp/why" || skip "kernel events: $(cat "$tmp/why")"
[ "$(id -u)" = 0 ] || skip "kernel events: root is needed"

socket=$tmp/magnet.sock
"$magnet" serve -S "$socket" 2>"$tmp/serve" &
pids="$pids $!"
until_true 10 test -S "$socket" || fail "magnet serve does not listen: $(cat "$tmp/serve")"
ask() { c=$1; shift; "$magnet" "$c" -S "$socket" "$@" 2>&1; }
hits() { ask status | sed -n "s/^$1 [a-z]* hits=\\([0-9]*\\) .*/\\1/p"; }

# A tracepoint with fields: the parent and the child of 53 processes.
cat >"$tmp/fork.py" <<'PY'
import os, sys, time
open(sys.argv[1] + "/ready", "w").close()
while not os.path.exists(sys.argv[1] + "/go"): time.sleep(0.01)
for i in range(53):
    p = os.fork()
    if p == 0: os._exit(0)
    os.waitpid(p, 0)
PY
python3 "$tmp/fork.py" "$tmp" &
parent=$!
until_true 20 test -e "$tmp/ready" || fail "python does not begin"
"$magnet" record -T 50 -o "$tmp/forks" -a "births tracepoint:sched_process_fork id=parent->tgid value=child->pid child->tgid parent->real_parent->tgid" \
	-p births 2>"$tmp/record" &
recorder=$!
until_true 20 test -s "$tmp/forks" || fail "the recording does not begin: $(cat "$tmp/record")"
: >"$tmp/go"
wait $parent
kill $recorder
wait $recorder || fail "the recording failed: $(cat "$tmp/record")"
# Members of a structure are the kernel's own numbers, those of the first name space of processes: elsewhere one parent has 53 children.
[ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] && known=1 || known=0
"$magnet" dump -F csv "$tmp/forks" 2>/dev/null | awk -F, -v p=$parent -v me=$$ -v known=$known '
	$2 == "births" { n[$6]++; bad[$6] += $8 != $14 || (n[$6] > 1 && $15 != of[$6]); of[$6] = $15 }
	END { if (known) exit !(n[p] == 53 && !bad[p] && of[p] == me); for (i in n) found += n[i] == 53 && !bad[i]; exit !found }' ||
	fail "births: $("$magnet" dump -F csv "$tmp/forks" | awk -F, -v p=$parent -v known=$known '!known || $6 == p' | tail -n 3)"

# What cannot be is refused, and says why.
refused() { want=$1; shift; ! out=$(ask add "$@") && printf '%s' "$out" | grep -q "$want" || fail "add $*: $out"; }
refused 'no tracepoint called "nonesuch"' a tracepoint:nonesuch
refused 'is no field' a tracepoint:sched_switch 'value=next->nonesuch'
refused 'is no field' a tracepoint:sched_switch 'value=next->se'
refused 'a new name' socket.tx tracepoint:sched_switch
refused 'a place is' a elsewhere
[ "$(ask status)" = "" ] || fail "a refused point is there: $(ask status)"

# Events from a program: by hand, and by a probe that is built in and costs nothing before.
ask add hand program || fail "add program"
ask on hand && ask event hand 5 -3 && ask event hand 6 4 || fail "event"
[ "$(hits hand)" = 2 ] || fail "by hand: $(ask status)"
cat >"$tmp/probe.c" <<'C'
#include <narrows/magnet.h>
int main(void) { for (uint64_t i = 0; i < 101; i++) nw_event(i, (int32_t)i - 50); return 0; }
C
${CC:-cc} -O2 -std=c11 -Iinclude -o "$tmp/probe" "$tmp/probe.c" || fail "nw_event() does not compile"
"$tmp/probe" || fail "the program fails without listeners"
if ask add probe "usdt:$tmp/probe:narrows:event" >"$tmp/out"; then
	ask on probe || fail "on probe"
	"$tmp/probe"
	[ "$(hits probe)" = 101 ] || fail "the probe: $(ask status)"
	ask off probe && "$tmp/probe" && [ "$(hits probe)" = 101 ] || fail "a probe that is off counts"
	ask remove probe || fail "remove probe"
else
	echo "probes in programs: $(cat "$tmp/out")"
fi

# An object of one's own, where the compiler is present.
if command -v clang >/dev/null && [ -e /usr/include/bpf/bpf_helpers.h ]; then
	for bad in "" -DBAD; do
		clang $bad -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Iinclude -Ihost/magnet/bpf -I"/usr/include/$(uname -m)-linux-gnu" \
			-c tests/point.bpf.c -o "$tmp/point$bad.o" || fail "an object does not compile"
	done
	refused "R[0-9] invalid mem access 'scalar'" bad "object:$tmp/point-DBAD.o"
	ask add begins "object:$tmp/point.o" && ask on begins || fail "the object is refused"
	for i in 1 2 3 4 5 6 7; do /bin/true; done
	[ "$(hits begins)" -ge 7 ] || fail "the object: $(ask status)"
	ask remove begins || fail "remove"
fi

# A program without privilege reads its kernel's events, and lowers its rate until nothing is dropped any more.
${CC:-cc} -O1 -std=gnu11 -Iinclude -o "$tmp/pacer" tests/pacer.c "$B/lib/libmagnet.a" -lpthread || fail "pacer does not compile"
chmod 755 "$tmp"
ask view paced uid=65534 || fail "no view"
ask on packet.drop || fail "packet.drop"
port=$((28000 + $$ % 4000))
ask filter port $port || fail "filter"
setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/pacer" "$socket" paced $port 3 >"$tmp/paced" || fail "pacer failed"
read -r first last early late <"$tmp/paced"
[ "$early" -gt 10 ] && [ "$last" -le $((first / 8)) ] && [ "$late" -le $((early / 4)) ] || fail "the rate does not adapt: $(cat "$tmp/paced")"
ask filter port none && ask off packet.drop || fail "off"

# A view of an interface, as of a virtual machine's tap: its packets, and nothing of another.
ask view cable device=lo && ask on access.tx || fail "no view of an interface"
refused_view() { ! out=$(ask view other "$1") && printf '%s' "$out" | grep -q "$2" || fail "view $1: $out"; }
refused_view device=nonesuch0 'no interface'
refused_view vm=999999999 'no process'
${CC:-cc} -O1 -std=c11 -Iinclude -o "$tmp/viewer" tests/viewer.c "$B/lib/libmagnet.a" || fail "viewer does not compile"
"$tmp/viewer" "$socket" cable 600 >"$tmp/seen" 2>&1 &
viewer=$!
pids="$pids $viewer"
until_true 10 grep -q open "$tmp/seen" || fail "the view cannot be opened: $(cat "$tmp/seen")"
python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(211): s.sendto(b"x", ("127.0.0.1", int(sys.argv[1])))' $((port + 7))
kill $viewer
wait $viewer || fail "the viewer failed"
[ "$(sed -n "s/^$((port + 7)) //p" "$tmp/seen")" = 211 ] || fail "the interface's view: $(cat "$tmp/seen")"
ask off access.tx || fail "off access.tx"

ask remove hand || fail "remove hand"
! ask remove hand >/dev/null || fail "a point was removed twice"
! ask status | grep -v '^packet.drop\|^access.tx' || fail "points stay: $(ask status)"
