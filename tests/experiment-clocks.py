# SPDX-License-Identifier: BSD-3-Clause
"""Two emulated machines with clocks of their own (QEMU), a box outside them: what the box says of their clocks beside the truth.

    experiment-clocks.py [--seconds S] [--keep] OUTPUT_DIRECTORY

Both clocks are set wrong and run at a wrong rate; the way to one machine is slower than the way back, which no exchange over a network
can see. The truth comes over a serial line: each byte sent there is answered with the machine's clock, so that clock lies between two
bounds. Of many such answers the box's own statement (offset, bound) must contradict none. Then the machines' chronyd follows the box's.

B names the build (build/release). Needs root, /dev/net/tun, network namespaces and qemu-system-x86_64; exit status 77 without them. The
machines run Debian's kernel, fetched by apt-get into OUTPUT_DIRECTORY/kernel, from memory: no disk is written.
"""
import argparse, glob, heapq, json, os, platform, select, shutil, signal, socket, subprocess, sys, tempfile, threading, time

BOX = "10.236.0.1"
# name, address, clock set wrong by seconds, rate of the clock wrong by ppm, ms of delay to and from the machine
MACHINES = (("early", "10.236.0.2", 93, 120, 0, 0), ("late", "10.236.0.3", -2, -250, 8, 1))
MODULES = ("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover", "net_failover", "virtio_net")
TICK_PPM = 100  # of one step of the kernel's tick, 10,000 us


class Failed(Exception):
    pass


def run(*argv, check=True, **kw):
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, argv))}: {done.stdout.strip()}")
    return done.stdout


