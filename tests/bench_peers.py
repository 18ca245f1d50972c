# SPDX-License-Identifier: BSD-3-Clause
"""Every row of what users wait for, in one run: the goal, what this build needs, what the best peer needs, and the least that this
machine can do. `make bench PEERS=1` installs the peers: ClickHouse, Prometheus and InfluxDB of Debian 12.

    bench_peers.py [--recording FILE]... [--base COMMIT] [--rounds N] [--store FILE] [--series N] [--only ROW]

A recording is a file as of tests/recording.h; "made-up", which is also taken without one, is a set of counters and noise, and says less.
The rows of recordings are printed for each of them. "of goal" is what this build needs, as a multiple of the goal: at most 1 is reached.
COMMIT is built beside this build, and stores and answers each recording in turns with this build, judges, and measures programs: a second
table has the medians of N rounds of both. Processor seconds are those of the measured program alone, so that other work on the machine
adds noise, but no seconds. A peer that is not installed is named and left out, and so is the judgement of real sessions without a store
of them (a box's narrows.db, which is not changed). ROW: peers, ingest, sql, statistics, turns, lists, judging, nwrun, base or blipp.
The peers get the same samples in blocks of ten seconds, without syncing: that is their fastest way.
"""
import argparse, array, os, re, shutil, signal, socket, statistics, struct, subprocess, sys, tempfile, time
import urllib.parse, urllib.request

B = os.environ.get("B", "build/release")
SECOND = 10**9


def say(work, goal, here, peer="", limit=""):
    parts = [re.search(r"-?[\d.]*\d", text) for text in (goal, here)]
    ratio = f"{float(parts[1][0]) / float(parts[0][0]):.2f}" if all(parts) else "-"
    print(f"{work:<58} {goal:>7} {here:>10} {ratio:>8} {peer:>18} {limit:>27}", flush=True)


def bench(name, *args, env=None):
    p = subprocess.run([f"{B}/tests/{name}", *map(str, args)], env={**os.environ, **(env or {})}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if p.returncode != 0:
        sys.exit(f"bench_peers: {name}: {p.stdout[-500:]}")
    return p.stdout


def numbers(text, start):
    line = next((line for line in text.splitlines() if line.startswith(start)), None)
    if line is None:
        sys.exit(f"bench_peers: no line {start!r} in\n{text}")
    return [float(x) for x in re.findall(r"-?\d+\.?\d*", line[len(start):])]


# --- the recording ---

class Recording:
    """groups: of each (times, columns); series count over all groups in order."""

    def __init__(self, name):
        with open(name, "rb") as f:
            data = f.read()
        if data[:8] != b"NWPERF1\n":
            sys.exit(f"bench_peers: {name} is no unpacked recording")
        at, self.groups = 16, []
        for _ in range(struct.unpack_from("<I", data, 8)[0]):
            n_rows, n_columns = struct.unpack_from("<II", data, at)
            at += 8
            arrays = []
            for k in range(1 + n_columns):
                a = array.array("d" if k else "q")
                a.frombytes(data[at:at + 8 * n_rows])
                arrays.append(a)
                at += 8 * n_rows
            self.groups.append((arrays[0], arrays[1:]))
        self.n_samples = sum(len(t) * len(c) for t, c in self.groups)
        self.n_series = sum(len(c) for _, c in self.groups)
        self.begin = min(t[0] for t, _ in self.groups if t)
        self.end = max(t[-1] for t, _ in self.groups if t)

    def blocks(self, step):
        """Yields lists of (series, time, value)."""
        at = [0] * len(self.groups)
        for until in range(self.begin + step, self.end + step + 1, step):
            block, series = [], 0
            for g, (t, columns) in enumerate(self.groups):
                i = at[g]
                while at[g] < len(t) and t[at[g]] < until:
                    at[g] += 1
                for k, c in enumerate(columns):
                    block += [(series + k, t[j], c[j]) for j in range(i, at[g])]
                series += len(columns)
            yield block


def invented(path):
    """Moved bytes, counters, constants and noise at 1 Hz, as recording_invent() of tests/recording.h has them."""
    import random
    r, n_rows, n_columns, n_groups = random.Random(1), 1600, 16, 48
    with open(path, "wb") as f:
        f.write(b"NWPERF1\n" + struct.pack("<II", n_groups, 0))
        for g in range(n_groups):
            f.write(struct.pack("<II", n_rows, n_columns))
            times = [1700000000 * SECOND + i * SECOND + r.randrange(2000000) for i in range(n_rows)]
            f.write(struct.pack(f"<{n_rows}q", *times))
            for c in range(n_columns):
                counter, column = 1e6 * r.random(), []
                for _ in range(n_rows):
                    counter += r.randrange(300)
                    column.append(65536.0 * (1 + r.randrange(16)) if c == 0 else c * 4096.0 if c < 5 else counter if c < 10 else r.random() * 1e-3)
                f.write(struct.pack(f"<{n_rows}d", *column))


# --- peers ---

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def http(url, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=120) as r:
            return r.read()
    except urllib.error.HTTPError as e:
        sys.exit(f"bench_peers: {url}: {e.read()[:500]!r}")


def median_ms(ask, times=7):
    took = []
    for _ in range(times + 1):
        begin = time.monotonic()
        ask()
        took.append((time.monotonic() - begin) * 1e3)
    return statistics.median(took[1:])


class Server:
    def __init__(self, argv, ready):
        self.p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(ready, timeout=1).read()
                return
            except OSError:
                if self.p.poll() is not None:
                    break
                time.sleep(0.1)
        self.end()
        raise SystemExit(f"bench_peers: {argv[0]} does not start")

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        try:
            self.p.wait(20)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


def tree_bytes(top):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(top) for f in files)


