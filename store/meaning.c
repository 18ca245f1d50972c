/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/meaning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/fold.h"

/*
 * Names mean something within event types that begin so. sum_x, min_x, max_x, mean_x and sd_x mean
 * what they say everywhere. What is in neither is a counter if its metadata's parameters say kind
 * (or kind_<field>) "counter", and a gauge if not.
 */
static const struct {
	const char *event, *field;
	enum meaning_how how;
} names[] = {
	{ "nl", "count", MEANING_SUM },
	{ "nl", "count_r", MEANING_SUM },
	{ "nl", "clamped", MEANING_SUM },
	{ "nl", "dur", MEANING_SUM },
	{ "nl", "dur_inst", MEANING_SUM },
	{ "nl", "window", MEANING_SUM },
	{ "nl", "busy", MEANING_SUM },
	{ "nl", "busy_max", MEANING_SUM },
	{ "nl", "wait", MEANING_SUM },
	{ "nl", "threads", MEANING_MAX },
	{ "nw:process", "cpu_user", MEANING_SUM },
	{ "nw:process", "cpu_sys", MEANING_SUM },
	{ "nw:process", "cpu_wait", MEANING_SUM },
	{ "nw:process", "rchar", MEANING_SUM },
	{ "nw:process", "wchar", MEANING_SUM },
	{ "nw:process", "read_bytes", MEANING_SUM },
	{ "nw:process", "write_bytes", MEANING_SUM },
	{ "nw:process", "seen_read", MEANING_SUM },
	{ "nw:process", "seen_written", MEANING_SUM },
	{ "nw:process", "combined_bytes", MEANING_SUM },
	{ "nw:process", "combined_s", MEANING_SUM },
	{ "nw:process", "pipe_read_bytes", MEANING_SUM },
	{ "nw:process", "pipe_write_bytes", MEANING_SUM },
	{ "nw:process", "pipe_read_s", MEANING_SUM },
	{ "nw:process", "pipe_write_s", MEANING_SUM },
	{ "nw:process", "window", MEANING_SUM },
	{ "nw:process", "missed_ops", MEANING_LAST },
	{ "nw:file", "read_bytes", MEANING_SUM },
	{ "nw:file", "write_bytes", MEANING_SUM },
	{ "nw:file", "read_s", MEANING_SUM },
	{ "nw:file", "write_s", MEANING_SUM },
	{ "nw:connection", "bytes_in", MEANING_SUM },
	{ "nw:connection", "bytes_out", MEANING_SUM },
	{ "nw:connection", "rtt_min_s", MEANING_MIN },
	{ "nw:connection", "retrans", MEANING_LAST },
	{ "nw:connection", "busy_s", MEANING_LAST },
	{ "nw:connection", "rwnd_limited_s", MEANING_LAST },
	{ "nw:connection", "sndbuf_limited_s", MEANING_LAST },
};

struct names {
	char **name;
	size_t n;
};

static bool
field_find(const struct names *f, const char *prefix, const char *rest, uint32_t *out)
{
	size_t len = strlen(prefix), i;

	for (i = 0; i < f->n; i++)
		if (strncmp(f->name[i], prefix, len) == 0 && strcmp(f->name[i] + len, rest) == 0) {
			*out = (uint32_t)i;
			return true;
		}
	return false;
}

/* sum_x and its family; of mean_x and sd_x only with the fields that make them exact. */
static bool
family(const struct names *f, const char *name, struct meaning *m)
{
	static const struct {
		const char *prefix;
		enum meaning_how how;
	} all[] = {
		{ "sum_", MEANING_SUM },
		{ "min_", MEANING_MIN },
		{ "max_", MEANING_MAX },
		{ "mean_", MEANING_RATIO },
		{ "sd_", MEANING_SPREAD },
	};
	const char *x;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strncmp(name, all[i].prefix, strlen(all[i].prefix)) == 0)
			break;
	if (i == sizeof(all) / sizeof(all[0]))
		return false;
	m->how = all[i].how;
	x = name + strlen(all[i].prefix);
	if (m->how == MEANING_RATIO)
		return field_find(f, "sum_", x, &m->over) &&
		    (((strcmp(x, "r") == 0 || strcmp(x, "g") == 0) &&
			 field_find(f, "count_r", "", &m->by)) ||
			field_find(f, "count", "", &m->by));
	return m->how != MEANING_SPREAD || field_find(f, "mean_", x, &m->over);
}

