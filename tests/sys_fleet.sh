#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Three boxes push their sessions to one fleet: each session is there once, with the newest verdict, however often and however
# interrupted the push; what stays at home stays; hashed names are nowhere in clear; reports tell all sites.
. tests/lib.sh
mkdir -p "$tmp/a" "$tmp/b" "$tmp/c"
start_box
n=0
# session HOST: a finished session
session() { "$bin/nwrun" -H "$1" dd if=/dev/zero of="$tmp/file" bs=64k count=500 2>/dev/null || fail nwrun; n=$((n + 1)); }
judged() { [ "$(sql "SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id WHERE s.closed_ns IS NOT NULL")" = $n ]; }
for i in 1 2 3; do session secret-host; done
session other-host
until_true 20 judged || fail "no verdicts"
stop_box
for site in a b c; do cp "$tmp/state/narrows.db" "$tmp/$site/"; done

# conf SITE LINE ...
conf() { site=$1; shift; printf '%s\n' "site $site" "fleet $fleet" "$@" >"$tmp/$site.conf"; }
fl() { site=$1; shift; "$bin/narrows" -s "$tmp/$site" fleet -f "$tmp/$site.conf" -m "$tmp/$site.memory" "$@" 2>"$tmp/err"; }
push() { fl "$@" push >"$tmp/said" || fail "push: $(cat "$tmp/err")"; }
asked() { fl a --csv query "$1" | tail -n +2 | tr -d '\r"'; }
boxed() { sqlite3 -csv "$tmp/$1/narrows.db" "$2" | tr -d '\r"'; }
fleet=sqlite:$tmp/fleet.db
conf a
conf b "drop label sentence" "route $(boxed b "SELECT route FROM result WHERE session_id = 1")"
head -c 32 /dev/urandom | base64 >"$tmp/key"
chmod 600 "$tmp/key"
conf c "names hashed" "key-file $tmp/key"

# --- a preview is what leaves ---
for site in a b c; do
	fl $site preview >"$tmp/$site.preview" || fail "preview: $(cat "$tmp/err")"
	[ ! -e "$tmp/fleet.db" ] && [ ! -e "$tmp/$site.memory" ] || fail "a preview sends"
done
for site in a b c; do
	push $site
	fl a --json query "SELECT * FROM session WHERE site = '$site' ORDER BY session" >"$tmp/$site.rows" || fail "$(cat "$tmp/err")"
	python3 - "$tmp/$site.preview" "$tmp/$site.rows" <<'PY' || fail "$site: the preview is not what left"
import json, sys
want = sorted((r for r in map(json.loads, open(sys.argv[1])) if r.pop("table") == "session"), key=lambda r: r["session"])
got = [json.loads(l) for l in open(sys.argv[2])]
assert len(want) == len(got) > 0, (len(want), len(got))
for w, g in zip(want, got):
    assert w.keys() == g.keys()
    for k in w:
        assert (w[k] is None and g[k] is None) or str(w[k]) == g[k] or abs(float(w[k]) - float(g[k])) <= 1e-14 * abs(w[k]), (k, w[k], g[k])
PY
done
grep -qx '4 sessions sent, 0 stay here.' "$tmp/said" || fail "c: $(cat "$tmp/said")"

# --- values are the box's ---
boxed a "SELECT session_id, start_ns, duration_ns, route, stage, sentence FROM result ORDER BY 1" >"$tmp/want"
asked "SELECT session, start_ns, duration_ns, route, stage, sentence FROM session WHERE site = 'a' ORDER BY 1" >"$tmp/got"
cmp "$tmp/want" "$tmp/got" || fail "values: $(diff "$tmp/want" "$tmp/got")"
"$bin/narrows" -s "$tmp/a" report --json 1 >"$tmp/doc.want"
fl a --json query "SELECT document FROM session WHERE site = 'a' AND session = 1" | python3 -c '
import json, sys
assert json.loads(json.loads(sys.stdin.read())["document"]) == json.load(open(sys.argv[1]))' "$tmp/doc.want" || fail "the document differs"

