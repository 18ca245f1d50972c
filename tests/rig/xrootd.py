#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's XRootD between two network name spaces, with one planted limit at a time: its disk, the link, the client's window, the
server's processor. Copies out and in by root and HTTP, and third-party copies; nwflow watches the first server alone, and both
servers announce. Prints a line a transfer: the planted stage, the verdict's, its confidence, and the bytes against the file's.

Wants root, control groups of version 1, xrootd-server and xrootd-client. usage: B=build/release tests/rig/xrootd.py [--seconds S]
[--only REGEX]. Exit status 0: at least 80 % speak, nothing is wrong at high confidence, all bytes are within 0.1 %."""
import argparse, json, os, re, shutil, signal, subprocess, sys, tempfile, time

MIB = 1 << 20
RATE = 20 * MIB  # bytes a second of every planted limit
A, B = "10.99.9.1", "10.99.9.2"
# of a planted limit and the direction at the first server: stages that are right
RIGHT = {("disk", "out"): {"disk.read"}, ("disk", "in"): {"disk.write"}, ("link", "out"): {"net.write", "network"},
         ("link", "in"): {"net.read", "network"}, ("window", "out"): {"net.write", "network"},
         ("busy", "out"): {"host", "sender.host"}, ("busy", "in"): {"host", "receiver.host"}}
CASES = [(limit, protocol, way) for limit in ("disk", "link", "window", "busy")
         for protocol, way in (("root", "out"), ("http", "out"), ("root", "in"), ("http", "in"), ("tpc", "out"))
         if (limit, way) in RIGHT and not (protocol == "tpc" and limit == "window")]


def run(*words, **k):
    return subprocess.run(words, check=True, capture_output=True, text=True, **k).stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


class World:
    def __init__(self, build, seconds):
        self.build, self.bin, self.size, self.children, self.undo = build, os.path.abspath(build + "/bin"), int(seconds * RATE), [], []
        self.dir = tempfile.mkdtemp()
        os.chmod(self.dir, 0o711)
        self.undo.append(lambda: shutil.rmtree(self.dir, ignore_errors=True))

    def close(self):
        for p in reversed(self.children):
            p.terminate()
        for p in self.children:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        for u in reversed(self.undo):
            try:
                u()
            except (OSError, subprocess.CalledProcessError) as e:
                print(e, file=sys.stderr)

    def start(self, ns, *words, **k):
        # not "ip netns exec", which hides the control groups, and the quota with them
        p = subprocess.Popen(["nsenter", "--net=/run/netns/" + ns, *words], stdout=subprocess.DEVNULL, **k)
        self.children.append(p)
        return p

    def networks(self):
        self.a, self.b = "nwxa%d" % os.getpid(), "nwxb%d" % os.getpid()
        for ns in (self.a, self.b):
            run("ip", "netns", "add", ns)
            self.undo.append(lambda ns=ns: run("ip", "netns", "del", ns))
        self.parameters = self.dir + "/link"
        write(self.parameters, "0 0 0 4000000\n" * 2)
        self.link = subprocess.Popen([self.build + "/tests/rig/link", self.a, "v", self.b, "v", self.parameters], stdout=subprocess.DEVNULL)
        self.children.append(self.link)
        time.sleep(1)
        for ns, address in ((self.a, A), (self.b, B)):
            run("ip", "-n", ns, "link", "set", "v", "txqueuelen", "10000")
            run("ip", "-n", ns, "addr", "add", address + "/24", "dev", "v")
            for device in ("lo", "v"):
                run("ip", "-n", ns, "link", "set", device, "up")

    def disk(self):
        image = self.dir + "/image"
        with open(image, "wb") as f:
            f.truncate(4 * self.size + 256 * MIB)
        run("mkfs.ext4", "-q", "-F", image)
        self.loop = run("losetup", "-f", "--show", image).strip()
        self.undo.append(lambda: run("losetup", "-d", self.loop))
        number = os.stat(self.loop).st_rdev
        self.device = "%d:%d" % (os.major(number), os.minor(number))
        self.mounted = self.dir + "/a"
        os.mkdir(self.mounted)
        run("mount", self.loop, self.mounted)
        self.undo.append(lambda: run("umount", self.mounted))
        self.undo.append(lambda: self.throttle(0))

    def throttle(self, rate):
        for way in ("read", "write"):
            write("/sys/fs/cgroup/blkio/blkio.throttle.%s_bps_device" % way, "%s %d" % (self.device, rate))

    def busy(self, group, quota):
        """Gives the first server a share of a processor; None takes the limit back."""
        write(group + "/cpu.cfs_quota_us", "-1")
        if quota is not None:  # the kernel wants a millisecond of each period at least
            period_us = max(100000, int(1000 / quota))
            write(group + "/cpu.cfs_period_us", str(period_us))
            write(group + "/cpu.cfs_quota_us", str(int(quota * period_us + 0.5)))

    def box(self):
        state = self.dir + "/state"
        os.mkdir(state)
        self.start(self.a, self.bin + "/narrowsd", "-f", "/dev/null", "-d", "-o", "state-dir=" + state, "-o", "listen-xsp=127.0.0.1/0",
                   "-o", "listen-http=127.0.0.1/0", "-o", "session-linger=2s", "-o", "listen-announcements=%s/10514" % A,
                   "-o", "announce-from=10.99.9.0/24", stderr=open(self.dir + "/box.log", "w"))
        until = time.time() + 20
        while not os.path.exists(state + "/narrowsd.run"):
            if time.time() > until:
                sys.exit(open(self.dir + "/box.log").read())
            time.sleep(0.1)
        self.state = state
        xsp = [line.split()[1] for line in open(state + "/narrowsd.run") if line.startswith("xsp ")][0]
        write(self.dir + "/flow.conf", "bytes 2 MiB\nafter 2 s\nquiet 2 s\nlook 50 ms\nwatch yes\ndeny program narrowsd\n")
        os.makedirs(self.dir + "/host/narrows")
        write(self.dir + "/host/narrows/host.conf", "box %s\nhost first\n" % xsp)
        self.start(self.a, self.bin + "/nwflow", "-d", "-f", self.dir + "/flow.conf", stderr=open(self.dir + "/flow.log", "w"),
                   env={**os.environ, "XDG_CONFIG_HOME": self.dir + "/host"})

    def servers(self):
        lines = run(self.bin + "/narrows", "-s", self.state, "attach", "xrootd", "--box", A)
        self.group = "/sys/fs/cgroup/cpu/nwxrootd%d" % os.getpid()
        os.mkdir(self.group)
        self.undo.append(lambda: os.rmdir(self.group))
        os.mkdir(self.dir + "/b")
        for ns, name in ((self.a, "a"), (self.b, "b")):
            admin = self.dir + "/admin-" + name
            os.mkdir(admin)
            os.chmod(admin, 0o777)
            os.chmod(self.dir + "/" + name, 0o777)
            conf = self.dir + "/%s.conf" % name
            write(conf, "\n".join(["xrd.port 1094", "xrd.network nodnr", "all.export /", "all.adminpath " + admin, "all.pidpath " + admin,
                                   "oss.localroot %s/%s" % (self.dir, name), "xrd.protocol XrdHttp:8080 libXrdHttp.so",
                                   "ofs.tpc pgm /usr/bin/xrdcp --server", lines]))
            p = self.start(ns, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "xrootd", "-c", conf, "-n", name,
                           "-l", admin + "/log", stderr=subprocess.DEVNULL)
            if name == "a":
                write(self.group + "/cgroup.procs", str(p.pid))
        write(self.dir + "/source", "")
        with open(self.dir + "/source", "wb") as f:
            for _ in range(self.size // MIB + 1):
                f.write(os.urandom(MIB))
            f.truncate(self.size)
        shutil.copy(self.dir + "/source", self.mounted + "/big")
        os.chmod(self.mounted + "/big", 0o666)
        run("sync")
        time.sleep(2)

    def plant(self, limit, protocol, way):
        rate, delay_ms = {"link": (8e-6 * RATE, 0), "window": (0, 10)}.get(limit, (0, 0))
        write(self.parameters, "%g %g 0 %d\n" % (rate, delay_ms, MIB) * 2)
        self.link.send_signal(signal.SIGHUP)
        run("ip", "netns", "exec", self.b, "sysctl", "-qw", "net.ipv4.tcp_rmem=4096 131072 6291456")
        self.throttle(0)
        self.busy(self.group, None)
        # writes that wait for their disk: a copy of this size would fit into memory
        run("mount", "-o", "remount,%s" % ("sync" if (limit, way) == ("disk", "in") else "async"), self.mounted)
        run("sync")
        if limit == "disk":
            write("/proc/sys/vm/drop_caches", "1")
            self.throttle(RATE)
        elif way == "out":  # the disk has no part: the file is in memory
            with open(self.mounted + "/big", "rb") as f:
                while f.read(4 * MIB):
                    pass
        if limit == "window":  # the kernel keeps half of the memory for itself
            run("ip", "netns", "exec", self.b, "sysctl", "-qw", "net.ipv4.tcp_rmem=4096 %d %d" % (RATE // 50, RATE // 50))
        if limit == "busy":
            self.busy(self.group, {("http", "out"): 0.001, ("http", "in"): 0.01}.get((protocol, way), 0.04))  # sendfile costs little

    def copy(self, protocol, way, n):
        tag, source, to = "?scitag.flow=137", self.dir + "/source", self.dir + "/got"
        root, http = "root://%s//" % A, "http://%s:8080/" % A
        words = {("root", "out"): ["xrdcp", "-f", "-s", root + "big" + tag, to],
                 ("root", "in"): ["xrdcp", "-f", "-s", source, root + "up%d" % n + tag],
                 ("http", "out"): ["curl", "-sfo", to, http + "big" + tag],
                 ("http", "in"): ["curl", "-sfT", source, "-o", "/dev/null", http + "up%d" % n + tag],
                 ("tpc", "out"): ["xrdcp", "-f", "-s", "--tpc", "only", root + "big" + tag, "root://%s//copy%d" % (B, n)]}[protocol, way]
        begin = time.time()
        p = subprocess.run(["ip", "netns", "exec", self.b, *words], capture_output=True, text=True, timeout=300)
        if p.returncode != 0:
            print("%s: %s" % (" ".join(words), p.stderr.strip()), file=sys.stderr)
        for f in (to, self.mounted + "/up%d" % n, self.dir + "/b/copy%d" % n):
            if os.path.exists(f):
                os.unlink(f)
        return begin, p.returncode == 0

    def nw(self, *words):
        return run(self.bin + "/narrows", "-s", self.state, *words)

    def verdict(self, seen):
        """The document of the measured session that began since, when it is judged; None without one."""
        until = time.time() + 25
        while time.time() < until:
            time.sleep(1)
            for line in self.nw("sessions", "--json").splitlines():
                r = json.loads(line)
                if r["id"] not in seen and not r["announced"] and r["state"] == "closed" and r["analysed"]:
                    time.sleep(4)  # XRootD flushes its account every 2 s, and a late one is judged again
                    d = json.loads(self.nw("report", str(r["id"]), "--json"))
                    if (d["session"]["bytes"] or 0) > self.size / 2:
                        return d
        return None

    def announced(self, seen):
        """Bytes of the transfer that XRootD announced: measured bytes lack those before nwflow came. Files, else connections."""
        files, flows = 0, 0
        for i in self.ids() - seen:
            for a in json.loads(self.nw("report", str(i), "--json"))["session"]["announced"] or []:
                moved = max(a["bytes_in"] or 0, a["bytes_out"] or 0)
                files = max(files, moved if a["by"] == "xrootd" else 0)
                flows = max(flows, moved if a["by"] == "firefly" else 0)
        return files if files >= 0.99 * flows else flows

    def ids(self):
        return {json.loads(line)["id"] for line in self.nw("sessions", "--json").splitlines()}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=8)
    options.add_argument("--only", default="")
    o = options.parse_args()
    w = World(os.environ.get("B", "build/release"), o.seconds)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    n = spoke = right = wrong_sure = off = 0
    try:
        w.networks()
        w.disk()
        w.box()
        w.servers()
        for i, (limit, protocol, way) in enumerate(CASES):
            if not re.search(o.only, "%s-%s-%s" % (limit, protocol, way)):
                continue
            n += 1
            w.plant(limit, protocol, way)
            seen = w.ids()
            begin, good = w.copy(protocol, way, i)
            took = time.time() - begin
            d = w.verdict(seen) if good else None
            v = d["verdict"] if d else {}
            stage, s = v.get("stage"), d["session"] if d else {}
            is_right = stage in RIGHT[limit, way]
            share = w.announced(seen) / w.size
            spoke += stage is not None
            right += is_right
            wrong_sure += stage is not None and not is_right and v["confidence"] == "high"
            off += not abs(share - 1) < 0.001
            print("%-6s %-4s %-3s %5.1f s  %-14s %-6s %s  bytes %.5f  by %s" % (
                limit, protocol, way, took, stage, v.get("confidence"), "right" if is_right else "silent" if stage is None else "WRONG",
                share, ",".join(sorted({a["by"] for a in s.get("announced") or []}))), flush=True)
            if not is_right:
                print("       " + v.get("sentence", "no session"), flush=True)
    finally:
        w.close()
    print("%d transfers: %d speak, %d right, %d wrong and sure, %d with bytes off" % (n, spoke, right, wrong_sure, off))
    return not (n > 0 and spoke >= 0.8 * n and wrong_sure == 0 and off == 0)


if __name__ == "__main__":
    sys.exit(main())
