#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A box and two hosts, each with a network, files, processes and a name of its own, by the README's commands: a token, a join
# on each host, a transfer, a verdict of both ends. A join that fails leaves nothing.
. tests/lib.sh
[ "$(id -u)" = 0 ] && unshare --net --mount --uts --pid --fork --mount-proc true 2>/dev/null || skip "namespaces cannot be made"
[ "${B##*/}" = release ] || skip "installed is what release builds"
unset MAKEFLAGS MAKELEVEL MFLAGS XDG_RUNTIME_DIR XDG_STATE_HOME XDG_CONFIG_HOME
make -s install DESTDIR="$tmp/tree" PREFIX=/usr >"$tmp/make.log" 2>&1 || fail "make install: $(tail -n 5 "$tmp/make.log")"
chmod 755 "$tmp"

# --- three machines ---
# machine NAME: sets pid_NAME. A copy of /etc without our files; /run, /root and /var/lib are empty.
machine() {
	mkdir "$tmp/$1" && cp -a /etc "$tmp/$1/etc" && rm -rf "$tmp/$1/etc/narrows" "$tmp/$1/etc/chrony"
	mkdir -p "$tmp/$1/etc/chrony/sources.d" "$tmp/$1/etc/chrony/conf.d"
	printf 'sourcedir /etc/chrony/sources.d\nconfdir /etc/chrony/conf.d\n' >"$tmp/$1/etc/chrony/chrony.conf"
	unshare --net --mount --uts --pid --fork --mount-proc sh -c '
		mount --bind "$1/etc" /etc && mount -t tmpfs none /run && mount -t tmpfs none /root && mount -t tmpfs none /var/lib &&
		hostname "$2" && ip link set lo up && mkdir /run/chrony && chmod 750 /run/chrony && : >"$1/ready" || exit 1
		trap "exit 0" TERM; sleep 900 & wait' \
	    machine "$tmp/$1" "$1" &
	until_true 10 test -f "$tmp/$1/ready" || fail "no machine $1"
	machine_pid=$(tr -d ' ' <"/proc/$!/task/$!/children")
	pids="$pids $machine_pid $!" # the first process of the machine ends the others
	eval "pid_$1=$machine_pid"
}
# on NAME COMMAND ...
on() {
	eval "on_pid=\$pid_$1"
	shift
	nsenter -t "$on_pid" --net --mount --uts --pid --root --wd env -u NARROWS_BOX -u NARROWS_HOST -u NARROWS_TLS HOME=/root \
	    PATH="$tmp/tree/usr/bin:$tmp/tree/usr/sbin:$PATH" "$@"
}
machine box
machine dtna
machine dtnb
machine dtnc
on box ip link add br0 type bridge && on box ip addr add 10.77.0.1/24 dev br0 && on box ip link set br0 up
for h in dtna:2 dtnb:3 dtnc:4; do
	eval "peer=\$pid_${h%:*}"
	nsenter -t "$pid_box" --net ip link add "v${h#*:}" type veth peer name eth0 netns "$peer" && on box ip link set "v${h#*:}" master br0 up
	on "${h%:*}" ip addr add "10.77.0.${h#*:}/24" dev eth0 && on "${h%:*}" ip link set eth0 up
done
# state NAME: what a join may change
state() { (cd "$tmp/$1/etc" && find . -path ./mtab -prune -o -ls | awk '{ $1 = $2 = $8 = $9 = $10 = ""; print }' && find . -type f -newer "$tmp/make.log" -exec cksum {} +); }
# refused WHY NAME ARGUMENT ...: exit status 1, one line that says why, nothing is changed
refused() {
	why=$1 name=$2
	shift 2
	state "$name" >"$tmp/before"
	on "$name" narrows-host join "$@" >"$tmp/out" 2>"$tmp/err" && fail "it joins: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$why" "$tmp/err" && [ ! -s "$tmp/out" ] || fail "$*: wants \"$why\": $(cat "$tmp/err" "$tmp/out")"
	state "$name" | diff "$tmp/before" - || fail "\"$why\" leaves something"
}

