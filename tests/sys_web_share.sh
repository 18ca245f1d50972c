#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Long answers of every kind leave the box's health, the list and another reader's page their turns; two addresses share the
# box's time for answers; the work for a client that left stops; SIGTERM ends the box in the midst of long answers.
. tests/lib.sh

# --- 100,000 events, a session of twelve long series, one of 3,000 short ones ---
awk 'function at(name, host, t) { printf "%s; %s; %d; %09d; %d; 1; 77; %d\n", name, host, 1795162331 + int(t / 1000), (t % 1000) * 1000000, block, list }
	BEGIN { srand(4); for (list = 0; list < 1400; list++) for (i = 0; i < 12; i++) {
		block = list * 12 + i; s = "s" (1 + i % 3); t = 100 + list * 20 + rand()
		at("APP_SEND", "app", t); t += 1 + rand(); at("DPSS_SERV_IN", s, t)
		t += 1 + rand(); at("DPSS_START_READ", s, t); t += 6 + 3 * rand(); at("DPSS_END_READ", s, t)
		t += 1 + rand(); at("DPSS_START_WRITE", s, t); t += 2 + rand(); at("APP_RECEIVE", "app", t) } }' >"$tmp/events.log"
python3 - "$tmp" <<'EOF2'
import datetime, random, sys
random.seed(5)
def rows(path, n_series, n_values, step_ns):
    with open(path, "w") as f:
        f.write("session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n")
        for i in range(n_series * n_values):
            t = 1795160000 * 10**9 + i % n_values * step_ns
            iso = datetime.datetime.fromtimestamp(t // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%09dZ" % (t % 10**9)
            s = i // n_values
            f.write(f'1,{s + 1},hosta,"device=sd{s}",ps:disk:y{s % 50},busy_share,,{iso},{t},{random.random():.4f}\n')
rows(sys.argv[1] + "/long.csv", 12, 8000, 10**8)
rows(sys.argv[1] + "/wide.csv", 3000, 2, 10**9)
EOF2
for f in events.log long.csv wide.csv; do
	"$bin/narrows" -s "$tmp/state" import "$tmp/$f" >/dev/null || fail "import of $f"
done
start_box -o analysis-interval=60s -o session-linger=1s

cat >"$tmp/share.py" <<'EOF2'
import http.client, os, signal, sys, threading, time, urllib.parse
what, url, pid, patience = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
host, port = url.split("//")[1].split(":")
LONG = ["/session/1/lifelines", "/session/1/lifelines.otlp.json", "/session/1/lifelines.csv", "/session/1.log", "/session/2.csv", "/session/3.ndjson",
        "/api/v1/series?limit=3000", "/api/v1/last", "/api/v1/values", "/api/v1/statistics?step=1s", "/compare?ids=1,2,3",
        "/prometheus/api/v1/query_range?" + urllib.parse.urlencode({"query": "quantile_over_time(0.5,ps:disk:y1:busy_share[1000s])",
                                                                    "start": 1795159500, "end": 1795161500, "step": 1})]
SHORT = ["/healthz", "/", "/session/2"]

def ask(path, source="127.0.0.1", keep=None):
    c = http.client.HTTPConnection(host, int(port), timeout=120, source_address=(source, 0))
    begin = time.monotonic()
    c.request("GET", path)
    if keep is not None:
        keep.append(c)
        return
    r = c.getresponse()
    n = 0
    while (b := r.read(1 << 20)):
        n += len(b)
    c.close()
    return r.status, begin, time.monotonic(), n

def beside():
    for path in LONG:
        done, turns, worst = threading.Event(), {p: 0 for p in SHORT}, [0]
        def poll(p):
            while not done.is_set():
                status, begin, end, _ = ask(p)
                assert status in (200, 503), (p, status)
                worst[0] = max(worst[0], end - begin)
                turns[p] += not done.is_set()
                time.sleep(0.005)
        polls = [threading.Thread(target=poll, args=(p,)) for p in SHORT]
        for t in polls: t.start()
        status, begin, end, n = ask(path)
        done.set()
        for t in polls: t.join()
        took = end - begin
        print("%-40.40s %d %8.3f s %9d bytes; beside it %4d answers, the slowest after %.0f ms" % (path, status, took, n, sum(turns.values()), worst[0] * 1e3), flush=True)
        assert status == 200, path
        # held by the long answer, the others would be none or one
        if took > 0.2:
            assert all(v >= 2 for v in turns.values()), (path, took, turns)
            assert worst[0] < took or worst[0] < 0.1 * patience, (path, took, worst)

def share():
    # ten readers of one address and one of another ask for long answers; who ends how many?
    for path in ("/session/1/lifelines.csv?id=7", "/session/2.csv"):
        n, stop = {"127.0.0.1": 0, "127.0.0.2": 0}, threading.Event()
        def flood(source):
            while not stop.is_set():
                assert ask(path, source)[0] == 200
                n[source] += not stop.is_set()
        ts = [threading.Thread(target=flood, args=("127.0.0.1",)) for _ in range(10)] + [threading.Thread(target=flood, args=("127.0.0.2",)) for _ in range(2)]
        for t in ts: t.start()
        while min(n.values()) < 6: time.sleep(0.05)
        stop.set()
        for t in ts: t.join()
        print("%-40s ten readers of an address: %d answers, two of another: %d" % (path, n["127.0.0.1"], n["127.0.0.2"]), flush=True)
        assert n["127.0.0.1"] <= 1.5 * n["127.0.0.2"] + 3, n  # without shares: five times as many

def ticks():
    return sum(int(f.rsplit(")", 1)[1].split()[11]) + int(f.rsplit(")", 1)[1].split()[12])
               for f in (open(f"/proc/{pid}/task/{t}/stat").read() for t in os.listdir(f"/proc/{pid}/task")) if "(pages)" in f or "(web)" in f)

def settle():
    last = -1
    while (now := ticks()) != last:
        last = now
        time.sleep(0.5)
    return last

def cancel():
    path = "/session/1/lifelines.otlp.json"
    before = settle()
    ask(path)
    whole = settle() - before
    clients = []
    for _ in range(6):
        ask(path, keep=clients)
    time.sleep(0.1)
    for c in clients: c.close()
    rest = settle() - before - whole
    print("%-40s one answer: %d ticks, six that are left: %d" % (path, whole, rest), flush=True)
    assert rest < 3 * whole + 10, (path, whole, rest)

def stop():
    clients = []
    for path in LONG * 2:
        ask(path, keep=clients)
    time.sleep(0.2)
    os.kill(pid, signal.SIGTERM)
    while os.path.exists(f"/proc/{pid}") and "State:\tZ" not in open(f"/proc/{pid}/status").read(): time.sleep(0.02)

globals()[what]()
EOF2
for what in beside share cancel; do
	python3 "$tmp/share.py" $what "$url" $box "$(patience)" || fail "$what"
done
begin=$(date +%s)
python3 "$tmp/share.py" stop "$url" $box "$(patience)" || fail "stop"
wait $box || fail "the box ended with status $?"
[ $(($(date +%s) - begin)) -le $((5 * $(patience))) ] || fail "the box ended after $(($(date +%s) - begin)) s"
