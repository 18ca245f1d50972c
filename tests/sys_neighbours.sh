#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two enrolled hosts with addresses of their own, the box as configured by default. The second host tries to change what the box
# says of the first: closed and open sessions, named, secret and without a task; orders; the ports of a switch; events. Pages,
# documents, exports, the row in SQL, verdicts and orders of the first host stay as they are without the second.
. tests/lib.sh
[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"

ns=nwngb$$
hosts=$tmp/hosts
namespaces_end() {
	status=$?
	ip netns del $ns-a 2>/dev/null || :
	ip netns del $ns-b 2>/dev/null || :
	lib_cleanup
	exit $status
}
trap namespaces_end EXIT
n=0
for h in a b; do
	n=$((n + 1))
	ip netns add $ns-$h 2>/dev/null || skip "no network namespaces here"
	ip link add nwngb$n-$$ type veth peer name box netns $ns-$h || skip "no veth here"
	ip addr add 10.236.$n.1/24 dev nwngb$n-$$ && ip link set nwngb$n-$$ up
	ip -n $ns-$h addr add 10.236.$n.2/24 dev box && ip -n $ns-$h link set box up && ip -n $ns-$h link set lo up
done
mkdir "$hosts" "$tmp/state"
for h in a b; do nw enroll -o "$hosts" host$h >/dev/null || fail "enroll"; done
start_box -o listen-xsp-tls="10.236.1.1/5007 10.236.2.1/5007" -o listen-events-tls="10.236.2.1/5008"

cat >"$tmp/neighbours.py" <<'PY'
import ctypes, datetime, json, os, re, socket, ssl, struct, subprocess, sys, threading, time, urllib.request, uuid
sys.path.insert(0, "tests")
import xsp

ns, hosts, url, narrows, state = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
HOME = open("/proc/self/ns/net")
ADDRESS = {"a": "10.236.1.2", "b": "10.236.2.2"}


def connect(host, port):
    """A TLS connection to the box from the namespace of a host, with its certificate."""
    with open(f"/run/netns/{ns}-{host}") as f:
        assert libc.setns(f.fileno(), 0) == 0
    try:
        s = socket.create_connection((f"10.236.{'ab'.index(host) + 1}.1", port), 20 * xsp.PATIENCE)
    finally:
        assert libc.setns(HOME.fileno(), 0) == 0
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.load_verify_locations(hosts + "/ca.crt")
    c.load_cert_chain(f"{hosts}/host{host}.crt", f"{hosts}/host{host}.key")
    return c.wrap_socket(s, server_hostname=s.getpeername()[0])


class Peer(xsp.Peer):
    def __init__(self, host):
        self.s, self.sid, self.buf = connect(host, 5007), os.urandom(16), b""
        self.open()


class Agent(threading.Thread):
    """A provider for the whole host, which takes orders and keeps them."""

    def __init__(self, host, **hello):
        super().__init__(daemon=True)
        self.p, self.orders = Peer(host), []
        self.p.hello("agent-" + host, host="host" + host, can="start stop rate status", **hello)
        self.start()

    def run(self):
        try:
            while True:
                kind, blocks = self.p.message()
                if kind == xsp.APP and blocks[0][0] in (0x81, 0x82, 0x83):
                    self.orders.append(xsp.unbson(blocks[0][1]))
        except (EOFError, OSError, ValueError):
            pass


def get(path, status=200):
    try:
        with urllib.request.urlopen(url + path) as r:
            return r.read().decode()
    except urllib.error.HTTPError as e:
        raise AssertionError((path, e.code))


def sql(query):
    return subprocess.run([narrows, "-s", state, "sql", "--csv", query], check=True, capture_output=True, text=True).stdout


def rows(p, stage, amount, busy, t0, n=40, **subject):
    """A stage of a transfer, as nwrun reports it: n windows of 0.1 s."""
    mid, op = str(uuid.uuid4()), "read" if stage == "disk" else "write"
    p.app(0x20, xsp.bson({"id": mid, "eventType": "nl:tools:calipers:summary:" + op, "parameters": {"collectionInterval": 0.1},
                          "subject": {"type": stage, "pid": 4711, "program": "mover", **subject}}))
    for i in range(n):
        spent = busy * (0.9 + i % 3 / 20)
        p.app(0x21, xsp.data(mid, i, t0 + 0.1 * (i + 1), ts_ns=t0 * 10**9 + (i + 1) * 10**8, sum_v=amount * (1 + i % 4 / 20), mean_v=65536.0, mean_r=1e-9 * amount / spent, sd_r=1e-10 * amount,
                             count=20, window=0.1, busy=spent, busy_max=spent, wait=0.0, threads=1))
    p.sync()


PORTS = iter(range(40000, 60000))
FAR = "10.236.9.9"


def transfer(host, task, amount=1e6, disk=0.01, net=0.09, t0=None, **hello):
    """Host's transfer to a machine that is not measured: the network limits. Open until close()."""
    p = Peer(host)
    if task is not None:
        p.hello(str(uuid.uuid4()), host="host" + host, task_id=task, program="mover", **hello)
    p.port, t0 = next(PORTS), t0 or int(time.time()) - 5
    rows(p, "disk", amount, disk, t0, resource="/data")
    rows(p, "network", amount, net, t0, src=ADDRESS[host], sport=p.port, dst=FAR, dport=5001)
    return p


def sessions():
    return {s["id"]: s for s in json.loads(get("/api/v1/sessions?limit=100"))["sessions"]}


def settled(expect):
    """Waits until every session is closed and judged."""
    end = time.time() + 20 * xsp.PATIENCE
    while time.time() < end:
        s = sessions()
        if len(s) >= expect and all(x["state"] == "closed" and x.get("sentence") for x in s.values()):
            return s
        time.sleep(0.05)
    raise AssertionError(sessions())


def shown(sid):
    """All that the box says of a session."""
    page = re.sub(r"(?s)<(?:nav|footer).*?</(?:nav|footer)>", "", get(f"/session/{sid}"))
    return {"page": page, "json": get(f"/session/{sid}.json"), "csv": get(f"/session/{sid}.csv"), "api": get(f"/api/v1/sessions/{sid}"),
            "sql": sql(f"SELECT * FROM v_session WHERE id = {sid}"), "verdict": sql(f"SELECT * FROM v_verdict WHERE session = {sid}"),
            "events": sql(f"SELECT * FROM event WHERE session_id = {sid}")}


def document(sid):
    return json.loads(get(f"/session/{sid}.json"))


def verdict(sid):
    d = document(sid)
    v = d["verdict"]
    return {"stage": v["stage"], "sentence": v["sentence"], "confidence": v["confidence"], "witnesses": [w["name"] for w in v["witnesses"]],
            "bytes": d["session"]["bytes"], "route": d["session"]["route"], "program": d["session"]["program"]}


def newest(known):
    return max(set(sessions()) - known)


def run(task, **how):
    """A's transfer as a whole; returns its session."""
    known = set(sessions())
    transfer("a", task, **how).close()
    settled(len(known) + 1)
    return newest(known)


def same(what, before, now):
    for k in before:
        if before[k] != now[k]:
            at = next((i for i in range(min(len(before[k]), len(now[k]))) if before[k][i] != now[k][i]), 0)
            raise AssertionError((what, k, before[k][max(0, at - 80):at + 200], now[k][max(0, at - 80):at + 200]))


# --- what the box says without the neighbour ---
a_agent = Agent("a")
secret = str(uuid.uuid4())
nightly, hidden = run("nightly"), run(secret)
alone = verdict(run("alone"))
assert alone["stage"] == "net.write", (alone, document(newest(set())))
before = {s: shown(s) for s in (nightly, hidden)}
assert before == {s: shown(s) for s in (nightly, hidden)}, "a page that changes by itself"
assert any("event_type" in o or "id" in o for o in a_agent.orders), a_agent.orders
label = next(x["task_id"] for i, x in sessions().items() if i == hidden) if "task_id" in sessions()[hidden] else None

# --- 3: the neighbour claims the host's name and address, and listens for orders with the secret ---
b_agent = Agent("b", addresses="hosta 10.236.1.2 " + FAR)
known = set(sessions())
p = transfer("a", str(uuid.uuid4()))
heard = len(a_agent.orders)
deadline = time.time() + 5 * xsp.PATIENCE
while not any(o.get("src") == ADDRESS["a"] for o in a_agent.orders) and time.time() < deadline:
    time.sleep(0.05)
told = [o for o in a_agent.orders if o.get("src") == ADDRESS["a"]]
assert told and all(secret not in str(o) for o in a_agent.orders), a_agent.orders
p.close()
settled(len(known) + 1)
assert verdict(newest(known)) == alone, verdict(newest(known))
assert b_agent.orders == [], ("orders of another host", b_agent.orders)
aliases = {o["task_id"] for o in told if "task_id" in o}

# --- 1: closed sessions, by their name, by the label of a secret, by the orders of the other host ---
for task in ["nightly", *aliases, *([label] if label else []), *[x for x in set(re.findall(r"task-[0-9a-f]{8,}", before[hidden]["page"]))]]:
    p = Peer("b").hello(str(uuid.uuid4()), host="hostb", task_id=task, program="mover")
    t0 = int(time.time()) - 5
    rows(p, "disk", 5e9, 0.1, t0, src="hosta", dst=ADDRESS["a"])
    rows(p, "disk", 5e9, 0.1, t0, src=ADDRESS["a"], sport=40000, dst=FAR, dport=5001)
    rows(p, "network", 5e9, 0.02, t0, src=FAR, sport=5001, dst=ADDRESS["a"], dport=40000)
    p.close()
# as a witness of a whole host, too
for task in ["nightly", *aliases]:
    b_agent.p.app(0x20, xsp.bson({"id": str(uuid.uuid4()), "eventType": "ps:host:tcp", "parameters": {},
                                  "subject": {"task_id": task, "src": FAR, "sport": 5001, "dst": ADDRESS["a"], "dport": 40000}}))
settled(len(known) + 1)
for s in before:
    same("closed", before[s], shown(s))
# the host's next run goes on in its own session
transfer("a", "nightly").close()
end = time.time() + 20 * xsp.PATIENCE
while sessions()[nightly]["bytes"] < 2 * alone["bytes"] and time.time() < end:
    time.sleep(0.05)
settled(1)
v = verdict(nightly)
assert v["stage"] == alone["stage"] and v["bytes"] == 2 * alone["bytes"] and v["route"] == alone["route"], v

# --- 11: two open sessions without a task ---
known = set(sessions())
one, two = transfer("a", None), transfer("a", None)
p = Peer("b")
for other in (one, two):
    rows(p, "network", 5e9, 0.02, int(time.time()) - 5, src=ADDRESS["a"], sport=other.port, dst=FAR, dport=5001)
    rows(p, "network", 5e9, 0.02, int(time.time()) - 5, src=FAR, sport=5001, dst=ADDRESS["a"], dport=other.port)
p.close()
one.close(), two.close()
settled(len(known) + 1)
new = sorted(set(sessions()) - known)
of_a = [s for s in new if [o["owner"] for o in document(s)["senders"]] == ["host:hosta"]]
mixed = [s for s in new if len({o["owner"] for o in document(s)["senders"]}) > 1]
assert not mixed, ("sessions of two hosts", mixed)
assert len(of_a) == 2, [(s, document(s)["senders"]) for s in new]
for s in of_a:
    v = verdict(s)
    assert v["stage"] == alone["stage"] and v["bytes"] == alone["bytes"], (v, alone)

# --- a stranger in an open named session: listed, and set aside ---
known = set(sessions())
p = transfer("a", "shared")
b = Peer("b").hello(str(uuid.uuid4()), host="hostb", task_id="shared", program="mover")
t0 = int(time.time()) - 5
rows(b, "disk", 5e9, 0.1, t0, resource="/data")
deadline = time.time() + 10 * xsp.PATIENCE
while not set(sessions()) - known and time.time() < deadline:
    time.sleep(0.05)
while not any(o["id"] == f"s{newest(known)}" for o in b_agent.orders) and time.time() < deadline:
    time.sleep(0.05)
assert b_agent.orders and not any(p.port in (o.get("sport"), o.get("dport")) for o in b_agent.orders), ("the ports of another host", b_agent.orders)
rows(b, "network", 5e9, 0.02, t0, src=ADDRESS["a"], sport=p.port, dst=FAR, dport=5001)
rows(b, "network", 5e9, 0.02, t0, src="hosta", sport=p.port, dst=FAR, dport=5001)
line = f"ts={datetime.datetime.utcnow().isoformat()}Z event=evil.read host=hosta prog=mover task_id=shared block.id=1\n"
lines = connect("b", 5008)
lines.sendall(line.encode())
deadline = time.time() + 10 * xsp.PATIENCE
while "evil.read" not in sql("SELECT name FROM event WHERE name = 'evil.read'") and time.time() < deadline:
    time.sleep(0.05)
lines.close()
p.close(), b.close()
settled(len(known) + 1)
s = newest(known)
d = document(s)
assert verdict(s) == alone, (verdict(s), alone)
assert {o["owner"]: o["used"] for o in d["senders"]} == {"host:hosta": True, "host:hostb": False}, d["senders"]
assert alone["sentence"] in sql(f"SELECT verdict FROM v_session WHERE id = {s}").replace('""', '"'), "the row in SQL"
assert sql("SELECT DISTINCT host FROM event WHERE name = 'evil.read'").split() == ["hostb"], sql("SELECT host, name FROM event")

# --- 4: the ports of a switch, first without and then with a grant ---
def port():
    p, mid, t0 = Peer("b").hello(str(uuid.uuid4()), host="hostb"), str(uuid.uuid4()), time.time() - 5
    p.app(0x20, xsp.bson({"id": mid, "eventType": "ps:switch:port", "parameters": {},
                          "subject": {"type": "network", "hostname": "core-switch-1", "interface": "ge-0/0/7", "serves": "hosta " + ADDRESS["a"]}}))
    for i in range(12):
        p.app(0x21, xsp.bson({"mid": mid, "data": {"ts": t0 + 0.5 * i, "_sample": i, "octets_in": 6e7 * i, "octets_out": 1e6 * i,
                                                   "discards_in": 14000.0 * i, "discards_out": 0.0, "speed_bit_s": 1e9}}))
    assert p.until_stored(12) == 12
    p.close()


port()
assert verdict(run("by-switch")) == alone
subprocess.run([narrows, "-s", state, "enroll", "-o", hosts, "--speaks-for", "switch:core-switch-1", "hostb"], check=True, stdout=subprocess.DEVNULL)
port()
assert "switch" in verdict(run("by-switch-2"))["witnesses"], "with a grant the switch is a witness: " + get("/healthz")

# --- and at the end ---
for o in b_agent.orders:
    owners = {x["owner"] for x in document(int(re.match(r"s(\d+)", o["id"]).group(1)))["senders"]}
    assert "host:hostb" in owners, ("an order for a session without the neighbour", o, owners)
assert not any(secret in str(o) for o in b_agent.orders), b_agent.orders
for s in before:
    if s != nightly:
        same("at the end", before[s], shown(s))
print(f"{len(sessions())} sessions: {alone['sentence']}")
PY
python3 -B "$tmp/neighbours.py" "$ns" "$hosts" "$url" "$bin/narrows" "$tmp/state" || fail "neighbours"
