# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of Johnston and others (1996) with today's parts: block lists over a wide-area network whose last switch has a small
buffer. One server, two and three with 13 KB, three with 600 KB, three paced at a third of the rate with 13 KB.

    experiment-dpss.py [--short] [--seconds S] OUTPUT_DIRECTORY

B names the build (build/release). Needs root, network namespaces and /dev/net/tun; exit status 77 without them. Each case leaves the
logs of client, master, servers and switch in the common format; a box imports them, and its analysis of the lifelines stands beside
the switch's own count of what it dropped, which nwswitch asks for by SNMP ten times a second (where nwswitch is built).
"""
import argparse, datetime, glob, html, json, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

MBIT, DELAY_MS, MTU, SMALL, LARGE = 100, 5, 9180, 13000, 600000
BLOCK = 65536
CLIENT = "10.235.0.100"
CASES = (  # name, servers, buffer, rate of each server's interface in Mbit/s
    ("one server, 13 KB", 1, SMALL, MBIT),
    ("two servers, 13 KB", 2, SMALL, MBIT),
    ("three servers, 13 KB", 3, SMALL, MBIT),
    ("three servers, 600 KB", 3, LARGE, MBIT),
    ("three servers, paced, 13 KB", 3, SMALL, MBIT / 3),
)


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
    with open(path) as f:
        return f.read()


def address(server):
    return f"10.235.0.{server}"


class World:
    """Namespaces for three servers and a client, the network between them, and the programs of the storage system."""

    def __init__(self, build, where, blocks, state):
        self.blocks, self.state = blocks, state
        self.bin, self.rig, self.where = os.path.abspath(f"{build}/bin"), os.path.abspath(f"{build}/tests/rig"), where
        self.tag = f"nwdpss{os.getpid()}"
        self.programs, self.servers = [], []
        self.names = [f"{self.tag}s{i}" for i in (1, 2, 3)] + [f"{self.tag}c"]

    def __enter__(self):
        try:
            self.network()
            self.box()
            self.storage()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for p in reversed(self.programs):
            if p.poll() is None:
                p.terminate()
        for p in self.programs:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
        for ns in self.names:
            run("ip", "netns", "del", ns, check=False)

    def start(self, ns, name, *argv, **kw):
        """A program in a namespace, on a host of its own name."""
        err = open(f"{self.where}/{name}.err", "a")
        script = f'hostname "{name}"; exec "$@"'
        p = subprocess.Popen(["ip", "netns", "exec", ns, "unshare", "--uts", "sh", "-c", script, "sh", *map(str, argv)], stdout=err, stderr=err, **kw)
        self.programs.append(p)
        return p

    def network(self):
        for ns in self.names:
            run("ip", "netns", "add", ns)
            run("ip", "-n", ns, "link", "set", "lo", "up")
        self.parameters(SMALL, MBIT)
        places = [f"{ns}={address(i + 1)}" for i, ns in enumerate(self.names[:3])] + [f"{self.names[3]}={CLIENT}"]
        self.wan = subprocess.Popen([f"{self.rig}/wan", f"{self.where}/wan.parameters", f"{self.where}/switch.log", f"{self.where}/ports", *places], stdout=subprocess.PIPE, text=True)
        self.programs.append(self.wan)
        if self.wan.stdout.readline() != "ready\n":
            raise Failed("the network does not start")
        for i, ns in enumerate(self.names):
            run("ip", "-n", ns, "addr", "add", f"{address(i + 1) if i < 3 else CLIENT}/24", "dev", "wan0")
            run("ip", "-n", ns, "link", "set", "wan0", "mtu", MTU, "txqueuelen", 1000, "up")

    def parameters(self, buffer, interface):
        with open(f"{self.where}/wan.parameters", "w") as f:
            f.write(f"{interface:.4f} {MBIT} {DELAY_MS} {buffer}\n")

    def network_set(self, buffer, interface):
        self.parameters(buffer, interface)
        self.wan.send_signal(signal.SIGHUP)
        time.sleep(0.2)

    def dropped(self):
        """What the switch has dropped so far, of each server: the counters of the emulator, which the box has, too, by now."""
        self.wan.send_signal(signal.SIGUSR1)
        lines = [self.wan.stdout.readline() for _ in range(3)]
        counted = [{k: int(v) for k, v in (w.split("=") for w in line.split())} for line in lines]
        if self.by_snmp:
            until(20, "the switch's answer by SNMP", lambda: self.port_dropped() >= sum(c["dropped"] for c in counted))
        return counted

    def box(self):
        """A box, and the switch's counters on their way to it by SNMP."""
        here = dict(stdout=subprocess.DEVNULL, stderr=open(f"{self.where}/box.err", "a"))
        self.programs.append(subprocess.Popen([f"{self.bin}/narrowsd", "-d", "-o", f"state-dir={self.state}", "-o", "listen-xsp=127.0.0.1/0", "-o",
                                               "listen-http=127.0.0.1/0"], **here))
        run_file = f"{self.state}/narrowsd.run"
        until(20, "the box's start", lambda: os.path.exists(run_file))
        self.by_snmp = os.path.exists(f"{self.bin}/nwswitch")
        if not self.by_snmp:
            print("there is no nwswitch: the switch is not asked by SNMP")
            return
        agent = os.path.join(os.path.dirname(os.path.abspath(__file__)), "snmp_agent.py")
        self.programs.append(subprocess.Popen([sys.executable, agent, f"{self.where}/agent", f"{self.where}/ports", "wan"], **here))
        until(20, "the agent's start", lambda: os.path.exists(f"{self.where}/agent"))
        conf = f"{self.where}/switch.conf"
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(f"switch wan 127.0.0.1:{read(f'{self.where}/agent')} v2c wan\ninterval 100 ms\n" +
                    "".join(f"port wan {i + 1} {host}\n" for i, host in enumerate(("server1", "server2", "server3", "client"))))
        xsp = re.search(r"^xsp (.*)$", read(run_file), re.M)[1]
        self.programs.append(subprocess.Popen([f"{self.bin}/nwswitch", "-f", conf, "-b", xsp], **here))
        until(20, "the first answer of the switch", lambda: self.port_dropped() is not None)

    def port_dropped(self):
        """What the output to the client has dropped, as far as the box knows by SNMP."""
        rows = self.port_samples("ORDER BY t_ns DESC LIMIT 1")
        return rows[0][1] if rows else None

    def port_samples(self, tail):
        rows = run(f"{self.bin}/narrows", "-s", self.state, "sql", "--csv", "SELECT t_ns, value FROM v_sample WHERE event_type = 'ps:switch:port' "
                   f"AND subject LIKE '%\"client\"%' AND field = 'discards_out' {tail}")
        return [(int(t) / 1e9, int(float(v))) for t, v in re.findall(r"^(\d+),([\d.e+]+)$", rows, re.M)]

    def storage(self):
        for i in (1, 2, 3):
            os.makedirs(f"{self.where}/s{i}/disk")
            secret = run(f"{self.bin}/dpss-server", "-s", f"{self.where}/s{i}", "-d", f"{self.where}/s{i}/disk", "-g", "master", 1600, BLOCK)
            with open(f"{self.where}/s{i}/secret", "w") as f:
                f.write(secret)
        self.servers_start()
        os.makedirs(f"{self.where}/master")
        self.start(self.names[3], "master", f"{self.bin}/dpss-master", "-s", f"{self.where}/master", "-l", "127.0.0.1/7071", "-P", f"{self.where}/port", "-L", f"{self.where}/master.log")
        until(10, "the master's start", lambda: os.path.exists(f"{self.where}/port"))
        for i in (1, 2, 3):
            self.client("dpss", "server-add", f"{address(i)}/7070", f"{self.where}/s{i}/secret")
        self.up()
        with open(f"{self.where}/terrain", "wb") as f:
            f.write(os.urandom(BLOCK * self.blocks))
        for n, servers in ((1, "1"), (2, "1,2"), (3, "1,2,3")):
            self.client("dpss", "-b", BLOCK, "-w", servers, "load", f"{self.where}/terrain", f"terrain{n}")

    def servers_start(self):
        self.servers = [self.start(self.names[i - 1], f"server{i}", f"{self.bin}/dpss-server", "-p", "-s", f"{self.where}/s{i}", "-d", f"{self.where}/s{i}/disk",
                                   "-l", f"{address(i)}/7070", "-L", f"{self.where}/server{i}.log") for i in (1, 2, 3)]

    def up(self):
        until(20, "the servers' start", lambda: len(re.findall(r" up ", self.client("dpss", "servers"))) == 3)

    def client(self, program, *argv):
        return run("ip", "netns", "exec", self.names[3], "unshare", "--uts", "sh", "-c", 'hostname client; exec "$@"', "sh", f"{self.bin}/{program}", *argv)


