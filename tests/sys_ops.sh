#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Single operations on request: a program with a caliper sends none, until the box orders them; then each operation of the
# window is an event of its session, with the time, the bytes and the duration that the program itself measured.
. tests/lib.sh
cat >"$tmp/ops.c" <<'END'
#include <narrows/caliper.h>
#include <narrows/eventlog.h>
#include <narrows/provider.h>
#include <stdio.h>
#include <time.h>

static struct nw_caliper *c;

static void
on_order(void *arg, uint16_t opt, const uint8_t *doc, size_t len)
{
	(void)arg;
	nw_caliper_ops_order(c, opt, doc, len, nw_caliper_now());
}

int
main(void)
{
	struct nw_provider_opts opts = { .software = "ops", .host = "opshost", .task_id = "ops-1", .program = "ops",
		.can = "start stop status events", .on_order = on_order };
	struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "disk" } } };
	struct nw_caliper_window w;
	struct nw_eventlog *log;
	struct nw_provider *p;
	int64_t begin;
	int i;

	if (nw_caliper_new(&c) < 0 || nw_provider_new(&opts, &p) < 0 || nw_eventlog_new("ops", 0, &log) < 0 ||
	    nw_caliper_ops(c, log, "read", 1) < 0 ||
	    nw_provider_meta(p, "read", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0) < 0)
		return 1;
	for (i = 0; i < 4000; i++) {
		begin = nw_caliper_now();
		nw_caliper_begin(c, begin);
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		nw_caliper_end(c, 1000 + i, nw_caliper_now());
		if (i % 50 != 49)
			continue;
		nw_caliper_take(c, nw_caliper_now(), &w);
		nw_provider_caliper(p, "read", nw_wall_ns(), &w);
		nw_eventlog_flush(log, p);
		nw_provider_run(p, 0);
	}
	nw_eventlog_flush(log, p);
	return nw_provider_close(p, INT64_C(5000000000)) < 0;
}
END
${CC:-cc} -O1 -std=gnu11 -Wall -Wextra -Iinclude -o "$tmp/ops" "$tmp/ops.c" "$B/lib/libnarrows.a" \
	-lbson-1.0 -lmbedtls -lmbedx509 -lmbedcrypto -lm -pthread || fail "a program with libnarrows is not linked"
start_box
"$tmp/ops" &
program=$!
pids="$pids $program"
until_true 5 nw control opshost status || fail "the program does not show"
sleep 1
nw control opshost start -e op. -f 1s >/dev/null || fail "the order is not taken"
wait "$program" || fail "the program ended with status $?"
pids=$box
counted() { [ "$(nw sql "SELECT count(*) FROM event WHERE name='op.read'" | tail -n 1 | tr -dc 0-9)" -ge 100 ]; }
until_true 5 counted || fail "no operations: $(nw sql "SELECT name, count(*) FROM event GROUP BY name")"
events=$(nw sql "SELECT count(*) FROM event WHERE name='op.read'" | tail -n 1 | tr -dc 0-9)
[ "$events" -le 1500 ] || fail "$events operations in a second of 1 ms each"
nw sql "SELECT attrs FROM event WHERE name='op.read' ORDER BY t_ns LIMIT 1" | grep -q 'bytes.*dur_ns' || fail "an operation lacks values"
nw sql "SELECT max(t_ns) - min(t_ns) AS span FROM event WHERE name='op.read'" | tail -n 1 | tr -dc 0-9 >"$tmp/span"
[ "$(cat "$tmp/span")" -le $((1200000000 + 800000000 * $(patience))) ] || fail "the window is longer than ordered: $(cat "$tmp/span") ns"
echo "$events operations of one second"