# --- roll-ups: every route's hours and days add up to the sessions, and a day's percentiles are those of its sessions ---
[ "$(fl a --csv leaves | tr -d '\r' | grep -c '^session,.*,as it is,\|^level,.*,as it is,')" = 32 ] || fail "leaves: $(fl a leaves)"
fl b --csv leaves | tr -d '\r' | grep -q '^session,label,stays,' || fail "leaves: $(fl b leaves)"
[ "$(asked "SELECT span_ns / 3600000000000, sum(sessions) FROM level WHERE site = 'a' GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" = "1,4 24,4 " ] || fail "levels: $(fl a query "SELECT * FROM level")"
[ "$(asked "SELECT count(*) FROM level l WHERE site = 'a' AND span_ns = 86400000000000 AND (p50 IS NOT (SELECT percentile(bytes_per_s, 0.5) FROM session s WHERE s.site = 'a'
	AND s.route = l.route AND s.program = l.program AND s.start_ns / 86400000000000 = l.start_ns / 86400000000000) OR bytes IS NULL)")" = 0 ] || fail "percentiles: $(fl a query "SELECT * FROM level")"
[ "$(asked "SELECT count(DISTINCT route), min(route GLOB 'h-*') FROM level WHERE site = 'c'")" = 2,1 ] || fail "hashed levels: $(asked "SELECT * FROM level WHERE site = 'c'")"
[ "$(asked "SELECT count(DISTINCT route) FROM level WHERE site = 'b'")" = 1 ] || fail "levels of routes that stay: $(asked "SELECT * FROM level WHERE site = 'b'")"

# --- series: none leaves unless it is pinned or given, and then each value as its box has it ---
[ "$(asked "SELECT count(*) FROM chunk")" = 0 ] || fail "chunks leave by themselves"
! fl a series a 2 >/dev/null || fail "series that never left"
grep -q "narrows fleet give 2" "$tmp/err" || fail "what to do: $(cat "$tmp/err")"
fl a give 2 || fail "give: $(cat "$tmp/err")"
push a
grep -q ' chunks of series sent' "$tmp/said" || fail "given: $(cat "$tmp/said")"
push a
! grep -q ' chunks of series sent' "$tmp/said" || fail "chunks leave twice: $(cat "$tmp/said")"
fl a series a 2 >"$tmp/series.csv" || fail "series: $(cat "$tmp/err")"
"$bin/narrows" -s "$tmp/a" export 2 >"$tmp/export.csv" || fail export
python3 - "$tmp/export.csv" "$tmp/series.csv" <<'PY' || fail "the fleet's series are not the box's"
import csv, sys
want, got = (sorted((r["host"], r["event_type"], r["field"], r["t_ns"], float(r["value"])) for r in csv.DictReader(open(p, newline="")) if r["event_type"] != "nw:clock") for p in sys.argv[1:])  # of the host, not of the session
want, got = ([r for r in rows if r[4] == r[4]] for rows in (want, got))  # the export leaves NaN out
assert len(want) > 30 and want == got, (len(want), len(got), set(want) ^ set(got) and sorted(set(want) ^ set(got))[:5])
PY
"$bin/narrows" -s "$tmp/a" pin 3 >/dev/null || fail pin
conf a "chunks pinned"
push a
[ "$(asked "SELECT DISTINCT session FROM chunk ORDER BY 1" | tr '\n' ' ')" = "2 3 " ] || fail "pinned: $(asked "SELECT DISTINCT session FROM chunk")"
conf a
! fl c give 2 || fail "series with hashed names"

# --- what stays at home ---
[ "$(asked "SELECT count(*), count(DISTINCT route), count(label), count(sentence) FROM session WHERE site = 'b'")" = 3,1,0,0 ] || fail "b: $(cat "$tmp/err")"
! grep -q '"sentence"' "$tmp/b.preview" || [ "$(grep -c '\\"sentence\\"' "$tmp/b.preview")" = 0 ] || fail "sentences leave in documents"
! grep -aqi 'secret-host\|other-host' "$tmp/c.preview" || fail "a name leaves in clear: $(grep -aoi '.\{60\}secret-host' "$tmp/c.preview" | head -n 3)"
[ "$(asked "SELECT count(DISTINCT route) FROM session WHERE site = 'c' AND route GLOB 'h-???????????????????? (local)'")" = 2 ] || fail "hashed routes: $(asked "SELECT route FROM session WHERE site = 'c'")"
rm -f "$tmp/alone.db" "$tmp/c.memory"
fleet=sqlite:$tmp/alone.db
conf c "names hashed" "key-file $tmp/key"
push c
! grep -aqi 'secret-host\|other-host' "$tmp"/alone.db* || fail "a name stands in the fleet's file in clear"
chmod 640 "$tmp/key"
! fl c --all push >/dev/null || fail "a key that others read"
grep -q "chmod 600" "$tmp/err" || fail "no word of the key: $(cat "$tmp/err")"
chmod 600 "$tmp/key"
fleet=sqlite:$tmp/fleet.db

# --- again, from the beginning, judged anew, older than what is there: each session once, the newest verdict ---
push a
grep -qx '0 sessions sent, 0 stay here.' "$tmp/said" || fail "again: $(cat "$tmp/said")"
push a --all
grep -qx '4 sessions sent, 0 stay here.' "$tmp/said" || fail "all: $(cat "$tmp/said")"
# anew STAGE RUN: session 2 has another verdict by a run
anew() { sqlite3 "$tmp/a/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT $2, 2, 'verdict', $2 + max(started_ns) FROM run;
	UPDATE result SET stage = '$1', run_id = $2 WHERE session_id = 2"; }
cp "$tmp/a/narrows.db" "$tmp/old.db"
anew net.write 1000
push a
grep -qx '1 sessions sent, 0 stay here.' "$tmp/said" || fail "anew: $(cat "$tmp/said")"
[ "$(asked "SELECT stage FROM session WHERE site = 'a' AND session = 2")" = net.write ] || fail "the old verdict stays"
mv "$tmp/old.db" "$tmp/a/narrows.db" # a box that was restored from a backup says what it said before
push a
[ "$(asked "SELECT stage FROM session WHERE site = 'a' AND session = 2")" = net.write ] || fail "an older verdict replaces a newer one"
[ "$(asked "SELECT count(*) FROM session WHERE site = 'a'")" = 4 ] || fail "not each session once"

# --- a fleet that is away, a full disk, a cut-off push: nothing is lost, nothing is there twice ---
anew host 1001
mv "$tmp/fleet.db" "$tmp/gone.db"
rm -f "$tmp"/fleet.db-*
mkdir "$tmp/fleet.db"
! fl a push >"$tmp/said" || fail "a fleet that is away took rows"
rmdir "$tmp/fleet.db"
mv "$tmp/gone.db" "$tmp/fleet.db"
cp "$tmp/a.memory" "$tmp/a.memory.before"
push a
cp "$tmp/a.memory.before" "$tmp/a.memory" # killed before it remembered
push a
[ "$(asked "SELECT stage FROM session WHERE site = 'a' AND session = 2")" = host ] || fail "a verdict is lost"
[ "$(asked "SELECT count(*), count(DISTINCT site || session) FROM session")" = 7,7 ] || [ "$(asked "SELECT count(*), count(DISTINCT site || session) FROM session")" = 11,11 ] || fail "rows: $(asked "SELECT count(*) FROM session")"
anew disk.write 1002
! (ulimit -f 1; fl a --all push) >/dev/null 2>&1 || fail "a push onto a full disk succeeds"
push a
[ "$(asked "SELECT stage FROM session WHERE site = 'a' AND session = 2")" = disk.write ] || fail "a verdict is lost on a full disk"

# --- a push that runs counts roll-ups at most every ten minutes, and then all that lack ---
newest_count() { asked "SELECT max(judged_ns) FROM level WHERE site = 'a'"; }
run() {
	"$bin/narrows" -s "$tmp/a" fleet -f "$tmp/a.conf" -m "$tmp/a.memory" -i 1s run 2>"$tmp/err" &
	running=$!
	pids="$pids $running"
}
stop() { kill $running && wait $running || fail "the run ends with status $?: $(cat "$tmp/err")"; }
has_left() { [ "$(asked "SELECT stage FROM session WHERE site = 'a' AND session = 2")" = net.read ]; }
is_counted() { [ "$(newest_count)" != "$before" ]; }
before=$(newest_count)
anew net.read 1003
run
until_true 20 has_left || fail "a running push sends nothing: $(cat "$tmp/err")"
stop
! is_counted || fail "roll-ups are counted with each verdict"
sed -i 's/"levels_ns": *[0-9]*/"levels_ns": 1/' "$tmp/a.memory"
run
until_true 20 is_counted || fail "roll-ups lack a verdict"
stop

# --- reports ---
fl a --csv routes | tr -d '\r' >"$tmp/out"
grep -q '^"\{0,1\}.*other-host.*,1,1,' "$tmp/out" || fail "routes: $(cat "$tmp/out")"
fl a verdicts | grep -q '^b .*disk.write\|^b .*cannot tell\|^b ' || fail "verdicts: $(fl a verdicts)"
[ "$(fl a --csv verdicts | tail -n +2 | tr -d '\r' | awk -F, '{ s += $4 } END { print s }')" = "$(asked "SELECT count(*) FROM session")" ] || fail "the verdicts do not add up"
sqlite3 "$tmp/fleet.db" "UPDATE site SET seen_ns = seen_ns - 200000000000000 WHERE site = 'b'; UPDATE site SET clock = 'synchronised' WHERE site = 'c';
	UPDATE session SET usual = session, bytes_per_s = 1e6 * session WHERE site = 'a'"
[ "$(fl a --csv silent | tail -n +2 | cut -d, -f 1)" = b ] || fail "silent: $(fl a silent)"
[ "$(fl a --csv clocks | tail -n +2 | cut -d, -f 1 | sort | tr '\n' ' ')" = "a b " ] || fail "clocks: $(fl a clocks)"
# sessions 1, 2, 3 of one route are 1, 2 and 3 times slower
fl a --csv worst | tr -d '\r' | grep -q ',4,4.0,4.0,4.0,4.0,4.0$\|,1,4.0,4.0,4.0,4.0,4.0$' || fail "worst: $(fl a --csv worst)"
fl a --csv worst | tr -d '\r' | grep -q ',3,1.0,2.0,3.0,2.0,3.0$' || fail "worst: $(fl a --csv worst)"
fl a history "$(asked "SELECT route FROM session WHERE site = 'a' AND session = 1")" | grep -q ' 1.*MB\| dd ' || fail "history: $(fl a history x)"

# --- the page says what the reports say, and asks for nothing ---
fl a page >"$tmp/page.html" || fail "page: $(cat "$tmp/err")"
python3 - "$tmp/page.html" <<'PY' || fail "the page: $(cat "$tmp/page.html" | tail -c 3000)"
import html.parser, re, sys
class Page(html.parser.HTMLParser):
    open, cells, text, heads = [], [], "", []
    def handle_starttag(self, tag, attrs):
        assert not any(k in ("src", "href") for k, v in attrs), (tag, attrs)
        if tag not in ("meta", "link", "br", "col", "input"): self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag
    def handle_data(self, data):
        if self.open and self.open[-1] == "h2": self.heads.append(data)
        self.text += data + " "
p = Page()
p.feed(open(sys.argv[1]).read())
assert not p.open, p.open
assert p.heads == ["Sites that went silent", "Sites whose clock is unknown", "Worst routes", "Verdicts by site and week", "Routes of all sites"], p.heads
silent, clocks, worst, verdicts, routes = re.split("|".join(p.heads), p.text)[1:]
assert " b " in silent and " c " not in silent and " c " not in clocks and " a " in clocks, p.text
assert "<script" not in p.text and "&lt;" not in p.text
PY

# --- the box shows the same pages and what leaves, from files: without the fleet, and without trust in them ---
conf a "box a https://box-a.example:8443" "drop label"
fl a -o "$tmp/state/fleet" publish || fail "publish: $(cat "$tmp/err")"
fl a -o "$tmp/state/fleet" push >/dev/null || fail "push: $(cat "$tmp/err")"
mv "$tmp/fleet.db" "$tmp/away.db"
start_box
curl -sf "$url/fleet" >"$tmp/fleet.html" || fail "/fleet"
curl -sf "$url/health" >"$tmp/health.html" || fail "/health"
route=$(grep -o '/fleet/route-[0-9a-f]*' "$tmp/fleet.html" | sort -u | head -n 1)
curl -sf "$url$route" >"$tmp/route.html" || fail "no page of $route"
for route in $(grep -o '/fleet/route-[0-9a-f]*' "$tmp/fleet.html" | sort -u); do curl -sf "$url$route"; done >"$tmp/links.html" || fail "a route without a page"
python3 - "$tmp" <<'PY' || fail "the box's pages"
import html, re, sys
read = lambda name: open(f"{sys.argv[1]}/{name}.html").read()
heads = lambda text: re.findall("<h2>(.*?)</h2>", text)
fleet, health, route, page = read("fleet"), read("health"), read("route"), read("page")
assert heads(fleet) == heads(page), heads(fleet)
assert len(set(re.findall("/fleet/route-[0-9a-f]{16}", fleet))) >= 3
assert heads(route) == ["Newest sessions", "Days"], heads(route)
assert "What leaves this site" in heads(health) and "failed" not in health.split("What leaves this site")[1].split("</table>")[0], heads(health)
leaves = [re.findall("<bdi>(.*?)</bdi>", row) for row in health.split("What leaves this site")[1].split("<tr>")[1:]]
assert len(leaves) == 45, len(leaves)
assert [r[2] for r in leaves if "label" in r[1]] == ["stays"], leaves[:20]
assert all(f'href="https://box-a.example:8443/session/{i}"' in read("links") for i in (1, 2, 3)), read("links")[-3000:]
PY
printf '{"title": "<b>x", "made_ns": 1, "tables": [{"title": "<i>", "rows": [["session", "site"], ["1", "<u>"], ["2"]], "links": [null]}, 7, {"title": "y", "empty": "", "words": "",
	"rows": [["session"], ["1"], [null]], "links": [null, "javascript:alert(1)", "http://x/\"onclick="]}]}' >"$tmp/state/fleet/route-0.json"
