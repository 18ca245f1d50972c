# SPDX-License-Identifier: BSD-3-Clause
"""make truth: how often is the verdict right, when, and by how much?

Real programs move files between two or three hosts (namespaces) under nwrun, with a limit planted; the same transfer
without the limit shows that the limit was one, and the gain of lifting it. The box's answer is compared.

    rig.py [--short | --full | --certain | --only REGEX] [--replay S] [--clear N] [--seed N] [--out DIR] [--again] [--table]

  --short    about 40 cases, ten minutes (default)        --certain  eight cases that must be right, a minute
  --full     400 clear cases, ties and moves: two hours   --only     those of the full list whose name matches
  --again    forgets earlier results; else a run goes on where the last one with the same --out ended
  --table    prints the table of what is there            --fast     4 s a transfer instead of 6
  --load L   40 cases (--cases N) beside each load of the list L, "0,1,2,4" or "all": so many loops a processor, x64 (a group
             of 64 times the weight), transfers, interrupts; goes on where the last one ended; a minute a case
  --history  N earlier sessions without the limit before each clear case, on a route of its own
  --replay S transfers of S seconds; hosts then repeat stages that the box orders, while the limits stay, and the box judges again
  --zero     buckets of 20, 160 and 1000 Mbit/s: is the verdict of the hosts' agents alone as right as nwrun's?
  --ways     each transfer twice, under nwrun and with nwrun -p: do both have the same stage and cause? ten minutes
Needs root. A missing program skips its cases and is named.
"""
import argparse, json, math, os, re, signal, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases, load
from cases import FAULTS, PROGRAMS
from world import MB, Failed, World, run, until

LONG_S = 65                                # of the transfers that are seen in windows of a second
CLEAR = ("single", "second", "long")        # kinds of cases with one right answer
BOUND = {"high": 0.02, "medium": 0.10}     # the share of wrong answers that each word allows