def clickhouse(rec, tmp):
    """CPU seconds per million, bytes a sample, ms of q3 and q4."""
    top, port, tcp = f"{tmp}/clickhouse", free_port(), free_port()
    os.makedirs(top)
    with open(f"{top}/users.xml", "w") as f:
        f.write("<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>"
                "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>")
    with open(f"{top}/config.xml", "w") as f:
        f.write(f"<yandex><logger><level>error</level><log>{top}/log</log><errorlog>{top}/errors</errorlog></logger><http_port>{port}"
                f"</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host><path>{top}/</path><tmp_path>{top}/tmp/</tmp_path>"
                f"<flags_path>{top}/flags/</flags_path><format_schema_path>{top}/formats/</format_schema_path><users_config>{top}/users.xml"
                "</users_config><mark_cache_size>100000000</mark_cache_size><default_profile>default</default_profile>"
                "<default_database>default</default_database></yandex>")
    url = f"http://127.0.0.1:{port}/"
    s = Server(["clickhouse-server", f"--config-file={top}/config.xml"], url + "ping")
    try:
        http(url, b"CREATE TABLE s(series UInt32, t Int64, v Float64) ENGINE = MergeTree() PARTITION BY tuple() ORDER BY (series, t)")
        before, pack = cpu_s(s.p.pid), struct.Struct("<Iqd").pack
        insert = url + "?query=" + urllib.parse.quote("INSERT INTO s FORMAT RowBinary")
        for block in rec.blocks(10 * SECOND):
            http(insert, b"".join(pack(*row) for row in block))
        http(url, b"OPTIMIZE TABLE s FINAL")
        cpu = (cpu_s(s.p.pid) - before) * 1e6 / rec.n_samples
        if int(http(url, b"SELECT count() FROM s")) != rec.n_samples:
            sys.exit("bench_peers: ClickHouse has lost rows")
        size = int(http(url, b"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 's'")) / rec.n_samples
        q3 = median_ms(lambda: http(url, b"SELECT series, argMax(v, t) FROM s GROUP BY series FORMAT CSV"))
        q4 = median_ms(lambda: http(url, b"SELECT series, intDiv(t, 60000000000) AS m, count(), avg(v), min(v), max(v), stddevSamp(v) FROM s "
                                         b"GROUP BY series, m ORDER BY series, m FORMAT CSV"))
        return cpu, size, q3, q4
    finally:
        s.end()


