#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Twenty boxes push ten thousand sessions with documents to another box, four at a time, and the fleet is killed meanwhile: each
# session is there once, sums and roll-ups are those of the boxes, and the planted route, outage and deletion show in the reports.
. tests/lib.sh
sites=20 each=500
start_box -o listen-https=127.0.0.1/0 -o login=never
"$bin/nwrun" dd if=/dev/zero of="$tmp/file" bs=64k count=200 2>/dev/null || fail nwrun
judged() { [ "$(sql "SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id WHERE s.closed_ns IS NOT NULL AND document IS NOT NULL")" = 1 ]; }
until_true 20 judged || fail "no verdict"
stop_box
tls=$tmp/state/tls
# the sessions of every box have a document that a box made
cat >"$tmp/fill.py" <<'PY'
import random, sqlite3, sys
path, site, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db, rng, day = sqlite3.connect(path), random.Random(site), 86400 * 10**9
document, = db.execute("SELECT document FROM result").fetchone()
for t in ("result", "run"):
    db.execute(f"DELETE FROM {t}")
for i in range(2, n + 2):
    start = 20000 * day + rng.randrange(14) * day + rng.randrange(day)
    route = rng.randrange(12)
    slow = 3 if route == 7 else 1
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, start, start + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, start + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, program, stage, bytes, bytes_per_s, start_ns, usual, host_id, document) VALUES (?,?,?,?,?,?,?,?,?,0,?)",
               (i, i, f"dtn{route} -> store{route % 3}", "rsync", rng.choice(["network", "disk.read", None]), float(rng.randrange(10**9)), 1e9 / slow * (0.8 + 0.4 * rng.random()), start, slow, document))
db.commit()
PY
printf '%s\n' "site fleet" "fleet sqlite:$tmp/fleet.db" "tls-dir $tls" >"$tmp/fleet.conf"
for i in $(seq $sites); do
	mkdir "$tmp/box$i"
	cp "$tmp/state/narrows.db" "$tmp/box$i/"
	python3 "$tmp/fill.py" "$tmp/box$i/narrows.db" $i $each || fail fill
	nw enroll -o "$tmp/tls" site$i >/dev/null || fail enroll
	echo "take site$i" >>"$tmp/fleet.conf"
done
receive() {
	: >"$tmp/address"
	"$bin/narrows" -s "$tmp/state" fleet -f "$tmp/fleet.conf" -l "$1" receive >"$tmp/address" 2>>"$tmp/received" &
	receiver=$!
	pids="$pids $receiver"
	until_true 10 test -s "$tmp/address" || fail "nothing receives: $(tail -n 3 "$tmp/received")"
}
receive 127.0.0.1/0
address=$(cat "$tmp/address")
for i in $(seq $sites); do
	printf '%s\n' "site site$i" "fleet https://127.0.0.1:${address#*/}" "ca-file $tls/ca.crt" "cert-file $tmp/tls/site$i.crt" "cert-key-file $tmp/tls/site$i.key" "rate 200" "timeout 60s" >"$tmp/$i.conf"