# --- the box: one command for the tokens, which opens the box ---
mkdir "$tmp/box/etc/narrows" && cp conf/narrowsd.conf "$tmp/box/etc/narrows/"
sed 's/^allow /#allow /' conf/chrony-box.conf >"$tmp/box/etc/chrony/conf.d/narrows.conf"
on box narrows enroll --open --token dtna dtnb spare >"$tmp/tokens" 2>"$tmp/err" || fail "enroll --open: $(cat "$tmp/err")"
grep -q "start narrowsd" "$tmp/err" && [ "$(wc -l <"$tmp/tokens")" = 3 ] || fail "enroll --open says $(cat "$tmp/err" "$tmp/tokens")"
for line in 'listen-xsp-tls 0.0.0.0/5007' 'listen-https 0.0.0.0/8443'; do
	[ "$(grep -c "^$line$" "$tmp/box/etc/narrows/narrowsd.conf")" = 1 ] || fail "narrowsd.conf: no $line"
done
[ "$(wc -l <"$tmp/box/etc/narrows/narrowsd.conf")" = "$(wc -l <conf/narrowsd.conf)" ] || fail "narrowsd.conf has other lines"
grep -qx allow "$tmp/box/etc/chrony/conf.d/narrows.conf" || fail "chronyd answers no host"
token_a=$(sed -n 1p "$tmp/tokens") token_b=$(sed -n 2p "$tmp/tokens") token_c=$(sed -n 3p "$tmp/tokens")
url=https://10.77.0.1:8443
refused "10.77.0.1:8443: Connection refused; nothing was changed, the token is still good" dtna "$url" "$token_a"
on box narrowsd -d 2>"$tmp/box.log" &
pids="$pids $!"
until_true 20 on box test -f /var/lib/narrows/narrowsd.run || fail "the box does not start"
on box chronyd -x -d -u root >"$tmp/chronyd.box.log" 2>&1 &
pids="$pids $!"

# --- joins that fail ---
refused "no such token" dtna "$url" "${token_a%?????}00000"
refused "not a token" dtna "$url" "${token_a%?}"
refused "no answer\|No route to host" dtna https://10.77.0.99 "$token_a"
on box iptables -I INPUT -p tcp --dport 5007 -j REJECT 2>/dev/null && {
	refused "port 5007 of 10.77.0.1" dtna "$url" "$token_a"
	on box iptables -D INPUT -p tcp --dport 5007 -j REJECT
}
cat >"$tmp/shift.c" <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	long rc = syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec += 90;
	return (int)rc;
}
C
${CC:-cc} -shared -fPIC -o "$tmp/shift.so" "$tmp/shift.c" || fail "the shifted clock does not build"
export LD_PRELOAD="$tmp/shift.so"
refused "1 min 30 s ahead of that of the box: .* the token is still good" dtna "$url" "$token_a"
unset LD_PRELOAD

# --- the joins ---
on dtna sh -c 'umask 077; exec narrows-host join "$1" "$2"' join "$url" "$token_a" >"$tmp/said" 2>&1 || fail "join: $(cat "$tmp/said")"
grep -q "chronyd follows the box once you start chronyd" "$tmp/said" && grep -q "takes the measurements of dtna (port 5007, TLS)" "$tmp/said" ||
	fail "join says $(cat "$tmp/said")"
[ "$(stat -c %a "$tmp/dtna/etc/narrows/tls/dtna.key")" = 600 ] && [ "$(stat -c %a "$tmp/dtna/etc/narrows/host.conf")" = 644 ] &&
	[ "$(stat -c %a "$tmp/dtna/etc/narrows")" = 755 ] || fail "modes"
on dtna narrows-host doctor | grep -A 1 '^no   time ' | grep -q -e "-> echo 'server 10.77.0.1 iburst' >.*; systemctl restart chrony" || fail "doctor without a time daemon"
on dtnb chronyd -x -d -u root >"$tmp/chronyd.b.log" 2>&1 &
pids="$pids $!"
until_true 10 on dtnb chronyc tracking || fail "chronyd on dtnb"
# dtnb has systemd, as far as a join sees
on dtnb mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$*" >>%s/systemctl\n' "$tmp" >"$tmp/tree/usr/bin/systemctl"
chmod 755 "$tmp/tree/usr/bin/systemctl"
refused "no such token" dtnb "$url" "${token_b%?????}00000"
[ ! -e "$tmp/systemctl" ] || fail "a join that fails asks systemd: $(cat "$tmp/systemctl")"
printf '%s\n' "$token_b" | on dtnb narrows-host join --watch 10.77.0.1 - >"$tmp/said" 2>&1 || fail "join: $(cat "$tmp/said")"
grep -q "chronyd follows the box (" "$tmp/said" && grep -q "blipp and nwflow run, also after the next boot" "$tmp/said" || fail "join says $(cat "$tmp/said")"
printf '%s\n' "enable blipp.service" "restart blipp.service" "enable nwflow.service" "restart nwflow.service" | diff - "$tmp/systemctl" || fail "services"
grep -qx "watch yes" "$tmp/dtnb/etc/narrows/host.conf" || fail "--watch"
refused "used already" dtna "$url" "$token_b"
on dtna chronyd -x -d -u root >"$tmp/chronyd.a.log" 2>&1 &
pids="$pids $!"
for h in dtna dtnb; do
	until_true 30 sh -c "nsenter -t $(eval "echo \$pid_$h") --net --mount chronyc -n -c tracking | grep -q ',10.77.0.1,'" ||
		fail "$h does not follow the box: $(on $h chronyc -n sources)"