def logs_take(world, out):
    """The logs of a case, each by itself; programs go on appending to the same files."""
    os.makedirs(out)
    for path in sorted(glob.glob(f"{world.where}/*.log")):
        shutil.copy(path, out)
        os.truncate(path, 0)


def quiet(world):
    """The servers write no events any more."""
    sizes = [os.path.getsize(p) for p in glob.glob(f"{world.where}/*.log")]
    time.sleep(1)
    return sizes == [os.path.getsize(p) for p in glob.glob(f"{world.where}/*.log")]


def case_run(world, out, case, seconds):
    name, servers, buffer, interface = case
    world.network_set(buffer, interface)
    until(30, "the end of the last case", lambda: quiet(world))
    logs_take(world, tempfile.mkdtemp() + "/before")
    before, snmp_before = world.dropped(), world.port_dropped() if world.by_snmp else None
    flown = world.client("tv_sim", "-t", seconds, "-r", 5, "-n", 30, "-w", 32, "-L", f"{world.where}/client.log", f"terrain{servers}")
    middle, snmp_middle = world.dropped(), world.port_dropped() if world.by_snmp else None
    time.sleep(0.5)  # for what the servers have not written to their logs yet
    logs_take(world, out)
    begin = time.monotonic()
    world.client("dpss", "verify", f"terrain{servers}")
    rate = BLOCK * world.blocks * 8 / 1e6 / (time.monotonic() - begin)
    said = re.match(r"(\d+) lists, (\d+) blocks asked for, (\d+) received", flown)
    return {"case": name, "servers": servers, "buffer_bytes": buffer, "interface_mbit_per_s": round(interface, 1), "asked": int(said[2]), "received": int(said[3]),
            "read_mbit_per_s": round(rate, 1), "dropped": [m["dropped"] - b["dropped"] for b, m in zip(before, middle)],
            "dropped_snmp": snmp_middle - snmp_before if world.by_snmp else None, "directory": out}


