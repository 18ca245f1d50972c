#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nwswitch: counters of switch ports by SNMP, of 64 and of 32 bits, exactly as the agent has them; agents that are silent, wrong or
# begin anew; and the witness `switch`, which tells of drops on the port of a host that took part.
. tests/lib.sh
[ -x "$bin/nwswitch" ] || skip "nwswitch is built where libsnmp-dev is installed"

agent() { # NAME COMMUNITY
	python3 tests/snmp_agent.py "$tmp/$1.port" "$tmp/$1.values" "$2" &
	pids="$pids $!"
	until_true 5 test -f "$tmp/$1.port" || fail "the agent does not start"
}
# values NAME OCTETS_IN OCTETS_OUT DISCARDS_OUT UPTIME
values() {
	cat >"$tmp/$1.part" <<EOF2
1.3.6.1.2.1.1.3.0 timeticks $5
1.3.6.1.2.1.31.1.1.1.6.7 counter64 $2
1.3.6.1.2.1.31.1.1.1.10.7 counter64 $3
1.3.6.1.2.1.31.1.1.1.15.7 gauge32 10000
1.3.6.1.2.1.2.2.1.13.7 counter32 3
1.3.6.1.2.1.2.2.1.14.7 counter32 0
1.3.6.1.2.1.2.2.1.19.7 counter32 $4
1.3.6.1.2.1.2.2.1.20.7 counter32 1
1.3.6.1.2.1.2.2.1.21.7 gauge32 12
1.3.6.1.2.1.31.1.1.1.1.7 text xe-0/0/7
EOF2
	mv "$tmp/$1.part" "$tmp/$1.values"
}
values core 18446744073709551000 900719925474099 5 100
cat >"$tmp/edge.values" <<'EOF2'
1.3.6.1.2.1.1.3.0 timeticks 100
1.3.6.1.2.1.2.2.1.10.2 counter32 4294967290
1.3.6.1.2.1.2.2.1.16.2 counter32 5
EOF2
agent core secret1
agent edge public
cat >"$tmp/switch.conf" <<EOF2
switch core 127.0.0.1:$(cat "$tmp/core.port") v2c secret1
switch edge 127.0.0.1:$(cat "$tmp/edge.port") v2c public
port core 7 dtn-a 198.51.100.1
port edge 2 dtn-b
interval 100 ms
timeout $((300 * PATIENCE)) ms
EOF2
chmod 644 "$tmp/switch.conf"
"$bin/nwswitch" -n -f "$tmp/switch.conf" 2>"$tmp/why" && fail "a file with secrets that others may read"
chmod 600 "$tmp/switch.conf"
"$bin/nwswitch" -n -f "$tmp/switch.conf" || fail "the configuration"

# --- once, for people ---
"$bin/nwswitch" -f "$tmp/switch.conf" --once >"$tmp/once" || fail "--once: $(cat "$tmp/once")"
grep -q '^core 7 xe-0/0/7 octets_in=1.8446744073709552e+19 octets_out=900719925474099 discards_in=3 discards_out=5 errors_in=0 errors_out=1 queue_length=12 speed_bit_s=10000000000 uptime_s=1$' \
	"$tmp/once" || fail "other values: $(cat "$tmp/once")"
grep -q '^edge 2 - octets_in=4294967290 octets_out=5 uptime_s=1$' "$tmp/once" || fail "32 bits: $(cat "$tmp/once")"

# --- to a box: a wrap of 32 bits goes on, a wrong secret is told ---
start_box -o analysis-interval=1s
"$bin/nwswitch" -b "$xsp" -f "$tmp/switch.conf" 2>>"$tmp/switch.log" &
switch=$!
pids="$pids $switch"
newest() { nw sql "SELECT value FROM v_sample WHERE event_type = 'ps:switch:port' AND subject LIKE '%\"$1\"%' AND field = '$2' ORDER BY t_ns DESC LIMIT 1" | tail -n 1; }
until_true 10 sh -c "[ \"\$('$bin/narrows' -s '$tmp/state' sql \"SELECT count(*) FROM v_series WHERE event_type = 'ps:switch:port'\" | tail -n 1)\" = 12 ]" ||
	fail "$(nw sql "SELECT host, field FROM v_series WHERE event_type = 'ps:switch:port'")"
sed -i 's/counter32 4294967290/counter32 10/; s/timeticks 100/timeticks 200/' "$tmp/edge.values"
wrapped() { [ "$(newest edge octets_in)" = 4294967306 ]; }
until_true 10 wrapped || fail "after the wrap: $(newest edge octets_in)"

