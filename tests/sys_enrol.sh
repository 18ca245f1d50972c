#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A host gets its certificate over the network with a token: once, in time, from the box that the token means and no
# other; the key never leaves the host.
. tests/lib.sh
start_box -o listen-xsp-tls=127.0.0.1/0 -o listen-https=0.0.0.0/0 -o login=never
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
port=$(sed -n 's/^https .*\///p' "$tmp/state/narrowsd.run")
https=https://127.0.0.1:$port
join() { "$bin/narrows-host" join "$@"; }
counter() { nw health --json | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"; }
# refused WHY ARGUMENT ...: exit status 1, one line that says why, nothing written
refused() {
	why=$1
	shift
	join -o "$tmp/refused" "$@" >"$tmp/out" 2>"$tmp/err" && fail "it joins: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$why" "$tmp/err" || fail "$*: wants \"$why\": $(cat "$tmp/err")"
	[ ! -s "$tmp/out" ] && [ -z "$(ls "$tmp/refused" 2>/dev/null)" ] || fail "refused, and yet something is written"
}

# --- once ---
token=$(nw enroll --token dtn1) || fail "enroll --token"
[ ${#token} = 97 ] && [ ! -e dtn1.key ] || fail "token: $token"
join -o "$tmp/dtn1" "$https" "$token" >"$tmp/said" || fail "join"
[ "$(cat "$tmp/said")" = "$tmp/dtn1/dtn1.key  $tmp/dtn1/dtn1.crt  $tmp/dtn1/ca.crt" ] || fail "join says $(cat "$tmp/said")"
[ "$(stat -c %a "$tmp/dtn1/dtn1.key")" = 600 ] && cmp -s "$tmp/dtn1/ca.crt" "$tmp/state/tls/ca.crt" || fail "its files"
[ "$(ls "$tmp/dtn1" | wc -l)" = 3 ] || fail "more files: $(ls "$tmp/dtn1")"
nw hosts | grep -q '^dtn1 .* good ' || fail "hosts: $(nw hosts)"
sleep 1.2
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$tmp/dtn1" -i 100ms --once 2>"$tmp/blipp.log" || fail "blipp: $(cat "$tmp/blipp.log")"
NARROWS_TLS=$tmp/dtn1 "$bin/narrows" -u "$https" sessions >/dev/null || fail "the CA it got"
refused "used already" "$https" "$token"
grep -q 'host.enroll peer=127.0.0.1 host="dtn1" serial=' "$tmp/box.log" || fail "the log does not say who came"

# --- from standard input, for a name of choice, and again on the same host ---
nw enroll --token --days 1 dtn2 | join -o "$tmp/dtn1" "$https/" - >/dev/null || fail "a token from standard input"
[ -s "$tmp/dtn1/dtn2.crt" ] && [ -s "$tmp/dtn1/dtn1.crt" ] || fail "a second name"

# --- in time ---
token=$(nw enroll --token --for 1s dtn3)
sleep 2.1
refused "has expired" "$https" "$token"

# --- no other ---
token=$(nw enroll --token dtn4)
case $token in *0) wrong=${token%?}1 ;; *) wrong=${token%?}0 ;; esac
refused "no such token" "$https" "$wrong"
refused "not a token" "$https" "${token%?}"
refused "not a token" "$https" "$(echo "$token" | tr . -)"
refused "certificate is for another name" "https://127.0.0.2:$port" "$token"
refused "write https" "$url" "$token"
refused "refused" https://127.0.0.1:1 "$token"
refused "does not speak TLS" "https://${url#http://}" "$token"
# another box at that address: it does not even hear the secret
mkdir "$tmp/dtn5"
first=$tmp/state
curl -sS --cacert "$tmp/dtn1/ca.crt" -d "$(printf '%s\nx' "${wrong#*.}")" "$https/enroll" | grep -q "no such token" || fail "a wrong secret by hand"
curl -sS --cacert "$tmp/dtn1/ca.crt" -d "$(printf '%s\nx' "${token#*.}")" "$https/enroll" | grep -q "no request" || fail "no request"
curl -sS -d "$(printf '%s\nx' "${token#*.}")" "$url/enroll" | grep -q "does not take this method" || fail "enrolment in clear"
curl -sS --cacert "$tmp/dtn1/ca.crt" "$https/enroll" >"$tmp/facts"
[ "$(sed -n 's/^port //p' "$tmp/facts")" = "${tls##*/}" ] || fail "GET /enroll: port: $(cat "$tmp/facts")"
apart=$(($(date +%s) - $(sed -n 's/^clock \(.*\).........$/\1/p' "$tmp/facts")))
[ $apart -ge 0 ] && [ $apart -lt 60 ] || fail "GET /enroll: clock: $(cat "$tmp/facts")"
[ "$(counter rejected_tokens)" = 5 ] || fail "rejected_tokens is $(counter rejected_tokens)"
grep -q 'enroll.reject peer=127.0.0.1 why="there is no such token"' "$tmp/box.log" || fail "enroll.reject"

mkdir "$tmp/other"
"$bin/narrowsd" -d -o state-dir="$tmp/other" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 -o listen-https=127.0.0.1/0 2>"$tmp/other.log" &
pids="$pids $!"
until_true 10 test -f "$tmp/other/narrowsd.run" || fail "another box"
other=https://127.0.0.1:$(sed -n 's/^https .*\///p' "$tmp/other/narrowsd.run")
refused "certificate is not from our CA" "$other" "$token"
grep -q "enroll" "$tmp/other.log" && fail "the other box heard something"
cp "$tmp/other/tls/ca.crt" "$tmp/dtn5/"
join -o "$tmp/dtn5" "$https" "$token" 2>"$tmp/err" && fail "a host of another site changes by accident"
grep -q "belongs to another site" "$tmp/err" || fail "another site: $(cat "$tmp/err")"
rm "$tmp/dtn5/ca.crt"
join -o "$tmp/dtn5" "$https" "$token" >/dev/null || fail "the token is still good"

# --- nothing that is secret is anywhere but where it belongs ---
grep -qF "${token#*.}" "$tmp/box.log" "$first/tls/tokens" && fail "a secret is kept"
grep -v -e ---- "$tmp/dtn5/dtn4.key" | while read -r part; do
	grep -rqF -e "$part" "$first/tls" "$tmp/box.log" && fail "the box has the key" || :
done

# --- who may speak for what else: nobody, but by a grant, until the host is revoked ---
grants() { nw health | sed -n '/^grants/,/^faults/p' | grep -v ^faults; }
[ "$(grants)" = "grants    none: no host speaks for another's" ] || fail "grants: $(grants)"
for bad in core clock:dtn1 switch: 'switch:a b'; do
	nw enroll -o "$tmp/dtn1" --speaks-for "$bad" dtn6 2>/dev/null && fail "a grant of \"$bad\""
done
nw enroll --token --speaks-for switch:core --speaks-for 'storage:*' dtn6 >/dev/null || fail "enroll --speaks-for"
[ "$(grants)" = "grants    host:dtn6 may speak for switch:core
          host:dtn6 may speak for storage:*" ] || fail "grants: $(grants)"
nw health --json | tr -d ' \n' | grep -q '"speaks_for":\[{"owner":"host:dtn6","thing":"switch:core"},{' || fail "health --json"
nw enroll -o "$tmp/dtn1" dtn6 >/dev/null && nw revoke dtn6 || fail "revoke"
[ "$(grants)" = "grants    none: no host speaks for another's" ] || fail "grants of a revoked host: $(grants)"
stop_box

# --- a host whose files cannot be written has no certificate that is good ---
: >"$tmp/file"
for dir in "$tmp/no/such" "$tmp/file"; do
	! nw enroll -o "$dir" unlucky 2>/dev/null || fail "enrolled into $dir"
	! nw hosts | grep unlucky | grep -q good || fail "a good certificate without a key: $(nw hosts)"
done
