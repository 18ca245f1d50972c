#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What leaves by narrows-send: an https receiver proves itself by the CA file or gets nothing, a redirection is followed by nobody, a
# proxy is used where one is configured, secrets are neither in command lines nor in messages, and nothing outlives the caller.
. tests/lib.sh
mkdir "$tmp/hooks" "$tmp/other" "$tmp/state2"
start_box -o listen-https=127.0.0.1/0 # makes a CA and a certificate, which the receiver uses, too
cat >"$tmp/receiver.py" <<'PY'
import http.server, ssl, sys
folder, name = sys.argv[1], sys.argv[2]
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(folder + "/got", "a") as f:
            f.write("%s %s %s\n" % (name, self.path, body.decode()))
        self.send_response(302 if self.path == "/moved" else 200)
        if self.path == "/moved":
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = do_POST
    def log_message(self, *args): pass
server = http.server.HTTPServer(("0.0.0.0", 0), Receiver)
if name == "tls":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/state/tls/box.crt", folder + "/state/tls/box.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
PY
: >"$tmp/got"
for name in tls clear; do
	python3 -B "$tmp/receiver.py" "$tmp" $name >"$tmp/$name.port" 2>/dev/null &
	pids="$pids $!"
	until_true 10 test -s "$tmp/$name.port" || fail "no receiver $name"
done
tls=$(cat "$tmp/tls.port") clear=$(cat "$tmp/clear.port")
echo 'our secret' >"$tmp/secret"
chmod 600 "$tmp/secret"
conf() { name=$1; shift; printf '%s\n' "$@" "secret-file $tmp/secret" >"$tmp/hooks/$name.conf"; }
hook() { nw hook -d "$tmp/hooks" -m "$tmp/memory" "$@" 2>"$tmp/err"; }
refused() { ! hook test "$1" || fail "$1 is taken"; grep -qi "$2" "$tmp/err" || fail "$1: $(cat "$tmp/err")"; }

# --- TLS ---
conf good "url https://localhost:$tls/in" "ca-file $tmp/state/tls/ca.crt"
hook test good >/dev/null || fail "good: $(cat "$tmp/err")"
grep -q '^tls /in {"event":"test"' "$tmp/got" || fail "good: $(cat "$tmp/got")"
: >"$tmp/got"
"$bin/narrows" -s "$tmp/state2" enroll -o "$tmp/other" x >/dev/null || fail "another CA"
conf stranger "url https://localhost:$tls/in" "ca-file $tmp/other/ca.crt"
refused stranger certificate
conf misnamed "url https://127.0.0.2:$tls/in" "ca-file $tmp/state/tls/ca.crt"
refused misnamed "alternative\|match"
conf nofile "url https://localhost:$tls/in" "ca-file $tmp/nothing"
refused nofile "certificate\|CA"
conf clear "url https://localhost:$clear/in" "ca-file $tmp/state/tls/ca.crt"
refused clear ssl
conf user "url http://a:pass@127.0.0.1:$clear/in"
refused user "the url has a user"
[ ! -s "$tmp/got" ] || fail "a receiver that proves nothing got: $(cat "$tmp/got")"

# --- redirections, proxies ---
conf moved "url http://127.0.0.1:$clear/moved"
refused moved "the answer is 302"
! grep -q elsewhere "$tmp/got" || fail "a redirection is followed"
: >"$tmp/got"
conf environment "url http://127.0.0.1:$clear/in"
http_proxy=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1 hook test environment >/dev/null || fail "the environment names the way: $(cat "$tmp/err")"
conf proxied "url http://far.example/in" "proxy http://127.0.0.1:$clear"
hook test proxied >/dev/null || fail "proxy: $(cat "$tmp/err")"
grep -q '^clear http://far.example/in ' "$tmp/got" || fail "proxy: $(cat "$tmp/got")"

# --- secrets ---
chmod 644 "$tmp/secret"
hook test environment >/dev/null || fail "a secret that others read: $(cat "$tmp/err")"
grep -q 'other users may read .*chmod 600' "$tmp/err" || fail "no word of it: $(cat "$tmp/err")"
! grep -q 'our secret' "$tmp/err" "$tmp/got" || fail "a secret is told"
# a server that never answers: while the question waits, no command line has the secret, and the caller's end ends all
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(600)' >"$tmp/mute.port" &
pids="$pids $!"
until_true 10 test -s "$tmp/mute.port" || fail "no mute receiver"
conf mute "url http://127.0.0.1:$(cat "$tmp/mute.port")/"
"$bin/narrows" -s "$tmp/state" hook -d "$tmp/hooks" test mute 2>/dev/null &
asking=$!
pids="$pids $asking"
sends() { for p in $(pgrep -x narrows-send); do tr '\0' ' ' <"/proc/$p/environ" | grep -q "XDG_RUNTIME_DIR=$tmp " && echo "$p"; done; }
is_sending() { [ -n "$(sends)" ]; }
is_over() { ! is_sending; }
until_true 10 is_sending || fail "no narrows-send"
! tr '\0' ' ' <"/proc/$(sends)/cmdline" | grep -q 'secret\|127' || fail "the command line tells: $(tr '\0' ' ' <"/proc/$(sends)/cmdline")"
pkill -KILL -P "$asking" || fail "no process of the post"
until_true 10 is_over || fail "narrows-send outlives its caller"
