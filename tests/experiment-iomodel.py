#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Models of operations against mincore: experiment-iomodel.py BIN [SECONDS]

On a disk of its own (ext4 on a loop device past the page cache, on a file in /var/tmp), as it is and throttled to 60 MB/s, with 0, 2 and 4 busy loops beside: iomodel
trains a model of cached and one of uncached reads, then reads a file of which half was dropped, and narrows stat classify names
each operation. The truth is what mincore said before the operation. Goal: 80 % of the operations named, 95 % of these right,
every model monotone and positive, or refused. SECONDS (0.5) is the length of a cell. Needs root and a throttle of block devices;
exit status 77 without them."""
import csv, io, os, random, signal, subprocess, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "rig"))
import world

SIZES = [1, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20]
FILE_BYTES, THROTTLE = 256 << 20, 60_000_000
NAMED, RIGHT = 0.80, 0.95


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def models_check(text):
    """Counts the refused models of a CSV text, and the faulty ones: a negative number, or a duration that falls with the size."""
    refused = faulty = 0
    for m in csv.DictReader(io.StringIO(text)):
        if m["status"] == "refused":
            refused += 1
            continue
        lines = [float(m[k]) for k in ("small_I", "small_c", "large_I", "large_c") if m[k] != ""]
        at = [float(p.split()[8]) for p in m["durations"].split(";")]
        end = lines[0] + 4096 * lines[1] if len(lines) == 4 else 0
        begin = lines[2] + 4096 * lines[3] if len(lines) == 4 else 0
        faulty += min(lines) < 0 or at != sorted(at) or begin < end * (1 - 1e-9)
    return refused, faulty


class LoopDisk(world.Disk):
    """A file system on a file; unlike zram and a file in memory, the device makes readers wait."""

    def __init__(self, tag, name, bytes_):
        self.path, self.backing = f"/tmp/{tag}/{name}", f"/var/tmp/{tag}.{name}"
        os.makedirs(self.path)
        with open(self.backing, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, bytes_)
        self.device = world.run("losetup", "--direct-io=on", "-f", "--show", self.backing).strip()
        world.write(f"/tmp/{tag}.disks", f"{self.device}\n")
        world.run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", self.device)
        world.run("mount", self.device, self.path)
        number = os.stat(self.device).st_rdev
        self.number = f"{os.major(number)}:{os.minor(number)}"


class Bench:
    def __init__(self, bin_, where, seconds):
        self.bin, self.file, self.seconds = bin_, f"{where}/file", seconds
        self.out = f"{where}.cells"
        self.n = 0

    def cell(self, state, size, seed):
        """Runs a cell and returns its out-0.csv."""
        self.n += 1
        folder = f"{self.out}-{self.n}"
        subprocess.run([f"{self.bin}/iomodel", "run", "-s", state, "-l", "rnd", "-m", "rnd", "-a", str(size), "-F", str(FILE_BYTES),
                        "-n", "3000", "-t", str(self.seconds), "-S", str(seed), folder, self.file],
                       check=True, stdout=subprocess.DEVNULL)
        return f"{folder}/out-0.csv"

    def train(self, name, state, seed):
        files = [self.cell(state, s, seed) for s in SIZES]
        done = subprocess.run([f"{self.bin}/narrows", "stat", "models", "--csv", "--name", name, *files], check=True,
                              capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        return done.stdout

    def drop_half(self, rng):
        """Brings all of the file into memory, then drops every other stretch of random length."""
        fd = os.open(self.file, os.O_RDONLY)
        for at in range(0, FILE_BYTES, 1 << 20):
            os.pread(fd, 1 << 20, at)
        at, drop = 0, False
        while at < FILE_BYTES:
            step = rng.choice([1, 4, 32]) << 20
            if drop:
                os.posix_fadvise(fd, at, step, os.POSIX_FADV_DONTNEED)
            at, drop = at + step, not drop
        os.close(fd)

    def judge(self, models, seed):
        """Counts over all sizes: operations, named, right. An operation partly in memory counts for no side."""
        rng = random.Random(seed)
        with open(f"{self.out}.models", "w") as f:
            f.write(models)
        total = named = right = 0
        each = {}
        for size in SIZES:
            self.drop_half(rng)
            path = self.cell("as-is", size, seed)
            told = subprocess.run([f"{self.bin}/narrows", "stat", "classify", "--csv", "--models", f"{self.out}.models", path],
                                  check=True, capture_output=True, text=True).stdout
            n = k = r = 0
            with open(path) as f:
                for op, answer in zip(csv.DictReader(f), csv.DictReader(io.StringIO(told)), strict=True):
                    if op["cached"] == "" or 0 < float(op["cached"]) < 1:
                        continue
                    n += 1
                    if answer["class"] != "either":
                        k += 1
                        r += (answer["class"] == "cached") == (float(op["cached"]) == 1)
            each[size] = (n, k, r)
            total, named, right = total + n, named + k, right + r
        return total, named, right, each


def main():
    bin_, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    if os.geteuid() != 0:
        skip("not root")
    if not os.path.exists("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"):
        skip("no control group that throttles block devices")
    tag = f"nwrig{os.getpid()}"
    os.makedirs(f"/tmp/{tag}")
    hogs, bad = [], 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        try:
            disk = LoopDisk(tag, "a", 400 << 20)
        except (OSError, subprocess.CalledProcessError, RuntimeError, SystemExit) as e:
            skip(f"no disk: {e}")
        subprocess.run(["dd", "if=/dev/urandom", f"of={disk.path}/file", "bs=1M", f"count={FILE_BYTES >> 20}", "status=none", "conv=fsync"],
                       check=True)
        print(f"{'disk':>12} {'loops':>5} {'operations':>10} {'named':>7} {'right':>7} {'models':>7}")
        for throttled in False, True:
            disk.throttle(read_bps=THROTTLE if throttled else 0)
            for n_hogs in 0, 2, 4:
                hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n_hogs)]
                bench = Bench(bin_, disk.path, seconds)
                bench.out = f"/tmp/{tag}/cells-{throttled}-{n_hogs}"
                cached, uncached = bench.train("cached", "cached", 1), bench.train("uncached", "uncached", 2)
                refused, faulty = models_check(cached + uncached.split("\n", 1)[1])
                total, named, right, each = bench.judge(cached + uncached.split("\n", 1)[1], 3)
                for h in hogs:
                    h.kill()
                    h.wait()
                hogs = []
                ok = named >= NAMED * total and right >= RIGHT * named and not faulty
                bad += not ok
                words = f"{faulty} faulty" if faulty else f"{refused} refused" if refused else "fit"
                print(f"{'throttled' if throttled else 'as it is':>12} {n_hogs:5} {total:10} {named / total:7.1%} "
                      f"{right / max(named, 1):7.1%} {words:>9}{'' if ok else '  short of the goal'}")
                if not ok or os.environ.get("V"):
                    for size, (n, k, r) in each.items():
                        print(f"{'':12} {size:9} bytes: {n} operations, {k} named, {r} right")
                sys.stdout.flush()
    finally:
        for h in hogs:
            h.kill()
        world.sweep(tag)
        if os.path.exists(f"/var/tmp/{tag}.a"):
            os.remove(f"/var/tmp/{tag}.a")
    sys.exit(bad > 0)


main()
