#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Sixteen sessions of one route through a real box; the second half is slower, since the receiver's host told of a changed
# setting. The session's page, the route's page and the command say so, and a route of four sessions says nothing.
. tests/lib.sh
cat >"$tmp/send.py" <<'END'
import random, sys, time
sys.path.insert(0, "tests")
import xsp
address, serial, rng = sys.argv[1], [0], random.Random(3)
DAY, T0 = 86400, int(time.time()) // 86400 * 86400 - 20 * 86400

def hello(host, task=None):
    serial[0] += 1
    more = {"task_id": task, "program": "mover"} if task else {}
    return xsp.Peer(address).open().hello("p%d" % serial[0], host=host, software="test", **more)

def config(host, t, group, settings):
    p = hello(host)
    p.app(0x20, xsp.bson({"id": "c%d" % serial[0], "eventType": "ps:host:config",
                          "subject": {"hostname": host, "type": "host", "from": group + ".", "until": group + "/", "t_ns": t * 10**9},
                          "parameters": settings}))
    p.sync()
    p.close()

def transfer(a, b, task, t0, rate):
    net = dict(type="network", src="192.0.2.1", dst="192.0.2.2", sport="50000", dport="50001")
    for host, event, share, subject in ((a, "read", 0.1, {"type": "disk", "resource": "/in"}), (a, "write", 0.95, net),
                                        (b, "read", 0.9, net), (b, "write", 0.1, {"type": "disk", "resource": "/out"})):
        p = hello(host, task)
        mid = "m%d" % serial[0]
        p.app(0x20, xsp.meta(mid, event="nl:tools:calipers:summary:" + event, program="mover", pid=str(10 + (host == b)),
                             label="nightly", **subject))
        for i in range(10):
            v = rate * (1 + 0.02 * rng.gauss(0, 1))
            p.app(0x21, xsp.bson({"mid": mid, "data": {"ts": t0 + i + 1.0, "sum_v": v, "count": 100.0, "mean_v": v / 100,
                                                        "window": 1.0, "busy": share, "busy_max": share}}))
        p.sync()
        p.close()

if sys.argv[2] == "last":
    serial[0] = 1000  # other providers than before
    transfer("a", "b", "t15", T0 + 15 * DAY, 4e7)
    sys.exit()
if sys.argv[2] == "ways":  # the eleventh session takes another way
    begin, end = int(sys.argv[3]), int(sys.argv[4])
    serial[0] = 4000 + 100 * begin
    for i in range(begin, end):
        p = hello("d")
        p.app(0x20, xsp.meta("way%d" % i, event="ps:tools:blipp:linux:peer", type="peer", peer="e/9"))
        p.app(0x21, xsp.bson({"mid": "way%d" % i, "data": {"ts": T0 + i * DAY + 2.0, "hops": 9.0 if i == 10 else 4.0}}))
        p.sync()
        p.close()
        transfer("d", "e", "w%d" % i, T0 + i * DAY, (4e7 if i == 10 else 1e8) * (1 + 0.05 * rng.gauss(0, 1)))
    sys.exit()
if sys.argv[2] in ("shaped", "free"):
    shaped = sys.argv[2] == "shaped"
    serial[0] = 2000 if shaped else 3000
    day = T0 + (16 if shaped else 17) * DAY
    config("a", day - 3600, "net", {"net.eth0.qdisc": "tbf" if shaped else "fq", "net.lo.qdisc": "noqueue"})
    transfer("a", "c", sys.argv[2], day, 2.5e7 if shaped else 1e8)
    sys.exit()
config("b", T0 - DAY, "sysctl", {"sysctl.net.ipv4.tcp_rmem": "4096 131072 67108864", "sysctl.vm.swappiness": "60"})
for i in range(15):
    if i == 8:
        config("b", T0 + 8 * DAY - 3600, "sysctl", {"sysctl.net.ipv4.tcp_rmem": "4096 4096 65536", "sysctl.vm.swappiness": "60"})
    transfer("a", "b", "t%d" % i, T0 + i * DAY, (1e8 if i < 8 else 4e7) * (1 + 0.05 * rng.gauss(0, 1)))
for i in range(4):
    transfer("a", "c", "u%d" % i, T0 + i * DAY, 1e8)
END
start_box -o listen-https=127.0.0.1/0 -o active-tests="a b" -o "expect=1d mover a -> c" -o "expect=30d mover a -> nowhere"
# known SESSIONS OF_A_ROUTE OF_THE_OTHER
known() {
	[ "$(sql "select count(*) from result where route glob '* -> *'")" = "$1" ] &&
	    [ "$(sql "select count(*) from route where n_sessions in ($2, ${3:-4})")" = 2 ]
}
# an active test of the path, twelve minutes before the twelfth session
python3 - <<'END' | nw import - >/dev/null || fail "import of a test"
import datetime, json, time
end = int(time.time()) // 86400 * 86400 - 9 * 86400 - 720
iso = lambda t: datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat()
print(json.dumps({"id": "7d0f8a1e-4f6f-4f0e-9c55-000000000099", "participants": ["a", "b"], "tool": {"name": "iperf3"},
                  "test": {"type": "throughput", "spec": {"source": "a", "dest": "b"}}, "run": {"start-time": iso(end - 10), "end-time": iso(end)},
                  "result": {"succeeded": True, "summary": {"summary": {"throughput-bits": 940e6}}}}))
