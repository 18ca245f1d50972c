/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/field.h"

#include <string.h>

#include "narrows/activetest.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "store/ground/db.h"
#include "store/ground/field_in.h"

/* nl:tools:calipers:summary:read, and nl.read.summary of the first generation */
#define CALIPERS "nl[:.]*summary*"
#define KERNEL   NW_TYPE_KERNEL ":*"

/* The five statistics of a caliper's bytes, durations, rates and inverse rates. */
#define STATISTICS(letter, unit)                               \
	{ CALIPERS, "sum_" letter, unit, NW_AGG_UNSAID },      \
	    { CALIPERS, "min_" letter, unit, NW_AGG_UNSAID },  \
	    { CALIPERS, "max_" letter, unit, NW_AGG_UNSAID },  \
	    { CALIPERS, "mean_" letter, unit, NW_AGG_UNSAID }, \
	{                                                      \
		CALIPERS, "sd_" letter, unit, NW_AGG_UNSAID    \
	}

/* Units of names with certain ends, for the project's own event types only: other senders end names
 * in _s for "per second". */
#define ENDS(events)                                                                       \
	{ events, "*_bytes", "By", NW_AGG_UNSAID }, { events, "*_s", "s", NW_AGG_UNSAID }, \
	    { events, "*_ns", "ns", NW_AGG_UNSAID },                                       \
	{                                                                                  \
		events, "*_share", "1", NW_AGG_UNSAID                                      \
	}

