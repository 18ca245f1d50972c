#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The pages in a real browser, driven through its debugging pipe: on a phone and on a desk, light and dark. Nothing may
# be wider than the screen, be too faint to read, come from elsewhere, lack a name for those who hear the page, or complain.
# The newest pages also on a wide screen, and by keyboard. SHOTS=DIR keeps the pictures, of whole pages. README's picture has the parts of today's
# page; REPORT=conf/report.png makes the picture anew, of the demo.
. tests/browser.sh

# a box that asks everybody for a login
mkdir -m 700 "$tmp/state"
"$B/bin/narrowsd" -d -o state-dir="$tmp/state" -o listen-xsp=127.0.0.1/0 -o listen-events=127.0.0.1/0 \
    -o listen-http=127.0.0.1/0 -o login=always >"$tmp/box.log" 2>&1 &
box=$!
n=0
until [ -s "$tmp/state/narrowsd.run" ] && grep -q '^http ' "$tmp/state/narrowsd.run"; do
	n=$((n + 1))
	[ $n -lt $((100 * PATIENCE)) ] || fail "the box does not start: $(cat "$tmp/box.log")"
	sleep 0.1
done
locked=http://$(sed -n 's/^http //p' "$tmp/state/narrowsd.run" | tr / :)

# What is wrong with a page, as text; nothing when all is well. Only single quotes, so that it fits into JSON.
look=$(tr -d '\n\t' <<'JS'
(() => {
	const bad = [], width = document.documentElement.clientWidth;
	const say = (what, e) => bad.push(what + ': ' + e.tagName + '.' + e.className + ' ' + (e.textContent || '').slice(0, 40));
	const parts = c => (c.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number);
	const light = c => { const l = parts(c).slice(0, 3).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
	const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, p = parts(c);
		if (p.length < 4 || p[3] > 0) return c; } return 'rgb(255,255,255)'; };
	if (document.documentElement.scrollWidth > width) bad.push('page wider than the screen: ' + document.documentElement.scrollWidth);
	if (document.querySelectorAll('h1').length != 1) bad.push('not one h1');
	for (const e of document.scripts) if (e.src != location.origin + '/narrows.js') bad.push('a script');
	for (const r of performance.getEntriesByType('resource')) if (!r.name.startsWith(location.origin + '/')) bad.push('fetched ' + r.name);
	for (const e of document.querySelectorAll('body *')) {
		const r = e.getBoundingClientRect();
		if (e.closest('.scroll, pre, .skip, .defs, thead, [aria-hidden]')) continue;
		if (r.width > 0 && r.right > width + 1) say('beyond the edge', e);
		if (e.tagName == 'TIME' && e.closest('td') && r.right > e.closest('td').getBoundingClientRect().right + 1) say('wider than its cell', e);
		const svg = e.closest('svg');
		if (svg ? e.tagName != 'text' : ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
		const s = getComputedStyle(e);
		const a = light(svg ? s.fill : s.color), b = light(ground(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) say('contrast ' + ratio.toFixed(2), e);
		if (r.width > 0 && parseFloat(s.fontSize) < 11.5) say('too small', e);
	}
	if (!document.documentElement.lang || !document.title) bad.push('no language or title');
	const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
	if (new Set(ids).size != ids.length) bad.push('an id twice');
	const name = e => e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('title');
	for (const e of document.querySelectorAll('a, button, summary, th[scope=col]')) if (!name(e)) say('no name', e);
	for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
		if (!(e.labels && e.labels.length) && !e.getAttribute('aria-label')) say('no label', e);
	for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) say('jumps the queue', e);
	for (const e of document.querySelectorAll('.scroll'))
		if (e.tabIndex != 0 || !e.getAttribute('aria-label')) say('scrolls for the mouse alone', e);
	let depth = 0;
	for (const e of document.querySelectorAll('h1, h2, h3, h4')) { const d = +e.tagName[1];
		if (d > depth + 1) say('heading skips a level', e); depth = d; }
	for (const e of document.querySelectorAll('svg[role=img]'))
		if (!document.getElementById(e.getAttribute('aria-describedby'))) say('not described', e);
	return bad.slice(0, 5).join(' | ');
})()
JS
)