END
python3 "$tmp/send.py" "$xsp" first || fail "the sender failed"
until_true 30 known 19 15 || fail "$(sql "select route, n_sessions from route")"
# an archive of perfSONAR gets the next session between hosts that are listed for it, once, and again until it takes it
mkdir "$tmp/archives"
# archives put into one file, hooks post into another: a line for each, its parts apart by tabs; none is taken beside a file "broken"
cat >"$tmp/receiver.py" <<'END'
import http.server, os, sys
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.take("archived", "Content-Type", "Authorization", "x-ps-observer")
    def do_POST(self):
        self.take("got", "Narrows-Event")
    def take(self, name, *headers):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        broken = os.path.exists(sys.argv[1] + "/broken")
        if not broken:
            with open(f"{sys.argv[1]}/{name}", "a") as f:
                print(self.path, *(self.headers[h] for h in headers), body, sep="\t", file=f)
        self.send_response(500 if broken else 204)
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 -B "$tmp/receiver.py" "$tmp" >"$tmp/port" &
pids="$pids $!"
until_true 10 test -s "$tmp/port" || fail "no receiver"
echo 'Basic bmFycm93czpzZWNyZXQ=' >"$tmp/credential"
for hosts in "a b" "a c"; do
	printf 'url http://127.0.0.1:%s/logstash\nformat pscheduler\nmethod PUT\nhosts %s\nobserver box.example\nauthorization-file %s\nreport https://box.example\n' \
	    "$(cat "$tmp/port")" "$hosts" "$tmp/credential" >"$tmp/archives/$(echo "$hosts" | tr ' ' -).conf"
done
archive() { nw hook -d "$tmp/archives" -m "$tmp/archives.json" -1 run 2>"$tmp/err" || fail "the look at the box: $(cat "$tmp/err")"; }
archive
python3 "$tmp/send.py" "$xsp" last || fail "the sender failed"
until_true 30 known 20 16 || fail "$(sql "select route, n_sessions from route")"

archive
grep -q 'other users may read this secret' "$tmp/err" || fail "a credential that others may read: $(cat "$tmp/err")"
chmod 600 "$tmp/credential"
: >"$tmp/broken"
due() { sed -i 's/"due":[0-9]*/"due":0/' "$tmp/archives.json"; archive; }
due
rm "$tmp/broken"
[ ! -e "$tmp/archived" ] || fail "a broken archive took something"
due
due
python3 - "$tmp/archived" "$(nw report --json last)" <<'END' || fail "archived: $(cat "$tmp/archived" "$tmp/err")"
import json, sys, uuid
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
path, kind, credential, observer, body = lines[0].split("\t")
assert (path, kind, credential, observer) == ("/logstash", "application/json", "Basic bmFycm93czpzZWNyZXQ=", "box.example")
d, ours = json.loads(body), json.loads(sys.argv[2])
assert uuid.UUID(d["id"]).version == 8 or d["id"][14] == "8", d
assert d["test"] == {"type": "disk-to-disk", "spec": {"schema": 1, "source": "file://a/", "dest": "file://b/"}} and d["participants"] == ["a", "b"], d
assert d["result"]["succeeded"] is True and d["result"]["bytes-sent"] == int(ours["session"]["bytes"]), d
assert abs(d["result"]["throughput"] - 8 * ours["session"]["bytes_per_s"]) < 1 and d["run"]["duration"] == "PT%.3fS" % ours["session"]["duration_s"], d
assert d["run"]["href"] == "https://box.example/session/%d" % ours["session"]["id"] and d["reference"]["narrows"]["stage"] == ours["verdict"]["stage"], d
END

# a pScheduler behind TLS is asked for a test of the slow session: with a budget, beside no open session, once
mkdir "$tmp/questions" "$tmp/ps"
cat >"$tmp/ps/ps.py" <<'END'
import datetime, http.server, json, ssl, sys, time
iso = lambda t: datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat()
asked, begun = [], time.time()
class Scheduler(http.server.BaseHTTPRequestHandler):
    def reply(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(json.dumps([self.path, self.headers["Authorization"], body]), file=open(sys.argv[1] + "/asked", "a"), flush=True)
        self.reply(201, base + "/tasks/91")
    def do_GET(self):
        asked.append(self.path)
        href = base + "/tasks/91/runs/7d0f8a1e-4f6f-4f0e-9c55-0000000000aa"
        run = {"href": href, "state": "running", "participants": ["a", "b"], "start-time": iso(begun), "end-time": iso(begun + 10)}
        if self.path != "/pscheduler/tasks/91/runs/first" or len(asked) == 1:
            return self.reply(404, "not scheduled")
        if len(asked) > 2:
            run.update({"state": "finished", "tool": {"name": "iperf3"},
                        "result-merged": {"succeeded": True, "summary": {"summary": {"throughput-bits": 8.5e8, "retransmits": 3}}}})
        self.reply(200, run)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Scheduler)
