# SPDX-License-Identifier: BSD-3-Clause
"""make truth CHAINS: programs in a row, of which one is slow, and whether the verdict names that one.

    chains.py [--seeds N] [--only REGEX]

Kinds are pipe, socket (local), shm (rings in shared memory between semaphores), mixed and guarded (rings behind a mutex and two
condition variables that processes share); the slow program computes, pauses or reads a file, at a place of the row by turns. A row has three to six programs. Prints a line per case, and the sums: right, silent, wrong,
wrong and sure. Needs no root. B is the build directory.
"""
import argparse, json, os, random, re, shutil, subprocess, sys, tempfile, time

BLOCK, BLOCKS, SLOW = 16384, 150, 0.012


class Pipe:
    def __init__(self):
        self.r, self.w = os.pipe()

    def get(self):
        data = b""
        while len(data) < BLOCK and (more := os.read(self.r, BLOCK - len(data))):
            data += more
        return data

    def put(self, data):
        while data:
            data = data[os.write(self.w, data):]

    def keep(self, reads):
        os.close(self.w if reads else self.r)

    def close(self):
        os.close(self.r)
        os.close(self.w)


class Socket(Pipe):
    def __init__(self):
        import socket
        self.r, self.w = (s.detach() for s in socket.socketpair())


class Ring:
    """Four blocks in shared memory; a length of 0 is the end."""

    def __init__(self):
        import mmap, multiprocessing
        self.at, self.full, self.free = 0, multiprocessing.Semaphore(0), multiprocessing.Semaphore(4)
        self.memory = mmap.mmap(-1, 4 * (BLOCK + 4))

    def get(self):
        self.full.acquire()
        at = self.at % 4 * (BLOCK + 4)
        n = int.from_bytes(self.memory[at:at + 4], "little")
        data = self.memory[at + 4:at + 4 + n]
        self.at += 1
        self.free.release()
        return data

    def put(self, data):
        self.free.acquire()
        at = self.at % 4 * (BLOCK + 4)
        self.memory[at:at + 4 + len(data)] = len(data).to_bytes(4, "little") + data
        self.at += 1
        self.full.release()

    def keep(self, reads):
        pass

    def close(self):
        pass


class Guarded(Ring):
    """The same by calls of the C library: a mutex at 0, conditions at 64 (filled) and 128 (emptied), the number of full blocks at 192."""

    def __init__(self):
        import ctypes, mmap
        self.at, self.memory, self.guard = 0, mmap.mmap(-1, 4 * (BLOCK + 4)), mmap.mmap(-1, 4096)
        self.libc, begin = ctypes.CDLL(None), ctypes.addressof(ctypes.c_char.from_buffer(self.guard))
        self.mutex, self.full, self.free = (ctypes.c_void_p(begin + i) for i in (0, 64, 128))
        self.count = ctypes.c_int.from_address(begin + 192)
        for kind, made in (("mutex", (self.mutex,)), ("cond", (self.full, self.free))):
            attributes = ctypes.create_string_buffer(64)
            self.call(kind + "attr_init", attributes)
            self.call(kind + "attr_setpshared", attributes, 1)
            for m in made:
                self.call(kind + "_init", m, attributes)

    def call(self, name, *args):
        if rc := getattr(self.libc, "pthread_" + name)(*args):
            sys.exit(f"pthread_{name}: {rc}")

    def change(self, by, asked, told):
        """Waits while the ring is full, or empty; puts or takes a block by `act`."""
        self.call("mutex_lock", self.mutex)
        while self.count.value == (4 if by > 0 else 0):
            self.call("cond_wait", asked, self.mutex)
        value = self.act()
        self.count.value += by
        self.call("cond_signal", told)
        self.call("mutex_unlock", self.mutex)
        return value

    def get(self):
        at = self.at % 4 * (BLOCK + 4)
        self.act = lambda: self.memory[at + 4:at + 4 + int.from_bytes(self.memory[at:at + 4], "little")]
        self.at += 1
        return self.change(-1, self.full, self.free)

    def put(self, data):
        at = self.at % 4 * (BLOCK + 4)
        self.act = lambda: self.memory.__setitem__(slice(at, at + 4 + len(data)), len(data).to_bytes(4, "little") + data)
        self.at += 1
        self.change(1, self.free, self.full)


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def link(source, sink, way, seconds):
    """One program of a row, up to the end of its source."""
    for _ in range(BLOCKS) if source is None else iter(int, 1):
        data = bytes(BLOCK) if source is None else source.get()
        if not data:
            break
        if way == "pauses":
            time.sleep(seconds)
        else:
            burn(seconds)
        if sink is not None:
            sink.put(data)
    if isinstance(sink, Ring):
        sink.put(b"")


