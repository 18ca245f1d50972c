#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Narrows for arm64 on another machine: in a minimal root of Debian 12 with the packages of `conf/deps.sh arm64`, so that this
# machine's own packages stay as they are. Packages are made; the programs for the kernel are compiled, and relocated against the
# types (BTF) of Debian's arm64 kernel; unit tests run by emulation (qemu-user), and so does the host half of a transfer whose box is
# this machine's own. What an emulation of programs cannot do is named, with its reason. Not part of `make check`.
# usage: B=build/release tests/arm64.sh [packages|kernel|units|hosts ...]. Exit status 77: this machine cannot.
set -eu
cd "$(dirname "$0")/.."
B=$(cd "${B:-build/release}" && pwd)
suite=bookworm
parts=${*:-packages kernel units hosts}
skip() { printf 'arm64: %s\n' "$*"; exit 77; }
fail() { printf 'FAIL: arm64: %s\n' "$*"; exit 1; }
untested() { printf 'untested: %s\n' "$*"; }
wants() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }

[ "$(id -u)" = 0 ] || skip "only root makes a root"
command -v python3 >/dev/null || skip "no python3 to read the kernel's types"
unshare -m true 2>/dev/null || skip "no namespaces of mounts here"
. tests/root.sh
untested "loading the programs into a kernel of arm64: an emulated program has the kernel of this machine"
untested "nwflow, magnet and nwrun -o: they load programs into the kernel"
untested "programs that are traced (ptrace): the emulation has none"

cross="CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar PKG_CONFIG=aarch64-linux-gnu-pkg-config WERROR=1"
in_root "apt-get update -q && sh conf/deps.sh arm64" || skip "the packages for arm64 cannot be installed"
in_root "sh conf/build.sh tests $cross" || fail "the tree does not compile"
for p in narrowsd narrows blipp nwrun nwrun.so magnet nwflow; do
	in_root "aarch64-linux-gnu-readelf -h build/release/bin/$p" | grep -q AArch64 || fail "$p is not a program of arm64"
done
echo "PASS arm64: compiled"

# --- packages ---
if wants packages; then
	in_root "sh conf/deb.sh arm64" || fail "the packages are not made"
	rm -rf build/deb-arm64
	mkdir -p build
	cp -r "$root/src/build/deb" build/deb-arm64
	for p in narrows narrows-host narrows-switch libnarrows0 libnarrows-dev; do
		ls build/deb-arm64/${p}_*_arm64.deb >/dev/null 2>&1 || fail "no package $p"
	done
	in_root 'rm -rf /packed && for p in build/deb/*.deb; do dpkg-deb -x $p /packed; done'
	other=$(in_root 'for f in /packed/usr/bin/* /packed/usr/sbin/* /packed/usr/lib/narrows/*.so; do
		aarch64-linux-gnu-readelf -h $f | grep -q AArch64 || echo $f; done')
	[ -z "$other" ] || fail "packages have $other of another machine"
	echo "PASS arm64: packages in build/deb-arm64"
fi

# --- programs for the kernel: every field that they read stands where Debian's kernel has it ---
if wants kernel; then
	package=$(in_root "apt-cache search --names-only '^linux-image-[0-9.]*-[0-9]*-cloud-arm64-unsigned\$'" | awk '{ print $1 }' | sort -V | tail -n 1)
	if [ -n "$package" ] && in_root "cd /tmp && apt-get download -q $package >/dev/null && dpkg-deb --fsys-tarfile $package*.deb | tar -x ./boot"; then
		python3 - "$root"/tmp/boot/vmlinuz-* "$root/tmp/kernel.btf" <<'PYTHON'
import struct, sys
image, best, at = open(sys.argv[1], "rb").read(), b"", -1
while (at := image.find(b"\x9f\xeb\x01\x00\x18\0\0\0", at + 1)) >= 0:  # struct btf_header
    head, types, type_bytes, names, name_bytes = struct.unpack_from("<5I", image, at + 4)
    end = at + head + max(types + type_bytes, names + name_bytes)
    best = max(best, image[at:end] if end <= len(image) else b"", key=len)
open(sys.argv[2], "wb").write(best)
PYTHON
		n=0
		for p in host/*/bpf/*.bpf.c; do
			p=${p%.bpf.c}
			in_root "bpftool -d gen min_core_btf /tmp/kernel.btf /tmp/least.btf build/release/bpf/$p.o" >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail "$p.o is not relocated"; }
			n=$((n + $(grep -c 'relo #.*: matching candidate' "$work/log" || :)))
			# kernels from 6.4 on pass bpf_nf_ctx; names with ___ stand for what other kernels have, behind a question for the field
			absent=$(awk '/relo #[0-9]*: </ { at = $0; sub(/: <.*/, "", at); what[at] = $0 }
			    /no matching targets/ { at = $0; sub(/: no matching.*/, "", at); print what[at] }' "$work/log" |
			    grep -v -e 'struct bpf_nf_ctx\.' -e '___before_' || :)
			[ -z "$absent" ] || fail "$package has not what $p.o reads: $absent"
			[ "$p" != host/outside/bpf/outside ] || grep -q 'matching candidate .* pt_regs.orig_x0' "$work/log" || fail "$p.o reads registers of another machine"
		done
		rm -f "$work/log"
		[ "$n" -gt 1000 ] || fail "only $n places of fields are found"
		echo "PASS arm64: $n places of fields in ${package%-unsigned}; loading is untested"
	else
		untested "the types of Debian's arm64 kernel: no package of it can be fetched"
	fi
