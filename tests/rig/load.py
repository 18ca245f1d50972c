# SPDX-License-Identifier: BSD-3-Clause
"""make truth TRUTH="--load 0,1,2,4": a planted limit beside other work on the same processors.

A load is other work: so many loops a processor, or a row of LOADS. Each transfer runs once under nwrun, with the limit
and the load, and is then lifted twice, in three interleaved rounds: without the limit (the load stays), and without the
load (the limit stays). Truth is what made the transfer at least 1.3 times as fast in all three rounds: "limit", "load",
or both; a case that neither helped is left out and counted. The rig is not shielded here: the kernel's threads share
the processors with the load, as everywhere. Only the link, which is hardware to the transfer, comes first.
"""
import json, os, random, re

from cases import PROGRAMS, make


HELPS = 1.3           # times as fast, in each of the rounds
ROUNDS = 3
NEVER_OUTLIVE = ["setpriv", "--pdeathsig", "KILL", "--"]
LOOP = [*NEVER_OUTLIVE, "sh", "-c", "while :; do :; done"]
PROCESSORS_OF = {"hog", "processors", "quota"}      # causes of a verdict that name the want of a processor


# --- loads: the other work, as processes of a case ---

def loops(w, each, group=None):
    return [w.start(None, LOOP, group=group) for _ in range(each * os.cpu_count())]


def transfers(w):
    """A stream within host d for each processor."""
    ports = [str(5500 + i) for i in range(os.cpu_count())]
    servers = [w.start("d", [*NEVER_OUTLIVE, "iperf3", "-s", "-p", p]) for p in ports]
    return servers + [w.start("d", [*NEVER_OUTLIVE, "sh", "-c", f"sleep 0.3; exec iperf3 -c 127.0.0.1 -p {p} -t 300"]) for p in ports]


def interrupts(w):
    """Small packets from host d to host b, each of which the kernel takes outside any process."""
    flood = "sleep 0.3; exec iperf3 -u -c 10.234.0.1 -p 5500 -b 60M -l 64 -t 300"
    return [w.start("b", [*NEVER_OUTLIVE, "iperf3", "-s", "-p", "5500"]), w.start("d", [*NEVER_OUTLIVE, "sh", "-c", flood])]


LOADS = {
    "0": lambda w: [],
    "1": lambda w: loops(w, 1),
    "2": lambda w: loops(w, 2),
    "4": lambda w: loops(w, 4),
    "x64": lambda w: loops(w, 1, w.group("heavy", 64 * 1024)),
    "transfers": transfers,
    "interrupts": interrupts,
}


# --- cases ---

PAIRS = [(f, p) for p, faults in {
    "rsync": "net_tbf net_rate net_tbf src_disk dst_disk snd_pause", "rsync-push": "net_tbf net_rate dst_disk",
    "iperf3": "net_tbf net_rate net_rwnd", "nginx-curl": "net_tbf net_rate src_disk dst_disk snd_pause rcv_pause",
    "x-read-write": "net_tbf net_rate src_disk dst_disk snd_pause rcv_pause"}.items() for f in faults.split()]


def plans(loads, n, seed):
    """n cases a load, the same transfers under each load, of 5 to 200 MB/s."""
    found = []
    for load in loads:
        if load not in LOADS:
            raise SystemExit(f"no load {load!r}: {', '.join(LOADS)}")
        for i in range(n):
            round_, at = divmod(i, len(PAIRS))
            order = list(PAIRS)
            random.Random(f"order{seed}{round_}").shuffle(order)
            fault, program = order[at]
            plan = make("single", (fault,), program, seed + round_)
            rate = 5 * 40 ** random.Random(f"rate{fault}{program}{seed}{i}").random()
            plan.update(kind="load", load=load, id=f"load-{load}:{fault}:{program}:{seed}-{i}", faults={fault: round(rate, 1)})
            found.append(plan)
    return found


def truth_find(base, lifts):
    """Names of the lifts that helped in every round."""
    return [name for name, took in lifts.items()
            if len(took) == len(base) and all(b / t >= HELPS for b, t in zip(base, took))]