base = "https://localhost:%d/pscheduler" % server.server_port
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2] + "/box.crt", sys.argv[2] + "/box.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(base, flush=True)
server.serve_forever()
END
python3 -B "$tmp/ps/ps.py" "$tmp/ps" "$tmp/state/tls" >"$tmp/ps/url" &
pids="$pids $!"
until_true 10 test -s "$tmp/ps/url" || fail "no pScheduler"
# question [LINE]: the route turns slow once more; a look with a further line of configuration
question() {
	printf 'url %s\nformat pscheduler-test\nhosts a b\nca-file %s\nauthorization-file %s\nbox %s/pscheduler\ntimeout 60s\n%b' \
	    "$(cat "$tmp/ps/url")" "$tmp/state/tls/ca.crt" "$tmp/credential" "$url" "${1-}" >"$tmp/questions/test.conf"
	python3 - "$tmp/archives.json" "$tmp/questions.json" <<'END'
import json, os, sys
seen = json.load(open(sys.argv[1]))
if os.path.exists(sys.argv[2]):
    seen["asked"] = json.load(open(sys.argv[2])).get("asked", {})
seen["session"] -= 1
seen.pop("queues", None)
for r in seen["routes"].values():
    r["slow"] = False
json.dump(seen, open(sys.argv[2], "w"))
END
	nw hook -d "$tmp/questions" -m "$tmp/questions.json" -1 run 2>"$tmp/err" || fail "a question: $(cat "$tmp/err")"
}
question
grep -q 'no test is asked for: the budget of the day is spent' "$tmp/err" || fail "asked without a budget: $(cat "$tmp/err")"
python3 - "$xsp" <<'END' &
import sys, time
sys.path.insert(0, "tests")
import xsp
p = xsp.Peer(sys.argv[1]).open().hello("open", host="a", software="test", task_id="beside", program="mover")
p.app(0x20, xsp.meta("m", event="nl:tools:calipers:summary:read", program="mover", pid="1", type="disk", resource="/in"))
p.sync()
time.sleep(60)
END
beside=$!
pids="$pids $beside"
is_open() { nw sessions --json | grep -q '"state": *"open"'; }
until_true 10 is_open || fail "no open session: $(nw sessions --json | head -3)"
question 'budget 15s\n'
[ ! -e "$tmp/ps/asked" ] || fail "asked beside a transfer"
grep -q '"event":"slower.begins"' "$tmp/questions.json" || fail "the question does not wait: $(cat "$tmp/questions.json")"
kill "$beside"
is_closed() { ! is_open; }
until_true 20 is_closed || fail "the session stays open"
question 'budget 15s\n'
[ "$(sql "select source || destination || tool || json_extract(fields, '\$.bits_per_s') from active_test where run glob '*0000000000aa'")" = "abiperf3850000000.0" ] ||
	fail "the answer: $(cat "$tmp/err") $(sql 'select * from active_test')"
python3 - "$tmp/ps/asked" <<'END' || fail "the question: $(cat "$tmp/ps/asked")"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
path, credential, body = json.loads(lines[0])
assert (path, credential, body["schema"]) == ("/pscheduler/tasks", "Basic bmFycm93czpzZWNyZXQ=", 1)
assert body["test"] == {"type": "throughput", "spec": {"schema": 1, "source": "a", "dest": "b", "duration": "PT10S", "bandwidth": 10**9}}, body
END
question 'budget 15s\n'
grep -q 'the budget of the day is spent' "$tmp/err" && [ "$(wc -l <"$tmp/ps/asked")" = 1 ] || fail "asked beyond the budget"
printf 'url https://localhost/x\nformat pscheduler-test\nbox http://127.0.0.1/pscheduler\n' >"$tmp/questions/test.conf"
! nw hook -d "$tmp/questions" -m "$tmp/questions.json" list 2>"$tmp/err" && grep -q 'hosts: list the hosts' "$tmp/err" || fail "questions about any host"

# sixteen daily sessions, the newest five days ago: the next is missing; a told route is missing, too, unless it is young
curl -fsS "$url/api/v1/expected" >"$tmp/expected.json" || fail "/api/v1/expected"
python3 - "$tmp/expected.json" <<'END' || fail "what is expected: $(cat "$tmp/expected.json")"
import json, sys
doc = {e["route"]: e for e in json.load(open(sys.argv[1]))["expected"]}
learnt, told, never = doc["a -> b"], doc["a -> c"], doc["a -> nowhere"]
assert len(doc) == 3 and not learnt["told"] and learnt["missing"] and learnt["runs"] == 16 and abs(learnt["every_s"] - 86400) < 60
assert told["told"] and told["missing"] and told["every_s"] == 86400 and told["last"] and told["runs"] == 0
assert never["told"] and not never["missing"] and never["last"] is None and never["last_session"] is None
END
for page in / /health; do
	curl -fsS "$url$page" >"$tmp/page" || fail "$page"
	grep -q '<span class="tag">missing</span> since\|Expected, and missing' "$tmp/page" || fail "$page does not say that a session is missing"