class Case:
    """One transfer with some limits: plan, run, forget."""

    def __init__(self, world, plan, faults, seconds, task, way="inside", beside=None, longer=1):
        self.w, self.plan, self.faults, self.task, self.way = world, plan, faults, task, way
        self.beside = beside
        self.watchers = []
        self.program = PROGRAMS[plan["program"]]
        self.options = {"send": [], "receive": []}
        self.groups, self.pinned, self.helpers = {}, "", []
        self.interval = 1 if plan["kind"] == "long" else 0.1
        self.bytes = cases.size_of(plan, LONG_S if plan["kind"] == "long" else seconds) * longer << 20
        self.port = 5400 + int(time.monotonic() * 10) % 2000
        self.n_files = self.program.n_files
        self.name = f"data{self.bytes >> 20}" + (f"-{self.n_files}" if self.n_files else "")
        self.source = f"{world.disks['a'].path}/{self.name}"
        self.target = f"{world.disks['b'].path}/copy"

    # what faults ask of a case
    def option(self, end, *argv):
        if isinstance(self.program, cases.Xfer):
            self.options[end] += argv

    def quota(self, host, share):
        self.groups[host] = self.w.quota_group(host, share)

    def pin(self, host):
        self.pinned += host

    def background(self, host, argv):
        self.helpers.append(self.w.start(host, argv))

    def files_make(self):
        for d in self.w.disks.values():
            for name in os.listdir(d.path):
                if name not in ("lost+found", self.name, "other"):
                    run("rm", "-rf", f"{d.path}/{name}")
        if self.n_files and not os.path.exists(self.source):
            os.makedirs(self.source)
            for i in range(self.n_files):
                with open(f"{self.source}/{i:05d}", "wb") as f:
                    f.write(os.urandom(self.bytes // self.n_files))
        elif self.program.name not in ("iperf3", "x-memory-discard") and not os.path.exists(self.source):
            run("sh", "-c", f"head -c {self.bytes} /dev/urandom >{self.source}")
        if {"src_compete", "src_session"} & set(self.faults) and not os.path.exists(f"{self.w.disks['a'].path}/other"):
            run("sh", "-c", f"head -c 60000000 /dev/urandom >{self.w.disks['a'].path}/other")
        for d in self.w.disks.values():
            d.settle()

    def launch(self, host, argv, measured, log="programs.log", group=None):
        """Starts a program of the transfer, measured by nwrun.so or by who attaches to its process."""
        if host in self.pinned:
            argv = ["taskset", "-c", "1", *argv]
        if not measured or host not in self.program.measured:
            return self.w.start(host, argv, log, group=group)
        nwrun = [f"{self.w.bin}/nwrun", "-i", self.interval, "-t", self.task, "-H", f"host-{host}", "-b", self.w.box_of(host)]
        if self.way == "inside":
            return self.w.start(host, [*nwrun, *argv], log, group=group)
        return self.launch_watched(host, argv, nwrun, log, group)

    def launch_watched(self, host, argv, nwrun, log, group):
        """The program waits at a named pipe until nwrun -p says that it watches."""
        number = f"{self.task}-{len(self.watchers)}"
        gate, said = f"{self.w.tmp}/gate-{number}", f"watch-{number}.log"
        os.mkfifo(gate)
        program = self.w.start(host, ["sh", "-c", 'read -r go <"$0"; exec "$@"', gate, *argv], log, group=group)
        self.watchers.append(self.w.start(host, [*nwrun, "-v", "-p", program.pid], said))
        until(20, "nwrun -p", lambda: " task " in cases.text_of(f"{self.w.out}/{said}"))
        with open(gate, "w") as f:
            f.write("go\n")
        os.remove(gate)
        os.remove(f"{self.w.out}/{said}")
        return program

    def run(self, measured, behind=None):
        """Runs the transfer; returns its seconds. behind() runs after its end, while its limits are still there."""
        p, server = self.program, None
        self.w.lift()
        self.files_make()
        for f in (self.plan["order"][:1] if self.plan["kind"] == "move" else self.faults):
            FAULTS[f][1](self.w, self, self.faults[f])
        if self.beside is not None:
            self.helpers += load.LOADS[self.beside](self.w)
            time.sleep(0.5)
        time.sleep(0.1)
        serves, runs = (p.serves, "b" if p.serves == "a" else "a") if p.hosts == "ab" else ("a", p.hosts[-1])
        try:
            if (argv := p.server(self)) is not None:
                server = self.launch(serves, argv, measured, group=self.groups.get(serves))
                until(10, f"{p.name}'s server", lambda: self.w.listening(serves, self.port, p.udp))
            if (argv := p.middle(self)) is not None:
                self.helpers.append(self.launch("b", argv, measured))
                until(10, f"{p.name}'s relay", lambda: self.w.listening("b", self.port))
            began = time.monotonic()
            client = self.launch(runs, p.client(self), measured, group=self.groups.get(runs))
            self.wait(client, began)
            self.check()
            took = time.monotonic() - began
            self.w.end(client)
            if isinstance(p, cases.Xfer) or p.name in ("iperf3", "srt"):     # its server ends by itself
                try:
                    server.wait(5)
                except Exception:
                    pass
            return took
        finally:
            if behind is not None and server is not None:
                self.w.end(server)      # the session is over when both its ends are
            if behind is not None and sys.exc_info()[0] is None:
                behind()
            self.w.lift()
            for q in [server, *self.helpers]:
                if q is not None:
                    self.w.end(q)
            for q in self.watchers:             # nwrun -p ends with what it watches
                self.w.end(q, 20, kindly=False)
            for host in self.groups:
                self.w.quota_group(host, 0)

    def wait(self, client, began):
        switched = self.plan["kind"] != "move" or len(self.faults) < 2
        while client.poll() is None:
            if time.monotonic() - began > (90 if self.plan["kind"] != "long" else 200):
                raise Failed("the transfer takes too long")
            if not switched and self.arrived() > self.bytes * 0.5:
                switched = True
                first, second = self.plan["order"]
                self.w.lift()
                FAULTS[second][1](self.w, self, self.faults[second])
            time.sleep(0.02)
        if client.returncode != 0:
            raise Failed(f"{self.program.name} ended with status {client.returncode}; see programs.log")

    def arrived(self):
        """Bytes on the destination's disk, of one file or of many."""
        top = self.w.disks["b"].path
        def size(path):
            try:
                return os.lstat(path).st_blocks * 512
            except FileNotFoundError:      # rsync gives a file its name when the file is whole
                return 0
        sizes = (size(os.path.join(d, n)) for d, _, names in os.walk(top) for n in names)
        return sum(sizes) if self.n_files else max(sizes, default=0)

    def check(self):
        if self.program.name.startswith(("iperf3", "x-memory", "tar-gzip", "tar-ssh", "x-read-discard")):
            return
        where = self.target if not (self.program.pushes() and self.program.name in ("rsync-push", "srt")) \
            else f"{self.w.disks['b'].path}/{self.name}"
        if self.program.name == "srt":      # the receiver writes on when the sender is done
            until(10, where, lambda: os.path.exists(where) and os.stat(where).st_size == self.bytes)
        size = os.stat(where).st_size if not self.n_files else self.bytes * len(os.listdir(where)) // self.n_files
        if size != self.bytes:
            raise Failed(f"{where} has {size} bytes of {self.bytes}")


# --- judging ---

def stages_of(doc):
    """Stages of the segments that have an answer, without repetitions."""
    found = []
    for s in (doc.get("changes") or {}).get("segments") or []:
        if s.get("stage") and (not found or found[-1] != s["stage"]):
            found.append(s["stage"])
    return found


def score(plan, doc):
    """R right, W wrong, a abstains."""
    p = PROGRAMS[plan["program"]]
    names = [p.names(f) for f in plan["order"]]
    v = doc["verdict"]
    if plan["kind"] == "tie":
        both = v.get("candidates") or []
        named_both = all(any(c in n for c in both) for n in names)
        return "R" if v["stage"] is None or (named_both and v["confidence"] in (None, "none")) else "W"
    if plan["kind"] == "move":
        found = stages_of(doc)
        if len(found) >= 2 and found[0] in names[0] and found[-1] in names[1]:
            return "R"
        return "W" if found and (found[0] not in names[0] and found[-1] not in names[1]) else "a"
    if v["stage"] is None:
        return "a"
    # a program's own pace is named as such, unless its end is not measured
    paced = plan["order"][0].endswith("_pause") and v["stage"].endswith("host")
    return "R" if v["stage"] in names[0] and (not paced or v["cause"] == "pace") else "W"


def tie_balance(world, plan, seconds):
    """Makes both limits of a tie hold this program for the same time: what a rate lets through depends on the program."""
    plan = dict(plan, faults=dict(plan["faults"]))
    first, second = plan["order"]
    for _ in range(2):
        alone = [Case(world, plan, {f: plan["faults"][f]}, seconds, "").run(False) for f in plan["order"]]
        if abs(alone[0] / alone[1] - 1) < 0.02:
            break
        plan["faults"][second] = round(plan["faults"][second] * alone[1] / alone[0], 2)
    return plan


def lift_longer(plan, seconds):
    """Without its only limit a transfer ends within few windows, which its start-up fills: it moves up to six times the bytes."""
    return max(1, min(6, 480 // cases.size_of(plan, seconds))) if plan["kind"] == "single" else 1


def history_make(world, plan, seconds, n, task):
    """Gives the route of a clear case earlier sessions without its limit, in a box of its own."""
    left = {f: r for f, r in plan["faults"].items() if f != plan["order"][0]}
    world.box_renew("state-" + re.sub(r"[^a-zA-Z0-9]+", "-", plan["id"]))
    for i in range(n):
        Case(world, plan, left, seconds, f"{task}-before{i}", longer=lift_longer(plan, seconds)).run(True)
    for i in range(n):
        world.result(f"{task}-before{i}")


def measure(world, plan, seconds, n_before=0):
    """Runs a case and its lift; returns the row of results. Clear cases have n_before earlier sessions without the limit."""
    if plan["kind"] == "tie":
        plan = tie_balance(world, plan, seconds)
    row = dict(plan)
    task = re.sub(r"[^a-zA-Z0-9]+", "-", plan["id"]) + f"-{os.getpid()}"
    if n_before > 0 and plan["kind"] in CLEAR:
        history_make(world, plan, seconds, n_before, task)
    before = []
    row["seconds"] = Case(world, plan, plan["faults"], seconds, task).run(
        True, (lambda: before.append(world.replayed(task))) if world.replays else None)
    doc = before[0] if before else world.result(task)
    v = doc["verdict"]
    row.update(replays=v["replays"], before=[(x["why"], x["stage"], x["sentence"]) for x in doc.get("before") or []],
               bytes_of=doc["session"]["bytes"])
    row.update(stage=v["stage"], confidence=v["confidence"] if v["stage"] else "none", sentence=v["sentence"],
               effect=v.get("effect"), interval=v.get("interval"), effect_from=v.get("effect_from"), n_before=n_before, cause=v.get("cause"), candidates=v.get("candidates"),
               reasons=v.get("reasons"), segments=stages_of(doc),
               witnesses=[(w["name"], w["says"], w["detail"]) for w in v.get("witnesses") or []])
    if plan["kind"] in CLEAR or plan["kind"] == "near":
        left = {f: r for f, r in plan["faults"].items() if f != plan["order"][0]}
        longer = lift_longer(plan, seconds) if n_before > 0 or world.replays else 1
        row["lift"] = row["seconds"] * longer / Case(world, plan, left, seconds, task, longer=longer).run(False)
        row["clear"] = row["lift"] >= (1.3 if plan["kind"] == "near" else 1.5)
    elif plan["kind"] == "tie":
        row["lifts"] = [row["seconds"] / Case(world, plan, {g: plan["faults"][g]}, seconds, task).run(False)
                        for g in plan["order"]]
        row["clear"] = max(row["lifts"]) < 1.12
    else:
        row["clear"] = True
    row["score"] = score(plan, doc)
    row["load"] = os.getloadavg()[0]
    with open(f"{world.out}/documents.jsonl", "a") as f:
        f.write(json.dumps(dict(id=plan["id"], document=doc)) + "\n")
    return row


def compare_ways(world, plan, seconds):
    """Runs one transfer under nwrun and one with nwrun -p; returns the row of both answers."""
    row = dict(plan)
    for way in "inside", "outside":
        task = re.sub(r"[^a-zA-Z0-9]+", "-", plan["id"]) + f"-{way}-{os.getpid()}-{int(time.monotonic() * 10)}"
        Case(world, plan, plan["faults"], seconds, task, way).run(True)
        doc = world.result(task)
        v = doc["verdict"]
        row[way] = dict(stage=v["stage"], cause=v.get("cause"), confidence=v["confidence"], sentence=v["sentence"],
                        score=score(plan, doc))
    row["same"] = all(row["inside"][k] == row["outside"][k] for k in ("stage", "cause"))
    row["score"] = row["outside"]["score"]
    return row


def ways(world, todo, seconds, path):
    """Each case until both ways agree, at most three times: a busy machine changes a transfer, too."""
    rows = []
    for i, plan in enumerate(todo, 1):
        for attempt in 1, 2, 3:
            try:
                row = dict(compare_ways(world, plan, seconds), attempt=attempt)
            except (Failed, OSError, KeyError, ValueError) as e:
                row = dict(plan, same=False, error=f"{type(e).__name__}: {e}"[:300], attempt=attempt)
            with open(path, "a") as f:
                f.write(json.dumps(row) + "\n")
            if row["same"]:
                break
            print(f"  again: {row.get('error') or [(w, row[w]['stage'], row[w]['cause']) for w in ('inside', 'outside')]}", flush=True)
        rows.append(row)
        print(f"{i}/{len(todo)} {row['id']}: {'same' if row['same'] else 'DIFFERENT'} {row.get('outside', {}).get('stage')} "
              f"({row.get('outside', {}).get('cause')}) {row.get('score', '')} in attempt {row['attempt']}", flush=True)
    said = [r for r in rows if "outside" in r]
    print(f"\nsame stage and cause in {share(sum(r['same'] for r in rows), len(rows))}; at the first attempt in "
          f"{sum(r['same'] and r['attempt'] == 1 for r in rows)}; right under nwrun {sum(r['inside']['score'] == 'R' for r in said)}, "
          f"with nwrun -p {sum(r['outside']['score'] == 'R' for r in said)}")
    return 0 if all(r["same"] for r in rows) else 1


# --- without a command of the user ---

ZERO_MBIT = 20, 160, 1000
ZERO_PROGRAMS = "rsync", "nginx-curl", "py-curl", "iperf3", "x-read-write"


def zero_plans(seed):
    """A bucket of the kernel at each rate."""
    return [dict(cases.make("single", ("net_tbf",), p, seed), id=f"zero:{rate}:{p}:{seed}", faults={"net_tbf": rate / 8}, mib=min(rate, 500))
            for rate in ZERO_MBIT for p in ZERO_PROGRAMS]


def zero_touch(world, todo, seconds, path, rows):
    """Transfers that agents of the hosts find by themselves: is the verdict as right as nwrun's of the same transfer?"""
    world.agents_start()
    for i, plan in enumerate(todo, 1):
        if "score" in rows.get(plan["id"], {}):
            continue
        row, task = dict(plan), re.sub(r"[^a-zA-Z0-9]+", "-", plan["id"]) + f"-{os.getpid()}"
        try:
            Case(world, plan, plan["faults"], seconds, task).run(True)
            row["nwrun"] = score(plan, world.result(task))
            before = max(world.ids())
            row["seconds"] = Case(world, plan, plan["faults"], seconds, task).run(False)
            doc = world.result_after(before)
            v = doc["verdict"]
            row["lift"] = row["seconds"] / Case(world, plan, {}, seconds, task).run(False)
            row.update(stage=v["stage"], confidence=v["confidence"], sentence=v["sentence"], score=score(plan, doc),
                       seen=doc["session"]["bytes"] / plan["mib"] / 2**20)
            until(40, "the end of the lifted session", lambda: world.result_after(before))
        except (Failed, OSError, KeyError, ValueError, TypeError) as e:
            row["error"] = f"{type(e).__name__}: {e}"[:300]
        rows[plan["id"]] = row
        with open(path, "a") as f:
            f.write(json.dumps(row) + "\n")
        print(f"{i}/{len(todo)} {row['id']}: " + (row["error"] if "error" in row else
              f"{row['score']} (nwrun {row['nwrun']}) {row['stage']} ({row['confidence']}), saw {100 * row['seen']:.0f} %, lift "
              f"{row['lift']:.2f}: {row['sentence']}"), flush=True)
    clear = [r for t in todo if (r := rows.get(t["id"], {})).get("lift", 0) >= load.HELPS]
    for who, key in ("agents", "score"), ("nwrun", "nwrun"):
        spoken = [r for r in clear if r[key] != "a"]
        print(f"{who}: right {share(sum(r[key] == 'R' for r in spoken), len(spoken))}, spoke in {len(spoken)} of {len(clear)}")


# --- the table ---

def wilson(k, n, z=1.96):
    """Wilson 1927: an interval of a share that holds for small numbers."""
    if n == 0:
        return (0.0, 1.0)
    p, d = k / n, 1 + z * z / n
    m = (p + z * z / (2 * n)) / d
    h = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return (max(0.0, m - h), min(1.0, m + h))


def share(k, n):
    lo, hi = wilson(k, n)
    return f"{k} of {n}" + (f" = {100 * k / n:.0f} % ({100 * lo:.0f}..{100 * hi:.0f})" if n else "")


def bounds_of(r):
    """What the answer says of a transfer without the limit: at least, at most (times as fast); infinite where it is silent."""
    low, high = (r.get("interval") or [None, None])[:2]
    return (low if low is not None else 0.0, high if high is not None else math.inf)


def effect_lines(rows):
    right = [r for r in rows if r["score"] == "R"]
    stated = [r for r in right if bounds_of(r) != (0.0, math.inf) or r.get("effect")]
    inside = [r for r in stated if bounds_of(r)[0] <= r["lift"] <= bounds_of(r)[1]]
    factor = [r for r in right if r.get("effect")]
    near = [r for r in factor if 0.5 <= r["effect"] / r["lift"] <= 2]
    two = [r for r in right if bounds_of(r)[0] > 0 and bounds_of(r)[1] <= 2 * bounds_of(r)[0]]
    sources = sorted({str(r.get("effect_from")) for r in two})
    lines = [f"effect: a factor or a bound is stated in {share(len(stated), len(rows))} clear cases; lift inside in "
             f"{share(len(inside), len(stated))}",
             f"  a factor is stated in {share(len(factor), len(rows))}, within a factor of 2 of the lift in "
             f"{share(len(near), len(factor))}",
             f"  two-ended (upper end at most twice the lower) in {share(len(two), len(rows))}; lift inside in "
             f"{share(len([r for r in two if r in inside]), len(two))}"]
    lines += [f"    from {s}: {sum(str(r.get('effect_from')) == s for r in two)}" for s in sources]
    return lines + [f"  OUTSIDE {r['id']}: says {bounds_of(r)[0]:.2f}..{bounds_of(r)[1]:.2f}, lift {r['lift']:.2f}"
                    for r in stated if r not in inside]


def near_lines(rows):
    """Two limits so close that the first verdict may take them for a tie, and what one measurement made of it."""
    asked = [r for r in rows if r.get("replays") and r["before"]]
    undecided = [r for r in asked if r["before"][0][1] is None]
    cost = [sum(y["cost_bytes"] or 0 for y in r["replays"]) / r["bytes_of"] for r in undecided]
    took = [sum(y["cost_s"] or 0 for y in r["replays"]) for r in undecided]
    return [f"limits apart by 1.3 to 1.5: right {share(sum(r['score'] == 'R' for r in rows), len(rows))}, wrong "
            f"{sum(r['score'] == 'W' for r in rows)}; undecided before a replay {len(undecided)}, behind it right "
            f"{share(sum(r['score'] == 'R' for r in undecided), len(undecided))}"
            + (f", for at most {100 * max(cost):.1f} % of the bytes and {max(took):.1f} s" if undecided else "")] if rows else []


def table(rows, out=print):
    done = [r for r in rows if "score" in r]
    failed = [r for r in rows if "error" in r]
    clear = [r for r in done if r["kind"] in CLEAR and r["clear"]]
    ties = [r for r in done if r["kind"] == "tie" and r["clear"]]
    moves = [r for r in done if r["kind"] == "move"]
    cells = {}
    for r in done:
        mark = r["score"] + (r["confidence"] or "none")[0] if r["score"] != "a" else "a"
        cells.setdefault((r["kind"], "+".join(r["order"])), []).append(
            f"{r['program']}:{mark}{'' if r['clear'] else '*'}")
    out("R right, W wrong, a abstains; h m l n confidence; * lifting the limit gains too little (ties: too much)")
    for (kind, faults), names in sorted(cells.items()):
        out(f"  {kind} {faults:24s} {'  '.join(sorted(names))}")
    spoken = [r for r in clear if r["score"] != "a"]
    out(f"clear cases: right when it speaks {share(sum(r['score'] == 'R' for r in spoken), len(spoken))}; "
        f"speaks in {share(len(spoken), len(clear))}")
    for word in "high", "medium", "low":
        said = [r for r in clear + ties if r["confidence"] == word]
        wrong = sum(r["score"] == "W" for r in said)
        bound = f"; bound {100 * BOUND[word]:.0f} %" if word in BOUND else ""
        out(f"  {word:6s} wrong {share(wrong, len(said))}{bound}")
    out(f"ties: abstains or names both {share(sum(r['score'] == 'R' for r in ties), len(ties))}")
    out(f"moves named in order {share(sum(r['score'] == 'R' for r in moves), len(moves))}")
    for line in near_lines([r for r in done if r["kind"] == "near" and r["clear"]]) + effect_lines(clear):
        out(line)
    for r in done:
        if r["score"] == "W":
            out(f"WRONG {r['id']}: {r['stage']} ({r['confidence']}), lift {r.get('lift', r.get('lifts'))}: {r['sentence']}")
    for r in failed:
        out(f"FAILED {r['id']}: {r['error']}")


# --- beside other work ---

def under_load(world, todo, seconds, path, rows):
    for i, plan in enumerate(todo, 1):
        if "score" in rows.get(plan["id"], {}):
            continue

        def case(plan, faults, loaded, task, measured):
            return Case(world, plan, faults, seconds, task, beside=plan["load"] if loaded else None).run(measured)
        try:
            row = load.measure(world, plan, seconds, case)
        except (Failed, OSError, KeyError, ValueError) as e:
            row = dict(plan, error=f"{type(e).__name__}: {e}"[:300])
        rows[plan["id"]] = row
        with open(path, "a") as f:
            f.write(json.dumps(row) + "\n")
        print(f"{i}/{len(todo)} {row['id']}: " + (row["error"] if "error" in row else
              f"{row['score']} said {'+'.join(row['said']) or 'nothing'} ({row['confidence']}), truth {'+'.join(row['truth']) or 'neither'}"),
              flush=True)
    print()
    load.table([rows[t["id"]] for t in todo if t["id"] in rows], share)


# --- main ---

def slower(plan, factor):
    """The same transfer with lower rates, so that a longer one has no more bytes."""
    faults = {f: r if f in cases.QUOTAS else round(r * factor, 1) for f, r in plan["faults"].items()}
    return dict(plan, id=f"{plan['id']}-slower", faults=faults)


def plans(a):
    return [slower(p, 6 / a.replay) for p in plans_listed(a)] if a.replay else plans_listed(a)


def plans_listed(a):
    if a.certain:
        return [cases.make(*c, a.seed) for c in cases.CERTAIN]
    if a.ways:
        return [p for p in (cases.make("single", *c, a.seed) for c in cases.WAYS) if not a.only or re.search(a.only, p["id"])]
    if a.zero:
        return [p for p in zero_plans(a.seed) if not a.only or re.search(a.only, p["id"])]
    if a.load:
        found = load.plans(list(load.LOADS) if a.load == "all" else a.load.split(","), a.cases, a.seed)
        return [p for p in found if not a.only or re.search(a.only, p["id"])]
    if a.full or a.only:
        found = [p for p in cases.full(a.clear, a.seed) if p["kind"] != "near" or a.replay]
        return [p for p in found if not a.only or re.search(a.only, p["id"])]
    return [cases.make(*c, a.seed) for c in cases.SHORT]


def results_read(path):
    rows = {}
    if os.path.exists(path):
        for line in open(path):
            try:
                row = json.loads(line)
                rows[row["id"]] = row
            except ValueError:
                pass       # a line that a killed rig did not finish
    return rows


def main():
    p = argparse.ArgumentParser(usage=__doc__, add_help=True)
    for flag in "short", "full", "certain", "again", "table", "fast", "ways", "zero":
        p.add_argument(f"--{flag}", action="store_true")
    p.add_argument("--only")
    p.add_argument("--load")
    p.add_argument("--cases", type=int, default=40)
    p.add_argument("--clear", type=int, default=400)
    p.add_argument("--history", type=int, default=0)
    p.add_argument("--replay", type=float, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="build/truth")
    p.add_argument("--build", default=os.environ.get("B", "build/release"))
    a = p.parse_args()
    path = f"{a.out}/{'loads' if a.load else 'zero' if a.zero else 'results'}.jsonl"
    os.makedirs(a.out, exist_ok=True)
    if a.again and os.path.exists(path):
        os.remove(path)
    rows = results_read(path)
    if a.table:
        load.table(list(rows.values()), share) if a.load else table(list(rows.values()))
        return 0
    if os.getuid() != 0:
        print("the rig makes namespaces and disks: it needs root")
        return 77
    todo = plans(a)
    skipped = {q: PROGRAMS[q].missing() for q in sorted({t["program"] for t in todo}) if PROGRAMS[q].missing()}
    for name, missing in skipped.items():
        print(f"skipped: {name}, for there is no {' and no '.join(missing)}", flush=True)
    todo = [t for t in todo if t["program"] not in skipped]
    for sig in signal.SIGTERM, signal.SIGHUP:
        signal.signal(sig, lambda *_: sys.exit(1))
    world = World(os.path.abspath(f"{a.build}/bin"), os.path.abspath(f"{a.build}/tests/rig"), os.path.abspath(a.out),
                  shielded=not a.load, replays=a.replay > 0)
    try:
        if a.ways:
            return ways(world, todo, 4 if a.fast else 6, f"{a.out}/ways.jsonl")
        if a.zero:
            return zero_touch(world, todo, 10, path, rows)
        if a.load:
            return under_load(world, todo, 4 if a.fast else 6, path, rows) or world.contradictions > 0
        work, again = list(todo), set()
        for i, t in enumerate(work, 1):
            if "score" in rows.get(t["id"], {}):
                continue
            try:
                row = measure(world, t, a.replay or (4 if a.fast else 6), a.history)
            except (Failed, OSError, KeyError, ValueError) as e:
                row = dict(t, error=f"{type(e).__name__}: {e}"[:300])
            if a.certain and row.get("score") != "R" and t["id"] not in again:
                print(f"again: {t['id']}: {row.get('error') or row['sentence']}", flush=True)
                again.add(t["id"])
                work.append(t)
                continue
            rows[t["id"]] = row
            with open(path, "a") as f:
                f.write(json.dumps(row) + "\n")
            print(f"{i}/{len(todo)} {row['id']}: " + (row["error"] if "error" in row else
                  f"{row['score']} {row['stage']} ({row['confidence']}) {row['seconds']:.1f} s, lift "
                  f"{row.get('lift') or row.get('lifts') or 0}"), flush=True)
    finally:
        world.close()
    chosen = [rows[t["id"]] for t in todo if t["id"] in rows]
    print()
    table(chosen)
    print(f"contradictions in sentences: {world.contradictions}")
    if a.certain:
        return 0 if all(r.get("score") == "R" for r in chosen) and world.contradictions == 0 else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
