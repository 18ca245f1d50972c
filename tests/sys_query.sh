#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Queries over one series of 100,000 samples: the health of the box is answered beside eleven quantile queries, a query that
# costs too much is refused with the parameter to change, and SIGTERM ends the box in the midst of queries.
. tests/lib.sh

python3 - "$tmp/a.csv" <<'EOF'
import random, sys, datetime
random.seed(5)
with open(sys.argv[1], "w") as f:
    f.write("session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n")
    for i in range(100000):
        t = 1795160000 * 10**9 + i * 10**8
        s, ns = divmod(t, 10**9)
        iso = datetime.datetime.fromtimestamp(s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%09dZ" % ns
        f.write(f'1,1,dtn1,"device=sda",ps:disk,busy_share,,{iso},{t},{random.random()!r}\n')
EOF
"$bin/narrows" -s "$tmp/state" import "$tmp/a.csv" >/dev/null || fail "import"
start_box -o analysis-interval=60s -o http-max-connections-per-address=64

# ask URL QUANTILE: one query over all samples
cat >"$tmp/ask.sh" <<'EOF'
exec curl -sS --max-time 300 --get "$1/prometheus/api/v1/query_range" --data-urlencode "query=quantile_over_time($2, ps:disk:busy_share[1000s])" \
	-d start=1795159500 -d end=1795170388 -d step=1s
EOF

# --- eleven queries, and the health beside them ---
asked=
for q in 0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1; do
	sh "$tmp/ask.sh" "$url" $q >"$tmp/answer.$q" &
	asked="$asked $!"
done
begin=$(date +%s%N)
for i in 1 2 3 4 5 6 7 8 9 10; do
	curl -sSf --max-time $((3 * $(patience))) "$url/healthz" >/dev/null || fail "/healthz beside eleven queries"
done
echo "ten answers of /healthz beside eleven queries: $((($(date +%s%N) - begin) / 1000000)) ms"
# shellcheck disable=SC2086 # several numbers
for p in $asked; do wait "$p" || fail "a query"; done
echo "eleven queries: $((($(date +%s%N) - begin) / 1000000)) ms"
python3 - "$tmp" <<'EOF' || fail "the answers"
import json, sys
q = {name: [float(v) for _, v in json.load(open(f"{sys.argv[1]}/answer.{name}"))["data"]["result"][0]["values"]] for name in ("0", "0.5", "1")}
assert len(q["0"]) > 10000, len(q["0"])
assert all(a <= b <= c for a, b, c in zip(q["0"], q["0.5"], q["1"]))
assert all(0.4 < v < 0.6 for v in q["0.5"][2000:9000])
EOF

# --- SIGTERM in the midst of queries ---
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	sh "$tmp/ask.sh" "$url" 0.$i >/dev/null 2>&1 &
done
sleep 0.3
begin=$(date +%s)
stop_box
[ $(($(date +%s) - begin)) -le $((5 * $(patience))) ] || fail "the box ended after $(($(date +%s) - begin)) s"

# --- a limit, which names the parameter ---
start_box -o analysis-interval=60s -o http-query-cost=50000
sh "$tmp/ask.sh" "$url" 0.5 >"$tmp/said"
grep -q 'start: the query costs 1[0-9]* values, at most 50000 (http-query-cost): choose a later start' "$tmp/said" ||
	fail "too many rows: $(cat "$tmp/said")"
curl -sS --get "$url/prometheus/api/v1/query_range" --data-urlencode 'query=ps:disk:busy_share' -d start=1795169900 -d end=1795170000 -d step=1s |
	grep -q '"status":"success"' || fail "a query within the limit"
stop_box
start_box -o analysis-interval=60s -o http-query-cost=2000
curl -sS --get "$url/prometheus/api/v1/query_range" --data-urlencode 'query=count_over_time(ps:disk:busy_share[1s])' -d start=1795180000 -d end=1795190000 \
	-d step=1s >"$tmp/said"
grep -q 'step: the query costs [0-9]* values, at most 2000 (http-query-cost): choose a larger step' "$tmp/said" || fail "too many steps: $(cat "$tmp/said")"
curl -sS "$url/api/v1/statistics?step=1min" >"$tmp/said"
grep -q 'from: the query costs 1[0-9]* values or more, at most 2000 (http-query-cost): choose a later time' "$tmp/said" ||
	fail "statistics of too many rows: $(cat "$tmp/said")"
curl -sSf "$url/api/v1/values?from=1795169999000000000" >/dev/null || fail "values within the limit"
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "%s; s1; %d; 0; %d; 1; 77; 1\n", i % 2 ? "APP_RECEIVE" : "APP_SEND", 1795162331 + i, i / 2 }' >"$tmp/events.log"
stop_box
"$bin/narrows" -s "$tmp/state" import "$tmp/events.log" >/dev/null || fail "import of events"
start_box -o analysis-interval=60s -o http-query-cost=2000
curl -sS "$url/api/v1/sessions/last/lifelines" >"$tmp/said"
grep -q 'The lifelines cost 3000 events, at most 2000: raise http-query-cost' "$tmp/said" || fail "too many events: $(cat "$tmp/said")"
stop_box
