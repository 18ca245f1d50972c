#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The report as one file: what is inside, and its way into another box. The verdict is shown as made and marked as imported on
# the page, in the lists and in the document; the same file twice is one session; no file of another host replaces a session;
# files that are none, or too large, are refused. Where no box runs, the store takes the report, and the next box shows it.
. tests/lib.sh

start_box
paced
dd if=/dev/zero of="$tmp/from" bs=1000000 count=8 2>/dev/null
NARROWS_TASK=first NARROWS_INTERVAL=100ms "$bin/nwrun" cp "$tmp/from" "$tmp/to" || fail "nwrun"
# analysed N: N sessions have a verdict
analysed() { [ "$(nw sessions --json 2>/dev/null | grep -c '"analysed":true')" -ge "$1" ]; }
until_true 20 analysed 1 || fail "no verdict: $(nw sessions)"
nw report last --json >"$tmp/made.json" || fail "report --json"
nw report last --html "$tmp/report.html" || fail "report --html"
stop_box
mv "$tmp/state" "$tmp/first"

cat >"$tmp/check.py" <<'EOF'
import csv, io, json, re, sys, urllib.parse
page = open(sys.argv[1], encoding="utf-8").read()
assert len(page) < 1000000
inside = json.loads(re.search(r'<script type="application/json" id="narrows-result">(.*?)</script>', page, re.S).group(1))
assert inside == json.load(open(sys.argv[2]))
assert not re.search(r'(href|src)="(?!#|data:text/csv)', page) and "url(" not in page
figures = re.findall(r'<figure class="plot"[^>]*>.*?</figure>', page, re.S)
links = re.findall(r'<a class="csv" download="([^"]*)" href="data:text/csv;charset=utf-8,([^"]*)"', page)
assert len(links) == len(figures), (len(links), len(figures))
for name, data in links:
    rows = list(csv.reader(io.StringIO(urllib.parse.unquote(data))))
    assert len(rows) > 1 and all(len(r) == len(rows[0]) > 1 for r in rows), (name, rows[:3])
# what a hostile sender makes of the file
document = json.dumps(inside)
def put(name, text):
    with open(sys.argv[3] + "/" + name, "w") as f:
        f.write('<!DOCTYPE html>\n<script type="application/json" id="narrows-result">' + text + "</script>")
put("other.html", json.dumps({**inside, "verdict": {**inside["verdict"], "sentence": "A second host says otherwise."}}))
put("bad-kind.html", json.dumps({**inside, "verdict": {**inside["verdict"], "sentence": ["no text"]}}))
put("bad-list.html", json.dumps({**inside, "timeline": {**inside["timeline"], "hosts": [7]}}))
put("bad-long.html", json.dumps({**inside, "verdict": {**inside["verdict"], "sentence": "x" * 2000001}}))
put("bad-cut.html", document[:-9])
put("bad-twice.html", '{"schema":"narrows-result/1",' + document[1:])
put("bad-unjudged.html", json.dumps({**inside, "verdict": None}))
put("bad-deep.html", "[" * 100000)
open(sys.argv[3] + "/bad-none.html", "w").write("<!DOCTYPE html>\n<title>nothing</title>")
open(sys.argv[3] + "/bad-open.html", "w").write(page[:page.index("</script>")])
EOF
mkdir "$tmp/files"
python3 "$tmp/check.py" "$tmp/report.html" "$tmp/made.json" "$tmp/files" || fail "what is in the file"

# where no box runs
nw import "$tmp/report.html" >"$tmp/said" || fail "import into a store"
grep -q 'a report as session narrows-report:' "$tmp/said" || fail "import says $(cat "$tmp/said")"
start_box
until_true 20 analysed 1 || fail "the report is not shown: $(nw sessions)"
cat >"$tmp/shown.py" <<'EOF'
import json, sys
made, shown = (json.load(open(p)) for p in sys.argv[1:])
mark = shown.pop("imported")
assert mark["session"] == made["session"]["id"] and mark["host"] and mark["at"], mark
for doc in made, shown:
    del doc["session"]["id"]
    doc["session"]["state"] = doc.pop("imported", None)