fi

# --- emulation: programs of arm64 start as if they were this machine's, in name spaces of their own alone ---
emulated() {
	unshare --user --map-root-user --mount --pid --fork --kill-child sh -c '
		mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
		mount -t tmpfs tmpfs "$1/run" && mount -t binfmt_misc none "$1/proc/sys/fs/binfmt_misc" || exit 78
		echo arch_sys_counter >"$1/tmp/clock" # what an arm64 machine says, so that the cycle counter is used
		mount --bind "$1/tmp/clock" "$1/sys/devices/system/clocksource/clocksource0/current_clocksource" || exit 78
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb PATIENCE=8 NARROWS_BOX="$3" sh -c \
		    "cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register && cd /src && $2"' \
	    emulated "$root" "$1" "${2:-}"
}
if ! emulated "build/release/bin/blipp -V" >/dev/null 2>&1; then
	untested "unit tests and hosts by emulation: the kernel gives a user no binfmt_misc of his own (Linux 6.7 does)"
	exit 0
fi

# A test's name, and what the emulation of programs lacks for it.
beyond='test_unit	filters of system calls
test_nwrun	filters of system calls, which a program of this test sets
test_sockuser	sockets of the kind NETLINK_SOCK_DIAG
test_flow_notices	sockets of the kind NETLINK_SOCK_DIAG
test_launch	programs for arm64 in its root, which are those of this machine
test_probe_process	/proc/self/stat: it is QEMU'"'"'s
'
if wants units; then
	in_root "cd build/release && find tests -name 'test_*' -type f -perm -u+x" | sort >"$root/tmp/units"
	cat >"$root/tmp/one" <<'SH'
rc=0
timeout 600 build/release/$1 >/tmp/log.${1##*/} 2>&1 </dev/null || rc=$?
echo "$rc ${1##*/}"
SH
	emulated "xargs -P $(nproc) -n 1 sh /tmp/one </tmp/units" | tee "$work/units" |
	    while read -r rc t; do [ "$rc" = 0 ] && echo "PASS $t" || echo "running again later: $t"; done
	passed=$(grep -c '^0 ' "$work/units" || :)
	[ "$passed" -gt 200 ] || fail "only $passed unit tests pass"
	broken=
	for t in $(sed -n '/^0 /!s/^[0-9]* //p' "$work/units"); do
		why=$(printf '%s' "$beyond" | sed -n "s/^$t	//p")
		[ -z "$why" ] || { echo "SKIP $t: the emulation lacks $why"; continue; }
		if [ "$(emulated "sh /tmp/one $(grep "/$t\$" "$root/tmp/units")")" = "0 $t" ]; then
			echo "PASS $t, second run"
			continue
		fi
		echo "FAIL $t"
		tail -n 12 "$root/tmp/log.$t" | sed 's/^/    /'
		broken="$broken $t"
	done
	rm -f "$work/units"
	[ -z "$broken" ] || fail "unit tests:$broken"
	! grep -q 'does not keep time' "$root/tmp/log.test_cycles" || fail "the cycle counter is not used"
	echo "PASS arm64: $passed unit tests at once; the cycle counter (cntvct_el0) beside the clock"
fi

# --- the host half of a transfer: its box is this machine's ---
if wants hosts; then
	state=$(mktemp -d)
	"$B/bin/narrowsd" -f /dev/null -d -o state-dir="$state" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>"$state/log" &
	box=$!
	trap 'kill $box 2>/dev/null; wait $box 2>/dev/null; rm -rf "$state" "$root"; rmdir "$work" 2>/dev/null || :' EXIT
	for i in $(seq 100); do [ -f "$state/narrowsd.run" ] && break; sleep 0.1; done
	xsp=$(sed -n 's/^xsp //p' "$state/narrowsd.run")
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
	head -c 150000000 /dev/urandom >"$root/tmp/data"
	emulated "build/release/bin/blipp --once" "$xsp" || fail "blipp --once"
	until_stored "SELECT count(*) FROM metadata WHERE event_type LIKE 'ps:tools:blipp:%'" 20 "samples of blipp"
	emulated "rm -rf /tmp/copy && build/release/bin/nwrun --wait -t emulated rsync /tmp/data /tmp/copy && cmp /tmp/data /tmp/copy" "$xsp" || fail "nwrun rsync"
	until_stored "SELECT count(*) FROM session WHERE task_id = 'emulated' AND closed_ns IS NOT NULL" 1 "session of rsync"
	"$B/bin/narrows" -s "$state" report last >"$state/report" 2>&1 || :
	"$B/bin/narrows" -s "$state" report --json last | grep -q '[^0-9]150000000[^0-9]' || { cat "$state/report"; fail "nwrun does not count the bytes"; }
	emulated "build/release/bin/iomodel run -F 4096 -M 4096 -n 1 /tmp/model /tmp/copy" "$xsp" >"$state/out" 2>&1 || { cat "$state/out"; fail "iomodel"; }
	emulated "echo 'DATE=20260504100001.118305 HOST=arm PROG=xfer LVL=Info NL.EVNT=xfer.start' >/tmp/events && build/release/bin/nwlog -1 -f /tmp/events" "$xsp" >"$state/out" 2>&1 ||
	    { cat "$state/out"; fail "nwlog"; }
	sed -n '1,4s/^/    /p' "$state/report"
	echo "PASS arm64: blipp, nwrun, iomodel and nwlog by emulation, with a box on this machine"
fi