def until(seconds, what, ready):
    end = time.monotonic() + seconds
    while not (got := ready()):
        if time.monotonic() > end:
            raise Failed(f"{what} did not happen within {seconds} s")
        time.sleep(0.05)
    return got


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def lacking():
    """What is missing here, or None."""
    if platform.machine() != "x86_64":
        return f"machines of this kind ({platform.machine()}) are not emulated"
    for program in ("qemu-system-x86_64", "busybox", "ip", "dpkg", "apt-get", "chronyd", "iperf3"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        return "only root with /dev/net/tun makes networks"
    try:
        run("unshare", "--net", "true")
    except Failed as why:
        return f"no network namespaces here: {why}"
    return None


# --- what the machines run ---


def kernel(where):
    """Debian's kernel for virtual machines, without an installation: its image and the folder of its modules."""
    if not glob.glob(f"{where}/boot/vmlinuz-*"):
        os.makedirs(where, exist_ok=True)
        words = run("apt-cache", "depends", "linux-image-cloud-amd64").split()
        names = [w for w in words if w.startswith("linux-image-") and w != "linux-image-cloud-amd64"]
        if not names:
            raise Failed("apt-get knows no linux-image-cloud-amd64")
        run("apt-get", "download", names[0], cwd=where)
        run("dpkg", "-x", glob.glob(f"{where}/*.deb")[0], where)
    image = sorted(glob.glob(f"{where}/boot/vmlinuz-*"))[-1]
    return image, f"{where}/lib/modules/{image.split('vmlinuz-')[1]}/kernel"


INIT = """#!/bin/sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mkdir -p /run /var/lib/chrony
for m in %(modules)s; do [ ! -f /modules/$m.ko ] || insmod /modules/$m.ko; done
for word in $(cat /proc/cmdline); do case $word in nw_*) eval "$word";; esac; done
hostname "$nw_name"; ip link set lo up; ip link set eth0 up; ip addr add "$nw_address/24" dev eth0
adjtimex -q -t $nw_tick -f $nw_frequency
serialclock /dev/ttyS1 &
{ stty raw -echo; echo ready; while read -r line; do eval "$line" </dev/null; done; } </dev/ttyS0 >/dev/ttyS0 2>&1
"""


def libraries(programs):
    """The shared libraries of programs, by their path."""
    words = " ".join(run("ldd", p, check=False) for p in programs).split()
    return sorted({w for w in words if w.startswith("/") and os.path.isfile(w)})


def initramfs(build, modules, where):
    """A file system in memory: busybox, our programs, iperf3, chronyd, and modules of the network."""
    root = tempfile.mkdtemp(dir=where)
    for d in ("bin", "dev", "proc", "sys", "tmp", "run", "etc", "modules", "usr/lib/narrows", "lib/narrows"):
        os.makedirs(f"{root}/{d}", exist_ok=True)
    ours = [f"{build}/bin/{p}" for p in ("blipp", "nwrun", "nwlog", "tv_sim", "dpss", "dpss-master", "dpss-server")]
    ours.append(f"{build}/tests/rig/serialclock")
    libs = [f"{build}/bin/{x}.so" for x in ("nwrun", "nwrun-collect")]
    others = [shutil.which(p) for p in ("chronyd", "chronyc", "iperf3")]
    for p in ours + libs + others + [shutil.which("busybox")]:
        shutil.copy(p, f"{root}/bin/")
    for lib in libraries(ours + libs + others + [shutil.which("busybox")]):
        os.makedirs(root + os.path.dirname(lib), exist_ok=True)
        shutil.copy(lib, root + lib)
    for m in MODULES:
        for path in glob.glob(f"{modules}/**/{m}.ko", recursive=True):
            shutil.copy(path, f"{root}/modules/")
    os.symlink("busybox", f"{root}/bin/sh")
    write(f"{root}/etc/passwd", "root:x:0:0:root:/:/bin/sh\n")
    write(f"{root}/init", INIT % {"modules": " ".join(MODULES)})
    os.chmod(f"{root}/init", 0o755)
    run("sh", "-c", f"cd {root} && find . | busybox cpio -o -H newc >{where}/initramfs 2>/dev/null")
    shutil.rmtree(root)


# --- the network: frames between the machines and the box's device, each direction with a delay of its own ---


class Wire(threading.Thread):
    """Frames of a TAP device and of the machines' UDP sockets; all others hear each of them."""

    def __init__(self, tap, machines):
        super().__init__(daemon=True)
        self.tap, self.machines, self.heap, self.n, self.on = tap, machines, [], 0, True

    def late(self, delay_ms, send, frame):
        self.n += 1
        heapq.heappush(self.heap, (time.monotonic() + delay_ms / 1e3, self.n, send, frame))

    def heard(self, source, frame):
        back = source.from_ms if source is not None else 0
        if source is not None:
            self.late(back, self.tap_send, frame)
        for m in self.machines:
            if m is not source:
                self.late(back + m.to_ms, m.frame_send, frame)

    def tap_send(self, frame):
        os.write(self.tap, frame)

    def send_due(self):
        while self.heap and self.heap[0][0] <= time.monotonic():
            _, _, send, frame = heapq.heappop(self.heap)
            try:
                send(frame)
            except OSError:
                pass  # the other end is not there (yet)

    def run(self):
        try:
            self.carry({m.wire: m for m in self.machines})
        except OSError:
            pass  # the network ends

    def carry(self, sockets):
        while self.on:
            wait = max(0, self.heap[0][0] - time.monotonic()) if self.heap else 1
            for fd in select.select([self.tap, *sockets], [], [], wait)[0]:
                frame = os.read(self.tap, 65536) if fd == self.tap else fd.recv(65536)
                self.heard(sockets.get(fd), frame)
            self.send_due()


def tap_open(name):
    import fcntl, struct

    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0002 | 0x1000))  # TUNSETIFF: IFF_TAP, IFF_NO_PI
    return fd


# --- a machine ---


