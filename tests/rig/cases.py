# SPDX-License-Identifier: BSD-3-Clause
"""Faults that can be planted, programs that move data, and the cases that both make.

A fault has the stage that it slows and a function that plants it; World.lift() takes all faults away. A program says how
its two ends are started, and which stages are the right answer to a fault.
"""
import os, random, shutil, signal, subprocess, time

from world import ADDRESS, MB, RELAY, Failed, run, until, write

def text_of(path):
    with open(path) as f:
        return f.read()


# --- faults: the stage that is slow, and how to make it slow, from MB/s ---


def session_of(w, case, host, argv):
    """The competitor as a session of its own."""
    return [f"{w.bin}/nwrun", "-t", f"{case.task}-other", "-H", f"host-{host}", "-b", w.box_of(host), *argv]


def compete_disk(w, case, measured=False):
    big = f"{w.disks['a'].path}/other"
    if measured:
        argv = ["sh", "-c", f"while :; do dd if={big} of=/dev/null bs=256k iflag=direct; done"]
        case.background("a", session_of(w, case, "a", argv))
        return
    case.background(None, ["sh", "-c", f"while :; do dd if={big} of=/dev/null bs=256k; dd if={big} iflag=nocache count=0; done"])


def compete_link(w, case, measured=False):
    case.background("b", ["iperf3", "-s", "-p", "5399"])
    until(5, "iperf3", lambda: w.listening("b", 5399))
    argv = ["iperf3", "-c", ADDRESS["b"], "-p", "5399", "-t", "120", "-P", "3"]
    case.background("a", session_of(w, case, "a", argv) if measured else argv)


def hogs(case):
    for _ in range(8):
        case.background(None, ["taskset", "-c", "1", "sh", "-c", "while :; do :; done"])


FAULTS = {
    "src_disk": ("disk.read", lambda w, c, r: w.disks["a"].throttle(read_bps=r * MB)),
    "src_iops": ("disk.read", lambda w, c, r: w.disks["a"].throttle(read_iops=int(r * 12))),
    "dst_disk": ("disk.write", lambda w, c, r: w.disks["b"].throttle(write_bps=r * MB)),
    "net_rate": ("network", lambda w, c, r: w.link_set(rate_bytes=r * MB, rtt_ms=2)),
    "net_tbf": ("network", lambda w, c, r: w.bucket_set(rate_bytes=r * MB)),
    "net_far": ("network", lambda w, c, r: w.link_set(rate_bytes=r * MB, rtt_ms=40)),
    "net_loss": ("network", lambda w, c, r: w.link_set(rtt_ms=10, loss_percent=0.01 * (20 * getattr(c.program, "streams", 1) / r) ** 2)),
    "net_rwnd": ("network", lambda w, c, r: (w.link_set(rtt_ms=40), w.buffers_set(receive="4096 {0} {0}".format(int(r * MB * 0.04 * 2))))),
    "net_sndbuf": ("network", lambda w, c, r: (w.link_set(rtt_ms=40), w.buffers_set(send="4096 {0} {0}".format(int(r * MB * 0.04 * 2))))),
    "snd_work": ("sender.host", lambda w, c, r: c.option("send", "-w", int(1024e9 / (r * MB)))),
    "rcv_work": ("receiver.host", lambda w, c, r: c.option("receive", "-w", int(1024e9 / (r * MB)))),
    "snd_pause": ("sender.host", lambda w, c, r: c.option("send", "-p", round(1.048576e3 / r, 2))),
    "rcv_pause": ("receiver.host", lambda w, c, r: c.option("receive", "-p", round(1.048576e3 / r, 2))),
    "snd_quota": ("sender.host", lambda w, c, r: c.quota("a", r)),
    "rcv_quota": ("receiver.host", lambda w, c, r: c.quota("b", r)),
    "snd_hogs": ("sender.host", lambda w, c, r: (c.pin("a"), hogs(c))),
    "rcv_hogs": ("receiver.host", lambda w, c, r: (c.pin("b"), hogs(c))),
    "src_compete": ("disk.read", lambda w, c, r: (w.disks["a"].throttle(read_bps=2 * r * MB), compete_disk(w, c))),
    "net_compete": ("network", lambda w, c, r: (w.link_set(rate_bytes=2 * r * MB, rtt_ms=2), compete_link(w, c))),
    # the same with a competitor that is a session of the box
    "src_session": ("disk.read", lambda w, c, r: (w.disks["a"].throttle(read_bps=2 * r * MB), compete_disk(w, c, True))),
    "net_session": ("network", lambda w, c, r: (w.link_set(rate_bytes=2 * r * MB, rtt_ms=2), compete_link(w, c, True))),
}


