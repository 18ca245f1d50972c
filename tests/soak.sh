#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The box at full rate for MINUTES (60): as many documents as four providers get acknowledged, readers beside them, rows
# that roll up and a ceiling that is reached. Resident memory is flat after the first sixth. usage: MINUTES=60 tests/soak.sh
. tests/lib.sh
minutes=${MINUTES:-60}
seconds=$((minutes * 60))
# shellcheck disable=SC2046
${CC:-cc} -O1 -std=c11 -Wall -Wextra -Werror -Iinclude -o "$tmp/delivery" tests/delivery.c "$B/lib/libnarrows.a" \
	$(pkg-config --libs libbson-1.0) -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread || fail "the library does not link"
start_box -o keep-raw=60s -o keep-10s=10m -o max-store-size=256MiB -o session-linger=0s
end=$(($(date +%s) + seconds))
n=0
# each life of a provider is one session of half a minute
provider() {
	first=1
	while [ "$(date +%s)" -lt "$end" ]; do
		"$tmp/delivery" "$xsp" $first 20000 30 >>"$tmp/said.$1" 2>/dev/null || :
		first=$((first + 1000000))
	done
}
for n in 1 2 3 4; do
	provider $n &
	pids="$pids $!"
done
while [ "$(date +%s)" -lt "$end" ]; do
	kill -0 "$box" || fail "the box died"
	curl -s "$url/" "$url/sessions.json" "$url/metrics" >"$tmp/page" || :
	printf '%s %s\n' "$((seconds - end + $(date +%s)))" "$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$box/status")" >>"$tmp/rss"
	sleep 5
done
wait_all() { for p in $pids; do [ "$p" = "$box" ] || wait "$p" || :; done; }
wait_all
nw health --json >"$tmp/health"
stop_box
awk -v s="$seconds" '
	$1 < s / 6 { next }
	$1 < s / 2 { if ($2 > early) early = $2; next }
	$2 > late { late = $2 }
	END { printf "resident KiB: at most %d before half of the time, %d after\n", early, late; exit late > early * 1.15 + 4096 }' "$tmp/rss" || {
	cat "$tmp/rss"
	fail "memory grows"
}
awk '{ if (NR % int(1 + '"$minutes"' / 2) == 1) printf "%s s %s KiB, ", $1, $2 } END { print "" }' "$tmp/rss"
cat "$tmp"/said.* | awk '{ for (i = 1; i <= NF; i++) { split($i, kv, "="); sum[kv[1]] += kv[2] } }
	END { printf "%.0f documents queued, %.0f stored, %.0f dropped by their providers\n", sum["queued"], sum["stored"], sum["dropped"] }'
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
echo "PASS soak: $minutes minutes"
