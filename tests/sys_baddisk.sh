#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A disk that refuses reads, writes and syncs for a while, under load: the box lives, says so in /healthz, goes on by
# itself, and every document is there once. Damage that stays is said, and the box lives with that, too.
. tests/lib.sh
case $B in *asan* | *tsan*) skip "a preloaded library and a sanitizer do not go together" ;; esac
# shellcheck disable=SC2046
${CC:-cc} -O1 -std=c11 -Wall -Wextra -Werror -Iinclude -o "$tmp/delivery" tests/delivery.c "$B/lib/libnarrows.a" \
	$(pkg-config --libs libbson-1.0) -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread || fail "the library does not link"
"${CC:-cc}" -D_GNU_SOURCE -O2 -Wall -Wextra -shared -fPIC -o "$tmp/baddisk.so" tests/baddisk.c -ldl || fail "baddisk.so"
lives() { kill -0 "$box" 2>/dev/null || fail "the box died: $1"; }
healthy() { curl -sf "$url/healthz" >/dev/null; }
ill() { [ "$(curl -s -o "$tmp/health" -w '%{http_code}' "$url/healthz")" = 503 ] && grep -q "$1" "$tmp/health"; }

BADDISK=$tmp/bad LD_PRELOAD=$tmp/baddisk.so start_box -o session-linger=1s
"$tmp/delivery" "$xsp" 1 500 12 >"$tmp/said" 2>"$tmp/delivery.log" &
source=$!
pids="$pids $source"
sleep 1
for what in write sync write read; do
	: >"$tmp/bad.$what"
	[ $what = read ] || until_true 20 ill "store: disk" || fail "$what: /healthz does not say so: $(cat "$tmp/health")"
	for _ in 1 2 3; do curl -s -o "$tmp/page" "$url/session/1" || :; done
	sleep 0.5
	lives "EIO of $what"
	rm "$tmp/bad.$what"
	until_true 20 healthy || fail "$what: the box does not recover"
done
wait "$source" || fail "delivery: $(cat "$tmp/said" "$tmp/delivery.log")"
# a session that ends while the disk cannot be read is judged afterwards
: >"$tmp/bad.read"
"$bin/nwrun" -b "$xsp" -t unread dd if=/dev/zero of="$tmp/out" bs=64k count=100 2>/dev/null || fail "nwrun"
sleep 2.5
lives "EIO of an analysis"
rm "$tmp/bad.read"
until_true 30 grep -q "analysis.done session=2" "$tmp/box.log" || fail "the session is not judged"
lives "in the end"

# --- damage: a table whose description does not parse, and is mended later ---
describe() { sqlite3 "$tmp/state/narrows.db" "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = $1 WHERE name = 'xsp_session'; PRAGMA schema_version = $2"; }
sqlite3 "$tmp/state/narrows.db" "SELECT quote(sql) FROM sqlite_schema WHERE name = 'xsp_session'" >"$tmp/sql"
describe "'CREATE TABLE xsp_session('" 90001 || fail "cannot damage"
"$tmp/delivery" "$xsp" 100001 200 2 >"$tmp/said2" 2>>"$tmp/delivery.log" &
source=$!
pids="$pids $source"
until_true 20 ill malformed || fail "damage: /healthz does not say so: $(cat "$tmp/health")"
sleep 2.5
lives damage
describe "$(cat "$tmp/sql")" 90002 || fail "cannot mend"
until_true 20 healthy || fail "damage mended: the box does not recover"
wait "$source" || fail "delivery: $(cat "$tmp/said2")"
n2=$(sed -n 's/^last=\([0-9]*\).*/\1/p' "$tmp/said2")
# a disk that comes back when the box has said its last word: the last commit is after the end of the analysis
"$tmp/delivery" "$xsp" 200001 10 60 >"$tmp/said3" 2>>"$tmp/delivery.log" &
pids="$pids $!"
sleep 1.5
: >"$tmp/bad.write"
until_true 20 ill "store: disk" || fail "the end: /healthz does not say so: $(cat "$tmp/health")"
: >"$tmp/bad.hang.writer"
kill "$box"
until_true 20 grep -q commit.drain "$tmp/box.log" || fail "the end: the box drained its queue to a bad disk"
sleep 0.5
rm "$tmp/bad.write" "$tmp/bad.hang.writer"
wait "$box" || fail "the box ended with status $? after a disk that came back at the end"
n=$(sed -n 's/^last=\([0-9]*\).*/\1/p' "$tmp/said")
[ "$n" -gt 1000 ] && grep -q " dropped=0 " "$tmp/said" || fail "delivery: $(cat "$tmp/said")"
[ "$(nw sql "SELECT count(*), count(DISTINCT value) FROM v_sample WHERE field = 'n' AND value <= 200000" | tr -cs '0-9\n' ' ' | tail -n 1)" = "$((n + n2 - 100000)) $((n + n2 - 100000))" ] ||
	fail "documents: $(nw sql "SELECT count(*), count(DISTINCT value) FROM v_sample WHERE field = 'n' AND value <= 200000")"
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
grep -q 'store.trouble why="disk' "$tmp/box.log" && grep -q store.recover "$tmp/box.log" || fail "the log does not say so"
echo "PASS sys_baddisk: $n documents over a bad disk"
