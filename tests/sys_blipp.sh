#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp through the death of its box: every sample is stored once, in order, and both end as they should.
. tests/lib.sh

# --- wrong configurations are refused with file and line ---
"$bin/blipp" -n -f conf/blipp.conf || fail "the example configuration"
printf 'box 127.0.0.1\ninterval soon\n' >"$tmp/bad.conf"
if "$bin/blipp" -n -f "$tmp/bad.conf" 2>"$tmp/why"; then fail "a wrong configuration is taken"; fi
grep -q 'bad.conf:2: interval soon: not' "$tmp/why" || fail "why: $(cat "$tmp/why")"

# --- once: two samples, and a box that is not there ---
"$bin/blipp" -b 127.0.0.1/1 -i 100ms --once 2>/dev/null && fail "nobody there, and --once is content"
start_box
port=${xsp##*/}
"$bin/blipp" -b "$xsp" -H once -i 100ms --once 2>>"$tmp/blipp.log" || fail "--once: $(cat "$tmp/blipp.log")"
sed -n 's/.* documents=\([0-9]*\) stored=\([0-9]*\) .*/\1 \2/p' "$tmp/blipp.log" | awk '$1 > 0 && $1 == $2 { good = 1 } END { exit !good }' ||
	fail "--once counts before the box has stored: $(cat "$tmp/blipp.log")"

# --- ten samples a second while the box is killed and comes back ---
"$bin/blipp" -b "$xsp" -H dtn1 -i 100ms 2>>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
until_true 10 sh -c "[ \$(grep -c box.connected '$tmp/blipp.log') -ge 2 ]" || fail "blipp does not come: $(cat "$tmp/blipp.log")"
sleep 1.5
kill -9 "$box"
wait "$box" || :
sleep 1
start_box -o listen-xsp=127.0.0.1/"$port"
until_true 10 sh -c "[ \$(grep -c box.connected '$tmp/blipp.log') -ge 3 ]" || fail "blipp does not come back: $(cat "$tmp/blipp.log")"
sleep 1
# What it costs is known: the second connection has told of a stretch of time.
cost() {
	nw collectors --host dtn1 --json >"$tmp/cost" && python3 - "$tmp/cost" <<'PY'
import json, sys
o = json.loads(open(sys.argv[1]).read())
sys.exit(not (o["name"] == "blipp" and 0 < (o["cpu_share"] or 0) < 4 and 1e6 < o["resident_bytes"] < 64e6 and o["samples"] > 100
    and o["documents"] > 10 and o["dropped"] == 0 and 0 < o["interval_s"] and o["slowed"] >= 1 and o["overruns"] >= 0))
PY
}
until_true 30 cost || fail "cost of blipp: $(nw collectors)"
curl -s "$url/host?host=dtn1" >"$tmp/host"
for words in "Collector cost and health" "load average of a minute" "share of a processor that a new process would get" "received by an interface"; do
	grep -q "$words" "$tmp/host" || fail "the page of the host lacks: $words"
done
nw collectors | grep -q '^dtn1 .* blipp ' || fail "narrows collectors: $(nw collectors)"
kill "$blipp"
wait "$blipp" || fail "blipp ended with status $?"
documents=$(sed -n 's/.*end values=[0-9]* documents=\([0-9]*\) .*/\1/p' "$tmp/blipp.log" | tail -n 1)
dropped=$(sed -n 's/.* dropped=\([0-9]*\) cpu_ms.*/\1/p' "$tmp/blipp.log" | tail -n 1)
[ "$dropped" = 0 ] || fail "$dropped documents dropped"
stop_box

# --- what is stored: the highest number is the number of documents, and there are as many rows, by host ---
[ "$(sql "SELECT stored_seq FROM provider ORDER BY stored_seq DESC LIMIT 1")" = "$documents" ] || fail "not all $documents are stored"
cat >"$tmp/rows.py" <<'PY'
import sqlite3, struct, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
mine = {row[0] for row in db.execute("SELECT DISTINCT layout FROM v_series WHERE host = 'dtn1' AND event_type NOT LIKE 'nw:%'")}
after = dict(db.execute("SELECT id, tail_after FROM layout"))   # up to this blob its rows are in chunks
rows = sum(n for layout, n in db.execute("SELECT layout_id, n_rows FROM chunk") if layout in mine)
for number, blob in db.execute("SELECT id, rows FROM tail"):
    at = 0
    while at < len(blob):
        layout, n_rows, n_fields, hist_len = struct.unpack_from("<qIII", blob, at)
        at += 24 + 8 * n_rows * (1 + n_fields) + (hist_len + 7) // 8 * 8
        rows += n_rows if layout in mine and number > after[layout] else 0
print(rows)
PY
rows=$(python3 "$tmp/rows.py" "$tmp/state/narrows.db")
[ "$rows" = "$documents" ] || fail "$documents documents were sent, $rows are stored"
[ "$(sql "SELECT count(DISTINCT event_type) FROM v_series WHERE host = 'dtn1'")" -ge 10 ] || fail "series are missing"
for event in cpu:utilization cpu:load memory:utilization network:utilization network:tcp:utilization; do
	[ "$(sql "SELECT count(*) FROM v_series WHERE host = 'dtn1' AND event_type = 'ps:tools:blipp:linux:$event'")" -gt 0 ] ||
		fail "no $event"
done
echo "$documents documents, none lost, none twice"
