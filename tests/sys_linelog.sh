#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp's lines of events: intervals without gap and without overlap, whose counts add up to what the kernel counted at the same
# moments; to a file and to the box's port for lines, and a peer that never reads costs nothing else.
. tests/lib.sh
paced

start_box -o listen-events=127.0.0.1/0
# --- a file: 20 ms, sixty times ---
cat >"$tmp/watch.py" <<'PY'
import sys, time
f, out = open("/proc/stat"), open(sys.argv[1], "w")
while True:
    f.seek(0)
    t = time.time_ns()
    print(t, [x for x in f.read().split("\n") if x.startswith("ctxt")][0].split()[1], file=out, flush=True)
    time.sleep(0.004)
PY
python3 "$tmp/watch.py" "$tmp/watched" &
watch=$!
pids="$pids $watch"
until_true 5 test -s "$tmp/watched" || fail "nobody watches"
"$bin/blipp" -b 127.0.0.1/1 -H dtn1 -i 10s -o configuration=no -o log-to="$tmp/lines" -o log-interval=20ms 2>>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
many() { [ "$(grep -c VMSTAT_CPU_USER "$tmp/lines")" -ge 60 ]; }
until_true 10 many || fail "$(grep -c VMSTAT_CPU_USER "$tmp/lines") lines of 20 ms"
kill "$blipp" && wait "$blipp"
kill "$watch"
python3 - "$tmp/lines" "$tmp/watched" <<'PY' || fail "the lines: $(tail -n 3 "$tmp/lines")"
import sys
last, total, n = {}, {}, {}
for line in open(sys.argv[1]):
    f = [x.strip() for x in line.rstrip().rstrip(";").split(";")]
    key = (f[0], f[7] if len(f) > 7 else "")
    end, begin = int(f[2]) * 10**9 + int(f[3]), int(f[5]) * 10**9 + int(f[6])
    assert f[1] == "dtn1" and begin < end, line
    if f[0].startswith("VMSTAT_CPU"):
        assert 0 <= float(f[4]) <= 100 and (key not in last or last[key] == begin), line
    else:
        assert key not in last or last[key] <= begin, line
        assert float(f[4]) > 0, line
    last[key], total[key], n[key] = end, total.get(key, 0) + float(f[4]), n.get(key, 0) + 1
mine = [x.split(";") for x in open(sys.argv[1]) if x.startswith("VMSTAT_CONTEXT")]
seen = [tuple(map(int, x.split())) for x in open(sys.argv[2]) if len(x.split()) == 2]
def at(t):                                   # by the nearest looks before and after
    a, b = max((x for x in seen if x[0] <= t), default=seen[0]), min((x for x in seen if x[0] > t), default=seen[-1])
    return a[1], b[1]
(low0, high0), (low1, high1) = at(int(mine[0][5]) * 10**9 + int(mine[0][6])), at(int(mine[-1][2]) * 10**9 + int(mine[-1][3]))
switches = total["VMSTAT_CONTEXT_SWITCHES", ""]
assert 0.998 * (low1 - high0) <= switches <= 1.002 * (high1 - low0), (low1 - high0, switches, high1 - low0)
assert n["VMSTAT_CPU_USER", ""] > 20, n
PY

# --- the box's port ---
lines=$(sed -n 's/^events //p' "$tmp/state/narrowsd.run")
[ -n "$lines" ] || lines=$(sed -n 's/^lines //p' "$tmp/state/narrowsd.run")
[ -n "$lines" ] || fail "where does the box take lines: $(cat "$tmp/state/narrowsd.run")"
"$bin/blipp" -b 127.0.0.1/1 -H dtn1 -i 10s -o configuration=no -o log-to="$lines" -o log-interval=50ms 2>>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
until_true 20 sh -c "[ \"\$('$bin/narrows' -s '$tmp/state' sql \"SELECT count(*) FROM v_event WHERE name = 'VMSTAT_CPU_USER'\" | tail -n 1)\" -gt 5 ]" ||
	fail "no events in the box: $(nw sql 'SELECT name, count(*) FROM v_event GROUP BY 1')"
kill "$blipp" && wait "$blipp"

# --- a peer that never reads ---
python3 -c '
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); s.bind(("127.0.0.1", 0)); s.listen(1)
open(sys.argv[1], "w").write(str(s.getsockname()[1]))
c, _ = s.accept(); time.sleep(60)' "$tmp/port" &
pids="$pids $!"
until_true 5 test -s "$tmp/port"
"$bin/blipp" -b 127.0.0.1/1 -H dtn1 -i 10s -o configuration=no -o log-to=127.0.0.1/"$(cat "$tmp/port")" -o log-interval=10ms 2>>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
sleep 1
kill -0 "$blipp" || fail "blipp ended"
kill "$blipp" && wait "$blipp" || fail "blipp ended with status $?"
echo "$(wc -l <"$tmp/lines") lines"
