#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two real XRootD servers with the lines of narrows attach: copies out, in and from server to server, by root and HTTP, become
# sessions with the bytes of the files. No stage is named from XRootD alone, no upload by HTTP has 0 bytes, and names are hidden.
. tests/lib.sh

command -v xrootd >/dev/null && command -v xrdcp >/dev/null || skip "no XRootD is installed"

start_box -o session-linger=1s -o listen-announcements=127.0.0.1/0 -o announce-from=127.0.0.0/8 -o announce-hide=users -o take-traces=yes
nw attach xrootd --box 127.0.0.1 >"$tmp/lines" || fail "attach"
chmod 711 "$tmp"
size=31457280
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid 65534 --regid 65534 --clear-groups"
free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
for s in a b; do
	mkdir -p "$tmp/$s/data" "$tmp/$s/admin"
	eval "root_$s=$(free_port) http_$s=$(free_port)"
	eval "root=\$root_$s http=\$http_$s"
	# shellcheck disable=SC2154
	{
		printf '%s\n' "xrd.port $root" "xrd.network nodnr" "all.export /" "all.adminpath $tmp/$s/admin" "all.pidpath $tmp/$s/admin" \
		    "oss.localroot $tmp/$s/data" "xrd.protocol XrdHttp:$http libXrdHttp.so" "ofs.tpc pgm /usr/bin/xrdcp --server"
		cat "$tmp/lines"
	} >"$tmp/$s/cf"
done
head -c $size /dev/urandom >"$tmp/a/data/big"
# a file of its own: XRootD tells when a file was opened in whole seconds, so two copies of one within a second could be either
for f in third traced later; do
	cp "$tmp/a/data/big" "$tmp/a/data/$f"
done
chmod -R 777 "$tmp/a" "$tmp/b"
for s in a b; do
	$as xrootd -c "$tmp/$s/cf" -n $s -l "$tmp/$s/admin/log" >/dev/null 2>&1 &
	pids="$pids $!"
