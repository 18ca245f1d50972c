# SPDX-License-Identifier: BSD-3-Clause
# A real browser, driven through its debugging pipe, and a server with a session of every kind: . tests/browser.sh, for
# tests that need both. Everything ends with the script.
set -eu
. tests/patience.sh
B=${B:-build/release}
for chromium in chromium chromium-browser google-chrome ""; do
	command -v "${chromium:-none}" >/dev/null 2>&1 && break
done
[ -n "$chromium" ] || { echo "no Chromium here"; exit 77; }

tmp=$(mktemp -d)
server= browser= box=
cleanup() {
	for p in $browser $server $box; do kill "$p" 2>/dev/null || :; done
	wait 2>/dev/null || :
	# children of the browser may still write
	n=0
	until rm -rf "$tmp" 2>/dev/null || [ $n -ge 100 ]; do
		n=$((n + 1))
		sleep 0.1
	done
}
trap cleanup EXIT
trap 'exit 1' INT TERM
fail() { echo "FAIL: $*"; exit 1; }

"$B/tests/web/test_web" --serve "$tmp/store.db" >"$tmp/server" 2>"$tmp/server.err" &
server=$!
n=0
until [ -s "$tmp/server" ]; do
	n=$((n + 1))
	[ $n -lt $((100 * PATIENCE)) ] || fail "the server does not start: $(cat "$tmp/server.err")"
	sleep 0.1
done
report=http://$(tr / : <"$tmp/server") base=

mkfifo "$tmp/ask" "$tmp/told"
: >"$tmp/answer"
python3 tests/cdp.py "$tmp/answer" "$tmp/events" $((12 * PATIENCE)) "$chromium" --headless --no-sandbox --disable-gpu --disable-quic \
    --no-first-run --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
    --user-data-dir="$tmp/profile" <"$tmp/ask" >"$tmp/told" 2>"$tmp/browser.log" &
browser=$!
exec 7>"$tmp/ask" 8<"$tmp/told"

# cdp METHOD PARAMS: one command; its answer goes to the file "answer"
cdp() {
	printf '%s %s\n' "$1" "$2" >&7
	read -r told <&8 && [ "$told" = ok ] || fail "the browser does not answer $1: ${told:-} $(cat "$tmp/browser.log")"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$tmp/answer"; }

cdp Target.createTarget '{"url":"about:blank"}'
target=$(field targetId)
cdp Target.attachToTarget "{\"targetId\":\"$target\",\"flatten\":true}"
grep -q '"sessionId"' "$tmp/answer" || fail "no page: $(cat "$tmp/answer")"
cdp Page.enable '{}'
cdp Log.enable '{}'

# load PATH: and wait until it is there
load() {
	cdp Page.navigate "{\"url\":\"$base$1\"}"
	n=0
	while :; do
		cdp Runtime.evaluate '{"expression":"location.pathname + document.readyState"}'
		[ "$(field value)" = "${1%%\?*}complete" ] && break
		n=$((n + 1))
		[ $n -lt $((100 * PATIENCE)) ] || fail "$1 does not load"
	done
}

