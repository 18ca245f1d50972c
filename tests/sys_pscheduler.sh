#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Results of pScheduler's tests: taken as its HTTP archiver sends them, PUT and POST, single and in lists, once each, from listed
# hosts alone, and from a file; refused by default.
. tests/lib.sh

cat >"$tmp/doc.py" <<'PY'
import datetime, json, sys, urllib.error, urllib.request


def iso(t):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def doc(number, kind, spec, result, tool, start, length, src="dtn1", dst="dtn2"):
    uuid = "7d0f8a1e-4f6f-4f0e-9c55-%012x" % number
    href = "https://ps.example.net/pscheduler/tasks/91/runs/" + uuid
    test = {"type": kind, "spec": dict({"schema": 1, "source": src, "dest": dst}, **spec)}
    return {"id": uuid, "schedule": {"start": iso(start), "duration": "PT%dS" % (length + 9)}, "test": test,
            "tool": {"name": tool, "version": "1.0"}, "participants": [src, dst], "result": dict({"succeeded": True, "diags": "x"}, **result),
            "run": {"added": iso(start - 60), "start-time": iso(start), "end-time": iso(start + length), "duration": "PT%dS" % length,
                    "href": href, "task-href": href[:43], "result-merged": {}},
            "task": {"href": href[:43], "test": test, "tool": tool, "schedule": {"slip": "PT5M"}, "reference": None,
                     "detail": {"added": iso(start - 60), "duration": "PT19S", "slip": "PT5M", "participants": [src, dst]}},
            "reference": {"display-set-source": src}}


def throughput(number, start, bits=941234567.25, **k):
    s = {"start": 0, "end": 10.0, "throughput-bits": bits, "throughput-bytes": 1176543209, "retransmits": 12, "rtt": 25013,
         "tcp-window-size": 4194304, "sent": None, "lost": None, "jitter": None, "omitted": False}
    i = [{"summary": dict(s, start=n, end=n + 1, **{"throughput-bits": bits}), "streams": []} for n in range(10)]
    return doc(number, "throughput", {"duration": "PT10S"}, {"intervals": i, "summary": {"summary": s, "streams": [s]}, "mss": 8948}, "iperf3",
               start, 10, **k)


def all_kinds(start):
    raw = [{"seq-num": n, "src-ts": 17082343457832116224 + n, "src-clock-sync": True, "ip-ttl": 57} for n in range(50)]
    return [throughput(1, start),
            doc(2, "latency", {"packet-count": 600}, {"packets-sent": 600, "packets-received": 597, "packets-lost": 3, "packets-duplicated": 1,
                "packets-reordered": 2, "max-clock-error": 0.25, "histogram-latency": {"2": 500, "10.5": 90, "30.25": 7},
                "histogram-ttl": {"57": 597}, "raw-packets": raw}, "owping", start, 60),
            doc(3, "latencybg", {}, {"packets-sent": 600, "packets-received": 600, "packets-lost": 0, "histogram-latency": {"2": 600}},
                "powstream", start, 60),
            doc(3, "latencybg", {}, {"packets-sent": 600, "packets-received": 599, "packets-lost": 1, "histogram-latency": {"2": 599}},
                "powstream", start + 60, 60),
            doc(4, "rtt", {"count": 5}, {"sent": 5, "received": 4, "lost": 1, "loss": 0.2, "min": "PT0.01S", "mean": "PT0.0125S",
                "max": "PT0.02S", "stddev": "PT0.001S", "roundtrips": []}, "ping", start, 5),
            doc(5, "trace", {}, {"paths": [[{"ip": "10.0.0.1", "rtt": "PT0.001S"}, {"error": "No response"}, {"ip": "10.0.0.9", "mtu": 9000,
                "rtt": "PT0.02S"}]]}, "traceroute", start, 5),
            doc(6, "dns", {}, {"record": "10.0.0.9"}, "dnspy", start, 5)]


def send(url, body, method="PUT", kind="application/json", **headers):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    try:
        r = urllib.request.urlopen(urllib.request.Request(url, body, dict({"Content-Type": kind}, **headers), method=method))
    except urllib.error.HTTPError as e:
        r = e
    return r.status, r.read().decode()