def measure(world, plan, seconds, case):
    """Runs a case and its lifts; case(plan, faults, loaded, task, measured) runs one transfer. Returns the row of results."""
    fault = plan["order"][0]
    plan = dict(plan, mib=max(4, int(plan["faults"][fault] * 1.5)))
    took = case(plan, plan["faults"], True, "", False)      # how fast the load lets it be tells its size
    # a cache may have absorbed what was written: two copies of the file fit on a disk
    plan["mib"] = max(8, min(int(plan["mib"] / took * seconds), world.disk_mib * 2 // 5))
    task = re.sub(r"[^a-zA-Z0-9]+", "-", plan["id"]) + f"-{os.getpid()}"
    row = dict(plan)
    row["seconds"] = case(plan, plan["faults"], True, task, True)
    doc = world.result(task)
    base, lifts = [], {"limit": [], "load": []}
    if plan["load"] == "0":
        del lifts["load"]
    for i in range(ROUNDS):
        alive = [name for name, took in lifts.items() if len(took) == i and not (took and base[-1] / took[-1] < HELPS)]
        if not alive:
            break
        base.append(row["seconds"] if i == 0 else case(plan, plan["faults"], True, task, False))
        for name in alive:
            lifts[name].append(case(plan, {} if name == "limit" else plan["faults"], name == "limit", task, False))
    v = doc["verdict"]
    row.update(stage=v["stage"], confidence=v["confidence"], sentence=v["sentence"], cause=v.get("cause"),
               effect=v.get("effect"), interval=v.get("interval"), candidates=v.get("candidates"), reasons=v.get("reasons"),
               witnesses=[(x["name"], x["says"], x["detail"]) for x in v.get("witnesses") or []],
               base=base, lifts=lifts, truth=truth_find(base, lifts), machine=os.getloadavg()[0])
    row["said"], row["score"] = score(row)
    with open(f"{world.out}/documents.jsonl", "a") as f:
        f.write(json.dumps(dict(id=plan["id"], document=doc)) + "\n")
    return row


def names_processors(row):
    return row["cause"] in PROCESSORS_OF or "a processor" in row["sentence"]


def score(row):
    """What the answer named, as a list like that of the truth, and the mark: R right, W wrong, a abstains, 1 one of two."""
    fault = row["order"][0]
    names = PROGRAMS[row["program"]].names(fault)
    both = row["candidates"] or []
    if row["stage"] is None:
        if not row["sentence"].startswith("Both") or row["confidence"] in (None, "none"):
            return [], "a"
        said = ["limit"] if any(c in names for c in both) else ["other"]
        if names_processors(row):
            said.append("load")
    elif names_processors(row):
        said = ["load"] if row["stage"].endswith("host") else ["other"]
    else:
        said = ["limit"] if row["stage"] in names else ["other"]
    truth = row["truth"]
    if not truth:
        return said, "-"
    if sorted(said) == sorted(truth):
        return said, "R"
    return said, "1" if len(truth) == 2 and set(said) < set(truth) else "W"


# --- the table ---

def table(rows, share, out=print):
    """share(k, n) prints a share with its interval."""
    out("R right, W wrong, a abstains, 1 one of two, - neither lift helped; h m l n confidence; truth after the stroke")
    for load in LOADS:
        here = [r for r in rows if r["load"] == load]
        done = [r for r in here if "score" in r]
        if not here:
            continue
        clear = [r for r in done if r["truth"]]
        one, both = ([r for r in clear if len(r["truth"]) == n] for n in (1, 2))
        spoken = [r for r in clear if r["score"] != "a"]
        alone = [r for r in one if r["score"] != "a"]
        sure = [r for r in spoken if r["score"] == "W" and r["confidence"] in ("high", "medium")]
        out(f"load {load}: {len(done)} cases, {len(done) - len(clear)} left out, {len(here) - len(done)} failed")
        out("  " + "  ".join(f"{r['program']}:{r['order'][0]}:{r['score']}{(r['confidence'] or 'none')[0]}/{'+'.join(r['truth']) or 'neither'}"
                              for r in sorted(done, key=lambda r: r["id"])))
        out(f"  one limit: right when it speaks {share(sum(r['score'] == 'R' for r in alone), len(alone))}; speaks in "
            f"{share(len(alone), len(one))}")
        out(f"  both limit: both are named in {share(sum(r['score'] == 'R' for r in both), len(both))}, one of two in "
            f"{sum(r['score'] == '1' for r in both)}, another in {sum(r['score'] == 'W' for r in both)}")
        out(f"  all: speaks in {share(len(spoken), len(clear))}; wrong {share(sum(r['score'] == 'W' for r in spoken), len(clear))}; "
            f"wrong and sure {share(len(sure), len(clear))}")
    for r in rows:
        if r.get("score") in ("W", "1"):
            out(f"{'WRONG' if r['score'] == 'W' else 'ONE'} {r['id']}: said {r['said']}, truth {r['truth']}, {r['confidence']}: {r['sentence']}")
        if "error" in r:
            out(f"FAILED {r['id']}: {r['error']}")