# --- the witness: a transfer of dtn-a while its port drops packets ---
: >"$tmp/go"
( n=0; while [ -f "$tmp/go" ]; do n=$((n + 1)); values core $((1000000 * n)) $((50000000 * n)) $((5 + 40 * n)) $((1000 + 10 * n)); sleep 0.1; done ) &
pids="$pids $!"
"$bin/nwrun" -H dtn-a -t witness python3 -c '
import os, sys, time
sink, stop = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), time.time() + 3
while time.time() < stop:
    os.pwrite(sink, b"x" * 65536, 0)
    time.sleep(0.01)' "$tmp/sink"
rm "$tmp/go"
until_true 20 sh -c "'$bin/narrows' -s '$tmp/state' report last --json | grep -q '\"name\": *\"switch\"'" || fail "no witness: $(nw report last --json | grep -A60 witnesses | head -60)"
nw report last --json | tr '{' '\n' | grep '"switch"' >"$tmp/witness"
grep -q 'port xe-0/0/7 of core, of dtn-a, dropped [0-9,]* packets' "$tmp/witness" || fail "the witness says: $(cat "$tmp/witness")"
nw report last --json | python3 -c '
import json, sys
p, = json.load(sys.stdin)["session"]["ports"]
assert (p["switch"], p["port"], p["host"], p["speed_bit_s"]) == ("core", "xe-0/0/7", "dtn-a", 1e10) and p["dropped"] > 0, p' ||
	fail "the port of the session: $(nw report last --json | grep -A12 '"ports"')"
kill "$switch" && wait "$switch" || fail "nwswitch ended with status $?"

# --- a secret that is wrong, and a switch that is not there, take nobody else's answers ---
sed -i 's/v2c secret1/v2c wrong1/' "$tmp/switch.conf"
"$bin/nwswitch" -f "$tmp/switch.conf" --once >"$tmp/once" && fail "a wrong secret is content"
grep -q '^edge 2 ' "$tmp/once" || fail "the other switch is silent, too"
"$bin/nwswitch" -f "$tmp/switch.conf" --once 2>&1 >/dev/null | grep -q '^nwswitch: core port 7: no answer' || fail "a silent switch is not named"

# --- v3 with secrets and with encryption, against the agent of Debian: what the kernel counts, or nothing ---
agent=$(command -v snmpd || ls /usr/sbin/snmpd 2>/dev/null) || { echo "there is no snmpd: v3 is not tried"; agent=; }
# real USER SECRETS ...: one line of the port `lo`
real() {
	printf 'switch real 127.0.0.1:%s v3 %s\nport real 1 dtn-a\ntimeout 2 s\n' "$snmp_port" "$*" >"$tmp/real.conf"
	chmod 600 "$tmp/real.conf"
	"$bin/nwswitch" -f "$tmp/real.conf" --once 2>"$tmp/why"
}
answers() { real plain sha anothersecret; }
lo_bytes() { awk '$1 == "lo:" { print $2 }' /proc/net/dev; } # /sys may be that of another network
# counted TEXT: octets between two looks at the kernel's own counter
counted() {
	octets=$(printf '%s\n' "$1" | sed -n 's/^real 1 lo octets_in=\([0-9]*\) .*/\1/p')
	[ -n "$octets" ] && [ "$octets" -ge "$octets_before" ] && [ "$octets" -le "$(lo_bytes)" ]
}
if [ -n "$agent" ]; then
	mkdir "$tmp/snmp"
	cat >"$tmp/snmpd.conf" <<'EOF2'
createUser old MD5 firstsecret DES secondsecret
createUser usual SHA firstsecret AES secondsecret
createUser new SHA-512 firstsecret AES secondsecret
createUser plain SHA anothersecret
rouser old priv
rouser usual priv
rouser new priv
rouser plain auth
EOF2
	octets_before=$(lo_bytes)
	snmp_port=$(python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	SNMP_PERSISTENT_DIR=$tmp/snmp MIBS= "$agent" -f -LE 3 -C -c "$tmp/snmpd.conf" "udp:127.0.0.1:$snmp_port" >"$tmp/snmpd.log" 2>&1 &
	pids="$pids $!"
	until_true 20 answers || fail "snmpd does not answer: $(cat "$tmp/snmpd.log" "$tmp/why")"
	for secrets in "old md5 firstsecret des secondsecret" "usual sha firstsecret aes secondsecret" "new sha512 firstsecret aes secondsecret" "plain sha anothersecret"; do
		until_true 5 real $secrets || fail "v3 $secrets: $(cat "$tmp/why")"
		counted "$(real $secrets)" || fail "v3 $secrets: not between $octets_before and $(lo_bytes): $octets"
	done
	for secrets in "usual sha firstsecret aes wrongsecret" "usual sha wrongsecret aes secondsecret" "nobody sha firstsecret aes secondsecret" "usual sha firstsecret"; do
		[ -z "$(real $secrets)" ] && grep -q '^nwswitch: real port 1: ' "$tmp/why" || fail "v3 $secrets: an answer, or no reason"
	done
fi
echo "$(cat "$tmp/witness" | sed 's/.*"detail": *"\([^"]*\)".*/\1/')"
