#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manifest's pod by podman, from an image that is imported (nothing is pulled): nwflow and magnet of a root that debootstrap made run with
# the manifest's capabilities alone, and a transfer of a process in a pod's control group is a session with the pod's name.
# usage: make kubernetes. Exit status 77: this machine cannot.
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip "only root makes a root"
for p in podman debootstrap; do command -v $p >/dev/null || skip "$p is not installed"; done
uid=0ab1c2d3-1111-2222-3333-0123456789ab
logs=/var/log/pods/shop_cart_$uid
group=
for g in /sys/fs/cgroup/unified /sys/fs/cgroup/pids /sys/fs/cgroup; do
	[ -n "$group" ] || ! mkdir "$g/pod$uid" 2>/dev/null || group=$g/pod$uid
done
export CONTAINERS_CONF="$tmp/containers.conf"
# limits of processes as this machine allows them
printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n' >"$CONTAINERS_CONF"
runtime=$(command -v runc || :)
pod() { podman --root "$tmp/store" --runroot "$tmp/runroot" --storage-driver vfs ${runtime:+--runtime "$runtime"} "$@"; }
kubernetes_end() {
	status=$?
	pod pod rm -fa >/dev/null 2>&1 || :
	rmdir "$logs" 2>/dev/null || :
	[ -z "$group" ] || rmdir "$group" 2>/dev/null || :
	lib_cleanup
	exit $status
}
trap kubernetes_end EXIT

debootstrap --variant=minbase --include=libbson-1.0-0,libmbedtls14,libmbedx509-1,libmbedcrypto7,libbpf1 bookworm "$tmp/root" >"$tmp/log" 2>&1 ||
	skip "no root of Debian 12: $(tail -n 1 "$tmp/log")"
make -s --no-print-directory install-host DESTDIR="$tmp/root" PREFIX=/usr >/dev/null || fail "install-host"
rm -rf "$tmp/root/var/cache/apt" "$tmp/root/var/lib/apt/lists" "$tmp/root/usr/share/doc"
tar -C "$tmp/root" -cf - . | pod import - localhost/narrows-host >/dev/null 2>"$tmp/err" || fail "import: $(cat "$tmp/err")"

# --- the manifest's pod, with this machine's box ---
start_box -o session-linger=1s
python3 - conf/kubernetes.yaml "$tmp" "$xsp" <<'PY'
import sys
text, tmp, box = open(sys.argv[1]).read(), sys.argv[2], sys.argv[3]
conf, daemons = text.split("\n---\n")
conf = conf.replace("tls://BOX.example.net/5007", box).replace("    tls-dir /etc/narrows/tls\n", "").replace("watch yes\n", "watch yes\n    loopback yes\n    notices none\n")
assert box in conf
template = daemons[daemons.index("  template:\n") + len("  template:\n"):]
pod = "apiVersion: v1\nkind: Pod\n" + "".join(line[4:] for line in template.splitlines(True))
# Kubernetes forbids no system calls by default, and podman does
pod = pod.replace("metadata:\n", "metadata:\n  annotations:\n    seccomp.security.alpha.kubernetes.io/pod: unconfined\n", 1)
open(tmp + "/pod.yaml", "w").write(conf + "\n---\n" + pod)
PY
pod play kube --network host "$tmp/pod.yaml" >"$tmp/played" 2>&1 || fail "play kube: $(cat "$tmp/played")"
runs() { [ "$(pod ps --format '{{.Names}} {{.Status}}' | grep -c '^narrows-[a-z]* Up')" = 2 ]; }
until_true 10 runs || fail "containers: $(pod ps -a) $(pod logs narrows-nwflow 2>&1) $(pod logs narrows-magnet 2>&1)"
capabilities() { awk '/^CapBnd/ { print $2 }' "/proc/$(pod inspect -f '{{.State.Pid}}' "narrows-$1")/status"; }
has_capabilities() { [ "$(capabilities "$1")" = "$2" ]; }
until_true 10 has_capabilities nwflow 000000c0000800e4 || fail "nwflow's capabilities: $(capabilities nwflow)"
until_true 10 has_capabilities magnet 000000c000201000 || fail "magnet's capabilities: $(capabilities magnet)"

# --- a transfer of a process in the group of a pod ---
mkdir -p "$logs"
cat >"$tmp/mover.py" <<'PY'
import os, socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    if sys.argv[1]:
        open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
    out = socket.create_connection(server.getsockname())
    for _ in range(4000):
        out.sendall(b"x" * 65536)
        time.sleep(0.001)
    os._exit(0)
c, _ = server.accept()
while c.recv(1 << 16):
    pass
os.wait()
PY
# podman may give the pod processes of its own whatever hostPID says: the transfer is one of them
agent=$(pod inspect -f '{{.State.Pid}}' narrows-nwflow)
for n in pid net; do [ "$(readlink /proc/self/ns/$n)" = "$(readlink "/proc/$agent/ns/$n")" ] || echo "podman does not share this machine's $n namespace"; done
nsenter -t "$agent" --pid --net python3 "$tmp/mover.py" "$group" || fail "the transfer"
session() { nw sessions --json | grep -q '"label": *"pod shop/cart"'; }
[ -z "$group" ] || until_true 20 session || fail "no session of the pod: $(grep Seccomp: /proc/"$(pod inspect -f '{{.State.Pid}}' narrows-nwflow)"/status) $(nw sessions --json) $(pod logs narrows-nwflow 2>&1 | tail -n 12)"
points() { pod exec narrows-magnet /usr/bin/magnet status -S /run/narrows/magnet.sock >"$tmp/stat" 2>&1; }
until_true 20 points || fail "magnet: $(cat "$tmp/stat") $(pod logs narrows-magnet 2>&1)"
[ -n "$group" ] || echo "untested: the pod's name: this machine allows no control group"
echo "image: $(pod image inspect -f '{{.Size}}' localhost/narrows-host) bytes"