def row(kinds, slow, way, file):
    """Runs a row within this process's children, and writes the slow program's process."""
    made = {"pipe": Pipe, "socket": Socket, "shm": Ring, "guarded": Guarded}
    joints = [made[k]() for k in kinds]
    pids = []
    for i in range(len(kinds) + 1):
        pid = os.fork()
        if pid == 0:
            for k, joint in enumerate(joints):
                if k == i - 1:
                    joint.keep(True)
                elif k == i:
                    joint.keep(False)
                else:
                    joint.close()
            link(joints[i - 1] if i > 0 else None, joints[i] if i < len(joints) else None, way if i == slow else "computes",
                 SLOW if i == slow else 0.0005)
            os._exit(0)
        pids.append(pid)
    for joint in joints:
        joint.close()
    open(file, "w").write(str(pids[slow]))
    sys.exit(max(os.waitpid(p, 0)[1] for p in pids))


def cases(seeds):
    for seed in range(seeds):
        draw = random.Random(seed)
        for kind in ("pipe", "socket", "shm", "mixed", "guarded"):
            for way in ("computes", "pauses"):
                n = draw.randint(3, 6)
                kinds = [kind if kind != "mixed" else draw.choice(("pipe", "socket", "shm")) for _ in range(n - 1)]
                yield f"{kind}-{n}-{way}-{seed}", kinds, draw.randrange(n), way


class Box:
    def __init__(self, bins):
        self.bin, self.tmp = bins, tempfile.mkdtemp()
        self.state = self.tmp + "/state"
        self.run = subprocess.Popen([bins + "/narrowsd", "-f", "/dev/null", "-d", "-o", "state-dir=" + self.state, "-o", "listen-xsp=127.0.0.1/0",
                                     "-o", "listen-http=127.0.0.1/0", "-o", "listen-events=127.0.0.1/0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(self.state + "/narrowsd.run"):
            time.sleep(0.05)
        self.address = re.search(r"^xsp (.*)$", open(self.state + "/narrowsd.run").read(), re.M)[1]

    def narrows(self, *words):
        return subprocess.run([self.bin + "/narrows", "-s", self.state, *words], capture_output=True, text=True).stdout

    def document(self, task):
        """The document of a closed session; None after a minute."""
        for _ in range(300):
            for line in self.narrows("sessions", "--json").splitlines():
                if f'"task_id":"{task}"' in line:
                    text = self.narrows("report", re.search(r'"id":(\d+)', line)[1], "--json")
                    if text and (doc := json.loads(text))["session"]["state"] == "closed" and (doc.get("verdict") or {}).get("sentence"):
                        return doc
            time.sleep(0.2)

    def end(self):
        self.run.terminate()
        self.run.wait()
        shutil.rmtree(self.tmp)


def judge(doc, pid):
    """right, silent, wrong or sure (wrong, and not of low confidence)."""
    chain, verdict = doc.get("chain"), doc["verdict"]
    if verdict["stage"] is None:
        return "silent"
    limit = chain["nodes"][chain["limit"]]["name"] if chain and chain["limit"] is not None else None
    right = limit is not None and chain["nodes"][chain["limit"]].get("pid") == pid and limit in verdict["sentence"]
    return "right" if right else "wrong" if verdict["confidence"] == "low" else "sure"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seeds", type=int, default=5)
    a.add_argument("--only", default="")
    a.add_argument("--row", nargs=4, metavar=("KINDS", "SLOW", "WAY", "FILE"), help=argparse.SUPPRESS)
    a = a.parse_args()
    if a.row:
        row(a.row[0].split(","), int(a.row[1]), a.row[2], a.row[3])
    bins = os.path.abspath(os.environ.get("B", "build/release")) + "/bin"
    box, sums = Box(bins), {}
    for name, kinds, slow, way in cases(a.seeds):
        if not re.search(a.only, name):
            continue
        truth = f"{box.tmp}/{name}"
        subprocess.run([bins + "/nwrun", "-q", "-i", "0.1", "-t", name, sys.executable, os.path.abspath(__file__), "--row", ",".join(kinds),
                        str(slow), way, truth], env={**os.environ, "NARROWS_BOX": box.address, "XDG_RUNTIME_DIR": box.tmp}, check=True)
        doc = box.document(name)
        said = judge(doc, int(open(truth).read())) if doc else "silent"
        sums[said] = sums.get(said, 0) + 1
        print(f"{said:7} {name:22} slow {slow}: {doc and doc['verdict']['sentence']}", flush=True)
    print(*(f"{k} {v}" for k, v in sorted(sums.items())), "of", sum(sums.values()))
    box.end()
    return sums.get("sure", 0) > 0


if __name__ == "__main__":
    sys.exit(main())
