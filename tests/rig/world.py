# SPDX-License-Identifier: BSD-3-Clause
"""Hosts a and b, a third host d behind b, and a box (c) on one machine: namespaces, a link, two disks, control groups; every limit can be set and lifted.

Everything has a name with the rig's process id. A new rig first removes what rigs that were killed have left.
"""
import glob, json, os, re, shutil, signal, subprocess, time

BOX = "10.231.{}.1"                     # the box on its cables to hosts a (1), b (2) and d (3)
ADDRESS = {"a": "10.232.0.1", "b": "10.232.0.2", "d": "10.234.0.2"}
RELAY = "10.234.0.1"                    # host b on its cable to host d
NO_LIMIT = dict(rate=0, delay=0, loss=0, queue=1 << 20)
MB = 1000000


class Failed(Exception):
    pass


def run(*argv, check=True, timeout=900, **kw):
    argv = [str(a) for a in argv]
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **kw)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(argv)}: no end within {timeout} s") from None
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, argv))}: {done.stdout.strip()}")
    return done.stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def read(path):
    with open(path) as f:
        return f.read()


def stop_kindly():
    """SIGTERM and SIGHUP end the program as Ctrl-C does: what stands in "finally" is done."""
    def stop(number, _):
        raise KeyboardInterrupt(signal.Signals(number).name)
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)


def until(seconds, what, ready):
    end = time.monotonic() + seconds
    while not (got := ready()):
        if time.monotonic() > end:
            raise Failed(f"{what} did not happen within {seconds} s")
        time.sleep(0.05)
    return got


# --- what a rig that was killed leaves behind ---

def kill_inside(path):
    for _ in range(50):
        try:
            pids = [int(p) for p in read(f"{path}/cgroup.procs").split() if int(p) != os.getpid()]
        except OSError:
            return
        if not pids:
            return
        for p in pids:
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def sweep(tag):
    """Removes the processes, namespaces, mounts, disks and control groups of one rig."""
    groups = [f"/sys/fs/cgroup/{what}/{tag}" for what in ("cpu", "pids")]
    for path in [*glob.glob(f"{groups[0]}/*/"), *groups]:
        if os.path.isdir(path):
            kill_inside(path)
            for pid in read(f"{path}/cgroup.procs").split():      # the rig itself
                write(f"/sys/fs/cgroup/{path.split('/')[4]}/cgroup.procs", pid)
            try:
                os.rmdir(path)
            except OSError:  # the rig lives in another namespace of processes
                return
    for ns in "abcd":
        run("ip", "netns", "del", tag + ns, check=False)
    for line in read("/proc/mounts").splitlines():
        device, where = line.split()[:2]
        if f"/{tag}/" in where:
            unthrottle(device)
            run("umount", "-l", where, check=False)
    disks_free(f"/tmp/{tag}.disks")
    shutil.rmtree(f"/tmp/{tag}", ignore_errors=True)
    shutil.rmtree(f"/dev/shm/{tag}", ignore_errors=True)


def sweep_dead():
    tags = {os.path.basename(p.rstrip("/")).removesuffix(".disks") for p in glob.glob("/tmp/nwrig*") + glob.glob("/sys/fs/cgroup/cpu/nwrig*/")}
    tags |= {p[11:-1] for p in glob.glob("/run/netns/nwrig*")}
    for tag in tags:
        if re.fullmatch(r"nwrig\d+", tag) and not os.path.exists(f"/proc/{tag[5:]}"):
            sweep(tag)


# --- disks ---

def device_free(device):
    """False: the device is still in use, by a mount namespace that somebody copied while it was mounted, for example."""
    if not device.startswith("/dev/zram"):
        run("losetup", "-d", device, check=False)
        return True
    for _ in range(20):
        try:
            write(f"/sys/block/{device[5:]}/reset", 1)
            write("/sys/class/zram-control/hot_remove", device[9:])
            return True
        except FileNotFoundError:
            return True
        except OSError:
            time.sleep(0.1)
    return False