# --- what a box makes of the logs ---

def drops_read(path):
    """The switch's own events: (seconds since 1970, server)."""
    with open(path) as f:
        words = [line.split("; ") for line in f]
    return [(int(w[2]) + int(w[3]) / 1e9, w[4]) for w in words]


def seconds(text):
    whole, fraction = text.rstrip("Z").split(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + fraction)


def increase(samples, begin, end):
    """By how much a counter grew from the last sample before the begin to the first after the end; None if there are no such two."""
    before, after = [v for t, v in samples if t <= begin], [v for t, v in samples if t >= end]
    return after[0] - before[-1] if before and after else None


def stalls_prove(document, drops, samples):
    """The longest stalls that the analysis has found, each with the packets of that server which the switch dropped between 100 ms
    before the stall and its end, and with what the counter of the port says by SNMP."""
    out = []
    for s in sorted(document["stalls"], key=lambda s: -s["stood_s"])[:5]:
        begin, end = seconds(s["blocked"]), seconds(s["unblocked"])
        out.append({**s, "dropped": sum(begin - 0.1 <= t <= end and server == s["server"] for t, server in drops),
                    "port_dropped": increase(samples, begin - 0.1, end)})
    return out


def case_analyze(world, result):
    """A session of the box for the case: its lifelines as a figure, a table and a document; the finding in a sentence."""
    narrows, where = [f"{world.bin}/narrows", "-s", world.state], result["directory"]
    with open(f"{where}/all.log", "w") as f:
        for path in sorted(glob.glob(f"{where}/*.log")):
            if not path.endswith("/all.log"):
                f.write(read(path))
    run(*narrows, "import", "-n", result["case"], f"{where}/all.log")
    for kind, name in (("--svg", "svg"), ("--csv", "csv"), ("--json", "json")):
        run(*narrows, "lifelines", kind, "-o", f"{where}/lifelines.{name}", "last")
    document = json.loads(read(f"{where}/lifelines.json"))
    result.update(session=document["session"], sentence=document["sentence"], finished=document["finished"], flushed=document["flushed"],
                  stalls=stalls_prove(document, drops_read(f"{where}/switch.log"), world.port_samples("ORDER BY t_ns") if world.by_snmp else []))


