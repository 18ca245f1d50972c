#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the script adds to the pages, in a real browser: the cursor shows the values of every series, a drag or the keyboard
# chooses a stretch, an open session renews itself in place. Without scripts the same stretch comes by the form.
. tests/browser.sh
base=$report

# js EXPRESSION: sets $said to its value, a text
js() {
	cdp Runtime.evaluate "{\"expression\":\"$1\",\"awaitPromise\":true}"
	said=$(field value)
}
# js_is EXPRESSION VALUE WORDS
js_is() {
	js "String($1)"
	[ "$said" = "$2" ] || fail "$3: $said"
}
# js_until EXPRESSION WORDS: waits until the expression is 'yes'
js_until() {
	tries_js=0
	while js "($1) ? 'yes' : 'no'" && [ "$said" != yes ]; do
		tries_js=$((tries_js + 1))
		[ $tries_js -lt $((200 * PATIENCE)) ] || fail "$2: $(cat "$tmp/answer")"
		sleep 0.05
	done
}
mouse() { cdp Input.dispatchMouseEvent "{\"type\":\"$1\",\"x\":$2,\"y\":$3,\"button\":\"$4\",\"buttons\":$5,\"clickCount\":1}"; }
# place FIGURE SHARE: sets $x and $y to the point of a figure's drawing
place() {
	js "(() => { const s = document.querySelectorAll('figure[data-step] > svg')[$1]; s.scrollIntoView({ block: 'center' }); const b = s.getBoundingClientRect(); return Math.round(b.left + b.width * $2) + ' ' + Math.round(b.top + b.height / 2); })()"
	x=${said% *} y=${said#* }
}
# key NAME CODE [TEXT]
key() {
	cdp Input.dispatchKeyEvent "{\"type\":\"keyDown\",\"key\":\"$1\",\"code\":\"$1\",\"windowsVirtualKeyCode\":$2${3:+,\"text\":\"$3\"}}"
	cdp Input.dispatchKeyEvent "{\"type\":\"keyUp\",\"key\":\"$1\",\"code\":\"$1\",\"windowsVirtualKeyCode\":$2}"
}

cdp Emulation.setDeviceMetricsOverride '{"width":1280,"height":900,"deviceScaleFactor":1,"mobile":false}'

# --- the cursor: in all figures at once, with the values of the CSV ---
load /session/3
place 1 0.5
mouse mouseMoved "$x" "$y" none 0
js_until "[...document.querySelectorAll('figure[data-step]')].every(f => f.querySelectorAll('.read b').length == f.querySelectorAll('details th[scope=col]').length - 1)" "not every series has its value"
js_is "document.querySelectorAll('figure[data-step] .cursor').length == document.querySelectorAll('figure[data-step]').length" true "a cursor in all figures"
js "document.querySelector('.read li').textContent"
second=${said%%[!0-9.]*}
case $second in 52[0-9]*) ;; *) fail "the cursor in the middle of 1050 s is at $said" ;; esac
row=$(curl -fsS "$report/session/3/p-held.csv" | tr -d '\r' | awk -F, -v t="$second" 'NR > 1 && $1 <= t { v = $2 } END { print v }')
js "document.querySelector('figure[data-step] .read b').textContent"
awk -v a="$row" -v b="${said%%[!0-9.]*}" 'BEGIN { exit !(100 * a - b <= 0.6 && b - 100 * a <= 0.6) }' ||
	fail "at $second the cursor says $said, the table $row"

# --- a drag: the server's statistics and verdict, in place ---
js "window.mark = 'same page'"
place 0 0.2
mouse mousePressed "$x" "$y" left 1
place 0 0.6
mouse mouseMoved "$x" "$y" left 1
mouse mouseReleased "$x" "$y" left 0
js_until "document.getElementById('stretch')" "a drag brings no stretch"
js_is window.mark "same page" "a drag loads another page"
js_is "document.querySelector('#stretch h2').textContent.replace(/21[0-9.]+/, 'fifth').replace(/63[0-9.]*/, 'three')" \
    "From second fifth to second three" "dragged from a fifth to three fifths"
js_is document.activeElement.id stretch "the stretch has no focus"
js_is "document.querySelectorAll('figure[data-step] .chosen').length == document.querySelectorAll('figure[data-step]').length" true "the stretch is drawn in all figures"
js location.search
curl -fsS "$report/session/3$said" >"$tmp/stretch.html"
grep -q 'limit\(ed\| of\) this stretch' "$tmp/stretch.html" || fail "the server does not say what limited $said"