seen=0
# look_at PATH WIDTHxHEIGHT...: on each screen, light and dark
look_at() {
	path=$1
	shift
	name=$(echo "${path#/}" | tr -c 'a-zA-Z0-9\n' - | cut -c 1-30)
	name=${name:-list}
	for screen; do
		width=${screen%x*}
		cdp Emulation.setDeviceMetricsOverride "{\"width\":$width,\"height\":${screen#*x},\"deviceScaleFactor\":1,\"mobile\":$([ "$width" = 360 ] && echo true || echo false)}"
		for scheme in light dark; do
			cdp Emulation.setEmulatedMedia "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"$scheme\"}]}"
			load "$path"
			cdp Runtime.evaluate "{\"expression\":\"$look\"}"
			grep -q '"type":"string"' "$tmp/answer" || fail "$path: the check did not run: $(cat "$tmp/answer")"
			[ -z "$(field value)" ] || fail "$path at $screen, $scheme: $(field value)"
			high=${screen#*x}
			if [ -n "${SHOTS:-}" ]; then
				cdp Runtime.evaluate '{"expression":"String(document.documentElement.scrollHeight)"}'
				high=$(field value)
			fi
			cdp Page.captureScreenshot "{\"captureBeyondViewport\":true,\"clip\":{\"x\":0,\"y\":0,\"width\":$width,\"height\":$high,\"scale\":1}}"
			field data | base64 -d >"$tmp/$name-$screen-$scheme.png"
			[ -s "$tmp/$name-$screen-$scheme.png" ] || fail "no picture of $path"
			seen=$((seen + 1))
		done
		! cmp -s "$tmp/$name-$screen-light.png" "$tmp/$name-$screen-dark.png" || fail "$path has no dark side"
	done
}

# tab_through PATH: the tabulator visits what can be used in the order of the page, and shows where it is
tab_through() {
	load "$1"
	cdp Runtime.evaluate '{"expression":"document.activeElement.blur()"}'
	for key in 1 2 3 4 5 6; do
		cdp Input.dispatchKeyEvent '{"type":"rawKeyDown","key":"Tab","code":"Tab","windowsVirtualKeyCode":9}'
		cdp Input.dispatchKeyEvent '{"type":"keyUp","key":"Tab","code":"Tab","windowsVirtualKeyCode":9}'
		cdp Runtime.evaluate "{\"expression\":\"(() => { const all = [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden]), select, textarea, [tabindex]')], e = document.activeElement, s = getComputedStyle(e); return (all.indexOf(e) + 1) + (s.outlineStyle == 'none' || s.outlineWidth == '0px' ? ' unseen' : ''); })()\"}"
		[ "$(field value)" = "$key" ] || fail "$1: tabulator $key leads to $(field value)"
	done
}

base=$report
host=/host?host=dtn-a.site-a.example.net
for path in / /session/1 /session/2 /session/3 /session/4 /session/5 /session/6 /session/7 /health /nothing /hosts /routes \
    "/route?route=dtn-a.site-a.example.net+-%3E+dtn-b.site-b.example.net&program=rsync" "/compare?ids=1,2,3,4,5,6" "/?state=failed" "/session/3?from=100&to=300"; do
	look_at "$path" 360x740 1280x900
done
for path in "$host" /session/5/lifelines; do
	look_at "$path" 360x740 1280x900 2560x1440
	tab_through "$path"
done
# a person says in the page whether the verdict was right
says() {
	n=0
	until cdp Runtime.evaluate "{\"expression\":\"String($1)\"}" && [ "$(field value)" = "$2" ]; do
		n=$((n + 1))
		[ $n -lt $((100 * PATIENCE)) ] || fail "$3: $(field value)"
		sleep 0.1
	done
}
load /session/1
cdp Runtime.evaluate "{\"expression\":\"(() => { document.querySelector('.right input').value = 'a <b>full</b> array'; document.querySelector('.right button[value=no]').click(); })()\"}"
says "document.querySelectorAll('.feedback q').length" 1 "what somebody said of a verdict is not shown"
says "document.querySelector('.feedback p').textContent.slice(0, 73)" "Readers' judgements of this verdict: 0 right, 1 wrong. wrong: a <b>full</" "what somebody said"
# a link to a fold opens the fold, and the first screen holds five answers
cdp Emulation.setDeviceMetricsOverride '{"width":1280,"height":900,"deviceScaleFactor":1,"mobile":false}'
load /session/3
cdp Runtime.evaluate "{\"expression\":\"document.querySelector('.answers a[href=\\\\'#advice\\\\']').click()\"}"
says "document.getElementById('fold-advice').open" true "a link opens no fold"
load /session/1
says "document.querySelectorAll('.answers > section').length" 5 "questions"
says "document.querySelector('.answers .do').getBoundingClientRect().bottom + scrollY < 900" true "the answers do not fit on a screen"
says "document.getElementById('fold-stages').getBoundingClientRect().top - document.getElementById('time').getBoundingClientRect().top <= 1800" true "the evidence is long"
# a phone's first screen shows sessions, a wide screen is used, and boxes of the list choose what is compared
load /
cdp Emulation.setDeviceMetricsOverride '{"width":390,"height":844,"deviceScaleFactor":1,"mobile":true}'
says "[...document.querySelectorAll('.sessions tbody tr:not(.day)')].filter(e => e.getBoundingClientRect().bottom < 844).length >= 3" true "sessions of the first screen"
cdp Emulation.setDeviceMetricsOverride '{"width":2560,"height":1440,"deviceScaleFactor":1,"mobile":false}'
says "document.querySelector('main').getBoundingClientRect().width > 2200" true "a wide screen stays empty"
cdp Runtime.evaluate "{\"expression\":\"(() => { const all = document.querySelectorAll('.sessions input'); all[0].click(); all[1].click(); document.querySelector('.chosen-ones button').click(); })()\"}"
says "location.pathname + (document.querySelectorAll('.beside').length > 0)" /comparetrue "the list compares nothing"
# the picture of the README is small, and what a reader of the picture looks for is on the page: its text chunk has the parts
cat >"$tmp/picture.py" <<'EOF'
import struct, sys, zlib
def chunks(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at = 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + size]
        at += size + 12
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
command, file, parts = sys.argv[1:]
png, text = open(file, "rb").read(), b"parts\0" + parts.encode("latin-1")
if command == "make":
    all_ = [c for c in chunks(png) if c[0] != b"tEXt"]
    open(file, "wb").write(png[:8] + b"".join(chunk(*c) for c in all_[:1] + [(b"tEXt", text)] + all_[1:]))
else:
    assert len(png) <= 150000, f"{len(png)} bytes"
    width, height = struct.unpack(">II", next(d for k, d in chunks(png) if k == b"IHDR")[:8])
    assert 800 <= width <= 2400 and 400 <= height <= 2000, (width, height)
    has = [d for k, d in chunks(png) if k == b"tEXt"]
    assert has == [text], f"the picture has {has}, the page {text}"
EOF
parts="[...document.querySelector('nav').querySelectorAll('a'), ...document.querySelectorAll('.answers > section h2')].map(e => e.textContent.trim()).join(' | ')"
if [ -n "${REPORT:-}" ]; then
	: >"$tmp/demo.log"
	DEMO_DIR="$tmp/demo" DEMO_PORT=0 sh tests/demo.sh >"$tmp/demo.log" 2>&1 &
	server="$server $!"
	n=0
	until grep -q '^\[5/5\]' "$tmp/demo.log"; do
		n=$((n + 1))
		[ $n -lt $((1200 * PATIENCE)) ] || fail "the demo does not end: $(cat "$tmp/demo.log")"
		sleep 0.1
	done
	base=$(sed -n 's/^ *\(http:.*[0-9]\)\/$/\1/p' "$tmp/demo.log" | head -n 1)
	cdp Emulation.setEmulatedMedia '{"features":[{"name":"prefers-color-scheme","value":"light"}]}'
	cdp Emulation.setDeviceMetricsOverride '{"width":1100,"height":800,"deviceScaleFactor":1,"mobile":false}'
	load /session/1
	cdp Runtime.evaluate '{"expression":"String(Math.ceil(document.querySelector(\".right\").getBoundingClientRect().bottom + scrollY + 10))"}'
	height=$(field value)
	cdp Page.captureScreenshot "{\"captureBeyondViewport\":true,\"clip\":{\"x\":0,\"y\":0,\"width\":1100,\"height\":$height,\"scale\":1}}"
	field data | base64 -d >"$REPORT"
	cdp Runtime.evaluate "{\"expression\":\"$parts\"}"
	python3 "$tmp/picture.py" make "$REPORT" "$(field value)" || fail "no picture of the demo"
	base=$report
fi
load /session/1
cdp Runtime.evaluate "{\"expression\":\"$parts\"}"
python3 "$tmp/picture.py" look conf/report.png "$(field value)" 2>"$tmp/why" ||
	fail "conf/report.png, which REPORT=conf/report.png makes anew: $(tail -n 1 "$tmp/why")"
grep -q '^!\[.*\](conf/report.png)$' README.md || fail "README.md does not show conf/report.png"
base=$locked
look_at /login 360x740 1280x900 2560x1440
load /login
password=$(cut -d' ' -f2 "$tmp/state/first-password")
cdp Runtime.evaluate "{\"expression\":\"(() => { const f = document.querySelector('form.login'); f.elements.user.value = 'admin'; f.elements.password.value = '$password'; f.querySelector('button').click(); })()\"}"
says "location.pathname" / "nobody can log in with a browser"
# the one page that is not there may be complained about
complaints=$(grep -a '"method":"Log.entryAdded".*"level":"error"' "$tmp/events" | grep -v /nothing || :)
[ -z "$complaints" ] || fail "the browser complains: $complaints"
[ -z "${SHOTS:-}" ] || { mkdir -p "$SHOTS" && cp "$tmp"/*.png "$SHOTS"; }

# what a slow line must carry for the longest page
page=$(curl -fsS "$report/session/3" | gzip -9 | wc -c)
css=$(curl -fsS "$report/style.css" | gzip -9 | wc -c)
[ "$page" -gt 1000 ] && [ $((page + css)) -le 61440 ] || fail "$((page + css)) bytes compressed"
echo "$seen pages looked at, longest $((page + css)) bytes compressed"
