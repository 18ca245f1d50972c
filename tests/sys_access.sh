#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Beyond loopback the report knows who asks: people log in, programs have tokens, roles have limits, guessing is rationed.
. tests/lib.sh
start_box -o listen-https=0.0.0.0/0 -o take-traces=yes -o announce-from=127.0.0.0/8
https=https://127.0.0.1:$(sed -n 's/^https .*\///p' "$tmp/state/narrowsd.run")
ask() { curl -sS --cacert "$tmp/state/tls/ca.crt" "$@"; }
code() { ask -o "$tmp/body" -w '%{http_code}' "$@"; }
is() { [ "$2" = "$3" ] || fail "$1: $2, want $3: $(head -c 300 "$tmp/body")"; }

# --- the first account is root's secret, and nobody else gets in ---
[ "$(stat -c '%a' "$tmp/state/first-password")" = 600 ] || fail "first-password can be read"
[ "$(stat -c '%a' "$tmp/state/accounts")" = 600 ] || fail "accounts can be read"
! grep -q "$(cut -d' ' -f2 "$tmp/state/first-password")" "$tmp/box.log" "$tmp/state/accounts" || fail "the password is in clear"
for path in / /sessions.json /metrics /healthz /api/v1/openapi.json /session/1.csv /prometheus/api/v1/labels /access /nothing; do
	is "$path of nobody" "$(code "$https$path")" 401
	grep -q '"status": *401' "$tmp/body" || fail "$path of nobody: no problem in JSON"
done
is "a form of nobody" "$(code -X POST -d x=1 "$https/sessions.json")" 401
is "a browser" "$(code -H 'Accept: text/html' "$https/session/1?a=b")" 303
curl -s "$url/health" | grep -q 'href="/login"' && fail "a page that nobody has to log in for links to the login"
ask -i -H 'Accept: text/html' "$https/session/1?a=b" | grep -qi '^location: /login?next=%2Fsession%2F1%3Fa%3Db' || fail "where a browser is led"
is "style" "$(code "$https/style.css")" 200
is "loopback in clear" "$(curl -sS -o /dev/null -w '%{http_code}' "$url/")" 200
is "loopback has no logins" "$(curl -sS -o /dev/null -w '%{http_code}' "$url/access")" 404

# --- people ---
log_in() { code -c "$tmp/jar" --data-urlencode "user=$1" --data-urlencode "password=$2" -d "next=$3" "$https/login"; }
password=$(cut -d' ' -f2 "$tmp/state/first-password")
is "a wrong password" "$(log_in admin "$password-" /)" 401
grep -q 'Name and password do not match' "$tmp/body" || fail "a wrong password is not reported"
is "an unknown name" "$(log_in '<b>' x /)" 401
! grep -q '<b>' "$tmp/body" || fail "a name becomes markup"
is "the first account" "$(log_in admin "$password" '/health')" 303
is "its page" "$(code -b "$tmp/jar" "$https/")" 200
is "who has access" "$(code -b "$tmp/jar" "$https/access")" 200
grep -q '>admin<' "$tmp/body" || fail "no account on the page"
! grep -q 'argon' "$tmp/body" || fail "the page shows secrets"
ask -i -b "$tmp/jar" -d "next=//evil.example/" --data-urlencode "user=admin" --data-urlencode "password=$password" "$https/login" |
	grep -qi '^location: /.$' || fail "a login leads elsewhere"
is "a form from another site" "$(code -b "$tmp/jar" -H 'Origin: https://evil.example' -d x=1 "$https/logout")" 403
is "a form by a browser that tells of another site" "$(code -b "$tmp/jar" -H 'Sec-Fetch-Site: cross-site' -d x=1 "$https/logout")" 403