def influxdb(rec, tmp):
    top, port = f"{tmp}/influxdb", free_port()
    os.makedirs(top)
    with open(f"{top}/conf", "w") as f:
        f.write(f'reporting-disabled = true\nbind-address = "127.0.0.1:{free_port()}"\n[meta]\ndir = "{top}/meta"\n[data]\ndir = "{top}/data"\n'
                f'wal-dir = "{top}/wal"\n[http]\nbind-address = "127.0.0.1:{port}"\nlog-enabled = false\n[monitor]\nstore-enabled = false\n')
    s = Server(["influxd", "-config", f"{top}/conf"], f"http://127.0.0.1:{port}/ping")
    try:
        http(f"http://127.0.0.1:{port}/query?q=CREATE+DATABASE+d", b"")
        before = cpu_s(s.p.pid)
        for block in rec.blocks(10 * SECOND):
            http(f"http://127.0.0.1:{port}/write?db=d", b"\n".join(b"m,s=%d v=%r %d" % (n, v, t) for n, t, v in block))
        cpu = (cpu_s(s.p.pid) - before) * 1e6 / rec.n_samples
        return cpu, tree_bytes(top) / rec.n_samples
    finally:
        s.end()


def prometheus(rec, tmp):
    """promtool's way, which is Prometheus' fastest; times in it are milliseconds."""
    top = f"{tmp}/prometheus"
    os.makedirs(top)
    with open(f"{top}/text", "w") as f:
        series = 0
        f.write("# TYPE m gauge\n")
        for t, columns in rec.groups:
            for c in columns:
                f.writelines(f'm{{s="{series}"}} {v!r} {at / SECOND:.3f}\n' for at, v in zip(t, c))
                series += 1
        f.write("# EOF\n")
    p = subprocess.Popen(["promtool", "tsdb", "create-blocks-from", "openmetrics", f"{top}/text", f"{top}/data"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE)
    said = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(f"bench_peers: promtool: {said[-300:]!r}")
    return (usage.ru_utime + usage.ru_stime) * 1e6 / rec.n_samples, tree_bytes(f"{top}/data") / rec.n_samples


def peers_measure(rec, tmp):
    found = {}
    for name, program, measure in (("ClickHouse", "clickhouse-server", clickhouse), ("Prometheus", "promtool", prometheus),
                                   ("InfluxDB", "influxd", influxdb)):
        if shutil.which(program) is None:
            print(f"{name}: not installed, and so left out")
            continue
        found[name] = measure(rec, tmp)
        print(f"{name}: {found[name][0]:.2f} CPU s per M, {found[name][1]:.2f} bytes a sample" +
              (f", q3 {found[name][2]:.1f} ms, q4 {found[name][3]:.1f} ms" if len(found[name]) > 2 else ""), flush=True)
    return found


def best(found, k, digits=2):
    have = sorted((v[k], name) for name, v in found.items() if len(v) > k)
    return f"{have[0][1]} {have[0][0]:.{digits}f}" if have else "-"


# --- the base commit ---

WAYS = ["packed", "documents", "packed, TLS", "documents, TLS", "packed, lock-step", "documents, lock-step"]
# a commit without the view answers the longer question
QUESTIONS = [("last value of all series", "SELECT * FROM v_last", "SELECT *, max(t_ns) FROM v_sample GROUP BY series_id, field"),
    ("statistics per minute", "SELECT * FROM v_minute", "SELECT series_id, field, t_ns / 60000000000, count(*), avg(value), min(value),"
     " max(value) FROM v_sample GROUP BY 1, 2, 3"),
    ("sum of all samples", "SELECT count(*), sum(value) FROM v_sample", "")]
ADDRESSES = ["api/v1/statistics?step=1min&format=json", "api/v1/statistics?step=1min&format=csv", "prometheus/api/v1/labels",
    "prometheus/api/v1/label/__name__/values"]


def base_build(a):
    """Builds the commit, and returns its build's folder."""
    tree = f"{a.tmp}/base"
    os.mkdir(tree)
    archive = subprocess.run(["git", "archive", a.base], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-xC", tree], input=archive, check=True)
    subprocess.run(["make", "-C", tree, f"-j{os.cpu_count()}", "all", "build/release/tests/analyze/verdict/bench_box"],
        stdout=subprocess.DEVNULL, check=True,
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "B", "BASE", "PEERS")})
    return f"{tree}/build/release"


