#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The report under people who mean no good: hundreds of silent or dripping connections, in clear and in TLS, pages of
# others that lead their names here, requests that are none. Whoever asks is answered at once, and all of it is counted.
. tests/lib.sh
start_box -o listen-https=127.0.0.1/0 -o http-names=report.example -o http-request-timeout=4s -o http-max-connections=40 \
	-o http-max-connections-per-address=20
https=$(sed -n 's/^https //p' "$tmp/state/narrowsd.run")
http=$(sed -n 's/^http //p' "$tmp/state/narrowsd.run")

cat >"$tmp/http.py" <<'PY'
import json, os, socket, ssl, sys, time

PATIENCE = float(os.environ["PATIENCE"])
http, https, ca = sys.argv[1:]
split = lambda a: (a.split("/")[0], int(a.split("/")[1]))
tls = ssl.create_default_context(cafile=ca)


def dial(where, source="127.0.0.1"):
    return socket.create_connection(split(where), timeout=8 * PATIENCE, source_address=(source, 0))


def ask(where, request, source="127.0.0.1"):
    s = dial(where, source)
    if where == https:
        s = tls.wrap_socket(s, server_hostname="127.0.0.1")
    s.sendall(request)
    got = b""
    try:
        while part := s.recv(65536):
            got += part
    except (ConnectionResetError, ssl.SSLEOFError):
        pass
    s.close()
    return got


def get(where, path="/", host="localhost", source="127.0.0.1"):
    return ask(where, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(), source)


def counter(name):
    return json.loads(get(http, "/healthz").split(b"\r\n\r\n", 1)[1])["counters"][name]


def held(s):
    s.settimeout(0)
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def eventually(what):
    end = time.monotonic() + 15 * PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


for where in http, https:
    # --- one address holds what it can ---
    before, timeouts, t = counter("http_refused"), counter("http_timeouts"), time.monotonic()
    idle = [dial(where) for _ in range(257)]
    for i, s in enumerate(idle):
        try:
            s.send(b"\x16\x03\x01" if where == https else b"GET / HTTP/1.1\r\nX: ")
        except OSError:
            pass
    assert get(where).startswith(b"HTTP/1.1 200 ")
    # room was made: nobody's time was over, unless the machine is so slow that it was
    assert counter("http_timeouts") == timeouts or time.monotonic() - t > 3.9
    eventually(lambda: sum(map(held, idle)) <= 20)
    assert counter("http_refused") >= before + 237 - (counter("http_timeouts") - timeouts)
    # --- and many addresses do ---
    many = [dial(where, f"127.0.0.{i % 200 + 2}") for i in range(257)]
    for n in range(20):
        assert get(where, source="127.0.0.250").startswith(b"HTTP/1.1 200 ")
    assert counter("http_timeouts") == timeouts or time.monotonic() - t > 3.9
    eventually(lambda: sum(map(held, many)) <= 40)
    # --- those left go when their time is over ---
    end = time.monotonic() + 27 * PATIENCE
    while sum(map(held, idle + many)) > 0 and time.monotonic() < end:
        time.sleep(0.05)
    assert sum(map(held, idle + many)) == 0
    assert counter("http_timeouts") > timeouts
    for s in idle + many:
        s.close()

    # --- whose name it is ---
    before = counter("http_misdirected")
    for host in "localhost", "127.0.0.1:8080", "[::1]", "report.example", socket.gethostname():
        assert get(where, host=host).startswith(b"HTTP/1.1 200 "), host
    for host in "evil.example", "192.0.2.1", "report.example.evil.example":
        said = get(where, "/healthz", host)
        assert said.startswith(b"HTTP/1.1 421 ") and b"counters" not in said, (host, said)
    assert ask(where, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert counter("http_misdirected") == before + 3

    # --- what is no request is refused with the same care as a page ---
    before = counter("http_malformed")
    for wrong in b"BREW / HTTP/1.1\r\n\r\n", b"GET / SMTP\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 9000:
        said = ask(where, wrong)
        assert said[9:10] in b"45" and b"\r\nContent-Security-Policy: default-src 'none'" in said, (wrong[:40], said)
        assert b"\r\nX-Content-Type-Options: nosniff\r\n" in said
    assert counter("http_malformed") == before + 3
eventually(lambda: counter("http_connections") == 1)
PY
timeout $((100 * PATIENCE)) python3 -B "$tmp/http.py" "$http" "$https" "${tmp}/state/tls/ca.crt" || fail "http"
curl -sS "$url/health" | grep -q 'Connections refused' || fail "the health page"
stop_box

# --- a machine whose only addresses are 127.0.0.1 and a link-local one listens on a number ---
cat >"$tmp/lonely.sh" <<'SH'
ip link set lo up && ip link add lonely type veth peer name other &&
    ip link set lonely up && ip link set other up || exit 77
"$1/narrowsd" -d -o state-dir="$2/lonely" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>"$2/lonely.log" &
until [ -f "$2/lonely/narrowsd.run" ]; do
	kill -0 $! 2>/dev/null || exit 1
	sleep 0.1
done
kill $!
wait $!
SH
status=0
unshare -n sh "$tmp/lonely.sh" "$bin" "$tmp" 2>"$tmp/err" || status=$?
case $status in
0) ;;
1) fail "a machine with a link-local address only: $(cat "$tmp/lonely.log")" ;;
*) echo "untested: no link-local address to try: $(cat "$tmp/err")" ;;
esac
