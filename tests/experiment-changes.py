#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What changed, by a real box: histories of thirty sessions of one route, with a change planted between them, and histories
without one. The planted settings are real: blipp lists the configuration of a namespace before and after a sysctl, a queueing
discipline or a mount option is changed there; a slower disk shows in the sessions alone, another way (hops) and a slower port of a
switch in what is measured during a session. Sessions are synthetic, go through XSP,
and are judged by the box. At the end the claims of all documents are checked. Usage: experiment-changes.py BIN [HISTORIES]   (root; some
seconds for each history; KEEP=DIRECTORY keeps the box's state)"""
import json, math, os, random, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(__file__))
import xsp

BIN, HISTORIES = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
# The box takes settings of the last thirty days with their time; a session each DAY of twenty hours fits into them.
SESSIONS, DAY = 30, 72000
FIRST = 4  # slow sessions of a history that are looked at, each as the box judged it then, beside the last one
T0 = int(time.time()) // DAY * DAY - 32 * DAY
rng = random.Random(17)
BLIPP = f"{BIN}/blipp -o probes=load --list-configuration"
PLANTS = {
    "sysctl": ("true", "sysctl -qw net.ipv4.tcp_rmem='4096 4096 65536'", "sysctl.net.ipv4.tcp_rmem", "network"),
    "qdisc": ("ip link add e0 type veth peer name e1 && ip link set e0 up && ip link set e1 up && tc qdisc replace dev e0 root pfifo",
              "tc qdisc replace dev e0 root tbf rate 100mbit burst 32kbit latency 400ms", "net.e0.qdisc", "network"),
    "send": ("true", "sysctl -qw net.ipv4.tcp_wmem='4096 4096 65536'", "sysctl.net.ipv4.tcp_wmem", "network"),
    "scaling": ("true", "sysctl -qw net.ipv4.tcp_window_scaling=0", "sysctl.net.ipv4.tcp_window_scaling", "network"),
    "sack": ("true", "sysctl -qw net.ipv4.tcp_sack=0", "sysctl.net.ipv4.tcp_sack", "network"),
    "moderate": ("true", "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0", "sysctl.net.ipv4.tcp_moderate_rcvbuf", "network"),
    "limit": ("true", "sysctl -qw net.ipv4.tcp_limit_output_bytes=4096", "sysctl.net.ipv4.tcp_limit_output_bytes", "network"),
    "mount": ("mount -t tmpfs -o size=64m tmpfs /dev/shm", "mount -o remount,sync,noatime /dev/shm", "mount./dev/shm", "disk"),
    "disk": ("true", "true", None, "disk"),
    # not listed: what the prober of the sending host and the switch measure while a session works
    "hops": ("true", "true", "way.bhops", "network"),
    "port": ("true", "true", "switch.core1.xe-0/0/7.speed_mbit_s", "network"),
    "nothing": ("true", "true", None, None),
}
UNLISTED = "disk", "hops", "port", "nothing"

def listed(plant):
    """The configuration before and after, of a namespace of its own."""
    before, after = PLANTS[plant][:2]
    out = subprocess.run(["unshare", "-n", "-m", "sh", "-c", f"ip link set lo up; {before} && {BLIPP} && echo ===== && {after} && {BLIPP}"],
                         capture_output=True, text=True, check=True).stdout.split("=====\n")
    return [dict(line.split("=", 1) for line in part.splitlines() if "=" in line) for part in out]

