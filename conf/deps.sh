#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The one list of what Narrows needs from Debian; installs what is missing, and nothing when nothing is.
set -eu

build="gcc make pkg-config libc6-dev
	libsqlite3-dev libevent-dev libbson-dev libmbedtls-dev libzstd-dev liblzma-dev zlib1g-dev libjansson-dev uthash-dev
	liblapacke-dev libopenblas-serial-dev libbpf-dev"
run="chrony rsync iproute2 procps"
test="clang clang-format python3 sqlite3 curl iperf3 tar chromium"

missing=
for p in $build $run $test; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

echo "narrows: installing$missing"
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "narrows: these packages are missing and neither root nor sudo is here to install them:$missing" >&2
		exit 1
	}
	sudo=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ $sudo apt-get update &&
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	echo "narrows: apt-get could not install:$missing" >&2
	exit 1
}
