/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/read/aggregation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/ground/bucket.h"

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

/* Finds the fields that make mean_x (sum_x and the count of operations) or sd_x (mean_x) exact. */
static bool
partners_find(const struct names *f, const char *name, struct aggregate *a)
{
	const char *x = strchr(name, '_') + 1;

	if (a->how == NW_AGG_SPREAD)
		return field_find(f, "mean_", x, &a->over);
	return field_find(f, "sum_", x, &a->over) &&
	    (((strcmp(x, "r") == 0 || strcmp(x, "g") == 0) &&
		 field_find(f, "count_r", "", &a->by)) ||
		field_find(f, "count", "", &a->by));
}

static struct aggregate
aggregate_of(const struct names *f, uint32_t field, const char *event, const char *kind)
{
	struct aggregate a = { nw_field_aggregation(event == NULL ? "" : event, f->name[field]),
		field, field };

	if ((a.how == NW_AGG_RATIO || a.how == NW_AGG_SPREAD) &&
	    !partners_find(f, f->name[field], &a))
		a = (struct aggregate){ NW_AGG_UNSAID, field, field };
	if (a.how == NW_AGG_UNSAID)
		a.how = kind != NULL && strcmp(kind, "counter") == 0 ? NW_AGG_LAST : NW_AGG_MEAN;
	return a;
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
	if ((rc = db_take(&r->stmts, R_AGGREGATES, &st, "i", layout_id)) != NW_OK)
		return rc;
	while (rc == NW_OK && f->n < n_fields && (step = sqlite3_step(st)) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(st, 0);
		if ((f->name[f->n] = strdup(text == NULL ? "" : text)) == NULL)
			rc = NW_ENOMEM;
		else
			f->n++;
	}
	db_give(&r->stmts, R_AGGREGATES, st);
	if (rc == NW_OK && f->n < n_fields)
		rc = step == SQLITE_DONE ? NW_ECORRUPT : db_code(step);
	return rc;
}

int
aggregates_load(struct store_reader *r, int64_t layout_id, size_t n_fields, struct aggregate **out)
{
	struct names f = { NULL, 0 };
	sqlite3_stmt *st;
	uint32_t i;
	int rc;

	if ((*out = calloc(n_fields, sizeof(**out))) == NULL)
		return NW_ENOMEM;
	if ((rc = names_load(r, layout_id, n_fields, &f)) == NW_OK &&
	    (rc = db_take(&r->stmts, R_AGGREGATES, &st, "i", layout_id)) == NW_OK) {
		for (i = 0; i < n_fields && sqlite3_step(st) == SQLITE_ROW; i++)
			(*out)[i] = aggregate_of(&f, i, (const char *)sqlite3_column_text(st, 1),
			    (const char *)sqlite3_column_text(st, 2));
		db_give(&r->stmts, R_AGGREGATES, st);
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
aggregate_value(const struct aggregate *a, uint32_t field, const double *const *stats, size_t row)
{
	double n = stat_of(stats, field, STAT_N, row),
	       mean = stat_of(stats, field, STAT_SUM, row) / n, by, within, between;

	if (!(n > 0))
		return NAN;
	switch (a->how) {
	case NW_AGG_SUM: return stat_of(stats, field, STAT_SUM, row);
	case NW_AGG_MIN: return stat_of(stats, field, STAT_MIN, row);
	case NW_AGG_MAX:
	case NW_AGG_LAST: return stat_of(stats, field, STAT_MAX, row);
	case NW_AGG_RATIO:
		by = stat_of(stats, a->by, STAT_SUM, row);
		return by > 0 ? stat_of(stats, a->over, STAT_SUM, row) / by : mean;
	case NW_AGG_SPREAD:
		within = stat_of(stats, field, STAT_M2, row) / n + mean * mean;
		between = stat_of(stats, a->over, STAT_M2, row) /
		    fmax(stat_of(stats, a->over, STAT_N, row), 1);
		return sqrt(within + between);
	default: break;
	}
	return mean;
}