done
state dtna >"$tmp/before"
on dtna narrows-host join "$url" "$token_c" >"$tmp/said" 2>&1 || fail "another name: $(cat "$tmp/said")"
[ -s "$tmp/dtna/etc/narrows/tls/spare.crt" ] && grep -qx "host spare" "$tmp/dtna/etc/narrows/host.conf" || fail "another name"
sed -i 's/^host .*/host dtna/' "$tmp/dtna/etc/narrows/host.conf"

# --- a chronyd that has a source of its own is asked for: it stays without a terminal and after "n", and follows the box after "y" ---
on box ip addr add 10.77.0.9/24 dev br0 # another server of the site
echo 'server 10.77.0.9 iburst' >>"$tmp/dtnc/etc/chrony/chrony.conf"
on dtnc chronyd -x -d -u root >"$tmp/chronyd.c.log" 2>&1 &
pids="$pids $!"
until_true 30 sh -c "nsenter -t $pid_dtnc --net --mount chronyc -n -c tracking | grep -q ',10.77.0.9,'" || fail "chronyd on dtnc: $(cat "$tmp/chronyd.c.log")"
on box narrows enroll --token dtnc dtnc-n dtnc-y >"$tmp/tokens" 2>"$tmp/err" || fail "enroll: $(cat "$tmp/err")"
stays() { [ ! -e "$tmp/dtnc/etc/chrony/sources.d/narrows.sources" ] && grep -q "chronyd follows 10.77.0.9, and was not changed (--clock box adds the box)" "$tmp/said"; }
on dtnc narrows-host join "$url" "$(sed -n 1p "$tmp/tokens")" </dev/null >"$tmp/said" 2>&1 && stays || fail "without a terminal: $(cat "$tmp/said")"
# at_terminal ANSWER TOKEN
at_terminal() {
	{ sleep 1; echo "$1"; sleep 3; } | on dtnc script -qec "narrows-host join $url $2" /dev/null >"$tmp/said" 2>&1 || fail "join at a terminal: $(cat "$tmp/said")"
	grep -q "chronyd follows 10.77.0.9. Shall chronyd follow the box 10.77.0.1, too?" "$tmp/said" || fail "no question: $(cat "$tmp/said")"
}
at_terminal n "$(sed -n 2p "$tmp/tokens")"
stays || fail "after no: $(cat "$tmp/said")"
at_terminal y "$(sed -n 3p "$tmp/tokens")"
grep -q '^server 10.77.0.1 iburst .* prefer$' "$tmp/dtnc/etc/chrony/sources.d/narrows.sources" || fail "after yes: $(cat "$tmp/said")"
until_true 30 sh -c "nsenter -t $pid_dtnc --net --mount chronyc -n -c sources | grep -q ',10.77.0.1,'" || fail "chronyd on dtnc has not the box: $(on dtnc chronyc -n sources)"
# a chronyd whose server is silent, or has a name that no name server knows, has a source, too
on box narrows enroll --token dtnc-s dtnc-i >"$tmp/tokens" 2>"$tmp/err" || fail "enroll: $(cat "$tmp/err")"
rm "$tmp/dtnc/etc/chrony/sources.d/narrows.sources"
token=0
for server in 10.77.0.99 ntp.invalid; do
	printf 'server %s iburst\nsourcedir /etc/chrony/sources.d\n' "$server" >"$tmp/dtnc/etc/chrony/chrony.conf"
	on dtnc chronyc shutdown >/dev/null
	until_true 10 sh -c "! nsenter -t $pid_dtnc --net --mount chronyc tracking" || fail "chronyd does not end"
	on dtnc chronyd -x -d -u root >"$tmp/chronyd.c.log" 2>&1 &
	pids="$pids $!"
	until_true 10 on dtnc chronyc tracking || fail "chronyd on dtnc: $(cat "$tmp/chronyd.c.log")"
	token=$((token + 1))
	on dtnc narrows-host join "$url" "$(sed -n ${token}p "$tmp/tokens")" </dev/null >"$tmp/said" 2>&1 || fail "join: $(cat "$tmp/said")"
	grep -q "chronyd tries to follow \(10.77.0.99\|a server without an address so far\), and was not changed" "$tmp/said" &&
		[ ! -e "$tmp/dtnc/etc/chrony/sources.d/narrows.sources" ] || fail "server $server: $(cat "$tmp/said")"
