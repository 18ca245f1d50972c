#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every shape of an export is what the readers of the world take it for, over HTTP and from the file alike; bad requests
# leave no file behind; a large one needs little memory.
. tests/lib.sh

start_box
python3 - "$xsp" <<'EOF'
import sys
sys.path.insert(0, "tests")
from xsp import *
p = Peer(sys.argv[1]).open().hello("test-export", host="=cmd|' /C calc'!A0", task_id="job-1")
p.app(0x20, bson({"id": "root", "eventType": "ps:host:host", "subject": {"hostname": "dtn, \"1\""}, "parameters": {}}))
p.app(0x20, bson({"id": "a", "pid": "root", "eventType": "nl:tools:calipers:summary:read", "subject": {"path": "/x;y=1", "sport": 5}, "parameters": {"unit_v": "By"}}))
p.app(0x20, bson({"id": "b", "pid": "root", "eventType": "=1+1", "subject": {}, "parameters": {"unit": "W"}}))
n, t = 0, 1795162331250000000
for i in range(3000):
    p.app(0x21, bson({"mid": "a", "data": {"ts": 0.0, "ts_ns": t + i * 10**8, "v": i / 7, "mean_r": -0.0 if i % 2 else 5e-324}}))
    p.app(0x21, bson({"mid": "b", "data": {"ts": 0.0, "ts_ns": t + i * 10**9 + 1, "value": 1.5 * i}}))
    n += 2
assert p.until_stored(n) == n
p.close()
EOF
nw export --csv "$tmp/tidy.csv" last
for f in wide keys keys-long ndjson influx; do
	nw export --format "$f" -o "$tmp/$f" last || fail "$f"
	"$bin/narrows" -u "$url" export --format "$f" 1 >"$tmp/$f.http" || fail "$f over HTTP"
	cmp "$tmp/$f" "$tmp/$f.http" || fail "$f: not the same over HTTP"
done
nw export --format wide --resolution 10s --from 2026-11-20T08:12:11Z --to 1795162391000000000 --series nl: --eol crlf last >"$tmp/part"
nw export --safe-text last >"$tmp/safe"

python3 - "$tmp" <<'EOF' || fail "a shape does not read back"
import csv, json, sys
tmp = sys.argv[1]
table = lambda name: list(csv.reader(open(f"{tmp}/{name}", newline="")))
T0 = 1795162331250000000
tidy = table("tidy.csv")
assert len(tidy) == 9001 and all(len(r) == 10 for r in tidy), len(tidy)
v = [float(r[9]) for r in tidy[1:] if r[5] == "value" and r[4].startswith("nl:")]
assert v == [i / 7 for i in range(3000)]
wide = table("wide")
assert wide[0] == ["time", "t_ns", "=cmd|' /C calc'!A0/nl:tools:calipers:summary:read []", "=cmd|' /C calc'!A0/nl:tools:calipers:summary:read:mean_r [By/ns]",
                   "=cmd|' /C calc'!A0/=1+1 [W]"]