/* clang-format off */
static const struct nw_field_rule rules[] = {
	{ CALIPERS, "count", "1", NW_AGG_UNSAID },
	{ CALIPERS, "count_r", "1", NW_AGG_UNSAID },
	{ CALIPERS, "clamped", "1", NW_AGG_UNSAID },
	{ CALIPERS, "threads", "1", NW_AGG_UNSAID },
	{ CALIPERS, "dur", "s", NW_AGG_UNSAID },
	{ CALIPERS, "dur_inst", "s", NW_AGG_UNSAID },
	{ CALIPERS, "window", "s", NW_AGG_UNSAID },
	{ CALIPERS, "busy", "s", NW_AGG_UNSAID },
	{ CALIPERS, "busy_max", "s", NW_AGG_UNSAID },
	{ CALIPERS, "wait", "s", NW_AGG_UNSAID },
	STATISTICS("v", "By"),
	STATISTICS("d", "s"),
	STATISTICS("r", "By/ns"),
	STATISTICS("g", "ns/By"),
	ENDS(CALIPERS),
	/* imported NetLogger events (nl:EVENT) use the same names; their units are not sure */
	{ "nl*", "count", NULL, NW_AGG_SUM },
	{ "nl*", "count_r", NULL, NW_AGG_SUM },
	{ "nl*", "clamped", NULL, NW_AGG_SUM },
	{ "nl*", "dur", NULL, NW_AGG_SUM },
	{ "nl*", "dur_inst", NULL, NW_AGG_SUM },
	{ "nl*", "window", NULL, NW_AGG_SUM },
	{ "nl*", "busy", NULL, NW_AGG_SUM },
	{ "nl*", "busy_max", NULL, NW_AGG_SUM },
	{ "nl*", "wait", NULL, NW_AGG_SUM },
	{ "nl*", "threads", NULL, NW_AGG_MAX },

	{ NW_TYPE_PROCESS "*", "cpu_user", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "cpu_sys", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "cpu_wait", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "blocked", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "throttled", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "exit_status", "1", NW_AGG_MAX },
	{ NW_TYPE_PROCESS "*", "window", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "rchar", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "wchar", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "read_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "write_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "seen_read", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "seen_written", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "unseen_read", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "unseen_written", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "combined_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "combined_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "paused_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "first_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "pipe_read_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "pipe_write_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "pipe_read_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "pipe_write_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PROCESS "*", "rss", "By", NW_AGG_MEAN },
	{ NW_TYPE_PROCESS "*", "missed_ops", "1", NW_AGG_LAST },
	{ NW_TYPE_PROCESS "*", "missed_bytes", "By", NW_AGG_LAST },
	{ NW_TYPE_FILE "*", "read_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "write_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "read_s", "s", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "write_s", "s", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "reads", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "writes", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "jumps", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_FILE "*", "errors", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_PIPE, "read_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PIPE, "write_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_PIPE, "read_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PIPE, "write_s", "s", NW_AGG_SUM },
	{ NW_TYPE_PIPE, "window", "s", NW_AGG_SUM },
	{ NW_TYPE_STEPS, "steps", "{step}", NW_AGG_SUM },
	{ NW_TYPE_STEPS, "inside_s", "s", NW_AGG_SUM },
	{ NW_TYPE_STEPS, "between_s", "s", NW_AGG_SUM },
	{ NW_TYPE_STEPS, "window", "s", NW_AGG_SUM },
	{ NW_TYPE_ANNOUNCED, "bytes_*", "By", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "storage_bytes", "By", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "retrans", "{segment}", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "rtt*_s", "s", NW_AGG_MEAN },
	{ NW_TYPE_ANNOUNCED, "*_s", "s", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "delivery_rate", "By/s", NW_AGG_MEAN },
	{ NW_TYPE_ANNOUNCED, "cwnd_bytes", "By", NW_AGG_MEAN },
	{ NW_TYPE_ANNOUNCED, "snd_wnd", "By", NW_AGG_MEAN },
	{ NW_TYPE_ANNOUNCED, "snd_mss", "By", NW_AGG_MEAN },
	{ NW_TYPE_ANNOUNCED, "over", "1", NW_AGG_MAX },
	{ NW_TYPE_ANNOUNCED, "reads", "{operation}", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "vector_reads", "{operation}", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "writes", "{operation}", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "size_bytes", "By", NW_AGG_LAST },
	{ NW_TYPE_ANNOUNCED, "lost", "{datagram}", NW_AGG_LAST },
#define X(name, unit, agg) { NW_TYPE_ACTIVE "*", #name, unit, NW_AGG_##agg },
	NW_TEST_FIELDS(X)
#undef X
	{ NW_TYPE_CELLS "*", "ops", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "s", "s", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "forward", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "forward_pause_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "backward", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "backward_pause_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "same", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "same_pause_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "strided", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "strided_pause_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "random", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CELLS "*", "random_pause_s", "s", NW_AGG_SUM },
	{ NW_TYPE_BASELINE "*", "ops", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_BASELINE "*", "s", "s", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "bytes_in", "By", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "bytes_out", "By", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "header_bytes", "By", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "header_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "read_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "write_s", "s", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "reads", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "writes", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "errors", "{operation}", NW_AGG_SUM },
	{ NW_TYPE_CONNECTION "*", "rtt_min_s", "s", NW_AGG_MIN },
	{ NW_TYPE_CONNECTION "*", "retrans", "1", NW_AGG_LAST },
	{ NW_TYPE_CONNECTION "*", "busy_s", "s", NW_AGG_LAST },
	{ NW_TYPE_CONNECTION "*", "rwnd_limited_s", "s", NW_AGG_LAST },
	{ NW_TYPE_CONNECTION "*", "sndbuf_limited_s", "s", NW_AGG_LAST },
	{ NW_TYPE_CONNECTION "*", "snd_mss", "By", NW_AGG_MEAN },
	{ NW_TYPE_CONNECTION "*", "unread_share", "1", NW_AGG_MEAN },
	{ NW_TYPE_CONNECTION "*", "snd_wnd", "By", NW_AGG_MEAN },
	{ NW_TYPE_CONNECTION "*", "delivery_rate", "By/s", NW_AGG_MEAN },
	ENDS(NW_TYPE_RUN "*"),
	{ KERNEL, "count", "1", NW_AGG_SUM },
	{ KERNEL, "*_d", "s", NW_AGG_UNSAID },
	{ KERNEL, "window", "s", NW_AGG_SUM },
	{ KERNEL, "one_in", "1", NW_AGG_MAX },
	{ KERNEL, "paused", "1", NW_AGG_MAX },
	{ KERNEL, "lost", "{event}", NW_AGG_SUM },
	{ KERNEL, "hits", "{event}", NW_AGG_SUM },
	{ KERNEL, "filtered", "{event}", NW_AGG_SUM },
	{ KERNEL, "sampled", "{event}", NW_AGG_SUM },
	{ KERNEL, "kept", "{event}", NW_AGG_SUM },
	ENDS(KERNEL),

	/* original BLiPP: a single number per event type */
	{ NW_TYPE_BLIPP "cpu:utilization:*", "value", "1", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "cpu:load:*", "value", "{process}", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "memory:utilization:*", "value", "KiBy", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:utilization:bytes:*", "value", "By", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:ip:utilization:packets:*", "value", "{packet}", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:ip:utilization:drops", "value", "{packet}", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:tcp:utilization:segments:*", "value", "{segment}", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:tcp:utilization:retrans", "value", "{segment}", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "network:udp:utilization:datagrams:*", "value", "{datagram}",
	    NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "net:ping:rtt", "value", "ms", NW_AGG_UNSAID },
	{ NW_TYPE_BLIPP "net:iperf:bandwidth", "value", "bit/s", NW_AGG_UNSAID },
	{ NW_TYPE_HOST "host:stat:cpu:*", "value", "1", NW_AGG_UNSAID },
	{ NW_TYPE_HOST "host:net:dev:bytes", "value", "By", NW_AGG_UNSAID },
	{ NW_TYPE_HOST "host:net:dev:packets", "value", "{packet}", NW_AGG_UNSAID },

	{ "*", "sum_*", NULL, NW_AGG_SUM },
	{ "*", "min_*", NULL, NW_AGG_MIN },
	{ "*", "max_*", NULL, NW_AGG_MAX },
	{ "*", "mean_*", NULL, NW_AGG_RATIO },
	{ "*", "sd_*", NULL, NW_AGG_SPREAD },
};
/* clang-format on */

const struct nw_field_rule *
nw_field_rules(size_t *n)
{
	*n = sizeof(rules) / sizeof(rules[0]);
	return rules;
}

_Static_assert(
    sizeof(rules) / sizeof(rules[0]) <= NW_FIELD_RULES_MAX, "all rules may hold for an event type");

void
nw_field_units(struct nw_field_units *u, const char *event_type)
{
	size_t i;

	u->n = 0;
	for (i = 0; event_type != NULL && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].unit != NULL && sqlite3_strglob(rules[i].event_glob, event_type) == 0)
			u->rule[u->n++] = &rules[i];
}

