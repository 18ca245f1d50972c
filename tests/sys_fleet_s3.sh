#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A fleet in a bucket, against npm's s3rver: two sites put their days by signed requests; the objects are the files of a fleet in a
# directory, byte for byte; a server that is away, a wrong secret, a day that empties, deleted sessions; questions by DuckDB. s3rver
# looks at no signature: a proxy before it does, and gives each key the prefix of its site, as a policy of a bucket does.
. tests/lib.sh
command -v node >/dev/null || skip "node is not installed"
js=${NARROWS_S3_JS:-}
if [ -z "$js" ] && command -v npm >/dev/null 2>&1 && (mkdir "$tmp/js" && cd "$tmp/js" && timeout 120 npm install --silent --no-audit --no-fund s3rver@3 >/dev/null 2>&1); then
	js=$tmp/js
fi
[ -n "$js" ] || skip "neither npm nor NARROWS_S3_JS leads to s3rver"
ports=$(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(x.getsockname()[1] for x in s))')
port=${ports% *} behind=${ports#* }
cat >"$tmp/proxy.py" <<'PY'
# Signature Version 4 as the S3 API reference specifies it
import hashlib, hmac, http.client, http.server, re, sys
secrets, behind = {"key-a": "secret of a", "key-b": "secret of b"}, int(sys.argv[2])
def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
class Proxy(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def good(self, body):
        m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, *SignedHeaders=([^,]+), *Signature=(\w+)", self.headers.get("Authorization", ""))
        if not m or m[1] not in secrets or self.headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return None
        signed = m[4].split(";")
        if "host" not in signed or "x-amz-date" not in signed or "x-amz-content-sha256" not in signed:
            return None
        canonical = "\n".join([self.command, self.path, ""] + [f"{h}:{self.headers[h].strip()}" for h in signed] + ["", m[4], self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], f"{m[2]}/{m[3]}/s3/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + secrets[m[1]]).encode()
        for part in (m[2], m[3], "s3", "aws4_request"):
            key = mac(key, part)
        return m[1] if hmac.compare_digest(mac(key, text).hex(), m[5]) else None
    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.good(body)
        if key is None or (not self.path.startswith(f"/fleet/sites/{key[-1]}/") and not (key == "key-b" and self.command == "GET")):
            status, answer = 403, b"<Code>AccessDenied</Code>"
        else:
            c = http.client.HTTPConnection("127.0.0.1", behind)
            c.request(self.command, self.path, body)
            r = c.getresponse()
            status, answer = r.status, r.read()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    do_GET = do_PUT = do_DELETE = serve
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Proxy).serve_forever()
PY
python3 "$tmp/proxy.py" "$port" "$behind" 2>"$tmp/proxy.log" &
pids="$pids $!"
start_server() {
	(cd "$js" && exec node node_modules/s3rver/bin/s3rver.js -d "$tmp/bucket" -p "$behind" --configure-bucket fleet >>"$tmp/s3.log" 2>&1) &
	server=$!
	pids="$pids $server"
	until_true 20 curl -s -o /dev/null "http://127.0.0.1:$behind/" || fail "s3rver does not start: $(cat "$tmp/s3.log")"
}
start_server
start_box
stop_box
for site in a b; do echo "secret of $site" >"$tmp/secret.$site"; done
chmod 600 "$tmp"/secret.*
for site in a b; do
	mkdir "$tmp/$site"
	cp "$tmp/state/narrows.db" "$tmp/$site/narrows.db"
	python3 - "$tmp/$site/narrows.db" $site <<'PY'
import sqlite3, sys
db, site = sqlite3.connect(sys.argv[1]), sys.argv[2]
for i in range(1, 61):
    t = (20000 * 86400 + i % 3 * 86400 + i) * 10**9
    db.execute("INSERT INTO session(id, opened_ns, closed_ns) VALUES (?, ?, ?)", (i, t, t + 5))
    db.execute("INSERT INTO run(id, session_id, kind, started_ns) VALUES (?, ?, 'verdict', ?)", (i, i, t + 9))
    db.execute("INSERT INTO result(session_id, run_id, route, stage, sentence, bytes_per_s, start_ns, host_id) VALUES (?,?,?,?,?,?,?,0)", (i, i, "x -> y", "network", f"words-of-{site}-{i}", i * 1e6, t))
db.commit()
PY
	printf '%s\n' "site $site" "fleet s3://127.0.0.1:$port/fleet/sites/" "user key-$site" "password-file $tmp/secret.$site" "days $tmp/days" "take a" "take b" "take c" >"$tmp/$site.conf"
done
fl() { box=$1; shift; "$bin/narrows" -s "$tmp/$box" fleet -f "$tmp/$box.conf" -m "$tmp/$box.memory" "$@" 2>"$tmp/err"; }
# object NAME: as the bucket has it
object() { find "$tmp/bucket" -path "*sites/$1*_object" | head -n 1; }
same() {
	for f in "$tmp"/days/$1/*.parquet "$tmp"/days/$1/manifest.json; do
		cmp "$f" "$(object "$1/${f##*/}")" || fail "${f##*/} differs: $(find "$tmp/bucket" | head -n 30)"
	done
	[ "$(find "$tmp/bucket" -path "*sites/$1/*_object" | wc -l)" = "$(find "$tmp/days/$1" -name '*.parquet' -o -name manifest.json | wc -l)" ] || fail "other objects: $(find "$tmp/bucket")"
}

# --- both put their days ---
for site in a b; do
	fl $site push >"$tmp/said" || fail "push: $(cat "$tmp/err" "$tmp/proxy.log")"
	grep -qx '60 sessions sent, 0 stay here.' "$tmp/said" || fail "$(cat "$tmp/said")"
	same $site
done

# --- away: a later push makes it good; a wrong secret is refused ---
kill $server
wait $server 2>/dev/null || :
sqlite3 "$tmp/a/narrows.db" "INSERT INTO run(id, session_id, kind, started_ns) SELECT 900, 3, 'verdict', 1 + started_ns FROM run WHERE id = 3;
	UPDATE result SET stage = 'host', run_id = 900 WHERE session_id = 3"
! fl a push >/dev/null || fail "a bucket that is away took a day"
start_server
echo wrong >"$tmp/secret.a"
! fl a push >/dev/null || fail "a wrong secret"
grep -q 403 "$tmp/err" || fail "why: $(cat "$tmp/err")"
! grep -q wrong "$tmp/err" "$tmp/a.memory" || fail "a secret is told"
echo "secret of a" >"$tmp/secret.a"
fl a push >/dev/null || fail "push: $(cat "$tmp/err")"
same a

# --- a key has its prefix: a writes, deletes and reads nothing of b ---
sed "s/^site a/site b/; s|^days .*|days $tmp/lies|" "$tmp/a.conf" >"$tmp/liar.conf"
for what in "--all push" "delete all" sites; do
	# shellcheck disable=SC2086
	! "$bin/narrows" -s "$tmp/a" fleet -f "$tmp/liar.conf" -m "$tmp/liar.memory" $what >/dev/null 2>"$tmp/err" || fail "a, as b: $what"
	grep -q AccessDenied "$tmp/err" || fail "why: $(cat "$tmp/err")"
done
same b

# --- deleted, until a day is empty ---
grep -aq . "$(object a/2024-10-05)" || fail "no object"
fl a delete $(seq 1 3 58) || fail "delete: $(cat "$tmp/err")" # those of the second day
[ "$(find "$tmp/days/a" -name '*.parquet' | wc -l)" = 2 ] || fail "days: $(ls "$tmp/days/a")"
same a
rm "$tmp/a.memory"
fl a --all push >/dev/null || fail "push: $(cat "$tmp/err")"
[ "$(find "$tmp/days/a" -name '????-??-??.parquet' | wc -l) $(find "$tmp/days/a" -name '*.level.parquet' | wc -l)" = "2 2" ] || fail "deleted sessions are back: $(ls "$tmp/days/a")"

# --- questions ---
for url in s3://127.0.0.1:1 s3:///bucket; do
	sed "s|^fleet .*|fleet $url|" "$tmp/a.conf" >"$tmp/wrong.conf"
	! "$bin/narrows" -s "$tmp/a" fleet -f "$tmp/wrong.conf" sites 2>/dev/null || fail "taken: $url"
done
duck=${NARROWS_DUCKDB:-}
[ -n "$duck" ] || { echo "untested: no question is asked without NARROWS_DUCKDB, which sys_fleet_parquet does"; exit 0; }
echo "duckdb-library $duck" >>"$tmp/b.conf"
[ "$(fl b --csv query "SELECT site, count(*), min(sentence) FROM session GROUP BY site ORDER BY site" | tail -n +2 | tr -d '\r"' | tr '\n' ' ')" = "a,40,words-of-a-11 b,60,words-of-b-1 " ] || fail "question: $(fl b query "SELECT site, count(*), min(sentence) FROM session GROUP BY site") $(cat "$tmp/err")"
[ "$(fl b --csv sites | tail -n +2 | cut -d, -f 1 | sort | tr '\n' ' ')" = "a b " ] || fail "sites: $(fl b sites)"