class Box:
    def __init__(self, directory):
        self.state, self.serial, self.told = directory, 0, {}
        self.process = subprocess.Popen([f"{BIN}/narrowsd", "-d", "-o", f"state-dir={directory}", "-o", "listen-xsp=127.0.0.1/0", "-o",
                                         "listen-http=127.0.0.1/0", "-o", "listen-events=127.0.0.1/0", "-o", "session-linger=1s", "-o",
                                         "escalate=no", "-o", "reduction-every=0s"], stderr=open(f"{directory}.log", "w"))
        while not os.path.exists(f"{directory}/narrowsd.run"):
            time.sleep(0.05)
        self.xsp = [l.split()[1] for l in open(f"{directory}/narrowsd.run") if l.startswith("xsp ")][0]

    def peer(self, host, task=None):
        self.serial += 1
        more = {"task_id": task, "program": "mover"} if task else {}
        return xsp.Peer(self.xsp).open().hello("p%d" % self.serial, host=host, software="test", **more)

    def sql(self, text):
        out = subprocess.run([f"{BIN}/narrows", "-s", self.state, "sql", "--csv", text], capture_output=True, text=True).stdout
        return out.splitlines()

    def report(self, session):
        return json.loads(subprocess.run([f"{BIN}/narrows", "-s", self.state, "report", session, "--json"], capture_output=True,
                                         text=True).stdout)

    def judged(self, a, b):
        """Closed sessions of the route with a verdict."""
        return int(self.sql("SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id JOIN run u ON u.id = r.run_id WHERE "
                            f"s.closed_ns IS NOT NULL AND u.started_ns >= s.closed_ns AND r.route = '{a} -> {b}'")[0])

    def config(self, host, t, settings):
        p = self.peer(host)
        for group in sorted({name.split(".")[0] for name in settings}):
            names = sorted(n for n in settings if n.split(".")[0] == group)
            for first in range(0, len(names), 100):  # as blipp does: a document has so many settings at most
                begin = group + "." if first == 0 else names[first]
                end = names[first + 100] if first + 100 < len(names) else group + "/"
                mine = {n: settings[n] for n in names[first:first + 100]}
                if self.told.get((host, begin)) == mine:
                    continue  # the box takes so many documents of a host at once
                self.told[host, begin] = mine
                p.app(0x20, xsp.bson({"id": "c%d.%s%d" % (self.serial, group, first), "eventType": "ps:host:config", "subject": {
                    "hostname": host, "type": "host", "from": begin, "until": end, "t_ns": int(t) * 10**9},
                    "parameters": mine}))
        p.sync()
        p.close()

    def measured(self, host, t0, subject, values, event):
        """Values of a series during a session of ten seconds."""
        p = self.peer(host)
        p.app(0x20, xsp.meta("m%d" % self.serial, event=event, **subject))
        for i in range(0, 11, 5):
            p.app(0x21, xsp.bson({"mid": "m%d" % self.serial, "data": {"ts": t0 + i + 0.5, **values}}))
        p.sync()
        p.close()

    def surroundings(self, a, b, t0, hops, mbit_s):
        self.measured(a, t0, {"type": "peer", "peer": b + "/9"}, {"hops": float(hops), "path_mtu": 1500.0},
                      "ps:tools:blipp:linux:peer")
        self.measured("collector", t0, {"hostname": "core1", "type": "switch", "port": 7, "interface": "xe-0/0/7", "serves": a},
                      {"octets_in": 1e9, "octets_out": 1e9, "speed_bit_s": mbit_s * 1e6}, "ps:switch:port")

    def transfer(self, a, b, task, t0, rate, network):
        """`network`: the share of the time for which the network held the bytes, the destination's disk having the rest."""
        net = dict(type="network", src="192.0.2.1", dst="192.0.2.2", sport="50000", dport="50001")
        held = {"r": 0.05, "s": 0.93, "g": network, "w": 0.9 if network < 0.5 else 0.05}
        for host, event, share, subject in ((a, "read", held["r"], {"type": "disk", "resource": "/in"}), (a, "write", held["s"], net),
                                            (b, "read", held["g"], net), (b, "write", held["w"], {"type": "disk", "resource": "/out"})):
            p = self.peer(host, task)
            mid = "m%d" % self.serial
            p.app(0x20, xsp.meta(mid, event="nl:tools:calipers:summary:" + event, program="mover", pid=str(10 + (host == b)), **subject))
            for i in range(10):
                v = rate * math.exp(0.03 * rng.gauss(0, 1))
                busy = min(0.98, max(0.01, share * math.exp(0.05 * rng.gauss(0, 1))))
                p.app(0x21, xsp.bson({"mid": mid, "data": {"ts": t0 + i + 1.0, "sum_v": v, "count": 100.0, "mean_v": v / 100, "window": 1.0,
                                                            "busy": busy, "busy_max": busy}}))
            p.sync()
            p.close()

