#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Both lines of the README in a fresh minimal root of Debian. usage: tests/fresh.sh [bookworm|trixie [TARGET ...]]
# A target of make that has no line in the README is made when the packages of the tests are installed.
# Root and debootstrap or mmdebstrap; the mirror and the settings are those of this machine's own apt. What runs in the root
# has processes and mounts of its own, so nothing is left behind, however this ends. FRESH_DIR: where the root stands.
# FRESH_KEEP: a directory that is not there yet, which becomes what was built, because compiling takes longest.
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
. tests/root.sh
installed_kib() { in_root "dpkg-query -W -f '\${Installed-Size}\n'" | awk '{ n += $1 } END { print n }'; }

keep() { [ -z "${FRESH_KEEP:-}" ] || [ -e "$FRESH_KEEP" ] || { mkdir -p "${FRESH_KEEP%/*}" && mv "$root/src/build/release" "$FRESH_KEEP"; }; }

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
for target in demo check; do grep -q "; make $target\$" README.md || fail "README.md has no line for make $target"; done
for target in $targets; do
	line=$(grep "; make $target\$" README.md) ||
	    line="apt-get update -q && apt-get install -yq make && sh conf/deps.sh tests && sh conf/build.sh tests && make $target"
	before=$(installed_kib)
	echo "fresh: $line"
	{ in_root "$line" 2>&1 </dev/null && status=0 || status=$?; echo $status >"$work/status"; } | watched "$work/silence"
	status=$(cat "$work/status") silence=$(cat "$work/silence")
	rm -f "$work/status" "$work/silence"
	added=$(($(installed_kib) - before))
	echo "fresh: make $target on $suite: exit status $status, $((added / 1000)) MB of packages, longest silence ${silence#* }"
	[ "$status" = 0 ] || { keep; fail "make $target ends with status $status"; }
	[ "$target" = demo ] || continue
	[ "$added" -lt "$demo_kib_max" ] || fail "make demo installs $added KiB"
	[ ! -e "$root/src/build/demo" ] || fail "make demo leaves build/demo"
	busy=$(awk -v n="$(nproc)" '{ print int($1 / n) }' /proc/loadavg) # a loaded machine is slower by as much
	[ "${silence%% *}" -le $((silence_max * (1 + busy))) ] || fail "make demo is silent for ${silence#* }"
done
keep
echo "PASS: $targets on $suite"
