# SPDX-License-Identifier: BSD-3-Clause
"""blipp beside /proc, sar -A, ss and tc at the same moments, while a network, a disk, processors and a control group are busy.

    experiment-agree.py [--seconds S] [--keep] OUTPUT_DIRECTORY

B names the build (build/release). Needs root, network namespaces and ss; exit status 77 without them. sysstat's part and NFS' are left
out, with the reason, where there is none. Everything runs in a namespace of its own; a reader looks at /proc, ss and tc several times a
second. A counter of blipp's must lie between the looks before and after the time that blipp gives it, and its sum over the run must be
the looks' sum to 0.2 %, or to what one look's interval holds. What sar counts in the same run stands beside: its clock is its own.
"""
import argparse, bisect, csv, glob, io, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

LIMIT = 0.002
LOOK_S = 0.1
ROUND_S = 0.03  # blipp reads all files of a round under one time
PREFIX = "ps:tools:blipp:linux:"


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


def lacking():
    for program in ("ip", "ss", "tc", "iperf3"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if os.geteuid() != 0:
        return "only root makes networks and control groups"
    try:
        run("unshare", "--net", "--mount", "true")
    except Failed as why:
        return f"no namespaces here: {why}"
    return None


# --- the second opinion: readers of the kernel's files that share no line with blipp ---


def pairs(path, prefix):
    """Lines in pairs, names above values: /proc/net/snmp and netstat."""
    lines = read(path).splitlines()
    for names, values in zip(lines[::2], lines[1::2]):
        for name, value in list(zip(names.split(), values.split()))[1:]:
            yield (prefix, names.split(":")[0], name), float(value)


def look_snmp():
    return {("snmp", group, name): v for (_, group, name), v in list(pairs("/proc/net/snmp", "")) + list(pairs("/proc/net/netstat", ""))}


def look_snmp6():
    return {("snmp6", "", line.split()[0]): float(line.split()[1]) for line in read("/proc/net/snmp6").splitlines()}


def look_stat():
    out = {}
    for line in read("/proc/stat").splitlines():
        w = line.split()
        if re.fullmatch(r"cpu\d+", w[0]):
            for name, v in zip(("user", "nice", "system", "idle", "iowait", "hwirq", "swirq", "steal"), w[1:]):
                out["percpu", w[0], name] = int(v) / os.sysconf("SC_CLK_TCK")
        elif w[0] in ("ctxt", "intr", "processes"):
            out["activity", "", {"ctxt": "context_switches", "intr": "interrupts", "processes": "forks"}[w[0]]] = float(w[1])
    return out


def look_interrupts():
    out = {}
    lines = read("/proc/interrupts").splitlines()
    cpus = len(lines[0].split())
    for line in lines[1:]:
        name, rest = line.split(":", 1)
        counts = [int(v) for v in rest.split()[:cpus] if v.isdigit()]
        out["interrupts", name.strip(), "count"] = float(sum(counts))
    return out


def look_softnet():
    rows = [[int(v, 16) for v in line.split()] for line in read("/proc/net/softnet_stat").splitlines()]
    places = {"processed": 0, "dropped": 1, "squeezed": 2, "received_rps": 9, "flow_limit": 10}
    return {("softnet", "", name): float(sum(r[at] for r in rows)) for name, at in places.items()}


def look_sockets():
    out = {}
    for line in read("/proc/net/sockstat").splitlines() + read("/proc/net/sockstat6").splitlines():
        group, rest = line.split(":")
        words = rest.split()
        for name, v in zip(words[::2], words[1::2]):
            out["sockets", "", f"{group}_{name}"] = float(v)
    return out


def look_disks():
    names = ("reads_issued", "reads_merged", "read_bytes", "read_ms", "writes_issued", "writes_merged", "written_bytes", "write_ms", None, "io_ms",
             "weighted_io_ms", "discards_issued", None, "discarded_bytes", "discard_ms", "flushes_issued", "flush_ms")
    out = {}
    for line in read("/proc/diskstats").splitlines():
        w = line.split()
        for name, v in zip(names, w[3:]):
            if name is not None:
                out["disk", w[2], name] = float(v) * (512 if name.endswith("_bytes") else 1)
    return out


def look_interfaces():
    names = ("bytes_in", "packets_in", "errors_in", "drops_in", None, None, "compressed_in", "multicast_in", "bytes_out", "packets_out", "errors_out", "drops_out")
    out = {}
    for line in read("/proc/net/dev").splitlines()[2:]:
        device, rest = line.split(":")
        for name, v in zip(names, rest.split()):
            if name is not None:
                out["net", device.strip(), name] = float(v)
    return out


def look_tables():
    files, inodes, dentries = (read(f"/proc/sys/fs/{n}").split() for n in ("file-nr", "inode-nr", "dentry-state"))
    return {("tables", "", n): float(v) for n, v in (("open_files", files[0]), ("open_files_max", files[2]), ("inodes", inodes[0]), ("inodes_free", inodes[1]),
                                                     ("dentries", dentries[0]), ("dentries_unused", dentries[1]))}


def look_memory():
    out = {("vmstat", "", w.split()[0]): float(w.split()[1]) for w in read("/proc/vmstat").splitlines()}
    out.update({("meminfo", "", line.split(":")[0]): float(line.split()[1]) for line in read("/proc/meminfo").splitlines()})
    return out


def look_pressure():
    out = {}
    for f in glob.glob("/proc/pressure/*"):
        for line in read(f).splitlines():
            out["pressure", "", f"{os.path.basename(f)}_{line.split()[0]}_us"] = float(line.split("total=")[1])
    return out


def look_mounts():
    out = {}
    for m in {line.split()[1] for line in read("/proc/mounts").splitlines()}:
        try:
            s = os.statvfs(m)
        except OSError:
            continue
        for name, v in (("total_bytes", s.f_blocks * s.f_frsize), ("free_bytes", s.f_bfree * s.f_frsize), ("available_bytes", s.f_bavail * s.f_frsize),
                        ("files", s.f_files), ("files_free", s.f_ffree)):
            out["filesystem", m, name] = float(v)
    return out


def look_qdiscs():
    out = {}
    for q in json.loads(run("tc", "-s", "-j", "qdisc", "show") or "[]"):
        if q.get("root"):
            for name, v in (("bytes", q["bytes"]), ("packets", q["packets"]), ("drops", q["drops"]), ("overlimits", q["overlimits"]),
                            ("requeues", q["requeues"]), ("backlog_bytes", q["backlog"]), ("backlog_packets", q["qlen"])):
                out["qdisc", q["dev"], name] = float(v)
    return out


def look_nfs():
    out = {}
    for side in ("nfs", "nfsd"):
        path = f"/proc/net/rpc/{side}"
        for line in read(path).splitlines() if os.path.exists(path) else ():
            w = line.split()
            if w[0] == "rpc":
                out["nfs", side, "calls"] = float(w[1])
    return out


def look_group(path):
    """A control group of version 1 or 2."""
    if os.path.exists(f"{path}/cpuacct.usage"):
        cpu, members = float(read(f"{path}/cpuacct.usage")) / 1e9, None
    else:
        cpu, members = float(read(f"{path}/cpu.stat").split()[1]) / 1e6, f"{path}/pids.current"
    out = {("cgroup", "", "cpu_s"): cpu}
    if members and os.path.exists(members):
        out["cgroup", "", "processes"] = float(read(members))
    return out


def look_program(name):
    """The processes of a name together; those that ended keep what was seen of them last."""
    ticks, out = os.sysconf("SC_CLK_TCK"), {("process", "", n): 0.0 for n in ("threads", "processes", "resident_bytes")}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            stat = read(f"{path}/stat")
            if stat[stat.index("(") + 1 : stat.rindex(")")] != name:
                continue
            w = stat[stat.rindex(")") + 2 :].split()
            seen = {"user_s": int(w[11]) / ticks, "system_s": int(w[12]) / ticks, "run_queue_s": int(read(f"{path}/schedstat").split()[1]) / 1e9}
            seen.update({f: float(re.search(rf"^{n}: (\d+)", read(f"{path}/io"), re.M)[1]) for f, n in (("read_bytes", "read_bytes"), ("written_bytes", "write_bytes"))})
        except (OSError, ValueError):
            continue
        PROGRAM[path, w[19]] = seen
        for n, v in (("threads", int(w[17])), ("processes", 1), ("resident_bytes", int(w[21]) * os.sysconf("SC_PAGESIZE"))):
            out["process", "", n] += v
    for f in ("user_s", "system_s", "run_queue_s", "read_bytes", "written_bytes"):
        out["process", "", f] = sum(p[f] for p in PROGRAM.values())
    return out


PROGRAM = {}
SS = {"segs_out": "SegsOut", "segs_in": "SegsIn", "data_segs_out": "DataSegsOut", "data_segs_in": "DataSegsIn", "bytes_sent": "HCDataOctetsOut",
      "bytes_retrans": "OctetsRetrans", "bytes_acked": "HCThruOctetsAcked", "bytes_received": "HCThruOctetsReceived", "mss": "CurMSS", "minrtt": "MinRTT",
      "rto": "CurRTO", "delivered": "linux_delivered", "reordering": "linux_reordering", "reord_seen": "linux_reord_seen", "pmtu": "linux_pmtu",
      "rcvmss": "MSSRcvd", "rcv_space": "linux_rcv_space", "unacked": "linux_unacked", "lost": "linux_lost", "sacked": "linux_sacked",
      "dsack_dups": "DSACKDups", "rcv_ooopack": "linux_rcv_ooopack", "notsent": "CurAppWQueue", "delivered_ce": "linux_delivered_ce",
      "snd_wnd": "CurRwinRcvd"}
SS_ZERO = ("OctetsRetrans", "SegsRetrans", "linux_retrans_out", "linux_lost", "linux_sacked", "linux_unacked", "linux_reord_seen", "DSACKDups", "linux_rcv_ooopack",
           "linux_delivered_ce", "linux_rwnd_limited", "linux_sndbuf_limited", "CurAppWQueue", "HCThruOctetsReceived", "DataSegsIn")
SKMEM = ("rmem", "rcvbuf", "wmem", "sndbuf", "fwd_alloc", "wmem_queued", "optmem", "backlog", "drops")


def tcp_of(line, port):
    """What a line of ss says of the connection from a port: numbers of our names."""
    out = {("tcp", port, ours): float(m[1]) for name, ours in SS.items() if (m := re.search(rf"\b{name}:([\d.]+)", line))}
    if m := re.search(r"\brtt:([\d.]+)/([\d.]+)", line):
        out["tcp", port, "SmoothedRTT"], out["tcp", port, "linux_rttvar"] = float(m[1]), 1000 * float(m[2])
    if m := re.search(r"\bretrans:(\d+)/(\d+)", line):
        out["tcp", port, "linux_retrans_out"], out["tcp", port, "SegsRetrans"] = float(m[1]), float(m[2])
    if m := re.search(r"\bwscale:(\d+),(\d+)", line):
        out["tcp", port, "SndWindScale"], out["tcp", port, "RcvWindScale"] = float(m[1]), float(m[2])
    if m := re.search(r"\bcwnd:(\d+)", line):
        out["tcp", port, "CurCwnd"] = float(m[1]) * out.get(("tcp", port, "CurMSS"), float("nan"))
    for name, ours in (("busy", "linux_busy_time"), ("rwnd_limited", "linux_rwnd_limited"), ("sndbuf_limited", "linux_sndbuf_limited")):
        if m := re.search(rf"\b{name}:(\d+)ms", line):
            out["tcp", port, ours] = 1000 * float(m[1])
    if m := re.search(r"skmem:\(r(\d+),rb(\d+),t(\d+),tb(\d+),f(\d+),w(\d+),o(\d+),bl(\d+),d(\d+)\)", line):
        out.update({("tcp", port, f"linux_skmem_{n}"): float(v) for n, v in zip(SKMEM, m.groups())})
    # what ss leaves out is 0
    for name in SS_ZERO:
        out.setdefault(("tcp", port, name), 0.0)
    return out


def look_tcp(dport):
    out = {}
    for line in run("ss", "-tinOmH", f"dport = :{dport}", check=False).splitlines():
        if m := re.search(r"\S+:(\d+) +\S+:\d+", line):
            out.update(tcp_of(line, m[1]))
    return out


class Looks:
    """What a reader saw, and when: its look lasted from begin to end."""

    def __init__(self, name, look, every_s=LOOK_S):
        self.name, self.look, self.every_s, self.at, self.end, self.seen = name, look, every_s, [], [], []

    def add(self):
        began = time.time()
        seen = self.look()
        self.at.append(began)
        self.end.append(time.time())
        self.seen.append(seen)

    def around(self, t, key):
        """The values in the last look that ended before t and in the first that began after it, and a value between them."""
        i, k = bisect.bisect_left(self.end, t) - 1, bisect.bisect_right(self.at, t + ROUND_S)
        if i < 0 or k >= len(self.at) or key not in self.seen[i] or key not in self.seen[k]:
            return None
        a, b = self.seen[i][key], self.seen[k][key]
        ta, tb = (self.at[i] + self.end[i]) / 2, (self.at[k] + self.end[k]) / 2
        return a, b, a + (b - a) * (t - ta) / (tb - ta)

    def spread(self, t, key, around_s=0.35):
        """Least and largest value seen around t."""
        i, k = bisect.bisect_left(self.end, t - around_s), bisect.bisect_right(self.at, t + around_s)
        seen = [s[key] for s in self.seen[max(0, i - 1) : k + 1] if key in s]
        return (min(seen), max(seen)) if seen else None


# --- the run ---

SNMP = {"packets_in": "InReceives", "packets_out": "OutRequests", "segments_in": "InSegs", "segments_out": "OutSegs", "retrans": "RetransSegs",
        "established": "CurrEstab", "datagrams_in": "InDatagrams", "datagrams_out": "OutDatagrams", "errors": "InErrors"}
MEMINFO = {"total": "MemTotal", "free": "MemFree", "available": "MemAvailable", "buffer": "Buffers", "cache": "Cached", "dirty": "Dirty",
           "writeback": "Writeback", "kernel": "Slab", "Active_anon": "Active(anon)", "Inactive_anon": "Inactive(anon)",
           "Active_file": "Active(file)", "Inactive_file": "Inactive(file)"}
# blipp's event type: reader, group of the reader
TYPES = {"percpu:utilization": ("stat", "percpu"), "cpu:activity": ("stat", "activity"), "interrupts:count": ("interrupts", "interrupts"),
         "network:softnet": ("softnet", "softnet"), "network:sockets": ("sockets", "sockets"), "network:ip6": ("snmp6", "snmp6"),
         "network:icmp6": ("snmp6", "snmp6"), "network:udp6": ("snmp6", "snmp6"), "network:udplite6": ("snmp6", "snmp6"),
         "network:ip:utilization": ("snmp", "Ip"), "network:icmp:utilization": ("snmp", "Icmp"), "network:tcp:utilization": ("snmp", "Tcp"),
         "network:udp:utilization": ("snmp", "Udp"), "network:tcp:extended": ("snmp", "TcpExt"), "network:ip:extended": ("snmp", "IpExt"),
         "disk:partition": ("disk", "disk"), "network:utilization": ("net", "net"), "kernel:tables": ("tables", "tables"),
         "memory:vmstat": ("memory", "vmstat"), "memory:utilization": ("memory", "meminfo"), "pressure": ("pressure", "pressure"),
         "filesystem": ("mounts", "filesystem"), "network:qdisc": ("qdisc", "qdisc"), "nfs:client": ("nfs", "nfs"), "nfs:server": ("nfs", "nfs"),
         "cgroup": ("cgroup", "cgroup"), "process": ("process", "process")}


def key_of(event_type, subject, field):
    """The reader and its key for a series of blipp's, or None where no reader looks."""
    if event_type == "ps:host:tcp":
        return "tcp", ("tcp", str(subject.get("sport")), field)
    kind = event_type.removeprefix(PREFIX)
    kind = "disk:partition" if kind.startswith("disk:partition:") else kind
    if kind not in TYPES:
        return None
    reader, group = TYPES[kind]
    device = next((str(v) for k, v in subject.items() if k in ("processor", "interrupt", "interface", "device", "mountpoint")), "")
    if reader in ("snmp", "nfs"):
        return reader, (reader, group, SNMP.get(field, field))
    if reader in ("cgroup", "process"):
        return reader, (group, "", field)
    return reader, (group, device if reader in ("stat", "interrupts", "disk", "net", "qdisc", "mounts") else "", MEMINFO.get(field, field) if group == "meminfo" else field)


class World:
    """A box, blipp, and a load, in this process' own namespace of networks, and a far end in another."""

    def __init__(self, build, keep):
        self.bin, self.keep = os.path.abspath(f"{build}/bin"), keep
        self.where = tempfile.mkdtemp(prefix="nwagree")
        self.far, self.children = f"nwagree{os.getpid()}", []
        self.disk = tempfile.mkdtemp(prefix="nwagree", dir="/var/tmp")
        self.group = None

    def child(self, name, *argv, **kw):
        log = open(f"{self.where}/{name}.log", "w")
        p = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **kw)
        self.children.append(p)
        return p

    def network(self):
        """A slow link to a namespace of its own: a queue that drops its tail."""
        run("ip", "link", "set", "lo", "up")
        run("ip", "netns", "add", self.far)
        run("ip", "link", "add", "nwa", "type", "veth", "peer", "name", "nwb", "netns", self.far)
        for ns, device, n in ((None, "nwa", 1), (self.far, "nwb", 2)):
            ip = ["ip"] if ns is None else ["ip", "-n", ns]
            run(*ip, "addr", "add", f"10.237.0.{n}/24", "dev", device)
            run(*ip, "addr", "add", f"fd00:237::{n}/64", "dev", device, "nodad")
            run(*ip, "link", "set", device, "up")
        run("ip", "-n", self.far, "link", "set", "lo", "up")
        run("tc", "qdisc", "add", "dev", "nwa", "root", "tbf", "rate", "200mbit", "burst", "64kb", "limit", "100kb")
        for port in (5201, 5202):
            self.child(f"far{port}", "ip", "netns", "exec", self.far, "iperf3", "-s", "-p", port)

    def control_group(self):
        """A control group for the load, where one can be made: its folder."""
        for top in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"):
            try:
                path = f"{top}/nwagree{os.getpid()}"
                os.mkdir(path)
                self.group = path
                return
            except OSError:
                continue

    def start(self):
        self.network()
        self.control_group()
        state = f"{self.where}/state"
        self.child("box", f"{self.bin}/narrowsd", "-d", "-o", f"state-dir={state}", "-o", "listen-xsp=127.0.0.1/0", "-o", "listen-http=127.0.0.1/0")
        until(60, "the box's start", lambda: os.path.exists(f"{state}/narrowsd.run"))
        self.box = re.search(r"^xsp (.*)$", read(f"{state}/narrowsd.run"), re.M)[1]
        probes = "cpu percpu interrupts load memory vmstat pressure disk net snmp netstat snmp6 sockets softnet qdisc link filesystem nfs kernel cgroup process"
        words = [x for o in (f"probes={probes}", "programs=iperf3", *([f"cgroup=/{os.path.basename(self.group)}"] if self.group else [])) for x in ("-o", o)]
        self.child("blipp", f"{self.bin}/blipp", "-d", "-b", self.box, "-i", "1s", "-o", "all-tcp-fields=yes", *words)

    def sar(self, seconds):
        self.sadc = next((p for p in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc") if os.path.exists(p)), None)
        if self.sadc:
            self.sadc_began = time.time()
            self.sadc_child = self.child("sadc", self.sadc, "-S", "XALL", "1", seconds + 1, f"{self.where}/sar")

    def sar_wait(self):
        if self.sadc:
            self.sadc_child.wait()
            self.sadc_ended = time.time()

    def load(self, seconds):
        """Two transfers, one of them measured, a disk, two processors, many short processes."""
        env = dict(os.environ, NARROWS_BOX=self.box, XDG_RUNTIME_DIR=self.where)
        self.child("tcp", f"{self.bin}/nwrun", "-q", "iperf3", "-c", "10.237.0.2", "-t", seconds, env=env)
        self.child("udp6", "iperf3", "-6", "-u", "-b", "20M", "-c", "fd00:237::2", "-p", 5202, "-t", seconds)
        self.child("disk", "sh", "-c", f"dd if=/dev/zero of={self.disk}/file bs=1M count=64 oflag=direct; "
                   f"end=$(($(date +%s) + {seconds})); while [ $(date +%s) -lt $end ]; do dd if={self.disk}/file of=/dev/null bs=64k iflag=direct; done")
        enter = f"echo $$ >{self.group}/cgroup.procs; " if self.group else ""
        self.child("spin", "sh", "-c", f"{enter}timeout {seconds} sh -c 'while :; do :; done'")

    def rows(self):
        """Everything that blipp sent: (event type, subject, field) to rows of (time, value)."""
        sql = "SELECT event_type, subject, field, t_ns, value FROM v_sample WHERE event_type LIKE 'ps:%' ORDER BY t_ns"
        done = subprocess.run([f"{self.bin}/narrows", "-s", f"{self.where}/state", "sql", "--csv", sql], stdout=subprocess.PIPE, text=True, check=True)
        out = {}
        for event_type, subject, field, t, value in csv.reader(io.StringIO(done.stdout)):
            if t.isdigit() and value:
                out.setdefault((event_type, subject, field), []).append((int(t) / 1e9, float(value)))
        return out

    def end(self):
        for p in reversed(self.children):
            p.terminate()
        for p in self.children:
            p.wait()
        run("ip", "netns", "del", self.far, check=False)
        if self.group:
            until(10, "the end of the control group", lambda: not read(f"{self.group}/cgroup.procs"))
            os.rmdir(self.group)
        shutil.rmtree(self.disk, ignore_errors=True)
        if self.keep:
            print(f"kept: {self.where}")
        else:
            shutil.rmtree(self.where, ignore_errors=True)


def reader_list(world):
    """Readers that take long have a thread of their own."""
    fast = {"stat": look_stat, "interrupts": look_interrupts, "softnet": look_softnet, "sockets": look_sockets, "snmp": look_snmp, "snmp6": look_snmp6,
            "disk": look_disks, "net": look_interfaces, "tables": look_tables, "memory": look_memory, "pressure": look_pressure, "mounts": look_mounts,
            "nfs": look_nfs}
    slow = {"qdisc": look_qdiscs, "tcp": lambda: look_tcp(5201), "process": lambda: look_program("iperf3")}
    if world.group:
        fast["cgroup"] = lambda: look_group(world.group)
    return {n: Looks(n, f) for n, f in {**fast, **slow}.items()}, [list(fast), ["qdisc"], ["tcp"], ["process"]]


class Reader(threading.Thread):
    def __init__(self, looks):
        super().__init__(daemon=True)
        self.looks, self.on = looks, True

    def run(self):
        while self.on:
            for look in self.looks:
                look.add()
            time.sleep(LOOK_S)


def is_counter(kinds, event_type, field):
    return kinds.get((event_type.removeprefix(PREFIX).split(":vd")[0], field)) == "counter"


def kinds_of(world):
    """Which fields count: what blipp itself says of its metrics."""
    out = {}
    for line in run(f"{world.bin}/blipp", "--list").splitlines():
        w = line.split()
        names = [x for x in w[1:] if "=" not in x]
        out[names[0], names[-1]] = next(x for x in w if x.startswith("kind="))[5:]
    return out


def compare(look, key, rows, counter):
    """One series: (rows judged, rows outside, sum of ours, sum of the looks, what one look may hold), or None."""
    if counter:
        near = [(v, look.around(t, key)) for t, v in rows]
        near = [(v, r) for v, r in near if r is not None]
        if len(near) < 2:
            return None
        outside = sum(not (min(r[0], r[1]) - 1e-6 <= v <= max(r[0], r[1]) + 1e-6) for v, r in near)
        ours, theirs = near[-1][0] - near[0][0], near[-1][1][2] - near[0][1][2]
        return len(near), outside, ours, theirs, sum(abs(r[1] - r[0]) for _, r in (near[0], near[-1]))
    near = [(v, look.spread(t, key)) for t, v in rows]
    near = [(v, r) for v, r in near if r is not None]
    if not near:
        return None
    outside = sum(not (r[0] - 1e-9 - 1e-4 * abs(r[0]) <= v <= r[1] + 1e-9 + 1e-4 * abs(r[1])) for v, r in near)
    return len(near), outside, sum(v for v, _ in near), sum((r[0] + r[1]) / 2 for _, r in near), sum(r[1] - r[0] for _, r in near)


def report(world, looks):
    kinds, groups, bad, unread = kinds_of(world), {}, [], {}
    for (event_type, subject, field), rows in sorted(world.rows().items()):
        found = key_of(event_type, json.loads(subject), field)
        kind = event_type.removeprefix(PREFIX)
        counter = is_counter(kinds, event_type, field)
        got = compare(looks[found[0]], found[1], rows, counter) if found and found[0] in looks else None
        if got is None:
            unread.setdefault(kind, set()).add(field)
            continue
        n, outside, ours, theirs, slack = got
        share = abs(ours - theirs) / abs(theirs) if theirs else (0.0 if ours == 0 else float("inf"))
        g = groups.setdefault(kind, [0, 0, 0, 0, []])
        g[0] += 1
        g[1] += n
        g[2] += outside
        if counter and abs(theirs) >= 1000:
            g[4].append((share, field))
        if share > LIMIT and abs(ours - theirs) > slack + 1e-6:
            g[3] += 1
            bad.append((kind, found[1][1], field, ours, theirs, outside, n))
    print(f"\n{'group':28} {'series':>6} {'rows':>7} {'outside':>7} {'worst of large sums':>36}")
    for kind, (n, rows, outside, wrong, shares) in sorted(groups.items()):
        worst = max(shares, default=(0, "-"))
        print(f"{kind:28} {n:6} {rows:7} {outside:7} {100 * worst[0]:12.4f} % {worst[1]:22}" + (f"  {wrong} WRONG" if wrong else ""))
    for kind, fields in sorted(unread.items()):
        print(f"no second opinion: {kind}: {' '.join(sorted(fields))[:150]}")
    for b in bad:
        print("DISAGREES: %s %s %s: blipp %.6g, looks %.6g; %d of %d rows outside" % b)
    return len(bad)


# --- sar -A of the same run: sums over all intervals; what the load alone moves has quiet ends, so the two clocks do not matter ---

SAR = (  # group of sadf -j, item of a list, name, unit; event type, device, field of blipp; whether other programs of this machine count, too
    ("net-dev", "nwa", "txkB", 1024, "network:utilization", "nwa", "bytes_out", False), ("net-dev", "nwa", "txpck", 1, "network:utilization", "nwa", "packets_out", False),
    ("net-dev", "nwa", "rxkB", 1024, "network:utilization", "nwa", "bytes_in", False), ("net-dev", "nwa", "rxpck", 1, "network:utilization", "nwa", "packets_in", False),
    ("net-tcp", None, "oseg", 1, "network:tcp:utilization", "", "segments_out", False), ("net-tcp", None, "iseg", 1, "network:tcp:utilization", "", "segments_in", False),
    ("net-etcp", None, "retrans", 1, "network:tcp:utilization", "", "retrans", False), ("net-ip", None, "irec", 1, "network:ip:utilization", "", "packets_in", False),
    ("net-ip6", None, "orq6", 1, "network:ip6", "", "Ip6OutRequests", False), ("net-udp6", None, "odgm6", 1, "network:ip6", "", "Udp6OutDatagrams", False),
    ("softnet", "all", "total", 1, "network:softnet", "", "processed", True), ("interrupts", "sum", "all", 1, "cpu:activity", "", "interrupts", True),
    ("process-and-context-switch", None, "cswch", 1, "cpu:activity", "", "context_switches", True),
    ("process-and-context-switch", None, "proc", 1, "cpu:activity", "", "forks", True), ("paging", None, "fault", 1, "memory:vmstat", "", "pgfault", True),
    ("paging", None, "pgpgin", 1, "memory:vmstat", "", "pgpgin", True), ("paging", None, "pgfree", 1, "memory:vmstat", "", "pgfree", True),
    ("cpu-load", "0", "usr", 0.01, "percpu:utilization", "cpu0", "user", True), ("cpu-load", "0", "sys", 0.01, "percpu:utilization", "cpu0", "system", True),
    ("disk", "vda", "rkB", 1024, "disk:partition:vda", "vda", "read_bytes", True), ("disk", "vda", "wkB", 1024, "disk:partition:vda", "vda", "written_bytes", True))


def sar_sum(said, group, item, name):
    total = 0.0
    for s in said:
        got = s.get(group, s.get("network", {}).get(group))
        if isinstance(got, list):
            got = next((g for g in got if item in (g.get("iface"), g.get("cpu"), g.get("intr"), g.get("disk-device"))), None)
        if got is None:
            return None
        total += got[name]
    return total


def interpolated(rows, t):
    i = bisect.bisect_left(rows, (t,))
    if i == 0 or i == len(rows):
        return rows[0 if i == 0 else -1][1]
    (ta, a), (tb, b) = rows[i - 1], rows[i]
    return a + (b - a) * (t - ta) / (tb - ta)


def sar_compare(world):
    """Prints the sums of sar's rates beside blipp's counters; how many differ that should not."""
    if not world.sadc:
        print("\nsar: sysstat is not installed: left out")
        return 0
    said = json.loads(run("sadf", "-j", f"{world.where}/sar", "--", "-A"))["sysstat"]["hosts"][0]["statistics"]
    rows, bad = world.rows(), 0
    print(f"\nsar -A, {len(said)} intervals{'':24} {'sar':>15} {'blipp':>15}")
    for group, item, name, unit, event_type, device, field, others in SAR:
        theirs = sar_sum(said, group, item, name)
        ours = next((r for (e, subject, f), r in rows.items() if e == PREFIX + event_type and f == field and (not device or f'"{device}"' in subject)), None)
        if theirs is None or ours is None:
            print(f"  {group} {name}: not here")
            continue
        # rates are over what an interval really was, and intervals are named in whole seconds
        theirs *= unit * (world.sadc_ended - world.sadc_began) / len(said)
        got = interpolated(ours, world.sadc_ended) - interpolated(ours, world.sadc_began)
        share = abs(got - theirs) / theirs if theirs else 0.0
        # sadf rounds rates to two places
        wrong = not others and share > LIMIT and abs(got - theirs) > 0.005 * unit * len(said) + 2
        bad += wrong
        print(f"  {group + ' ' + name:38} {theirs:15.6g} {got:15.6g} {100 * share:9.3f} %" + (" (others' work, too)" if others else "") + (" WRONG" if wrong else ""))
    return bad


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("--seconds", type=int, default=40)
    args.add_argument("--keep", action="store_true", help="leave logs and state")
    args.add_argument("out")
    args = args.parse_args()
    why = lacking()
    if why is not None:
        print(f"experiment-agree: {why}")
        return 77
    if os.environ.get("NARROWS_AGREE") != "inside":
        os.environ["NARROWS_AGREE"] = "inside"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    os.makedirs(args.out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    world = World(os.environ.get("B", "build/release"), args.keep)
    try:
        world.start()
        looks, threads = reader_list(world)
        readers = [Reader([looks[n] for n in names]) for names in threads]
        for r in readers:
            r.start()
        world.sar(args.seconds + 9)
        time.sleep(3)
        world.load(args.seconds)
        time.sleep(args.seconds + 4)
        world.sar_wait()
        time.sleep(1)
        for r in readers:
            r.on = False
        for r in readers:
            r.join()
        time.sleep(2)
        bad = report(world, looks) + sar_compare(world)
        return 1 if bad else 0
    except Failed as why:
        print(f"FAIL: {why}")
        return 1
    finally:
        world.end()


sys.exit(main())