printf 'correct horse\n' | nw access user --role viewer eva || fail "user"
is "a viewer" "$(log_in eva 'correct horse' /)" 303
is "a viewer reads" "$(code -b "$tmp/jar" "$https/sessions.json")" 200
is "a viewer sees no accounts" "$(code -b "$tmp/jar" "$https/access")" 403
is "a viewer changes nothing" "$(code -b "$tmp/jar" -d x=1 "$https/session/1")" 403
is "a viewer judges no verdict" "$(code -b "$tmp/jar" -d right=yes "$https/session/1/right")" 403
nw access remove eva || fail "remove"
is "a removed viewer" "$(code -b "$tmp/jar" "$https/sessions.json")" 401
# another password ends old logins, the same one for a user who was removed and comes again, too
printf 'correct horse\n' | nw access user --role viewer eva || fail "user again"
is "a removed viewer who is there again" "$(code -b "$tmp/jar" "$https/sessions.json")" 401
is "a viewer" "$(log_in eva 'correct horse' /)" 303
is "a viewer's login" "$(code -b "$tmp/jar" "$https/sessions.json")" 200
printf 'battery staple\n' | nw access user --role viewer eva || fail "another password"
is "a login with the old password" "$(code -b "$tmp/jar" "$https/sessions.json")" 401
is "a viewer with the new password" "$(log_in eva 'battery staple' /)" 303
printf 'another horse\n' | nw access user --role viewer ida || fail "user"
is "a viewer's login after another's change" "$(code -b "$tmp/jar" "$https/sessions.json")" 200
nw access remove eva || fail "remove"
nw access remove ida || fail "remove"
generated=$(nw access user -g -r operator bo)
is "a made password" "$(log_in bo "$generated" /)" 303
is "an operator is told what is no page" "$(code -b "$tmp/jar" -d x=1 "$https/session/1")" 405
is "an operator judges a verdict that is not there" "$(code -b "$tmp/jar" -d right=yes "$https/session/1/right")" 404
is "an operator's answer that is none" "$(code -b "$tmp/jar" -d right=perhaps "$https/session/1/right")" 400
is "an operator's browser on another site" "$(code -b "$tmp/jar" -H 'Origin: https://evil.example' -d right=yes "$https/session/1/right")" 403
NARROWS_TASK=judged "$bin/nwrun" cp "$bin/narrows" "$tmp/copied" || fail "nwrun"
is_there() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/session/1")" = 200 ]; }
until_true 20 is_there || fail "no session"
is "an operator judges a verdict" "$(code -b "$tmp/jar" -d right=yes "$https/session/1/right")" 303
grep -q '"event":"verdict.right","who":"bo"' "$tmp/state/audit.log" || fail "nobody wrote down who judged"
cp "$tmp/jar" "$tmp/old"
is "leaving" "$(code -b "$tmp/jar" -c "$tmp/jar" -d x=1 "$https/logout")" 303
is "having left" "$(code -b "$tmp/old" "$https/sessions.json")" 401

# --- programs ---
token=$(nw access token --days 30 ci)
metrics=$(nw access token -r metrics prometheus)
! nw access token ci 2>/dev/null || fail "two tokens of one name"
bearer() { code -H "Authorization: Bearer $1" "$2"; }
is "a token" "$(bearer "$token" "$https/sessions.json")" 200
is "a token for metrics" "$(bearer "$metrics" "$https/metrics")" 200
is "its end" "$(bearer "$metrics" "$https/sessions.json")" 403
is "a guess" "$(bearer "nwt_$(printf '%064d' 0)" "$https/sessions.json")" 401
NARROWS_TOKEN=$token "$bin/narrows" -C "$tmp/state/tls/ca.crt" -u "$https" sessions >/dev/null || fail "narrows with a token"
! "$bin/narrows" -C "$tmp/state/tls/ca.crt" -u "$https" sessions 2>"$tmp/err" || fail "narrows without a token"
grep -q 'NARROWS_TOKEN' "$tmp/err" || fail "narrows does not say what to do: $(cat "$tmp/err")"
nw access list | grep -Eq '^ci +token +viewer +20' || fail "list: $(nw access list)"
nw access remove ci || fail "remove a token"
is "a removed token" "$(bearer "$token" "$https/sessions.json")" 401
! nw access remove ci 2>/dev/null || fail "remove twice"