done
nw backup "$tmp/copy.db" >/dev/null || fail "backup"
curl -fsS "$url/health" | grep -q "<dt>File</dt><dd>$tmp/copy.db</dd>" || fail "the page of health does not know the backup"
last=$(sql "select max(session_id) from result where route = 'a -> b'")
page=$(curl -fs "$url/session/$last")
for what in 'times slower than usual, and slower than each of' 'this route reached ' 'This route: ' 'times slower since' 'sysctl.net.ipv4.tcp_rmem' \
    '<p class="command"><code>On b: sysctl -w net.ipv4.tcp_rmem=' 'href="/route?route=a+-%3E+b&amp;program=mover"'; do
	case $page in *"$what"*) ;; *) fail "the session's page lacks $what" ;; esac
done
# the first slow session's page has what the later ones told
first=$(sql "select session_id from result where route = 'a -> b' order by start_ns limit 1 offset 8")
curl -fs "$url/session/$first" | grep -q 'Known since: [0-9.]* times slower since session' || fail "session $first does not know of its incident"
curl -fs "$url/session/$first" >"$tmp/page"
for what in 'href="/incident/9">The incident' 'Known since, by session [0-9]*: .*tcp_rmem' 'Known since: Set sysctl net.ipv4.tcp_rmem on b back'; do
	grep -q "$what" "$tmp/page" || fail "the page of session $first lacks $what"
done
nw report "$first" >"$tmp/first" && [ "$(grep -c '^Known since:' "$tmp/first")" = 2 ] || fail "report of session $first: $(cat "$tmp/first")"
curl -fs "$url/" | tr '\n' ' ' | grep -q '<h2>Slower now</h2><ul><li>.*href="/incident/9"' || fail "the list does not begin with the open incident"
curl -fs "$url/session/$last.json" >"$tmp/doc"
python3 - "$tmp/doc" <<'END' || fail "the document"
import json, sys
d = json.load(open(sys.argv[1]))
u, c = d["usual"], d["changed"]
assert u["said"] == "slower" and u["n"] == 8 and u["incident"]["ratio"] > 2 and u["incident"]["session"] == 9, u
first = c["differences"][0]
assert first["name"] == "sysctl.net.ipv4.tcp_rmem" and first["host"] == "b" and first["beyond_chance"], c
assert first["before"] == "4096 131072 67108864" and first["after"] == "4096 4096 65536", first
assert c["n_named"] == 1 and first["named"] and first["weight"] > 0.8 > c["unexplained"], c
assert abs(sum(x["weight"] for x in c["differences"]) + c["unexplained"] - 1) < 1e-6, c
card = d["advice"][0]
assert card["rule"] == "set-back" and abs(card["gain_history"] - u["ratio"]) < 1e-6 and card["check"] == "sysctl net.ipv4.tcp_rmem", card
assert card["change"] == "On b: sysctl -w net.ipv4.tcp_rmem='4096 131072 67108864'", card
assert card["settings"] == [{"host": "b", "name": "sysctl.net.ipv4.tcp_rmem", "value": "4096 4096 65536"}], card
head = d["headline"]
assert "times slower than usual: " in head and ", since " in head and len(head.split()) <= 12, head
assert "sysctl.net.ipv4.tcp_rmem on b was 4096 131072 67108864, and is 4096 4096 65536. Set it back" in d["remedy"], d["remedy"]
END
# the five answers in the first ten lines, and for a ticket
nw report "$last" | head -n 10 >"$tmp/ten" || fail "report"
for what in ' times slower than usual: ' 'the network path from a to b' '^Slow?  ' '^Since when?  ' '^What changed?  .*tcp_rmem' \
    '^What to do?  .*sysctl -w net.ipv4.tcp_rmem='; do
	grep -q "$what" "$tmp/ten" || fail "the first ten lines lack $what: $(cat "$tmp/ten")"
done
nw report --md "$last" >"$tmp/ticket" || fail "report --md"
[ "$(grep -c '^- \*\*.*?\*\* ' "$tmp/ticket")" = 5 ] && ! grep -q Confidence "$tmp/ticket" || fail "the ticket: $(cat "$tmp/ticket")"
curl -fsS -d "text=tuned" "$url/session/$last/note" -o /dev/null || fail "a note"
page=$(curl -fs "$url/route?route=a+-%3E+b&program=mover")
# the plot of the rates: what changed, the incident and the note have marks, and the stages a strip
for what in ': sysctl.net.ipv4.tcp_rmem on b</title>' '>!</text>' '>S</text>' ': tuned</title>' '<title>network path</title>'; do
	case $page in *"$what"*) ;; *) fail "the route's plot lacks $what" ;; esac
done
for what in 'Usually ' 'of 16 sessions' 'What changed' 'p-route' 'p-verdicts' 'Stretch by stretch' \
    'href="/route/p-verdicts.csv?route=a+-%3E+b&amp;program=mover"'; do
	case $page in *"$what"*) ;; *) fail "the route's page lacks $what" ;; esac