done

# --- the doctor ---
on dtna narrows-host doctor >"$tmp/doctor" || fail "doctor: $(cat "$tmp/doctor")"
for line in 'yes  box  *tls://10.77.0.1/5007 takes the measurements of dtna$' 'yes  report  *https://10.77.0.1:8443 answers' 'yes  clock  *within' \
    'yes  time  *chronyd follows 10.77.0.1$' 'yes  programs ' 'yes  tcp '; do
	grep -q "^$line" "$tmp/doctor" || fail "doctor: no line \"$line\": $(cat "$tmp/doctor")"
done
status=0
on dtna setpriv --reuid 65534 --clear-groups --bounding-set -all --inh-caps -all narrows-host doctor >"$tmp/doctor" || status=$?
[ $status = 1 ] && grep -q '^no   box  .*dtna.key' "$tmp/doctor" && grep -A 1 '^no   running ' "$tmp/doctor" | grep -q -e '-> sudo nwrun' ||
	fail "doctor of another user: $status $(cat "$tmp/doctor")"
LD_PRELOAD="$tmp/shift.so" on dtna narrows-host doctor >"$tmp/doctor" && fail "doctor: the clock is right: $(cat "$tmp/doctor")"
grep -q '^no   clock  *1 min 30 s ahead of the box' "$tmp/doctor" || fail "doctor: $(cat "$tmp/doctor")"

# --- a transfer, and its verdict: no option and no variable names the box ---
for h in dtna dtnb; do on $h blipp -i 200ms 2>"$tmp/blipp.$h" & pids="$pids $!"; done
head -c 40000000 /dev/zero >"$tmp/data"
on box tc qdisc add dev v3 root tbf rate 100mbit burst 64k latency 20ms || skip "the link cannot be limited: all but the transfer is tested"
cat >"$tmp/move.py" <<'PY'
import socket, sys
if sys.argv[1] == "send":
    s = socket.create_server(("10.77.0.2", 7000)).accept()[0]
    with open(sys.argv[2], "rb") as f:
        while block := f.read(65536):
            s.sendall(block)
else:
    import time
    for i in range(200):
        try:
            s = socket.create_connection(("10.77.0.2", 7000))
            break
        except OSError:
            time.sleep(0.1)
    with open(sys.argv[2], "wb") as f:
        while block := s.recv(65536):
            f.write(block)
PY
on dtna nwrun -t copy-7 python3 "$tmp/move.py" send "$tmp/data" &
sender=$!
on dtnb nwrun -t copy-7 python3 "$tmp/move.py" receive "$tmp/copy" || fail "the transfer: $?"
wait $sender || fail "the sender: $?"
cmp "$tmp/data" "$tmp/copy" || fail "the transfer"
until_true 30 sh -c "nsenter -t $pid_box --mount --net --root --wd '$tmp/tree/usr/bin/narrows' report last 2>/dev/null >'$tmp/verdict' && grep -q 'dtna' '$tmp/verdict' && grep -q dtnb '$tmp/verdict' && ! grep -q 'still running' '$tmp/verdict'" ||
	fail "no verdict of both ends: $(cat "$tmp/verdict")"
grep -qi "network path from dtna to dtnb" "$tmp/verdict" || fail "another verdict: $(cat "$tmp/verdict")"
on box narrows hosts | grep -q '^dtnb .* good ' || fail "hosts"