assert all(len(r) == 5 for r in wide) and len(wide) == 3001
first = wide[1]
assert first[1] == str(T0 // 10**9 * 10**9) and float(first[2]) == 7 / 7 and float(first[4]) == 0   # 8 values from .25 on
part = open(f"{tmp}/part", newline="").read()
assert part.count("\r\n") == part.count("\n") and [r[1] for r in table("part")[1:]] == [str(1795162330000000000 + i * 10**10) for i in range(7)]
keys = table("keys")
assert keys[0] == ["key", "timestamp", "value"] and keys[1][0] == "a" and {r[0] for r in keys[1:]} == {"a", "a:mean_r", "b"}
long = table("keys-long")
assert long[0] == ["key", "type", "subject", "param", "timestamp", "value"]
assert long[1][:4] == ["a", "ps:host:host/nl:tools:calipers:summary:read", 'hostname=dtn, "1"/path=/x;y=1;sport=5', "/unit_v=By"], long[1]
docs = [json.loads(l) for l in open(f"{tmp}/ndjson")]
assert sum("data" in d for d in docs) == 6000 and docs[0]["id"] == "root" and docs[1]["pid"] == "root"
assert str(docs[3]["data"]["mean_r"]) == "-0.0" and docs[2]["data"]["mean_r"] == 5e-324
lines = open(f"{tmp}/influx").read().splitlines()
assert len(lines) == 6000 and lines[0].startswith(r"nl:tools:calipers:summary:read,session=1,host=\=cmd|'\ /C\ calc'!A0,series_id="), lines[0]
assert lines[0].endswith(" value=0,mean_r=5e-324 1795162331250000000"), lines[0]
assert not [c for r in table("safe")[1:] for c in r[:7] if c[:1] in "=+-@\t\r" and c]
EOF

# a store file of NM-WG, and what was imported from one, are the same measurements
nw export --format nmwg -o "$tmp/store.xml" last || fail "nmwg"
"$bin/narrows" -u "$url" export --format nmwg 1 | cmp - "$tmp/store.xml" || fail "nmwg over HTTP"
"$bin/narrows" -s "$tmp/again" import --session job-1 "$tmp/store.xml" >/dev/null || fail "import of the store file"
"$bin/narrows" -s "$tmp/again" export --format ndjson last >"$tmp/ndjson.again"
"$bin/narrows" -s "$tmp/again" export --format nmwg last >"$tmp/store.again"
# the text of the first XIO driver, too
printf '%s\n' 'user=u,task_id=g0,sport=50432,dport=50001,resource=/a,b,size=5,src=192.0.2.1,dst=192.0.2.2' \
    'ts=2011-02-03T00:33:34.250334Z event=nl.write.summary v.sum=524288 v.min=262144 r.mean=0.911 count=2 dur.i=2.371045 id=77 type=0' \
    'ts=2011-02-03T00:33:39.250334Z event=nl.write.summary v.sum=524289 v.min=262144 r.mean=0.912 count=2 dur.i=2.371045 id=77 type=0' \
    'ts=2011-02-03T00:33:39.250335Z event=nl.read.summary v.sum=7 r.mean=0.1 count=1 dur.i=0.5 id=-78 type=1' >"$tmp/g0"
"$bin/narrows" -s "$tmp/again" import "$tmp/g0" | grep -q "session g0" || fail "import of text of 2011"
"$bin/narrows" -s "$tmp/again" export --format g0 last >"$tmp/g0.again"
python3 - "$tmp" <<'END' || fail "a round trip"
import json, sys, xml.etree.ElementTree as tree
tmp = sys.argv[1]
def series(name):
    out, of = {}, {}
    for d in map(json.loads, open(f"{tmp}/{name}")):
        if "data" in d:
            out[of[d["series_id"]]][1].append((d["t_ns"], repr(d["data"])))
        else:
            of[d["series_id"]] = key = (d["host"], d["id"])
            out[key] = ({k: d.get(k) for k in ("pid", "event_type", "subject", "parameters")}, [])
    return out
a, b = series("ndjson"), series("ndjson.again")
assert a == b and sum(len(rows) for _, rows in a.values()) == 6000, [(a[k][0], b.get(k, "-")[0]) for k in a if a[k] != b.get(k)]
N = "{http://ggf.org/ns/nmwg/base/2.0/}"
store = tree.parse(f"{tmp}/store.xml").getroot()
assert store.tag == N + "store" and len(store.findall(N + "metadata")) == 3 and len(store.findall(f"{N}data")) == 2
strip = lambda name: sorted(l for l in open(f"{tmp}/{name}") if "<nmwg:datum" in l or "<nmwg:commonTime" in l)
assert strip("store.xml") == strip("store.again")
split = lambda line: {w for w in line.split()}
assert sorted(map(repr, map(sorted, map(split, open(f"{tmp}/g0"))))) == sorted(map(repr, map(sorted, map(split, open(f"{tmp}/g0.again")))))
END

# one table says units: a series has the same in CSV and in SQL
nw sql --csv "SELECT event_type, field, coalesce(unit, '') FROM v_series WHERE session = 1 ORDER BY 1, 2" >"$tmp/units.sql"
python3 - "$tmp" <<'EOF' || fail "units"
import csv, sys
rows = list(csv.reader(open(sys.argv[1] + "/tidy.csv", newline="")))
want = sorted({(r[4], r[5], r[6]) for r in rows[1:]})
got = sorted(tuple(r) for r in csv.reader(open(sys.argv[1] + "/units.sql", newline="")))
assert got == want and ("=1+1", "value", "W") in got and {u for _, f, u in got if f == "mean_r"} == {"By/ns"}, (got, want)
EOF

# what makes no sense is refused, and what was there stays
echo old >"$tmp/kept"
for o in "--from today" "--format wide --resolution 0s" "--resolution 25h" "--eol cr" \
    "--from 2026-11-20T00:00:01Z --to 2026-11-20T00:00:00Z"; do
	if nw export $o -o "$tmp/kept" 1 2>"$tmp/err"; then fail "export $o"; else [ $? -eq 2 ] || fail "export $o: status"; fi
	if "$bin/narrows" -u "$url" export $o -o "$tmp/kept" 1 2>"$tmp/err"; then fail "export -u $o"; fi
	[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q -e "${o%% *}" -e "$(echo "$o" | sed 's/^--\([a-z]*\).*/\1/;s/format/resolution/')" "$tmp/err" ||
	    fail "export $o: $(cat "$tmp/err")"
done
nw export -o "$tmp/kept" 99 2>"$tmp/err" && fail "a session that is not there"
[ "$(cat "$tmp/kept")" = old ] && [ ! -e "$tmp/kept.part" ] || fail "a failed export left something"
nw export --format xml 1 2>/dev/null && fail "format xml"
nw export --help | grep -q 'wide: a row is for t_ns <= t < t_ns + STEP' || fail "export --help"
for p in "session/1.csv?shape=wide" session/1.ndjson session/1.lp; do
	curl -sSf "$url/$p" >"$tmp/got" || fail "$p"
done
cmp "$tmp/got" "$tmp/influx" || fail "curl"
curl -sSI "$url/session/1.ndjson" | grep -qi '^content-type: application/x-ndjson' || fail "content type"
curl -sSI "$url/session/last.csv?shape=wide" | grep -qi '^location: /session/1.csv?shape=wide' || fail "redirect loses the query"

# memory: what an export needs is not more for more of it
stop_box
python3 - "$tmp/gen.lp" <<'EOF'
import sys
with open(sys.argv[1], "w") as f:
    for i in range(400000):
        f.write(f"load,host=h,disk=d{i % 4} a={i / 3!r},b={i},c={i * 0.7!r} {1795162331250000000 + i * 1000003}\n")
EOF
nw import --session big "$tmp/gen.lp" >/dev/null || fail "import of the large one"
case $B in *asan* | *tsan*) limit=600000 ;; *) limit=80000 ;; esac    # KiB; sanitizers keep what was freed
for f in "tidy" "wide --resolution 1ms" "ndjson" "bson" "g2"; do
	python3 - $limit "$bin/narrows" -s "$tmp/state" export -o "$tmp/big" last --format $f <<'EOF' || fail "$f of the large one"
import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < int(sys.argv[1]), f"{peak} KiB"
EOF
	bytes=$(wc -c <"$tmp/big")
	[ "$bytes" -gt 15000000 ] || fail "$f: only $bytes bytes"
done