done
[ "$(curl -fs "$url/route.csv?route=a+-%3E+b&program=mover" | wc -l)" = 17 ] || fail "the route's CSV"
# the same sessions as esmond's client reads them, and the result documents have the same rates
python3 - "$url" <<'END' || fail "/esmond"
import json, sys, urllib.error, urllib.request
box = sys.argv[1]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def ask(path):
    with opener.open(box + path) as r:
        assert r.headers["Content-Type"] == "application/json", r.headers
        return json.load(r)
listed = ask("/esmond/perfsonar/archive/?event-type=throughput&source=a&destination=b&tool-name=narrows/mover")
assert len(listed) == 1 == listed[0]["metadata-count-total"] and listed[0]["tool-name"] == "narrows/mover", listed
for kind in ask(listed[0]["uri"])["event-types"]:
    points = ask(kind["base-uri"] + "?time-start=0&limit=1000")
    assert all(a["ts"] < b["ts"] for a, b in zip(points, points[1:])), points
    if kind["event-type"] == "failures":
        assert points == []
        continue
    assert len(points) == 16 and points[-1]["ts"] == kind["time-updated"], kind
    if kind["event-type"] == "throughput":
        rates = [p["val"] for p in points]
        days = ask(next(s["uri"] for s in kind["summaries"] if s["summary-window"] == "86400"))
        assert [round(p["val"]) for p in days] == rates, days
    else:
        docs = [ask("/session/%d.json" % p["val"]["session"]) for p in points]
        assert rates == [round(8 * d["session"]["bytes_per_s"]) for d in docs]
        assert [p["val"]["stage"] for p in points] == [d["verdict"]["stage"] for d in docs]
for path in ("nothing/", "?time-start=now"):
    try:
        ask("/esmond/perfsonar/archive/" + path)
        sys.exit(path)
    except urllib.error.HTTPError as e:
        assert e.code == (404 if "nothing" in path else 400) and "error" in e.read().decode(), path
END
curl -fs "$url/route.json?route=a+-%3E+b&program=mover" >"$tmp/route.json"
curl -fs "$url/route/p-verdicts.csv?route=a+-%3E+b&program=mover" >"$tmp/mix.csv" || fail "the CSV of the verdicts over time"
python3 - "$tmp/route.json" "$tmp/mix.csv" "$(sql "select count(*) from result where route = 'a -> b'")" <<'END' || fail "verdicts over time"
import csv, json, sys
doc, rows = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2], newline="")))
periods = doc["periods"]
assert len(periods) == len(rows) > 10 and sum(p["n_sessions"] for p in periods) == int(sys.argv[3]) == 16
assert all(sum(s["n"] for s in p["stages"]) == p["n_sessions"] for p in periods)
assert all(int(p["to_ns"]) - int(p["from_ns"]) == 86400 * 10**9 for p in periods)
assert doc["verdicts_sentence"] and all(p["n_sessions"] <= 1 for p in periods)
for p, r in zip(periods, rows):
    assert float(r.pop("seconds since 1970")) == int(p["from_ns"]) / 1e9
    assert (sum(float(v) for v in r.values()) == 1) if p["n_sessions"] else not any(r.values()), (p, r)
END
# side by side: the setting that changed, and the rates
curl -fs "$url/api/v1/compare?ids=$(sql "select min(session_id) from result where route = 'a -> b'"),$last&by=bytes" >"$tmp/compare" || fail "compare"
python3 - "$tmp/compare" <<'END' || fail "compare: $(cat "$tmp/compare")"
import json, sys
doc = json.load(open(sys.argv[1]))
rows = {(r["group"], r["name"]): r for r in doc["rows"]}
rmem = rows["setting", "sysctl.net.ipv4.tcp_rmem"]
assert rmem["host"] == "b" and rmem["values"] == ["4096 131072 67108864", "4096 4096 65536"] and rmem["differs"]
assert doc["settings_equal"] == 1 and ("setting", "sysctl.vm.swappiness") not in rows
rate = rows["session", "Mean rate"]
assert rate["differs"] and rate["numbers"][0] > 2 * rate["numbers"][1] > 0 and not rows["session", "Route"]["differs"]
assert [r["session"] for r in doc["rates"]] == doc["sessions"] and all(len(r["bytes_per_s"]) == len(doc["positions"]) == 100 for r in doc["rates"])
assert any(r["group"] == "metric" and r["name"].startswith("time held by ") and len(r["numbers"]) == 2 for r in doc["rows"])
END
curl -fs "$url/compare?ids=$last" | grep -q "value=\"$last\" checked" || fail "one session leads to no form"
few=$(sql "select max(session_id) from result where route = 'a -> c'")
case $(curl -fs "$url/session/$few") in *"than usual"*) fail "four sessions say something" ;; esac
nw routes | grep -q 'a -> b .*mover .* 16 ' || fail "narrows routes: $(nw routes)"
nw routes --host c | grep -q '4 sessions so far: a usual rate needs 8' || fail "narrows routes --host: $(nw routes --host c)"
[ "$(nw sessions --state slower -n 100 --json | wc -l)" -ge 1 ] || fail "--state slower: $(nw sessions --state slower -n 100)"
[ "$(nw sessions --route 'a -> c' --json | wc -l)" = 4 ] || fail "--route"
[ "$(nw sessions --rate-min 70MB --route 'a -> b' --json | wc -l)" = 8 ] || fail "--rate-min"
nw routes --json | python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]' || fail "--json"
# --- an advice that fits, and what the next session shows ---
python3 "$tmp/send.py" "$xsp" shaped || fail "the sender failed"
until_true 30 known 21 16 5 || fail "$(sql "select route, n_sessions from route")"
few=$(sql "select max(session_id) from result where route = 'a -> c'")
page=$(curl -fs "$url/session/$few")
for what in 'What to do' 'Look at the shaper of ' 'tc -s qdisc show' 'queueing discipline tbf'; do
	case $page in *"$what"*) ;; *) fail "no advice: $what" ;; esac