const char *
nw_field_unit(const struct nw_field_units *u, const char *field)
{
	size_t i;

	for (i = 0; i < u->n; i++)
		if (sqlite3_strglob(u->rule[i]->field_glob, field) == 0)
			return u->rule[i]->unit;
	return NULL;
}

const char *
nw_aggregation_name(enum nw_aggregation a)
{
	static const char *const name[NW_AGGREGATIONS] = { NULL, "mean", "sum", "min", "max",
		"last", "ratio", "spread" };

	return name[a];
}

enum nw_aggregation
nw_field_aggregation(const char *event_type, const char *field)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].aggregation != NW_AGG_UNSAID &&
		    sqlite3_strglob(rules[i].field_glob, field) == 0 &&
		    sqlite3_strglob(rules[i].event_glob, event_type) == 0)
			return rules[i].aggregation;
	return NW_AGG_UNSAID;
}

/* --- the table in the file --- */

static bool
text_is(sqlite3_stmt *st, int column, const char *want)
{
	const char *got = (const char *)sqlite3_column_text(st, column);

	return got == NULL || want == NULL ? got == want : strcmp(got, want) == 0;
}

int
field_table_compare(sqlite3 *db, bool *same)
{
	sqlite3_stmt *st = NULL;
	size_t n = 0;
	int rc, step = SQLITE_DONE;

	*same = true;
	if ((rc = sqlite3_prepare_v2(db,
		 "SELECT event_glob, field_glob, unit, aggregation FROM main.field ORDER BY rank",
		 -1, &st, NULL)) != SQLITE_OK)
		return db_code(rc);
	for (; *same && (step = sqlite3_step(st)) == SQLITE_ROW; n++)
		*same = n < sizeof(rules) / sizeof(rules[0]) &&
		    text_is(st, 0, rules[n].event_glob) && text_is(st, 1, rules[n].field_glob) &&
		    text_is(st, 2, rules[n].unit) &&
		    text_is(st, 3, nw_aggregation_name(rules[n].aggregation));
	*same = *same && n == sizeof(rules) / sizeof(rules[0]);
	sqlite3_finalize(st);
	return db_code(step);
}

static int
table_write(sqlite3 *db)
{
	static const char *const sql[] = { "DELETE FROM field",
		"INSERT INTO field VALUES(?,?,?,?,?)" };
	struct db_stmts stmts;
	size_t i;
	int rc;

	db_stmts_init(&stmts, db, sql, 2);
	rc = db_run(&stmts, 0, "");
	for (i = 0; rc == NW_OK && i < sizeof(rules) / sizeof(rules[0]); i++)
		rc = db_run(&stmts, 1, "itttt", (int64_t)i, rules[i].event_glob,
		    rules[i].field_glob, rules[i].unit, nw_aggregation_name(rules[i].aggregation));
	db_stmts_clear(&stmts);
	return rc;
}

int
field_table_update(sqlite3 *db)
{
	bool same;
	int rc = field_table_compare(db, &same);

	return rc == NW_OK && !same ? table_write(db) : rc;
}