# --- who may keep a note, and from where ---
"$bin/nwrun" -b "$xsp" -H '<script>alert(1)</script>' dd if=/dev/zero of="$tmp/file" bs=64k count=100 2>/dev/null || fail "nwrun"
until_true 20 sh -c "curl -s '$url/api/v1/sessions/1' | grep -q sentence" || fail "no session"
viewer=$(nw access token -r viewer reader)
operator=$(nw access token -r operator writer)
for path in /session/1/note /api/v1/sessions/1/notes; do
	is "a note of nobody at $path" "$(code -d text=a "$https$path")" 401
	is "a note of a viewer at $path" "$(code -H "Authorization: Bearer $viewer" -d text=a "$https$path")" 403
	is "a note of a program for metrics at $path" "$(code -H "Authorization: Bearer $metrics" -d text=a "$https$path")" 403
done
is "a note of an operator" "$(code -H "Authorization: Bearer $operator" -d text=a "$https/api/v1/sessions/1/notes")" 200
grep -q '"event":"note.add","who":"writer"' "$tmp/state/audit.log" || fail "a note is not in the audit log"
is "the operator bo" "$(log_in bo "$generated" /)" 303
is "the page of an operator" "$(code -b "$tmp/jar" "$https/session/1")" 200
grep -q 'action="/session/1/note"' "$tmp/body" || fail "an operator has no form"
for from in 'Origin: https://evil.example' 'Origin: null' 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
	is "a note from another site ($from)" "$(code -b "$tmp/jar" -H "$from" -d text=evil "$https/session/1/note")" 403
