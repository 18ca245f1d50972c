#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Another box as the fleet: a site is the name of its certificate, so no site writes, reads or deletes as another; rows are there once
# and newest, also after kills; a revoked, a foreign and a missing certificate are refused; deleted sessions never come back.
. tests/lib.sh
start_box -o listen-https=127.0.0.1/0 -o login=never
stop_box
tls=$tmp/state/tls
for site in a b stranger; do nw enroll -o "$tmp/tls" $site >/dev/null || fail "enroll $site"; done
# state SITE: a box with sessions 1 to 40 of its own names
state() {
	mkdir "$tmp/$1"
	cp "$tmp/state/narrows.db" "$tmp/$1/narrows.db"
	python3 - "$tmp/$1/narrows.db" $1 <<'PY'
import sqlite3, sys
db, site = sqlite3.connect(sys.argv[1]), sys.argv[2]
for i in range(1, 41):
    t = (20000 * 86400 + i) * 10**9
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, t, t + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, t + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, stage, sentence, bytes_per_s, start_ns, host_id) VALUES (?,?,?,?,?,?,?,0)", (i, i, f"{site} -> x", "network", f"words-of-{site}-{i}-\u00fc", i * 1e6 if i % 2 else None, t))
db.commit()
PY
}
state a
state b
printf '%s\n' "site fleet" "fleet sqlite:$tmp/fleet.db" "tls-dir $tls" "take a" "take b" >"$tmp/fleet.conf"
receive() {
	"$bin/narrows" -s "$tmp/state" fleet -f "$tmp/fleet.conf" -l ${1:-127.0.0.1/0} receive >"$tmp/address" 2>>"$tmp/received" &
	receiver=$!
	pids="$pids $receiver"
	until_true 10 test -s "$tmp/address" || fail "nothing receives: $(cat "$tmp/received")"
	address=$(cat "$tmp/address")
}
receive
# conf NAME SITE CERTIFICATE
conf() {
	printf '%s\n' "site $2" "fleet https://127.0.0.1:${address#*/}" "ca-file $tls/ca.crt" "timeout 20s" >"$tmp/$1.conf"
	[ -z "$3" ] || printf '%s\n' "cert-file $tmp/tls/$3.crt" "cert-key-file $tmp/tls/$3.key" >>"$tmp/$1.conf"
}
conf a a a
conf b b b
# fl CONFIGURATION BOX ...
fl() { c=$1 box=$2; shift 2; "$bin/narrows" -s "$tmp/$box" fleet -f "$tmp/$c.conf" -m "$tmp/$c.memory" "$@" 2>"$tmp/err"; }
at_box() { nw fleet -f "$tmp/fleet.conf" --csv query "$1" | tail -n +2 | tr -d '\r"'; }

# --- both push; each row as in its box, once, however often ---
for site in a b; do fl $site $site push >"$tmp/said" || fail "push: $(cat "$tmp/err" "$tmp/received")"; done
grep -qx '40 sessions sent, 0 stay here.' "$tmp/said" || fail "$(cat "$tmp/said")"
for site in a b; do
	sqlite3 -csv "$tmp/$site/narrows.db" "SELECT session_id, start_ns, route, stage, sentence, bytes_per_s FROM result ORDER BY 1" | tr -d '\r"' >"$tmp/want"
	at_box "SELECT session, start_ns, route, stage, sentence, bytes_per_s FROM session WHERE site = '$site' ORDER BY 1" >"$tmp/got"
	cmp "$tmp/want" "$tmp/got" || fail "$site: $(diff "$tmp/want" "$tmp/got" | head -n 5)"
