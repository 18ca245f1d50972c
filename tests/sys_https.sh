#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# narrows -u https://...: the same answers as in clear, and one clear sentence when the box cannot be trusted.
. tests/lib.sh
start_box -o listen-https=0.0.0.0/0 -o login=never
https=https://127.0.0.1:$(sed -n 's/^https .*\///p' "$tmp/state/narrowsd.run")
ca=$tmp/state/tls/ca.crt
"$bin/nwrun" -H dtn1 dd if=/dev/zero of="$tmp/data" bs=1M count=50 2>/dev/null || fail "nwrun"
until_true 15 sh -c "curl -sS '$url/sessions.json' | grep -q '\"analysed\": true'" || fail "no session"
# a record of another test's run, in the place without the variable, would be waited for
nu() { env -i PATH="$PATH" XDG_RUNTIME_DIR="$tmp" "$bin/narrows" "$@"; }

# --- the same as in clear ---
for what in "sessions" "sessions -j" "report last" "report -j last" "export last" "export -f wide last" "export -f ndjson last"; do
	nu -u "$url" $what >"$tmp/plain" || fail "$what in clear"
	nu -C "$ca" -u "$https" $what >"$tmp/tls" || fail "$what in TLS"
	[ -s "$tmp/tls" ] && cmp -s "$tmp/plain" "$tmp/tls" || fail "$what differs in TLS"
done
nu -C "$ca" -u "$https/" health | grep -q '^The box is well' || fail "health in TLS"
nu -C "$ca" -u "https://localhost:${https##*:}" health >/dev/null || fail "by another of its names"

# --- a connection in TLS stays for further requests, a while; a connection in clear does not ---
cat >"$tmp/keep.py" <<'PY'
import http.client, ssl, sys, time
tls, plain, ca = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
def ask(c, path, **headers):
    c.request("GET", path, headers=headers)
    r = c.getresponse()
    return r.status, r.getheader("Connection"), r.read()
c = http.client.HTTPSConnection("127.0.0.1", int(tls), context=context)
c.connect()
first = c.sock
got = [ask(c, path) for path in ["/sessions.json", "/session/1", "/style.css", "/api/v1/hosts", "/sessions.json"] * 8]
assert all(g[:2] == (200, "keep-alive") for g in got) and c.sock is first and got[0] == got[4], [g[:2] for g in got]
tag = http.client.HTTPSConnection("127.0.0.1", int(tls), context=context)
assert ask(tag, "/nothing")[:2] == (404, "close") and tag.sock is None
assert ask(c, "/api/v1/hosts", Connection="close")[:2] == (200, "close") and c.sock is None
p = http.client.HTTPConnection("127.0.0.1", int(plain))
assert ask(p, "/style.css")[:2] == (200, "close") and p.sock is None
# two requests at once get two answers; the connection between two requests ends after the time for a request
s = context.wrap_socket(__import__("socket").create_connection(("127.0.0.1", int(tls))), server_hostname="127.0.0.1")
s.sendall(b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2)
text = b""
while text.count(b"</svg>") < 2:
    text += s.recv(65536)
begin = time.monotonic()
s.settimeout(30)
assert s.recv(1) == b"" and 5 < time.monotonic() - begin < 25, time.monotonic() - begin
PY
python3 -B "$tmp/keep.py" "${https##*:}" "${url##*:}" "$ca" || fail "connections that stay open"

# --- where the CA is found ---
nu -s "$tmp/state" -u "$https" sessions >/dev/null || fail "the CA of the state directory"
mkdir "$tmp/host"
cp "$ca" "$tmp/host/"
NARROWS_TLS=$tmp/host "$bin/narrows" -u "$https" sessions >/dev/null || fail "the CA of NARROWS_TLS"
NARROWS_TLS_CA=$ca "$bin/narrows" -u "$https" sessions >/dev/null || fail "the CA of NARROWS_TLS_CA"

# --- who is not trusted ---
# refused WHY OPTION ...: exit status 1, nothing on standard output, one line that says why
refused() {
	why=$1
	shift
	"$bin/narrows" "$@" report 1 >"$tmp/out" 2>"$tmp/err" && fail "it trusts: $*"
	[ ! -s "$tmp/out" ] && grep -q "$why" "$tmp/err" || fail "$*: wants \"$why\": $(cat "$tmp/err")"
}
mkdir "$tmp/other" "$tmp/stranger"
"$bin/narrows" -s "$tmp/other" enroll -o "$tmp/stranger" x >/dev/null || fail "another site"
refused "certificate is not from our CA" -C "$tmp/stranger/ca.crt" -u "$https"
refused "certificate is for another name" -C "$ca" -u "https://127.0.0.2:${https##*:}"
refused "$tmp/none.crt: no certificate can be read there" -C "$tmp/none.crt" -u "$https"
refused "does not speak TLS" -C "$ca" -u "https://${url#http://}"
refused "HTTP\|broke off\|breaks off\|reset" -u "http://${https#https://}"
refused "refused" -C "$ca" -u https://127.0.0.1:1
until_true 5 grep -q 'https.reject why="the peer refuses our certificate: it is from a CA it does not trust"' "$tmp/box.log" ||
	fail "the box does not say why: $(grep https.reject "$tmp/box.log")"

# --- half an answer is none ---
cat >"$tmp/cut.py" <<'PY'
import socket, ssl, sys, threading
crt, key, close_well = sys.argv[1:]
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain(crt, key)
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
conn = c.wrap_socket(s.accept()[0], server_side=True)
conn.recv(4096)
conn.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b'{"verdict": {"sentence": "it is cut"}}')
if close_well == "yes":
    conn.unwrap()
conn.close()
PY
for well in yes no; do
	mkfifo "$tmp/port.$well"
	python3 -B "$tmp/cut.py" "$tmp/state/tls/box.crt" "$tmp/state/tls/box.key" $well >"$tmp/port.$well" 2>"$tmp/cut.log" &
	pids="$pids $!"
	read -r port <"$tmp/port.$well"
	if [ $well = yes ]; then
		"$bin/narrows" -C "$ca" -u "https://127.0.0.1:$port" report -j 1 >/dev/null || fail "an answer that ends well"
	else
		refused "broke off" -C "$ca" -u "https://127.0.0.1:$port"
	fi
done
stop_box
