#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Original clients over links of 1, 10 and 100 Mbit/s: messages of 1 byte to 1 MB in segments of 1,448 bytes, the end of the
# session right behind. The box lives, and has every value. SESSIONS=1000: that many at each speed, in four minutes.
. tests/lib.sh

start_box -o session-linger=100ms
want=0
for link in "1 ${SESSIONS:-16}" "10 ${SESSIONS:-30}" "100 ${SESSIONS:-40}"; do
	# shellcheck disable=SC2086 # two words
	n=$(python3 -B tests/slowclients.py "$xsp" $link) || fail "the box leaves a client at $link"
	want=$((want + n))
	kill -0 "$box" || fail "the box is gone after $link"
done
[ "$want" -gt 100000 ] || fail "only $want values sent"
stored() { [ "$(curl -s "$url/healthz" | python3 -c 'import json, sys; print(json.load(sys.stdin)["store"]["samples"])')" = "$want" ]; }
until_true 20 stored || fail "stored: $(curl -s "$url/healthz"), want $want"
rejected=$(curl -s "$url/healthz" | python3 -c 'import json, sys; c = json.load(sys.stdin)["counters"]
print(sum(c[k] for k in ("rejected_frames", "rejected_documents", "data_without_metadata", "connections_evicted")))')
[ "$rejected" = 0 ] || fail "$rejected frames, documents or connections rejected"
echo "PASS: $want values"
