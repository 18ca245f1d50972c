#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The box and a provider are killed within two seconds of each other, ten times: what the provider gave a number is stored
# once, or counted as lost in the session's result document. Nothing is missing without a word.
. tests/lib.sh
case $B in *asan*) san="-fsanitize=address,undefined" ;; *tsan*) san="-fsanitize=thread" ;; *cov*) san=--coverage ;; *) san= ;; esac
# shellcheck disable=SC2046,SC2086
${CC:-cc} -O1 -std=c11 -Wall -Wextra -Werror $san -Iinclude -o "$tmp/delivery" tests/delivery.c "$B/lib/libnarrows.a" \
	$(pkg-config --libs libbson-1.0) -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread || fail "the library does not link"
mkdir "$tmp/spool"
export NARROWS_SPOOL="$tmp/spool"

# given: how many documents the provider's last life numbered, from the file that it maps (host/lib/spool_given.h)
given() {
	python3 -B -c '
import struct, sys
first, after = struct.unpack_from("<QQ", open(sys.argv[1] + "/delivery-delivery/given", "rb").read(), 8)
print((after - 1) % 2**40)' "$tmp/spool"
}

seed=${SEED:-$$}
echo "seed $seed"
# pause N: the Nth pause of this seed, 0 to 1.5 s
pause() { awk -v s=$((seed * 100 + $1)) 'BEGIN { srand(s); printf "%.2f", 1.5 * rand() }'; }
start_box -o session-linger=60s
port=${xsp##*/}
total=0
for round in 1 2 3 4 5 6 7 8 9 10; do
	"$tmp/delivery" "$xsp" $((round * 1000000)) 2000 60 >>"$tmp/delivery.log" 2>&1 &
	source=$!
	pids="$pids $source"
	until_true 10 sh -c "curl -sf '$url/healthz' | grep -q '\"xsp_sessions_open\": *[1-9]'" || fail "round $round: the provider does not come"
	sleep "$(pause $round)"
	if [ $((round % 2)) = 0 ]; then first=$source second=$box; else first=$box second=$source; fi
	kill -9 "$first"
	sleep "$(pause $((round + 50)))"
	kill -9 "$second"
	wait "$first" 2>/dev/null || :
	wait "$second" 2>/dev/null || :
	total=$((total + $(given)))
	start_box -o session-linger=60s -o listen-xsp="127.0.0.1/$port"
done
"$tmp/delivery" "$xsp" 11000000 500 1 >"$tmp/said" || fail "the last life: $(cat "$tmp/said")"
queued=$(sed -n 's/.*queued=\([0-9]*\).*/\1/p' "$tmp/said")
# the last life's count has documents of earlier lives that waited in files: its own are those from 11000000 on
own=$(($(sed -n 's/.*last=\([0-9]*\).*/\1/p' "$tmp/said") - 10999999))
[ "$queued" -ge "$own" ] || fail "the last life: $(cat "$tmp/said")"
total=$((total + own))
stop_box
nw export 1 >"$tmp/all.csv" || fail "export"
stored=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "field") f = i; if ($i == "value") v = i } }
	NR > 1 && $f == "n" && !seen[$v]++ { n++ } NR > 1 && $f == "n" { rows++ } END { print (n == rows) ? n : "doubled" }' "$tmp/all.csv")
lost=$(nw report 1 --json | sed -n 's/.*"documents_dropped":\([0-9]*\).*/\1/p')
echo "given $total, stored $stored, told as lost $lost"
[ "$stored" != doubled ] || fail "documents are there twice"
[ "$lost" -gt 0 ] || fail "nothing was lost: the kills came too late"
[ $((stored + lost)) = "$total" ] || fail "$((total - stored - lost)) documents are missing without a word"
