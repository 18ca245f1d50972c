/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names begin with narrows_ and end with their unit; a sum since the start ends in _total. A
 * counter of the list (narrows/counters.h) keeps its name; a gauge with the name of a sum gets the
 * end _open.
 */
#include "web/answer/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/web.h"
#include "web/query/counter.h"
#include "web/answer/health.h"

static const char total[] = "_total";
enum { NAME_BYTES = 96 };

struct writer {
	struct evbuffer *out;
	bool open, failed;
};

static size_t
family_len(const char *name)
{
	size_t len = strlen(name), end = sizeof(total) - 1;

	return len > end && strcmp(name + len - end, total) == 0 ? len - end : len;
}

/*
 * The lines before the samples. A family of OpenMetrics has the name of its counter without _total.
 */
static void
family(struct writer *w, const char *name, const char *type, const char *unit, const char *help)
{
	int len = (int)(w->open ? family_len(name) : strlen(name));

	w->failed |= evbuffer_add_printf(w->out, "# TYPE narrows_%.*s %s\n", len, name,
			 !w->open && strcmp(type, "info") == 0 ? "gauge" : type) < 0;
	if (w->open && unit[0] != '\0')
		w->failed |=
		    evbuffer_add_printf(w->out, "# UNIT narrows_%.*s %s\n", len, name, unit) < 0;
	w->failed |= evbuffer_add_printf(w->out, "# HELP narrows_%.*s %s.\n", len, name, help) < 0;
}

static void
sample(struct writer *w, const char *name, const char *labels, double v)
{
	w->failed |= evbuffer_add_printf(w->out, "narrows_%s%s %s\n", name, labels,
			 isnan(v) ? "NaN" : fmt_exact(v).s) < 0;
}

static void
one(struct writer *w, const char *name, const char *type, const char *unit, const char *help,
    double v)
{
	family(w, name, type, unit, help);
	sample(w, name, "", v);
}

/* --- counters --- */

static bool
is_counter_named(const char *name)
{
	size_t i;

	for (i = 0; i < counter_rows_count; i++)
		if (strcmp(counter_rows[i].name, name) == 0)
			return true;
	return false;
}

static void
counters(struct writer *w, const struct nw_counts *counts)
{
	char name[NAME_BYTES], sum[NAME_BYTES];
	size_t i;

	for (i = 0; i < counter_rows_count; i++) {
		const struct counter_row *row = &counter_rows[i];
		double v = (double)counter_value(row, counts);

		snprintf(sum, sizeof(sum), "%.*s%s", (int)family_len(row->name), row->name, total);
		if (row->kind != NW_COUNTER_GAUGE) {
			one(w, sum, "counter", "", row->words, v);
			continue;
		}
		snprintf(
		    name, sizeof(name), "%s%s", row->name, is_counter_named(sum) ? "_open" : "");
		one(w, name, "gauge", counter_unit(row), row->words, v);
	}
}

/* --- the store and the rest --- */

static void
tiers(struct writer *w, const struct store_stats *s)
{
	static const char *const labels[STORE_TIERS] = { "{tier=\"rows\"}", "{tier=\"10s\"}",
		"{tier=\"1min\"}", "{tier=\"1h\"}" };
	int t;

	family(w, "store_tier_bytes", "gauge", "bytes", "Compressed size of a tier");
	for (t = 0; t < STORE_TIERS; t++)
		sample(w, "store_tier_bytes", labels[t], (double)s->tier_bytes[t]);
	family(w, "store_rolled_rows_total", "counter", "", "Rows that became buckets");
	for (t = 0; t < STORE_TIERS; t++)
		sample(w, "store_rolled_rows_total", labels[t], (double)s->rolled_rows[t]);
	family(w, "store_expired_rows_total", "counter", "", "Rows that were deleted for age");
	for (t = 0; t < STORE_TIERS; t++)
		sample(w, "store_expired_rows_total", labels[t], (double)s->expired_rows[t]);
}

