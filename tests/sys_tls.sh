#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# TLS: hosts that are enrolled send, everybody else is refused with one line and nothing is read; the report in HTTPS;
# certificates end, are revoked and are made anew while the box runs.
. tests/lib.sh
hosts=$tmp/hosts
mkdir "$hosts" "$tmp/state"

# --- enrolment needs no running box ---
nw enroll -o "$hosts" dtn1 >"$tmp/said" || fail "enroll"
grep -q "dtn1.key .*dtn1.crt .*ca.crt  good until 20" "$tmp/said" || fail "enroll says $(cat "$tmp/said")"
[ "$(stat -c %a "$hosts/dtn1.key" "$tmp/state/tls/ca.key" | tr '\n' ' ')" = "600 600 " ] || fail "keys can be read by others"
for bad in ../x 'a b' '' -h; do
	nw enroll -o "$hosts" -- "$bad" 2>/dev/null && fail "enrolls \"$bad\""
done
nw enroll -o "$hosts" --days 0.00003 short >/dev/null || fail "enroll for 2.6 s"
cp "$hosts/ca.crt" "$tmp/ca.before"

start_box -o listen-xsp-tls=127.0.0.1/0 -o listen-https=127.0.0.1/0 -o handshake-timeout=2s
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
https=https://$(sed -n 's/^https //p' "$tmp/state/narrowsd.run" | tr / :)
cmp -s "$tmp/ca.before" "$tmp/state/tls/ca.crt" || fail "the box made another CA"
for h in dtn2 gone; do nw enroll -o "$hosts" "$h" >/dev/null || fail "enroll $h"; done
"$bin/narrows" -s "$tmp/other" enroll -o "$tmp" dtn1 2>/dev/null && fail "enroll without a directory"
mkdir "$tmp/other" "$tmp/stranger"
"$bin/narrows" -s "$tmp/other" enroll -o "$tmp/stranger" dtn1 >/dev/null || fail "another site"

# --- our own tools ---
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$hosts" -i 100ms --once 2>>"$tmp/blipp.log" || fail "blipp: $(cat "$tmp/blipp.log")"
NARROWS_TLS="$hosts" "$bin/nwrun" -H dtn1 -b "tls://$tls" dd if=/dev/zero of="$tmp/data" bs=1M count=20 2>/dev/null || fail "nwrun"
until_true 10 sh -c "$bin/narrows -s '$tmp/state' sessions | grep -q ' dtn1 .* dd '" || fail "nwrun's session is not there"
# a user's host.conf in place of options and variables; a faulty file stops no program
mkdir -p "$XDG_CONFIG_HOME/narrows"
printf 'box tls://%s\nhost dtn1\ntls-dir %s\n' "$tls" "$hosts" >"$XDG_CONFIG_HOME/narrows/host.conf"
env -u NARROWS_BOX "$bin/nwrun" -n by-file cat "$tmp/data" >"$tmp/copy" || fail "nwrun by host.conf"
until_true 10 sh -c "$bin/narrows -s '$tmp/state' sessions | grep -q ' dtn1 .* by-file '" || fail "host.conf is not read: $(nw sessions)"
env -u NARROWS_BOX "$bin/blipp" -i 100ms --once 2>>"$tmp/blipp.log" || fail "blipp by host.conf: $(cat "$tmp/blipp.log")"
echo "boks x" >>"$XDG_CONFIG_HOME/narrows/host.conf"
[ "$("$bin/nwrun" echo ran 2>"$tmp/why")" = ran ] && grep -q 'host.conf:4: .*: the program runs unmeasured' "$tmp/why" || fail "a faulty host.conf: $(cat "$tmp/why")"
"$bin/blipp" --once 2>"$tmp/why" && fail "blipp with a faulty host.conf"
grep -q 'host.conf:4: ' "$tmp/why" || fail "blipp does not name the fault: $(cat "$tmp/why")"
rm -r "$XDG_CONFIG_HOME/narrows"
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$tmp/stranger" -i 100ms --once 2>"$tmp/why" && fail "a stranger's certificate is taken"
grep -q 'box.unreachable why="the peer.s certificate is not from our CA"' "$tmp/why" || fail "a box of another CA: $(cat "$tmp/why")"
cp "$hosts/ca.crt" "$tmp/stranger/ca.crt"
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$tmp/stranger" -i 100ms --once 2>"$tmp/why" && fail "a stranger is let in"
grep -q 'box.unreachable why="the peer refuses our certificate: it is from a CA' "$tmp/why" || fail "blipp: $(cat "$tmp/why")"