def disks_free(path):
    """Frees the devices of a list; the list stays for the next rig as long as one of them is in use."""
    if os.path.exists(path) and all([device_free(d) for d in read(path).split()]):
        os.remove(path)


def unthrottle(device):
    number = os.stat(device).st_rdev
    for what in "read_bps", "write_bps", "read_iops", "write_iops":
        write(f"/sys/fs/cgroup/blkio/blkio.throttle.{what}_device", f"{os.major(number)}:{os.minor(number)} 0")


class Disk:
    """A file system on a device of its own. The throttle is that of the root control group, so the kernel's writeback
    obeys it, too; at most 4 MiB may be dirty."""

    def __init__(self, tag, name, bytes_):
        self.path = f"/tmp/{tag}/{name}"
        os.makedirs(self.path)
        if os.path.exists("/sys/class/zram-control/hot_add"):
            number = read("/sys/class/zram-control/hot_add").strip()
            write(f"/sys/block/zram{number}/disksize", bytes_)
            self.device = f"/dev/zram{number}"
            if not os.path.exists(self.device):
                major, minor = map(int, read(f"/sys/block/zram{number}/dev").split(":"))
                os.mknod(self.device, 0o600 | 0o60000, os.makedev(major, minor))
        else:
            os.makedirs(f"/dev/shm/{tag}", exist_ok=True)
            run("truncate", "-s", bytes_, f"/dev/shm/{tag}/{name}")
            self.device = run("losetup", "-f", "--show", f"/dev/shm/{tag}/{name}").strip()
        with open(f"/tmp/{tag}.disks", "a") as f:
            f.write(f"{self.device}\n")
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", self.device)
        run("mount", self.device, self.path)
        number = os.stat(self.device).st_rdev
        self.number = f"{os.major(number)}:{os.minor(number)}"
        for what, value in ("strict_limit", 1), ("max_bytes", 4 << 20):
            if os.path.exists(f"/sys/class/bdi/{self.number}/{what}"):
                write(f"/sys/class/bdi/{self.number}/{what}", value)

    def throttle(self, **limits):
        """read_bps, write_bps, read_iops: 0 lifts a limit."""
        for what, value in limits.items():
            write(f"/sys/fs/cgroup/blkio/blkio.throttle.{what}_device", f"{self.number} {int(value)}")

    def lift(self):
        self.throttle(read_bps=0, write_bps=0, read_iops=0)

    def settle(self):
        """Nothing is dirty, nothing is cached: the next transfer meets the disk."""
        run("sync", "-f", self.path)
        for top, _, names in os.walk(self.path):
            for name in names:
                fd = os.open(f"{top}/{name}", os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)


# --- the world ---

