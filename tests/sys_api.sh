#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# /api/v1: every path of the OpenAPI document answers as the document says; JSON, CSV and Arrow have the same values, bit
# for bit those that were stored; pages, tags, compression, errors.
. tests/lib.sh

python3 - "$tmp/a.csv" <<'EOF'
import random, struct, sys, datetime
random.seed(11)
q = lambda s: '"' + s.replace('"', '""') + '"'
series = [("dtn1", "resource=/data/a", "nw:file", ["read_bytes", "write_bytes"], 3000), ("dtn2", "resource=/data/b;pid=17", "nw:file", ["read_bytes"], 50),
          ("dtn2", "", "x \"y\", z", ["value"], 2000), ("dtn3", "k=\xe4", "odd", ["a", "b", "c"], 1200)]
with open(sys.argv[1], "w") as f:
    f.write("session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n")
    for n, (host, subject, event, fields, rows) in enumerate(series):
        t = 1795162331250000000
        for i in range(rows):
            t += random.choice((1, 999, 10**6, 10**9))
            iso = datetime.datetime.fromtimestamp(t // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%09dZ" % (t % 10**9)
            for field in fields:
                v = random.choice(("-0", "5e-324", "1e+308", "0.1", "9007199254740992",
                                   repr(random.gauss(100, 30))))
                if v == "0.1" and len(fields) > 1 and i > 0:
                    continue
                f.write(f"1,{n + 1},{host},{q(subject)},{q(event)},{field},,{iso},{t},{v}\n")
EOF
"$bin/narrows" -s "$tmp/state" import "$tmp/a.csv" >/dev/null || fail "import"
start_box -o analysis-interval=60s

cat >"$tmp/check.py" <<'EOF'
import csv, gzip, io, json, math, re, struct, subprocess, sys, urllib.request, urllib.error
url, source, directory = sys.argv[1:]
api = url + "/api/v1/"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def get(path, **headers):
    try:
        with opener.open(urllib.request.Request(url + path if path[0] == "/" else api + path, headers=headers)) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()
def load(path):
    status, headers, body = get(path)
    assert status == 200 and headers["Content-Type"] == "application/json", (path, status, body[:300])
    return json.loads(body)
bits = lambda v: struct.pack("<d", v)
stored = {}
for r in csv.DictReader(open(source, newline="")):
    stored.setdefault((r["host"], r["event_type"], r["field"]), []).append((int(r["t_ns"]), float(r["value"])))

# --- descriptions ---
listed = load("series")
assert listed["next"] is None
named = {(e["host"], e["event_type"], f): e["series_id"] for e in listed["series"] for f in e["fields"]}
assert set(named) == set(stored), named
host_of = {e["series_id"]: e for e in listed["series"]}
assert {e["subject"].get("resource") for e in listed["series"]} == {"/data/a", "/data/b", None}
count = lambda query: len(load("series?" + query)["series"])
assert count("event_type=nw:*") == 2 and count("event_type=nw:fil") == 0 and count("event_type=*y*") == 1
assert count("host=dtn2") == 2 and count("host=dtn?") == 4 and count("field=read_*") == 2 and count("field=nothing") == 0
assert [e["series_id"] for e in load("series?series_id=2")["series"]] == [2] and count("series_id=2&host=dtn1") == (host_of[2]["host"] == "dtn1") and count("series_id=99") == 0
assert count("subject=resource=/data/*") == 2 and count("subject=pid=17") == 1 and count("subject=none=*") == 0
assert count("session=1") == 4 and count("session=none") == 0 and count("session=99") == 0
pages, after = [], 0
while after is not None:
    page = load(f"series?limit=1&after={after}")
    pages += [e["series_id"] for e in page["series"]]
    after = page["next"]
assert pages == sorted(host_of), pages

# --- values: JSON, CSV and Arrow ---
def from_json(path):
    got = {}
    for e in load(path)["series"]:
        t = [int(x) for x in e["t_ns"]]
        assert t == sorted(t) and len(e["value"]) == len(e["fields"]) == len(e["units"])
        for f, column in zip(e["fields"], e["value"]):
            assert len(column) == len(t)
            got.setdefault((e["series_id"], f), []).extend((a, float(v)) for a, v in zip(t, column) if v is not None)
    return got
def from_csv(path):
    got = {}
    status, headers, body = get(path + ("&" if "?" in path else "?") + "format=csv")
    assert status == 200 and headers["Content-Type"].startswith("text/csv")
    for r in csv.DictReader(io.StringIO(body.decode(), newline="")):
        assert r["host"] == host_of[int(r["series_id"])]["host"] and r["event_type"] == host_of[int(r["series_id"])]["event_type"]
        got.setdefault((int(r["series_id"]), r["field"]), []).append((int(r["t_ns"]), float(r["value"])))
    return got
# a series whose fields did not always arrive together comes set of fields by set of fields
same = lambda a, b: set(a) == set(b) and all(sorted((t, bits(v)) for t, v in a[k]) == [(t, bits(v)) for t, v in b[k]] for k in a)
want = {(named[k], k[2]): v for k, v in stored.items()}
got = from_json("values")
assert set(got) == set(want), (set(got), set(want))
for k in want:
    for a, b in zip(sorted(got[k]), want[k]):
        assert a[0] == b[0] and bits(a[1]) == bits(b[1]), (k, a, b)
assert same(got, want), "JSON"
assert same(from_csv("values"), want), "CSV"
t0, t1 = 1795162331250000000 + 10**11, 1795162331250000000 + 3 * 10**11
part = {k: [x for x in v if t0 <= x[0] < t1] for k, v in want.items()}
part = {k: v for k, v in part.items() if v}
assert same(from_csv(f"values?from={t0}&to={t1}"), part), "range"
last = {k: [v[-1]] for k, v in want.items()}
got = from_json("last")
assert same(got, last), "last"

# --- statistics ---
step = 60 * 10**9
for e in load("statistics?step=1min&event_type=nw:file&host=dtn1")["series"]:
    for k, f in enumerate(e["fields"]):
        for i, t in enumerate(map(int, e["t_ns"])):
            inside = [v for at, v in want[e["series_id"], f] if at - at % step == t]
            assert t % step == 0 and e["n"][k][i] == len(inside), (t, e["n"][k][i], len(inside))
            if inside:
                assert e["min"][k][i] == min(inside) and e["max"][k][i] == max(inside)
            if len(inside) > 1 and max(inside) < 1e300:
                mean = math.fsum(inside) / len(inside)
                sd = math.sqrt(math.fsum((v - mean)**2 for v in inside) / (len(inside) - 1))
                assert abs(e["mean"][k][i] - mean) <= 1e-9 * abs(mean) and abs(e["sd"][k][i] - sd) <= 1e-6 * sd

some = load("statistics?step=1min&columns=max,mean")["series"][0]
assert set(some) >= {"mean", "max"} and not {"n", "sum", "min", "sd"} & set(some)

# --- tags, compression, errors ---
status, headers, body = get("values?host=dtn2")
again = get("values?host=dtn2", **{"If-None-Match": headers["ETag"]})
assert status == 200 and again[0] == 304 and again[2] == b"" and again[1]["ETag"] == headers["ETag"]
assert get("values?host=dtn1", **{"If-None-Match": headers["ETag"]})[0] == 200
for path in ("values?host=dtn2", "values", "values?format=arrow", "openapi.json", "/", "/session/1", "/style.css"):
    plain, packed = get(path), get(path, **{"Accept-Encoding": "br, gzip;q=0.5"})
    assert packed[1]["Content-Encoding"] == "gzip" and gzip.decompress(packed[2]) == plain[2] and len(packed[2]) < 0.7 * len(plain[2]), path
    assert plain[1]["Content-Encoding"] is None and get(path, **{"Accept-Encoding": "gzip;q=0"})[1]["Content-Encoding"] is None
for path, status in (("values?nonsense=1", 400), ("values?from=x", 400), ("values?from=2&to=1", 400), ("last?from=1", 400), ("series?format=arrow", 400),
                     ("values?session=0", 400), ("values?limit=0", 400), ("values?limit=1&limit=2", 400), ("statistics?step=25h", 400),
                     ("values?subject=a", 400), ("values?host=" + "x" * 300, 400), ("nothing", 404), ("sessions/77", 404), ("sessions/x", 404), ("/api/v9/", 404)):
    got = get(path)
    assert got[0] == status and got[1]["Content-Type"] == "application/problem+json", (path, got[0])
    problem = json.loads(got[2])
    assert problem["status"] == status and problem["detail"], problem

# --- the OpenAPI document ---
document = load("openapi.json")
schemas = document["components"]["schemas"]
types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list, "object": dict}
def check(value, rule, path):
    if "$ref" in rule:
        rule = schemas[rule["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in rule:
        return value is None or check(value, rule["anyOf"][0], path)
    names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    assert any(isinstance(value, types[n]) for n in names), (path, value, names)
    for item in value if isinstance(value, list) else ():
        check(item, rule["items"], path + "[]")
    if isinstance(value, dict) and "properties" in rule:
        assert set(rule.get("required", ())) <= set(value), (path, list(value))
        for key, item in value.items():
            assert key in rule["properties"], f"{path}.{key} is not described"
            check(item, rule["properties"][key], f"{path}.{key}")
fill = lambda path: path[len("/api/v1/"):].replace("{id}", "1").replace("{host}", "dtn1")
of_figures = document["paths"].pop("/api/v1/sessions/{id}/figures/{figure}")    # the imported session has none, see below
only_one = lambda text: text.replace("3,7", "1")  # this box has one session to compare
for path, operations in document["paths"].items():
    operation = operations["get"]
    example = only_one(re.search(r"/api/v1/([^']*)'", operation["description"]).group(1))
    for query in [example, fill(path)]:
        rule = operation["responses"]["200"]["content"].get("application/json", {}).get("schema")
        status, headers, body = get(query)
        assert status == 200, (query, status, body)
        if headers["Content-Type"] == "application/json":
            check(json.loads(body), rule, query)
    for p in operation["parameters"]:
        if p["in"] == "query":
            got = get(f"{fill(path)}?{p['name']}={only_one(p['example'])}")
            assert got[0] == 200, (path, p, got)
    for media in operation["responses"]["200"]["content"]:
        form = {"application/json": "json", "text/csv; charset=utf-8": "json", "text/csv; charset=utf-8; header=present": "csv", "application/vnd.apache.arrow.stream": "arrow"}[media]
        if form != "json":
            assert get(f"{path[len('/api/v1/'):]}?format={form}")[1]["Content-Type"] == media
# no address takes a parameter that it does not know, and the refusal names it; a wrong value is named, too
for path in [*map(fill, document["paths"]), "/", "/session/1", "/session/1.csv", "/sessions.json", "/routes", "/hosts", "/health", "/compare", "/keep"]:
    status, headers, body = get(f"{path}?serch=foo")
    assert status == 400 and b"serch" in body, (path, status, body[:300])
    if headers["Content-Type"] == "application/problem+json":
        assert json.loads(body)["detail"] == "serch: there is no such parameter", (path, body)
for path, name in (("sessions?limit=0", "limit"), ("sessions?before=x", "before"), ("sessions?from=never", "from"), ("hosts?offset=-1", "offset"),
                   ("hosts/dtn1/settings?before=x", "before")):
    status, headers, body = get(path)
    assert status == 400 and json.loads(body)["detail"].startswith(name + ": "), (path, status, body)
# alike everywhere: a text is searched, times go from and to, and a stage is a verdict
for path in "sessions?search=zebra", "sessions?q=zebra", "sessions?to=2001-01-01", "sessions?verdict=disk.write":
    assert load(path)["sessions"] == [], path
assert load("values?since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z")["series"] == load("values?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z")["series"]
# every path: the curl example as it stands there, the tag, HEAD, and each error as a problem that the document names
def ask(path, method, **headers):
    try:
        with opener.open(urllib.request.Request(api + path, method=method, headers=headers)) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()
for path, operations in document["paths"].items():
    responses, name = operations["get"]["responses"], fill(path)
    command = re.search(r"curl '([^']*)'", operations["get"]["description"]).group(1).replace("http://localhost:8080", url)
    command = only_one(command)
    out = subprocess.run(["curl", "-sS", "-g", "-o", f"{directory}/example", "-w", "%{http_code}", command], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout == "200", (command, out)
    status, headers, body = get(name)
    if headers["ETag"] is not None:    # what is another answer each time has no tag
        assert ask(name, "GET", **{"If-None-Match": headers["ETag"]})[0] == 304 and "304" in responses, path
    assert headers["ETag"] is not None or path == "/api/v1/health", path
    head = ask(name, "HEAD")
    assert head[0] == 200 and head[2] == b"" and head[1]["ETag"] == headers["ETag"], (path, head)
    for method, query, extra, code in (("POST", name, {}, 405), ("DELETE", name, {}, 405), ("GET", name + "/nothing", {}, 404),
                                       ("GET", name, {"Host": "evil.example"}, 421)):
        if method.lower() in operations:
            continue
        status, headers, body = ask(query, method, **extra)
        assert status == code and str(status) in responses, (path, method, query, status)
        assert headers["Content-Type"] == "application/problem+json", (path, method, headers["Content-Type"], body[:80])
        problem = json.loads(body)
        assert problem["status"] == code and problem["title"], problem
# the manual has the example of every path
manual = open("daemon/narrowsd.8").read()
for path, operations in [*document["paths"].items(), ("figure", of_figures)]:
    for operation in operations.values():
        command = re.search(r"curl .*'http[^']*'", operation["description"]).group(0)
        assert ".Dl $ " + command + "\n" in manual, command
# bounds of numbers are in the document, and hold
bounds = 0
for path, operations in document["paths"].items():
    for p in operations["get"]["parameters"]:
        for bound, step in ("minimum", -1), ("maximum", 1):
            beyond = p["schema"].get(bound, -2) + step
            if 0 <= beyond < 2**63:
                assert get(f"{fill(path)}?{p['name']}={beyond}")[0] == 400, (path, p)
                bounds += 1
assert bounds > 8, bounds
for path in ("/api", "/api/v1", "/api/v1/"):
    assert load(path)["openapi"], path    # they lead there
hosts = load("hosts")
assert [h["name"] for h in hosts["hosts"]] == ["dtn1", "dtn2", "dtn3"] and hosts["next_offset"] is None, hosts
pages, offset = [], 0
while offset is not None:
    page = load(f"hosts?limit=1&offset={offset}")
    pages += page["hosts"]
    offset = page["next_offset"]
assert pages == hosts["hosts"] and load("hosts/dtn2")["summary"] == pages[1], pages
for path, status in (("hosts/nobody", 404), ("hosts/dtn1/nothing", 404), ("hosts/", 404), ("hosts/dtn1%00", 404), ("hosts?limit=0", 400),
                     ("hosts?offset=-1", 400), ("hosts/dtn1/settings?before=x", 400), ("hosts/nobody/settings", 404)):
    assert get(path)[0] == status, (path, get(path)[0])
assert load("sessions")["sessions"][0]["id"] == 1 and load("sessions/last")["session"]["id"] == 1

# --- what a foreign reader of Arrow must find ---
for name, query in (("values", "values"), ("last", "last"), ("statistics", "statistics?step=10s"), ("none", "values?field=nothing")):
    open(f"{directory}/{name}.arrow", "wb").write(get(query + ("&" if "?" in query else "?") + "format=arrow")[2])
with open(f"{directory}/values.want", "w") as f:
    for (id, field), rows in sorted(want.items()):
        for t, v in rows:
            f.write(f"{id} {field} {t} {bits(v)[::-1].hex()}\n")
names = {(r["series_id"], r["host"], r["session"], r["event_type"], r["subject"]) for r in csv.DictReader(io.StringIO(get("values?format=csv")[2].decode()))}
with open(f"{directory}/values.names.want", "w") as f:
    f.write("".join("|".join(n) + "\n" for n in sorted(names)))
assert len(names) == 4 and len({n[1] for n in names}) == 3, names
EOF
python3 "$tmp/check.py" "$url" "$tmp/a.csv" "$tmp" || fail "/api/v1"

# --- Arrow, read by Apache's own reader; OpenAPI, read by two validators ---
arrow=${NARROWS_ARROW_JS:-}
if [ -z "$arrow" ] && command -v npm >/dev/null 2>&1 &&
    (mkdir "$tmp/js" && cd "$tmp/js" && timeout 120 npm install --silent --no-audit --no-fund apache-arrow@21 \
	@seriousme/openapi-schema-validator@2 @scalar/openapi-parser@0.24 >/dev/null 2>&1); then
	arrow=$tmp/js
fi
if [ -d "$arrow/node_modules/@scalar/openapi-parser" ]; then
	cat >"$arrow/validate.mjs" <<'EOF'
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { validate } from '@scalar/openapi-parser';
const text = readFileSync(process.argv[2], 'utf8');
for (const found of [await new Validator().validate(JSON.parse(text)), await validate(text)])
	if (!found.valid) {
		console.error(JSON.stringify(found.errors, null, 1).slice(0, 3000));
		process.exitCode = 1;
	}
EOF
	curl -s "$url/api/v1/openapi.json" >"$tmp/openapi.json"
	node "$arrow/validate.mjs" "$tmp/openapi.json" || fail "the OpenAPI document is not valid"
	sed 's/"operationId": "series"/"operationId": 7/' "$tmp/openapi.json" >"$tmp/broken.json"
	! node "$arrow/validate.mjs" "$tmp/broken.json" 2>/dev/null || fail "a broken document passes"
else
	echo "untested: the OpenAPI document is not validated: npm does not lead to its validators"
fi
if [ -n "$arrow" ]; then
	cat >"$tmp/read.js" <<'EOF'
const { tableFromIPC } = require(process.argv[2] + '/node_modules/apache-arrow'), fs = require('fs');
const t = tableFromIPC(fs.readFileSync(process.argv[3]));
console.error(t.numRows, t.schema.fields.map(f => `${f.name}:${f.type}`).join(' '));
const columns = t.schema.fields.map((_, i) => t.getChildAt(i)), view = new DataView(new ArrayBuffer(8)), lines = [];
for (const batch of t.batches) {
	const [id, field, time, value] = ['series_id', 'field', 'time', 'value'].map(n => batch.getChild(n));
	const times = time.data[0].values, ns = new BigInt64Array(times.buffer, times.byteOffset, batch.numRows);
	for (let i = 0; i < batch.numRows; i++) {
		view.setFloat64(0, value === null ? 0 : value.get(i));
		lines.push(`${id.get(i)} ${field.get(i)} ${ns[i]} ${view.getBigUint64(0).toString(16).padStart(16, '0')}`);
	}
}
fs.writeFileSync(process.argv[4], lines.map(l => l + '\n').join(''));
const of = ['series_id', 'host', 'session', 'event_type', 'subject'].map(n => t.getChild(n)), names = new Set();
for (let i = 0; i < t.numRows; i++)
	names.add(of.map(c => String(c.get(i))).join('|'));
fs.writeFileSync(process.argv[4] + '.names', [...names].sort().map(l => l + '\n').join(''));
EOF
	for name in values last statistics none; do
		node "$tmp/read.js" "$arrow" "$tmp/$name.arrow" "$tmp/$name.got" 2>"$tmp/said" || fail "Arrow $name: $(cat "$tmp/said")"
	done
	LC_ALL=C sort -s -k1,1n -k2,2 -k3,3n "$tmp/values.got" | cmp - "$tmp/values.want" || fail "Arrow has other values"
	cmp "$tmp/values.got.names" "$tmp/values.names.want" || fail "Arrow has other hosts, sessions, event types or subjects"
	[ -s "$tmp/last.got" ] && [ -s "$tmp/statistics.got" ] && [ ! -s "$tmp/none.got" ] || fail "Arrow rows"
else
	echo "untested: Arrow is not read: neither npm nor NARROWS_ARROW_JS leads to apache-arrow"
fi

# --- units are those of SQL, of every field that nwrun sends ---
"$bin/nwrun" dd if=/dev/zero of="$tmp/zero" bs=64k count=200 2>/dev/null || fail "nwrun"
until_true 10 sh -c "curl -s '$url/api/v1/series?event_type=nl*&format=csv' | grep -q mean_r" || fail "nothing of nwrun arrives"
nw sql --csv "select metadata, field, coalesce(unit, '') from v_series where session = (select max(id) from session)" >"$tmp/units.sql" || fail "sql"
curl -s "$url/api/v1/series?session=$(sql 'select max(id) from session')" | python3 -c '
import csv, json, sys
api = {(e["series_id"], f): u for e in json.load(sys.stdin)["series"] for f, u in zip(e["fields"], e["units"])}
sql = {(int(r[0]), r[1]): r[2] for r in csv.reader(open(sys.argv[1], newline=""))}
assert len(api) > 30 and set(api.values()) >= {"By", "s"}, api
wrong = [(k, api[k], sql[k]) for k in api if k in sql and api[k] != sql[k]]
assert not wrong and set(api) <= set(sql), (wrong, set(api) - set(sql))' "$tmp/units.sql" || fail "units"

# --- figures, and notes, of that session ---
judged() { curl -s "$url/api/v1/sessions/last" | grep -q '"sentence"'; }
until_true 20 judged || fail "no verdict"
cat >"$tmp/figures.py" <<'EOF'
import json, sys, urllib.error, urllib.request
url = sys.argv[1]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def get(path, data=None, **headers):
    try:
        with opener.open(urllib.request.Request(url + path, data=data, headers=headers)) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()
listed = json.loads(get("/api/v1/sessions/last/figures")[2])
id, page = listed["session"], get("/session/%d" % listed["session"])[2].decode()
assert len(listed["figures"]) > 3 and all(f["title"] for f in listed["figures"]), listed
for f in listed["figures"]:
    status, headers, body = get("/api/v1/sessions/last/figures/" + f["id"])
    assert status == 200 and headers["Content-Type"] == "text/csv; charset=utf-8" and body == get("/session/%d/%s.csv" % (id, f["id"]))[2], f
    assert get("/api/v1/sessions/last/figures/" + f["id"], **{"If-None-Match": headers["ETag"]})[0] == 304
    assert "/%s.csv" % f["id"] in page, f
status, headers, body = get("/api/v1/sessions/last/figures/nothing")
assert status == 404 and headers["Content-Type"] == "application/problem+json" and "figures" in json.loads(body)["detail"], body
# a note by the API, one by the form of the page, both on the page; nothing else changes anything
notes = lambda: json.loads(get("/api/v1/sessions/last/notes")[2])["notes"]
assert notes() == [] and 'action="/session/%d/note"' % id in page
first = json.loads(get("/api/v1/sessions/last/notes", b"text=tuned%20%3Cb%3E&at=0.5")[2])["notes"]
assert [n["text"] for n in first] == ["tuned <b>"], first
opener.open(url + "/session/%d/note" % id, b"text=second").read()
assert [n["text"] for n in notes()] == ["second", "tuned <b>"], notes()
assert int(notes()[1]["at_ns"]) - int(notes()[0]["at_ns"]) == 500000000
page = get("/session/%d" % id)[2].decode()
assert "tuned &lt;b&gt;" in page and "second" in page
for data, code in ((b"", 400), (b"text=", 400), (b"text=%20", 400), (b"text=%ff", 400), (b"text=a&at=soon", 400), (b"text=a&at=1e30", 400), (b"text=" + b"x" * 2001, 400)):
    for path in ("/session/%d/note" % id, "/api/v1/sessions/last/notes"):
        assert get(path, data)[0] == code, (path, data[:20], get(path, data)[:1])
assert get("/api/v1/sessions/999/notes", b"text=a")[0] == 404 and get("/session/999/note", b"text=a")[0] == 404
for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
    for path in ("/session/%d/note" % id, "/api/v1/sessions/last/notes"):
        assert get(path, b"text=evil", **headers)[0] == 403, (path, headers)
for path in ("/session/%d/note" % id, "/api/v1/sessions/last/notes"):
    assert get(path, b'{"text":"x"}', **{"Content-Type": "application/json"})[0] == 415, path
    status, headers, body = get(path, b"text=" + b"x" * 20000)
    assert status == 413 and headers["Content-Security-Policy"], (path, status)
assert headers["Content-Type"] == "application/problem+json" and json.loads(body)["detail"], body
assert get("/session/%d/note" % id)[0] == 405 and get("/session/%d" % id, b"text=a")[0] == 405 and len(notes()) == 2
EOF
python3 "$tmp/figures.py" "$url" || fail "figures and notes"
grep -q '"event":"note.add"' "$tmp/state/audit.log" || fail "notes are not in the audit log"
stop_box