case $B in *release*)                        # a program for the original library, in TLS by the name of its hop alone
	cat >"$tmp/client.c" <<'C'
#include <libxsp_client.h>
int
main(int argc, char **argv)
{
	libxspSess *s = xsp_session();

	if (argc < 2 || xsp_sess_appendchild(s, argv[1], 0) < 0 || xsp_connect(s) < 0 || xsp_send_msg(s, "0123456789", 10, 0x99) < 0)
		return 1;
	xsp_close2(s);
	return 0;
}
C
	${CC:-cc} -Iinclude -o "$tmp/client" "$tmp/client.c" "$B/lib/libnarrows.a" -lbson-1.0 -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread ||
		fail "the original call names do not build"
	before=$(nw health --json | tr -d ' ' | sed -n 's/.*"unknown_options":\([0-9]*\).*/\1/p')
	NARROWS_HOST=dtn1 NARROWS_TLS="$hosts" "$tmp/client" "tls://$tls" || fail "the original calls in TLS"
	until_true 5 sh -c "[ \$('$bin/narrows' -s '$tmp/state' health --json | tr -d ' ' | sed -n 's/.*\"unknown_options\":\([0-9]*\).*/\1/p') -gt $before ]" ||
		fail "its message did not arrive"
	NARROWS_HOST=dtn1 NARROWS_TLS="$tmp" "$tmp/client" "tls://$tls" && fail "the original calls without certificate" ;;
esac

# --- everybody else, one line each ---
sleep 1
cat >"$tmp/peers.py" <<'PY'
import json, os, socket, ssl, struct, subprocess, sys, time, urllib.request
sys.path.insert(0, "tests")
import xsp

tls, url, hosts, stranger, log, narrows, state = sys.argv[1:]
counters = lambda: json.load(urllib.request.urlopen(url + "/healthz"))["counters"]
lines = lambda: open(log, errors="replace").read().count("\n")


class TlsPeer(xsp.Peer):
    def __init__(self, name=None, where=hosts, version=None):
        super().__init__(tls)
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        c.load_verify_locations(hosts + "/ca.crt")
        if name:
            c.load_cert_chain(f"{where}/{name}.crt", f"{where}/{name}.key")
        if version:
            c.minimum_version = c.maximum_version = version
        self.s = c.wrap_socket(self.s, server_hostname="127.0.0.1")


# a good host: cut everywhere, in pieces and at once, stored and acknowledged
p = TlsPeer("dtn1")
assert p.s.version() in ("TLSv1.2", "TLSv1.3"), p.s.version()
assert p.s.version() == "TLSv1.3" or p.s.cipher()[0] == "ECDHE-ECDSA-CHACHA20-POLY1305", p.s.cipher()    # in 1.3 clients choose
whole = xsp.auth(p.sid) + xsp.open_(p.sid)
for i in range(0, len(whole), 7):
    p.send(whole[i:i + 7])
assert p.message()[0] == xsp.ACK
p.hello("tls-1", host="DTN1", task_id="secret-task")
p.app(0x20, xsp.meta("m1"))
for i in range(2000):
    p.app(0x21, xsp.data("m1", i))
assert p.until_stored(2000) == 2000
p.send(xsp.ping_v0(p.sid))
while p.message()[0] != xsp.PONG:
    pass
p.close()
# an original client behind a tunnel says no name: it is the host of its certificate
p = TlsPeer("dtn2").open()
p.app(0x20, xsp.meta("m2", task_id="tunnel"))
p.app(0x21, xsp.data("m2", 0))
p.close()
end = time.time() + 10 * xsp.PATIENCE
while counters()["xsp_sessions_open"] > 0 and time.time() < end:
    time.sleep(0.05)


