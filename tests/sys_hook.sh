#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Webhooks: another verdict, a slower route, silence, a lost clock, a full disk, a box that is gone, and the return of each are
# posted once, signed, and again until somebody takes them.
. tests/lib.sh
mkdir "$tmp/hooks"
cat >"$tmp/receiver.py" <<'PY'
import hashlib, hmac, http.server, os, sys
folder = sys.argv[1]
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        t, v1 = (p.split("=")[1] for p in self.headers["Narrows-Signature"].split(","))
        good = hmac.new(b"our secret", t.encode() + b"." + body, hashlib.sha256).hexdigest() == v1
        if os.path.exists(folder + "/broken"):
            self.send_response(500)
        else:
            with open(folder + "/got", "a") as f:
                f.write("%s %s %s %s %s\n" % (self.path, self.headers["Narrows-Event"], good, self.headers["Narrows-Delivery"], body.decode()))
            self.send_response(204)
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 -B "$tmp/receiver.py" "$tmp" >"$tmp/port" &
pids="$pids $!"
until_true 10 test -s "$tmp/port" || fail "no receiver"
echo 'our secret' >"$tmp/secret"
cat >"$tmp/hooks/chat.conf" <<END
url http://127.0.0.1:$(cat "$tmp/port")/in?channel=1
secret-file $tmp/secret
END
cat >"$tmp/hooks/other.conf" <<END
url http://127.0.0.1:$(cat "$tmp/port")/other
secret-file $tmp/secret
events health
END
start_box
hook() { nw hook -d "$tmp/hooks" -m "$tmp/memory" "$@"; }
look() { hook -1 run 2>"$tmp/err" || fail "look: $(cat "$tmp/err")"; }
: >"$tmp/got"

# --- by hand ---
hook test chat >/dev/null || fail "test"
grep -q '^/in?channel=1 test True test {"event":"test",' "$tmp/got" || fail "test: $(cat "$tmp/got")"
hook list | grep -q '^other .*(health; routes: any; signed)' || fail "list: $(hook list)"
! hook test nobody 2>/dev/null || fail "a hook that is not there"
: >"$tmp/got"

# --- another verdict of the same route ---
# run STAGE: a session of dd, whose verdict is then made sure: on a busy machine no stage would be
run() {
	"$bin/nwrun" -H dtn1 dd if=/dev/zero of="$tmp/file" bs=64k count=500 2>/dev/null || fail "nwrun"
	runs=$((runs + 1))
	judged_await $runs
	sqlite3 -cmd '.timeout 9000' "$tmp/state/narrows.db" "UPDATE result SET stage = '$1', confidence = 'high' WHERE session_id =
		(SELECT max(id) FROM session)" >/dev/null || fail "the verdict cannot be set"
}
runs=0
judged() { curl -sS "$url/sessions.json" | python3 -c 'import json, sys; print(sum(s["analysed"] and s["state"] == "closed" for s in json.load(sys.stdin)["sessions"]))'; }
are_judged() { [ "$(judged)" = "$1" ]; }
# judged_await N: until so many sessions are over and have their verdict
judged_await() { until_true 20 are_judged "$1" || fail "not $1 sessions"; }
run host
look
[ ! -s "$tmp/got" ] || fail "the first look tells: $(cat "$tmp/got")"
run host
look
[ ! -s "$tmp/got" ] || fail "the same verdict is told: $(cat "$tmp/got")"
run disk.write
touch "$tmp/broken"
look
[ ! -s "$tmp/got" ] || fail "a broken receiver took something"
grep -q 'hook chat: .*the answer is 500' "$tmp/err" || fail "no word of the failure: $(cat "$tmp/err")"
rm "$tmp/broken"
look
[ ! -s "$tmp/got" ] || fail "posted again at once"
sed -i 's/"due":[0-9]*/"due":0/' "$tmp/memory"
look
look
[ "$(grep -c . "$tmp/got")" = 1 ] || fail "not once: $(cat "$tmp/got")"
grep -q '^/in?channel=1 verdict.changed True [0-9a-f]\{32\} .*"stage":"disk.write".*"stage_before":"host"' "$tmp/got" || fail "event: $(cat "$tmp/got")"

