# SPDX-License-Identifier: BSD-3-Clause
"""make truth CHAINS: programs in a row, of which one is slow, and whether the verdict names that one.

    chains.py [--seeds N] [--seed S] [--only REGEX] [--lift] [--table] [--again] [--out DIR]

The table KINDS has the kinds: how programs are joined, and why one is slow: it computes, pauses, waits for a disk or a network. A seed
draws three to six programs, the place of the slow one and its time for a block; a case's name has these, and the way to be slow. Results are kept in
DIR/chains.jsonl (build/chains): a case with a result is not run again, but for --again. --lift runs each case three more times, each
twice and not measured: as it is, with the slow link 1.5 times as fast, and with another. Prints a line a case, and the sums of each kind: right, several (one of two that were
named, or a program without a name), silent, wrong, sure (wrong, and not of low confidence). Needs root; B is the build directory.
"""
import argparse, json, os, random, re, shutil, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import rows
from world import ADDRESS, MB, Failed, World, run, stop_kindly, until, write

GRAINS, LASTS, FAST, FASTER = (0.004, 0.015, 0.04), 3.75, 1 / 30, 1.5      # seconds of a slow block, of the row; parts of slow
PORT = 5800
HOW = ("computes", "pauses", "reads")
JOINED = ("pipe", "pair", "named", "shm", "tcp")

# kind: joints to draw from, ways to be slow, crew of some programs, shape
KINDS = {
    "pipe": (("pipe",), HOW, "plain", "row"),
    "pair": (("pair",), HOW, "plain", "row"),
    "named": (("named",), HOW, "plain", "row"),
    "shm": (("shm",), HOW, "plain", "row"),
    "guarded": (("guarded",), HOW, "plain", "row"),
    "tcp": (("tcp",), HOW, "plain", "row"),
    "files": (("files",), HOW, "plain", "row"),
    "after": ((), (*HOW, "writes"), "plain", "tree"),
    "net": (("pipe",), ("computes", "pauses", "rate", "rate"), "plain", "far"),
    "faults": (("pipe", "pair"), ("faults",), "plain", "row"),
    "pool": (("pipe",), HOW, "pool", "row"),
    "lock": ((), HOW, "turns", "crowd"),
    "threads": (("pipe",), HOW, "threads", "row"),
    "fan": (("pipe", "named"), HOW, "plain", "fan"),
    "tree": ((), HOW, "plain", "tree"),
    "mixed": (JOINED, (*HOW, "writes"), "plain", "row"),
}
DISK = {"reads": ("a", "read_bps", "disk.read"), "faults": ("a", "read_bps", "disk.read"), "writes": ("b", "write_bps", "disk.write")}


def row_join(programs, draw, joints, far_from=None):
    """Joins programs in a row; returns the kinds of the joints. From one program on they are at host b, behind a connection."""
    for i, p in enumerate(programs):
        p.update(ins=[i - 1] if i else [], outs=[i] if i + 1 < len(programs) else [], host="b" if far_from and i >= far_from else "a")
    return ["far" if i + 1 == far_from else draw.choice(joints) for i in range(len(programs) - 1)]


def fan_join(programs, draw, joints):
    """The first program gives to all others but the last, which takes from them."""
    middle = len(programs) - 2
    for i, p in enumerate(programs):
        p.update(ins=[i - 1], outs=[middle + i - 1], host="a")
    programs[0].update(ins=[], outs=list(range(middle)))
    programs[-1].update(ins=list(range(middle, 2 * middle)), outs=[])
    return [draw.choice(joints)] * (2 * middle)