done
copied() { timeout 30 xrdcp -f -s "$@" 2>"$tmp/err"; }
# shellcheck disable=SC2154
until_true 30 copied "root://127.0.0.1:$root_a//big" "$tmp/out" || fail "a copy out: $(cat "$tmp/err")"
# shellcheck disable=SC2154
until_true 30 copied "$tmp/out" "root://127.0.0.1:$root_b//up" || fail "a copy in: $(cat "$tmp/err")"
until_true 30 copied --tpc only "root://127.0.0.1:$root_a//third" "root://127.0.0.1:$root_b//copy" || fail "a third-party copy: $(cat "$tmp/err")"
cmp -s "$tmp/b/data/copy" "$tmp/a/data/big" || fail "the third-party copy differs"
# shellcheck disable=SC2154
[ "$(curl -s -o "$tmp/got" -w '%{http_code}' "http://127.0.0.1:$http_a/big?scitag.flow=137")" = 200 ] || fail "HTTP"
[ "$(curl -s -o "$tmp/said" -T "$tmp/out" -w '%{http_code}' "http://127.0.0.1:$http_a/tagged?scitag.flow=137")" = 200 ] || fail "an upload by HTTP"
[ "$(curl -s -o "$tmp/said" -T "$tmp/out" -w '%{http_code}' "http://127.0.0.1:$http_a/plain")" = 200 ] || fail "an upload by HTTP without experiment"

# --- Rucio's traces of two downloads: one before the server's own account comes, one behind ---
# trace FILE BEGIN END: as Rucio's client sends it
trace() {
	printf '{"eventType": "download", "clientState": "DONE", "uuid": "0f3c", "account": "jdoe", "scope": "s", "filename": "%s",
	    "remoteSite": "SITE_DISK", "filesize": %s, "relativeStart": %s, "transferStart": %s, "transferEnd": %s}' "$1" $size "$(($2 - 12))" "$2" "$3" |
	    curl -s -o "$tmp/said" -w '%{http_code}' --data-binary @- "$url/traces/"
}
begin=$(date +%s)
copied "root://127.0.0.1:$root_a//later" "$tmp/out" || fail "a copy out: $(cat "$tmp/err")"
copied "root://127.0.0.1:$root_a//traced" "$tmp/out" || fail "a copy out: $(cat "$tmp/err")"
[ "$(trace traced "$begin" "$(date +%s)")" = 201 ] || fail "a trace: $(cat "$tmp/said")"
known() { nw sql --csv "SELECT count(*) FROM metadata WHERE subject LIKE '%\"announced_by\":\"xrootd\"%/later\"%'" | grep -qx 1; }
until_true 30 known || fail "no account of the server: $(nw sql --csv "SELECT subject FROM metadata")"
[ "$(trace later "$begin" "$(date +%s)")" = 201 ] || fail "a trace: $(cat "$tmp/said")"

# --- FTS's account of both, by lines of a log: time in its queue joins the trace and the server's account ---
printf 'event transfer.fts\nprogram fts\ntime unix\nline %%{time} %%{src} %%{dst} %%{bytes} %%{seconds} %%{queue_s} %%{transfer_id} %%{file}\n' >"$tmp/fts.conf"
end=$(date +%s)
for f in traced later; do
	echo "$end.5 127.0.0.1 127.0.0.1 $size $((end - begin + 1)) 2400 t-$f /data/$f"
done >"$tmp/fts.log"
"$bin/nwlog" -1 -F "$tmp/fts.conf" -f "$tmp/fts.log" -p "$tmp/fts.journal" -H ftshost 2>"$tmp/err" || fail "FTS's lines: $(cat "$tmp/err")"

# every session that is judged, with the files in it
cat >"$tmp/look.py" <<'PY'
import json, subprocess, sys
nw, size = sys.argv[1].split(), int(sys.argv[2])
rows = [json.loads(line) for line in subprocess.check_output(nw + ["sessions", "--json"], text=True).splitlines()]
found = {}
for r in rows:
    if r["state"] != "closed" or not r["analysed"]:
        continue
    assert r["announced"] and r["stage"] is None, r
    s = json.loads(subprocess.check_output(nw + ["report", str(r["id"]), "--json"], text=True))["session"]
    for a in s["announced"]:
        if a["file"]:
            found.setdefault(a["file"].rsplit("/", 1)[-1], []).append((s["bytes"], sorted({x["by"] for x in s["announced"]}), s["label"], a))
near = lambda n: n is not None and abs(n / size - 1) < 0.001
one = lambda name, by: [f for f in found.get(name, []) if by in f[1]]
try:
    # the copy out and the download by HTTP; the source of the third-party copy, which its client opens, too
    assert sum(near(f[0]) for f in found["big"]) == 2, "big"
    assert sum(near(f[0]) for f in found["third"]) >= 1, "third"
    assert near(one("up", "xrootd")[0][0]), "up"
    copy = one("copy", "xrootd tpc")
    assert copy and all(near(f[0]) for f in copy) and copy[0][1] == ["xrootd", "xrootd tpc"], "copy"
    assert near(one("tagged", "firefly")[0][0]) and one("tagged", "xrootd")[0][2] == "experiment 2/activity 9", "tagged"
    assert one("plain", "xrootd")[0][0] is None, "plain"
    for name in ("traced", "later"):
        both = one(name, "rucio")
        assert {f[3]["by"] for f in both} == {"xrootd", "rucio", "fts"} and all(near(f[0]) for f in both), name
        assert [f[3]["queue_s"] for f in both if f[3]["by"] == "fts"] == [2400], name
        assert [f[3]["prepare_s"] for f in both if f[3]["by"] == "rucio"] == [12], name
    users = {f[3]["user"] for files in found.values() for f in files if f[3]["by"] == "xrootd"}
    assert users and all(u.startswith("hidden:") for u in users), users
except (AssertionError, IndexError, KeyError) as e:
    sys.exit("%r: %s" % (e, json.dumps(found, indent=1)))
PY
looks() { python3 "$tmp/look.py" "$bin/narrows -s $tmp/state" $size 2>"$tmp/why"; }
until_true 40 looks || fail "$(cat "$tmp/why") $(nw sessions)"
nw sessions | grep -q "(announced)" || fail "the list does not say that sessions are announced: $(nw sessions)"
curl -s "$url/" | grep -q 'class="tag">announced<' || fail "the page of sessions does not say so"
nw report 1 | grep -q "the duration is right to" || nw report 2 | grep -q "the duration is right to" || fail "no word on whole seconds: $(nw report 1)"
grep -qx '[0-9a-f]\{64\}' "$tmp/state/announce.key" && [ "$(stat -c %a "$tmp/state/announce.key")" = 600 ] || fail "the key: $(ls -l "$tmp/state")"
[ "$(curl -s "$url/metrics" | sed -n 's/^narrows_announcements_malformed\(_total\)\? //p')" = 0 ] || fail "XRootD's datagrams are rejected: $(curl -s "$url/metrics" | grep announc)"
