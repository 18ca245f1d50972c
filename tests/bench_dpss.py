# SPDX-License-Identifier: BSD-3-Clause
"""How fast is the storage system beside web servers? One data set on three disk servers, the same bytes as three files behind
three nginx, all in memory; `dpss unload` and three curl in interleaved pairs, in changing order.

    bench_dpss.py [--pairs N] [--bytes N]

A line has medians of the seconds and of the processor time of servers and clients together, and the median of the ratios of the
pairs. B names the build (build/release). Exit status 0 without nginx or curl, which are then named.
"""
import argparse, os, resource, shutil, socket, statistics, subprocess, sys, tempfile, time

SERVERS, BLOCK = 3, 65536
TICK = os.sysconf("SC_CLK_TCK")


def until(what, ready):
    for _ in range(1000):
        if ready():
            return
        time.sleep(0.02)
    sys.exit(f"bench_dpss: {what} does not happen")


def start(argv, **kw):
    return subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


def run(*argv, **kw):
    return subprocess.run([str(a) for a in argv], check=True, stdout=subprocess.PIPE, text=True, **kw).stdout


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Dpss:
    name = "dpss"

    def __init__(self, tmp, build, n_bytes):
        self.bin, self.pids, self.running = f"{build}/bin", [], []
        slots = n_bytes // BLOCK // SERVERS + 64
        self.listening(tmp, "m", f"{self.bin}/dpss-master", "-s", f"{tmp}/m")
        for i in range(SERVERS):
            top = f"{tmp}/s{i}"
            os.makedirs(f"{top}/disk")
            with open(f"{top}.grant", "w") as f:
                f.write(run(f"{self.bin}/dpss-server", "-s", top, "-d", f"{top}/disk", "-g", "master", slots, BLOCK))
            port = self.listening(tmp, f"s{i}", f"{self.bin}/dpss-server", "-s", top, "-d", f"{top}/disk")
            run(f"{self.bin}/dpss", "server-add", f"127.0.0.1/{port}", f"{top}.grant")
        until("a server of the storage system", lambda: run(f"{self.bin}/dpss", "servers").count(" up ") == SERVERS)
        run(f"{self.bin}/dpss", "-b", BLOCK, "load", f"{tmp}/file", "set")

    def listening(self, tmp, name, *argv):
        path = f"{tmp}/{name}.port"
        os.makedirs(f"{tmp}/{name}", exist_ok=True)
        p = start([*argv, "-l", "127.0.0.1/0", "-P", path])
        self.running.append(p)
        self.pids.append(p.pid)
        until(name, lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        port = open(path).read().strip()
        if name == "m":
            os.environ["DPSS_MASTER"] = f"127.0.0.1/{port}"
        return port

    def read(self):
        return [start([f"{self.bin}/dpss", "unload", "set", "-"])]


class Nginx:
    name = "nginx"

    def __init__(self, tmp, n_bytes):
        self.pids, self.running, self.urls = [], [], []
        for i in range(SERVERS):
            top = f"{tmp}/n{i}"
            os.makedirs(top)
            part = n_bytes // SERVERS
            with open(f"{tmp}/file", "rb") as f, open(f"{top}/part", "wb") as g:
                f.seek(i * part)
                shutil.copyfileobj(f, g, part) if i + 1 == SERVERS else g.write(f.read(part))
            with socket.create_server(("127.0.0.1", 0)) as s:
                port = s.getsockname()[1]
            with open(f"{top}/conf", "w") as f:
                f.write(f"daemon off; master_process off; pid {top}/pid; error_log {top}/error; events {{ }} http {{ access_log off; "
                        f"sendfile on; tcp_nopush on; server {{ listen 127.0.0.1:{port}; root {top}; }} }}\n")
            p = start(["nginx", "-p", top, "-c", f"{top}/conf"])
            self.running.append(p)
            self.pids.append(p.pid)
            self.urls.append(f"http://127.0.0.1:{port}/part")
            until("nginx", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)

    def read(self):
        return [start(["curl", "-sf", "-o", "/dev/null", url]) for url in self.urls]


def measure(system):
    """Seconds, processor seconds of both ends."""
    before = sum(map(cpu_of, system.pids))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    if any(p.wait() for p in system.read()):
        sys.exit(f"bench_dpss: {system.name} fails")
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    clients = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return seconds, sum(map(cpu_of, system.pids)) - before + clients


def bench(systems, n_pairs, n_bytes):
    rows = {s.name: [] for s in systems}
    for s in systems:
        measure(s)
    for i in range(n_pairs):
        for s in systems[::-1 if i % 2 else 1]:
            rows[s.name].append(measure(s))
    for s in systems:
        took, used = (statistics.median(r[k] for r in rows[s.name]) for k in (0, 1))
        print(f"{s.name:6s} {n_bytes / took / 1e6:6.0f} MB/s  {took:.3f} s  processor {used:.3f} s")
    for k, what in enumerate(("rate", "processor time")):
        ratios = sorted((n[k] / d[k]) if k == 0 else d[k] / n[k] for d, n in zip(rows["dpss"], rows["nginx"]))
        print(f"{what} beside nginx {statistics.median(ratios):.2f} ({ratios[len(ratios) // 4]:.2f}..{ratios[-1 - len(ratios) // 4]:.2f})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pairs", type=int, default=15)
    p.add_argument("--bytes", type=int, default=600 << 20)
    a = p.parse_args()
    missing = [n for n in ("nginx", "curl") if shutil.which(n) is None]
    if missing:
        print(f"skipped: there is no {' and no '.join(missing)}")
        return
    tmp = tempfile.mkdtemp(dir="/dev/shm")
    systems = []
    try:
        run("sh", "-c", f"head -c {a.bytes} /dev/urandom >{tmp}/file")
        systems.append(Dpss(tmp, os.path.abspath(os.environ.get("B", "build/release")), a.bytes))
        systems.append(Nginx(tmp, a.bytes))
        os.remove(f"{tmp}/file")
        bench(systems, a.pairs, a.bytes)
    finally:
        for p in (p for s in systems for p in s.running):
            p.terminate()
        for p in (p for s in systems for p in s.running):
            p.wait()
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
