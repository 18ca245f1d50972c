#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prometheus' read API: requests as Grafana's Prometheus source sends them, refusals in words, and the same answers as
# Prometheus itself gives for the same samples, where its package is installed.
. tests/lib.sh

python3 - "$tmp/a.csv" <<'EOF'
import random, sys, datetime
random.seed(5)
with open(sys.argv[1], "w") as f:
    f.write("session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n")
    for n, (host, device) in enumerate((("dtn1", "sda"), ("dtn1", "sdb"), ("dtn2", "sda"))):
        t, total = 1795162331250000000, 0.0
        for i in range(1200):
            t += random.choice((900, 1000, 1000, 1100)) * 10**6 if i % 200 else 60 * 10**9
            s, ns = divmod(t, 10**9)
            iso = datetime.datetime.fromtimestamp(s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%09dZ" % ns
            total = 0.0 if i == 700 else total + random.randrange(10**6)
            for field, v in ("written", total), ("busy_share", random.random()):
                if field == "busy_share" and i % 7 == 3:
                    continue
                f.write(f'1,{n + 1},{host},"device={device};mount.point=/data",ps:disk,{field},,{iso},{t},{v!r}\n')
EOF
"$bin/narrows" -s "$tmp/state" import "$tmp/a.csv" >/dev/null || fail "import"
start_box -o analysis-interval=60s

cat >"$tmp/ask.py" <<'EOF'
import csv, json, math, sys, urllib.error, urllib.parse, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def ask(base, path, post=False, **form):
    text = urllib.parse.urlencode([(k.replace("match", "match[]"), x) for k, v in form.items() for x in (v if isinstance(v, list) else [v])])
    url = f"{base}/api/v1/{path}"
    request = urllib.request.Request(url, text.encode()) if post else urllib.request.Request(url + ("?" + text if text else ""))
    try:
        return json.load(opener.open(request))
    except urllib.error.HTTPError as e:
        return json.load(e)
EOF
cat >"$tmp/check.py" <<'EOF'
import sys
sys.path.insert(0, sys.argv[2])
from ask import *
box = sys.argv[1] + "/prometheus"
T0, T1 = 1795162500, 1795163300
# what Grafana asks: a health check, names, labels of a metric, a panel by POST, an instant query
assert ask(box, "query", query="1+1", time=T0) == {"status": "success", "data": {"resultType": "scalar", "result": [T0, "2"]}}
assert ask(box, "status/buildinfo")["data"]["application"] == "Narrows"
assert ask(box, "label/__name__/values", start=T0, end=T1)["data"] == ["ps:disk:busy_share", "ps:disk:written"]
assert set(ask(box, "labels", post=True, match='ps:disk:written{host="dtn1"}')["data"]) == {"__name__", "device", "event_type", "field", "host", "mount_point", "series_id", "session"}
got = ask(box, "label/host/values", match='{device="sdb"}')
assert got["data"] == ["dtn1"], got
# without a selector, from the tables of the store: the same as with a selector that chooses every series
every = '{__name__=~".+"}'
for path in ["labels"] + [f"label/{name}/values" for name in ("__name__", "device", "event_type", "field", "host", "mount_point", "series_id", "session", "nothing")]:
    got = ask(box, path)
    assert got == ask(box, path, match=every) and "warnings" not in got and bool(got["data"]) == ("nothing" not in path), got
    some = ask(box, path, limit=1)
    assert some["data"] == got["data"][:1] and ("warnings" in some) == (len(got["data"]) > 1) and ask(box, path, limit=0) == got, some
    assert ask(box, path, match=every, limit=1) == some
some = ask(box, "series", match=every, limit=4)
assert len(some["data"]) == 4 and some["data"] == ask(box, "series", match=every)["data"][:4] and "limit" in some["warnings"][0], some
assert len(ask(box, "series", match=every, limit=6)["data"]) == 6 and "warnings" not in ask(box, "series", match=every, limit=6)
assert ask(box, "series", match='{device="sdz"}') == {"status": "success", "data": []}
assert ask(box, "labels", limit="-1")["errorType"] == ask(box, "labels", limit="x")["errorType"] == "bad_data"
assert len(ask(box, "series", match=["ps:disk:written", '{__name__=~"ps:.*busy.*",host!="dtn1"}'])["data"]) == 4
panel = ask(box, "query_range", post=True, query='sum by(host)(rate(ps:disk:written{device=~"sd[ab]"}[1m]))', start=T0, end=T1, step="15s")
assert {r["metric"]["host"] for r in panel["data"]["result"]} == {"dtn1", "dtn2"} and panel["data"]["resultType"] == "matrix", panel
assert all(len(r["values"]) == (T1 - T0) // 15 + 1 for r in panel["data"]["result"])
now = ask(box, "query", query='ps:disk:written{host="dtn2"}', time=T0 + 0.5)["data"]
rows = [(int(r["t_ns"]), float(r["value"])) for r in csv.DictReader(open(sys.argv[2] + "/a.csv", newline="")) if r["series_id"] == "3" and r["field"] == "written"]
want = [v for t, v in rows if t <= int((T0 + 0.5) * 1e9)][-1]
assert now["resultType"] == "vector" and [float(r["value"][1]) for r in now["result"]] == [want] and now["result"][0]["value"][0] == T0 + 0.5, (now, want)
assert ask(box, "query", query="ps:disk:nothing", time=T0)["data"]["result"] == []
# what is not answered says so
for query, words in (("histogram_quantile(0.9, x)", "not supported: the function histogram_quantile"), ("x @ 5", "not supported: @"),
                     ("a + b + c + d + e", "more than 4 selectors"), ("a + on (host) group_left b", "not supported: group_left"), ("x[5m]", "not supported: a range"), ("rate(x[5m:1m])", "not supported: subqueries"),
                     ("x and y", "not supported: and"), ("x{a=~\"(?i)b\"}", "not supported: (?"), ("x{", "missing"), ("", "needs a name"), ("rate(x)", "missing"),
                     ("1 > 2", "needs bool"), ("((((((((((((((((((1))))))))))))))))))", "nested")):
    got = ask(box, "query", query=query)
    assert got["status"] == "error" and got["errorType"] == "bad_data" and words in got["error"], (query, got)
# two series that a join cannot tell apart, on either side: an error before the first byte
for query in "ps:disk:written / on (host) ps:disk:busy_share", "sum by (host) (ps:disk:written) - on (host) ps:disk:written", "ps:disk:written - on (host) sum by (host) (ps:disk:written)":
    got = ask(box, "query_range", query=query, start=T0, end=T1, step=15)
    assert got["status"] == "error" and "have the same labels" in got["error"], (query, got)
# the largest come first, in their order, and with their labels
top = ask(box, "query", query="topk(2, ps:disk:written)", time=T0)["data"]["result"]
all_now = sorted((float(r["value"][1]) for r in ask(box, "query", query="ps:disk:written", time=T0)["data"]["result"]), reverse=True)
assert len(all_now) == 3 and [float(r["value"][1]) for r in top] == all_now[:2] and top[0]["metric"]["__name__"] == "ps:disk:written", (top, all_now)
assert "11000" in ask(box, "query_range", query="x", start=0, end=T1, step=1)["error"]
assert ask(box, "rules", nothing=1)["errorType"] == "not_found"
# what a path does not have is refused by name, in a form, too; what clients send unasked is taken
for path in ("query", "query_range", "series", "labels", "label/host/values", "metadata", "status/buildinfo"):
    for post in (False, True):
        got = ask(box, path, post=post, query="1", time=T0, lookback_delta="1m") if path == "query" else ask(box, path, post=post, nothing=1)
        assert got["errorType"] == "bad_data" and "there is no such parameter" in got["error"], (path, got)
assert ask(box, "query", query="1", time=T0, timeout="5s", stats="all")["status"] == "success"
assert ask(box, "series")["status"] == "error"
EOF
python3 "$tmp/check.py" "$url" "$tmp" || fail "/prometheus"

if ! command -v prometheus >/dev/null 2>&1 || ! command -v promtool >/dev/null 2>&1; then
	echo "untested: answers are not compared with those of Prometheus: it is not installed (package prometheus)"
	stop_box
	exit 0
fi

# --- the same samples in Prometheus itself ---
promtool query instant "$url/prometheus" 'ps:disk:written{host="dtn2"}' >/dev/null || fail "promtool query"
promtool query labels "$url/prometheus" host | grep -q dtn2 || fail "promtool labels"
python3 - "$url" "$tmp" <<'EOF' || fail "OpenMetrics of the samples"
import sys
sys.path.insert(0, sys.argv[2])
from ask import *
labels = {(m["series_id"], m["field"]): m for name in ("busy_share", "written") for m in ask(sys.argv[1] + "/prometheus", "series", match=f"ps:disk:{name}")["data"]}
with open(sys.argv[2] + "/samples.om", "w") as f:
    for field in ("busy_share", "written"):
        f.write(f"# TYPE ps:disk:{field} unknown\n")
        for (id, name), m in sorted(labels.items()):
            if name != field:
                continue
            text = ",".join(f'{k}="{v}"' for k, v in m.items() if k != "__name__")
            for r in csv.DictReader(open(sys.argv[2] + "/a.csv", newline="")):
                if (m["host"], m["device"], field) == (r["host"], r["subject"].split(";")[0][7:], r["field"]):
                    f.write(f'ps:disk:{field}{{{text}}} {r["value"]} {int(r["t_ns"]) // 10**6 / 1e3:.3f}\n')
    f.write("# EOF\n")
EOF
promtool tsdb create-blocks-from openmetrics "$tmp/samples.om" "$tmp/tsdb" >"$tmp/said" 2>&1 || fail "promtool: $(cat "$tmp/said")"
: >"$tmp/prometheus.yml"
port=$((20000 + $$ % 20000))
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/tsdb" --storage.tsdb.retention.time=100y \
    --web.listen-address="127.0.0.1:$port" >"$tmp/prometheus.log" 2>&1 &
pids="$pids $!"
until_true 20 curl -sf "http://127.0.0.1:$port/-/ready" || fail "prometheus: $(tail -3 "$tmp/prometheus.log")"
python3 - "$url/prometheus" "http://127.0.0.1:$port" "$tmp" <<'EOF' || fail "Prometheus answers otherwise"
import sys
sys.path.insert(0, sys.argv[3])
from ask import *
T0, T1 = 1795162300, 1795163900
functions = ["rate", "increase", "avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "last_over_time", "count_over_time"]
queries = ['ps:disk:written', '{host="dtn1"}', 'ps:disk:busy_share{device!="sda"}', 'sum(ps:disk:busy_share)', 'avg by (host) (ps:disk:busy_share) * 100 - 1',
           'count without (device, series_id) (ps:disk:written)', '100 - max(ps:disk:busy_share) by (device)', 'min(sum by (host) (rate(ps:disk:written[90s])))',
           '2 * 3 + 4', 'ps:disk:written{mount_point=~"/d.+"} / 0']
queries += [f"{f}(ps:disk:{m}[{w}])" for f in functions for m in ("written", "busy_share") for w in ("5s", "30s", "5m")]
queries += [f"quantile_over_time({q}, ps:disk:busy_share[1m])" for q in (0, 0.5, 0.99, 1, 2)]
queries += [f"irate(ps:disk:written[{w}])" for w in ("3s", "1m", "5m")]
queries += ['ps:disk:written offset 1m', 'rate(ps:disk:written[1m] offset 5m)', 'sum(max_over_time(ps:disk:busy_share[30s] offset -2m))',
            'ps:disk:busy_share > 0.5', '0.5 > ps:disk:busy_share', 'ps:disk:busy_share >= bool 0.5', 'ps:disk:written != 0', 'ps:disk:written == bool 0',
            '1 < bool 2', '-ps:disk:busy_share ^ 2', 'ps:disk:written % 1000 + 2 ^ 3 ^ 2', '5 - -3 % 2', 'count(ps:disk:busy_share < 0.3) by (host)',
            'topk(1, ps:disk:busy_share)', 'bottomk(2, ps:disk:busy_share)', 'topk by (host) (1, rate(ps:disk:written[1m]))', 'sum(topk(2, ps:disk:busy_share))',
            'topk(9, ps:disk:written)', 'bottomk(0, ps:disk:written)', 'topk(2, ps:disk:busy_share > 0.4) * 2',
            'ps:disk:written / ignoring (field, series_id) ps:disk:busy_share', 'rate(ps:disk:written[1m]) * on (host, device) ps:disk:busy_share',
            'ps:disk:busy_share > ps:disk:busy_share offset 1m', 'ps:disk:busy_share > bool ps:disk:busy_share offset 1m',
            'sum by (host) (ps:disk:written) / on (host) sum by (host) (ps:disk:written offset 5m)', 'ps:disk:written - ps:disk:written',
            'sum by (host) (rate(ps:disk:written[1m])) / count by (host) (ps:disk:written) + max by (host) (ps:disk:busy_share)',
            'avg by (device) (ps:disk:busy_share) <= on (device) (min by (device) (ps:disk:busy_share) + 0.1)',
            'max(ps:disk:busy_share) - min(ps:disk:busy_share)', 'ps:disk:written{host="dtn1"} + ps:disk:written{host="dtn2"}',
            'ps:disk:busy_share{device="sda",host="dtn1"} == on (host) ps:disk:busy_share{device="sda",host="dtn1"}']
compared = 0
def key(metric):
    return tuple(sorted(metric.items()))
for query in queries:
    for path, form in [("query_range", dict(start=T0, end=T1, step=s)) for s in (7, 61)] + [("query", dict(time=t)) for t in (T0 + 100.5, T1 - 400)]:
        ours, theirs = (ask(base, path, query=query, **form) for base in sys.argv[1:3])
        assert ours["status"] == theirs["status"] == "success", (query, ours, theirs)
        ours, theirs = ours["data"], theirs["data"]
        assert ours["resultType"] == theirs["resultType"], (query, ours["resultType"], theirs["resultType"])
        if ours["resultType"] == "scalar":
            assert ours["result"] == theirs["result"]
            continue
        a, b = ({key(r["metric"]): r.get("values") or [r["value"]] for r in d["result"]} for d in (ours, theirs))
        assert set(a) == set(b), (query, set(a) ^ set(b))
        for k in a:
            assert [x[0] for x in a[k]] == [x[0] for x in b[k]], (query, k, len(a[k]), len(b[k]))
            for (t, x), (_, y) in zip(a[k], b[k]):
                x, y = float(x), float(y)
                assert x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= 1e-9 * abs(y), (query, t, x, y)
                compared += 1
assert compared > 30000, compared
print(compared, "values are those of Prometheus")
EOF
stop_box