class Program:
    """Two ends: one serves (host `serves`), the other runs and is timed. `measured` hosts run under nwrun."""
    needs, hosts, measured, serves, offers = (), "ab", "ab", "a", ()
    udp = False         # the server listens with UDP

    def __init__(self, name, **more):
        self.name = name
        self.__dict__.update(more)

    def missing(self):
        return [n for n in self.needs if shutil.which(n) is None and not os.path.exists(f"/usr/sbin/{n}")]

    def names(self, fault):
        place = FAULTS[fault][0]
        if place == "network":
            return {"network", "net.write", "net.read"} if len(self.measured) == 1 else {"network"}
        if self.hosts == "a":          # one machine: a program in the middle both reads and writes
            return {"sender.host", "receiver.host", "host"} if place.endswith("host") else {place}
        if "a" not in self.measured and place in ("disk.read", "sender.host"):
            return {"net.read", "network"}
        if "b" not in self.measured and place in ("disk.write", "receiver.host"):
            return {"net.write", "network"}
        return {place}

    common = True       # the program stands in the lists of all pairs
    n_files = 0         # files in a directory instead of one file

    def server(self, c):
        return None

    def middle(self, c):
        """What host b runs between a and d."""
        return None

    def pushes(self):
        return self.serves == "b"


class Xfer(Program):
    def __init__(self, read, write_, **more):
        super().__init__(f"x-{read}-{write_}" + (f"-s{more['streams']}" if "streams" in more else ""), **more)
        self.read, self.write_, self.offers = read, write_, ("snd_work", "rcv_work", "snd_pause", "rcv_pause")
        self.args = ["-s", more["streams"]] if "streams" in more else []

    def server(self, c):
        return [f"{c.w.rig_bin}/xfer", "send", "-n", c.bytes, *self.args, *c.options["send"], ADDRESS["a"], c.port,
                c.source, self.read]

    def client(self, c):
        return [f"{c.w.rig_bin}/xfer", "receive", "-n", c.bytes, *self.args, *c.options["receive"], ADDRESS["a"], c.port,
                c.target, self.write_]