done
python3 "$tmp/send.py" "$xsp" free || fail "the sender failed"
until_true 30 known 22 16 6 || fail "$(sql "select route, n_sessions from route")"
curl -fs "$url/route.json?route=a+-%3E+c&program=mover" >"$tmp/doc"
python3 - "$tmp/doc" <<'END' || fail "the advice is not closed"
import json, sys
cards = [c for c in json.load(open(sys.argv[1]))["advice"] if c["rule"] == "shaper"]
assert len(cards) == 1 and cards[0]["closed"] and 3.5 < cards[0]["obtained"] < 4.5 and (cards[0]["predicted"] or 2) > 1, cards
END

# --- a label, and a program that fails ---
head -c 3000000 /dev/zero >"$tmp/in"
"$bin/nwrun" -q -l nightly sh -c "cat '$tmp/in' >'$tmp/out'; exit 3" && fail "the exit status is lost"
failed() { [ "$(sql "select exit_status from result where label = 'nightly'")" = 3 ]; }
until_true 20 failed || fail "no failed session: $(sql "select program, label, exit_status from result order by session_id desc limit 3")"
[ "$(nw sessions --state failed --json | wc -l)" = 1 ] || fail "--state failed"
[ "$(nw sessions --label nightly --json | wc -l)" = 1 ] || fail "--label"
case $(curl -fs "$url/?label=nightly") in *'label <bdi>nightly</bdi>'*'failed: 3'*) ;; *) fail "the list of failed sessions" ;; esac
# --- the incident as one object: API, page, metrics, commands and hooks read the same ---
incidents() { curl -fsS "$url/api/v1/incidents?$1"; }
incidents state=open >"$tmp/incidents" || fail "/api/v1/incidents"
curl -fs "$url/session/$last.json" >"$tmp/doc"
python3 - "$tmp/incidents" "$tmp/doc" <<'END' || fail "the incident: $(cat "$tmp/incidents")"
import json, sys
doc, result = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert doc["n_open"] == 1 and doc["next_before"] is None, doc
(o,) = doc["incidents"]
assert (o["route"], o["program"], o["session"], o["state"], o["kind"]) == ("a -> b", "mover", 9, "open", "step"), o
assert o["n_sessions"] == 8 and 2 < o["ratio"] < 3.2 and o["page"] == "/incident/9" and o["accepted"] is None, o
assert o["stage_since"] == "network" and o["n_named"] == 1 and o["cause"] == result["changed"]["sentence"], o
cause = o["causes"][0]
assert cause["name"] == "sysctl.net.ipv4.tcp_rmem" and cause["weight"] > 0.8 > o["unexplained"], o
(card,) = [c for c in o["advice"] if c["rule"] == "set-back"]
assert abs(card["predicted"] - o["ratio"]) < 0.5 and card["closed"] is None, card
# the route a -> c has sessions since, and did not fall
assert o["place"] is None and o["reach"] == "Other routes over its hosts: 0 of 1 fell, too.", o["reach"]
END
curl -fsS "$url/api/v1/routes" | python3 -c 'import json, sys
assert {r["route"]: r["incident"] for r in json.load(sys.stdin)["routes"] if r["program"] == "mover"} == {"a -> b": 9, "a -> c": None}' ||
	fail "the routes do not tell which is slower: $(curl -fsS "$url/api/v1/routes")"
for filter in state=ended route=a+-%3E+c session=10 before=1 program=cp; do
	incidents "$filter" | grep -q '"incidents": *\[\]' || fail "the filter $filter: $(incidents "$filter")"
done
incidents "route=a+-%3E+b&program=mover&since=3000d&session=9&limit=1" | grep -q '"session": *9' || fail "all filters at once"
for wrong in limit=0 state=over nothing=1; do
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/api/v1/incidents?$wrong")" = 400 ] || fail "$wrong is taken"
done
open_incidents() { curl -fsS "$url/metrics" | sed -n 's/^narrows_incidents_open //p'; }
[ "$(open_incidents)" = 1 ] || fail "/metrics: $(open_incidents) incidents"
page=$(curl -fs "$url/incident/9")
for what in 'times slower since session 9' 'sysctl.net.ipv4.tcp_rmem' 'not tried' 'action="/incident/9"' 'href="/session/9"'; do
	case $page in *"$what"*) ;; *) fail "the incident's page lacks $what" ;; esac