PY
db() { sqlite3 "file:$tmp/state/narrows.db?mode=ro" "$1"; }

start_box -o session-linger=1s
echo "--- off by default"
PYTHONPATH=$tmp python3 - "$url/pscheduler" <<'PY' || fail "off by default"
import sys
from doc import *
code, text = send(sys.argv[1], throughput(1, 1777888800))
assert code == 404 and "active-tests" in text, (code, text)
PY
stop_box
start_box -o session-linger=1s -o active-tests="dtn1 dtn2 2001:db8::7"

echo "--- every kind, single and in lists, PUT and POST, once each"
PYTHONPATH=$tmp python3 - "$url/pscheduler" "$tmp" <<'PY' || fail "as the archiver sends them"
import sys
from doc import *
url, kinds = sys.argv[1], all_kinds(1777888800)
for n, d in enumerate(kinds):
    code, text = send(url, d, "PUT" if n % 2 else "POST", "application/json; charset=utf-8")
    want = {"stored": 0, "known": 0, "other_kinds": 1} if n == 6 else {"stored": 1, "known": 0, "other_kinds": 0}
    assert code == 200 and json.loads(text) == want, (n, code, text)
code, text = send(url, kinds)
assert code == 200 and json.loads(text) == {"stored": 0, "known": 6, "other_kinds": 1}, (code, text)
more = [throughput(100 + n, 1777888800 + 3600 * n, bits=9e8 + n) for n in range(40)]
code, text = send(url, more[:20] + kinds, "POST")
assert code == 200 and json.loads(text)["stored"] == 20, (code, text)
lines = "\n".join(json.dumps(d) for d in more).encode()
code, text = send(url, lines)
assert code == 200 and json.loads(text) == {"stored": 20, "known": 20, "other_kinds": 0}, (code, text)
reverse = throughput(200, 1777888800, dst="2001:DB8:0::7")
reverse["test"]["spec"]["reverse"] = True
assert send(url, reverse)[0] == 200
failed = throughput(201, 1777900000)
failed["result"] = {"succeeded": False, "error": "Unable to connect"}
assert send(url, failed)[0] == 200
refused = [(400, [throughput(300, 1777888800), throughput(301, 1777888800, dst="evil.example.org")], {}), (400, {"id": 7}, {}),
           (400, b"{", {}), (415, kinds[0], {"kind": "text/plain"}), (403, kinds[0], {"Sec-Fetch-Site": "cross-site"}),
           (413, b" " * 262145, {}), (405, kinds[0], {"method": "DELETE"})]
for want, body, how in refused:
    try:
        code, text = send(url, body, **how)
    except OSError:  # a body over the limit may end the connection
        code, text = 413, ""
    assert code == want, (want, how, code, text)
json.dump(kinds + [throughput(400, 1777888800)], open(sys.argv[2] + "/tests.json", "w"))
PY
[ "$(db 'SELECT count(*), count(DISTINCT run) FROM active_test')" = "48|48" ] || fail "tests: $(db 'SELECT kind, count(*) FROM active_test GROUP BY 1')"
[ "$(db "SELECT group_concat(field || ' ' || value || ' ' || unit, ', ') FROM v_active_test WHERE run GLOB '*000000000001' AND kind = 'throughput'")" = \
  "bits_per_s 941234567.25 bit/s, moved_bytes 1176543209.0 By, took_s 10.0 s, streams 1.0 {stream}, udp 0.0 1, retransmits 12.0 {segment}, window_bytes 4194304.0 By, mss_bytes 8948.0 By, rtt_s 0.025013 s" ] ||
	fail "exact values: $(db "SELECT field, value, unit FROM v_active_test WHERE run GLOB '*000000000001'")"
[ "$(db "SELECT value FROM v_active_test WHERE field = 'delay_p95_s' AND kind = 'latency'")" = 0.0105 ] || fail "a delay"
[ "$(db "SELECT source || ' ' || destination FROM active_test WHERE run GLOB '*0000000000c8'")" = "2001:db8::7 dtn1" ] || fail "a reverse test"
[ "$(db "SELECT succeeded || error FROM active_test WHERE run GLOB '*0000000000c9'")" = "0Unable to connect" ] || fail "a failed test"

