#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Both lines of the README in a fresh minimal root of Debian. usage: tests/fresh.sh [bookworm|trixie [demo|check ...]]
# Root and debootstrap or mmdebstrap; the mirror and the settings are those of this machine's own apt. What runs in the root
# has processes and mounts of its own, so nothing is left behind, however this ends. FRESH_DIR: where the root stands.
# Exit status 77: this machine cannot.
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
[ $# -eq 0 ] || shift
targets=${*:-demo check}
demo_kib_max=$((400 * 1000)) # of packages that the demo may install
silence_max=2                # seconds without a line of output while the demo prepares

skip() { printf 'fresh: %s\n' "$*"; exit 77; }
fail() { printf 'FAIL: %s: %s\n' "$suite" "$*"; exit 1; }

[ "$(id -u)" = 0 ] || skip "only root makes a root"
command -v python3 >/dev/null || skip "no python3 to watch the clock"
command -v unshare >/dev/null && unshare -m true 2>/dev/null || skip "no namespaces of mounts here"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Identifier: Packages' 2>/dev/null | awk '$1 == "Debian" { print $2; exit }')
[ -n "$mirror" ] || skip "this machine's apt names no Debian mirror"

work=${FRESH_DIR:-$(mktemp -d)}
root=$work/$suite
mkdir -p "$work"
trap 'rm -rf "$root"; rmdir "$work" 2>/dev/null || :' EXIT
trap 'exit 1' INT TERM
keys=$(ls /usr/share/keyrings/debian-archive-keyring.gpg 2>/dev/null || :)

# --- the root ---
rm -rf "$root"
echo "fresh: a minimal root of $suite"
if command -v debootstrap >/dev/null; then
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/$suite.log" 2>&1
elif command -v mmdebstrap >/dev/null; then
	mmdebstrap --variant=minbase ${keys:+--keyring="$keys"} "$suite" "$root" "$mirror" >"$work/$suite.log" 2>&1
else
	skip "neither debootstrap nor mmdebstrap"
fi || {
	tail -n 5 "$work/$suite.log"
	skip "the mirror gives no root of $suite"
}
rm -f "$work/$suite.log"
echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
apt-config dump | grep -i -e '^Acquire::\(Check\|https\{0,1\}::\|ftp::\|Retries\|AllowInsecure\)' >"$root/etc/apt/apt.conf.d/80host" || :
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/src"
git ls-files -z | tar -c --null -T - | tar -x -C "$root/src"

# in_root COMMAND: in namespaces of its own, with what a booted machine has mounted
in_root() {
	unshare --mount --pid --fork --kill-child sh -c '
		mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
		mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/run" && mkdir -p "$1/run/netns" || exit 1
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb DEMO_ONCE=1 \
		    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c "cd /src && $2"' \
	    in_root "$root" "$1"
}
installed_kib() { in_root "dpkg-query -W -f '\${Installed-Size}\n'" | awk '{ n += $1 } END { print n }'; }

# watched FILE: passes lines on, each with its second; the longest silence goes to FILE
watched() {
	python3 -u -c '
import sys, time
begin = last = time.monotonic(); longest = (0, "")
for line in sys.stdin:
    now = time.monotonic(); longest = max(longest, (now - last, line.strip())); last = now
    print("%7.1f %s" % (now - begin, line), end="")
open(sys.argv[1], "w").write("%d %.1f s, ended by \"%s\"\n" % ((longest[0],) + longest))' "$1"
}

# --- the README's lines ---
for target in $targets; do
	line=$(grep "; make $target\$" README.md) || fail "README.md has no line for make $target"
	before=$(installed_kib)
	echo "fresh: $line"
	{ in_root "$line" 2>&1 </dev/null && status=0 || status=$?; echo $status >"$work/status"; } | watched "$work/silence"
	status=$(cat "$work/status") silence=$(cat "$work/silence")
	rm -f "$work/status" "$work/silence"
	added=$(($(installed_kib) - before))
	echo "fresh: make $target on $suite: exit status $status, $((added / 1000)) MB of packages, longest silence ${silence#* }"
	[ "$status" = 0 ] || fail "make $target ends with status $status"
	[ "$target" = demo ] || continue
	[ "$added" -lt "$demo_kib_max" ] || fail "make demo installs $added KiB"
	[ ! -e "$root/src/build/demo" ] || fail "make demo leaves build/demo"
	busy=$(awk -v n="$(nproc)" '{ print int($1 / n) }' /proc/loadavg) # a loaded machine is slower by as much
	[ "${silence%% *}" -le $((silence_max * (1 + busy))) ] || fail "make demo is silent for ${silence#* }"
done
echo "PASS: $targets on $suite"
