#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# /healthz and /readyz name the part that failed, and no other: an analysis that hangs, a writer that hangs, a clock that is
# lost. Each takes most of a minute to be told, so that needs LONG=1; the short form sees that work in hand is no fault.
. tests/lib.sh
case $B in *asan* | *tsan*) skip "a preloaded library and a sanitizer do not go together" ;; esac
"${CC:-cc}" -D_GNU_SOURCE -O2 -Wall -Wextra -shared -fPIC -o "$tmp/baddisk.so" tests/baddisk.c -ldl || fail "baddisk.so"

# --- chronyd of this test, whose client the box asks ---
clock=
if command -v chronyd >/dev/null && command -v chronyc >/dev/null && [ "$(id -u)" = 0 ]; then
	port() { python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
	command=$(port)
	chmod 700 "$tmp"
	printf 'port 0\ncmdport %s\nbindcmdaddress 127.0.0.1\nbindcmdaddress %s\npidfile %s\nlocal stratum 5\n' "$command" "$tmp/chrony.sock" \
		"$tmp/chrony.pid" >"$tmp/chrony.conf"
	chronyd -x -d -u root -f "$tmp/chrony.conf" >"$tmp/chrony.log" 2>&1 &
	clock=$!
	pids="$pids $clock"
	mkdir "$tmp/path"
	printf '#!/bin/sh\nexec %s -h 127.0.0.1 -p %s "$@"\n' "$(command -v chronyc)" "$command" >"$tmp/path/chronyc"
	chmod 755 "$tmp/path/chronyc"
	export PATH="$tmp/path:$PATH"
	until_true 10 chronyc -c -n tracking || fail "chronyd does not answer: $(tail -n 3 "$tmp/chrony.log")"
else
	echo "untested: no clock is lost: no chronyd here, or not root"
fi

BADDISK=$tmp/bad LD_PRELOAD=$tmp/baddisk.so start_box -o session-linger=1s
# ask PATH: its status, and its body in $tmp/body
ask() { curl -s -o "$tmp/body" -w '%{http_code}' "$url$1"; }
says() { [ "$(ask "$1")" = "$2" ] && python3 -c 'import json, re, sys; sys.exit(not re.search(sys.argv[3], json.load(open(sys.argv[1]))["parts"][sys.argv[2]]))' "$tmp/body" "$3" "$4"; }
well() { [ "$(ask /healthz)" = 200 ] && [ "$(ask /readyz)" = 200 ]; }
moves() { "$bin/nwrun" -b "$xsp" -t "$1" dd if=/dev/zero of="$tmp/out" bs=64k count=100 2>/dev/null || fail nwrun; }
# told READY PART PATTERN: within a minute of its begin
told() {
	begin=$(date +%s)
	until_true 60 says /healthz 503 "$2" "$3" || fail "$2 is not told: $(cat "$tmp/body")"
	echo "$2: told after $(($(date +%s) - begin)) s: $(sed -n 's/^ *"problem": //p' "$tmp/body")"
	says /readyz "$1" "$2" "$3" || fail "/readyz with $2: $(cat "$tmp/body")"
	curl -s "$url/metrics" | grep -q "^narrows_up{part=\"$2\"} 0" || fail "/metrics says nothing of $2"
}
until_true 10 well || fail "the box is not well"

# --- work in hand ---
: >"$tmp/bad.hang.analysis"
moves one
moves two
until_true 20 sh -c "curl -s $url/metrics | grep -q '^narrows_analysis_queued [1-9]'" || fail "no session waits"
well || fail "work in hand is a fault: $(cat "$tmp/body")"
rm "$tmp/bad.hang.analysis"
until_true 20 grep -q 'analysis.done session=2' "$tmp/box.log" || fail "sessions are not judged"

# --- the store's file goes, another file comes in its place, and the first file comes back ---
lost() { says /healthz 503 store "$1" && says /readyz 503 store "$1" && grep -q "store.trouble why=\"[^\"]*$1" "$tmp/box.log" &&
	curl -s "$url/metrics" | grep -q '^narrows_up{part="store"} 0' && curl -s "$url/health" | grep -q "$1"; }
mv "$tmp/state/narrows.db" "$tmp/state/aside"
until_true 10 lost "the file was deleted" || fail "a deleted store is not told: $(cat "$tmp/body")"
nw health >"$tmp/said" && fail "narrows health: a box without a store is well"
grep -q "store.*the file was deleted" "$tmp/said" || fail "narrows health: $(cat "$tmp/said")"
: >"$tmp/state/narrows.db"
until_true 10 lost "another file has the place" || fail "a replaced store is not told: $(cat "$tmp/body")"
moves meanwhile
[ "$(sqlite3 -readonly "$tmp/state/aside" "select count(*) from session where task_id = 'meanwhile'")" = 0 ] || fail "a lost file still takes sessions"
mv "$tmp/state/aside" "$tmp/state/narrows.db"
until_true 20 well || fail "the box does not recover: $(cat "$tmp/body")"
until_true 20 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"select count(*) from session where task_id = 'meanwhile'\")\" = 1 ]" ||
	fail "what came meanwhile is lost"
[ -n "${LONG:-}" ] || { stop_box; exit 0; }

# --- the analysis ---
: >"$tmp/bad.hang.analysis"
moves hangs
told 200 analysis 'is being analysed for'
rm "$tmp/bad.hang.analysis"
until_true 20 well || fail "the analysis does not recover: $(cat "$tmp/body")"

# --- the writer ---
: >"$tmp/bad.hang.writer"
moves waits &
told 503 queue 'batches wait, and none was stored for'
rm "$tmp/bad.hang.writer"
wait $!
until_true 20 well || fail "the writer does not recover: $(cat "$tmp/body")"

# --- the clock ---
if [ -n "$clock" ]; then
	until_true 20 sh -c "curl -s $url/healthz | grep -q '\"synchronised\": true'" || fail "the clock is not known"
	kill "$clock"
	told 200 clock 'time service does not answer any more'
fi
stop_box
