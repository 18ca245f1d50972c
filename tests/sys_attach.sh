#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# narrows attach prints lines with which a real XRootD announces its transfers: copies in and out become sessions with the bytes of
# the files, and no stage is named from XRootD alone. --check tells what came.
. tests/lib.sh

start_box -o session-linger=1s
nw attach xrootd --box box.example >"$tmp/lines" || fail "attach"
grep -q "listen-announcements" "$tmp/lines" && grep -qx "xrootd.pmark ffdest box.example:10514" "$tmp/lines" || fail "without a port: $(cat "$tmp/lines")"
nw attach nginx | grep -qxF "$(sed -n 's/^# *\(log_format .*\)/\1/p' conf/log-nginx.conf)" || fail "nginx's format is not that of the example: $(nw attach nginx)"
nw attach rclone | grep -qF -- "$(sed -n 's/.*rclone \(-v .*\) \.\.\.$/\1/p' conf/log-rclone.conf)" || fail "rclone's options are not those of the example"
nw attach rucio --box box.example | grep -qx "tracehost = https://rucio:TOKEN@box.example:8443" || fail "Rucio's lines"
nw attach slurm >"$tmp/slurm" && sh -n "$tmp/slurm" && head -n 1 "$tmp/slurm" | grep -qx "#!/bin/sh" || fail "the script for Slurm"
grep -q "listen-xsp-tls 0.0.0.0/5007" "$tmp/slurm" || fail "a box on loopback alone: $(cat "$tmp/slurm")"
nw attach fts --box box.example | grep -qx "box        tls://box.example/5007" || fail "FTS's lines: $(nw attach fts)"
nw attach nginx --box 127.0.0.1 | grep -q "nwlog -b $xsp -F" || fail "the box's own port: $(nw attach nginx --box 127.0.0.1)"
for program in xrootd dcache gridftp fts rucio nginx rclone kubernetes slurm; do
	! nw attach $program | grep '/PORT' || fail "$program: a port is left to the reader"
done
nw attach nobody >/dev/null 2>&1 && fail "an unknown program is accepted"
nw attach dcache --check=0 >/dev/null 2>&1 && fail "no time to check is accepted"
stop_box

start_box -o session-linger=1s -o listen-announcements=127.0.0.1/0 -o announce-from=127.0.0.0/8
port=$(sed -n 's/^announcements .*\///p' "$tmp/state/narrowsd.run")
nw attach dcache --box 127.0.0.1 | grep -qx "pool.firefly.destination=127.0.0.1:$port" || fail "dCache's lines"
nw attach dcache --check=1 >/dev/null 2>"$tmp/err" && fail "nothing came, and the status is 0"
grep -q "no announcement came" "$tmp/err" || fail "nothing came: $(cat "$tmp/err")"
nw attach gridftp --check=1 >"$tmp/out" 2>&1 && fail "no agent runs, and the status is 0"
grep -q "run nwflow on the server's host" "$tmp/out" || fail "no agent: $(cat "$tmp/out")"
# datagram TEXT: what --check says of a datagram
datagram() {
	nw attach dcache --check=20 >"$tmp/checked" 2>&1 &
	check=$!
	until_true 10 grep -q waiting "$tmp/checked" || fail "--check: $(cat "$tmp/checked")"
	python3 -c 'import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), ("127.0.0.1", int(sys.argv[1])))' "$port" "$1"
	wait $check
}
datagram hello && fail "no announcement, and the status is 0"
grep -q "no announcement: see the box's log" "$tmp/checked" || fail "hello: $(cat "$tmp/checked")"
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
flow='"src-ip": "127.0.0.1", "dst-ip": "127.0.0.1", "src-port": 1, "dst-port": 2'
datagram "{\"version\": 1, \"flow-lifecycle\": {\"state\": \"start\", \"start-time\": \"$now\"}, \"flow-id\": {$flow}}" || fail "a flow: $(cat "$tmp/checked")"

# an event of a log
nw attach nginx --check=20 >"$tmp/noticed" 2>&1 &
check=$!
until_true 10 grep -q waiting "$tmp/noticed" || fail "--check: $(cat "$tmp/noticed")"
echo 'ts=2026-11-28T01:33:07Z event=transfer.http' | "$bin/nwlog" -p "$tmp/journal" 2>/dev/null || fail "nwlog"
wait $check && grep -q "an event came" "$tmp/noticed" || fail "an event: $(cat "$tmp/noticed")"
named=$(sed -n 's/.*: narrows \([a-z]*\)$/\1/p' "$tmp/noticed")
"$bin/narrows" help "${named:-none}" >/dev/null || fail "--check names no command: $(cat "$tmp/noticed")"

command -v xrootd >/dev/null && command -v xrdcp >/dev/null || skip "no XRootD is installed; the lines alone are tested"
mkdir "$tmp/data" "$tmp/admin"
head -c 50M /dev/urandom >"$tmp/data/big"
chmod -R 777 "$tmp/data" "$tmp/admin"
chmod 711 "$tmp"
server=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
{
	printf '%s\n' "xrd.port $server" "xrd.network nodnr" "all.export /" "all.adminpath $tmp/admin" "all.pidpath $tmp/admin" "oss.localroot $tmp/data"
	nw attach xrootd --box 127.0.0.1
} >"$tmp/xrootd.cf"
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid 65534 --regid 65534 --clear-groups"
$as xrootd -c "$tmp/xrootd.cf" -n nw -l "$tmp/admin/log" >/dev/null 2>&1 &
pids="$pids $!"
copied() { timeout 20 xrdcp -f -s "$1" "$2" 2>"$tmp/err"; }
until_true 20 copied "root://127.0.0.1:$server//big?scitag.flow=137" "$tmp/out" || fail "xrdcp: $(cat "$tmp/err")"
cmp -s "$tmp/out" "$tmp/data/big" || fail "the copy differs"
copied "$tmp/out" "root://127.0.0.1:$server//up?scitag.flow=137" || fail "upload: $(cat "$tmp/err")"
nw sessions --json >"$tmp/list"
two() { [ "$(nw sessions --json | grep -c '"program": *"xrdcp".*"analysed": *true')" -ge 2 ]; }
until_true 20 two || fail "sessions: $(nw sessions --json)"
nw sessions --json | python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin if "xrdcp" in line]
size = 50 << 20
whole = [r for r in rows if abs(r["bytes"] / size - 1) < 0.001]
assert len(whole) >= 2, rows
assert all(r["stage"] is None and r["label"] == "experiment 2/activity 9" for r in whole), rows' || fail "what XRootD announced: $(nw sessions --json)"
