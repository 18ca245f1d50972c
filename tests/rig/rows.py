# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a planted chain (chains.py): rows.py SPEC.json HOST

A specification has programs, each with the joints that it reads from and writes to, by turns, and the joints between them. A program
works for some seconds a block; one is slow. A tree has no joints: its programs run one after the other, each as children by a name of
its own. Writes the process ids of the slow program, and the seconds of all, to SPEC.json.HOST.
"""
import ctypes, fcntl, itertools, json, mmap, multiprocessing, os, queue, socket, subprocess, sys, threading, time

BLOCK, FROM_DISK = 16384, 65536      # bytes of a block, and what a slow disk reads or writes for one
HELD = 4                             # blocks that a ring or a queue holds


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# --- joints ---

class Pipe:
    def __init__(self, spec):
        self.r, self.w = os.pipe()

    def get(self):
        data = b""
        while len(data) < BLOCK and (more := os.read(self.r, BLOCK - len(data))):
            data += more
        return data

    def put(self, data):
        while data:
            data = data[os.write(self.w, data):]

    def keep(self, reads, writes):
        """In a program: the ends of the others are closed."""
        for fd, kept in (self.r, reads), (self.w, writes):
            if fd is not None and not kept:
                os.close(fd)

    def end(self):
        """Behind the last block."""


class Pair(Pipe):
    def __init__(self, spec):
        self.r, self.w = (s.detach() for s in socket.socketpair())


class Named(Pipe):
    """A socket with a name, which the reader listens at and the writer connects to."""
    family = socket.AF_UNIX

    def __init__(self, spec):
        self.name, self.r, self.w = self.place(spec), None, None
        self.listener = socket.socket(self.family)
        self.listener.bind(self.name)
        self.listener.listen(1)
        self.name = self.listener.getsockname()

    def place(self, spec):
        return f"{spec['tmp']}/named{time.monotonic_ns()}"

    def keep(self, reads, writes):
        if reads:
            self.r = self.listener.accept()[0].detach()
        elif writes:
            s = socket.socket(self.family)
            for _ in range(200):
                try:
                    s.connect(self.name)
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            self.w = s.detach()
        if self.listener:
            self.listener.close()


class Tcp(Named):
    family = socket.AF_INET

    def place(self, spec):
        return "127.0.0.1", 0


class Far(Tcp):
    """The reader is at another host, where the joint listens."""

    def __init__(self, spec):
        if spec["host"] == "b":
            super().__init__(spec)
        else:
            self.name, self.listener, self.r, self.w = tuple(spec["far"]), None, None, None

    def place(self, spec):
        return tuple(spec["far"])


class Ring:
    """Blocks in shared memory; a length of 0 is the end."""

    def __init__(self, spec):
        self.at, self.full, self.free = 0, multiprocessing.Semaphore(0), multiprocessing.Semaphore(HELD)
        self.memory = mmap.mmap(-1, HELD * (BLOCK + 4))

    def get(self):
        self.full.acquire()
        at = self.at % HELD * (BLOCK + 4)
        n = int.from_bytes(self.memory[at:at + 4], "little")
        data = self.memory[at + 4:at + 4 + n]
        self.at += 1
        self.free.release()
        return data

    def put(self, data):
        self.free.acquire()
        at = self.at % HELD * (BLOCK + 4)
        self.memory[at:at + 4 + len(data)] = len(data).to_bytes(4, "little") + data
        self.at += 1
        self.full.release()

    def keep(self, reads, writes):
        pass

    def end(self):
        self.put(b"")


class Guarded(Ring):
    """The same by calls of the C library: a mutex at 0, conditions at 64 (filled) and 128 (emptied), the number of full blocks at 192."""

    def __init__(self, spec):
        self.at, self.memory, self.guard = 0, mmap.mmap(-1, HELD * (BLOCK + 4)), mmap.mmap(-1, 4096)
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

    def change(self, by, act, asked, told):
        """Waits while the ring is full, or empty; puts or takes a block by `act`."""
        self.call("mutex_lock", self.mutex)
        while self.count.value == (HELD if by > 0 else 0):
            self.call("cond_wait", asked, self.mutex)
        value = act()
        self.count.value += by
        self.call("cond_signal", told)
        self.call("mutex_unlock", self.mutex)
        self.at += 1
        return value

    def get(self):
        at = self.at % HELD * (BLOCK + 4)
        return self.change(-1, lambda: self.memory[at + 4:at + 4 + int.from_bytes(self.memory[at:at + 4], "little")], self.full, self.free)

    def put(self, data):
        at = self.at % HELD * (BLOCK + 4)
        block = len(data).to_bytes(4, "little") + data
        self.change(1, lambda: self.memory.__setitem__(slice(at, at + len(block)), block), self.free, self.full)


class Files:
    """Batches of blocks as files, which get their names when they are whole; the last is empty. The reader looks again and again."""
    blocks = 8

    def __init__(self, spec):
        self.top, self.n, self.file, self.left = f"{spec['tmp']}/files{time.monotonic_ns()}", 0, None, 0
        os.mkdir(self.top)

    def get(self):
        if self.left == 0:
            name = f"{self.top}/{self.n}"
            while not os.path.exists(name):
                time.sleep(0.01)
            self.file, self.n, self.left = open(name, "rb", buffering=0), self.n + 1, self.blocks
        self.left -= 1
        data = self.file.read(BLOCK)
        if not data and self.left < self.blocks - 1:        # a short batch
            self.left = 0
            return self.get()
        return data

    def put(self, data):
        if self.file is None:
            self.file = open(f"{self.top}/{self.n}.part", "wb", buffering=0)
        self.file.write(data)
        self.left += 1
        if self.left == self.blocks or not data:
            self.whole()

    def whole(self):
        self.file.close()
        os.rename(f"{self.top}/{self.n}.part", f"{self.top}/{self.n}")
        self.file, self.n, self.left = None, self.n + 1, 0

    def keep(self, reads, writes):
        pass

    def end(self):
        if self.file is not None:
            self.whole()
        self.put(b"")


JOINTS = {"pipe": Pipe, "pair": Pair, "named": Named, "shm": Ring, "guarded": Guarded, "files": Files, "tcp": Tcp, "far": Far}


# --- work ---

def worker(way, seconds, disk):
    """What a program does for a block: f(number of the block)."""
    if way == "computes":
        return lambda i: burn(seconds)
    if way == "pauses":
        return lambda i: time.sleep(seconds)
    if way == "writes":
        out = os.open(disk, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DSYNC)
        return lambda i: os.write(out, bytes(FROM_DISK))
    fd = os.open(disk, os.O_RDONLY)
    if way == "reads":
        return lambda i: os.pread(fd, FROM_DISK, i * FROM_DISK)
    memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    return lambda i: sum(memory[i * FROM_DISK:(i + 1) * FROM_DISK:4096])


def blocks_of(ins, n):
    """Blocks of the joints in turns, up to the end of each; without a joint: n made ones."""
    if not ins:
        yield from itertools.repeat(bytes(BLOCK), n)
    for joint in itertools.cycle(ins):
        if not (data := joint.get()):
            return
        yield data


def give(outs, blocks):
    """Blocks to the joints in turns."""
    turns = itertools.cycle(outs) if outs else None
    for data in blocks:
        if turns:
            next(turns).put(data)
    for joint in outs:
        joint.end()


def plain(p, ins, outs, spec):
    work = worker(p["way"], p["seconds"], spec["disk"])
    def blocks():
        for i, data in enumerate(blocks_of(ins, spec["blocks"])):
            work(i)
            yield data
    give(outs, blocks())


def threads(p, ins, outs, spec):
    """Three threads with queues: one reads, one works, one writes. The main thread is one of them, by turns."""
    work, first, second = worker(p["way"], p["seconds"], spec["disk"]), queue.Queue(HELD), queue.Queue(HELD)
    def reads():
        for data in blocks_of(ins, spec["blocks"]):
            first.put(data)
        first.put(None)
    def works():
        for i, data in enumerate(iter(first.get, None)):
            work(i)
            second.put(data)
        second.put(None)
    crew = [reads, works, lambda: give(outs, iter(second.get, None))]
    others = [threading.Thread(target=f) for i, f in enumerate(crew) if i != p["main"]]
    for t in others:
        t.start()
    crew[p["main"]]()
    for t in others:
        t.join()


task = None                          # of a pool's worker


def task_set(p, disk):
    global task
    work, own = worker(p["way"], p["seconds"] * p["workers"], disk), multiprocessing.current_process()._identity[0] - 1
    numbers = itertools.count(own, p["workers"])
    task = lambda: work(next(numbers))


def task_run(data):
    task()
    return data


def pool(p, ins, outs, spec):
    """Worker processes behind queues do the work; each has its time for a block, times the workers."""
    with multiprocessing.get_context("fork").Pool(p["workers"], task_set, (p, spec["disk"])) as those:
        note(p, [w.pid for w in those._pool], spec)
        give(outs, those.imap(task_run, blocks_of(ins, spec["blocks"])))


def turns(p, ins, outs, spec):
    """Programs that take turns at a lock, and work while they have the lock."""
    work, lock = worker(p["way"], p["seconds"], spec["disk"]), {"flock": fcntl.flock, "fcntl": fcntl.lockf}.get(spec["lock"])
    with open(spec["tmp"] + "/shared", "r+b", buffering=0) as f:
        for i in range(spec["blocks"]):
            if lock:
                lock(f, fcntl.LOCK_EX)
            else:
                spec["semaphore"].acquire()
            f.seek(0)
            f.write(f.read(BLOCK))
            work(i)
            if lock:
                lock(f, fcntl.LOCK_UN)
            else:
                spec["semaphore"].release()
            time.sleep(0.0005)


def note(p, pids, spec):
    if p["slow"]:
        with open(spec["pids"], "a") as f:
            f.write("".join(f"{i} " for i in pids))


CREWS = {"plain": plain, "threads": threads, "pool": pool, "turns": turns}


def graph(spec):
    """The programs of this host, as children at work at the same time."""
    here = [p for p in spec["programs"] if p["host"] == spec["host"]]
    joints = {k: JOINTS[kind](spec) for k, kind in enumerate(spec["joints"]) if any(k in p["ins"] + p["outs"] for p in here)}
    pids = []
    for p in here:
        if (pid := os.fork()) == 0:
            for k, joint in joints.items():
                joint.keep(k in p["ins"], k in p["outs"])
            CREWS[p["crew"]](p, [joints[k] for k in p["ins"]], [joints[k] for k in p["outs"]], spec)
            os._exit(0)
        pids.append(pid)
        if p["crew"] != "pool":
            note(p, [pid], spec)
    for joint in joints.values():
        joint.keep(False, False)
    return max(os.waitpid(p, 0)[1] for p in pids)


def stage(p, run, spec):
    """A child of a tree: a part of the blocks, from one file into another."""
    work, n = worker(p["way"], p["seconds"], spec["disk"]), spec["blocks"] // spec["runs"]
    source = f"{spec['tmp']}/{p['number'] - 1}.{run}"
    with open(source if p["number"] else "/dev/zero", "rb") as f, open(f"{spec['tmp']}/{p['number']}.{run}", "wb") as out:
        for i in range(run * n, (run + 1) * n):
            data = f.read(BLOCK)
            work(i)
            out.write(data)


def tree(spec):
    """Each program in several runs, "beside" at a time, and the next program behind the last run."""
    for p in spec["programs"]:
        name = f"{spec['tmp']}/{p['name']}.py"
        if not os.path.exists(name):
            os.symlink(os.path.abspath(__file__), name)
        left, those = list(range(spec["runs"])), []
        while left or those:
            while left and len(those) < spec["beside"]:
                those.append(subprocess.Popen([sys.executable, name, spec["file"], spec["host"], str(p["number"]), str(left.pop(0))]))
                note(p, [those[-1].pid], spec)
            if those.pop(0).wait() != 0:
                return 1
    return 0


def main():
    file, host, *one = sys.argv[1:]
    with open(file) as f:
        spec = json.load(f)
    spec.update(file=file, host=host, pids=f"{file}.{host}.pids")
    if one:
        return stage(spec["programs"][int(one[0])], int(one[1]), spec)
    if spec["lock"] == "semaphore":
        spec["semaphore"] = multiprocessing.Lock()
    begin = time.monotonic()
    rc = tree(spec) if spec["runs"] else graph(spec)
    with open(f"{file}.{host}", "w") as f:
        json.dump(time.monotonic() - begin, f)
    return rc != 0


if __name__ == "__main__":
    sys.exit(main())
