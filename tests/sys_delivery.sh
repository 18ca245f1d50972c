#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Documents reach the store once and in order, whoever dies on the way; what cannot be kept is counted on the page.
. tests/lib.sh
case $B in *asan*) san="-fsanitize=address,undefined" ;; *tsan*) san="-fsanitize=thread" ;; *cov*) san=--coverage ;; *) san= ;; esac
# shellcheck disable=SC2046,SC2086
${CC:-cc} -O1 -std=c11 -Wall -Wextra -Werror $san -Iinclude -o "$tmp/delivery" tests/delivery.c "$B/lib/libnarrows.a" \
	$(pkg-config --libs libbson-1.0) -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread || fail "the library does not link"

# stored FIRST LAST: these are in the session, once each and in the order of their times
cat >"$tmp/stored.py" <<'PY'
import csv, io, json, sys, urllib.request
url, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sessions = json.load(urllib.request.urlopen(url + "/sessions.json"))["sessions"]
s = [x for x in sessions if x["task_id"] == "delivery"]
assert len(s) == 1, s
body = urllib.request.urlopen(url + "/session/%d.csv" % s[0]["id"]).read().decode()
got = [int(float(r["value"])) for r in csv.DictReader(io.StringIO(body)) if r["field"] == "n"]
got = [n for n in got if first <= n <= last]
assert len(got) == len(set(got)), "doubled"
assert got == sorted(got), "out of order"
assert got == list(range(first, last + 1)), "%d of %d..%d" % (len(got), first, last)
PY
stored() { python3 -B "$tmp/stored.py" "$url" "$1" "$2"; }
# value NAME: of the line that delivery printed last
value() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" "$tmp/said"; }
send() { "$tmp/delivery" "$@" >"$tmp/said" 2>>"$tmp/delivery.log"; }

start_box -o session-linger=60s
port=${xsp##*/}
again="-o session-linger=60s -o listen-xsp=127.0.0.1/$port"

# --- the box is stopped, comes back, is killed, comes back: all under load ---
send "$xsp" 1 3000 4.5 &
source=$!
pids="$pids $source"
sleep 0.7
stop_box
sleep 0.8
# shellcheck disable=SC2086
start_box $again
sleep 1
kill -9 "$box"
wait "$box" 2>/dev/null || :
# shellcheck disable=SC2086
start_box $again
wait "$source" || fail "under load: $(cat "$tmp/said")"
[ "$(value dropped)" = 0 ] && [ "$(value connects)" -ge 3 ] || fail "under load: $(cat "$tmp/said")"
stored 1 "$(value last)" || fail "under load: $(cat "$tmp/said")"
echo "box stopped and killed: $(cat "$tmp/said")"

# --- a slow link: 1 Mb/s, 300 ms; more than it carries at first, then less ---
python3 -B tests/slowlink.py "$xsp" 1000000 0.3 >"$tmp/slow" 2>>"$tmp/delivery.log" &
pids="$pids $!"
until_true 5 test -s "$tmp/slow" || fail "no slow link"
send "127.0.0.1/$(cat "$tmp/slow")" 100001 600 2.5 || fail "slow link: $(cat "$tmp/said")"
[ "$(value dropped)" = 0 ] || fail "slow link: $(cat "$tmp/said")"
stored 100001 "$(value last)" || fail "slow link: $(cat "$tmp/said")"
echo "slow link: $(cat "$tmp/said")"

# --- rows that are packed ---
PACK=1 send "$xsp" 200001 5000 1 || fail "packed: $(cat "$tmp/said")"
[ "$(value queued)" -lt 400 ] || fail "packed: $(cat "$tmp/said")"
stored 200001 "$(value last)" || fail "packed: $(cat "$tmp/said")"
echo "packed: $(cat "$tmp/said")"

# --- the provider is killed while the box is away; what had waited for 2 s comes with the next one ---
stop_box
mkdir "$tmp/spool"
export NARROWS_SPOOL="$tmp/spool"
"$tmp/delivery" "$xsp" 300001 1000 30 64 "$tmp/count" >>"$tmp/delivery.log" 2>&1 &
source=$!
sleep 1.5
before=$(cat "$tmp/count")
sleep $((2 + (PATIENCE < 15 ? PATIENCE : 15)))
kill -9 "$source"
wait "$source" 2>/dev/null || :
# shellcheck disable=SC2086
start_box $again
send "$xsp" 400001 1000 0.5 || fail "killed: $(cat "$tmp/said")"
stored 300001 "$before" || fail "killed: what was spooled is not there"
stored 400001 "$(value last)" || fail "killed: $(cat "$tmp/said")"
[ "$(value dropped)" = 0 ] || fail "killed: $(cat "$tmp/said")"
[ -z "$(ls "$tmp/spool")" ] || fail "killed: left behind: $(ls "$tmp/spool")"
died=$(sql 'SELECT sum(dropped) FROM xsp_session') # what was in memory only, told by the next life
echo "provider killed: $(cat "$tmp/said"), $died documents died with it"

# --- a run that ends while the box is away: the next one delivers it ---
stop_box
"$bin/nwrun" -b "$xsp" -t early -- dd if=/dev/zero of="$tmp/file" bs=64k count=200 2>>"$tmp/delivery.log" || fail "nwrun"
until_true 8 sh -c "ls '$tmp/spool' | grep -q early" || fail "nwrun spools nothing"
# shellcheck disable=SC2086
start_box $again
"$bin/nwrun" -b "$xsp" -t late -- dd if=/dev/zero of="$tmp/file" bs=64k count=200 2>>"$tmp/delivery.log" || fail "nwrun"
until_true 8 sh -c "[ -z \"\$(ls '$tmp/spool')\" ]" || fail "nobody adopts what is left: $(ls "$tmp/spool")"
until_true 5 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"SELECT count(*) FROM session s JOIN metadata m ON
	m.session_id = s.id WHERE s.task_id IN ('early', 'late') AND m.event_type GLOB 'nl:tools:calipers:*'\")\" -ge 2 ]" ||
	fail "a run is not in the store"
unset NARROWS_SPOOL

# --- no room: the oldest go, and the page says how many ---
stop_box
"$tmp/delivery" "$xsp" 500001 4000 1.5 64 >"$tmp/said" 2>>"$tmp/delivery.log" &
source=$!
pids="$pids $source"
sleep 1.2
# shellcheck disable=SC2086
start_box $again
wait "$source" || fail "no room: $(cat "$tmp/said")"
# A document that was sent and then dropped for want of room, before the answer came, is lost for the sender only: the box counts.
dropped=$(sql 'SELECT sum(dropped) FROM xsp_session')
lost=$((dropped - died))
[ "$lost" -gt 1000 ] && [ "$lost" -le "$(value dropped)" ] || fail "the box counts $lost losses: $(cat "$tmp/said")"
stored $((500001 + lost)) "$(value last)" || fail "no room: $lost lost: $(cat "$tmp/said")"
stop_box
nw report 1 --json | grep -q "\"documents_dropped\":$dropped," || fail "the report does not say it: $(nw report 1 --json)"
echo "no room: $(cat "$tmp/said")"