# --- the same by the keyboard alone ---
load /session/3
js "document.querySelector('.tool input').focus(); 'focused'"
for press in 1 2 3 4; do key ArrowRight 39; done
js_until "document.querySelector('.tool input').getAttribute('aria-valuetext').includes('network path')" "the slider does not say values"
js_is "document.querySelector('.tool input').getAttribute('aria-valuetext').slice(0, 4)" 17.5 "four steps of 4.375 s"
key Tab 9
key Enter 13 '\r'
key Tab 9
js "document.querySelector('.tool input').focus(); 'focused'"
key End 35
key Tab 9
key Tab 9
key Enter 13 '\r'
js_is "document.querySelector('form.stretch').elements.to.value" 1050 "the end by keyboard"
key Tab 9
key Tab 9
key Tab 9
key Enter 13 '\r'
js_until "document.getElementById('stretch')" "the keyboard brings no stretch"
js_is "document.querySelector('#stretch h2').textContent" "From second 17.5 to second 1050" "chosen by keyboard"

# --- lifelines: a box chooses a time; two clicks on points of lines measure between them ---
load /session/5/lifelines
js_is "[...document.querySelectorAll('svg.lifelines .strip path')].filter(p => p.getBBox().width > 900).length > 1" true "series of the hosts below the lines"
js "(() => { const s = document.querySelector('svg.lifelines'); s.scrollIntoView({ block: 'center' }); const b = s.getBoundingClientRect(); return [b.left + b.width * 0.4, b.top + 60, b.left + b.width * 0.6].map(Math.round).join(' '); })()"
set -- $said
mouse mousePressed "$1" "$2" left 1
mouse mouseMoved "$3" "$2" left 1
mouse mouseReleased "$3" "$2" left 0
js_until "new URLSearchParams(location.search).get('from') > 0 && document.readyState == 'complete'" "a box chooses no time"
js_is "document.querySelector('form.filter [name=from]').value == new URLSearchParams(location.search).get('from') * 1" true "the chosen time"
load /session/5/lifelines
js "(() => { document.querySelector('form.filter input[type=checkbox]').checked = true; const all = document.querySelectorAll('svg.lifelines .life a path'), s = document.querySelector('svg.lifelines'), m = s.getScreenCTM(); for (const y of [s.dataset.bottom, s.dataset.bottom - 52]) all[0].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, clientX: m.e + 500 * m.a, clientY: m.f + y * m.d })); return 'clicked'; })()"
js_until "location.search.includes('a=') && location.search.includes('b=') && document.readyState == 'complete' && document.body.textContent.includes('Meanwhile')" "two clicks measure nothing"

# --- an open session renews itself in place: what stays the same is not touched, what is open stays open ---
cdp Page.addScriptToEvaluateOnNewDocument '{"source":"const later = setTimeout; window.setTimeout = (f, ms) => later(f, ms / 50);"}'
load /session/3
js_is "document.getElementById('main').dataset.live" 10 "an open session"
js_is "document.querySelectorAll('head > meta[http-equiv=refresh]').length" 0 "the page would also be loaded anew"
js_is "document.querySelector('.progress progress').getAttribute('aria-label')" "Read of the opened files" "the progress"
js "(() => { window.facts = document.querySelector('.facts'); document.querySelector('#fold-quality').open = true; document.querySelector('#fold-quality summary').focus(); const ask = fetch, more = t => t.replace('still running.', 'still going.').replace('<h2>Data quality', '<h2>Better quality'); window.fetch = async (...a) => { const r = await ask(...a); return { ok: true, redirected: false, text: async () => more(await r.text()) }; }; return 'asked'; })()"
js_until "document.querySelector('.running').textContent.includes('still going.')" "an open session does not renew itself"
js_is "document.querySelector('#fold-quality h2').textContent + document.querySelector('#fold-quality').open" "Better qualitytrue" "a fold that was open"
js_is "document.activeElement.textContent" "Better quality" "the focus after a renewal"
js_is "window.facts == document.querySelector('.facts')" true "the facts were swapped without a change"

# --- without scripts the form asks the server, and an open session is loaded anew ---
cdp Emulation.setScriptExecutionDisabled '{"value":true}'
load "/session/3"
js_is "document.querySelectorAll('.tool, .cursor').length" 0 "scripts run"
js "(() => { const f = document.querySelector('form.stretch'); f.elements.from.value = 100; f.elements.to.value = 300; f.querySelector('button').focus(); return 'filled'; })()"
key Enter 13 '\r'
js_until "location.search == '?from=100&to=300' && document.getElementById('stretch')" "the form brings no stretch"
js_is "document.querySelector('#stretch h2').textContent" "From second 100 to second 300" "by the form"
load /session/3
js_is "document.querySelectorAll('head meta[http-equiv=refresh]').length" 1 "nobody without scripts sees the session go on"
complaints=$(grep -a '"method":"Log.entryAdded".*"level":"error"' "$tmp/events" || :)
[ -z "$complaints" ] || fail "the browser complains: $complaints"