grep -q '"link":"http://[^"]*/session/3"' "$tmp/got" || fail "no link: $(cat "$tmp/got")"

# --- the box goes and comes back ---
: >"$tmp/got"
stop_box
look
look
grep -c 'health.lost True .*"part":"box"' "$tmp/got" | grep -qx 2 || fail "a box that is gone: $(cat "$tmp/got")"
start_box -o "expect=30d mover a -> b"
: >"$tmp/got"
look
look
grep -c 'health.back True .*"part":"box"' "$tmp/got" | grep -qx 2 || fail "a box that is back: $(cat "$tmp/got")"

# --- a session that was missing is not any more: a hook that asked for health alone hears nothing of it ---
: >"$tmp/got"
sed -i 's/"session":/"missing":{"mover a -> b":true},"session":/' "$tmp/memory"
"$bin/narrows" -u "$url" hook -d "$tmp/hooks" -m "$tmp/memory" -1 run || fail "look by URL"
grep -q '^/in?channel=1 session.back True .*"program":"mover"' "$tmp/got" && [ "$(grep -c . "$tmp/got")" = 1 ] ||
	fail "session.back: $(cat "$tmp/got")"

# --- all other events: a messenger between hook and box brings the box's answers with one thing changed ---
cat >"$tmp/messenger.py" <<'PY'
import http.server, json, os, sys, urllib.error, urllib.request
box, folder = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
class Messenger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            r = opener.open(box + self.path)
        except urllib.error.HTTPError as e:
            r = e
        body, kind = r.read(), r.headers["Content-Type"]
        lie = folder + "/lie"
        if kind == "application/json" and os.path.exists(lie):
            doc = json.loads(body)
            exec(open(lie).read())
            body = json.dumps(doc).encode()
        self.send_response(r.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Messenger)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 -B "$tmp/messenger.py" "$url" "$tmp" >"$tmp/messenger" &
