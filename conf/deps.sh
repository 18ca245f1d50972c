#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What Narrows needs from Debian, in lists of which each holds those before, but the demo needs no hooks; installs what is
# missing, and nothing when nothing is. usage: conf/deps.sh host|box|demo|tests|field|slurm|gridftp|fuzz|packages|rig|works|machines|kubernetes|arm64|peers. arm64 adds that architecture to dpkg.
set -eu
. "${0%/*}/progress.sh"

host="gcc make pkg-config libc6-dev libbson-dev libmbedtls-dev uthash-dev libbpf-dev" # builds libnarrows, nwrun, blipp, magnet
box="libsqlite3-dev libevent-dev libzstd-dev liblzma-dev zlib1g-dev libjansson-dev libexpat1-dev libargon2-dev
	libopenblas-serial-dev"                                                                       # builds narrowsd, narrows
send="libcurl4-openssl-dev"                                                                           # builds narrows-send
demo="rsync iproute2 procps"
tests="chrony faketime libsnmp-dev snmpd python3 sqlite3 curl iperf3 e2fsprogs tar gzip xz-utils zstd clang-format chromium musl-tools sshfs openssh-sftp-server"
field="xrootd-server xrootd-client nginx rclone vsftpd slurmctld slurmd slurm-client munge rabbitmq-server openssl" # programs that announce or log their transfers, or start them
gridftp="globus-gridftp-server-progs globus-gass-copy-progs libglobus-xio-net-manager-driver libglobus-xio-udt-driver
	libglobus-xio-dev libglobus-net-manager-dev libglobus-gridftp-server-dev" # builds what GridFTP's programs load, and tests it with them
slurm="libslurm-dev" # builds Slurm's plug-in
fuzz="clang"
packages="build-essential debhelper fakeroot lintian libsnmp-dev libglobus-xio-dev libglobus-net-manager-dev libslurm-dev" # makes and checks Debian packages
rig="nginx openssh-client openssh-server ngtcp2-client ngtcp2-server openssl srt-tools python3-torch postgresql sshfs zstd" # programs whose transfers the rig judges; it skips what is missing
works="$rig wget aria2 axel lftp rclone restic golang-go rustc default-jdk-headless nodejs ruby php-cli borgbackup git socat netcat-openbsd
	mbuffer bubblewrap busybox" # programs of tests/rig/works
machines="qemu-system-x86 busybox-static sysstat" # machines that are emulated, and a second opinion on this one
kubernetes="podman runc catatonit debootstrap" # runs the pods of the manifest
peers="clickhouse-server prometheus influxdb zstd python3" # databases that benchmarks compare with; not every release has all
# compiles and packs for arm64 on another machine, and runs the results; tests/arm64.sh installs this in a root of its own
arm64="make build-essential debhelper fakeroot crossbuild-essential-arm64 qemu-user-static clang llvm bpftool python3-minimal iproute2 procps
	pkg-config:arm64 libsnmp-dev:arm64 rsync:arm64"
# another machine than x86-64 compiles the programs for the kernel itself
[ "$(uname -m)" = x86_64 ] || host="$host clang llvm"

case ${1:-tests} in
host) wanted=$host ;;
box) wanted="$host $box $send" ;;
demo) wanted="$host $box $demo" ;;
tests) wanted="$host $box $send $demo $tests" ;;
field) wanted="$host $box $send $demo $tests $field $slurm" ;;
slurm) wanted="$host $slurm" ;;
gridftp) wanted="$host $box $send $gridftp" ;;
fuzz) wanted="$host $box $send $demo $tests $fuzz" ;;
packages) wanted="$host $box $send $packages" ;;
rig) wanted="$host $box $send $demo $tests $rig" ;;
works) wanted="$host $box $send $demo $tests $works" ;;
machines) wanted="$host $box $send $demo $tests $machines" ;;
kubernetes) wanted="$host $box $send $demo $tests $kubernetes" ;;
peers) # a package that this release lacks is named and left out
	wanted="$host $box $send"
	for p in $peers; do
		if apt-cache show "$p" >/dev/null 2>&1; then wanted="$wanted $p"; else echo "narrows: no package $p here, left out"; fi
	done ;;
arm64) wanted="$arm64 $(printf '%s\n' $host $box $send | sed -n '/-dev$/s/$/:arm64/p')" ;;
*) echo "usage: conf/deps.sh host|box|demo|tests|field|slurm|gridftp|fuzz|packages|rig|works|machines|kubernetes|arm64|peers" >&2; exit 2 ;;
esac

missing=
for p in $wanted; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "narrows: these packages are missing and neither root nor sudo is here to install them:$missing" >&2
		exit 1
	}
	sudo=sudo
fi
echo "narrows: installing$missing"
$sudo true
log=$(mktemp) status=$(mktemp)
trap 'rm -f "$log" "$status"' EXIT

# apt ARGUMENT ...: apt-get in the background; its state goes to $status, its words to $log
apt() {
	$sudo sh -c 'status=$1; shift; exec env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o APT::Status-Fd=3 "$@" 3>"$status"' \
	    apt "$status" "$@" >"$log" 2>&1 &
	progress $! step && return 0
	tail -n 20 "$log" >&2
	echo "narrows: apt-get could not install:$missing" >&2
	exit 1
}

# The newest line of $status in words: "downloading file 3 of 86", "setting up 12 of 86: gcc-12"
step() {
	awk -F: -v m="$count" '
	    /^dlstatus:/ { what = tolower(substr($4, 1, 1)) substr($4, 2); sub(/ \(.*/, "", what) }
	    /^pmstatus:/ && $4 ~ /^Unpacking/ { what = "unpacking " ++u " of " m ": " $2 }
	    /^pmstatus:/ && $4 ~ /^Configuring/ { what = "setting up " ++c " of " m ": " $2 }
	    END { print "narrows: " (what != "" ? what : "reading the lists of packages") }' "$status"
}

count=0
[ "${1:-}" != arm64 ] || $sudo dpkg --add-architecture arm64
apt update
apt install -s --no-install-recommends $missing
count=$(grep -c '^Inst' "$log" || :)
apt install --no-install-recommends -o APT::Keep-Downloaded-Packages=false $missing
echo "narrows: $count packages installed"
