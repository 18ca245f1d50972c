#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One transfer, two boxes: each end reports to the box of its own site, the boxes trust each other by a token, find the transfer by
# its connection, exchange signed windows, and give the same verdict. Planted: a receiver and a sender with a pace of their own.
# Windows that were changed are not used; a connection of a foreign network is refused and counted; a box that is away is told.
. tests/lib.sh
export PATH=/usr/bin:$PATH
pid_A= pid_B=
# box SITE BOUND: a box whose chronyd says that its clock is right within BOUND seconds
box() {
	mkdir -p "$tmp/$1" "$tmp/$1.p" "$tmp/$1.bin"
	printf '#!/bin/sh\necho 7F000001,,1,0,0,0,0,0,0,0,0,%s,0,Normal\n' "$2" >"$tmp/$1.bin/chronyc"
	chmod +x "$tmp/$1.bin/chronyc"
	PATH=$tmp/$1.bin:$PATH "$bin/narrowsd" -f /dev/null -d -o state-dir="$tmp/$1" -o session-linger=1s -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 2>>"$tmp/$1.log" &
	pids="$pids $!"
	until_true 10 test -f "$tmp/$1/narrowsd.run" || fail "box $1 does not start"
	eval "xsp_$1=$(sed -n 's/^xsp //p' "$tmp/$1/narrowsd.run") url_$1=http://$(sed -n 's/^http //p' "$tmp/$1/narrowsd.run" | tr / :)"
}
# conf SITE PORT
conf() { printf '%s\n' "site $1" "address 127.0.0.1/$2" "listen 127.0.0.1/$2" "directory $tmp/$1.p" "interval 300ms" "patience 10m" >"$tmp/$1.conf"; }
# partner SITE ARGUMENT ...
partner() { site=$1; shift; "$bin/narrows" -s "$tmp/$site" partner -f "$tmp/$site.conf" "$@"; }
# serve SITE: sets pid_SITE
serve() {
	rm -f "$tmp/$1.ready"
	"$bin/narrows" -s "$tmp/$1" partner -f "$tmp/$1.conf" run >"$tmp/$1.ready" 2>>"$tmp/$1.partner.log" &
	eval "pid_$1=$!"
	pids="$pids $!"
	until_true 10 test -s "$tmp/$1.ready" || fail "partner run of $1: $(cat "$tmp/$1.partner.log")"
}
end_serve() { kill "$1" && wait "$1" || fail "partner run ended with status $?"; }
ports=$(python3 -c '
import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
box A 0.03
box B 0.07
conf A "${ports% *}"
conf B "${ports#* }"
serve A

# --- trust ---
token=$(partner A invite B 127.2.0.0/16 2>"$tmp/err") || fail "invite: $(cat "$tmp/err")"
grep -q "narrows partner join 127.0.0.1/${ports% *} TOKEN" "$tmp/err" || fail "invite says $(cat "$tmp/err")"
! partner B join "127.0.0.1/${ports% *}" "${token%????}0000" 127.1.0.0/16 2>"$tmp/err" || fail "a wrong token joins"
grep -q "the token is unknown" "$tmp/err" || fail "wrong token: $(cat "$tmp/err")"
! partner B join "127.0.0.1/${ports% *}" "0000${token#????}" 127.1.0.0/16 2>"$tmp/err" || fail "another pin joins"
grep -q "another machine answers" "$tmp/err" || fail "wrong pin: $(cat "$tmp/err")"
partner B join "127.0.0.1/${ports% *}" "$token" 127.1.0.0/16 2>"$tmp/err" || fail "join: $(cat "$tmp/err")"
! partner B join "127.0.0.1/${ports% *}" "$token" 127.1.0.0/16 2>/dev/null || fail "a token joins twice"
partner A list | grep -qx "B  127.0.0.1/${ports#* }  127.2.0.0/16" || fail "list: $(partner A list)"
partner B list | grep -qx "A  127.0.0.1/${ports% *}  127.1.0.0/16" || fail "list: $(partner B list)"

# --- transfers ---
cat >"$tmp/send.py" <<'PY'
import socket, sys, time
s = socket.socket()
s.bind((sys.argv[1], 0))
s.connect((sys.argv[2], int(sys.argv[3])))
pause, block, end = float(sys.argv[4]), bytes(65536), time.time() + float(sys.argv[5])
while time.time() < end:
    s.sendall(block)
    time.sleep(pause)
PY
cat >"$tmp/receive.py" <<'PY'
import socket, sys, time
l = socket.socket()
l.bind((sys.argv[1], 0))
l.listen()
open(sys.argv[2] + ".new", "w").write(str(l.getsockname()[1]))
import os; os.rename(sys.argv[2] + ".new", sys.argv[2])
c, pause = l.accept()[0], float(sys.argv[3])
while c.recv(65536):
    time.sleep(pause)
PY
# transfer FROM TO PAUSE_OF_SENDER PAUSE_OF_RECEIVER
transfer() {
	rm -f "$tmp/port"
	"$bin/nwrun" -q -b "$xsp_B" -H dtn -n receive python3 "$tmp/receive.py" "$2" "$tmp/port" "$4" &
	receiver=$!
	until_true 10 test -s "$tmp/port" || fail "the receiver does not listen"
	"$bin/nwrun" -q -b "$xsp_A" -H dtn -n send python3 "$tmp/send.py" "$1" "$2" "$(cat "$tmp/port")" "$3" 4 || fail "send"
	wait $receiver || fail "receive"
}
json() { "$bin/narrows" -s "$tmp/$1" report --json "$2" 2>/dev/null; }
# judged SITE SESSION: has a verdict after its end
judged() { [ "$(sqlite3 -readonly "$tmp/$1/narrows.db" "SELECT count(*) FROM result r JOIN session s ON s.id = r.session_id WHERE s.id = $2 AND s.closed_ns IS NOT NULL")" = 1 ]; }
# joined SITE SESSION PARTNER: both ends are in the verdict
joined() { judged "$1" "$2" && json "$1" "$2" | grep -q "dtn@$3"; }
verdict() { json "$1" "$2" | verdict_of; }
verdict_of() { python3 -c '
import json, sys
d = json.load(sys.stdin)
v = d["verdict"]
print(v["stage"], v["confidence"], v["effect"], v["effect_low"] if "effect_low" in v else "", sorted((s["stage"], s["free_share"]) for s in d["bottleneck"]["stages"]))'; }

# both SESSION: each box has both ends, and they say the same
both() {
	for site in A B; do
		until_true 30 joined $site "$1" "$(other $site)" || fail "$site without the end of $(other $site): $(cat "$tmp/$site.partner.log" "$tmp/$site.log")"
	done
	[ "$(verdict A "$1")" = "$(verdict B "$1")" ] || fail "session $1: A says $(verdict A "$1"), B says $(verdict B "$1")"
}
other() { [ "$1" = A ] && echo B || echo A; }
rows() { sqlite3 -readonly "$tmp/$1/narrows.db" "$2"; }

# --- the partner is away: its site is told, and nothing waits ---
transfer 127.1.0.1 127.2.0.1 0 0.002
until_true 15 judged A 1 && until_true 15 judged B 1 || fail "no verdict of one end"
page_says() { curl -s "$1/session/$2" | grep -q "$3"; }
until_true 15 page_says "$url_A" 1 "The box of B does not answer: this verdict is what this box alone can say" || fail "A does not tell that B is away: $(cat "$tmp/A.partner.log")"
! json A 1 | grep -q "dtn@B" || fail "A has the other end alone"
serve B
both 1
verdict A 1 | grep -q '^receiver.host ' || fail "a slow receiver: $(verdict A 1)"
for site in A B; do
	eval "page_says \"\$url_$site\" 1 'The box of $(other $site) measured dtn@$(other $site): .* signed.'" || fail "$site does not tell what the other contributed"
	eval "page_says \"\$url_$site\" 1 'Its clock is right within [37]0.*ms, the clock of this box is right within [37]0.*ms: .* the larger, 70.*ms'" || fail "$site does not tell both clocks"
	"$bin/narrows" -s "$tmp/$site" report 1 >"$tmp/said" || fail "report of $site"
	grep -q "^The box of $(other $site) measured dtn@$(other $site): .* signed\..* Its clock is right within .* the larger, 70.*ms\.$" "$tmp/said" || fail "the report of $site: $(cat "$tmp/said")"
	json $site 1 | python3 -c '
import json, sys
bounds = [h["clock"]["bound_s"] for h in json.load(sys.stdin)["session"]["hosts"]]
assert len(bounds) == 2 and all(abs(b - 0.07) < 1e-6 for b in bounds), bounds' 2>"$tmp/err" || fail "the larger bound does not count on $site: $(tail -n 1 "$tmp/err")"
	eval "curl -s \"\$url_$site/metrics\"" | grep -q '^narrows_partner_joins_total 1$' || fail "$site counts no session"
done
[ "$(rows A "SELECT group_concat(DISTINCT name) FROM host WHERE name LIKE 'dtn%'")" = "dtn,dtn@B" ] || fail "hosts of A: $(rows A "SELECT name FROM host")"
[ "$(rows A "SELECT count(DISTINCT x.session_id) FROM xsp_session x JOIN host h ON h.id = x.host_id WHERE h.name = 'dtn'")" = 1 ] || fail "the partner fed a host of A"

transfer 127.1.0.1 127.2.0.1 0.004 0
both 2
verdict A 2 | grep -q '^sender.host ' || fail "a slow sender: $(verdict A 2)"

# --- signatures: each box keeps what it sent and took, and a changed byte is found ---
for file in A.p/windows/1.B.taken A.p/windows/2.B.sent B.p/windows/2.A.taken; do
	partner "${file%%.*}" verify "$tmp/$file" >"$tmp/said" 2>&1 || fail "$file: $(cat "$tmp/said")"
	grep -q '"clock":.*"ends":\[\["127.*"signed"\|"site":"[AB]".*"to":"[AB]"' "$tmp/said" || fail "$file: $(cat "$tmp/said")"
done
cmp -s "$tmp/A.p/windows/2.B.sent" "$tmp/B.p/windows/2.A.taken" || fail "windows changed on the way"
# --- either site computes the verdict again, from what it sent and took ---
for site in A B; do
	partner $site judge -j "$tmp/$site.p/windows/2.$(other $site).sent" "$tmp/$site.p/windows/2.$(other $site).taken" >"$tmp/again" 2>"$tmp/err" || fail "judge on $site: $(cat "$tmp/err")"
	[ "$(verdict_of <"$tmp/again")" = "$(verdict $site 2)" ] || fail "$site judges again: $(verdict_of <"$tmp/again"), and before: $(verdict $site 2)"
	partner $site judge "$tmp/$site.p/windows/2.$(other $site).sent" "$tmp/$site.p/windows/2.$(other $site).taken" >"$tmp/again" || fail "judge on $site"
	grep -q '^The sending program .*dtn' "$tmp/again" && grep -q '^Confidence: ' "$tmp/again" || fail "judge says $(cat "$tmp/again")"
done
! partner A judge "$tmp/A.p/windows/1.B.sent" "$tmp/A.p/windows/2.B.taken" 2>"$tmp/err" || fail "windows of two transfers are judged"
grep -q "not the windows of both sites of one transfer" "$tmp/err" || fail "two transfers: $(cat "$tmp/err")"

# changed FILE: a copy with one bit of a document changed, and a length as before
changed() { python3 -c '
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[b.index(b"\n") + len(b) // 2] ^= 1
sys.stdout.buffer.write(b)' "$1"; }
changed "$tmp/A.p/windows/1.B.taken" >"$tmp/changed"
! partner A verify "$tmp/changed" 2>"$tmp/err" || fail "changed windows are good"
grep -q "the windows were changed" "$tmp/err" || fail "changed windows: $(cat "$tmp/err")"

# --- a hostile partner: B's own key behind windows that were changed, and windows of another transfer ---
end_serve "$pid_B"
cat >"$tmp/hostile.py" <<'PY'
import socket, ssl, sys
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain(sys.argv[1] + "/self.crt", sys.argv[1] + "/self.key")
body = open(sys.argv[3], "rb").read()
l = socket.create_server(("127.0.0.1", int(sys.argv[2])))
while True:
    s, _ = l.accept()
    try:
        t = c.wrap_socket(s, server_side=True)
        t.recv(65536)
        t.sendall(b'{"state":"windows","bytes":%d}\n' % len(body) + body)
        t.unwrap()
    except OSError:
        pass
PY
python3 "$tmp/hostile.py" "$tmp/B.p" "${ports#* }" "$tmp/changed" &
hostile=$!
pids="$pids $hostile"
transfer 127.1.0.1 127.2.0.1 0 0.002
until_true 30 page_says "$url_A" 3 "Windows of the box of B were not used: the windows were changed" || fail "changed windows are used: $(cat "$tmp/A.partner.log")"
kill $hostile
wait $hostile 2>/dev/null || :
python3 "$tmp/hostile.py" "$tmp/B.p" "${ports#* }" "$tmp/A.p/windows/1.B.taken" &
pids="$pids $!"
hostile=$!
until_true 30 page_says "$url_A" 3 "Windows of the box of B were not used: the windows are of another transfer" || fail "windows of another transfer are used: $(cat "$tmp/A.partner.log")"
! json A 3 | grep -q "dtn@B" || fail "windows of a hostile partner are in the verdict"
kill $hostile
wait $hostile 2>/dev/null || :
serve B
both 3

# --- a connection from a network that is not registered for the asker ---
transfer 127.3.0.1 127.2.0.1 0 0.002
until_true 30 page_says "$url_A" 4 "The box of B \\(refuses\\|measured\\)" || fail "B does not answer: $(cat "$tmp/A.partner.log")"
page_says "$url_A" 4 "The box of B refuses: a connection from outside of the networks registered for the asker" || fail "B does not refuse: $(cat "$tmp/A.partner.log")"
curl -s "$url_B/metrics" | grep -q '^narrows_partner_refusals_total [1-9]' || fail "B counts no refusal"
! json A 4 | grep -q "dtn@B" || fail "A has windows that B refuses"

# --- a partner asks so often in a minute and no more, and takes no room of others ---
cat >"$tmp/often.py" <<'PY'
import json, socket, ssl, sys
def ask(key):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    c.load_cert_chain(key + "/self.crt", key + "/self.key")
    with socket.create_connection(("127.0.0.1", int(sys.argv[3])), 10) as s, c.wrap_socket(s) as t:
        t.sendall(b'{"ask":"nothing"}\n')
        return json.loads(t.makefile().readline())["why"]
said = []
while len(said) < 125 and "too many questions: ask again in a minute" not in said:  # a minute may end in between
    said.append(ask(sys.argv[1]))
print(set(said[:-1]), said[-1], ask(sys.argv[2]))
PY
python3 "$tmp/often.py" "$tmp/A.p" "$tmp/B.p" "${ports#* }" >"$tmp/said" 2>&1 || fail "asking often: $(cat "$tmp/said")"
grep -qx "{'no question of a box'} too many questions: ask again in a minute not a partner" "$tmp/said" || fail "the rate of a partner: $(cat "$tmp/said")"

# --- a partner that is removed is a stranger ---
partner B remove A
! partner B remove A 2>/dev/null || fail "removed twice"
partner B list | grep -qx "no partners" || fail "list: $(partner B list)"
transfer 127.1.0.1 127.2.0.1 0 0.002
until_true 30 page_says "$url_A" 5 "The box of B \\(refuses\\|measured\\)" || fail "B does not answer: $(cat "$tmp/A.partner.log")"
page_says "$url_A" 5 "The box of B refuses: not a partner" || fail "a stranger is answered: $(cat "$tmp/A.partner.log")"
end_serve "$pid_A"