pids="$pids $!"
until_true 10 test -s "$tmp/messenger" || fail "no messenger"
"$bin/blipp" -b "$xsp" -H dtn9 -o probes=cpu -i 1s >/dev/null 2>"$tmp/blipp.log" &
pids="$pids $!"
heard() { curl -sS "$url/api/v1/collectors" | grep -q '"host": "dtn9"'; }
until_true 20 heard || fail "no collector reports: $(cat "$tmp/blipp.log")"
look_through() { "$bin/narrows" -u "http://127.0.0.1:$(cat "$tmp/messenger")" hook -d "$tmp/hooks" -m "$tmp/memory" -1 run 2>"$tmp/err" || fail "look: $(cat "$tmp/err")"; }
# told NAME PATTERN LIE: with the lie the event is posted, signed, once, and not again
told() {
	: >"$tmp/got"
	printf '%s\n' "$3" >"$tmp/lie"
	look_through
	look_through
	grep -q "^/in?channel=1 $1 True .*$2" "$tmp/got" || fail "$1: $(cat "$tmp/got")"
	[ "$(grep -c "^/in?channel=1 " "$tmp/got")" = 1 ] || fail "$1 is not alone, or told twice: $(cat "$tmp/got")"
	# each link leads to a page of the box
	sed -n 's/.*"link":"\([^"]*\)".*/\1/p' "$tmp/got" | sed "s|^http://[^/]*|$url|" >"$tmp/links"
	[ -s "$tmp/links" ] || fail "$1 has no link: $(cat "$tmp/got")"
	while read -r link; do curl -sfS -o /dev/null "$link" || fail "$1: $link"; done <"$tmp/links"
}
: >"$tmp/lie"
look_through
told collector.silent '"host":"dtn9"' 'if "started" in doc: doc["started"] = "2026-01-01T00:00:00Z"
for c in doc.get("collectors", []): c["at"] = __import__("datetime").datetime.fromtimestamp(__import__("time").time() - 900, __import__("datetime").timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")'
told collector.back '"host":"dtn9"' ''
told clock.lost 'not synchronised any more' 'if "parts" in doc: doc["parts"]["clock"] = "the clock is not synchronised any more, for 50 s"'
told clock.back '"why":"ok"' 'if "clock" in doc: doc["clock"]["synchronised"] = True'
told health.lost '"part":"disk".*are free' 'if "parts" in doc: doc["parts"]["disk"] = "1 MB are free"'
told health.back '"part":"disk"' ''
told session.missing '"program":"mover"' 'for e in doc.get("expected", []): e["missing"] = True'
told session.back '"program":"mover"' ''
: >"$tmp/lie"
run disk.write
told slower.begins '"usual":1.7' 'for s in doc.get("sessions", []): s.update(usual=1.7, stage="disk.write")'
: >"$tmp/lie"
run disk.write
told slower.ends '"usual":1.1' 'for s in doc.get("sessions", []): s.update(usual=1.1, stage="disk.write")'

# --- a receiver that drips its answer, whose name comes first, delays its own events alone ---
cat >"$tmp/drip.py" <<'PY'
import socket, sys, threading, time
def drip(c):
    try:
        c.recv(9999)
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            c.sendall(b"X")
            time.sleep(0.1)
    except OSError:
        open(sys.argv[1], "a").write("gone\n")
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=drip, args=(server.accept()[0],), daemon=True).start()
PY
python3 -B "$tmp/drip.py" "$tmp/dripped" >"$tmp/drip" &
pids="$pids $!"
until_true 10 test -s "$tmp/drip" || fail "no dripping receiver"
printf 'url http://127.0.0.1:%s/\nsecret-file none\ntimeout 600s\n' "$(cat "$tmp/drip")" >"$tmp/hooks/a-drip.conf"
: >"$tmp/got"
"$bin/narrows" -s "$tmp/state" hook -d "$tmp/hooks" -m "$tmp/memory" -i 200ms run 2>"$tmp/err" &
hooking=$!
pids="$pids $hooking"
parts() { grep -c "^/in?channel=1 health.$1 True .*\"part\":\"box\"" "$tmp/got" | grep -qx "$2"; }
for round in 1 2; do
	stop_box
	until_true 20 parts lost $round || fail "one receiver's dripping stops the others: $(cat "$tmp/got" "$tmp/err")"
	start_box
	until_true 20 parts back $round || fail "one receiver's dripping stops the others: $(cat "$tmp/got" "$tmp/err")"
done
[ ! -e "$tmp/dripped" ] || fail "the slow post ended before its time: $(cat "$tmp/err")"
kill $hooking
wait $hooking || fail "hook run ended with status $? $(cat "$tmp/err")"
until_true 10 test -e "$tmp/dripped" || fail "the post outlives the program"
grep -o '"a-drip":\[.*\]' "$tmp/memory" | grep -q health.back || fail "the slow receiver's events are not kept"
# the whole exchange has one end, however often a byte comes
sed -i 's/600s/1s/' "$tmp/hooks/a-drip.conf"
! hook test a-drip 2>"$tmp/err" || fail "half an answer is taken"
grep -q "no whole answer within the hook's timeout" "$tmp/err" || fail "no reason: $(cat "$tmp/err")"

# --- what is wrong is said ---
echo 'uri http://x' >"$tmp/hooks/bad.conf"
! hook list 2>"$tmp/err" || fail "a wrong directive"
grep -q 'bad.conf:1' "$tmp/err" || fail "where: $(cat "$tmp/err")"
echo 'url ftp://x' >"$tmp/hooks/bad.conf"
! hook list 2>"$tmp/err" || fail "a wrong url"
