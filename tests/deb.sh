#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages in a fresh minimal root: made, checked, installed, used, upgraded, removed, purged.
# usage: tests/deb.sh [bookworm|trixie]. Exit status 77: this machine cannot.
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
skip() { printf 'deb: %s\n' "$*"; exit 77; }
fail() { printf 'FAIL: %s: %s\n' "$suite" "$*"; exit 1; }

[ "$(id -u)" = 0 ] || skip "only root makes a root"
command -v unshare >/dev/null && unshare -m true 2>/dev/null || skip "no namespaces of mounts here"
. tests/root.sh

in_root "apt-get update -q && apt-get install -yq make && make deb" >"$work/deb.log" 2>&1 || { tail -n 30 "$work/deb.log"; fail "make deb"; }
grep -q '^E: ' "$work/deb.log" && { grep '^E: ' "$work/deb.log"; fail "lintian has errors"; }
# What built the packages goes: they must say themselves what they need. A second version is made by name.
in_root "mkdir /packages /newer && cp build/deb/*.deb /packages && rm -f /packages/*dbgsym* &&
	for p in /packages/*.deb; do dpkg-deb -R \$p /tmp/p && sed -i 's/^Version: .*/Version: 99.0-1/; s/(= [^)]*)/(= 99.0-1)/' /tmp/p/DEBIAN/control &&
		dpkg-deb -b /tmp/p /newer >/dev/null && rm -rf /tmp/p; done" || fail "a second version"
mv "$root/packages" "$root/newer" "$work/"
rm -rf "$root"
FRESH_DIR=$work
. tests/root.sh
mv "$work/packages" "$work/newer" "$root/"

used='
	test -f /etc/narrows/narrowsd.conf && narrowsd -n && man_page=/usr/share/man/man8/narrowsd.8.gz && test -f $man_page
	dir=$(mktemp -d); narrowsd -d -o state-dir=$dir/state -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>$dir/log & box=$!
	for i in $(seq 100); do [ -f $dir/state/narrowsd.run ] && break; sleep 0.1; done
	export NARROWS_BOX=$(sed -n "s/^xsp //p" $dir/state/narrowsd.run)
	dd if=/dev/zero of=$dir/file bs=65536 count=200 2>/dev/null
	nwrun -t packaged cat $dir/file >/dev/null && blipp --once && sleep 4
	narrows -s $dir/state report last | grep -q packaged || { cat $dir/log; exit 1; }
	narrows -s $dir/state sql "select count(*) from v_sample" >/dev/null && kill $box && wait $box && rm -rf $dir'
in_root "apt-get update -q && apt-get install -yq --no-install-recommends /packages/*.deb" >"$work/deb.log" 2>&1 ||
	{ tail -n 20 "$work/deb.log"; fail "the packages cannot be installed"; }
in_root "$used" || fail "the installed programs do not work"
# The README's commands, with box and host on one machine: a token, a join, a measurement without an option, the doctor.
joined='
	narrows enroll --open --token here >/tmp/token 2>/tmp/err || { cat /tmp/err; exit 1; }
	narrowsd -d -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>/tmp/log & box=$!
	for i in $(seq 100); do [ -f /var/lib/narrows/narrowsd.run ] && break; sleep 0.1; done
	narrows-host join https://127.0.0.1:8443 $(cat /tmp/token) || { cat /tmp/log; exit 1; }
	[ "$(stat -c %G:%a /etc/narrows/tls/here.key)" = narrows-host:640 ] && grep -qx "host here" /etc/narrows/host.conf || exit 1
	grep -q "^server 127.0.0.1 " /etc/chrony/sources.d/narrows.sources && chronyd -p -f /etc/chrony/chrony.conf >/dev/null || exit 1
	dd if=/dev/zero of=/tmp/file bs=65536 count=200 2>/dev/null
	nwrun -t joined cat /tmp/file >/dev/null && sleep 4
	narrows report last | grep -q joined || { cat /tmp/log; exit 1; }
	narrows-host doctor && kill $box && wait $box && rm -f /tmp/token /tmp/err /tmp/log /tmp/file'
in_root "$joined" || fail "a host cannot join"
in_root "! ldd /usr/bin/narrows-host | grep -e sqlite -e libevent" || fail "narrows-host links libraries of the box"
in_root "! ldd /usr/sbin/narrowsd /usr/bin/* 2>/dev/null | grep 'not found'" || fail "a library is missing"
in_root "grep -q ^optional /usr/share/doc/narrows-slurm/examples/plugstack.conf && test -f \$(sed -n 's/^optional //p' /usr/share/doc/narrows-slurm/examples/plugstack.conf)" || fail "Slurm's plug-in is not where its example says"
in_root "narrows-gridftp install && narrows-gridftp check" || fail "GridFTP's network manager does not load"
in_root "test -f /etc/chrony/conf.d/narrows.conf && chronyd -p -f /etc/chrony/chrony.conf >/dev/null" || fail "chrony refuses the fragment"
in_root "echo '# mine' >>/etc/narrows/narrowsd.conf && apt-get install -yq --no-install-recommends /newer/*.deb" >"$work/deb.log" 2>&1 ||
	{ tail -n 20 "$work/deb.log"; fail "the packages cannot be upgraded"; }
in_root "grep -q '# mine' /etc/narrows/narrowsd.conf" || fail "an upgrade overwrites the configuration"
in_root "apt-get remove -yq narrows narrows-host narrows-switch narrows-gridftp narrows-slurm libnarrows0" >"$work/deb.log" 2>&1 || fail "the packages cannot be removed"
in_root "test -f /etc/narrows/narrowsd.conf && ! test -e /usr/sbin/narrowsd && mkdir -p /var/lib/narrows" || fail "a removal leaves programs or takes the configuration"
in_root "dpkg --purge narrows narrows-host narrows-switch narrows-gridftp narrows-slurm libnarrows0 libnarrows-dev" >"$work/deb.log" 2>&1 || { cat "$work/deb.log"; fail "the packages cannot be purged"; }
left=$(in_root "find / -xdev '(' -path /proc -o -path /sys -o -path /dev -o -path /src -o -path /packages -o -path /newer ')' -prune -o -iname '*narrows*' -print")
[ -z "$left" ] || fail "a purge leaves $left"
rm -f "$work/deb.log"
echo "PASS: packages on $suite"
