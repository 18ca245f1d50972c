# SPDX-License-Identifier: BSD-3-Clause
# A minimal root of Debian and commands in it: . tests/root.sh with $suite, skip() and fail() set. The mirror and the
# settings are those of this machine's own apt. What runs in the root has processes and mounts of its own, so nothing is
# left behind, however this ends. FRESH_DIR: where the root stands.
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
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb DEMO_ONCE=1 WERROR="${WERROR:-}" \
		    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c "cd /src && $2"' \
	    in_root "$root" "$1"
}
