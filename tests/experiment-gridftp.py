# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of Kissel and others (2011), section IV, on one machine: which component limits a GridFTP transfer, as our box says,
as the published method says of the same measurements, and as the rates of the parts say.

    experiment-gridftp.py [--seconds S] [--short] [--only REGEX] [--again] [--table] OUTPUT_DIRECTORY

  --seconds S  of each transfer (8)                --short  six cells of 4 s
  --only       cells whose name matches            --again  forgets earlier results; else a run goes on where the last one ended
  --table      prints the tables of what is there

Hosts A (destination, the paper's H_A) and B (source, H_B) are namespaces with a link between them. First a test tells what the link
carries at this moment; its rate is then .8 of that, so that the processors are not the limit. Disks are throttled to the paper's share
of the network's rate. A transfer from memory to memory measures each network; the least of disk read, disk write and network is what
limits by construction, and two within 10 % are a tie. A cell during which a processor was full runs again, twice at most; a cell of UDT, whose network is the processors, if it also stays
below three quarters of its slowest part. A cell that fails runs again once. Ctrl-C and SIGTERM remove both hosts.
Needs root, Debian's GridFTP programs and "make gridftp"; exit status 77 without them.
"""
import argparse, csv, hashlib, html, json, os, re, shutil, signal, statistics, subprocess, sys, time, uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "rig"))
from world import ADDRESS, NO_LIMIT, Failed, World, run, stop_kindly, until, write

PORTS = {"TCP": 2811, "UDT": 2812, "bare": 2813}
# Table I: Gb/s; disks by 1 and 4 processes, networks by (protocol, ms, streams)
PAPER_DISK = {("A", "read"): (11.2, 0.8), ("A", "write"): (4.8, 8.8), ("B", "read"): (0.9, 0.5), ("B", "write"): (0.8, 0.8)}
PAPER_NET = {("TCP", 0, 1): 9.5, ("TCP", 0, 4): 9.5, ("TCP", 100, 1): 8.0, ("TCP", 100, 4): 9.4,
             ("UDT", 0, 1): 4.1, ("UDT", 0, 4): 4.0, ("UDT", 100, 1): 0.8, ("UDT", 100, 4): 3.2}
# Table II: what the published method named
PAPER_NAMED = {("d2d", "TCP", 1): ("disk.read", "network", None), ("d2d", "TCP", 4): ("disk.read", "network", None),
               ("d2d", "UDT", 1): ("disk.read", "disk.read", None), ("d2d", "UDT", 4): ("disk.read", "disk.read", None),
               ("m2d", "TCP", 1): ("network", "network", "network"), ("m2d", "TCP", 4): ("disk.write",) * 3,
               ("m2d", "UDT", 1): ("network",) * 3, ("m2d", "UDT", 4): ("network", "network", "disk.write")}
COLUMNS = ((0.1, 0), (100, 0), (100, 0.01))         # of Table II: ms, percent of loss
# The six cells in which that name is wrong, by the paper's own words
PAPER_WRONG = {
    ("d2d", "TCP", 1, 1): "the disk is expected for disk to disk over TCP, and reads .9 where the network carries 8.0 Gb/s",
    ("d2d", "TCP", 4, 1): "the same: .5 against 9.4 Gb/s",
    ("m2d", "TCP", 1, 0): "the disk is expected for memory to disk over TCP, and writes 4.8 where the network carries 9.5 Gb/s",
    ("m2d", "TCP", 1, 1): "\"the benchmarks indicate that ... the disk write should be about 40 % slower\"",
    ("m2d", "TCP", 4, 2): "behind the loss the network \"dips below the disk write throughput and becomes the bottleneck\" (Figure 3d)",
    ("m2d", "UDT", 4, 2): "\"This is incorrect\": the loss lowers the rate, and the rate within UDT's reads rises (Figure 4b)"}
RESOURCES = {"m2m": "Memory to memory", "m2d": "Memory to disk", "d2d": "Disk to disk"}
NETWORK = {"network", "net.read", "net.write"}
ENDS = {"sender.host", "receiver.host", "host"}     # UDT computes in the programs
FULL = 0.03            # of a processor idle; less is a full processor
TIE, TIE_LOOSE = 1.1, 1.4
EXPLAINED = 0.75
LOSSY_BYTES = 24 << 20
HEADER = 17            # bytes of a header in mode E; its reads are operations of their own


# --- cells ---

def cells(short):
    out = []
    for what in RESOURCES:
        for protocol in "TCP", "UDT":
            for streams in 1, 4:
                for ms, loss in (0.1, 0), (50, 0), (100, 0), (100, 0.01):
                    if what == "d2d" and loss:
                        continue                    # the paper has none either
                    out.append(dict(what=what, protocol=protocol, streams=streams, ms=ms, loss=loss, slow=None))
    for slow in "read", "write":
        for ms in 0.1, 50:
            out.append(dict(what="d2d", protocol="TCP", streams=4, ms=ms, loss=0, slow=slow))
    for c in out:
        c["id"] = f"{c['what']}-{c['protocol']}-{c['streams']}-{c['ms']:g}ms" + (f"-{c['loss']:g}%" if c["loss"] else "") + \
            (f"-slow-{c['slow']}" if c["slow"] else "")
    # the transfers whose course the paper draws, with the loss in the middle
    for protocol in "TCP", "UDT":
        out.append(dict(what="m2d", protocol=protocol, streams=4, ms=100, loss=0, slow=None, middle=0.01, id=f"m2d-{protocol}-4-100ms-loss-in-the-middle"))
    out.sort(key=lambda c: c["what"] != "m2m")      # the networks first, which tell what limits
    if short:
        wanted = ("m2m-TCP-1-0.1ms", "m2m-TCP-4-0.1ms", "m2d-TCP-1-0.1ms", "d2d-TCP-1-0.1ms", "d2d-TCP-4-0.1ms-slow-write", "m2m-UDT-1-0.1ms")
        out = [c for c in out if c["id"] in wanted]
    return out


def disk_share(cell, which):
    """The paper's rate of the disk as a share of the rate of its network, or a slowed disk's."""
    host, n = ("B", "read") if which == "read" else ("A", "write"), 0 if cell["streams"] == 1 else 1
    return 0.05 if cell["slow"] == which else 0.5 if cell["slow"] else PAPER_DISK[host][n] / 9.5


# --- the two hosts ---

class Site(World):
    link_options = ("large",)       # at the paper's rates
    servers = ()

    def servers_restart(self, library):
        """Ends the servers with the sessions that an interrupted transfer left in them, and starts new ones."""
        for p in self.servers:
            self.end(p)
        self.servers_start(library)

    def servers_start(self, library):
        os.chmod(self.tmp, 0o755)
        self.servers = []
        for host, disk in self.disks.items():
            write(f"{self.tmp}/hosts-{host}", f"127.0.0.1 localhost\n{ADDRESS[host]} host{host} {os.uname().nodename}\n")
            os.chmod(disk.path, 0o777)
            for protocol, port in PORTS.items():
                driver = "" if protocol == "bare" else ",narrows"
                stack = ("udt" if protocol == "UDT" else "tcp") + driver
                argv = ["unshare", "-m", "sh", "-c", f"mount --bind {self.tmp}/hosts-{host} /etc/hosts && exec \"$@\"", "sh",
                        "globus-gridftp-server", "-c", "/dev/null", "-aa", "-anonymous-user", "nobody", "-p", port,
                        "-control-interface", ADDRESS[host], "-data-interface", ADDRESS[host], "-dc-default", stack, "-fs-default", "file" + driver,
                        "-dc-whitelist", "tcp,udt,gsi,narrows", "-fs-whitelist", "file,narrows", "-log-level", "ERROR,WARN",
                        "-logfile", f"{self.tmp}/server-{host}-{protocol}.log", *(["-threads", "2"] if protocol == "UDT" else [])]
                self.servers.append(self.start(host, argv, log="servers.log", env={"LD_LIBRARY_PATH": library, "NARROWS_BOX": self.box_of(host), "NARROWS_HOST": f"host-{host}"}))
        for host in "ab":
            for port in PORTS.values():
                until(20, "the start of a GridFTP server", lambda: self.listening(host, port))

    def copy(self, cell, task, bytes_, driver=True):
        """Moves so many bytes from a to b; returns the seconds."""
        port = PORTS[cell["protocol"] if driver else "bare"]
        source = f"{self.disks['a'].path}/source" if cell["what"] == "d2d" else "/dev/zero"
        copy = "/dev/null" if cell["what"] == "m2m" else f"{self.disks['b'].path}/copy"
        if copy != "/dev/null" and os.path.exists(copy):
            os.remove(copy)
        client = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gridftp_client.py")
        stack = f"file,narrows:task_id={task};interval=0.5" if driver else "file"
        begin = time.monotonic()
        run(*self.inside("a", ["timeout", "300", sys.executable, client, f"{ADDRESS['a']}:{port}", source, f"{ADDRESS['b']}:{port}", copy,
                               cell["streams"], "none", bytes_, stack]))
        return time.monotonic() - begin

    def link_is(self, mbit, ms, loss):
        queue = max(1 << 20, int(mbit * 1e6 / 8 * max(ms, 10) / 1e3))
        there, back = dict(rate=mbit, delay=ms / 2, loss=loss, queue=queue), dict(NO_LIMIT, delay=ms / 2)
        self.link_write(there, back)
        self.link.send_signal(signal.SIGHUP)
        time.sleep(0.2)


def processors():
    """Idle and all ticks of each processor."""
    rows = [list(map(int, line.split()[1:])) for line in open("/proc/stat") if re.match(r"cpu\d", line)]
    return [(r[3] + r[4], sum(r[:8])) for r in rows]


def idle_least(before, after):
    return min((b[0] - a[0]) / max(1, b[1] - a[1]) for a, b in zip(before, after))


# --- one cell ---

def series(site, session):
    """stage -> list of (seconds, mean rate within operations in bytes/s, operations, largest less smallest rate), of the driver's windows."""
    text = run(f"{site.bin}/narrows", "-s", site.state, "sql", "--csv",
               f"SELECT subject, t_ns, field, value FROM v_sample WHERE session = {session} AND event_type LIKE 'nl:tools:calipers:summary:%' "
               "AND field IN ('mean_r', 'min_r', 'max_r', 'count') ORDER BY t_ns")
    windows, out = {}, {}
    for subject, t, field, value in csv.reader(text.splitlines()):
        windows.setdefault((json.loads(subject).get("stage"), subject, int(t)), {})[field] = float(value)
    for (stage, _, t), w in windows.items():
        if stage and w.get("count", 0) > 0 and "mean_r" in w:
            out.setdefault(stage, []).append((t / 1e9, w["mean_r"] * 1e9, w["count"], (w.get("max_r", 0) - w.get("min_r", 0)) * 1e9))
    return out


def published(found):
    """The published rule: the component with the least mean rate within operations. Returns its name and the means in bytes/s."""
    names = {"disk.read": "disk.read", "disk.write": "disk.write", "net.read": "network"}
    means = {name: statistics.fmean(r[1] for r in found[stage]) for stage, name in names.items() if found.get(stage)}
    return (min(means, key=means.get) if means else None), means


def disk_rate(cell, which, link_bytes, disks):
    """Bytes a second of a disk of the cell: its throttle, or less where iomodel found the device slower."""
    host = {"read": "a", "write": "b"}[which]
    found = disks.get(f"{host}-{which}-{1 if cell['streams'] == 1 else 4}", {}).get("found", float("inf"))
    return min(disk_share(cell, which) * link_bytes, found)


def truth(cell, rates, link_bytes, disks):
    """What limits by construction, as a set of names: one, or two within 10 %; and the rates of the parts."""
    key = f"m2m-{cell['protocol']}-{cell['streams']}-{cell['ms']:g}ms" + (f"-{cell['loss']:g}%" if cell["loss"] else "")
    parts = {"network": rates.get(key)}
    if cell["what"] != "m2m":
        parts["disk.write"] = disk_rate(cell, "write", link_bytes, disks)
    if cell["what"] == "d2d":
        parts["disk.read"] = disk_rate(cell, "read", link_bytes, disks)
    parts = {k: v for k, v in parts.items() if v}
    if cell["what"] != "m2m" and "network" not in parts:
        return set(), parts
    least = min(parts.values(), default=0)
    # how fast a device is that no throttle limits depends on the data, so its rate is known less well
    sharp = all(parts[k] >= 0.99 * disk_share(cell, k[5:]) * link_bytes for k in parts if k != "network")
    return {k for k, v in parts.items() if v <= least * (TIE if sharp else TIE_LOOSE)}, parts


def named(stage, cell):
    if stage in NETWORK or (stage in ENDS and cell["protocol"] == "UDT"):
        return "network"
    return stage


def cell_valid(cell, idle, rate, parts):
    """Whether the parts may explain the rate. UDT computes: its network is what the processors leave, unless a transfer stays far below
    the slowest part."""
    if idle >= FULL:
        return True
    return cell["protocol"] == "UDT" and rate >= EXPLAINED * min(parts.values(), default=0)


def cell_run(site, cell, rates, doc, seconds):
    link_mbit, disks = doc["link_mbit"], doc.get("disks", {})
    link_bytes = link_mbit * 1e6 / 8 * 0.9625
    _, parts = truth(cell, rates, link_bytes, disks)
    expected = min(parts.values(), default=link_bytes)
    bytes_ = max(8 << 20, int(expected * seconds))
    for d in site.disks.values():
        d.lift()
    if cell["what"] == "d2d":
        bytes_ = min(bytes_, os.path.getsize(f"{site.disks['a'].path}/source"))
        site.disks["a"].throttle(read_bps=disk_share(cell, "read") * link_bytes)
    if cell["what"] != "m2m":
        site.disks["b"].throttle(write_bps=disk_share(cell, "write") * link_bytes)
    site.link_is(link_mbit, cell["ms"], cell["loss"])
    if cell["what"] == "m2m" and cell["loss"]:      # a stream has some ten Mbit/s
        bytes_ = LOSSY_BYTES * cell["streams"]
    elif cell["what"] == "m2m":                     # nobody knows this network yet
        bytes_, rate = 64 << 20, 0
        while bytes_ < link_bytes * seconds:        # a connection over a long way is slow at first
            took = site.copy(cell, "none", bytes_)
            if took >= seconds / 2 and bytes_ / took < 1.3 * rate:
                break
            rate, bytes_ = bytes_ / took, int(min(bytes_ * min(16, max(2, seconds / took)), link_bytes * seconds))
    for attempt in range(3):
        # UDT's receiver does not know its peer, and only a secret ties two hosts that do not name each other; the box shows its label
        secret = str(uuid.uuid4())
        task = "task-" + hashlib.sha256(secret.encode()).hexdigest()[:31]
        for d in site.disks.values():
            d.settle()
        before = processors()
        spoil = None
        if cell.get("middle"):
            spoil = subprocess.Popen(["sh", "-c", f"sleep {seconds / 2}; printf '{link_mbit} {cell['ms'] / 2} {cell['middle']} {1 << 22}\\n0 {cell['ms'] / 2} 0 1048576\\n' "
                                      f">{site.link_text}; kill -HUP {site.link.pid}"])
        took = site.copy(cell, secret, bytes_)
        idle = idle_least(before, processors())
        if spoil:
            spoil.wait()
            site.link_is(link_mbit, cell["ms"], cell["loss"])
        if cell_valid(cell, idle, bytes_ / took, parts):
            break
    result = site.result(task, 60)
    for d in site.disks.values():
        d.lift()
    found = series(site, result["session"]["id"])
    rate = bytes_ / took
    row = dict(cell, link_mbit=link_mbit, seconds=took, bytes=bytes_, bytes_per_s=rate, idle=idle, valid=cell_valid(cell, idle, rate, parts),
               stage=result["verdict"]["stage"], confidence=result["verdict"]["confidence"], sentence=result["verdict"]["sentence"],
               candidates=result["verdict"].get("candidates"), session=result["session"]["id"], session_bytes=result["session"]["bytes"])
    row["published"], row["means"] = published(found)
    if cell["what"] == "m2m" and not cell.get("middle"):
        rates[cell["id"]] = rate
    row["truth"], row["parts"] = (lambda t: (sorted(t[0]), t[1]))(truth(cell, rates, link_bytes, disks))
    t0 = min((r[0] for s in found.values() for r in s), default=0)
    row["course"] = {stage: [(t - t0, *rest) for t, *rest in rows] for stage, rows in found.items()}
    row["mark"] = mark(row)
    return row


def mark(row):
    """R right, T a tie that was told or broken to one of the two, a abstains, W wrong, - not known by construction, x invalid."""
    if not row["valid"]:
        return "x"
    if not row["truth"] or row.get("middle"):
        return "-"
    said = named(row["stage"], row) if row["stage"] else None
    if len(row["truth"]) > 1:
        both = {named(c, row) for c in row["candidates"] or []}
        return "T" if said is None and (not both or both & set(row["truth"])) or said in row["truth"] else "W"
    return "a" if said is None else "R" if said in row["truth"] else "W"


# --- the first tests: link, disks, overhead ---

def link_test(site):
    """Mbit/s that the link carries now, by iperf3 in TCP."""
    site.link_is(0, 0.1, 0)
    server = site.start("b", ["iperf3", "-s", "-1", "-p", "5301"])
    until(5, "the start of iperf3", lambda: site.listening("b", 5301))
    said = json.loads(run(*site.inside("a", ["iperf3", "-J", "-c", ADDRESS["b"], "-p", "5301", "-t", "3", "-O", "1"]), timeout=30))
    site.end(server)
    return said["end"]["sum_received"]["bits_per_second"] / 1e6


def disks_test(site, link_bytes):
    """Table I, disks: 256 KiB sequentially by 1 and 4 runs of iomodel with a file each, behind the throttles of cells of 1 and 4 streams."""
    out = {}
    for host, which in ("a", "read"), ("b", "write"):
        for n in 1, 4:
            disk, asked = site.disks[host], disk_share(dict(streams=n, slow=None), which) * link_bytes
            disk.throttle(**{f"{which}_bps": asked})
            files = [f"{disk.path}/iomodel{i}" for i in range(n)]
            how = ["-w"] if which == "write" else ["-r", "-s", "uncached"]
            runs = [subprocess.Popen([f"{site.bin}/iomodel", "run", *how, "-a", "262144", "-F", str(48 << 20), "-M", "1048576", "-n", "190", "-t", "4",
                                      f"{site.tmp}/iomodel{i}", f], stdout=subprocess.PIPE, text=True) for i, f in enumerate(files)]
            try:
                said = [re.match(r"(\d+) operations in ([\d.]+) s", r.communicate(timeout=300)[0]) for r in runs]
            finally:
                for r in runs:
                    r.kill()
            if not all(said):
                raise Failed("iomodel measured nothing")
            out[f"{host}-{which}-{n}"] = dict(throttle=asked, found=sum(int(m[1]) for m in said) * 262144 / max(float(m[2]) for m in said))
            disk.lift()
            for i, f in enumerate(files):
                os.remove(f)
                shutil.rmtree(f"{site.tmp}/iomodel{i}")
    return out


def overhead_test(site, link_mbit, seconds, rounds=5):
    """Rates from memory to memory with and without the driver, in turns."""
    cell = dict(what="m2m", protocol="TCP", streams=1, ms=0.1, loss=0, slow=None)
    site.link_is(link_mbit, 0.1, 0)
    bytes_ = int(link_mbit * 1e6 / 8 * 0.9 * seconds)
    rates = {True: [], False: []}
    for i in range(rounds):
        for driver in (True, False) if i % 2 else (False, True):
            rates[driver].append(bytes_ / site.copy(cell, f"overhead-{os.getpid()}-{i}", bytes_, driver))
    return {"with" if k else "without": v for k, v in rates.items()}


# --- what is printed ---

def gbit(v):
    return "-" if not v else f"{v * 8 / 1e9:.3f}"


def tables(doc, out=print):
    rows = {r["id"]: r for r in doc["rows"]}
    link = doc.get("link_mbit", 0)
    out(f"The link carried {doc.get('carried_mbit', 0):.0f} Mbit/s in its test and has {link:.0f}; the paper's had 10,000, of which 9,500 were carried.")
    if doc.get("overhead"):
        with_, without = doc["overhead"]["with"], doc["overhead"]["without"]
        out("\nIV.A  From memory to memory, Mbit/s: without the driver {:.0f} +- {:.0f}, with it {:.0f} +- {:.0f} (paper: 9437 +- 4, within 1).".format(
            *(f(v) * 8 / 1e6 for v in (without, with_) for f in (statistics.fmean, statistics.stdev))))
    if doc.get("disks"):
        out("\nTable I  Disks, Gb/s by 1 / 4 processes: paper; here, and the throttle in force")
        for (host, which), ours in {("B", "read"): "a-read", ("A", "write"): "b-write"}.items():
            out("  H_{} {:<6} {} / {}      {} / {}  ({} / {})".format(host, which, *PAPER_DISK[host, which],
                                                                  *(gbit(doc["disks"][f"{ours}-{n}"][k]) for k in ("found", "throttle") for n in (1, 4))))
    out("\nTable I  Networks, Gb/s: paper, share of its 9.5; here, share of ours")
    best = rows.get("m2m-TCP-4-0.1ms", {}).get("bytes_per_s") or link * 1e6 / 8
    for (protocol, ms, streams), paper in PAPER_NET.items():
        r = rows.get(f"m2m-{protocol}-{streams}-{ms or 0.1:g}ms")
        if r:
            out(f"  {protocol} {ms:>3} ms {streams} streams   {paper:>4} {paper / 9.5:5.2f}      {gbit(r['bytes_per_s'])} {r['bytes_per_s'] / best:5.2f}"
                + ("" if r["valid"] else "  a processor was full"))
    out("\nTable II  What limits: by the paper, * where its own words say otherwise; the same rule on our measurements; our box; by the rates of the parts")
    for (what, protocol, streams), names in PAPER_NAMED.items():
        for c, (ms, loss) in enumerate(COLUMNS):
            r = rows.get(f"{what}-{protocol}-{streams}-{ms:g}ms" + (f"-{loss:g}%" if loss else ""))
            if r is None:
                continue
            star = "*" if (what, protocol, streams, c) in PAPER_WRONG else " "
            out(f"  {RESOURCES[what]:<15} {protocol} {streams}  {ms:>5} ms {loss:>4} %   {names[c] or 'n/a':>10}{star}  {r['published'] or '-':>10}  "
                f"{named(r['stage'], r) or 'cannot tell':>13} {r['mark']}  {' or '.join(r['truth']) or 'not known'}")
    out("\nThe six cells in which the paper's rule names another part than its own text")
    for (what, protocol, streams, c), why in PAPER_WRONG.items():
        out(f"  {RESOURCES[what]}, {protocol}, {streams} stream{'s'[:streams > 1]}, {COLUMNS[c][0]:g} ms, {COLUMNS[c][1]:g} %: {why}")
    known = [r for r in doc["rows"] if r["mark"] in "RTaW"]
    out(f"\nOf {len(known)} cells whose limit is known by construction: right {sum(r['mark'] in 'RT' for r in known)}, cannot tell {sum(r['mark'] == 'a' for r in known)}, "
        f"wrong {sum(r['mark'] == 'W' for r in known)}; the published rule on the same measurements: right "
        f"{sum(r['published'] in r['truth'] for r in known)}, wrong {sum(r['published'] not in r['truth'] for r in known)}. Invalid: {sum(r['mark'] == 'x' for r in doc['rows'])}.")
    for name, why in doc.get("failures", {}).items():
        out(f"  failed {name}: {why}")
    for r in doc["rows"]:
        if r["mark"] in "Wax":
            out(f"  {r['mark']} {r['id']}: {' or '.join(r['truth'])} by the parts ({', '.join(f'{k} {gbit(v)}' for k, v in r['parts'].items())} Gb/s); "
                f"moved {gbit(r['bytes_per_s'])}; idle {r['idle']:.2f}: {r['confidence']}: {r['sentence']}")


COLOUR = {"disk.read": "#b5651d", "disk.write": "#7a3e9d", "net.read": "#1f77b4", "net.write": "#2a9d8f"}


def plot(title, lines, unit):
    """A figure: {name: [(x, y)]}."""
    width, height, left, top = 560, 220, 60, 30
    xs, ys = [x for l in lines.values() for x, _ in l], [y for l in lines.values() for _, y in l]
    if not xs:
        return ""
    x1, y1 = max(xs) or 1, max(ys) or 1
    at = lambda x, y: f"{left + x / x1 * (width - left - 110):.1f},{top + (1 - y / y1) * (height - top - 40):.1f}"
    parts = [f"<text x='{left}' y='18' font-weight='bold'>{html.escape(title)}</text>", f"<text x='4' y='{top + 8}'>{y1:.3g}</text>",
             f"<text x='4' y='{top + 22}'>{unit}</text>", f"<text x='{left}' y='{height - 14}'>0</text>", f"<text x='{width - 130}' y='{height - 14}'>{x1:.0f} s</text>",
             f"<path d='M{left},{top} V{height - 40} H{width - 110}' fill='none' stroke='#888'/>"]
    for i, (name, line) in enumerate(lines.items()):
        colour = COLOUR.get(name, "#444")
        parts.append(f"<polyline fill='none' stroke='{colour}' stroke-width='1.5' points='{' '.join(at(x, y) for x, y in line)}'/>"
                     f"<text x='{width - 104}' y='{top + 12 + 16 * i}' fill='{colour}'>{html.escape(name)}</text>")
    return f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' font-family='sans-serif' font-size='12'>{''.join(parts)}</svg>"


def course(rows, what, title):
    picks = {"rate": (lambda r: r[1] * 8 / 1e9, "Gb/s"), "count": (lambda r: r[2], "reads"), "range": (lambda r: r[3] * 8 / 1e9, "Gb/s")}
    pick, unit = picks[what]
    return plot(title, {stage: [(r[0], pick(r)) for r in line] for stage, line in rows.items()}, unit)


def page(doc):
    rows = {r["id"]: r for r in doc["rows"]}
    figures = {"Figure 3": ["m2d-TCP-1-100ms", "m2m-TCP-1-0.1ms", "d2d-TCP-1-0.1ms", "m2d-TCP-4-100ms-loss-in-the-middle"],
               "Figure 4": ["m2d-UDT-4-100ms", "m2d-UDT-4-100ms-loss-in-the-middle", "d2d-UDT-4-100ms", "m2m-UDT-4-100ms"]}
    body = []
    for name, ids in figures.items():
        body.append(f"<h2>{name}: rate within operations</h2>")
        body += [course(rows[i]["course"], "rate", f"({'abcd'[n]}) {i}") for n, i in enumerate(ids) if i in rows]
    if (r := rows.get("m2d-UDT-4-100ms-loss-in-the-middle")):
        reads = {k: v for k, v in r["course"].items() if k == "net.read"}
        body.append("<h2>Figure 5: UDT, loss in the middle</h2>" + course(reads, "count", "(a) Reads in a window") + course(reads, "range", "(b) Largest less smallest rate"))
    lines = []
    tables(doc, lines.append)
    return f"<!doctype html><meta charset=utf-8><title>GridFTP: what limits</title><h1>GridFTP: what limits</h1><pre>{html.escape(chr(10).join(lines))}</pre>{''.join(body)}\n"


def save(doc, out):
    write(f"{out}/results.json.new", json.dumps(doc))
    os.replace(f"{out}/results.json.new", f"{out}/results.json")
    write(f"{out}/index.html", page(doc))


def cell_try(site, cell, rates, doc, seconds, library):
    """The row of a cell; a cell that fails has a second try with new servers. None behind two failures, whose reason stays in doc."""
    failures = doc.setdefault("failures", {})
    for attempt in 1, 2:
        try:
            row = cell_run(site, cell, rates, doc, seconds)
            failures.pop(cell["id"], None)
            return row
        except (Failed, LookupError, ValueError, TypeError, OSError, subprocess.SubprocessError) as e:
            failures[cell["id"]] = f"{type(e).__name__}: {e}"
            print(f"{cell['id']}: failed, try {attempt} of 2: {failures[cell['id']]}", flush=True)
            save(doc, site.out)
            site.servers_restart(library)
    return None


def experiment(o, doc, build):
    todo = [c for c in cells(o.short) if re.search(o.only, c["id"]) and c["id"] not in {r["id"] for r in doc["rows"]}]
    seconds = 4 if o.short else o.seconds
    rates = {r["id"]: r["bytes_per_s"] for r in doc["rows"] if r["what"] == "m2m"}
    library = os.path.abspath(f"{build}/lib")
    site = Site(os.path.abspath(f"{build}/bin"), os.path.abspath(f"{build}/tests/rig"), os.path.abspath(o.output), disk_bytes=20 << 30)
    try:
        site.buffers_set(send="4096 65536 268435456", receive="4096 131072 268435456")
        site.servers_start(library)
        if "link_mbit" not in doc:
            doc["carried_mbit"] = link_test(site)
            doc["link_mbit"] = round(0.8 * doc["carried_mbit"])
            save(doc, o.output)
        if not o.short and not doc.get("disks"):
            print("Table I: the disks by iomodel", flush=True)
            doc["disks"] = disks_test(site, doc["link_mbit"] * 1e6 / 8 * 0.9625)
            save(doc, o.output)
        if not o.short and not o.only and "overhead" not in doc:
            print("IV.A: the cost of the driver", flush=True)
            doc["overhead"] = overhead_test(site, doc["link_mbit"], 2)
            save(doc, o.output)
        with open(f"{site.disks['a'].path}/source", "wb") as f:
            for _ in range(max(64, int(doc["link_mbit"] * 1e6 / 8 * 0.11 * seconds) >> 20)):
                f.write(os.urandom(1 << 20))
        for i, cell in enumerate(todo, 1):
            if (row := cell_try(site, cell, rates, doc, seconds, library)) is None:
                print(f"{i}/{len(todo)} {cell['id']}: FAILED", flush=True)
                continue
            doc["rows"].append(row)
            save(doc, o.output)
            print(f"{i}/{len(todo)} {row['id']}: {row['mark']} {row['stage'] or 'cannot tell'} ({row['confidence']}), by the parts {' or '.join(row['truth']) or 'not known'}, "
                  f"published {row['published']}; {row['bytes_per_s'] * 8 / 1e6:.0f} Mbit/s in {row['seconds']:.1f} s, idle {row['idle']:.2f}", flush=True)
    finally:
        site.close()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=8)
    a.add_argument("--only", default="")
    for flag in "short", "again", "table":
        a.add_argument(f"--{flag}", action="store_true")
    a.add_argument("output")
    o = a.parse_args()
    build = os.environ.get("B", "build/release")
    for missing, why in ((os.getuid() != 0 or not os.path.exists("/dev/net/tun"), "root and /dev/net/tun are needed"),
                         (not shutil.which("globus-gridftp-server"), "GridFTP's programs are not installed: conf/deps.sh gridftp"),
                         (not os.path.exists(f"{build}/lib/libglobus_xio_narrows_driver.so"), "the driver is not built: make gridftp")):
        if missing:
            print(why)
            return 77
    os.makedirs(o.output, exist_ok=True)
    path = f"{o.output}/results.json"
    doc = json.load(open(path)) if os.path.exists(path) and not o.again else {"rows": []}
    if not o.table:
        stop_kindly()
        try:
            experiment(o, doc, build)
        except KeyboardInterrupt:
            print(f"Stopped; the same command goes on behind the {len(doc['rows'])} cells of {path}")
            return 130
        except Failed as e:
            print(f"The experiment ends: {e}; the same command goes on behind the {len(doc['rows'])} cells of {path}")
            return 1
    tables(doc)
    print(f"Figures: {o.output}/index.html")
    return 1 if doc.get("failures") or any(r["mark"] == "W" for r in doc["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
