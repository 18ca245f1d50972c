# SPDX-License-Identifier: BSD-3-Clause
"""The figures of Feng, Gardner and others' MAGNET (2007) with today's kernel and tcpdump: UDP streams of iperf3 between two network
namespaces over veth, sender and receiver on a processor each.

    experiment-magnet.py [--short] [--pairs N] [--seconds S] OUTPUT_DIRECTORY

Figure 3: goodput and reader CPU with MAGNET and tcpdump; 4: the rate of logging; 5: sampling; 6: filtering a second stream. Each
configuration runs in pairs with a neighbouring run without anything, in changing order; the tables have medians of ratios, and
report.txt says which of the paper's claims hold here. B names the build (build/release). Needs root, network namespaces, iperf3 and
tcpdump; exit status 77 without them.
"""
import argparse, json, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

FOUR = "socket.tx,ip.tx,access.tx,access.rx"
PORT, PORT_OTHER = 5201, 5202


class Failed(Exception):
    pass


def run(*argv, check=True):
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, argv))}: {done.stdout.strip()}")
    return done.stdout


class World:
    def __init__(self, build, seconds):
        self.bin, self.tests, self.seconds = os.path.abspath(f"{build}/bin"), os.path.abspath(f"{build}/tests/host/magnet"), seconds
        self.a, self.b = f"nwmga{os.getpid()}", f"nwmgb{os.getpid()}"
        self.tmp = tempfile.mkdtemp(dir="/dev/shm")

    def __enter__(self):
        for n in (self.a, self.b):
            run("ip", "netns", "add", n)
        run("ip", "-n", self.a, "link", "add", "v0", "mtu", "9000", "type", "veth", "peer", "name", "v1", "netns", self.b, "mtu", "9000")
        for n, dev, address in ((self.a, "v0", "10.94.0.1/24"), (self.b, "v1", "10.94.0.2/24")):
            run("ip", "-n", n, "addr", "add", address, "dev", dev)
            run("ip", "-n", n, "link", "set", dev, "up")
        return self

    def __exit__(self, *why):
        for n in (self.a, self.b):
            run("ip", "netns", "del", n, check=False)
        shutil.rmtree(self.tmp, ignore_errors=True)

    def inside(self, netns, cpu, *argv, **kw):
        return subprocess.Popen(["ip", "netns", "exec", netns, "taskset", "-c", str(cpu), *map(str, argv)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)

    def server(self, port):
        return self.inside(self.b, 1, "iperf3", "-s", "-1", "-p", port)

    def client(self, port, rate):
        return self.inside(self.a, 0, "iperf3", "-c", "10.94.0.2", "-p", port, "-u", "-b", rate, "-l", 1472, "-t", self.seconds, "-J",
                           "-w", "4M")

    def observe(self, what):
        """Starts magnet or tcpdump in the sender's namespace; None for nothing."""
        if what is None:
            return None
        path = os.path.join(self.tmp, "out")
        if what[0] == "tcpdump":
            argv = ["tcpdump", "-i", "v0", "-s", what[1], "-B", 8192, "-w", path, *what[2:]]
            ready = lambda p: "listening on" in p.stderr.readline()
        else:
            argv = [f"{self.bin}/magnet", "record", "-o", path, *what]
            ready = lambda p: wait_for(path)
        if os.path.exists(path):
            os.unlink(path)
        p = self.inside(self.a, 1, *argv)
        ready(p)
        self.cpu_before = self.cpu(p)
        return p

    @staticmethod
    def cpu(p):
        with open(f"/proc/{p.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stream(self, what, rate="0", other=None):
        """One run: goodput in Mbit/s of the stream (and of the other one), CPU of the observer, what was kept and lost."""
        servers = [self.server(PORT)] + ([self.server(PORT_OTHER)] if other else [])
        time.sleep(0.3)
        observer = self.observe(what)
        clients = ([self.client(PORT, other)] if other else []) + [self.client(PORT_OTHER if other else PORT, rate)]
        if other:
            servers.reverse()
        out = [json.loads(c.communicate()[0]) for c in clients]
        cpu, kept, lost = self.end(observer)
        for s in servers:
            s.wait()
        sums = [o["end"].get("sum") for o in out]
        if any(s is None for s in sums):
            raise Failed(str(out[-1].get("error", "iperf3 failed")))
        received = [o["end"].get("sum_received", o["end"]["sum"])["bits_per_second"] / 1e6 for o in out]
        packets = sums[-1]["packets"]
        return {"goodput": received[-1], "other": received[0] if other else 0, "cpu": cpu / self.seconds, "kept": kept, "lost": lost,
                "packets": packets}

    def end(self, observer):
        if observer is None:
            return 0, 0, 0
        time.sleep(0.3)
        cpu = self.cpu(observer) - self.cpu_before  # without the start
        os.kill(observer.pid, signal.SIGINT)
        err = observer.communicate()[1]
        if m := re.search(r"(\d+) records, (\d+) lost", err):
            return cpu, int(m[1]), int(m[2])
        kept, lost = re.search(r"(\d+) packets? captured", err), re.search(r"(\d+) packets? dropped by kernel", err)
        return cpu, int(kept[1]) if kept else 0, int(lost[1]) if lost else 0


def wait_for(path):
    end = time.monotonic() + 20
    while not (os.path.exists(path) and os.path.getsize(path) > 0):
        if time.monotonic() > end:
            raise Failed("the recording does not begin")
        time.sleep(0.02)


def pairs(world, name, what, n, rate="0", other=None):
    ratio, rows = [], []
    for i in range(n):
        two = {}
        for w in ((None, "with") if i % 2 else ("with", None)):
            two[w] = world.stream(what if w else None, rate, other)
        ratio.append(two["with"]["goodput"] / two[None]["goodput"])
        rows.append(two["with"])
    mid = lambda key: statistics.median(r[key] for r in rows)
    lost = sum(r["lost"] for r in rows) / max(1, sum(r["lost"] + r["kept"] for r in rows))
    row = {"configuration": name, "goodput_ratio": statistics.median(ratio), "goodput_mbit_s": mid("goodput"), "reader_cpu": mid("cpu"),
           "kept_per_packet": statistics.median(r["kept"] / r["packets"] for r in rows), "lost_share": lost,
           "other_mbit_s": mid("other")}
    print(f"{name:36s} {row['goodput_ratio']:.3f} x  {row['goodput_mbit_s']:7.0f} Mbit/s  reader {100 * row['reader_cpu']:5.1f} %  "
          f"{row['kept_per_packet']:.3f} kept a packet, {100 * lost:.1f} % lost", flush=True)
    return row


def write(out, name, rows):
    with open(os.path.join(out, name), "w") as f:
        f.write(",".join(rows[0]) + "\n")
        for r in rows:
            f.write(",".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in r.values()) + "\n")


def logging(world, out):
    rows = []
    for line in run(f"{world.tests}/bench_ring").splitlines():
        if m := re.match(r"([\d,]+) bytes\s+([\d.]+) M records/s\s+([\d.]+) GB/s", line):
            rows.append({"record_bytes": int(m[1].replace(",", "")), "records_per_s": float(m[2]) * 1e6, "bytes_per_s": float(m[3]) * 1e9})
        print(line, flush=True)
    write(out, "figure4.csv", rows)
    return rows


def statements(f3, f4, f5, f6):
    by = {r["configuration"]: r for r in f3 + f5 + f6}
    four, dump = by["4 events"], by["tcpdump, 96 bytes"]
    best = max(r["bytes_per_s"] for r in f4)
    times = dump["reader_cpu"] / four["reader_cpu"] if four["reader_cpu"] > 0 else float("inf")
    forty, whole = by["4 x 4,000 bytes, 1 in 40"], by["4 x 4,000 bytes, all"]
    magnet, other = by["magnet, port"], by["tcpdump, port, 96 bytes"]
    drop = lambda r: 1 - r["goodput_ratio"]
    say = lambda holds, claim, here: f"{'holds' if holds else 'DOES NOT HOLD':14s} {claim}\n{'':14s} here: {here}"
    return [
        say(times >= 20, "the reader takes 25 times less processor time than tcpdump",
            f"{times:.1f} times less with four events a packet ({100 * four['reader_cpu']:.1f} % against {100 * dump['reader_cpu']:.1f} %)"),
        say(four["goodput_ratio"] > 0.98, "the impact of four events a packet on the goodput is negligible",
            f"{four['goodput_ratio']:.3f} of the goodput; tcpdump {dump['goodput_ratio']:.3f}"),
        say(best >= 306e6, "306 MB/s are logged without loss", f"{best / 1e6:.0f} MB/s without loss"),
        say(forty["goodput_ratio"] >= 0.94, "one in 40 leaves 94 % of the goodput",
            f"{100 * forty['goodput_ratio']:.0f} %, with every event {100 * whole['goodput_ratio']:.0f} %"),
        say(drop(other) >= 1.5 * drop(magnet), "filtering with tcpdump costs the stream 150 % to 225 % more than with MAGNET",
            f"{100 * drop(other):.0f} % of the goodput against {100 * drop(magnet):.0f} %"),
        say(other["lost_share"] >= 0.01, "tcpdump loses packets while it filters (1 % to 24 %)",
            f"{100 * other['lost_share']:.2f} % lost; MAGNET {100 * magnet['lost_share']:.2f} %"),
    ]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--short", action="store_true", help="one pair of one second each: whether all of it runs")
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--seconds", type=int, default=3)
    p.add_argument("output")
    o = p.parse_args()
    if o.short:
        o.pairs, o.seconds = 1, 1
    for program in ("ip", "iperf3", "tcpdump", "taskset"):
        if shutil.which(program) is None:
            print(f"experiment-magnet: {program} is missing")
            return 77
    if os.geteuid() != 0 or os.cpu_count() < 2:
        print("experiment-magnet: root and two processors are needed")
        return 77
    os.makedirs(o.output, exist_ok=True)
    build = os.environ.get("B", "build/release")
    if (why := subprocess.run([f"{build}/bin/magnet", "points", "-t", "0.01"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)).returncode:
        print(f"experiment-magnet: {why.stderr.strip()}")
        return 77
    with World(build, o.seconds) as w:
        print("Figure 3: goodput and CPU of the reader", flush=True)
        f3 = [pairs(w, *c, o.pairs) for c in (
            ("nothing", None), ("1 event", ("-p", "access.tx")), ("4 events", ("-p", FOUR)), ("tcpdump, 96 bytes", ("tcpdump", 96)),
            ("tcpdump, whole packets", ("tcpdump", 0)))]
        write(o.output, "figure3.csv", f3)
        print("Figure 4: the rate of logging", flush=True)
        f4 = logging(w, o.output)
        print("Figure 5: sampling of four records of 4,000 bytes a packet", flush=True)
        f5 = [pairs(w, f"4 x 4,000 bytes, {'all' if n == 1 else f'1 in {n}'}", ("-p", FOUR, "-B", 3960, "-b", "32M", "-s", n), o.pairs)
              for n in ((1, 40) if o.short else (1, 5, 10, 20, 40, 100))]
        write(o.output, "figure5.csv", f5)
        print("Figure 6: filtering of a second stream beside one of 300 Mbit/s", flush=True)
        f6 = [pairs(w, *c, o.pairs, other="300M") for c in (
            ("magnet, port", ("-p", FOUR, "-f", f"port={PORT_OTHER}")), ("magnet, no filter", ("-p", FOUR)),
            ("tcpdump, port, 96 bytes", ("tcpdump", 96, f"port {PORT_OTHER}")),
            ("tcpdump, port, 500 bytes", ("tcpdump", 500, f"port {PORT_OTHER}")))]
        write(o.output, "figure6.csv", f6)
    report = "\n".join(["The claims of the paper, here:", *statements(f3, f4, f5, f6)])
    with open(os.path.join(o.output, "report.txt"), "w") as f:
        f.write(report + "\n")
    print(report)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as why:
        sys.exit(f"experiment-magnet: {why}")