def refused(what, why, act, rejected=1):
    """act() gets nothing from the box but its end; one line in the log says why, the counter counts."""
    before, at = counters(), lines()
    act()
    end = time.time() + 5 * xsp.PATIENCE
    while counters()["rejected_tls"] < before["rejected_tls"] + rejected and time.time() < end:
        time.sleep(0.02)
    time.sleep(0.05)
    now = counters()
    said = open(log, errors="replace").read().split("\n")[at:-1]
    said = [line for line in said if "peer.reject" in line]
    assert now["rejected_tls"] == before["rejected_tls"] + rejected, (what, before, now)
    assert len(said) == 1 and why in said[0], (what, said)
    assert now["documents"] == before["documents"], what


def shake(**how):
    """In TLS 1.2 the refusal comes within the handshake, in 1.3 after it."""
    try:
        p = TlsPeer(**how)
        p.send(xsp.auth(p.sid) + xsp.open_(p.sid))
        p.message()
    except (ssl.SSLError, EOFError, ConnectionResetError, BrokenPipeError):
        return
    raise AssertionError("let in")


def raw(data):
    p = xsp.Peer(tls)
    p.send(data)
    assert p.ended()


refused("no certificate", "shows no certificate", lambda: shake())
refused("wrong CA", "not from our CA", lambda: shake(name="dtn1", where=stranger))
refused("expired", "has expired", lambda: shake(name="short"))
refused("plain XSP", "plain bytes", lambda: raw(xsp.auth(b"s" * 16) + xsp.open_(b"s" * 16)))
refused("plain HTTP", "plain bytes", lambda: raw(b"GET / HTTP/1.0\r\n\r\n"))
nwrun = subprocess.Popen([os.path.dirname(narrows) + "/nwrun", "-b", tls, "sleep", "30"], stderr=subprocess.PIPE, text=True)
assert "a port for TLS needs tls://" in (said := nwrun.stderr.readline()), said
nwrun.kill()
hello10 = struct.pack(">BHH", 22, 0x0301, 45) + b"\x01\0\0\x29" + b"\x03\x01" + bytes(32) + b"\0" + b"\0\x02\0\x2f" + b"\x01\0"
refused("TLS 1.0", "older than 1.2", lambda: raw(hello10))
refused("noise", "not acceptable", lambda: raw(b"\x16\x03\x03\xff\xff" + os.urandom(4000)))


def other_name():
    p = TlsPeer("dtn1").open()
    p.hello("tls-2", host="dtn2")
    p.app(0x20, xsp.meta("m1", task_id="stolen"))
    p.app(0x21, xsp.data("m1", 0))
    kinds = []
    try:
        while True:
            kinds.append(p.message()[0])
    except (EOFError, ConnectionResetError):
        pass
    assert kinds == [xsp.NACK], kinds


refused("another host's name", "another host than the certificate", other_name)

# limits come before the first byte of XSP
t = time.time()
p = xsp.Peer(tls); p.send(b"\x16\x03\x01")
assert p.ended(8) and 1 < time.time() - t < 6 * xsp.PATIENCE

# changed on the way: the record is not read
p = TlsPeer("dtn1").open()
fd = p.s.detach()
s = socket.socket(fileno=fd)
refused("changed bytes", "changed on the way", lambda: s.sendall(b"\x17\x03\x03\0\x40" + os.urandom(64)))

# revoked while connected: closed within seconds, and not let in again
p = TlsPeer("gone").open()
stays = TlsPeer("dtn1").open()
at = lines()
subprocess.run([narrows, "-s", state, "revoke", "gone"], check=True)
assert p.ended(4)
assert "certificate was revoked" in "".join(open(log).readlines()[at:])
refused("revoked", "was revoked", lambda: shake(name="gone"))
stays.send(xsp.ping_v0(stays.sid)); assert stays.message()[0] == xsp.PONG
stays.close()

# enrolled again it is welcome
subprocess.run([narrows, "-s", state, "enroll", "-o", hosts, "gone"], check=True, stdout=subprocess.DEVNULL)
TlsPeer("gone").open().close()

# many at once
held = [TlsPeer("dtn1").open() for _ in range(60)]
for p in held:
    p.send(xsp.ping_v0(p.sid)); assert p.message()[0] == xsp.PONG
    p.close()
