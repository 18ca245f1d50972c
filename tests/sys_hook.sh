#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Webhooks: another verdict, a box that is not well and well again are posted once, signed, and again until somebody takes them.
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

# --- what is wrong is said ---
echo 'uri http://x' >"$tmp/hooks/bad.conf"
! hook list 2>"$tmp/err" || fail "a wrong directive"
grep -q 'bad.conf:1' "$tmp/err" || fail "where: $(cat "$tmp/err")"
echo 'url ftp://x' >"$tmp/hooks/bad.conf"
! hook list 2>"$tmp/err" || fail "a wrong url"