static struct meaning
meaning_of(const struct names *f, uint32_t field, const char *event, const char *kind)
{
	struct meaning m = { MEANING_MEAN, field, field };
	size_t i;

	if (family(f, f->name[field], &m))
		return m;
	m = (struct meaning){ MEANING_MEAN, field, field };
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (event != NULL && strncmp(event, names[i].event, strlen(names[i].event)) == 0 &&
		    strcmp(f->name[field], names[i].field) == 0)
			m.how = names[i].how;
	if (m.how == MEANING_MEAN && kind != NULL && strcmp(kind, "counter") == 0)
		m.how = MEANING_LAST;
	return m;
}

static void
names_clear(struct names *f)
{
	while (f->n > 0)
		free(f->name[--f->n]);
	free(f->name);
}

static int
names_load(struct store_reader *r, int64_t layout_id, size_t n_fields, struct names *f)
{
	sqlite3_stmt *st;
	const char *text;
	int rc, step = SQLITE_DONE;

	if ((f->name = calloc(n_fields, sizeof(*f->name))) == NULL)
		return NW_ENOMEM;
	if ((rc = db_take(&r->stmts, R_MEANING, &st, "i", layout_id)) != NW_OK)
		return rc;
	while (rc == NW_OK && f->n < n_fields && (step = sqlite3_step(st)) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(st, 0);
		if ((f->name[f->n] = strdup(text == NULL ? "" : text)) == NULL)
			rc = NW_ENOMEM;
		else
			f->n++;
	}
	db_give(&r->stmts, R_MEANING, st);
	if (rc == NW_OK && f->n < n_fields)
		rc = step == SQLITE_DONE ? NW_ECORRUPT : db_code(step);
	return rc;
}

int
meaning_load(struct store_reader *r, int64_t layout_id, size_t n_fields, struct meaning **out)
{
	struct names f = { NULL, 0 };
	sqlite3_stmt *st;
	uint32_t i;
	int rc;

	if ((*out = calloc(n_fields, sizeof(**out))) == NULL)
		return NW_ENOMEM;
	if ((rc = names_load(r, layout_id, n_fields, &f)) == NW_OK &&
	    (rc = db_take(&r->stmts, R_MEANING, &st, "i", layout_id)) == NW_OK) {
		for (i = 0; i < n_fields && sqlite3_step(st) == SQLITE_ROW; i++)
			(*out)[i] = meaning_of(&f, i, (const char *)sqlite3_column_text(st, 1),
			    (const char *)sqlite3_column_text(st, 2));
		db_give(&r->stmts, R_MEANING, st);
	}
	names_clear(&f);
	if (rc != NW_OK) {
		free(*out);
		*out = NULL;
	}
	return rc;
}

static double
stat_of(const double *const *stats, uint32_t field, int stat, size_t row)
{
	return stats[(size_t)field * STATS + (size_t)stat][row];
}

double
meaning_value(const struct meaning *m, uint32_t field, const double *const *stats, size_t row)
{
	double n = stat_of(stats, field, STAT_N, row),
	       mean = stat_of(stats, field, STAT_SUM, row) / n, by, within, between;

	if (!(n > 0))
		return NAN;
	switch (m->how) {
	case MEANING_SUM: return stat_of(stats, field, STAT_SUM, row);
	case MEANING_MIN: return stat_of(stats, field, STAT_MIN, row);
	case MEANING_MAX:
	case MEANING_LAST: return stat_of(stats, field, STAT_MAX, row);
	case MEANING_RATIO:
		by = stat_of(stats, m->by, STAT_SUM, row);
		return by > 0 ? stat_of(stats, m->over, STAT_SUM, row) / by : mean;
	case MEANING_SPREAD:
		within = stat_of(stats, field, STAT_M2, row) / n + mean * mean;
		between = stat_of(stats, m->over, STAT_M2, row) /
		    fmax(stat_of(stats, m->over, STAT_N, row), 1);
		return sqrt(within + between);
	case MEANING_MEAN: break;
	}
	return mean;
}