PY
python3 -B "$tmp/peers.py" "$tls" "$url" "$hosts" "$tmp/stranger" "$tmp/box.log" "$bin/narrows" "$tmp/state" || fail "peers"
nw revoke nobody 2>/dev/null && fail "revokes nobody"
nw hosts >"$tmp/said"
[ "$(awk '$1 == "gone" { printf "%s ", $4 }' "$tmp/said")" = "revoked good " ] || fail "hosts: $(cat "$tmp/said")"
[ "$(awk '$1 == "short" { print $4 }' "$tmp/said")" = expired ] || fail "hosts: $(cat "$tmp/said")"

# --- the host is what the certificate says ---
until_true 10 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"SELECT group_concat(DISTINCT host) FROM v_series WHERE meta_mid IN ('m1', 'm2')\" 2>/dev/null)\" ]" || :
[ "$(sql "SELECT group_concat(name) FROM (SELECT name FROM host ORDER BY name)")" = "dtn1,dtn2,gone" ] ||
	fail "hosts: $(sql "SELECT group_concat(name) FROM host")"

# --- the report ---
health=$(curl -sS --max-time $((5 * PATIENCE)) --cacert "$hosts/ca.crt" "$https/healthz") || fail "https: $health"
[ "$health" = "$(curl -sS --max-time $((5 * PATIENCE)) "$url/healthz")" ] || printf '%s\n' "$health" | grep -q '"listen_https"' || fail "https: $health"
curl -sS --max-time $((5 * PATIENCE)) --cacert "$hosts/ca.crt" "$https/" | cmp -s - /dev/null && fail "https: an empty page"
for page in / /style.css /session/last /session/last.csv; do
	curl -sSL --max-time $((10 * PATIENCE)) --cacert "$hosts/ca.crt" "$https$page" >"$tmp/over-tls" || fail "https $page"
	curl -sSL --max-time $((10 * PATIENCE)) "$url$page" >"$tmp/plain" || fail "http $page"
	cmp -s "$tmp/over-tls" "$tmp/plain" || fail "$page differs over TLS"
done
curl -sS --max-time $((5 * PATIENCE)) "$https/" 2>/dev/null && fail "https without our CA"
curl -sS --max-time $((5 * PATIENCE)) --tls-max 1.1 --cacert "$hosts/ca.crt" "$https/" 2>/dev/null && fail "https in TLS 1.1"
begin=$(date +%s)
curl -sS --max-time $((8 * PATIENCE)) "http://${https#https://}/" 2>/dev/null && fail "plain bytes at the https port"
[ $(($(date +%s) - begin)) -le $((3 * PATIENCE)) ] || fail "plain bytes at the https port are not refused at once"
grep -q 'https.reject why="the peer does not speak TLS' "$tmp/box.log" || fail "https.reject is not logged"
pids_curl=
for i in 1 2 3 4 5 6 7 8; do
	curl -sS --max-time $((20 * PATIENCE)) --cacert "$hosts/ca.crt" "$https/session/last.csv" >"$tmp/csv.$i" &
	pids_curl="$pids_curl $!"
done
for p in $pids_curl; do wait "$p" || fail "eight downloads at once"; done
for i in 2 3 4 5 6 7 8; do cmp -s "$tmp/csv.1" "$tmp/csv.$i" || fail "downloads differ"; done

# --- nothing secret in the log, and a new certificate with the next start ---
for key in "$hosts"/*.key "$tmp"/state/tls/*.key; do
	grep -v -e ---- "$key" | while read -r part; do
		grep -q -F -e "$part" "$tmp/box.log" "$tmp/blipp.log" && fail "a part of $key is in the log" || :
	done
done
grep -q -e BEGIN -e secret-task "$tmp/box.log" && fail "secrets in the log"
serial() { nw hosts >/dev/null; cksum <"$tmp/state/tls/box.crt"; }
before=$(serial)
stop_box
start_box -o listen-xsp-tls=127.0.0.1/0
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
[ "$before" != "$(serial)" ] || fail "the box kept its certificate"
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$hosts" -i 100ms --once 2>>"$tmp/blipp.log" || fail "blipp after a restart"
stop_box
[ "$(sql 'pragma integrity_check')" = ok ] || fail "integrity"
