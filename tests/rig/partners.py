#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One transfer, two boxes: ten planted limits, where host a reports to a box of site a and host b to a box of site b.

    partners.py [--seconds S] [--only REGEX] [--out DIR]

Both boxes must give the same verdict, and the verdict must name the limit. Each box alone says less: the last columns.
"""
import argparse, json, os, re, signal, subprocess, sys, time

import cases, rig
from world import ADDRESS, BOX, Failed, World, until

LIMITS = cases.CERTAIN + [("single", ("rcv_pause",), "x-read-write"), ("single", ("snd_pause",), "nginx-curl")]
PORT = {"a": 5021, "b": 5022}


class Partners(World):
    """Two boxes on the machine of the one: hosts a and d report to the first, host b to the second."""

    def box_start(self, name="state"):
        self.states = {"a": f"{self.out}/{name}-a", "b": f"{self.out}/{name}-b"}
        self.state, self.box = self.states["a"], []
        for i, site in enumerate("ab"):
            self.box.append(self.start("c", [
                f"{self.bin}/narrowsd", "-f", "/dev/null", "-d", "-o", f"state-dir={self.states[site]}",
                "-o", f"listen-xsp=127.0.0.1/{5006 + i} " + " ".join(f"{BOX.format(k)}/{5006 + i}" for k in (1, 2, 3)),
                "-o", "plain-xsp-beyond-loopback=yes", "-o", f"listen-http=127.0.0.1/{8080 + i}",
                "-o", "analysis-interval=1 s", "-o", "session-linger=2 s"], log=f"narrowsd-{site}.log"))
            until(10, f"the start of box {site}", lambda: os.path.exists(f"{self.states[site]}/narrowsd.run"))
            with open(f"{self.tmp}/{site}.conf", "w") as f:
                f.write(f"site {site}\naddress 127.0.0.1/{PORT[site]}\nlisten 127.0.0.1/{PORT[site]}\n"
                        f"directory {self.tmp}/partner-{site}\ninterval 300ms\n")
        for host in "abd":
            self.box.append(self.start(host, [f"{self.bin}/blipp", "-H", f"host-{host}", "-b", self.box_of(host)], log=f"blipp-{host}.log"))
        self.partner_start("a")
        token = self.partner("a", "invite", "b", ADDRESS["b"]).split()[0]
        self.partner("b", "join", f"127.0.0.1/{PORT['a']}", token, ADDRESS["a"])
        self.partner_start("b")

    def box_of(self, host):
        return BOX.format("abd".index(host) + 1) + ("/5007" if host == "b" else "/5006")

    def command(self, site, *argv):
        return [f"{self.bin}/narrows", "-s", self.states[site], "partner", "-f", f"{self.tmp}/{site}.conf", *argv]

    def partner(self, site, *argv):
        return subprocess.check_output(self.inside("c", self.command(site, *argv)), text=True, stderr=subprocess.DEVNULL)

    def partner_start(self, site):
        self.start("c", self.command(site, "run"), log=f"partner-{site}.log")
        until(10, f"the partner {site}", lambda: self.listening("c", PORT[site]))

    def document(self, site, task):
        """The newest document of a task whose session is closed, or None."""
        self.state = self.states[site]
        for line in self.narrows("sessions", "--json").splitlines():
            if f'"{task}"' not in line:
                continue
            try:
                listed = json.loads(line.strip().rstrip(","))
            except ValueError:
                continue
            listed = listed.get("session", listed)
            doc = json.loads(self.narrows("report", listed["id"], "--json"))
            if (doc.get("verdict") or {}).get("sentence") and doc["session"]["state"] == "closed":
                return doc
        return None

    def joined(self, task, seconds=60):
        """The documents of both boxes alone, and with both ends: {site: (alone, joined)}."""
        alone, both, end = {}, {}, time.monotonic() + seconds
        while len(both) < 2 and time.monotonic() < end:
            for site, other in ("a", "b"), ("b", "a"):
                doc = self.document(site, task)
                if doc is None:
                    continue
                hosts = [h["name"] for h in doc["session"]["hosts"]]
                (both if f"host-{other}@{other}" in hosts else alone)[site] = doc
            time.sleep(0.2)
        if len(both) < 2:
            raise Failed("the boxes do not exchange their ends")
        return {s: (alone.get(s), both[s]) for s in "ab"}


def said(doc):
    v = doc["verdict"]
    return [v["stage"], v["confidence"], v.get("effect"), v.get("interval")]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--only", default="")
    p.add_argument("--out", default="build/truth-partner")
    p.add_argument("--build", default=os.environ.get("B", "build/release"))
    a = p.parse_args()
    if os.getuid() != 0:
        print("the rig makes namespaces and disks: it needs root")
        return 77
    for sig in signal.SIGTERM, signal.SIGHUP:
        signal.signal(sig, lambda *_: sys.exit(1))
    todo = [t for t in (cases.make(*c, 1) for c in LIMITS) if re.search(a.only, t["id"])]
    world = Partners(os.path.abspath(f"{a.build}/bin"), os.path.abspath(f"{a.build}/tests/rig"), os.path.abspath(a.out))
    n = same = right = 0
    try:
        for t in todo:
            task = re.sub(r"[^a-zA-Z0-9]+", "-", t["id"]) + f"-{os.getpid()}"
            n += 1
            try:
                rig.Case(world, t, t["faults"], a.seconds, task).run(True)
                docs = world.joined(task)
            except (Failed, OSError, KeyError, ValueError) as e:
                print(f"{t['id']}: {type(e).__name__}: {e}", flush=True)
                continue
            scores = {s: rig.score(t, docs[s][1]) for s in "ab"}
            agree = said(docs["a"][1]) == said(docs["b"][1])
            same += agree
            right += agree and scores["a"] == "R"
            print(f"{t['id']}: {'same' if agree else 'NOT THE SAME'}, {scores['a']}{scores['b']} {said(docs['a'][1])[:2]} "
                  + ("" if agree else f"{said(docs['b'][1])} ")
                  + " ".join(f"{s} alone: {said(d[0])[:2] if d[0] else None}" for s, d in docs.items()), flush=True)
    finally:
        world.close()
    print(f"{n} planted limits: the same verdict in {same}, the same and right in {right}")
    return 0 if n == same == right else 1


if __name__ == "__main__":
    sys.exit(main())
