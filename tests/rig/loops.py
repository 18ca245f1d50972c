# SPDX-License-Identifier: BSD-3-Clause
"""make truth LOOPS: training loops by PyTorch's own DataLoader, and the share of their time that they waited for data.

    loops.py [--seeds N] [--only REGEX]

A loop has 0 to 8 workers that load slowly or fast, by computing or by waiting, and a long or short step that computes, or waits as for a
device. Half of the loops mark their steps by libnarrows. Other loops have three epochs with a checkpoint of a second behind each, which is
apart, or plain workers: a pool, or a pipe for each. The truth is the loop's own account: the time in next() over all time, and by
DLIO's formula the time in steps over all time. Prints a line per case and the largest difference; fails where one is above 2 points, or
the wrong side is named. A loop without workers and without marks is only asked not to be called a wait for workers. Needs python3-torch
and no root; B is the build directory.
"""
import argparse, ctypes, json, multiprocessing, os, random, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rows import burn

BATCHES, POINTS = 150, 0.02
PYTHON = "/usr/bin/python3"  # the system's: PyTorch is the system's package


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


def work(seconds, way):
    burn(seconds) if way == "computes" else time.sleep(seconds)


def make(batch):
    work(*batch)
    return bytes(32000)


def answer(pipe):
    while (batch := pipe.recv()) is not None:
        pipe.send(make(batch))


def loaded(workers, load, way, n):
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Data(Dataset):
        def __len__(self):
            return n * 4

        def __getitem__(self, i):
            work(load / 4, way)
            return torch.zeros(2000)

    torch.set_num_threads(1)
    return iter(DataLoader(Data(), batch_size=4, num_workers=workers))


def pooled(workers, load, way, n):
    return multiprocessing.Pool(workers).imap(make, [(load, way)] * n)


def piped(workers, load, way, n):
    pairs = [multiprocessing.Pipe() for _ in range(workers)]
    for near, far in pairs:
        multiprocessing.Process(target=answer, args=(far,), daemon=True).start()
        near.send((load, way))

    def fetch():
        for i in range(n):
            near = pairs[i % workers][0]
            yield near.recv(), near.send((load, way))

    return fetch()


MAKERS = {"loader": (loaded, 1), "epochs": (loaded, 3), "pool": (pooled, 1), "pipes": (piped, 1)}


def loop(kind, workers, load, load_way, step, step_way, library):
    """Prints the loop's account: seconds in next(), in steps, in all; checkpoints are apart."""
    maker, epochs = MAKERS[kind]
    steps = ctypes.CDLL(library) if library else None
    waited = stepped = 0
    for epoch in range(epochs):
        batches = maker(workers, load, load_way, BATCHES // epochs)
        asked = time.monotonic()
        if steps:
            steps.nw_step_end()
        for _ in range(BATCHES // epochs):
            next(batches)
            got = time.monotonic()
            if steps:
                steps.nw_step_begin()
            work(step, step_way)
            if steps:
                steps.nw_step_end()
            done = time.monotonic()
            waited, stepped, asked = waited + got - asked, stepped + done - got, done
        if epoch < epochs - 1:
            time.sleep(1)
    print(waited, stepped, waited + stepped)


def cases(seeds):
    for seed in range(seeds):
        draw = random.Random(seed)
        for workers in (0, 1, 2, 4, 8):
            for slow in ("load", "step"):
                load, step = (0.03 * max(1, workers), 0.004) if slow == "load" else (0.004, 0.03)
                marks = draw.random() < 0.5
                yield (f"{workers}-{slow}-{'marks' if marks else 'plain'}-{seed}", "loader", workers, load, draw.choice(("computes", "waits")),
                       step, draw.choice(("computes", "waits")), marks)
        for kind in ("epochs", "pool", "pipes"):
            workers = draw.choice((1, 2, 4))
            load, step = draw.choice(((0.03 * workers, 0.004), (0.004, 0.03)))
            yield f"{workers}-{kind}-{seed}", kind, workers, load, "waits", step, "waits", False


def judge(doc, marks, workers, waited):
    """The share of waits by the document, and whether the sentence names the right side; None: it cannot tell."""
    chain = doc["chain"] or {"nodes": [], "edges": [], "limit": None}
    names = [n["name"] for n in chain["nodes"]]
    loops = [i for i, n in enumerate(names) if "worker" not in n]
    share = sum(e["share"] for e in chain["edges"] if e["waiter"] in loops and e["holder"] is not None) if workers else None
    if doc["steps"]:
        assert [s["by"] for s in doc["steps"]] == ["marks" if marks else "calls"], doc["steps"]
        share = doc["steps"][0]["between_share"]
    if not workers or chain.get("limit") is None:
        return share, None
    return share, ("worker" in names[chain["limit"]]) == (waited > 0.5)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seeds", type=int, default=2)
    a.add_argument("--only", default="")
    a.add_argument("--loop", nargs=7, help=argparse.SUPPRESS)
    a = a.parse_args()
    if a.loop:
        kind, w, load, load_way, step, step_way, library = a.loop
        return loop(kind, int(w), float(load), load_way, float(step), step_way, library)
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print("LOOPS: python3-torch is not here")
        return 0
    build = os.path.abspath(os.environ.get("B", "build/release"))
    box, worst, wrong, silent, n = Box(build + "/bin"), 0, 0, 0, 0
    for name, kind, workers, load, load_way, step, step_way, marks in cases(a.seeds):
        if not re.search(a.only, name):
            continue
        library = build + "/lib/libnarrows.so" if marks else ""
        r = subprocess.run([build + "/bin/nwrun", "-q", "-i", "0.1", "-t", name, PYTHON, os.path.abspath(__file__), "--loop", kind, str(workers), str(load),
                            load_way, str(step), step_way, library], env={**os.environ, "NARROWS_BOX": box.address, "XDG_RUNTIME_DIR": box.tmp},
                           check=True, capture_output=True, text=True)
        waited, stepped, whole = (float(x) for x in r.stdout.split())
        share, right = judge(box.document(name), marks, workers, waited / whole)
        off = None if share is None else share - waited / whole
        n, wrong, silent = n + 1, wrong + (right is False), silent + (workers > 0 and right is None)
        worst = max(worst, abs(off or 0))
        print(f"{name:18} load {load_way} {load:.3f} step {step_way} {step:.3f} waited {waited / whole:.3f} DLIO {stepped / whole:.3f} "
              f"ours {'-' if share is None else f'{share:.3f}'} {'' if off is None else f'{100 * off:+.1f}'} "
              f"{ {True: 'right', False: 'WRONG', None: 'silent'}[right]}", flush=True)
    print(f"LOOPS: {n} loops, largest difference {100 * worst:.1f} points, {wrong} wrong, {silent} silent")
    box.end()
    return wrong > 0 or worst > POINTS


if __name__ == "__main__":
    sys.exit(main())
