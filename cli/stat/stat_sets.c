/* SPDX-License-Identifier: BSD-3-Clause */
/* Named groups of values out of a CSV file. See stat_sets.h. */
#include "cli/stat/stat_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"

void
sets_free(struct sets *s)
{
	free(s->name);
	free(s->group);
	free(s->series);
	free(s->values);
	stat_table_free(s->t);
}

static int
sets_alloc(struct sets *s, size_t n, size_t n_values)
{
	s->n = n;
	s->name = calloc(n + 1, sizeof(*s->name));
	s->group = calloc(n + 1, sizeof(*s->group));
	s->series = calloc(n + 1, sizeof(*s->series));
	s->values = malloc((n_values + 1) * sizeof(*s->values));
	return s->name == NULL || s->group == NULL || s->series == NULL || s->values == NULL
	    ? NW_ENOMEM
	    : NW_OK;
}

static bool
has_column(const struct stat_table *t, const char *name)
{
	return stat_table_find(t, name) >= 0;
}

/* A group's n where the file kept only sum and mean. */
static double
recovered_n(double sum, double mean)
{
	return mean != 0 && isfinite(sum) ? round(sum / mean) : NAN;
}

static int
sets_of_tuples(struct sets *s, const char *const *names, struct stat_error *err)
{
	const struct stat_table *t = s->t;
	const double *mean = stat_table_numbers(t, "mean", err),
		     *sd = stat_table_numbers(t, "sd", err), *n = NULL, *sum = NULL;
	size_t i;
	int rc;

	if (has_column(t, "n"))
		n = stat_table_numbers(t, "n", err);
	else if (has_column(t, "sum"))
		sum = stat_table_numbers(t, "sum", err);
	if (mean == NULL || sd == NULL || (n == NULL && sum == NULL))
		return stat_fail(
		    err, NW_EPROTO, "%s:1:1: summaries want columns n (or sum), mean, sd", t->file);
	if ((rc = sets_alloc(s, t->n_rows, 0)) != NW_OK)
		return rc;
	for (i = 0; i < t->n_rows; i++) {
		s->group[i] = (struct nw_group){ n != NULL ? n[i] : recovered_n(sum[i], mean[i]),
			mean[i], sd[i] };
		if (s->group[i].n == 1 && isnan(sd[i]))
			s->group[i].sd = 0;
		s->name[i] = names != NULL ? names[i] : "";
	}
	return NW_OK;
}

/* The series of each group, in order of rows. */
static int
sets_of_long(struct sets *s, const char *const *names, const double *v)
{
	size_t *fill = NULL, i, at = 0, n_rows = s->t->n_rows;
	struct series_groups g;
	int rc;

	if ((rc = series_groups_make(names, n_rows, &g)) != NW_OK)
		return rc;
	if ((rc = sets_alloc(s, g.n, n_rows)) != NW_OK ||
	    (fill = calloc(g.n + 1, sizeof(*fill))) == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	for (i = 0; i < n_rows; i++)
		s->series[g.of[i]].n++;
	for (i = 0; i < g.n; i++) {
		s->name[i] = s->series[i].name = g.name[i];
		s->series[i].x = s->values + at;
		fill[i] = at;
		at += s->series[i].n;
	}
	for (i = 0; i < n_rows; i++)
		s->values[fill[g.of[i]]++] = v[i];
out:
	free(fill);
	series_groups_free(&g);
	return rc;
}

static int
sets_of_wide(struct sets *s, struct stat_error *err)
{
	size_t col, n = 0;
	int rc;

	for (col = 0; col < s->t->n_cols; col++)
		n += column_is_numeric(s->t, col) && !column_is_clock(s->t, col);
	if ((rc = sets_alloc(s, n, 0)) != NW_OK)
		return rc;
	for (col = 0, n = 0; col < s->t->n_cols; col++) {
		if (!column_is_numeric(s->t, col) || column_is_clock(s->t, col))
			continue;
		s->series[n].x = stat_table_numbers_at(s->t, col, err);
		s->series[n].n = s->t->n_rows;
		s->name[n] = s->series[n].name = s->t->cols[col].name;
		if (s->series[n++].x == NULL)
			return NW_EPROTO;
	}
	return NW_OK;
}

/* The value column of a long file: the wanted, the usual names, or the only number beside clock and
 * names. */
static size_t
value_column(const struct stat_table *t, size_t names, const char *wanted, struct stat_error *err)
{
	size_t col, found = SIZE_MAX, n = 0;

	if (wanted == NULL && has_column(t, "tput_mean"))
		wanted = "tput_mean";
	if (wanted == NULL)
		for (col = 0; col < t->n_cols; col++)
			if (col != names && column_is_numeric(t, col) && !column_is_clock(t, col)) {
				found = col;
				n++;
			}
	return n == 1 ? found : series_column(t, wanted, err);
}

int
sets_make_wide(struct sets *s, struct stat_table *t, struct stat_error *err)
{
	*s = (struct sets){ .t = t };
	return sets_of_wide(s, err);
}

int
sets_make(struct sets *s, struct stat_table *t, const char *group, const char *value,
    struct stat_error *err)
{
	const char *const *names = NULL;
	const double *v;
	size_t col, value_col;

	*s = (struct sets){ .t = t };
	if (group != NULL && !has_column(t, group))
		return stat_fail(err, NW_ENOTFOUND, "%s:1:1: no column \"%.40s\"", t->file, group);
	col = name_column(t, group);
	if (col != SIZE_MAX && (names = stat_table_texts(t, t->cols[col].name, err)) == NULL)
		return NW_ENOMEM;
	if (has_column(t, "mean") && has_column(t, "sd"))
		return sets_of_tuples(s, names, err);
	if (col == SIZE_MAX)
		return sets_of_wide(s, err);
	if ((value_col = value_column(t, col, value, err)) == SIZE_MAX)
		return NW_EPROTO;
	v = stat_table_numbers_at(t, value_col, err);
	return v == NULL ? NW_EPROTO : sets_of_long(s, names, v);
}

void
sets_summarise(struct sets *s, bool n_eff)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->series[i].x != NULL) {
			struct nw_autocorr a = nw_autocorr(s->series[i].x, s->series[i].n);

			s->group[i] = n_eff ? nw_autocorr_group(&a) : nw_group_of(&a.sum);
		}
}

void
set_defined(json_t *o, const char *key, double v)
{
	if (!isnan(v))
		json_object_set_new(o, key, stat_json(v));
}

json_t *
test_json(const struct nw_ttest *t)
{
	json_t *o = json_object();

	json_object_set_new(o, "status", json_string(nw_status_text(t->status)));
	set_defined(o, "diff", t->diff);
	set_defined(o, "se", t->se);
	set_defined(o, "t", t->t);
	set_defined(o, "df", t->df);
	set_defined(o, "p", t->p);
	set_defined(o, "log10_p", t->log10_p);
	return o;
}