class Machine:
    def __init__(self, spec, where):
        self.name, self.address, self.wrong_s, self.wrong_ppm, self.to_ms, self.from_ms = spec
        self.where, self.answers = f"{where}/{self.name}", []
        os.makedirs(self.where)
        self.wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.wire.bind(("127.0.0.1", 0))
        free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        free.bind(("127.0.0.1", 0))
        self.port = free.getsockname()[1]
        free.close()

    def frame_send(self, frame):
        self.wire.sendto(frame, ("127.0.0.1", self.port))

    def start(self, image, initrd):
        tick = round(self.wrong_ppm / TICK_PPM)
        frequency = round((self.wrong_ppm - tick * TICK_PPM) * 65536)
        base = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + self.wrong_s))
        words = f"console=ttyS0 quiet panic=-1 nw_name={self.name} nw_address={self.address} nw_tick={10000 + tick} nw_frequency={frequency}"
        line = [f"unix:{self.where}/{n},server=on,wait=off" for n in ("shell", "clock")]
        self.log = open(f"{self.where}/qemu.log", "w")
        self.qemu = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "384", "-display", "none", "-nodefaults"]
            + ["-no-reboot", "-kernel", image, "-initrd", initrd, "-append", words, "-rtc", f"base={base},clock=vm"]
            + [x for path in line for x in ("-serial", path)]
            + ["-netdev", f"socket,id=n,udp=127.0.0.1:{self.wire.getsockname()[1]},localaddr=127.0.0.1:{self.port}"]
            + ["-device", f"virtio-net-pci,netdev=n,mac=52:54:00:ec:00:{int(self.address.split('.')[-1]):02x}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.shell, self.clock = (until(20, "a serial line", lambda n=n: self.connect(n)) for n in ("shell", "clock"))
        self.said = b""

    def connect(self, name):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(f"{self.where}/{name}")
        except OSError:
            s.close()
            if self.qemu.poll() is not None:
                raise Failed(f"{self.name} ended: {read(self.log.name)}")
            return None
        return s

    def hear(self, mark, seconds):
        """What the machine's shell says up to a mark."""
        end = time.monotonic() + seconds
        while mark not in self.said:
            if time.monotonic() > end or not select.select([self.shell], [], [], 1)[0]:
                if time.monotonic() > end:
                    raise Failed(f"{self.name} does not answer: {self.said[-400:].decode(errors='replace')}")
                continue
            got = self.shell.recv(65536)
            if not got:
                raise Failed(f"{self.name} ended: {read(self.log.name)}")
            self.said += got
        text, self.said = self.said.split(mark, 1)
        return text.decode(errors="replace")

    def do(self, command, seconds=60):
        """Runs a command in the machine; returns what it says."""
        self.shell.sendall(f"{command}\necho nw''-end\n".encode())
        return self.hear(b"nw-end", seconds).replace("\r", "")

    def measure(self):
        self.do(f"killall blipp 2>/dev/null; blipp -b {BOX}/5006 -o probes=clock -i 1s >/tmp/blipp.log 2>&1 &")

    def clock_wait(self):
        """Until the machine answers: it may miss what comes while it sets up its line. Nothing older is left to read."""
        while not select.select([self.clock], [], [], 1)[0]:
            self.clock.sendall(b"?")
        while select.select([self.clock], [], [], 2)[0]:
            self.clock.recv(4096)

    def ask(self):
        """Asks for the clock once: (middle of the asking in ns, least and largest offset of the machine's clock in s)."""
        sent = time.time_ns()
        self.clock.sendall(b"?")
        text = self.clock.recv(64)
        came = time.time_ns()
        while not text.endswith(b"\n"):
            text += self.clock.recv(64)
        at = int(text)
        self.answers.append(((sent + came) // 2, (at - came) / 1e9, (at - sent) / 1e9))

    def end(self):
        if getattr(self, "qemu", None) is not None:
            self.qemu.kill()
            self.qemu.wait()


class Asker(threading.Thread):
    """Asks the machines for their clocks, twenty times a second."""

    def __init__(self, machines):
        super().__init__(daemon=True)
        self.machines, self.on = machines, True

    def run(self):
        try:
            while self.on:
                for m in self.machines:
                    m.ask()
                time.sleep(0.05)
        except OSError:
            pass  # the machines end


def rate(answers):
    """The rate of a clock against this machine's, by least squares over the middles of the quicker half of the answers."""
    quick = sorted(answers, key=lambda a: a[2] - a[1])[: max(2, len(answers) // 2)]
    x0, x = quick[0][0], [(a[0] - quick[0][0]) / 1e9 for a in quick]
    y = [(a[1] + a[2]) / 2 for a in quick]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    across = sum((v - mx) ** 2 for v in x)
    return sum((v - mx) * (w - my) for v, w in zip(x, y)) / across if across > 0 else 0.0


def truth(answers, at_ns, around_s=2.0):
    """The least and largest offset that all answers around a time allow, or None where there are too few."""
    near = [a for a in answers if abs(a[0] - at_ns) < around_s * 1e9]
    if len(near) < 5:
        return None
    r = rate([a for a in answers if abs(a[0] - at_ns) < 30e9])
    slack = 1e-6 * around_s  # of the rate itself
    moved = [(lo - r * (t - at_ns) / 1e9 - slack, hi - r * (t - at_ns) / 1e9 + slack) for t, lo, hi in near]
    lo, hi = max(m[0] for m in moved), min(m[1] for m in moved)
    return (lo, hi) if lo <= hi else min(moved, key=lambda m: m[1] - m[0])


# --- the box ---


class World:
    def __init__(self, build, out, keep):
        self.build, self.out, self.keep = os.path.abspath(build), out, keep
        self.where = tempfile.mkdtemp(prefix="nwclocks")
        os.chmod(self.where, 0o711)
        self.children, self.net = [], f"nwclocks{os.getpid()}"
        self.machines = [Machine(m, self.where) for m in MACHINES]

    def start(self):
        image, modules = kernel(f"{self.out}/kernel")
        initramfs(self.build, modules, self.where)
        run("ip", "netns", "add", self.net)
        tap = tap_open(self.net[:15])
        run("ip", "link", "set", self.net[:15], "netns", self.net)
        for words in (("link", "set", "lo", "up"), ("link", "set", self.net[:15], "up"), ("addr", "add", f"{BOX}/24", "dev", self.net[:15])):
            run("ip", "-n", self.net, *words)
        self.wire = Wire(tap, self.machines)
        self.wire.start()
        for m in self.machines:
            m.start(image, f"{self.where}/initramfs")
        for m in self.machines:
            m.hear(b"ready", 300)
            m.clock_wait()
        self.box_start()

    def inside(self, *argv):
        return ["ip", "netns", "exec", self.net, *map(str, argv)]

    def child(self, name, *argv):
        log = open(f"{self.where}/{name}.log", "w")
        p = subprocess.Popen(self.inside(*argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.children.append(p)
        return p

    def box_start(self):
        state = f"{self.where}/state"
        self.child("box", f"{self.build}/bin/narrowsd", "-d", "-o", f"state-dir={state}", "-o", "plain-xsp-beyond-loopback=yes", "-o", f"listen-xsp={BOX}/5006",
                   "-o", "listen-http=127.0.0.1/0")
        until(60, "the box's start", lambda: os.path.exists(f"{state}/narrowsd.run"))

    def narrows(self, *argv):
        return run(*self.inside(f"{self.build}/bin/narrows", "-s", f"{self.where}/state", *argv))

    def clock(self, name, kind="nw:clock"):
        """What a series of the store says of a machine's clock: time in ns, offset, bound."""
        sql = f"SELECT t_ns, field, value FROM v_sample WHERE event_type = '{kind}' AND host = '{name}' ORDER BY t_ns"
        rows = {}
        for line in self.narrows("sql", "--csv", sql).replace("\r", "").splitlines()[1:]:
            t, field, value = line.split(",")
            rows.setdefault(int(t), {})[field] = float(value)
        return [(t, r["offset_s"], r["bound_s"]) for t, r in sorted(rows.items()) if "offset_s" in r and "bound_s" in r]

    def verdict(self):
        """The result of the newest session that is closed, or None."""
        said = self.narrows_try("report", "--json", "last")
        doc = json.loads(said) if said.startswith("{") else None
        return doc if doc is not None and doc["session"]["state"] == "closed" and len(doc["session"]["hosts"]) == 2 else None

    def narrows_try(self, *argv):
        argv = self.inside(f"{self.build}/bin/narrows", "-s", f"{self.where}/state", *argv)
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def end(self):
        for m in self.machines:
            m.end()
        for p in reversed(self.children):
            p.terminate()
        for p in self.children:
            p.wait()
        if hasattr(self, "wire"):
            self.wire.on = False
        run("ip", "netns", "del", self.net, check=False)
        if self.keep:
            print(f"kept: {self.where}")
        else:
            shutil.rmtree(self.where, ignore_errors=True)


# --- the proof ---


def judge(machine, rows, covers):
    """Rows of (time, offset, bound) beside the truth: what a table's line tells. covers: the bound is of the clock itself."""
    n = refuted = inside = 0
    worst = widest = narrowest = 0.0
    for at, offset, bound in rows:
        t = truth(machine.answers, at)
        if t is None or not bound > 0:
            continue
        n += 1
        middle = 0.0 if covers else offset
        refuted += t[0] > middle + bound or t[1] < middle - bound
        inside += t[0] >= middle - bound and t[1] <= middle + bound
        far = max(t[0] - middle, middle - t[1], 0.0)
        worst, widest, narrowest = max(worst, far / bound), max(widest, t[1] - t[0]), bound if n == 1 else min(narrowest, bound)
        last = (offset, bound, t)
    if n == 0:
        raise Failed(f"nothing of {machine.name}'s clock can be judged: {len(rows)} rows, {len(machine.answers)} answers")
    return {"machine": machine.name, "n": n, "refuted": refuted, "inside": inside, "worst_share_of_bound": worst, "truth_within_s": widest,
            "bound_min_s": narrowest, "offset_s": last[0], "bound_s": last[1], "truth_s": last[2]}


def tell(title, rows):
    print(f"\n{title}\n{'machine':8} {'n':>3} {'refuted':>7} {'proved':>6} {'offset':>14} {'bound':>11} {'truth (last row)':>30} {'error/bound':>11}")
    for r in rows:
        lo, hi = r["truth_s"]
        print(f"{r['machine']:8} {r['n']:3} {r['refuted']:7} {r['inside']:6} {r['offset_s']:12.6f} s {r['bound_s'] * 1e3:8.3f} ms "
              f"{lo:13.6f} to {hi:11.6f} s {r['worst_share_of_bound']:11.2f}")


def compare(world, seconds):
    """The machines' clocks by the box's exchanges, while nothing sets them."""
    time.sleep(seconds)
    rows = [judge(m, world.clock(m.name), False) for m in world.machines]
    tell("The box's exchanges against the serial line, clocks wrong by themselves:", rows)
    rates = {m.name: 1e6 * rate(m.answers) for m in world.machines}
    for m in world.machines:
        print(f"{m.name}: set wrong by {m.wrong_s} s and {m.wrong_ppm} ppm; runs {rates[m.name]:+.1f} ppm against this machine's clock")
    return rows


def transfer(world):
    """A transfer from one machine to the other: one session, whose hosts' clocks are told within their bounds."""
    early, late = world.machines
    task = "clocks-" + os.urandom(12).hex()
    late.do(f"NARROWS_BOX={BOX}/5006 nwrun -q -t {task} iperf3 -s -1 >/tmp/server.log 2>&1 &")
    time.sleep(2)
    began = time.time_ns()
    said = early.do(f"NARROWS_BOX={BOX}/5006 nwrun -q -t {task} iperf3 -c {late.address} -t 25 -b 20M 2>&1", 200)
    if "receiver" not in said:
        raise Failed(f"iperf3: {said}")
    ended = time.time_ns()
    doc = until(90, "a verdict of the transfer", lambda: world.verdict())
    rows = []
    for m in world.machines:
        clock = next((h["clock"] for h in doc["session"]["hosts"] if h["name"] == m.name), None)
        if clock is None:
            raise Failed(f"the session does not know {m.name}: {[h['name'] for h in doc['session']['hosts']]}")
        # the session's bound is of the clock itself
        bound = clock["bound_s"] - abs(clock["offset_s"])
        rows.append(judge(m, [(at, clock["offset_s"], bound) for at in (began, (began + ended) // 2, ended)], False))
    tell("The session's statement, at its begin, in its middle and at its end:", rows)
    for note in doc["quality"]["notes"]:
        print(f"  {note}")
    return rows


def synchronised(world):
    """The machines' chronyd follows the box's, both by the fragments that are shipped: bounds shrink, and hold."""
    ours = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conf")
    box = read(f"{ours}/chrony-box.conf").replace("192.0.2.0/24", "10.236.0.0/24")
    write(f"{world.where}/chrony.conf", box + f"pidfile {world.where}/chronyd.pid\nbindcmdaddress {world.where}/chronyd.sock\n")
    world.child("chronyd", "chronyd", "-x", "-d", "-u", "root", "-f", f"{world.where}/chrony.conf")
    host = read(f"{ours}/chrony-host.conf").replace("narrows-box.example.net", BOX)
    lines = [f"echo '{line}' >>/etc/chrony.conf;" for line in host.splitlines() if line and not line.startswith("#")]
    for m in world.machines:
        m.do(" ".join(lines) + " echo makestep 1 3 >>/etc/chrony.conf; echo rtcsync >>/etc/chrony.conf; chronyd -d -u root -f /etc/chrony.conf >/tmp/chronyd.log 2>&1 &")
        m.measure()  # blipp asks an absent chronyd less and less often
    known = lambda m: [r for r in world.clock(m.name, "ps:tools:blipp:linux:clock") if r[2] < 0.1]
    for m in world.machines:
        until(240, f"{m.name}'s synchronisation", lambda: known(m))
    began = time.time_ns()
    until(240, "rows of synchronised clocks", lambda: all(len([r for r in known(m) if r[0] > began]) >= 2 for m in world.machines))
    rows = [judge(m, [r for r in known(m) if r[0] > began], True) for m in world.machines]
    tell("chronyd of each machine follows the box's; its bound, as blipp reports it, against the serial line:", rows)
    again = [judge(m, [r for r in world.clock(m.name) if r[0] > began], False) for m in world.machines]
    tell("The box's exchanges meanwhile:", again)
    return rows + again


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("--seconds", type=float, default=60)
    args.add_argument("--keep", action="store_true", help="leave logs and state")
    args.add_argument("out")
    args = args.parse_args()
    why = lacking()
    if why is not None:
        print(f"experiment-clocks: {why}")
        return 77
    os.makedirs(args.out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    world = World(os.environ.get("B", "build/release"), os.path.abspath(args.out), args.keep)
    try:
        world.start()
        print("two machines run")
        asker = Asker(world.machines)
        asker.start()
        for m in world.machines:
            m.measure()
        rows = compare(world, args.seconds)
        rows += transfer(world)
        rows += synchronised(world)
        write(f"{args.out}/clocks.json", json.dumps(rows, indent=1))
        refuted = sum(r["refuted"] for r in rows)
        print(f"\n{sum(r['n'] for r in rows)} statements, {refuted} refuted, {sum(r['inside'] for r in rows)} proved")
        return 1 if refuted > 0 else 0
    except Failed as why:
        print(f"FAIL: {why}")
        return 1
    finally:
        world.end()


sys.exit(main())