done
curl -fs "$url/incidents" | grep -q 'href="/incident/9"' || fail "the list of incidents"
curl -fs "$url/route?route=a+-%3E+b&program=mover" | grep -q 'href="/incident/9"' || fail "the route's page has no link to its incident"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/incident/10")" = 404 ] || fail "/incident/10"
nw incidents --open 'a -> b' >"$tmp/list" || fail "narrows incidents"
for what in '^ *9  open      a -> b (mover)' 'times slower since session 9' 'tcp_rmem' 'not tried'; do
	grep -q "$what" "$tmp/list" || fail "narrows incidents lacks $what: $(cat "$tmp/list")"
done
[ "$(nw incidents --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["session"])')" = 9 ] || fail "incidents --json"
[ "$(nw incidents --open 'a -> c')" = "No incident." ] || fail "incidents of another route"
! nw incidents --since soon 2>"$tmp/err" && grep -q 'is not ISO 8601' "$tmp/err" || fail "--since: $(cat "$tmp/err")"
nw route 'a -> b' >"$tmp/list" || fail "narrows route"
for what in '^a -> b (mover)$' '^Usually .*of 16 sessions' '^Incidents$' '^- .*times slower since session 9' '^      *[0-9]*  network path'; do
	grep -q "$what" "$tmp/list" || fail "narrows route lacks $what: $(cat "$tmp/list")"
done
nw route --json --program mover 'a -> b' | python3 -c 'import json, sys; assert json.load(sys.stdin)["n_sessions"] == 16' || fail "route --json"
# active tests of the path stand beside the sessions, in the document, on the page and as a plot
python3 - "$tmp/tests.json" <<'END'
import datetime, json, sys, time
iso = lambda t: datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat()
def doc(n, kind, result, src="a", dst="b"):
    start = time.time() - 86400 * 20 + 3600 * n
    return {"id": "7d0f8a1e-4f6f-4f0e-9c55-%012d" % n, "participants": [src, dst], "tool": {"name": "iperf3"}, "result": dict(result, succeeded=True),
            "test": {"type": kind, "spec": {"source": src, "dest": dst}}, "run": {"start-time": iso(start), "end-time": iso(start + 10)}}
bits = [doc(n, "throughput", {"summary": {"summary": {"throughput-bits": b * 1e6, "retransmits": n}}}) for n, b in enumerate((940, 930, 910))]
lost = doc(9, "latency", {"packets-sent": 600, "packets-lost": 6, "histogram-latency": {"2": 594}})
json.dump(bits + [lost, doc(10, "throughput", {"summary": {"summary": {"throughput-bits": 5e6}}}, "b", "a")], open(sys.argv[1], "w"))
END
nw import "$tmp/tests.json" | grep -q '^5 active tests$' || fail "import of tests"
nw route 'a -> b' >"$tmp/list" || fail "narrows route with tests"
nw report 12 | grep -q 'active test.*got 118 MB/s (940 Mbit/s) with 1 stream 12 min 0 s before' || fail "no active test: $(nw report 12)"
for what in '^5 active tests of throughput got 930 Mbit/s in the median, 940 Mbit/s at best; sessions usually get' 'throughput .* 910' 'latency .* 1 % lost'; do
	grep -q "$what" "$tmp/list" || fail "narrows route lacks $what: $(cat "$tmp/list")"
done
curl -fs "$url/route.json?route=a%20-%3E%20b&program=mover" | python3 -c 'import json, sys
t = json.load(sys.stdin)["active_tests"]
assert [round(x["bytes_per_s"] / 125000) if x["bytes_per_s"] else None for x in t] == [850, 940, None, 910, 930, 940], t
assert t[2]["loss"] == 0.01 and t[3]["retransmits"] == 2 and t[3].get("apart_s") is None, t[2]' || fail "tests in the document"
curl -fs "$url/route?route=a%20-%3E%20b&program=mover" >"$tmp/page" || fail "the page with tests"
grep -q '<h2>What the path can do</h2>' "$tmp/page" && grep -q 'id="p-tests"' "$tmp/page" || fail "the page lacks tests"
[ "$(curl -fs "$url/route/p-tests.csv?route=a%20-%3E%20b&program=mover" | grep -c ',11[0-9]*')" -ge 3 ] || fail "the figure of tests"
# a test that comes after the verdict has its session judged anew, and says what the path had room for
python3 - <<'END' | nw import - >/dev/null || fail "import of a late test"
import datetime, json, time
start = int(time.time()) // 86400 * 86400 - 8 * 86400 + 610
iso = lambda t: datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat()
print(json.dumps({"id": "7d0f8a1e-4f6f-4f0e-9c55-000000000098", "participants": ["a", "b"], "tool": {"name": "iperf3"},
                  "test": {"type": "throughput", "spec": {"source": "a", "dest": "b"}}, "run": {"start-time": iso(start), "end-time": iso(start + 20)},
                  "result": {"succeeded": True, "summary": {"summary": {"throughput-bits": 960e6}}}}))
