#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Very many short sessions, each of another provider and task: the box takes them all and does not grow with them.
. tests/lib.sh
count=${SESSIONS:-16000}
case $B in *asan* | *tsan* | *cov*) skip "the memory of an instrumented box says nothing" ;; esac
# shellcheck disable=SC2046
${CC:-cc} -O1 -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -o "$tmp/sessions" tests/sessions.c "$B/lib/xsp.a" "$B/lib/base.a" \
	$(pkg-config --libs libbson-1.0) -lmbedtls -lmbedx509 -lmbedcrypto -lm || fail "tests/sessions.c does not compile"
start_box -o session-linger=1s
"$tmp/sessions" "${xsp##*/}" "$box" "$count" >"$tmp/resident" || fail "the box does not take them"
# what it keeps has limits (daemon/origin.c, daemon/session.c) that three quarters reach, also where the analysis lags behind
most=$(sed -n 6p "$tmp/resident")
end=$(sed -n 8p "$tmp/resident")
[ "$most" -gt 0 ] && [ "$end" -lt $((most + most / 10 + 4096)) ] || fail "it grows: $(tr '\n' ' ' <"$tmp/resident")KiB"
stop_box
[ "$(sql 'SELECT count(*) FROM xsp_session')" = "$count" ] || fail "not all sessions are in the store"
[ "$(sql 'SELECT count(*) FROM session')" = "$count" ] || fail "not all are sessions of their own"
echo "$count sessions, resident KiB by eighths: $(tr '\n' ' ' <"$tmp/resident")"