def plan(kind, seed):
    """A case: its specification for rows.py, and the truth."""
    draw = random.Random(f"{kind} {seed}")
    joints, ways, crew, shape = KINDS[kind]
    n, way, slowly = draw.randint(3, 6), draw.choice(ways), draw.choice(GRAINS)
    slow = other = draw.randrange(n)
    while other == slow:
        other = draw.randrange(n)
    programs = [dict(number=i, name=f"step{i}", crew="plain", way="computes", seconds=FAST * slowly, slow=False, host="a", ins=[], outs=[], workers=3,
                     main=draw.randrange(3)) for i in range(n)]
    spec = dict(programs=programs, blocks=round(LASTS / slowly), slowly=slowly, joints=[], lock=None, runs=0, beside=1, way=way, kind=kind, seed=seed, far=(ADDRESS["b"], PORT))
    if way == "rate":
        slow = None
    else:
        programs[slow].update(way=way, seconds=slowly, slow=True)
    if shape == "fan":       # the slow one of several in the middle is all of them
        spec["joints"] = fan_join(programs, draw, joints)
        if 0 < slow < n - 1:
            for p in programs[1:-1]:
                p.update(programs[slow], seconds=slowly * (n - 2), number=p["number"], ins=p["ins"], outs=p["outs"])
            other = draw.choice((0, n - 1))
    elif shape == "tree":
        spec.update(runs=1 if kind == "after" else 4, beside=1 if kind == "after" else draw.choice((1, 2)))
    elif shape == "crowd":
        spec["lock"] = draw.choice(("flock", "fcntl", "semaphore"))
    else:
        spec["joints"] = row_join(programs, draw, joints, draw.randrange(1, n) if shape == "far" else None)
    one = draw.choice((slow, other))
    for p in programs:
        if crew in ("turns", "threads") or (crew == "pool" and p["number"] == one):
            p["crew"] = crew
    spec.update(slow=slow, other=other, id=f"{kind}-{seed}-of{n}-at{'-net' if slow is None else slow}-{way}-{slowly * 1000:.0f}ms")
    return spec


LIFTS = ("plain", "planted", "other")


def lifted(spec, what):
    """The case as it is, or with its slow link, or with another, faster."""
    spec = json.loads(json.dumps(spec))
    if what == "planted" and spec["way"] in ("rate", *DISK):
        spec["rate_factor"] = FASTER
    for p in spec["programs"]:
        if what == "planted" and p["slow"] or what == "other" and p["number"] == spec["other"]:
            p["seconds"] /= FASTER
    return spec


def run_case(w, spec, task, measured=True):
    """Runs the programs; returns their seconds, and the process ids of the slow one."""
    tmp = f"{w.tmp}/case"
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    write(tmp + "/shared", "0" * rows.BLOCK)
    device, limit, _ = DISK.get(spec["way"], ("a", None, None))
    spec = dict(spec, tmp=tmp, disk=f"{w.disks[device].path}/data")
    write(tmp + "/spec.json", json.dumps(spec))
    rate = rows.FROM_DISK / spec["slowly"] * spec.get("rate_factor", 1)
    if spec["way"] in ("reads", "faults"):
        write(spec["disk"], "0" * (rows.FROM_DISK * spec["blocks"]))
    w.lift()
    w.disks[device].settle()
    if limit:
        w.disks[device].throttle(**{limit: rate})
    if spec["way"] == "rate":
        w.bucket_set(rate_bytes=rows.BLOCK / spec["slowly"] * spec.get("rate_factor", 1))
    those, hosts = [], sorted({p["host"] for p in spec["programs"]}, reverse=True)
    try:
        for host in hosts:
            nwrun = [f"{w.bin}/nwrun", "-q", "-i", 0.1, "-t", task, "-H", f"host-{host}", "-b", w.box_of(host)] if measured else []
            those.append(w.start(host, [*nwrun, "/usr/bin/python3", HERE + "/rows.py", tmp + "/spec.json", host], "programs.log"))
            if host == "b":
                until(10, "the far program", lambda: w.listening("b", PORT))
        for p in those:
            if p.wait(60) != 0:
                raise Failed(f"programs ended with {p.returncode}; see programs.log")
    finally:
        for p in those:
            w.end(p)
        w.lift()
    seconds = max(json.load(open(f"{tmp}/spec.json.{h}")) for h in hosts)
    pids = [int(x) for h in hosts if os.path.exists(f"{tmp}/spec.json.{h}.pids") for x in open(f"{tmp}/spec.json.{h}.pids").read().split()]
    return seconds, pids


def is_told(sentence, name):
    """Whether a name has the word of the limit: before the first verb, or at the end of the chain."""
    head = re.split(r" held the bytes| limited this|; |: ", sentence)[0]
    return name in head or re.search(re.escape(name) + r" (computed|paused|read files|wrote files|was blocked|had no processor|held the bytes)", sentence)