done
fl a a --all push >/dev/null || fail "again: $(cat "$tmp/err")"
[ "$(at_box "SELECT count(*), count(DISTINCT session) FROM session WHERE site = 'a'")" = 40,40 ] || fail "rows: $(at_box "SELECT count(*) FROM session")"
[ "$(at_box "SELECT site, clock FROM site ORDER BY site" | tr '\n' ' ')" = "a,unknown b,unknown " ] || fail "sites: $(at_box "SELECT * FROM site")"
# anew BOX SESSION RUN STAGE
anew() { sqlite3 "$tmp/$1/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT $3, $2, 'verdict', max(started_ns) + $3 FROM run;
	UPDATE result SET stage = '$4', run_id = $3 WHERE session_id = $2"; }

# --- the receiver is killed, and away: rows come later, once ---
anew a 7 100 host
kill -9 $receiver
wait $receiver 2>/dev/null || :
! fl a a push >/dev/null || fail "a fleet that is away took rows"
receive "127.0.0.1/${address#*/}"
fl a a push >/dev/null || fail "push: $(cat "$tmp/err" "$tmp/received")"
[ "$(at_box "SELECT stage, (SELECT count(*) FROM session WHERE site = 'a') FROM session WHERE site = 'a' AND session = 7")" = host,40 ] || fail "judged anew: $(at_box "SELECT * FROM session WHERE session = 7")"

# --- a site is its certificate: what a says of b becomes a's, and b's stays ---
sums() { at_box "SELECT site, count(*), sum(length(sentence)), group_concat(stage) FROM session WHERE site = 'b'"; }
before=$(sums)
conf liar b a
anew b 9 101 disk.read
fl liar b push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(sums)" = "$before" ] || fail "a wrote as b"
[ "$(at_box "SELECT sentence FROM session WHERE site = 'a' AND session = 9")" = "words-of-b-9-ü" ] || fail "a's row: $(at_box "SELECT * FROM session WHERE session = 9")"
fl liar b delete 9 >/dev/null || fail "delete: $(cat "$tmp/err")"
[ "$(sums)" = "$before" ] || fail "a deleted as b"
# reads
[ "$(fl liar b --csv query "SELECT DISTINCT site FROM session" | tr -d '\r' | tr '\n' ' ')" = "site a " ] || fail "a reads as b: $(cat "$tmp/err")"
sqlite3 "$tmp/fleet.db" "INSERT INTO session(site, session, judged_ns, start_ns, sentence) VALUES ('b', 999, 1, 1, 'planted')"
for sql in "SELECT * FROM fleet.session" "ATTACH '$tmp/fleet.db' AS f" "SELECT load_extension('x')" "DELETE FROM session"; do
	! fl a a query "$sql" >/dev/null || fail "taken: $sql"
done
for sql in "WITH session AS (SELECT * FROM main.session) SELECT sentence FROM session" "SELECT sentence FROM main.session UNION SELECT sentence FROM session"; do
	fl a a query "$sql" >"$tmp/out" || fail "$sql: $(cat "$tmp/err")"
	! grep -q planted "$tmp/out" || fail "a reads b: $sql"
done
sqlite3 "$tmp/fleet.db" "DELETE FROM session WHERE session = 999"
fl a a routes | grep -q 'a -> x' || fail "a's own report: $(cat "$tmp/err")"
! fl a a routes | grep -q 'b -> x  .* 40 ' || fail "b's route in a's report"
for refused in stranger ""; do
	conf other a "$refused"
	! fl other a --all push >/dev/null || fail "taken with the certificate '$refused'"
done
mkdir "$tmp/foreign"
"$bin/narrows" -s "$tmp/foreign" enroll -o "$tmp/foreign" a >/dev/null 2>&1 || fail "foreign certificate"
conf foreign a a
sed -i "s|$tmp/tls/a|$tmp/foreign/a|" "$tmp/foreign.conf"
! fl foreign a --all push >/dev/null || fail "taken with a certificate of another CA"

# --- what is malformed is refused ---
ask() { curl -s -m 10 -o "$tmp/body" -w '%{http_code}\n' --cacert "$tls/ca.crt" --cert "$tmp/tls/a.crt" --key "$tmp/tls/a.key" "$@" || :; }
base=https://127.0.0.1:${address#*/}/fleet
[ "$(ask "$base/rows")" = 405 ] || fail "GET"
[ "$(ask -d x "$base/other")" = 404 ] || fail "an unknown path"
[ "$(ask -d NWF1junk "$base/rows")" = 400 ] || fail "rows that are none"
[ "$(ask -d '{"clock": 3}' "$base/site")" = 400 ] || fail "a site that is none"
[ "$(ask -d '[1.5]' "$base/gone")" = 400 ] || fail "no numbers of sessions"
[ "$(ask -d '"a"' "$base/gone")" = 400 ] || fail "any word deletes all"
[ "$(ask -H 'Transfer-Encoding: chunked' -d x "$base/rows")" = 411 ] || fail "no length"
[ "$(ask -H 'Content-Length: 999999999' -d x "$base/rows")" = 413 ] || fail "too long"

# --- deleted: gone from the file, and never back ---
anew b 3 102 host
sqlite3 "$tmp/b/narrows.db" "UPDATE result SET sentence = 'to-be-deleted' WHERE session_id = 3"
fl b b push >/dev/null || fail "push: $(cat "$tmp/err")"
grep -aq to-be-deleted "$tmp"/fleet.db* || fail "the search finds nothing"
fl b b delete 3 4 || fail "delete: $(cat "$tmp/err")"
[ "$(at_box "SELECT count(*) FROM session WHERE site = 'b'")" = 38 ] || fail "rows: $(sums)"
! grep -aq to-be-deleted "$tmp"/fleet.db* || fail "a deleted sentence stands in the file"
anew b 3 103 host
fl b b --all push >/dev/null || fail "push: $(cat "$tmp/err")"
! fl b b --all preview | grep -q '"session":[34],' || fail "a deleted session would leave"
rm "$tmp/b.memory" # a box that has forgotten
fl b b --all push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(at_box "SELECT count(*) FROM session WHERE site = 'b'")" = 38 ] || fail "a deleted session is back"
fl b b delete all || fail "delete: $(cat "$tmp/err")"
fl b b --all push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(at_box "SELECT count(*) FROM session WHERE site = 'b'")" = 0 ] || fail "deleted sessions are back"
[ "$(at_box "SELECT count(*) FROM session WHERE site = 'a'")" = 39 ] || fail "a's sessions: $(at_box "SELECT count(*) FROM session WHERE site = 'a'")"

# --- a revoked certificate ends at once ---
nw revoke a >/dev/null || fail revoke
! fl a a --all push >/dev/null || fail "taken with a revoked certificate"
kill $receiver
wait $receiver || fail "the receiver ended with status $?"