def wait(state, seconds=60):
    end = time.time() + seconds
    while not state():
        if time.time() > end:
            sys.exit("the box does not judge")
        time.sleep(0.1)

def history(box, plant, number, lists):
    a, b = "a%s%d" % (plant, number), "b%s%d" % (plant, number)
    at = rng.randrange(10, 22)
    before, after = lists[plant]
    noise = [n for n in before if n.startswith("sysctl.") and n != PLANTS[plant][2]]
    box.config(a, T0 - DAY, before)
    box.config(b, T0 - DAY, before)
    changes = [(rng.randrange(1, SESSIONS), "noise") for _ in range(4)]
    if plant not in UNLISTED:
        changes.append((at, "plant"))
    now = dict(before)
    for i in range(SESSIONS):
        for when, what in changes:
            if when == i and what == "noise":
                now[rng.choice(noise)] = "4711"
                box.config(b, T0 + i * DAY - 7200, now)
            elif when == i:
                now.update({k: v for k, v in after.items() if before.get(k) != v})
                box.config(b, T0 + i * DAY - 3600, now)
        slow = plant != "nothing" and i >= at
        rate = 1e8 * (0.4 if slow else 1) * math.exp(0.05 * rng.gauss(0, 1))
        if i >= at:  # a session is judged by those that are judged before
            wait(lambda: box.judged(a, b) == i)
        if plant in ("hops", "port"):
            box.surroundings(a, b, T0 + i * DAY, 9 if slow and plant == "hops" else 4, 1000 if slow and plant == "port" else 10000)
        box.transfer(a, b, "%s%d.%d" % (plant, number, i), T0 + i * DAY, rate, 0.08 if slow and PLANTS[plant][3] == "disk" else 0.9)
    wait(lambda: box.judged(a, b) == SESSIONS)
    ids = box.sql(f"SELECT session_id FROM result WHERE route = '{a} -> {b}' ORDER BY start_ns")
    return [box.report(one) for one in ids[at:at + FIRST] + ids[-1:]]

def named(doc, plant):
    rows = (doc.get("changed") or {}).get("differences") or []
    beyond = [r for r in rows if r["beyond_chance"]]
    if plant == "nothing":
        return not beyond
    want = PLANTS[plant][2]
    if not beyond:
        return False
    if want is None:
        return beyond[0]["kind"] == "metric" and "disk" in beyond[0]["name"]
    return beyond[0]["kind"] == "setting" and beyond[0]["name"].startswith(want)

def main():
    lists = {plant: listed(plant) for plant in PLANTS}
    with tempfile.TemporaryDirectory() as directory:
        box = Box(os.path.join(directory, "state"))
        try:
            for plant in PLANTS:
                n, well, cards, first, days = HISTORIES * (2 if plant == "nothing" else 1), 0, 0, {}, [0] * FIRST
                for number in range(n):
                    *early, doc = history(box, plant, number, lists)
                    good = named(doc, plant)
                    days = [d + named(e, plant) for d, e in zip(days, early)]
                    if os.environ.get("V") and not good:
                        c, u = doc.get("changed") or {}, doc.get("usual") or {}
                        rows = [(r["name"], r["q"], r["beyond_chance"]) for r in c.get("differences") or []]
                        print(c.get("sentence"), "|", u.get("sentence"), "|", rows[:6], file=sys.stderr)
                    well += good
                    cards += bool(doc.get("advice"))
                    if not good:
                        what = [r["name"] for r in (doc.get("changed") or {}).get("differences") or []][:2]
                        first[str(what)] = first.get(str(what), 0) + 1
                print(f"{plant}: as it should be {well} of {n}, in its first slow sessions {days}; with advice {cards}; else first: {first}",
                      flush=True)
            print(subprocess.run([f"{BIN}/narrows", "-s", box.state, "report", "--check", "all"], capture_output=True, text=True).stdout)
            if os.environ.get("KEEP"):
                subprocess.run(["cp", "-r", box.state, os.environ["KEEP"]], check=True)
        finally:
            box.process.terminate()
            box.process.wait()

main()
