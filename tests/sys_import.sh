#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What was exported comes back the same, through a box and without one; what others wrote arrives as what it means; a
# file with a fault anywhere changes nothing, and the one line about it says where.
. tests/lib.sh

data=tests/data/import
into() { d=$1; shift; "$bin/narrows" -s "$tmp/$d" import "$@"; }
tidy() { "$bin/narrows" -s "$tmp/$1" export "${2:-last}"; }
# all but the two columns of ids
bare() { cut -d, -f3- "$1"; }

# --- a round trip, of values that are hard to keep ---
python3 - "$tmp/a.csv" <<'EOF'
import random, struct, sys
random.seed(7)
hard = ["-0", "0", "5e-324", "2.2250738585072014e-308", "1.7976931348623155e+308", "0.1", "0.30000000000000004", "-1", "9007199254740993"]
series = [("=dtn,1", '"path=/x;y=1;sport=5;=;a"', "nl:tools:calipers:summary:read", [("sum_v", "By"), ("mean_r", "By/ns"), ("count", "1")]),
          ("dtn \"2\"", '""', "x y", [("value", "W")]), ("dtn \"2\"", '"k=\xe4"', "=1+1", [("odd,name", ""), ("other", "%")])]
q = lambda s: '"' + s.replace('"', '""') + '"' if any(c in s for c in ',"\n') else s
with open(sys.argv[1], "w") as f:
    f.write("session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n")
    for n, (host, subject, event, fields) in enumerate(series):
        t = 1795162331250000000
        for i in range(2000):
            t += random.choice((0, 1, 999, 10**9)) if len(fields) == 1 else random.choice((1, 999, 10**9))
            s, ns = divmod(t, 10**9)
            import datetime
            iso = datetime.datetime.fromtimestamp(s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%09dZ" % ns
            for field, unit in fields[:1 + i % len(fields)] if i else fields:
                v = random.choice(hard) if i % 3 else repr(struct.unpack("<d", struct.pack("<Q", random.getrandbits(62)))[0]).replace(".0", "")
                v = {"9007199254740993": "9007199254740992"}.get(v, v)
                f.write(f"1,{n + 1},{q(host)},{subject},{q(event)},{q(field)},{unit},{iso},{t},{v}\n")
EOF
into direct "$tmp/a.csv" >"$tmp/said" || fail "import without a box"
tidy direct >"$tmp/b.csv"
python3 - "$tmp/a.csv" "$tmp/b.csv" <<'EOF' || fail "the round trip changed something"
import csv, sys
def read(name):
    for r in csv.reader(open(name, newline="")):
        yield r[2:9], r[9] if r[9] == "value" else float(r[9]).hex()
a, b = list(read(sys.argv[1])), list(read(sys.argv[2]))
assert len(a) == len(b) > 5000, (len(a), len(b))
for x, y in zip(a, b):
    assert x == y, (x, y)
EOF
into again "$tmp/b.csv" >/dev/null
tidy again | cut -d, -f3- >"$tmp/c"
bare "$tmp/b.csv" | cmp - "$tmp/c" || fail "exported, imported, exported: not the same bytes"

start_box
nw import "$tmp/b.csv" >"$tmp/said" || fail "import through a box"
tidy state | cut -d, -f3- | cmp - "$tmp/c" || fail "through a box: not the same"
nw import "$tmp/b.csv" | grep -q 'the box had all of them already' || fail "twice is not once"
[ "$(sql 'select count(*) from session')" = 1 ] || fail "the second import made a session"
for f in keys-long ndjson influx; do
	nw export --format $f -o "$tmp/$f" last
	into "via_$f" "$tmp/$f" >/dev/null || fail "import of $f"
	tidy "via_$f" | sed 1d | sed 's/.*,\(2[^,]*Z,.*\)/\1/' | sort >"$tmp/got"
	sed 1d "$tmp/b.csv" | sed 's/.*,\(2[^,]*Z,.*\)/\1/' | sort | cmp - "$tmp/got" || fail "$f: times or values differ"
done
nw export --format wide --resolution 1ns -o "$tmp/wide" last
into via_wide "$tmp/wide" >/dev/null
"$bin/narrows" -s "$tmp/via_wide" export --format wide --resolution 1ns last | cmp - "$tmp/wide" || fail "wide is not the same"
printf '%s\n' '{"series_id":1,"host":"h","event_type":"e"}' \
    '{"series_id":1,"t_ns":"5","data":{"value":1,"h_dur":"0107050301ff01"}}' '{"series_id":1,"t_ns":"6","data":{"value":2}}' >"$tmp/h.ndjson"
into hist "$tmp/h.ndjson" >/dev/null && nw import "$tmp/h.ndjson" >/dev/null
for d in hist state; do
	"$bin/narrows" -s "$tmp/$d" export --format ndjson last | grep -c 'value":1,"h_dur":"0107050301ff01"}}$' >/dev/null || fail "$d: a histogram"
done
nw export --format keys -o "$tmp/keys" 1
into via_keys "$tmp/keys" >/dev/null
"$bin/narrows" -s "$tmp/via_keys" export --format keys last | cut -d, -f2- | sort >"$tmp/got"
cut -d, -f2- "$tmp/keys" | sort | cmp - "$tmp/got" || fail "keys"

# --- cut off in the middle: done again, it is whole, and there once ---
seq 1 150000 | awk '{ printf "load,host=h,disk=d%d a=%d,b=%d.5 %d000\n", $1 % 3, $1, $1, $1 }' >"$tmp/long.lp"
"$bin/narrows" -s "$tmp/state" import "$tmp/long.lp" >"$tmp/said" &
import=$!
until_true 10 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"select count(*) from metadata where event_type = 'load'\")\" -gt 0 ]" || fail "the long import does not begin"
kill -9 "$import" 2>/dev/null || :                # too late on a busy machine: then it is whole, and there once, too
wait "$import" 2>/dev/null || :
nw import "$tmp/long.lp" >"$tmp/said" || fail "import after one that was cut off"
nw export last >"$tmp/long.csv"
[ "$(wc -l <"$tmp/long.csv")" = 300001 ] && [ "$(cut -d, -f2 "$tmp/long.csv" | sort -u | wc -l)" = 4 ] ||
    fail "cut off and done again: $(wc -l <"$tmp/long.csv") lines, $(cat "$tmp/said")"
stop_box

# --- what the box refuses is not a success ---
start_box -o max-series-per-session=10
printf 'm,host=h a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1 1\nm,host=h a=2 2\n' >"$tmp/many.lp"
if nw import "$tmp/many.lp" 2>"$tmp/err"; then fail "documents that the box refused"; fi
grep -q 'refused 1 documents meanwhile' "$tmp/err" || fail "refused: $(cat "$tmp/err")"
stop_box

# --- what others wrote ---
into ulm "$data/gridftp.ulm" >"$tmp/said" && grep -q '^25 values in 3 series of 2 hosts, 5 events, session gridftp$' "$tmp/said" || fail "ulm: $(cat "$tmp/said")"
tidy ulm >"$tmp/t"
grep -q 'dst=198.51.100.7;type=RETR",nl:FTP_INFO,bytes,By,2026-05-04T10:05:00.002102000Z,1777889100002102000,10$' "$tmp/t" || fail "ulm: fraction, FILE, DEST"
grep -q 'nl:FTP_INFO,dur_s,s,2026-05-04T10:04:31.204417000Z,1777889071204417000,270.086112$' "$tmp/t" || fail "ulm: duration"
grep -q 'nl:FTP_INFO,retrans,1,.*,57$' "$tmp/t" && [ "$(grep -c dur_s "$tmp/t")" = 2 ] || fail "ulm: retrans, a clock that stepped"
grep -q 'nl:SndLimTimeRwin,delta,,2002-03-29T21:03:56.443568000Z,1017435836443568000,1$' "$tmp/t" || fail "ulm: a last line without end"
into bp "$data/events.bp" >/dev/null
tidy bp >"$tmp/t"
grep -q 'nl:org.example.xfer.end,dur,s,2026-05-04T10:00:05.118305000Z,.*,4.25$' "$tmp/t" || fail "bp"
grep -q 'nl:org.example.xfer.start,count,1,.*,1$' "$tmp/t" || fail "bp: an event"
into sar "$data/sar.json" >/dev/null
q() { sqlite3 -readonly "$tmp/sar/narrows.db" "$1"; }
[ "$(q "select count(*) from metadata where session_id is null and event_type like 'sar:%'")" = 10 ] || fail "sadf: series"
[ "$(q "select params ->> 'unit_rxkB', params ->> 'kind' from metadata where event_type = 'sar:network:net-dev'")" = 'KiBy/s|gauge' ] || fail "sadf: units"
[ "$(q "select name from host")" = dtn1.example.net ] || fail "sadf: host"
into lp "$data/points.lp" >/dev/null
tidy lp >"$tmp/t"
grep -q ',"path=/a,b c=d",disk load,big,,.*,1.8446744073709552e+19$' "$tmp/t" && grep -q ',busy,,.*000001,-0$' "$tmp/t" || fail "influx"
gzip -c "$tmp/b.csv" >"$tmp/b.csv.gz"
xz -c "$tmp/b.csv" >"$tmp/b.csv.xz"
into gz "$tmp/b.csv.gz" >/dev/null && into xz "$tmp/b.csv.xz" >/dev/null && into pipe --session p - <"$tmp/b.csv" >/dev/null || fail "packed, or from a pipe"
tidy xz | cut -d, -f3- | cmp - "$tmp/c" || fail "xz"
into named --session mine --host h1 "$data/sar.json" >/dev/null
[ "$(sqlite3 "$tmp/named/narrows.db" "select task_id from session")" = mine ] || fail "--session"

# --- faults: one line, where, and nothing done ---
bad() {
	want=$1
	shift
	rc=0
	into none "$@" >/dev/null 2>"$tmp/err" || rc=$?
	[ "$rc" = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$want" "$tmp/err" || fail "$*: status $rc, $(cat "$tmp/err") instead of $want"
	[ ! -e "$tmp/none" ] || fail "$*: something was done"
}
header=$(head -n 1 "$tmp/b.csv")
row() { printf '%s\n%s\n%s\n' "$header" '1,1,h,"",e,f,,2026-05-04T10:00:00Z,1,1' "$1" >"$tmp/bad"; }
row '1,1,h,"",e,f,,2026-05-04T10:00:00Z,2,x1'; bad 'bad:3:38: not a number$' "$tmp/bad"
row '1,1,h,"",e,f,,2026-05-04T10:00:00Z,2.5,1'; bad 'bad:3:36: not a number of nanoseconds$' "$tmp/bad"
row '1,1,h,"",e,f,,2026-05-04T10:00:00Z,2'; bad 'bad:3:1: 9 cells, but the header has 10$' "$tmp/bad"
row '1,1,h,"a,e,f'; bad 'bad:3:7: quote that is never closed$' "$tmp/bad"
row '1,1,h,"",,f,,2026-05-04T10:00:00Z,2,1'; bad 'bad:3:1: the event type is missing$' "$tmp/bad"
row '1,1,h,"",e,ts,,2026-05-04T10:00:00Z,2,1'; bad 'bad:3:.*: a field cannot be named ts$' "$tmp/bad"
printf '%s\n' "$header" >"$tmp/bad"; bad 'bad:1:1: the file has no values$' "$tmp/bad"
: >"$tmp/bad"; bad 'bad:1:1: the file is empty$' "$tmp/bad"
echo hello >"$tmp/bad"; bad 'bad:1:1: unknown format' "$tmp/bad"
bad 'b.csv:1:1: nonsense is no format' --format nonsense "$tmp/b.csv"
head -c 900 "$data/sar.json" >"$tmp/bad"; bad 'bad:[0-9]*:[0-9]*: ' "$tmp/bad"
sed 's/"10:01:01"/"10:61:01"/' "$data/sar.json" >"$tmp/bad"; bad 'bad:29:6: not a date and time$' "$tmp/bad"
sed 's/\("time": "10:01:01", \)"utc": 1/\1"tz": "CET"/' "$data/sar.json" >"$tmp/bad"; bad 'bad:29:6: local times' "$tmp/bad"
printf 'a,b=c f=1 5\na,b=c f= 5\n' >"$tmp/bad"; bad 'bad:2:9: not a value$' "$tmp/bad"
printf 'a f=1\n' >"$tmp/bad"; bad 'bad:1:6: no time$' "$tmp/bad"
printf '{"series_id":1,"event_type":"e"}\n{"series_id":1,"t_ns":"5","data":{"v":1}}\n{"series_id":2,"t_ns":"5","data":{"v":1}}\n' >"$tmp/bad"
bad 'bad:3:1: data of a series without metadata before$' "$tmp/bad"
printf '{"series_id":1,"event_type":"e"}\n{"series_id":1,\n' >"$tmp/bad"; bad 'bad:2:' "$tmp/bad"
printf '{"series_id":1,"event_type":"e"}\n{"series_id":1,"t_ns":"1","data":{"v":1,"h_dur":"01"}}\n' >"$tmp/bad"; bad 'bad:2:1: not a histogram$' "$tmp/bad"
# of a log the lines that are events are taken, the others counted and quoted
printf 'DATE=20260504100431.2 HOST=h NL.EVNT=e VAL=1\nDATE=2026x HOST=h NL.EVNT=e VAL=1\n' >"$tmp/bad"
nw import --check "$tmp/bad" | grep -q ', 1 events, .*; 1 lines are no events, the first at .*bad:2:1: DATE is not a time: DATE=2026x HOST=h' || fail "a bad ULM line"
printf 'ts=1777888805 event=e v=1\nts=1777888805 v=1\n' >"$tmp/bad"
nw import --check "$tmp/bad" | grep -q '1 lines are no events, the first at .*bad:2:1: no event' || fail "a bad BP line"
printf 'ts=x event=e\n' >"$tmp/bad"; bad 'bad:1:1: ts is not a time: ts=x event=e$' "$tmp/bad"
printf 'key,timestamp,value\nk,today,1\n' >"$tmp/bad"; bad 'bad:2:3: not a time$' "$tmp/bad"
printf 'time,t_ns,h/a [],h/a []\n,1,1,1\n' >"$tmp/bad"; bad 'bad:1:18: this column is there twice$' "$tmp/bad"
head -c 500 "$tmp/b.csv.gz" >"$tmp/bad.csv.gz"
into none "$tmp/bad.csv.gz" 2>/dev/null && fail "a gz that is cut off"
into none "$tmp/nothere" 2>/dev/null && fail "a file that is not there"
into none --check "$tmp/b.csv" | grep -q 'nothing imported' && [ ! -e "$tmp/none" ] || fail "--check"
into direct2 "$tmp/b.csv" >/dev/null && "$bin/narrows" -s "$tmp/direct2" verify >/dev/null || fail "verify after an import"

# --- memory does not grow with the file, whether it is a file, a pipe or packed ---
python3 - >"$tmp/big.csv" <<'PY'
print("host,event_type,subject,field,t_ns,value")
for i in range(400000):
    print('h,e:%d,"path=/data/of/a/file/with/a/long/name/part%d",value,%d,%d.5' % (i % 100, i % 100, (1700000000 + i) * 10**9, i))
PY
gzip -1 -k "$tmp/big.csv"
python3 - "$tmp/big.csv" "$bin/narrows" <<'PY'
import os, subprocess, sys
name, narrows = sys.argv[1:]
size = os.stat(name).st_size
for how, stdin in ((name, None), ("-", open(name)), (name + ".gz", None)):
    child = subprocess.Popen([narrows, "import", "--check", how], stdin=stdin, stdout=subprocess.PIPE)
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status != 0 or b"400000 values" not in said:
        sys.exit("%s: status %d, %r" % (how, status, said))
    if used.ru_maxrss * 1024 > size * 3 // 4:
        sys.exit("%s: %d KiB in memory for a file of %d KiB" % (how, used.ru_maxrss, size >> 10))
PY

# --- what was imported without a box is judged by the next one ---
rm -rf "$tmp/state"
mv "$tmp/direct2" "$tmp/state"
start_box
judged() { [ "$(sql 'select count(*) from result')" = 1 ]; }
until_true 5 judged || fail "an imported session is not judged"
stop_box

# a recording of magnet: events with times of their own; a socket is the id of no packet
python3 - "$tmp/rec.magnet" <<'PY'
import struct, sys
f = open(sys.argv[1], "wb")
f.write(struct.pack("<8sIIQQQII", b"MAGNET1\n", 0x01020304, 48, 1000, 1777888805000000000, 0, 1, 4))
f.write(struct.pack("<I12s40s16s24s", 4, b"tcp", b"tcp_tx", b"exact", b"fentry"))
flow = struct.pack("<HHB3x4s4s4xQ", 5001, 80, 6, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]), 0)
for i in range(3):
    body = flow if i < 2 else b""
    f.write(struct.pack("<HHHBBQQIIIi", 40 + len(body), 4, 1, 1 if i < 2 else 0, 0, 1000 + i * 500, 77, 9, 9, i, 1448) + body)
f.write(b"\x28\x00")  # cut short by a kill
PY
nw import --host kern --session rec "$tmp/rec.magnet" | grep -q ', 3 events, session rec' || fail "a recording of magnet: $(nw import --check "$tmp/rec.magnet")"
[ "$(nw sql --csv "SELECT t_ns, host, name, ids FROM event WHERE program = 'magnet' AND key = 'dst' AND value = '192.0.2.2'" | tr -d '\r' | tr '\n' ' ')" = \
    '1777888805000000000,kern,tcp_tx,{} 1777888805000000500,kern,tcp_tx,{} ' ] || fail "events of magnet: $(nw sql "SELECT * FROM event WHERE program = 'magnet'")"
