#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# blipp's /metrics: no box, both formats, values as in /proc, and peers that are slow, many or wrong.
. tests/lib.sh

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$bin/blipp" -b 127.0.0.1/1 -i 10s -o listen=$port -o configuration=no 2>>"$tmp/blipp.log" &
blipp=$!
pids="$pids $blipp"
get() { curl -s -m $((5 * PATIENCE)) "$@" "http://127.0.0.1:$port/metrics"; }
until_true 5 get -f || fail "nobody listens: $(cat "$tmp/blipp.log")"

# --- the older format by default, OpenMetrics on request ---
get >"$tmp/classic"
grep -q '^# TYPE node_disk_read_bytes_total counter$' "$tmp/classic" || grep -q '^# TYPE node_network_receive_bytes_total counter$' "$tmp/classic" ||
	fail "no counter in the older format"
grep -q '^# TYPE node_netstat_Tcp_OutSegs untyped$' "$tmp/classic" || fail "node_netstat_Tcp_OutSegs is not there"
get -H 'Accept: application/openmetrics-text' >"$tmp/open"
[ "$(tail -n 1 "$tmp/open")" = '# EOF' ] || fail "no end"
grep -q '^# TYPE node_network_receive_bytes counter$' "$tmp/open" || fail "no counter in OpenMetrics"
# every name has one TYPE, and its samples stand together
awk '/^# TYPE/ { if (seen[$3]++) exit 1 }' "$tmp/open" || fail "a name comes twice"
sort "$tmp/open" | grep -v '^#' | sed 's/ [^ ]*$//' | uniq -d | grep -q . && fail "a sample comes twice"

# --- the values: sums within 0.2 % of /proc, read before and after ---
near() { awk -v a="$1" -v b="$2" -v v="$3" 'BEGIN { d = 0.002 * b; exit !(v >= a - d && v <= b + d) }'; }
sum() { awk -v n="$1" 'index($1, n "{") == 1 || $1 == n { s += $2 } END { printf "%.17g\n", s }' "$tmp/now"; }
mode() { awk -v mode="mode=\"$1\"" 'index($1, "node_cpu_seconds_total{cpu=\"") == 1 && index($1, mode) { s += $2 } END { printf "%.17g\n", s }' "$tmp/now"; }
kernel() {
	user=$(awk -v hz="$(getconf CLK_TCK)" '/^cpu[0-9]/ { s += $2 } END { printf "%.17g\n", s / hz }' /proc/stat)
	ctxt=$(awk '$1 == "ctxt" { print $2 }' /proc/stat)
	in=$(awk -F'[: ]+' '/:/ && ($3 + $4 + $11) > 0 { s += $3 } END { printf "%.17g\n", s }' /proc/net/dev)
	segs=$(awk '$1 == "Tcp:" && $2 ~ /[0-9]/ { print $12 }' /proc/net/snmp)
	total=$(awk '$1 == "MemTotal:" { print $2 * 1024 }' /proc/meminfo)
}
kernel
ctxt0=$ctxt in0=$in segs0=$segs user0=$user
get >"$tmp/now"
kernel
near "$ctxt0" "$ctxt" "$(sum node_context_switches_total)" || fail "context switches: $(sum node_context_switches_total), not $ctxt0 to $ctxt"
near "$in0" "$in" "$(sum node_network_receive_bytes_total)" || fail "bytes: $(sum node_network_receive_bytes_total), not $in0 to $in"
near "$segs0" "$segs" "$(sum node_netstat_Tcp_OutSegs)" || fail "segments: $(sum node_netstat_Tcp_OutSegs), not $segs0 to $segs"
near "$user0" "$user" "$(mode user)" || fail "user time of the processors: $(mode user) s, not $user0 to $user"
near "$total" "$total" "$(sum node_memory_MemTotal_bytes)" || fail "memory: $(sum node_memory_MemTotal_bytes), not $total"

# --- what an archive of perfSONAR parses: labels parted at every comma, and the names of system and host ---
curl -sf -m $((5 * PATIENCE)) "http://127.0.0.1:$port/node_exporter/metrics" >"$tmp/archive" || fail "/node_exporter/metrics"
python3 - "$tmp/archive" <<'PY' || fail "perfSONAR's archive cannot read the metrics"
import os, re, sys
got = {}
for line in open(sys.argv[1]):
    if not line.startswith("#"):
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)\n", line).groups()
        pairs = [re.fullmatch(r'(\w+)="([^"]*)"', part).groups() for part in labels.split(",")] if labels else []
        got[name] = (dict(pairs), float(value))
u = os.uname()
assert (got["node_uname_info"][0]["nodename"], got["node_uname_info"][0]["release"]) == (u.nodename, u.release), got["node_uname_info"]
assert got["node_os_info"][0]["id"] in open("/etc/os-release").read() and got["node_os_info"][1] == 1
least, usual, most = map(int, open("/proc/sys/net/ipv4/tcp_rmem").read().split())
assert [got["node_sysctl_net_ipv4_tcp_rmem_" + part][1] for part in ("min", "default", "max")] == [least, usual, most]
text = open(sys.argv[1]).read()
types = dict(re.findall(r'^node_network_protocol_type\{device="([^"]+)"\} (\d+)$', text, re.M))
assert types == {d: open(f"/sys/class/net/{d}/type").read().strip() for d in os.listdir("/sys/class/net")}, types
assert f'name="net.ipv4.tcp_congestion_control",value="{open("/proc/sys/net/ipv4/tcp_congestion_control").read().strip()}"' in text
now = [[int(x, 16) for x in line.split()] for line in open("/proc/net/softnet_stat")]
for column, name in enumerate(("processed", "dropped", "times_squeezed")):
    seen = {int(c): int(n) for c, n in re.findall(r'^node_softnet_%s_total\{cpu="(\d+)"\} (\d+)$' % name, text, re.M)}
    assert sorted(seen) == [r[12] if len(r) > 12 else i for i, r in enumerate(now)], (name, seen)
    assert all(seen[r[12] if len(r) > 12 else i] <= r[column] for i, r in enumerate(now)) and (column or max(seen.values()) > 0), (name, seen, now)
PY

# --- peers that say nothing, say too much, or ask for something else, take nobody's place ---
python3 - "$port" <<'PY' || fail "a wrong peer"
import socket, sys
port = int(sys.argv[1])
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
long = socket.create_connection(("127.0.0.1", port))
try:
    long.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20000)
    assert not long.recv(10)
except ConnectionError:
    pass
for request, status in ((b"GET / HTTP/1.1\r\n\r\n", b"404"), (b"POST /metrics HTTP/1.1\r\n\r\n", b"404"), (b"\0\r\n\r\n", b"404"),
                        (b"GET /metrics HTTP/1.0\r\n\r\n", b"200")):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(60)
    s.sendall(request)
    assert s.recv(100).startswith(b"HTTP/1.1 " + status), request
    s.close()
PY
get | grep -q '^node_load1 ' || fail "not served any more"
kill "$blipp" && wait "$blipp" || fail "blipp ended with status $?"
echo "$(grep -vc '^#' "$tmp/open") metrics, $(grep -c '^node_' "$tmp/open") of them by node_exporter's names"