done
# push_all: the boxes that could not push are in $tmp/failed
push_all() {
	rm -f "$tmp"/failed.*
	seq $sites | xargs -P 4 -I{} sh -c '"$0/narrows" -s "$1/box{}" fleet -f "$1/{}.conf" -m "$1/{}.memory" push >/dev/null 2>"$1/err.{}" || : >"$1/failed.{}"' "$bin" "$tmp"
}
at() { nw fleet -f "$tmp/fleet.conf" --csv query "$1" | tail -n +2 | tr -d '\r"'; }
push_all &
pushing=$!
until_true 20 test -s "$tmp/2.memory" || fail "nothing came: $(cat "$tmp"/err.*)"
kill -9 $receiver
wait $receiver 2>/dev/null || :
wait $pushing
ls "$tmp"/failed.* >/dev/null 2>&1 || fail "a fleet that was killed took all sessions"
receive "127.0.0.1/${address#*/}"
push_all
! ls "$tmp"/failed.* >/dev/null 2>&1 || fail "push: $(cat "$tmp"/err.* | head -n 3)"
n=$((sites * each))
[ "$(at "SELECT count(*), count(DISTINCT site || '/' || session), count(document) FROM session")" = $n,$n,$n ] || fail "sessions: $(at "SELECT site, count(*) FROM session GROUP BY site")"
for i in $(seq $sites); do sqlite3 "$tmp/box$i/narrows.db" "SELECT printf('%.0f', sum(bytes)) FROM result"; done >"$tmp/want"
for i in $(seq $sites); do at "SELECT printf('%.0f', sum(bytes)) FROM session WHERE site = 'site$i'"; done >"$tmp/got"
cmp "$tmp/want" "$tmp/got" || fail "sums of boxes: $(diff "$tmp/want" "$tmp/got" | head -n 4)"
[ "$(at "SELECT count(*) FROM (SELECT site, route, program, start_ns / 86400000000000 AS day, count(*) AS n, sum(bytes) AS bytes, percentile(bytes_per_s, 0.5) AS p50 FROM session
	GROUP BY 1, 2, 3, 4) s JOIN level l ON l.site = s.site AND l.route = s.route AND l.program = s.program AND l.span_ns = 86400000000000 AND l.start_ns = day * 86400000000000
	WHERE l.sessions = s.n AND abs(l.bytes - s.bytes) < 1 AND l.p50 = s.p50")" = "$(at "SELECT count(*) FROM level WHERE span_ns = 86400000000000")" ] || fail "roll-ups"
[ "$(at "SELECT sum(sessions) FROM level WHERE span_ns = 3600000000000")" = $n ] || fail "hours: $(at "SELECT sum(sessions) FROM level")"
[ "$(nw fleet -f "$tmp/fleet.conf" --csv worst | sed -n 2p | cut -d, -f 1 | tr -d '"')" = "dtn7 -> store1" ] || fail "the planted route: $(nw fleet -f "$tmp/fleet.conf" worst | head -n 3)"
"$bin/narrows" -s "$tmp/box5" report --json 77 >"$tmp/doc.want" || fail report
nw fleet -f "$tmp/fleet.conf" --json query "SELECT document FROM session WHERE site = 'site5' AND session = 77" | python3 -c '
import json, sys
assert json.loads(json.loads(sys.stdin.read())["document"]) == json.load(open(sys.argv[1]))' "$tmp/doc.want" || fail "a document differs"

# --- an outage of a site, and a deletion whose roll-ups are counted anew ---
sqlite3 "$tmp/fleet.db" "UPDATE site SET seen_ns = seen_ns - 200000000000000 WHERE site IN ('site4', 'site9')"
[ "$(nw fleet -f "$tmp/fleet.conf" --csv silent | tail -n +2 | cut -d, -f 1 | sort | tr '\n' ' ')" = "site4 site9 " ] || fail "silent: $(nw fleet -f "$tmp/fleet.conf" silent)"
fl7() { "$bin/narrows" -s "$tmp/box7" fleet -f "$tmp/7.conf" -m "$tmp/7.memory" "$@" 2>"$tmp/err"; }
fl7 delete 10 11 12 || fail "delete: $(cat "$tmp/err")"
fl7 push >/dev/null || fail "push: $(cat "$tmp/err")"
rm "$tmp/7.memory"
fl7 --all push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(at "SELECT (SELECT count(*) FROM session), (SELECT sum(sessions) FROM level WHERE span_ns = 86400000000000), (SELECT sum(sessions) FROM level WHERE site = 'site7' AND span_ns = 3600000000000)")" = "$((n - 3)),$((n - 3)),$((each - 3))" ] || fail "deleted: $(at "SELECT site, sum(sessions) FROM level GROUP BY site")"
kill $receiver
wait $receiver || fail "the receiver ended with status $?"
