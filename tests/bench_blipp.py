# SPDX-License-Identifier: BSD-3-Clause
"""What does blipp cost beside the bare reading and parsing of the same files? blipp at 1 Hz towards a box, plain and with TLS,
and tests/host/blipp/bench_bare.c with the files that blipp keeps open, all in the same seconds, in pairs of windows.

    bench_blipp.py [--windows N] [--seconds N] [--away SECONDS]

Prints the processor time of a sample, by the scheduler's clock, and of 1,000 values, the median of the ratios of the windows, and resident
memory; with
--away also the memory of a blipp at 100 Hz whose box is not there. B names the build (build/release). Goals: 2.2 times plain, 2.8
with TLS, 4 MB, 16 MB while the box is away. Probes without files (netlink, statvfs, the clock's service) cost blipp, not the yardstick.
"""
import argparse, os, shutil, sqlite3, statistics, subprocess, sys, tempfile, time


def until(what, ready):
    for _ in range(1000):
        if ready():
            return
        time.sleep(0.02)
    sys.exit(f"bench_blipp: {what} does not happen")


def start(*argv):
    return subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def resident(pid, key="VmRSS"):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key))


def files_of(pid):
    names = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    return sorted(n.replace(f"/proc/{pid}/", "/proc/self/") for n in names if n.startswith(("/proc/", "/sys/")))


def box_start(tmp, build):
    state = f"{tmp}/state"
    box = start(f"{build}/bin/narrowsd", "-d", "-o", f"state-dir={state}", "-o", "listen-xsp=127.0.0.1/0", "-o",
        "listen-xsp-tls=127.0.0.1/0", "-o", "listen-http=127.0.0.1/0")
    until("the start of the box", lambda: os.path.exists(f"{state}/narrowsd.run"))
    with open(f"{state}/narrowsd.run") as f:
        ports = dict(words for words in (line.split() for line in f) if len(words) == 2)
    os.mkdir(f"{tmp}/tls")
    subprocess.run([f"{build}/bin/narrows", "-s", state, "enroll", "-o", f"{tmp}/tls", "tls"], check=True,
        stdout=subprocess.DEVNULL)
    return box, ports


def values_a_second(store, host):
    """Values of a host's agent, by the count of the box; the agent has ended."""
    db, found = sqlite3.connect(f"file:{store}?mode=ro", uri=True), []

    def is_closed():
        found[:] = db.execute("SELECT x.samples * 1e9 / (x.closed_ns - x.opened_ns) FROM xsp_session x JOIN host h ON h.id = x.host_id"
                              " WHERE h.name = ? AND x.closed_ns IS NOT NULL", (host,)).fetchall()
        return found != []
    until("the end of the agent's session", is_closed)
    db.close()
    return found[0][0]


def away(tmp, build, seconds):
    p = start(f"{build}/bin/blipp", "-b", "127.0.0.1/1", "-H", "away", "-i", "10ms", "-o", "budget=0")
    time.sleep(seconds)
    print(f"blipp at 100 Hz, box away for {seconds} s: at most {resident(p.pid, 'VmHWM') / 1e6:.1f} MB resident")
    p.terminate()
    p.wait()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--windows", type=int, default=5)
    a.add_argument("--seconds", type=int, default=10)
    a.add_argument("--away", type=int, default=0)
    a = a.parse_args()
    build = os.environ.get("B", "build/release")
    tmp, running = tempfile.mkdtemp(), []
    try:
        box, ports = box_start(tmp, build)
        running.append(box)
        common = [f"{build}/bin/blipp", "-o", "budget=0", "-i", "1s"]
        agents = {"plain": start(*common, "-H", "plain", "-b", ports["xsp"]),
            "TLS": start(*common, "-H", "tls", "-b", f"tls://{ports['xsp-tls']}", "-o", f"tls-dir={tmp}/tls")}
        running += agents.values()
        time.sleep(4)
        files = files_of(agents["plain"].pid)
        bare = start(f"{build}/tests/host/blipp/bench_bare", 3600, *files)
        running.append(bare)
        pids = {"bare": bare.pid, **{name: p.pid for name, p in agents.items()}}
        time.sleep(1.5)
        windows = []
        for _ in range(a.windows):
            before = {name: cpu_ns(pid) for name, pid in pids.items()}
            time.sleep(a.seconds)
            windows.append({name: (cpu_ns(pid) - before[name]) / a.seconds for name, pid in pids.items()})
        print(f"{len(files)} files, {a.windows} windows of {a.seconds} s; a sample of the bare reader: "
              f"{statistics.median(w['bare'] for w in windows) / 1e3:.0f} us")
        memory = {name: resident(pids[name]) for name in agents}
        agents["plain"].terminate()
        values = values_a_second(f"{tmp}/state/narrows.db", "plain")
        for name in agents:
            us = statistics.median(w[name] for w in windows) / 1e3
            print(f"blipp {name}: {us:.0f} us a sample of {values:.0f} values, {us / values:.2f} ms per 1,000, "
                  f"{statistics.median(w[name] / w['bare'] for w in windows):.2f} times the bare reader, {memory[name] / 1e6:.1f} MB resident")
        if a.away:
            away(tmp, build, a.away)
    finally:
        for p in running:
            p.terminate()
        for p in running:
            p.wait()
        shutil.rmtree(tmp)


main()