echo "--- as series, each once, for every reader of series"
newest() { [ "$(db "SELECT stored_seq FROM provider WHERE owner = 'active tests'")" = "$1" ]; }
until_true $((40 * $(patience))) newest 48 || fail "tests that are no series: $(db 'SELECT * FROM provider')"
rows_are() {
	got=$(nw sql --csv "SELECT v.event_type, v.field, json_extract(v.subject, '\$.source'), count(*), sum(s.value) FROM sample s JOIN v_series v USING (series)
	    WHERE v.event_type LIKE 'ps:active:%' AND v.field IN ('bits_per_s', 'delay_p95_s', 'hops', 'packets_lost') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" | tr -d '\r')
	[ "$got" = "$(printf '%s\n' "$@")" ] || fail "rows: $got"
}
set -- ps:active:latency,delay_p95_s,dtn1,1,0.0105 ps:active:latency,packets_lost,dtn1,1,3 \
    ps:active:latencybg,delay_p95_s,dtn1,2,0.004 ps:active:latencybg,packets_lost,dtn1,2,1 \
    ps:active:rtt,packets_lost,dtn1,1,1 \
    ps:active:throughput,bits_per_s,2001:db8::7,1,941234567.25 ps:active:throughput,bits_per_s,dtn1,41,36941235347.25 \
    ps:active:trace,hops,dtn1,1,3
rows_are "$@"
PYTHONPATH=$tmp python3 - "$url" <<'PY' || fail "series by PromQL and CSV"
import csv, io, sys, urllib.parse, urllib.request
from doc import *
base = sys.argv[1].rstrip("/")
get = lambda path, **q: urllib.request.urlopen(base + path + "?" + urllib.parse.urlencode(q)).read().decode()
found = json.loads(get("/prometheus/api/v1/query", query='ps:active:throughput:bits_per_s{destination="dtn2",tool="iperf3"}', time=1777888811 + 3 * 3600))["data"]["result"]
assert [(r["metric"]["source"], r["metric"]["tool"], float(r["value"][1])) for r in found] == [("dtn1", "iperf3", 9e8 + 3)], found
PY
stop_box
start_box -o session-linger=1s -o active-tests="dtn1 dtn2 2001:db8::7" -o listen-https=0.0.0.0/0
sleep 3 # another life of the box puts nothing twice
rows_are "$@"

echo "--- lists over TLS, with an operator's token"
token=$(nw access token -r operator archiver) || fail "no token"
PYTHONPATH=$tmp python3 - "$(sed -n 's/^https .*\///p' "$tmp/state/narrowsd.run")" "$tmp/state/tls/ca.crt" "$token" <<'PY' || fail "over TLS"
import http.client, ssl, sys
from doc import *
c = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ssl.create_default_context(cafile=sys.argv[2]))
def ask(method, body, token=sys.argv[3]):
    c.request(method, "/pscheduler", json.dumps(body), {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})})
    r = c.getresponse()
    return r.status, r.read().decode()
batch = [throughput(500 + n, 1777999000 + n) for n in range(50)]
strangers = [ask("PUT", batch, None)[0], ask("POST", batch, "wrong")[0]]
assert all(code in (401, 403) for code in strangers), strangers
for method, docs, want in (("PUT", batch[:30], (30, 0)), ("POST", batch, (20, 30)), ("PUT", batch[0], (0, 1))):
    code, text = ask(method, docs)
    assert code == 200 and (json.loads(text)["stored"], json.loads(text)["known"]) == want, (method, code, text)
PY

echo "--- from a file"
nw import --check "$tmp/tests.json" | grep -q '^7 active tests; nothing imported; 1 tests of other kinds left out' || fail "check: $(nw import --check "$tmp/tests.json")"
nw import "$tmp/tests.json" | grep -q '^7 active tests; the box had 6 of them already' || fail "import"
gzip "$tmp/tests.json"
nw import -f pscheduler "$tmp/tests.json.gz" | grep -q 'the box had 7' || fail "import again"
[ "$(db 'SELECT count(*) FROM active_test')" = 99 ] || fail "the file's tests"
stop_box
echo "PASS pscheduler"