assert made == shown, [k for k in made if made[k] != shown.get(k)]
EOF
# as_made ID: the document is the one that was made, and says where it comes from
as_made() { nw report "$1" --json >"$tmp/shown.json" && python3 "$tmp/shown.py" "$tmp/made.json" "$tmp/shown.json"; }
as_made 1 || fail "the document is another: $(head -c 600 "$tmp/shown.json")"
nw sessions | grep -q '(imported)' || fail "the list does not say that the report was imported"
nw report 1 | grep -q '^Imported: another box made this verdict' || fail "report does not say so"
[ "$(sql "SELECT n.kind FROM result r JOIN run n ON n.id = r.run_id")" = imported ] || fail "the run"
[ "$(nw routes --json | grep -c '"route"')" = 0 ] || fail "a route counts the report: $(nw routes --json)"
if command -v curl >/dev/null 2>&1; then
	curl -fsS "$url/session/1" | grep -q '<b>Imported report.</b> Another box made this verdict' || fail "the page has no mark"
	curl -fsS "$url/" | grep -q '<span class="tag">imported</span>' || fail "the list's page has no mark"
	curl -fsS "$url/api/v1/sessions" | grep -q '"imported": true' || fail "the API has no mark"
	curl -fsS "$url/session/1.html" >"$tmp/again.html" || fail "the report of a report"
	[ "$(nw import --check "$tmp/again.html")" = "$(nw import --check "$tmp/report.html")" ] || fail "a report that was handed on is another one"
fi

# into a running box: the same once more is nothing, and another text is another session
nw import "$tmp/files/other.html" >/dev/null || fail "another report"
until_true 20 analysed 2 || fail "the second report is not shown"
otherwise() { nw report 2 | grep -q '^A second host says otherwise'; }
otherwise || fail "the second report: $(nw report 2)"
as_made 1 || fail "the second report changed the first"
nw import "$tmp/files/other.html" | grep -q 'the box had it already' || fail "the same file is imported twice"
# who knows the session's task adds to it in vain
task=$(sql "SELECT task_id FROM session WHERE id = 2")
parts() { sql "SELECT count(*) FROM xsp_session WHERE session_id = 2 AND closed_ns IS NOT NULL"; }
runs() { sql "SELECT count(*) FROM run WHERE session_id = 2 AND kind = 'imported'"; }
n=$(parts) r=$(runs)
NARROWS_TASK=$task NARROWS_INTERVAL=100ms "$bin/nwrun" cp "$tmp/from" "$tmp/to" || fail "nwrun into the report"
grown() { [ "$(parts)" -gt "$n" ] && [ "$(runs)" -gt "$r" ] && analysed 2; }
until_true 20 grown || fail "nothing joined the report's session, or nobody judged it: $(sql 'SELECT * FROM run')"
otherwise || fail "a sender changed the report: $(nw report 2)"

# files that are no reports
before=$(nw sessions --json | wc -l)
for f in "$tmp"/files/bad-*.html; do
	status=0
	nw import "$f" >"$tmp/said" 2>&1 || status=$?
	[ "$status" = 2 ] && [ "$(wc -l <"$tmp/said")" = 1 ] || fail "$f: status $status: $(head -c 300 "$tmp/said")"
done
status=0
nw import --session first "$tmp/files/other.html" >"$tmp/said" 2>&1 || status=$?
[ "$status" = 2 ] || fail "a report takes a session's name: $(cat "$tmp/said")"
[ "$(nw sessions --json | wc -l)" = "$before" ] || fail "a refused file left a session"

# a session whose task only looks like a report's is measured here
"$bin/nwrun" -b "$xsp" -t "narrows-report:0123456789abcdef0123456789abcdef" dd if=/dev/zero of="$tmp/out" bs=64k count=500 2>/dev/null || fail "nwrun"
posed() { nw sessions --json | grep '"task_id":"narrows-report:0123456789abcdef0123456789abcdef"' | grep '"analysed":true' >"$tmp/posed"; }
until_true 20 posed || fail "the session that looks like a report is not judged"
grep -q '"imported":false' "$tmp/posed" || fail "a task makes an imported report: $(cat "$tmp/posed")"
[ "$(nw sessions --json | grep -c '"imported":true')" -ge 1 ] || fail "no report is imported any more"
stop_box
nw verify >/dev/null || fail "verify"
echo PASS