curl -sf "$url/fleet/route-0" >"$tmp/evil.html" || fail "a page with odd tables"
! grep -q '<b>x\|<i>\|<u>\|javascript:\|"onclick' "$tmp/evil.html" || fail "markup of a document: $(cat "$tmp/evil.html")"
for name in route-1 ..%2fx index.json; do [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/fleet/$name")" = 404 ] || fail "/fleet/$name"; done
head -c 5000000 /dev/zero | tr '\0' ' ' >"$tmp/state/fleet/index.json"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/fleet")" = 404 ] || fail "a document that is too long"
mv "$tmp/away.db" "$tmp/fleet.db"
# what the fleet lacks is asked of the session's box, which wants a token of its own
conf a "box b $url"
fl a series b 1 >"$tmp/far.csv" || fail "series of a box: $(cat "$tmp/err")"
[ "$(grep -c ,nw: "$tmp/far.csv")" -gt 20 ] || fail "series of a box: $(head -n 3 "$tmp/far.csv")"
stop_box
start_box -o login=always
conf a "box b $url"
! fl a series b 1 >/dev/null || fail "a box gives series away without a token"
grep -q NARROWS_TOKEN "$tmp/err" || fail "why: $(cat "$tmp/err")"
nw access token reader >"$tmp/token" 2>/dev/null || fail "no token"
export NARROWS_TOKEN="$(grep -o '[^ ]\{20,\}' "$tmp/token" | tail -n 1)"
fl a series b 1 >"$tmp/far2.csv" || fail "series with a token: $(cat "$tmp/err" "$tmp/token")"
unset NARROWS_TOKEN
cmp "$tmp/far.csv" "$tmp/far2.csv" || fail "other series"
stop_box

# --- questions only ask ---
for sql in "DELETE FROM session" "ATTACH '$tmp/x.db' AS x" "SELECT 1; DELETE FROM session" "PRAGMA journal_mode = DELETE" "SELECT load_extension('x')"; do
	! fl a query "$sql" >/dev/null || fail "taken: $sql"
done
[ ! -e "$tmp/x.db" ] || fail "a question writes a file"

# --- what is wrong is said ---
for line in "site ../a" "site a/b" "names maybe" "drop session" "drop nothing" "rate 0" "uri x"; do
	printf '%s\n' "fleet $fleet" "$line" >"$tmp/wrong.conf"
	! "$bin/narrows" fleet -f "$tmp/wrong.conf" sites 2>"$tmp/err" || fail "taken: $line"
	grep -q "wrong.conf" "$tmp/err" || fail "$line: $(cat "$tmp/err")"
done
