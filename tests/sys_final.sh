#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One verdict, once: a verdict of the data so far says so, and nobody takes it for the verdict of the whole.
. tests/lib.sh

start_box -o session-linger=2s -o analysis-interval=1s
head -c 4M /dev/zero >"$tmp/in"
run() { "$bin/nwrun" -q "$@"; }

# `report last` says that a verdict is interim while the program runs
run -t whole sh -c 'i=0; while [ ! -f "$1" ]; do head -c 64k /dev/zero >>"$0"; sleep 0.1; done; :' "$tmp/slow" "$tmp/enough" &
whole=$!
interim() { nw report last >"$tmp/report" 2>"$tmp/err" && grep -q '^So far, while the transfer runs: ' "$tmp/report"; }
until_true 30 interim || fail "no interim verdict: $(cat "$tmp/report" "$tmp/err")"
head -n 1 "$tmp/report" | grep -q '^Interim, still running: session 1: ' || fail "an interim report: $(head -n 1 "$tmp/report")"
nw sessions | awk 'NR == 2' | grep -q '  so far: ' || fail "the list: $(nw sessions)"
curl -fs "$url/session/1" | grep -q '<b>Interim: still running' || fail "the page of an interim verdict"
curl -fs "$url/" | grep -q 'running</span> so far ' || fail "the page of the list"

# .. and waits for the verdict of the whole after the program's end, also where the session of another user is newer
touch "$tmp/enough"
wait $whole || fail "the program failed"
mkdir "$tmp/other"
XDG_RUNTIME_DIR="$tmp/other" "$bin/nwrun" -q -t theirs cp "$tmp/in" "$tmp/out"
theirs() { nw sessions --json | grep -q '"task_id": *"theirs"'; }
until_true 20 theirs || fail "no session of the other user: $(nw sessions --json)"
nw report last >"$tmp/report" 2>"$tmp/err" || fail "no report: $(cat "$tmp/err")"
head -n 1 "$tmp/report" | grep -q '^session 1: .*, task whole$' || fail "not this user's last run: $(head -n 1 "$tmp/report")"
! grep -q 'Interim\|So far' "$tmp/report" || fail "an interim verdict after the end: $(cat "$tmp/report")"
grep -q 'session 2 is newer' "$tmp/err" || fail "no word on the newer session: $(cat "$tmp/err")"