def beside(a, build, name, bench):
    """A copy of this build's benchmark that finds the programs of a build: both builds are measured by the same."""
    top = f"{a.tmp}/beside-{name}"
    os.makedirs(f"{top}/tests/{os.path.dirname(bench)}", exist_ok=True)
    if not os.path.lexists(f"{top}/bin"):
        os.symlink(os.path.abspath(f"{build}/bin"), f"{top}/bin")
    return shutil.copy(f"{B}/tests/{bench}", f"{top}/tests/{bench}")


def lines_of(*argv):
    return subprocess.run([str(x) for x in argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def question_ms(build, store, questions):
    for question in filter(None, questions):
        try:
            return numbers(lines_of(f"{B}/tests/store/bench_sql", "-r", 1, store, f"{build}/bin/narrows_sqlite.so", question),
                f"{question}:")[1]
        except subprocess.CalledProcessError:
            continue  # a view that the commit does not have
    return float("nan")


def threads_ms(pid):
    """Processor time of a process, by the scheduler's clock."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e6


def http_ms(a, build, store):
    """Processor time of the box for each address, asked again."""
    state, port = tempfile.mkdtemp(dir=a.tmp), free_port()
    shutil.copy(store, f"{state}/narrows.db")
    box = Server([f"{build}/bin/narrowsd", "-d", "-o", f"state-dir={state}", "-o", "listen-xsp=127.0.0.1/0", "-o",
        f"listen-http=127.0.0.1/{port}"], f"http://127.0.0.1:{port}/api/v1")
    try:
        for address in ADDRESSES:
            http(f"http://127.0.0.1:{port}/{address}")
            before = threads_ms(box.p.pid)
            http(f"http://127.0.0.1:{port}/{address}")
            yield address, threads_ms(box.p.pid) - before
    finally:
        box.end()
        shutil.rmtree(state)


class Turns:
    """Figures of both builds, round by round, the builds in changing order."""

    def __init__(self, a):
        self.a, self.builds, self.took = a, {"here": B, "base": a.base_build}, {}

    def order(self, number):
        return [(name, self.builds[name]) for name in sorted(self.builds, reverse=number % 2 == 0)]

    def add(self, what, name, figure):
        self.took.setdefault((what, name), []).append(figure)

    def say(self):
        print(f"{'medians of rounds, in turns':<58} {'here':>10} {self.a.base[:10]:>10} {'ratio':>8}")
        for what in dict.fromkeys(what for what, _ in self.took):
            here, base = (statistics.median(self.took[what, name]) for name in ("here", "base"))
            print(f"{what:<58} {here:>10.3f} {base:>10.3f} {here / base:>8.2f}", flush=True)


def turns(a, found):
    """The work on a recording."""
    if a.base is None:
        return
    t = Turns(a)
    sender = {name: beside(a, build, name, "daemon/bench_ingest") for name, build in t.builds.items()}
    for number in range(a.rounds):
        for way in WAYS:
            for name, _ in t.order(number):
                out = lines_of(sender[name], "recording", a.recording, f"{a.tmp}/{name}.db", way)
                t.add(f"{way}, CPU s per M", name, numbers(out, way)[1])
        for what, *questions in QUESTIONS:
            for name, build in t.order(number):
                t.add(f"SQL: {what}, ms", name, question_ms(build, f"{a.tmp}/{name}.db", questions))
        for name, build in t.order(number):
            for address, ms in http_ms(a, build, f"{a.tmp}/{name}.db"):
                t.add(f"HTTP: {address}, ms", name, ms)
    t.say()


def base(a, found):
    """The work without a recording."""
    if a.base is None:
        return
    t = Turns(a)
    programs, pairs = ({name: beside(a, build, name, f"host/nwrun/{bench}") for name, build in t.builds.items()}
                       for bench in ("bench_programs", "bench_pairs"))
    same = f"{a.tmp}/same.nwp"
    invented(same)
    for number in range(a.rounds):
        for name, build in t.order(number):
            box = tempfile.mkdtemp(dir=a.tmp)
            out = lines_of(f"{build}/tests/analyze/verdict/bench_box", "-n", 20, "-s", 300, "-d", box, same)
            sessions, millions, _, judging = numbers(out, "box:")[:4]
            shutil.rmtree(box)
            t.add("judging one of 320 on a route, ms", name, judging * millions / sessions * 1e3)
        for name, _ in t.order(number):
            out = lines_of(pairs[name])
            for what in ("read, tmpfs", "write, tmpfs", "pipe, both ends"):
                t.add(f"nwrun: {what}, 4 kB, ns more", name, numbers(out[out.index("under nwrun"):], what)[1])
        for name, _ in t.order(number):
            out = lines_of(programs[name])
            for what in ("300 short processes", "tar, 3,000 files", "rsync, 3,000 files", "dd, 4 kB"):
                bare, _, own, collector = numbers(out, what)
                t.add(f"nwrun: {what}, with the collector, % more", name, own + 100 * collector / bare)
    t.say()


# --- the rows ---

def lists(a, found):
    out = bench("web/query/bench_lists", (a.series + 87) // 88)
    for what in ("labels", "metrics", "sessions", "paths", "series of a metric, 10", "series of the last metric"):
        first, whole = numbers(out, what)[:2]
        say(f"list: {what}, {a.series} series, ms", "20", f"{first if what.startswith('series') else whole:.1f}")


def statistics_http(a, found):
    out = bench("web/query/bench_statistics", a.recording)
    for what in ("JSON", "CSV"):
        first, _, median = numbers(out, f"statistics per minute, {what}")[:3]
        say(f"q4, HTTP, {what}, processor ms (first {first:.0f})", "20", f"{median:.1f}", best(found, 3, 0))


def ask_sql(a, found):
    """By SQLite's C interface, all values read; the least is what the same rows from a plain table need."""
    for question, goal, k, digits in (("SELECT * FROM v_last", "10", 2, 1), ("SELECT * FROM v_minute", "60", 3, 0),
                                      ("SELECT series, begin_ns, mean FROM v_minute", "60", 3, 0)):
        _, ms, _, plain = numbers(bench("store/bench_sql", f"{a.tmp}/kept.db", f"{B}/bin/narrows_sqlite.so", question), f"{question}:")[:4]
        say(f"SQL: {question}, ms", goal, f"{ms:.1f}", best(found, k, digits), f"a plain table {plain:.1f}")


def judging(a, found):
    os.mkdir(f"{a.tmp}/box")
    bench("analyze/verdict/bench_box", "-n", 100, "-s", 2000, "-d", f"{a.tmp}/box")
    each, worst = numbers(bench("analyze/verdict/bench_judge", "-n", 60, f"{a.tmp}/box/narrows.db").partition("sessions")[2], ":")[:2]
    say(f"judging one of 2,100 on a route, ms (worst {worst:.1f})", "5", f"{each:.2f}")
    if a.store:
        each, worst = numbers(bench("analyze/verdict/bench_judge", a.store).partition("sessions")[2], ":")[:2]
        say(f"judging a real session, ms (worst {worst:.0f})", "30", f"{each:.1f}")
    else:
        say("judging a real session, ms: BENCH_STORE names no store", "30", "-")


def ingest(a, found):
    out = bench("daemon/bench_ingest", "recording", a.recording, f"{a.tmp}/kept.db")
    plain = numbers(out, "documents ")
    blob = numbers(bench("store/bench_store", a.recording), "SQLite, one blob per second, fsynced")
    for what in ("packed, lock-step", "documents, lock-step"):
        say(f"{what}, CPU s per M", "0.40", f"{numbers(out, what)[0]:.3f}", best(found, 0), f"one blob, fsynced {blob[0]:.3f}")
    for what in ("packed ", "documents "):
        say(f"{what.strip()}, CPU s per M", "-", f"{numbers(out, what)[0]:.3f}", best(found, 0))
    tls = numbers(out, "documents, TLS")
    say("documents over TLS above plain, CPU s per M", "+.05", f"{tls[0] - plain[0]:+.3f}", "",
        f"the cipher alone {numbers(out, 'cipher alone')[0]:.3f}")
    for what in ("packed, lock-step", "documents "):
        say(f"open series, {what.strip()}, B a sample", "3", f"{numbers(out, what)[2]:.2f}", best(found, 1), f"doubles {8:.2f}")
        say(f"sealed, {what.strip()}, B a sample", "-", f"{numbers(out, what)[3]:.2f}", best(found, 1))


def programs(a, found):
    out = bench("host/nwrun/bench_pairs")
    under = out[out.index("under nwrun"):]
    clocks = numbers(bench("host/nwrun/bench_preload"), "two clock reads")
    for what, goal in (("read, tmpfs", 8), ("write, tmpfs", 8), ("pipe, both ends", 4)):
        n = numbers(under, what)
        say(f"nwrun: {what}, 4 kB", f"+{goal} %", f"{n[2]:+.1f} %", "", f"two clock reads {100 * clocks[0] / n[0]:+.1f} %")
    out = bench("host/nwrun/bench_programs")
    for what, goal in (("300 short processes", 15), ("tar, 3,000 files", 10), ("rsync, 3,000 files", 10), ("dd, 4 kB", 8)):
        bare, _, own, collector = numbers(out, what)
        say(f"nwrun: {what}, with the collector", f"+{goal} %", f"{own + 100 * collector / bare:+.1f} %")


def blipp(a, found):
    out = subprocess.run([sys.executable, "tests/bench_blipp.py", "--windows", "3"], text=True, stdout=subprocess.PIPE, check=True).stdout
    us, n, ms, times = re.search(r"blipp plain: (\d+) us a sample of (\d+) values, ([\d.]+) ms per 1,000, ([\d.]+) times", out).groups()
    bare = re.search(r"of the bare reader: (\d+) us", out)[1]
    say("blipp at 1 Hz, ms per 1,000 values", "0.5", ms, "", f"reading alone {int(bare) / int(n):.2f}")
    say("blipp at 1 Hz, times the bare reader", "2.2", times, "", f"a sample of it {bare} us")


OF_RECORDING = [("ingest", ingest), ("sql", ask_sql), ("statistics", statistics_http), ("turns", turns)]
ROWS = [("lists", lists), ("judging", judging), ("nwrun", programs), ("blipp", blipp), ("base", base)]


def measure(a, recording):
    """The rows of one recording; returns what its peers need."""
    a.recording = f"{a.tmp}/recording.nwp"
    if recording == "made-up":
        invented(a.recording)
    elif recording.endswith(".zst"):
        subprocess.run(["zstd", "-dqf", "--long=31", recording, "-o", a.recording], check=True)
    else:
        shutil.copy(recording, a.recording)
    rec = Recording(a.recording)
    print(f"{recording}: {rec.n_samples} samples of {rec.n_series} series")
    found = {}
    if a.only in ("", "peers"):
        top = f"{a.tmp}/peers"
        os.mkdir(top)
        found = peers_measure(rec, top)
        shutil.rmtree(top)
    heading()
    for name, row in OF_RECORDING:
        if a.only in ("", name) or (a.only == "sql" and name == "ingest"):
            row(a, found)
    for name in os.listdir(a.tmp):
        if name.endswith(".db"):
            os.remove(f"{a.tmp}/{name}")


def heading():
    print(f"{'work':<58} {'goal':>7} {'here':>10} {'of goal':>8} {'best peer':>18} {'the machine':>27}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--recording", action="append")
    p.add_argument("--base", default=os.environ.get("BENCH_BASE") or None)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--store", default=os.environ.get("BENCH_STORE"))
    p.add_argument("--series", type=int, default=1760000)
    p.add_argument("--only", default="")
    a = p.parse_args()
    # the benchmarks get their recording by name: this may be several
    recordings = a.recording or os.environ.get("BENCH_RECORDING", "").split() or ["made-up"]
    os.environ.pop("BENCH_RECORDING", None)
    a.tmp = tempfile.mkdtemp(prefix="bench_peers.")
    try:
        if a.base is not None:
            a.base_build = base_build(a)
        if a.only in ("", "peers") or a.only in dict(OF_RECORDING):
            for recording in recordings:
                measure(a, recording)
        rows = [row for name, row in ROWS if a.only in ("", name)]
        if rows:
            heading()
        for row in rows:
            row(a, {})
    finally:
        shutil.rmtree(a.tmp)


main()