static double
seconds_of(int64_t ns)
{
	return (double)ns / 1e9;
}

static void
store(struct writer *w, const struct store_stats *s)
{
	one(w, "store_queued_batches", "gauge", "", "Batches that wait for a commit",
	    (double)s->queued_batches);
	one(w, "store_queued_bytes", "gauge", "bytes", "Memory of those batches",
	    (double)s->queued_bytes);
	one(w, "store_commits_total", "counter", "", "Commits", (double)s->commits);
	one(w, "store_rows_total", "counter", "", "Rows stored", (double)s->rows);
	one(w, "store_samples_total", "counter", "", "Samples stored", (double)s->samples);
	one(w, "store_failed_batches_total", "counter", "", "Batches that were lost",
	    (double)s->failed_batches);
	one(w, "store_file_bytes", "gauge", "bytes", "File and WAL", (double)s->file_bytes);
	one(w, "store_limit_bytes", "gauge", "bytes", "Size ceiling, 0 without a ceiling",
	    (double)s->max_bytes);
	one(w, "store_last_commit_timestamp_seconds", "gauge", "seconds", "Time of the last commit",
	    seconds_of(s->last_commit_wall_ns));
	one(w, "store_last_commit_duration_seconds", "gauge", "seconds",
	    "Duration of the last commit", seconds_of(s->last_commit_took_ns));
	one(w, "store_forgotten_sessions_total", "counter", "", "Old sessions forgotten",
	    (double)s->forgotten_sessions);
	one(w, "store_late_rows_total", "counter", "", "Rows for forgotten sessions",
	    (double)s->late_rows);
	tiers(w, s);
}

static void
parts(struct writer *w, const struct nw_health *health)
{
	struct health_part list[HEALTH_PARTS];
	char labels[NAME_BYTES];
	size_t i;

	health_parts(health, list);
	family(w, "up", "gauge", "", "1 for a part that works, 0 for a part that failed");
	for (i = 0; i < HEALTH_PARTS; i++) {
		snprintf(labels, sizeof(labels), "{part=\"%s\"}", list[i].name);
		sample(w, "up", labels, list[i].ok);
	}
}

int
metrics_write(struct evbuffer *out, const struct nw_health *health, bool open)
{
	struct writer w = { .out = out, .open = open };
	char labels[NAME_BYTES];

	snprintf(labels, sizeof(labels), "{version=\"%s\"}", health->version);
	family(&w, open ? "build" : "build_info", "info", "", "Version of the box");
	sample(&w, "build_info", labels, 1);
	one(&w, "start_timestamp_seconds", "gauge", "seconds", "Start of the box",
	    seconds_of(health->started_wall_ns));
	parts(&w, health);
	counters(&w, &health->counts);
	store(&w, &health->store);
	one(&w, "disk_free_bytes", "gauge", "bytes", "Free space beside the store",
	    health->disk_free_bytes >= 0 ? (double)health->disk_free_bytes : NAN);
	one(&w, "clock_synchronised", "gauge", "", "1 for a synchronised clock",
	    health->clock_known && health->clock_synchronised);
	one(&w, "clock_bound_seconds", "gauge", "seconds", "Largest error of the box's clock",
	    health->clock_known ? health->clock_bound_s : NAN);
	one(&w, "analysis_last_timestamp_seconds", "gauge", "seconds", "Time of the last analysis",
	    seconds_of(health->last_analysis_wall_ns));
	one(&w, "incidents_open", "gauge", "", "Routes' incidents that are open",
	    (double)health->incidents_open);
	if (open && evbuffer_add_printf(out, "# EOF\n") < 0)
		w.failed = true;
	return w.failed ? NW_ENOMEM : NW_OK;
}

bool
metrics_is_open(const char *accept)
{
	return accept != NULL && strstr(accept, "application/openmetrics-text") != NULL;
}

const char *
metrics_content_type(bool open)
{
	return open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		    : "text/plain; version=0.0.4; charset=utf-8";
}