def page(results):
    """The figures on one page."""
    rows = "".join(f"<h2>{html.escape(r['case'])}</h2><p>{html.escape(r['sentence'])}</p><p>The switch dropped {sum(r['dropped'])} packets; "
                   f"{r['received']} of {r['asked']} blocks came, {r['read_mbit_per_s']} Mbit/s were read.</p>"
                   f"<img alt='lifelines' src='{os.path.basename(r['directory'])}/lifelines.svg'>" for r in results)
    return f"<!doctype html><meta charset=utf-8><title>Lifelines behind a small buffer</title><h1>Lifelines behind a small buffer</h1><pre>{html.escape(report(results))}</pre>{rows}\n"


def report(results):
    """The table, and what the larger buffer gains where the small one was in the way."""
    out = ["case                          interface    asked  received   read Mbit/s   dropped by the switch, of server 1 / 2 / 3; of all by SNMP"]
    for r in results:
        out.append(f"{r['case']:<28} {r['interface_mbit_per_s']:>7} Mb/s {r['asked']:>6} {r['received']:>9} {r['read_mbit_per_s']:>13}   "
                   + " / ".join(str(n) for n in r["dropped"]) + (f"; {r['dropped_snmp']}" if r["dropped_snmp"] is not None else ""))
    for r in results:
        out.append(f"\n{r['case']}: {r['sentence']}")
        out += [f"  server {s['server']} stood still for {s['stood_s']:.2f} s from {s['blocked'][11:23]} to {s['unblocked'][11:23]} ({s['from']} to {s['to']}); "
                f"the switch dropped {s['dropped']} of its packets" +
                (f", the port {s['port_dropped']} of all (SNMP)" if s["port_dropped"] is not None else "") for s in r["stalls"]]
    by = {r["case"]: r for r in results}
    small, large = by["three servers, 13 KB"], by["three servers, 600 KB"]
    out.append(f"\nThree servers read {large['read_mbit_per_s'] / small['read_mbit_per_s']:.2f} times as fast with 600 KB in the switch as with 13 KB, "
               f"and {large['received'] - small['received']} more of {large['asked']} blocks came before the next list took their place.")
    return "\n".join(out) + "\n"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--short", action="store_true", help="two cases of three seconds")
    a.add_argument("--seconds", type=float, default=8)
    a.add_argument("output")
    o = a.parse_args()
    if os.getuid() != 0 or not os.path.exists("/dev/net/tun") or run("unshare", "--net", "true", check=False):
        print("needs root, network namespaces and /dev/net/tun")
        return 77
    build = os.environ.get("B", "build/release")
    shutil.rmtree(o.output, ignore_errors=True)
    os.makedirs(o.output)
    results = []
    with tempfile.TemporaryDirectory() as where, World(build, where, 160 if o.short else 512, os.path.abspath(f"{o.output}/box")) as world:
        for i, case in enumerate(CASES[2:4] if o.short else CASES):
            results.append(case_run(world, f"{o.output}/case{i + 1}", case, 3 if o.short else o.seconds))
            case_analyze(world, results[-1])
            print(results[-1]["case"], results[-1]["sentence"], flush=True)
    with open(f"{o.output}/results.json", "w") as f:
        json.dump(results, f, indent=1)
    with open(f"{o.output}/index.html", "w") as f:
        f.write(page(results))
    with open(f"{o.output}/report.txt", "w") as f:
        f.write(report(results))
    print(report(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