def built(w, name, compiler, *source):
    """The path of a program that is compiled once a rig."""
    path = f"{w.tmp}/{name}"
    if not os.path.exists(path):
        run(*compiler.split(), "-o", path, *source, env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": f"{w.tmp}/go", "GO111MODULE": "off"})
    return path


RIG = os.path.dirname(os.path.abspath(__file__))


class Static(Xfer):
    """xfer without a dynamic linker, which no library can measure."""
    needs, common = ("cc",), False

    def __init__(self, streams=1):
        super().__init__("read", "write", streams=streams)
        self.name = "static" + (f"-s{streams}" if streams > 1 else "")

    def program(self, c):
        return built(c.w, "xfer-static", "cc -O2 -static -pthread -D_GNU_SOURCE", f"-I{RIG}/../../include", f"{RIG}/xfer.c")

    def server(self, c):
        return [self.program(c), *super().server(c)[1:]]

    def client(self, c):
        return [self.program(c), *super().client(c)[1:]]


class Go(Program):
    """A program of Go: static, with system calls of its own, on threads that change."""
    needs, common = ("go",), False

    def program(self, c):
        return built(c.w, "gocopy", "go build", f"{RIG}/gocopy.go")

    def server(self, c):
        return [self.program(c), self.how, "send", f"{ADDRESS['a']}:{c.port}", c.source]

    def client(self, c):
        return [self.program(c), self.how, "receive", f"{ADDRESS['a']}:{c.port}", c.target]


class Raw(Program):
    """A local copy by bare system calls or by a ring."""
    needs, common = ("cc",), False
    hosts = measured = "a"

    def client(self, c):
        return [built(c.w, "rawcalls", "cc -O2 -static", f"{RIG}/rawcalls.c"), c.source, c.target, *self.way]


class Pipes(Xfer):
    def __init__(self):
        super().__init__("read", "write")
        self.name = "x-pipe-pipe"

    def server(self, c):
        argv = [*super().server(c)]
        argv[argv.index(c.source)] = "-"
        return ["sh", "-c", f"cat {c.source} | {' '.join(map(str, argv))}"]

    def client(self, c):
        argv = [*super().client(c)]
        argv[argv.index(c.target)] = "-"
        return ["sh", "-c", f"{' '.join(map(str, argv))} | dd of={c.target} bs=256k status=none"]


class Relay(Xfer):
    """Three hosts in a row: a program on b takes from a and gives to d."""
    hosts, measured = "abd", "abd"

    def __init__(self):
        super().__init__("read", "write")
        self.name = "x-relay"

    def middle(self, c):
        one = [f"{c.w.rig_bin}/xfer", "receive", "-n", c.bytes, ADDRESS["a"], c.port, "-", "write"]
        two = [f"{c.w.rig_bin}/xfer", "send", "-n", c.bytes, RELAY, c.port, "-", "read"]
        return ["sh", "-c", f"{' '.join(map(str, one))} | {' '.join(map(str, two))}"]

    def client(self, c):
        return [f"{c.w.rig_bin}/xfer", "receive", "-n", c.bytes, *c.options["receive"], RELAY, c.port, c.target, "write"]


class Rsync(Program):
    needs = ("rsync",)
    offers = ("snd_pause",)

    def server(self, c):
        write(f"{c.w.tmp}/rsyncd.conf", "use chroot = no\nuid = root\ngid = root\nread only = no\n"
              f"[a]\npath = {c.w.disks['a'].path}\n[b]\npath = {c.w.disks['b'].path}\n")
        return ["rsync", "--daemon", "--no-detach", f"--address={ADDRESS[self.serves]}", f"--port={c.port}",
                f"--config={c.w.tmp}/rsyncd.conf", *(self.slow(c) if self.serves == "a" else [])]

    def slow(self, c):
        return [f"--bwlimit={int(c.faults['snd_pause'] * MB / 1024)}"] if "snd_pause" in c.faults else []

    def client(self, c):
        url = f"rsync://{ADDRESS[self.serves]}:{c.port}/{self.serves}/{c.name}"
        if self.n_files:
            return ["rsync", "-rW", "--no-compress", f"{url}/", f"{c.target}/"]
        if self.serves == "a":
            return ["rsync", "-W", "--no-compress", url, c.target]
        return ["rsync", "-W", "--no-compress", *self.slow(c), c.source, url]


class Nginx(Program):
    needs = ("nginx", "curl")
    offers = ("snd_pause", "rcv_pause")

    def server(self, c):
        top = f"{c.w.tmp}/nginx"
        os.makedirs(top, exist_ok=True)
        rate = f"limit_rate {int(c.faults['snd_pause'] * MB)};" if "snd_pause" in c.faults else ""
        write(f"{top}/conf", f"""user root; daemon off; worker_processes 1; pid {top}/pid; error_log {top}/error;
env LD_PRELOAD;
events {{ worker_connections 64; }}
http {{ access_log off; sendfile on; client_body_temp_path {top}/1; proxy_temp_path {top}/2; fastcgi_temp_path {top}/3;
uwsgi_temp_path {top}/4; scgi_temp_path {top}/5; {rate}
server {{ listen {ADDRESS['a']}:{c.port}; root {c.w.disks['a'].path}; }} }}
""")
        return ["nginx", "-p", top, "-c", f"{top}/conf"]

    def client(self, c):
        slow = ["--limit-rate", int(c.faults["rcv_pause"] * MB)] if "rcv_pause" in c.faults else []
        return ["curl", "-sf", *slow, "-o", c.target, f"http://{ADDRESS['a']}:{c.port}/{c.name}"]


class PythonHttp(Nginx):
    needs = ("python3", "curl")
    offers = ("rcv_pause",)

    def server(self, c):
        return ["python3", "-m", "http.server", "-b", ADDRESS["a"], "-d", c.w.disks["a"].path, c.port]


class Iperf(Program):
    needs = ("iperf3",)
    serves = "b"
    offers = ("snd_pause",)

    def server(self, c):
        return ["iperf3", "-s", "-1", "-B", ADDRESS["b"], "-p", c.port]

    def client(self, c):
        slow = ["-b", int(c.faults["snd_pause"] * MB * 8)] if "snd_pause" in c.faults else []
        return ["iperf3", "-c", ADDRESS["b"], "-p", c.port, "-n", c.bytes, *slow]


class Ssh(Program):
    """A push through sshd, which nwrun does not measure: the sending end alone is seen."""
    needs = ("ssh", "sshd", "ssh-keygen")
    measured, serves = "a", "b"

    def server(self, c):
        top = f"{c.w.tmp}/ssh"
        if not os.path.exists(f"{top}/conf"):
            os.makedirs(top)
            os.makedirs("/run/sshd", exist_ok=True)
            for key in "host", "user":
                run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{top}/{key}")
            shutil.copy(f"{top}/user.pub", f"{top}/authorized")
        write(f"{top}/conf", f"ListenAddress {ADDRESS['b']}\nPort {c.port}\nHostKey {top}/host\nPidFile none\n"
              f"AuthorizedKeysFile {top}/authorized\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n"
              "Subsystem sftp internal-sftp\n")
        return [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", f"{top}/conf"]

    def options(self, c):
        return ["-q", "-i", f"{c.w.tmp}/ssh/user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]

    def client(self, c):
        o = self.options(c)
        there = f"root@{ADDRESS['b']}"
        ssh = " ".join(["ssh", "-p", str(c.port), *o])
        if self.name == "scp":
            return ["scp", *o, "-P", c.port, c.source, f"{there}:{c.target}"]
        if self.name == "scp-O":
            return ["scp", "-O", *o, "-P", c.port, c.source, f"{there}:{c.target}"]
        if self.name == "rsync-ssh":
            return ["rsync", "-W", "-e", ssh, c.source, f"{there}:{c.target}"]
        return ["sh", "-c", f"tar cf - -C {c.w.disks['a'].path} {c.name} | {ssh} {there} 'cat >{c.target}'"]


class Local(Program):
    hosts = measured = "a"

    def client(self, c):
        if self.name == "cp":
            return ["cp", "--reflink=never", "--sparse=never", c.source, c.target]
        if self.name == "dd":
            return ["dd", f"if={c.source}", f"of={c.target}", "bs=1M", "status=none"]
        return ["sh", "-c", f"tar cf - -C {c.w.disks['a'].path} {c.name} | gzip -{self.level} >{c.target}"]


class Quic(Program):
    """HTTP/3: no kernel knows of its losses and windows."""
    needs = ("gtlsserver", "gtlsclient", "openssl")
    udp = True

    def server(self, c):
        top = f"{c.w.tmp}/quic"
        if not os.path.exists(f"{top}/crt"):
            os.makedirs(top)
            run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a",
                "-keyout", f"{top}/key", "-out", f"{top}/crt")
        return ["gtlsserver", "-q", "-d", c.w.disks["a"].path, ADDRESS["a"], c.port, f"{top}/key", f"{top}/crt"]

    def client(self, c):
        there = f"{os.path.dirname(c.target)}/{c.name}"
        get = f"gtlsclient -q --exit-on-all-streams-close --download={os.path.dirname(c.target)} {ADDRESS['a']} {c.port} " \
              f"https://{ADDRESS['a']}:{c.port}/{c.name}"
        return ["sh", "-c", f"{get} && mv {there} {c.target}"]


class Srt(Program):
    """SRT's file mode, which is UDT."""
    needs, serves, udp = ("srt-file-transmit",), "b", True

    def server(self, c):
        return ["srt-file-transmit", "-q", f"srt://:{c.port}?mode=listener&transtype=file", f"file://{c.target}"]

    def client(self, c):
        return ["srt-file-transmit", "-q", f"file://{c.source}",
                f"srt://{ADDRESS['b']}:{c.port}?mode=caller&transtype=file"]


class Globus(Program):
    needs = ("globus-gridftp-server", "globus-url-copy")

    def server(self, c):
        return ["globus-gridftp-server", "-aa", "-p", c.port, "-control-interface", ADDRESS["a"],
                "-data-interface", ADDRESS["a"]]

    def client(self, c):
        return ["globus-url-copy", "-p", str(self.streams), f"ftp://{ADDRESS['a']}:{c.port}{c.source}", f"file://{c.target}"]


PROGRAMS = {p.name: p for p in [
    Xfer("read", "write"), Xfer("read", "write", streams=4), Xfer("read", "fsync"), Xfer("read", "fsyncend"),
    Xfer("read", "direct"), Xfer("direct", "write"), Xfer("mmap", "write"), Xfer("mmap", "write", streams=4), Xfer("sendfile", "write"),
    Xfer("splice", "splice"), Xfer("memory", "discard"), Xfer("read", "write", streams=16), Pipes(), Relay(),
    Rsync("rsync"), Rsync("rsync-push", serves="b"), Rsync("rsync-small", n_files=500), Rsync("rsync-tiny", n_files=5000), Nginx("nginx-curl"), Nginx("curl-only", measured="b"),
    PythonHttp("py-curl"), Iperf("iperf3"), Ssh("scp"), Ssh("scp-O"), Ssh("tar-ssh"), Ssh("rsync-ssh", needs=(*Ssh.needs, "rsync")),
    Local("cp"), Local("dd"), Local("tar-gzip", level=9), Quic("quic"), Srt("srt"), Static(), Static(4), Go("go", how="copy"), Go("go-bytes", how="bytes"), Raw("raw", way=[]), Raw("ring", way=["ring"]),
    Globus("gridftp", streams=1), Globus("gridftp-p4", streams=4)]}


def fits(fault, program):
    """Can this fault hold this program?"""
    p = PROGRAMS[program]
    if p.hosts == "a":
        return fault in ("src_disk", "dst_disk", "snd_quota", "src_compete", "src_session", "src_iops") and not (
            program == "tar-gzip" and fault != "snd_quota")
    if fault.endswith("_work"):
        return fault in p.offers and "mmap" not in program and "sendfile" not in program and "splice" not in program
    if fault.endswith("_pause"):
        return fault in p.offers
    if program in ("iperf3", "x-memory-discard"):
        return fault.startswith("net_") or fault.endswith(("_quota", "_hogs"))
    if isinstance(p, Ssh):
        return fault in ("net_rate", "net_far", "src_disk", "snd_quota")
    if program == "curl-only":
        return not fault.startswith("snd_") or fault == "snd_pause"
    if fault in ("snd_quota", "rcv_quota") and "mmap" in program:
        return False
    if program == "x-relay":
        return fault in ("src_disk", "dst_disk", "net_rate", "net_far", "snd_work", "rcv_work")
    if program in ("quic", "srt"):
        return fault in ("net_rate", "net_loss", "net_far", "src_disk", "dst_disk", "rcv_quota")
    if program == "rsync-tiny":
        return fault in ("src_iops", "net_rate")
    if program in ("x-read-fsyncend", "x-read-fsync", "x-read-direct", "x-splice-splice"):
        return fault in ("dst_disk", "net_rate", "rcv_quota")
    if program == "x-direct-write":
        return fault in ("src_disk", "net_rate")
    return True


# Faults whose value is a share of a processor instead of MB/s.
QUOTAS = {"snd_quota", "rcv_quota"}


def value_of(fault, program, rng):
    if fault in QUOTAS:
        return round(rng.uniform(0.2, 0.4) if program == "tar-gzip" else rng.uniform(0.012, 0.03), 3)
    return round(rng.uniform(14, 28), 1)


def size_of(plan, seconds):
    """MiB that take about so many seconds."""
    if "mib" in plan:
        return plan["mib"]
    first = plan["order"][0]
    in_memory = plan["program"] in ("iperf3", "x-memory-discard")
    if first in QUOTAS:
        return 40 if plan["program"] == "tar-gzip" else 480 if in_memory else 160
    if first.endswith("_hogs"):
        return 1024 if in_memory else 400
    rate = plan["faults"][first] if plan["kind"] != "move" else sum(plan["faults"].values()) / 2
    return int(rate * seconds)


def case_id(kind, faults, program, seed):
    return f"{kind}:{'+'.join(faults)}:{program}:{seed}"


def make(kind, faults, program, seed):
    rng = random.Random(f"{kind}{faults}{program}{seed}")
    first = value_of(faults[0], program, rng)
    if kind == "long":
        first = round(first / 3, 1)
    values = {faults[0]: first}
    if len(faults) > 1:
        values[faults[1]] = first if kind == "tie" else round(first * rng.uniform(1.7, 3), 1)
        if kind == "move":
            values[faults[1]] = round(first * rng.uniform(0.8, 1.25), 1)
        if kind == "near":
            values[faults[1]] = round(first * 1.45, 1)
    return dict(id=case_id(kind, faults, program, seed), kind=kind, faults=values, order=list(faults), program=program,
                seed=seed)


# --- lists ---

CERTAIN = [("single", ("src_disk",), "x-read-write"), ("single", ("dst_disk",), "x-read-write"),
           ("single", ("net_rate",), "x-read-write"), ("single", ("net_far",), "rsync"),
           ("single", ("src_disk",), "rsync"), ("single", ("net_rate",), "nginx-curl"),
           ("single", ("snd_work",), "x-read-write"), ("single", ("rcv_work",), "x-read-write")]

SHORT = CERTAIN + [
    ("single", ("src_disk",), p) for p in ("cp", "x-sendfile-write", "x-mmap-write", "x-read-write-s4")] + [
    ("single", ("dst_disk",), p) for p in ("nginx-curl", "x-read-fsyncend", "rsync")] + [
    ("single", ("net_rate",), p) for p in ("rsync-small", "x-relay", "x-read-write-s16", "scp", "scp-O", "tar-ssh", "rsync-ssh", "curl-only", "x-sendfile-write")] + [
    ("single", ("net_rwnd",), "x-read-write"), ("single", ("net_sndbuf",), "x-read-write"),
    ("single", ("net_loss",), "rsync"), ("single", ("snd_pause",), "nginx-curl"), ("single", ("snd_pause",), "iperf3"), ("single", ("rcv_pause",), "nginx-curl"), ("single", ("rcv_pause",), "x-read-write"),
    ("single", ("snd_quota",), "x-read-write"), ("single", ("rcv_quota",), "rsync"), ("single", ("snd_quota",), "tar-gzip"),
    ("single", ("snd_hogs",), "iperf3"), ("single", ("src_compete",), "x-read-write"),
    ("second", ("src_disk", "net_rate"), "x-read-write"), ("second", ("net_rate", "src_disk"), "rsync"),
    ("second", ("net_rate", "dst_disk"), "nginx-curl"), ("second", ("dst_disk", "net_rate"), "x-read-write"),
    ("tie", ("src_disk", "net_rate"), "x-read-write"), ("tie", ("src_disk", "net_rate"), "rsync"),
    ("tie", ("dst_disk", "net_rate"), "nginx-curl"), ("tie", ("src_disk", "dst_disk"), "x-pipe-pipe"),
    ("move", ("net_rate", "src_disk"), "x-read-write"), ("move", ("net_rate", "dst_disk"), "rsync")]


# transfers that nwrun and nwrun -p must explain in the same way
WAYS = [((f,), p) for p, faults in {
    "rsync": "src_disk net_rate dst_disk", "nginx-curl": "src_disk net_rate dst_disk snd_pause", "curl-only": "net_rate",
    "py-curl": "net_rate rcv_pause", "iperf3": "net_rate net_rwnd", "x-read-write": "src_disk dst_disk net_rate snd_work rcv_work",
    "x-sendfile-write": "src_disk", "cp": "src_disk dst_disk", "static": "src_disk dst_disk net_rate snd_work",
    "static-s4": "net_rate dst_disk", "go": "src_disk dst_disk net_rate", "go-bytes": "src_disk net_rate", "raw": "src_disk dst_disk",
    "ring": "src_disk dst_disk"}.items() for f in faults.split()]


def full(n_clear, seed=1):
    """Every pair that fits (and transfers of a minute: "long"), then again with other seeds, until there are n_clear cases with one right answer."""
    pairs = [("single", (f,), p) for p in PROGRAMS if PROGRAMS[p].common for f in FAULTS if fits(f, p) and f != "net_tbf"]
    limits = ("src_disk", "dst_disk", "net_rate")
    both = [p for p in PROGRAMS if PROGRAMS[p].common and PROGRAMS[p].hosts == "ab" and all(fits(f, p) for f in limits)
            and PROGRAMS[p].measured == "ab"]
    pairs += [("long", (f,), p) for f in ("src_disk", "dst_disk", "net_rate") for p in ("rsync", "nginx-curl", "x-read-write")]
    pairs += [("second", (f, g), p) for p in both for f in limits for g in limits if f != g]
    others = [("tie", (f, g), p) for p in both for f, g in (limits[::2], limits[1:], limits[:2])]
    others += [(kind, (f, g), p) for kind in ("move", "near") for p in both for f in limits for g in limits if f != g]
    random.Random(seed).shuffle(pairs)
    cases, first = [], seed
    n_clear = max(n_clear, len(pairs))
    while len(cases) < n_clear:
        cases += [(*p, seed) for p in pairs[:n_clear - len(cases)]]
        seed += 1
    return [make(*c) for c in cases] + [make(*o, first) for o in others]