END
judged_late() { [ "$(sql "select count(*) from run where session_id = 13 and why = 'an active test of the path came after the verdict'")" = 1 ]; }
until_true $((40 * $(patience))) judged_late || fail "no late judgement: $(sql 'select * from run where session_id = 13')"
has_room() { nw report 13 | grep -q 'got 120 MB/s (960 Mbit/s) with 1 stream 10 min [0-9]* s after, [0-9.]* times the rate of this transfer: for 20 s the path had room for at least that'; }
until_true 20 has_room || fail "no room: $(nw report 13)"
! nw route 'a -> z' 2>"$tmp/err" && grep -q 'no such route' "$tmp/err" || fail "a route that is none: $(cat "$tmp/err")"
nw compare 1 "$last" >"$tmp/list" || fail "narrows compare"
grep -q '^\* sysctl.net.ipv4.tcp_rmem on b .*4096 131072 67108864 .*4096 4096 65536$' "$tmp/list" &&
	grep -q '^1 settings of the hosts are equal' "$tmp/list" || fail "narrows compare: $(cat "$tmp/list")"
nw compare --json --by bytes 1 "$last" | python3 -c 'import json, sys; assert json.load(sys.stdin)["by"] == "bytes"' || fail "compare --json"
rc=0; nw compare "$last" 2>/dev/null || rc=$?
[ $rc = 2 ] || fail "one session is compared: $rc"
nw expected >"$tmp/list" || fail "narrows expected"
grep -q '^missing   a -> b .*mover .*1' "$tmp/list" || fail "narrows expected: $(cat "$tmp/list")"

# --- hooks: the begin and the name once, the end once, across runs; an operator accepts the rate ---
mkdir "$tmp/hooks"
printf 'url http://127.0.0.1:%s/\nsecret-file none\nevents incident\nroutes a -> b\n' "$(cat "$tmp/port")" >"$tmp/hooks/chat.conf"
echo '{"session":1000,"incidents":[]}' >"$tmp/memory"
look() { nw hook -d "$tmp/hooks" -m "$tmp/memory" -1 run 2>"$tmp/err" || fail "look: $(cat "$tmp/err")"; }
look
look
[ "$(cut -f 2 "$tmp/got" | tr '\n' ' ')" = "incident.begins incident.named " ] || fail "events: $(cat "$tmp/got")"
grep -q "\"link\":\"$url/incident/9\"" "$tmp/got" || fail "no link: $(cat "$tmp/got")"
! nw accept 10 'moved' 2>"$tmp/err" && grep -q 'no open incident begins with this session' "$tmp/err" || fail "accept: $(cat "$tmp/err")"
rc=0; nw accept 9 ' ' 2>/dev/null || rc=$?
[ $rc = 2 ] || fail "an acceptance without a reason: $rc"
nw accept --who ann 9 'moved to the slower link' | grep -q '^The rate of a -> b is usual from now on' || fail "accept"
accepted() { incidents session=9 | grep -q '"state": *"accepted"'; }
until_true 30 accepted || fail "not accepted: $(incidents session=9)"
incidents session=9 | python3 -c 'import json, sys
(o,) = json.load(sys.stdin)["incidents"]
assert (o["accepted_by"], o["accepted_why"]) == ("ann", "moved to the slower link") and o["accepted"], o' || fail "the acceptance"
curl -fs "$url/incident/9" | grep -q 'ann accepted it, .*moved to the slower link' || fail "the page does not tell who accepted"
[ "$(open_incidents)" = 0 ] || fail "/metrics after the acceptance: $(open_incidents)"
nw route 'a -> b' | grep -q '^New levels$' || fail "no new level: $(nw route 'a -> b')"
look
look
[ "$(cut -f 2 "$tmp/got" | tr '\n' ' ')" = "incident.begins incident.named incident.ends " ] || fail "events: $(cat "$tmp/got")"
# --- a way of other length is a cause ---
on_the_way() { [ "$(sql "select n_sessions from route where route = 'd -> e'")" = "$1" ]; }
for sessions in "0 10" "10 11"; do
	python3 "$tmp/send.py" "$xsp" ways $sessions || fail "the sender failed"
	until_true 30 on_the_way "${sessions#* }" || fail "$(sql "select route, n_sessions from route")"
done
nw report "$(sql "select session_id from result where route = 'd -> e' order by start_ns desc limit 1")" >"$tmp/way" || fail "report"
for what in '^What changed?  .*way\.e\.hops on d was 4 and is 9' '^What to do?  .*Find out why way\.e\.hops on d is not 4 any more'; do
	grep -q "$what" "$tmp/way" || fail "the report lacks $what: $(head -n 12 "$tmp/way")"
done
stop_box
echo ok