def judge(spec, doc, pids):
    """right, several, silent, wrong or sure. The planted link is a disk or network by its stage, a program by its node, of no other
    process, in the sentence."""
    v, nodes = doc["verdict"], (doc.get("chain") or {"nodes": []})["nodes"]
    disk = DISK.get(spec["way"], ("", "", ""))[2]
    names = [n["name"] for n in nodes if n.get("pid") in pids or (n["processes"] == len(pids) > 1 and "pid" not in n)]
    told = any(is_told(v["sentence"], n) for n in [*names, *(f"(process {i})" for i in pids)])
    if v["stage"] is None:
        both = re.search("both|either", v["sentence"], re.I)
        return "several" if both and (told or disk in v["candidates"]) else "silent"
    if spec["way"] == "rate" or disk:
        right = v["stage"] == disk or (v["stage"] in ("network", "net.read", "net.write") and not disk) or (disk and told)
    else:
        right = told and v["stage"].endswith("host")
        if not right and v["stage"].endswith("host") and "The program on" in v["sentence"] and not any(is_told(v["sentence"], n["name"]) for n in nodes):
            return "several"        # a program without a name
    return "right" if right else "wrong" if v["confidence"] in ("low", "none", None) else "sure"


def table(kept):
    words = ("right", "several", "silent", "wrong", "sure")
    print(f"{'kind':8}", *(f"{x:>8}" for x in words), "  planted (least, median)   others (median, most)")
    for kind in [*KINDS, "all"]:
        those = [r for r in kept.values() if kind in ("all", r["kind"])]
        if not those:
            continue
        lifts = [sorted(r["plain"] / r[x] for r in those if r.get(x)) for x in ("planted", "other")]
        told = f"  {lifts[0][0]:.2f} {lifts[0][len(lifts[0]) // 2]:.2f}   {lifts[1][len(lifts[1]) // 2]:.2f} {lifts[1][-1]:.2f}" if all(lifts) else ""
        print(f"{kind:8}", *(f"{sum(r['said'] == x for r in those):8}" for x in words), told)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seeds", type=int, default=5)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--only", default="", help="a regular expression of names")
    a.add_argument("--lift", action="store_true")
    a.add_argument("--table", action="store_true")
    a.add_argument("--again", action="store_true")
    a.add_argument("--out", default="build/chains")
    a = a.parse_args()
    if os.geteuid() != 0:
        print("CHAINS: needs root")
        return 0
    out, build = os.path.abspath(a.out), os.path.abspath(os.environ.get("B", "build/release"))
    os.makedirs(out, exist_ok=True)
    file, kept = out + "/chains.jsonl", {}
    if os.path.exists(file):
        kept = {r["id"]: r for r in map(json.loads, open(file))}
    plans = [p for s in range(a.seed, a.seed + a.seeds) for k in KINDS if re.search(a.only, (p := plan(k, s))["id"])]
    due = [p for p in plans if a.again or p["id"] not in kept or (a.lift and "planted" not in kept[p["id"]])]
    if due and not a.table:
        stop_kindly()
        w = World(build + "/bin", build + "/tests/rig", out, disk_bytes=200 << 20)
        try:
            for p in due:
                r = {} if a.again else kept.get(p["id"], {})
                try:
                    if not r:
                        task = f"{p['id']}-{int(time.time())}"
                        seconds, pids = run_case(w, p, task)
                        doc = w.result(task)
                        r = dict(id=p["id"], kind=p["kind"], task=task, session=doc["session"]["id"], seconds=seconds, pids=pids)
                        r.update(said=judge(p, doc, pids), sentence=doc["verdict"]["sentence"], interval=doc["verdict"]["interval"])
                    for what in LIFTS * 2 if a.lift else ():        # the shorter of two, as others use the machine
                        r[what] = min(r.get(what, 1e9), run_case(w, lifted(p, what), "", False)[0])
                except Failed as e:
                    print(f"failed  {p['id']}: {e}", flush=True)
                    continue
                kept[p["id"]] = r
                with open(file, "a") as f:
                    f.write(json.dumps(r) + "\n")
                print(f"{r['said']:7} {r['id']:28} {r['seconds']:5.1f} s",
                      *(f"{x} {r['plain'] / r[x]:.2f}" for x in LIFTS[1:] if x in r), r["sentence"], flush=True)
        finally:
            w.close()
    kept = {p["id"]: kept[p["id"]] for p in plans if p["id"] in kept}
    table(kept)
    return any(r["said"] == "sure" for r in kept.values())


if __name__ == "__main__":
    sys.exit(main())