done
is "a note by the page's form" "$(code -b "$tmp/jar" -H "Origin: $https" -H 'Sec-Fetch-Site: same-origin' -d text=b "$https/session/1/note")" 303
is "the page of a viewer" "$(code -H "Authorization: Bearer $viewer" "$https/session/1")" 200
! grep -q 'action="/session/1/note"' "$tmp/body" || fail "a viewer has a form"
# a cookie that somebody planted before the login is not the session's
planted=$(printf '%064d' 7)
ask -i -b "__Host-narrows=$planted" --data-urlencode "user=bo" --data-urlencode "password=$generated" "$https/login" >"$tmp/head"
grep -qi '^set-cookie: __Host-narrows=.*; Secure; HttpOnly; SameSite=Strict' "$tmp/head" && ! grep -q "$planted" "$tmp/head" || fail "cookies: $(cat "$tmp/head")"
is "a planted cookie" "$(code -b "__Host-narrows=$planted" "$https/sessions.json")" 401
# the login's cookie counts under the name that HTTPS gave it alone, and a form comes from a page of the same scheme
is "the operator bo" "$(log_in bo "$generated" /)" 303
value=$(awk '$6 == "__Host-narrows" { print $7 }' "$tmp/jar")
is "the cookie's own name" "$(code -b "__Host-narrows=$value" "$https/sessions.json")" 200
is "the cookie's clear name" "$(code -b "narrows=$value" "$https/sessions.json")" 401
is "a planted cookie of the clear name before it" "$(code -b "narrows=$planted; __Host-narrows=$value" "$https/sessions.json")" 200
is "a form from a page of another scheme" "$(code -b "$tmp/jar" -H "Origin: http${https#https}" -d text=evil "$https/session/1/note")" 403
is "a form from the same scheme" "$(code -b "$tmp/jar" -H "Origin: $https" -d text=b "$https/session/1/note")" 303
for path in / /hosts /session/1 /routes /health '/host?host=%3Cscript%3Ealert%281%29%3C%2Fscript%3E' /session/1.html; do
	! curl -s "$url$path" | grep -q '<script>alert' || fail "$path: a host's name becomes markup"
done
curl -s "$url/api/v1/sessions/1/notes" >"$tmp/notes"
[ "$(grep -c '"text": "[ab]"' "$tmp/notes")" = 3 ] && ! grep -q evil "$tmp/notes" || fail "other notes: $(cat "$tmp/notes")"

# --- guessing: attempts come back slowly, and each takes a moment of a busy machine ---
n=0
while [ "$(log_in admin wrong$n /)" != 429 ]; do
	n=$((n + 1))
	[ $n -lt 60 ] || fail "guessing is not rationed"
done
ask -i --data-urlencode "user=admin" --data-urlencode "password=$password" "$https/login" | grep -qi '^retry-after: [1-9]' || fail "no Retry-After"
[ "$(grep -c '"login.refused"' "$tmp/state/audit.log")" -ge 4 ] || fail "refusals are not in the audit log"
for event in login logout user.put token.make token remove; do
	grep -q "\"event\":\"$event\"" "$tmp/state/audit.log" || fail "no $event in the audit log"
done
! grep -q "$password\|correct horse\|$token" "$tmp/state/audit.log" "$tmp/box.log" || fail "a secret is in a log"
python3 -c 'import json, sys; [json.loads(l) for l in open(sys.argv[1])]' "$tmp/state/audit.log" || fail "the audit log is not JSON"

# --- 30 addresses guess 6 times a second: a right password from another address gets in, and logins and pages go on ---
cat >"$tmp/guess.py" <<'PY'
import http.client, ssl, sys, threading, time
port, = sys.argv[1:]
context = ssl._create_unverified_context()
def guess(address):
    while True:
        begun = time.monotonic()
        try:
            c = http.client.HTTPSConnection("127.0.0.1", int(port), context=context, source_address=(address, 0), timeout=20)
            for _ in range(30):
                c.request("POST", "/login", "user=admin&password=guess", {"Content-Type": "application/x-www-form-urlencoded"})
                c.getresponse().read()
                time.sleep(max(0, 1 / 6 - time.monotonic() + begun))
                begun = time.monotonic()
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
for n in range(30): threading.Thread(target=guess, args=("127.0.1.%d" % (n + 1),), daemon=True).start()
time.sleep(600)
PY
python3 -B "$tmp/guess.py" "${https##*:}" &
guesser=$!
pids="$pids $guesser"
sleep 10
for n in 1 2 3 4 5 6 7 8; do
	is "the operator bo beside guessing, from address $n" \
		"$(code --interface "127.0.2.$n" -c "$tmp/jar" --data-urlencode "user=bo" --data-urlencode "password=$generated" "$https/login")" 303
	is "a page beside guessing" "$(code -m $((5 * $(patience))) -b "$tmp/jar" "$https/sessions.json")" 200
done
kill $guesser

# --- traces of Rucio: a token of their own, also in the form that its clients have; no page of another site ---
token=$(nw access token -r traces rucio)
trace='{"eventType": "touch", "clientState": "DONE"}'
is "a trace of nobody" "$(code -d "$trace" "$https/traces/")" 401
is "a trace with a token" "$(code -H "Authorization: Bearer $token" -d "$trace" "$https/traces/")" 201
is "a trace with the token in the URL" "$(code -u "rucio:$token" -d "$trace" "$https/traces/")" 201
is "a trace with a token and more" "$(code -H "Authorization: Bearer ${token}0" -d "$trace" "$https/traces/")" 401
is "a trace with another password" "$(code -u "rucio:x$token" -d "$trace" "$https/traces/")" 401
is "no trace" "$(code -u "rucio:$token" -d "[" "$https/traces/")" 400
is "a long trace" "$(head -c 9000 /dev/zero | tr '\0' ' ' | code -u "rucio:$token" --data-binary @- "$https/traces/")" 413
is "a trace from a page" "$(code -u "rucio:$token" -H "Origin: https://evil.example" -d "$trace" "$https/traces/")" 403
is "a reader of traces" "$(code -u "rucio:$token" "$https/traces/")" 403
is "a page for the token of traces" "$(code -u "rucio:$token" "$https/sessions.json")" 403
is "counters for the token of traces" "$(code -u "rucio:$token" "$https/metrics")" 403

# --- what an intruder who writes files as the box can do: a file that makes no sense leaves nobody in ---
echo 'user admin superuser 0 x' >"$tmp/state/accounts"
is "after nonsense" "$(code -b "$tmp/jar" "$https/sessions.json")" 401
stop_box

# --- a report in clear beyond loopback has to be meant ---
! "$bin/narrowsd" -n -o state-dir="$tmp/state" -o listen-http=0.0.0.0/0 2>"$tmp/err" || fail "the report crosses the network in clear"
grep -q 'login never' "$tmp/err" || fail "it does not say how: $(cat "$tmp/err")"
"$bin/narrowsd" -n -o state-dir="$tmp/state" -o listen-http=0.0.0.0/0 -o login=never 2>"$tmp/err" || fail "login never: $(cat "$tmp/err")"
