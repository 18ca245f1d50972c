#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A real program under nwrun that changes its pace half way, on a host that measures itself: the report tells when it
# changed, how long operations took, and which metrics follow; the page shows it. Where others have the processors, the
# pace may change unseen: then the program gets two more chances.
. tests/lib.sh
paced

start_box -o reduction-min-rows=10
NARROWS_HOST=here "$bin/blipp" -i 200ms 2>"$tmp/blipp.log" &
pids="$pids $!"
cat >"$tmp/mover.py" <<'PY'
import os, sys, time
src, dst = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
def move(seconds, pause):
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        os.lseek(src, 0, 0), os.lseek(dst, 0, 0)
        for i in range(32):
            os.write(dst, os.read(src, 65536))
            turn += 1
            # two kinds of operations: pages and blocks
            if turn % 4 == 0:
                os.write(dst, os.read(src, 4096))
            time.sleep(pause * (1 + 0.5 * (turn % 3)))
            if time.monotonic() > end:
                return
move(6, 0.03)
open(sys.argv[3], "w").write(str(time.time_ns()))
move(6, 0.002)
PY
head -c 4194304 /dev/urandom >"$tmp/src"
sleep 1
judged() { nw report last --json >"$tmp/doc" 2>/dev/null && grep -q '"state": *"closed"' "$tmp/doc" && grep -q "\"pace.$1\"" "$tmp/doc"; }
move() {
	"$bin/nwrun" -H here -t "pace.$1" python3 "$tmp/mover.py" "$tmp/src" "$tmp/dst" "$tmp/turn" 2>"$tmp/nwrun.log" ||
		fail "nwrun: $(cat "$tmp/nwrun.log")"
	until_true 20 judged "$1" || fail "no closed session: $(cat "$tmp/nwrun.log")"
}

cat >"$tmp/check.py" <<'PY'
import json, os, sys
doc = json.load(open(sys.argv[1]))
start, end = int(doc["session"]["start_ns"]), int(doc["session"]["end_ns"])
changes = doc["changes"]
delivered = [s for s in changes["series"] if s["what"] == "delivered"]
assert len(delivered) == 1 and delivered[0]["status"] == "ok", changes["series"]
turn = int(open(sys.argv[2]).read())
if not [t for t in delivered[0]["at_ns"] if abs(int(t) - turn) * 1e-9 < 1.5]:
    print("no change near", turn, delivered, start)
    sys.exit(2)
segments = changes["segments"]
assert len(segments) >= 2, segments
assert int(segments[0]["start_ns"]) <= start + 200000000 and int(segments[-1]["end_ns"]) >= end - 200000000
assert segments[-1]["bytes_per_s"] > 2 * segments[0]["bytes_per_s"], segments
density = doc["density"]
assert {d["op"] for d in density} >= {"disk.read", "disk.write"}, density
for d in density:
    if d["status"] != "ok":
        continue
    assert d["n"] >= 200 and 2 <= len(d["curve"]["x_s"]) <= 200
    share = sum(c["share_ops"] for c in d["classes"]) + d["outlier_share"]
    assert abs(share - 1) < 1e-6, d
    time = sum(c["share_time"] for c in d["classes"]) + d["outlier_time_share"]
    assert abs(time - 1) < 1e-6, d
assert any(d["status"] == "ok" for d in density)
reduction = doc["reduction"]
assert len(reduction) == 1 and reduction[0]["host"] == "here", reduction
r = reduction[0]
assert r["n_metrics"] > 100 and r["n_rows"] >= 10, r
# A dozen rows seldom bear a headline; what is kept must explain something, and what is told must hold.
assert r["status"] == "ok" and r["headline"] in (True, False) and len(r["scan"]) == 6, r
assert not r["headline"] or r["kept"] and r["r2_out_of_sample"] > max(r["r2_random"], r["r2_minute_before"]), r
assert not r["kept"] or r["r2"] > 0.5 and 0 < r["reduction_degree"] < 1, r
assert not [k for k in r["kept"] if k["name"].startswith("process") and k["name"].endswith("_bytes")], r
parameters = doc["run"]["parameters"]
assert parameters["reduction"]["rows_min"] == 10 and parameters["density"]["adjust"] == 2
assert parameters["changes"]["min_segment"] == 5
assert doc["run"]["took_s"] < float(os.environ["PATIENCE"])
print("segments", [(s["words"], round(s["bytes_per_s"] / 1e6, 1)) for s in segments], "kept", len(r["kept"]), "of", r["n_metrics"],
    "r2", round(r["r2"], 3), r["r2_out_of_sample"], "took", doc["run"]["took_s"])
PY
for attempt in 1 2 3; do
	move $attempt
	status=0
	PATIENCE=$(patience) python3 "$tmp/check.py" "$tmp/doc" "$tmp/turn" || status=$?
	[ "$status" = 2 ] || break
done
[ "$status" = 0 ] || fail "the document: $(head -c 3000 "$tmp/doc")"
nw report --schema >"$tmp/schema"
python3 tests/keys.py "$tmp/schema" "$tmp/doc" || fail "a key that result_keys.def does not describe"
id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["session"]["id"])' "$tmp/doc")
nw report "$id" --html "$tmp/report.html" || fail "report --html"
python3 - "$tmp/report.html" "$tmp/doc" <<'PY' || fail "the report as one file"
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
inside = re.search(r'<script type="application/json" id="narrows-result">(.*?)</script>', page, re.S).group(1)
assert json.loads(inside) == json.load(open(sys.argv[2])) and len(page) < 1000000
assert not re.search(r'(href|src)="(?!#|data:text/csv)', page) and "Classes of operations" in page
PY
if command -v chromium >/dev/null 2>&1; then
	nw report "$id" --pdf "$tmp/report.pdf" || fail "report --pdf"
	[ "$(head -c 5 "$tmp/report.pdf")" = "%PDF-" ] && [ "$(stat -c %s "$tmp/report.pdf")" -gt 20000 ] || fail "the report as PDF"
fi
! env PATH=/nowhere "$bin/narrows" -s "$tmp/state" report "$id" --pdf "$tmp/none.pdf" 2>"$tmp/err" || fail "a PDF without a browser"
grep -q 'no chromium' "$tmp/err" && [ ! -e "$tmp/none.pdf" ] || fail "a PDF without a browser: $(cat "$tmp/err")"
if command -v curl >/dev/null 2>&1; then
	curl -fsS "$url/session/$id" >"$tmp/page"
	curl -fsS "$url/sessions.json" >"$tmp/list"
	python3 tests/keys.py "$tmp/schema" "$tmp/list" || fail "a key that result_keys.def does not describe"
	for what in 'Since when' 'Classes of operations' 'Metrics that follow it' 'class="change"' 'class="area '; do
		grep -q "$what" "$tmp/page" || fail "the page has no $what"
	done
fi
stop_box