class World:
    link_options = ()

    def __init__(self, bin_, rig_bin, out, disk_bytes=900 << 20, shielded=True, replays=False):
        """shielded: other work on the machine hardly disturbs the rig; else its programs and the kernel's threads share
        the processors with all others, and only the link comes first. replays: hosts repeat stages that the box orders."""
        sweep_dead()
        self.shielded, self.replays, self.disk_mib = shielded, replays, disk_bytes >> 20
        self.contradictions = 0    # of the sentences of all documents, by narrows report --check
        self.bin, self.rig_bin, self.out = bin_, rig_bin, out
        self.tag = f"nwrig{os.getpid()}"
        self.tmp = f"/tmp/{self.tag}"
        self.children = []
        self.disks = {}
        os.makedirs(self.tmp, exist_ok=True)
        os.makedirs(out, exist_ok=True)
        try:
            self.groups_make()
            self.hosts_make()
            for host in "ab":
                self.disks[host] = Disk(self.tag, host, disk_bytes)
            self.box_start()
        except BaseException:
            self.close()
            raise

    def close(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:     # a second one would leave the rest behind
            signal.signal(number, signal.SIG_IGN)
        for p in reversed(self.children):
            self.end(p)
        for d in self.disks.values():
            d.lift()
        sweep(self.tag)

    # --- processes ---

    def groups_make(self):
        """Groups of processors for what a case asks of them, and, if shielded, for all of the rig. The group of process
        numbers tells the next rig what a killed rig left."""
        for what in "cpu", "pids":
            group = f"/sys/fs/cgroup/{what}/{self.tag}"
            os.makedirs(group, exist_ok=True)
            if what == "cpu":
                write(f"{group}/cpu.shares", 64 * 1024)
            if what == "pids" or self.shielded:
                write(f"{group}/cgroup.procs", os.getpid())

    def group(self, name, shares):
        """A control group beside the rig's programs, each of which has 1024 shares."""
        group = f"/sys/fs/cgroup/cpu/{self.tag}/{name}"
        os.makedirs(group, exist_ok=True)
        write(f"{group}/cpu.shares", shares)
        return group

    def quota_group(self, host, share):
        """A control group in which programs have `share` of a processor."""
        group = self.group(f"quota-{host}", 1024)
        period = 100000 if 0 < share < 0.1 else 20000      # the kernel takes no quota below a millisecond
        write(f"{group}/cpu.cfs_period_us", period)
        write(f"{group}/cpu.cfs_quota_us", int(period * share) if share > 0 else -1)
        return group

    def inside(self, host, argv):
        return ["nsenter", f"--net=/run/netns/{self.tag}{host}", "--", *map(str, argv)]

    def start(self, host, argv, log=None, env=None, group=None, stdin=subprocess.DEVNULL):
        def enter():
            os.setsid()
            if group:
                write(f"{group}/cgroup.procs", os.getpid())
        out = open(f"{self.out}/{log}", "ab") if log else subprocess.DEVNULL
        p = subprocess.Popen(self.inside(host, argv) if host else list(map(str, argv)), stdin=stdin, stdout=out,
                             stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, preexec_fn=enter)
        self.children.append(p)
        return p

    def end(self, p, grace=3, kindly=True):
        """Ends a process and its children, kindly first; without `kindly` the process may end by itself first."""
        for sig in signal.SIGTERM if kindly else 0, signal.SIGKILL:
            try:
                os.killpg(p.pid, sig)
            except ProcessLookupError:
                pass
            try:
                p.wait(grace)
            except subprocess.TimeoutExpired:
                continue
            break
        if p in self.children:
            self.children.remove(p)

    def listening(self, host, port, udp=False):
        return run(*self.inside(host, ["ss", "-Hlun" if udp else "-Hltn", f"sport = :{port}"])).strip() != ""

    # --- hosts, cables, the link ---

    def hosts_make(self):
        for ns in "abcd":
            run("ip", "netns", "add", self.tag + ns)
            run("ip", "-n", self.tag + ns, "link", "set", "lo", "up")
        for i, host in enumerate("abd", 1):
            run("ip", "link", "add", "box", "netns", self.tag + host, "type", "veth", "peer", "name", f"host{host}",
                "netns", self.tag + "c")
            run("ip", "-n", self.tag + host, "addr", "add", f"10.231.{i}.2/24", "dev", "box")
            run("ip", "-n", self.tag + "c", "addr", "add", f"{BOX.format(i)}/24", "dev", f"host{host}")
            run("ip", "-n", self.tag + host, "link", "set", "box", "up")
            run("ip", "-n", self.tag + "c", "link", "set", f"host{host}", "up")
        run("ip", "link", "add", "far", "netns", self.tag + "b", "type", "veth", "peer", "name", "near",
            "netns", self.tag + "d")
        for host, device, address in ("b", "far", RELAY), ("d", "near", ADDRESS["d"]):
            run("ip", "-n", self.tag + host, "addr", "add", f"{address}/30", "dev", device)
            run("ip", "-n", self.tag + host, "link", "set", device, "up")
        self.link_text = f"{self.tmp}/link"
        self.link_write(NO_LIMIT, NO_LIMIT)
        first = [] if self.shielded else ["chrt", "-f", "1"]
        self.link = self.start(None, [*first, f"{self.rig_bin}/link", self.tag + "a", "wan", self.tag + "b", "wan",
                                      self.link_text, *self.link_options], log="link.log")
        for host in "ab":
            ns = self.tag + host
            until(5, "the link", lambda: "wan" in run("ip", "-n", ns, "-br", "link"))
            run("ip", "-n", ns, "addr", "add", f"{ADDRESS[host]}/30", "dev", "wan")
            run("ip", "-n", ns, "link", "set", "wan", "mtu", 1500, "txqueuelen", 10000, "up")
            run("ip", "-n", ns, "route", "change", "10.232.0.0/30", "dev", "wan", "proto", "kernel", "scope", "link",
                "src", ADDRESS[host], "congctl", "cubic", check=False)
        self.buffers_set()

    def link_write(self, there, back):
        write(self.link_text, "".join("{rate} {delay} {loss} {queue}\n".format(**p) for p in (there, back)))

    def link_set(self, rate_bytes=0, rtt_ms=0, loss_percent=0):
        """Payload bytes per second from a to b; the way back is limited by nothing but the delay."""
        wire = rate_bytes * 8 / 0.9625 / 1e6      # a packet of 1500 bytes has 1448 of payload, and some are acknowledgements
        queue = max(256 << 10, int(rate_bytes * rtt_ms / 1e3))
        self.link_write(dict(rate=round(wire, 3), delay=rtt_ms / 2, loss=loss_percent, queue=queue),
                        dict(NO_LIMIT, delay=rtt_ms / 2))
        self.link.send_signal(signal.SIGHUP)

    def bucket_set(self, rate_bytes=0):
        """A token bucket of the kernel in front of the link; 0 removes it."""
        if rate_bytes or self.bucket:
            what = ["replace", "dev", "wan", "root", "tbf", "rate", f"{rate_bytes * 8 / 0.9625:.0f}bit", "burst", "64k",
                    "latency", "50ms"] if rate_bytes else ["del", "dev", "wan", "root"]
            run("tc", "-n", self.tag + "a", "qdisc", *what)
        self.bucket = rate_bytes

    bucket = 0

    def buffers_set(self, send="4096 65536 16777216", receive="4096 131072 33554432"):
        """What autotuning may give a socket of the sender (a) and of the receiver (b)."""
        for host, name, value in ("a", "tcp_wmem", send), ("b", "tcp_rmem", receive):
            run(*self.inside(host, ["sh", "-c", f"echo '{value}' >/proc/sys/net/ipv4/{name}"]))

    def lift(self):
        self.link_set()
        self.bucket_set()
        self.buffers_set()
        for d in self.disks.values():
            d.lift()

    # --- the box ---

    def box_start(self, name="state"):
        self.state = f"{self.out}/{name}"         # outlives the rig, so that another build may judge the same sessions
        if os.path.exists(f"{self.state}/narrowsd.run"):
            os.remove(f"{self.state}/narrowsd.run")
        self.box = [self.start("c", [f"{self.bin}/narrowsd", "-d", "-o", f"state-dir={self.state}", "-o",
                         "listen-xsp=" + " ".join(BOX.format(i) + "/5006" for i in (1, 2, 3)), "-o", "plain-xsp-beyond-loopback=yes",
                         "-o", "listen-http=127.0.0.1/8080", "-o", "analysis-interval=1 s"], log="narrowsd.log")]
        until(10, "the start of the box", lambda: os.path.exists(f"{self.state}/narrowsd.run"))
        for host in "abd":
            self.box.append(self.start(host, [f"{self.bin}/blipp", "-H", f"host-{host}", "-b", self.box_of(host),
                                              *self.allowed(host)], log=f"blipp-{host}.log"))

    def allowed(self, host):
        """What blipp may repeat: files on the host's disk, and sends from a to b, as often as the rig has cases. The sensor of
        bandwidth is off, for a listener takes no second sender within 10 s."""
        if not self.replays or host not in self.disks:
            return []
        options = ["probes=cpu load memory vmstat pressure disk net snmp netstat sockets softnet qdisc link filesystem kernel clock "
                   "replay process" + " bandwidth" * (host == "b"),
                   f"scratch={self.disks[host].path}", "scratch-size=512MiB", "scratch-time=10s", "scratch-every=10s"]
        options += [f"bandwidth-listen={ADDRESS['b']}/5010"] if host == "b" else \
            [f"bandwidth={ADDRESS['b']}/5010", "bandwidth-size=512MiB", "bandwidth-time=10s", "bandwidth-every=10s"]
        return [w for o in options for w in ("-o", o)]

    def box_renew(self, name):
        """A box without earlier sessions: the routes of a case are its own."""
        for p in reversed(self.box):
            self.end(p)
        shutil.rmtree(f"{self.out}/{name}", ignore_errors=True)
        self.box_start(name)

    def box_of(self, host):
        return BOX.format("abd".index(host) + 1) + "/5006"

    def narrows(self, *argv):
        return run(f"{self.bin}/narrows", "-s", self.state, *argv, check=False)

    def result(self, task, seconds=25):
        """The result document of a session that is over."""
        def judged():
            for line in self.narrows("sessions", "--json").splitlines():
                if f'"{task}"' not in line:
                    continue
                text = line.strip().rstrip(",")
                try:
                    listed = json.loads(text)
                except ValueError:
                    continue
                listed = listed.get("session", listed)
                doc = json.loads(self.narrows("report", listed["id"], "--json"))
                if (doc.get("verdict") or {}).get("sentence") and doc["session"]["state"] == "closed":
                    said = self.narrows("report", "--check", listed["id"])
                    for line in re.findall(r"^session \d+(.*)", said, flags=re.M):
                        print(f"  CONTRADICTION in {task}{line}", flush=True)
                        self.contradictions += 1
                    return doc
            return None
        return until(seconds, f"the verdict of {task}", judged)

    def agents_start(self):
        """nwflow on hosts a and b, which makes sessions of transfers without nwrun. The agents speak to the box from the addresses
        of the transfers, by which the box joins both ends."""
        for i, host in enumerate("ab", 1):
            run("ip", "-n", self.tag + "c", "route", "add", f"{ADDRESS[host]}/32", "via", f"10.231.{i}.2", "dev", f"host{host}")
            run("ip", "-n", self.tag + host, "route", "change", f"10.231.{i}.0/24", "dev", "box", "proto", "kernel", "scope", "link",
                "src", ADDRESS[host])
            self.start(host, [f"{self.bin}/nwflow", "-d", "-o", "watch=yes", "-o", f"box={self.box_of(host)}", "-o", f"host=host-{host}",
                              "-o", "notices=none", "-o", "bytes=1 MiB", "-o", "quiet=2 s"], log=f"nwflow-{host}.log")

    def ids(self):
        """The sessions, without those that were joined to others."""
        return [int(i) for i in re.findall(r'^[ \[]*{"id": ?(\d+)', self.narrows("sessions", "--json"), flags=re.M)]

    def result_after(self, before, seconds=40):
        """The result document with most bytes among the sessions that came later than id `before`, once all of them are over."""
        def judged():
            docs = []
            for i in self.ids():
                if i > before:
                    docs.append(json.loads(self.narrows("report", i, "--json") or "{}"))
            if docs and all((d.get("verdict") or {}).get("sentence") and d["session"]["state"] == "closed" for d in docs):
                return max(docs, key=lambda d: d["session"]["bytes"] or 0)
            return None
        return until(seconds, "a session by itself", judged)

    def replayed(self, task):
        """The result document of a session once its hosts have repeated what the box ordered: no more replays come for 12 s."""
        doc, end = self.result(task), time.monotonic() + 12
        while time.monotonic() < end:
            time.sleep(0.5)
            new = self.result(task)
            if len(new["verdict"]["replays"]) > len(doc["verdict"]["replays"]):
                end = time.monotonic() + 12
            doc = new
        return doc
