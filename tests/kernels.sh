#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Other kernels: which way each point of magnet is attached by Debian's stock kernels, under emulation (QEMU without KVM), in
# both modes of lockdown, and that 97 datagrams are 97 events at every exact point there. The tables of chosen points are
# compared with tests/kernels/. Not part of `make check`: a kernel takes about half a minute.
#
# usage: tests/kernels.sh [-w] [VMLINUZ ...]    -w writes the tables; without a kernel the packages of Debian's 6.1 and
#        6.12 cloud kernels are fetched with apt-get download
set -eu
B=${B:-build/release}
write=
[ "${1:-}" = -w ] && write=yes && shift
for p in qemu-system-x86_64 busybox cpio gzip dpkg-deb; do
	command -v $p >/dev/null || { echo "other kernels: $p is missing"; exit 77; }
done
top=$(pwd) tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if [ $# = 0 ]; then
	cd "$tmp"
	for version in 6.1.0 6.12; do
		package=$(apt-cache search --names-only "^linux-image-$version[-.0-9+a-z]*-cloud-amd64\$" | awk '{ print $1 }' | grep '[0-9]\.[0-9]*[.-]' |
			sort -V | tail -n 1)
		[ -n "$package" ] && apt-get download "$package" >/dev/null 2>&1 || { echo "other kernels: no package of $version"; exit 77; }
		mkdir -p "k$version"
		dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -C "k$version" ./boot
	done
	cd "$top"
	set -- "$tmp"/k*/boot/vmlinuz-*
fi

# The guest: busybox, magnet with its libraries, and a program that sends datagrams to itself.
root=$tmp/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/tmp" "$root/dev"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$B/bin/magnet" "$root/bin/magnet"
cat >"$tmp/datagrams.c" <<'C'
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(int argc, char **argv) {
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(5000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_DGRAM, 0), r = socket(AF_INET, SOCK_DGRAM, 0), n = atoi(argv[argc - 1]);
	char b[100] = { 0 };
	if (bind(r, (void *)&a, sizeof(a)) || connect(s, (void *)&a, sizeof(a))) return 1;
	while (n-- > 0) if (send(s, b, sizeof(b), 0) != 100 || recv(r, b, sizeof(b), 0) != 100) return 1;
	return 0;
}
C
${CC:-cc} -O1 -static -o "$root/bin/datagrams" "$tmp/datagrams.c"
ldd "$root/bin/magnet" | awk '$3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | while read -r l; do
	mkdir -p "$root$(dirname "$l")"
	cp -L "$l" "$root$l"
done
cat >"$root/init" <<'SH'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev 2>/dev/null
mount -t securityfs none /sys/kernel/security 2>/dev/null; mount -t tmpfs none /tmp
ip link set lo up
echo "=== lockdown $(cat /sys/kernel/security/lockdown 2>/dev/null)"
echo "=== points"
magnet points -t 0.1
echo "=== exact"
magnet record -p socket,transport,ip,access -f port=5000 -T 50 -o /tmp/r 2>/tmp/w &
i=0; while [ ! -s /tmp/r ] && [ $i -lt 900 ]; do sleep 0.1; i=$((i + 1)); done
datagrams 97; sleep 1; kill $!; wait $! 2>/dev/null
cat /tmp/w
magnet dump -F csv /tmp/r | awk -F, 'NR > 1 { n[$2]++ } END { for (p in n) print p, n[p] }' | sort
echo "=== waits"
magnet stat -l -i 4 -n 1 -c >/tmp/s 2>/tmp/w &
i=0; while [ ! -s /tmp/s ] && [ $i -lt 900 ]; do sleep 0.1; i=$((i + 1)); done
datagrams 97; wait $! 2>/dev/null; cat /tmp/w
awk -F, 'NR > 1 { n[$2] = 1 } END { for (p in n) print p }' /tmp/s | sort
echo "=== end"
poweroff -f
SH
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$tmp/initrd"

# The table without what differs from run to run: hits.
table() { sed -n '/^=== points/,/^=== exact/p' "$1" | grep -v '^===' | tr -d '\r' | sed 's/ *[0-9]*$//'; }

status=0
for kernel in "$@"; do
	name=$(basename "$kernel" | sed 's/vmlinuz-\([0-9]*\.[0-9]*\).*/\1/')
	for mode in none integrity confidentiality; do
		log=$tmp/$name-$mode.log
		timeout 300 qemu-system-x86_64 -accel tcg -cpu max -m 512 -smp 2 -nographic -no-reboot -kernel "$kernel" -initrd "$tmp/initrd" \
			-append "console=ttyS0 quiet panic=-1 lockdown=$mode" </dev/null >"$log" 2>&1 || :
		if ! grep -q '^=== end' "$log"; then
			echo "$name lockdown=$mode: the guest does not come to its end:"
			tail -n 5 "$log"
			status=1
			continue
		fi
		golden=tests/kernels/points-$name-$mode.txt
		if [ -n "$write" ]; then
			mkdir -p tests/kernels
			table "$log" >"$golden"
		elif ! table "$log" | diff "$golden" -; then
			echo "$name lockdown=$mode: not the table of $golden"
			status=1
		fi
		# every exact point that a datagram passes counts 97
		sed -n '/^=== exact/,/^=== waits/p' "$log" | tr -d '\r' | awk '$2 ~ /^[0-9]+$/ { print $1, $2 }' >"$tmp/counts"
		for p in socket.tx socket.rx udp.tx ip.tx ip.rx access.tx driver.tx; do
			table "$log" | grep -q " $p .*exact" || continue
			grep -q "^$p 97\$" "$tmp/counts" || { echo "$name lockdown=$mode: $p: $(grep "^$p " "$tmp/counts" || echo none) of 97"; status=1; }
		done
		sed -n '/^=== waits/,/^=== end/p' "$log" | tr -d '\r' >"$tmp/waits"
		for w in receive read run_queue; do
			grep -q "^$w\$" "$tmp/waits" || [ "$name-$mode" = 6.1-confidentiality ] || { echo "$name lockdown=$mode: no wait $w"; status=1; }
		done
		echo "$name lockdown=$mode: $(table "$log" | grep -c exact) exact points, waits: $(sed -n '/^=== waits/,/^=== end/p' "$log" | tr -d '\r' | grep -v '^===' | tr '\n' ' ')"
	done
done
exit $status
