#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp asks chronyd by its protocol, without a child process, and says what chronyc says.
. tests/lib.sh
[ "$(id -u)" = 0 ] || skip "chronyd wants to be started by root"
port() { python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ntp=$(port) one=$(port) two=$(port)
chmod 700 "$tmp"
cat >"$tmp/server.conf" <<END
port $ntp
cmdport $one
bindaddress 127.0.0.1
bindcmdaddress 127.0.0.1
bindcmdaddress $tmp/one.sock
pidfile $tmp/one.pid
local stratum 5
allow 127.0.0.1
END
cat >"$tmp/client.conf" <<END
port 0
cmdport $two
bindcmdaddress 127.0.0.1
bindcmdaddress $tmp/two.sock
pidfile $tmp/two.pid
server 127.0.0.1 port $ntp iburst minpoll 6
END
for c in server client; do
	chronyd -x -d -u root -f "$tmp/$c.conf" >"$tmp/$c.log" 2>&1 &
	pids="$pids $!"
done
until_true 20 sh -c "chronyc -h 127.0.0.1 -p $two -c -n tracking | grep -q '^7F000001,'" || fail "chronyd does not synchronise: $(tail -n 3 "$tmp/client.log")"

# blipp is asked between two answers of chronyc that tell of the same measurement: what grows with time lies between them.
tracking() { chronyc -h 127.0.0.1 -p $two -c -n tracking; }
n=0
until
	tracking >"$tmp/before"
	"$bin/blipp" -o chronyd=127.0.0.1/$two -o probes=clock -i 100ms --format csv >"$tmp/blipp" || fail "blipp --format csv"
	tracking >"$tmp/after"
	[ "$(cut -d, -f4 "$tmp/before")" = "$(cut -d, -f4 "$tmp/after")" ]
do
	n=$((n + 1))
	[ $n -lt 20 ] || fail "chronyd measures all the time"
done
python3 - "$tmp" <<'END' || fail "blipp and chronyc differ: $(cat "$tmp/before" "$tmp/after" "$tmp/blipp")"
import csv, sys
blipp = {}
for r in csv.DictReader(open(sys.argv[1] + "/blipp")):
    blipp[r["field"]] = float(r["value"])
c, d = (open(sys.argv[1] + "/" + f).read().strip().split(",") for f in ("before", "after"))
near = lambda a, b, t: abs(a - b) <= t
between = lambda v, i, t: min(float(c[i]), float(d[i])) - t <= v <= max(float(c[i]), float(d[i])) + t
assert blipp["stratum"] == int(c[2]) == 6 and blipp["leap"] == 0 and blipp["local_reference"] == 0
assert between(-blipp["offset_s"], 4, 1e-6), (blipp, c, d)
assert near(blipp["frequency_ppm"], float(c[7]), 0.5e-3 + 0.01 * abs(float(c[7]))), (blipp, c)
assert near(blipp["skew_ppm"], float(c[9]), 0.5e-3 + 0.01 * float(c[9])), (blipp, c)
assert near(blipp["root_delay_s"], float(c[10]), 1e-9 + 1e-3 * float(c[10])), (blipp, c)
assert between(blipp["root_dispersion_s"], 11, 1e-6) and blipp["root_dispersion_s"] > 0, (blipp, c, d)
END

# Nobody listens: the kernel's view remains, and nothing waits.
"$bin/blipp" -o chronyd=127.0.0.1/$(port) -o probes=clock -i 100ms --format csv >"$tmp/blipp" || fail "without chronyd"
grep -q kernel_synced "$tmp/blipp" || fail "without chronyd the kernel's view is missing"
! grep -q offset_s, "$tmp/blipp" || grep -q kernel_offset_s "$tmp/blipp" || fail "an offset from nobody"
! "$bin/blipp" -n -o chronyd=tls://127.0.0.1 2>/dev/null || fail "chronyd by TLS"
# No child is started for it.
if command -v strace >/dev/null; then
	strace -f -e trace=execve -o "$tmp/trace" "$bin/blipp" -o chronyd=127.0.0.1/$two -o probes=clock -i 100ms --format csv >/dev/null 2>&1 || :
	[ "$(grep -c execve "$tmp/trace")" -le 1 ] || fail "blipp starts a child"
fi
