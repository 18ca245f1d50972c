/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat summary`: running summaries of columns, or of a column per group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "cli/stat/stat_series.h"
#include "narrows/autocorr.h"

const struct stat_option summary_options[] = {
	{ "group", "COLUMN", "one summary per value of this column, and their total by merging" },
	{ NULL, NULL, NULL }
};

json_t *
summary_json(const struct nw_summary *s)
{
	double none = s->n == 0 ? NAN : 0; /* no value: nothing but n is defined */
	json_t *o = json_object();

	json_object_set_new(o, "n", json_integer((json_int_t)s->n));
	json_object_set_new(o, "mean", stat_json(s->mean + none));
	json_object_set_new(o, "sd", stat_json(nw_summary_sd(s) + none));
	json_object_set_new(o, "min", stat_json(s->min + none));
	json_object_set_new(o, "max", stat_json(s->max + none));
	json_object_set_new(o, "sum", stat_json(s->sum + none));
	if (s->n == 0)
		json_object_set_new(
		    o, "status", json_string(nw_status_text(NW_STATUS_INSUFFICIENT)));
	return o;
}

static json_t *
series_json(const double *v, size_t n)
{
	struct nw_autocorr a = nw_autocorr(v, n);
	json_t *o = summary_json(&a.sum);

	json_object_set_new(o, "lag1_autocorrelation", stat_json(a.r1));
	return o;
}

/* Median, 90th and 99th percentile of the values that are not missing (R's type 7), and no
 * deviation of a single value, as in R: for people and programs. The example sets ask for a
 * deviation of 0 and no percentiles. */
static int
set_quantiles(json_t *o, const double *v, size_t n)
{
	static const struct {
		const char *key;
		double share;
	} quantiles[] = { { "median", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
	double *copy = malloc((n + 1) * sizeof(*copy));
	size_t i, m = 0;

	if (copy == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		if (!isnan(v[i]))
			copy[m++] = v[i];
	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_object_set_new(o, quantiles[i].key,
		    stat_json(m > 0 ? quantile(copy, m, quantiles[i].share) : NAN));
	if (json_integer_value(json_object_get(o, "n")) < 2)
		json_object_set_new(o, "sd", json_null());
	free(copy);
	return NW_OK;
}

/* The values of each group behind each other, and where each group begins; NULL without memory. */
static double *
values_by_group(const struct series_groups *g, const double *v, size_t n_rows, size_t **begin)
{
	double *sorted = malloc((n_rows + 1) * sizeof(*sorted));
	size_t i, *at = calloc(g->n + 2, sizeof(*at));

	if (sorted == NULL || at == NULL) {
		free(sorted);
		free(at);
		return NULL;
	}
	for (i = 0; i < n_rows; i++)
		at[g->of[i] + 2]++;
	for (i = 2; i < g->n + 2; i++)
		at[i] += at[i - 1];
	for (i = 0; i < n_rows; i++)
		sorted[at[g->of[i] + 1]++] = v[i];
	*begin = at;
	return sorted;
}

static int
set_quantiles_by_group(const struct series_groups *g, const double *v, size_t n_rows, json_t *out)
{
	size_t i, *begin = NULL;
	double *sorted = values_by_group(g, v, n_rows, &begin);
	int rc = sorted == NULL ? NW_ENOMEM : NW_OK;

	for (i = 0; i < g->n && rc == NW_OK; i++)
		rc = set_quantiles(json_object_get(json_object_get(out, "windows"), g->name[i]),
		    sorted + begin[i], begin[i + 1] - begin[i]);
	if (sorted != NULL) {
		if (rc == NW_OK)
			rc = set_quantiles(json_object_get(out, "total"), v, n_rows);
		free(begin);
	}
	free(sorted);
	return rc;
}

/* {"windows": {group: summary}, "total": the summaries merged}; with several columns, such an
 * object per column. */
static int
column_by_group(
    const struct series_groups *g, const double *v, size_t n_rows, bool with_quantiles, json_t *out)
{
	struct nw_summary *s = calloc(g->n + 1, sizeof(*s)), total = { 0 };
	json_t *windows = json_object();
	size_t i;

	if (s == NULL) {
		json_decref(windows);
		return NW_ENOMEM;
	}
	for (i = 0; i < n_rows; i++)
		nw_summary_add(&s[g->of[i]], v[i]);
	for (i = 0; i < g->n; i++) {
		nw_summary_merge(&total, &s[i]);
		json_object_set_new(windows, g->name[i], summary_json(&s[i]));
	}
	json_object_set_new(out, "windows", windows);
	json_object_set_new(out, "total", summary_json(&total));
	free(s);
	return with_quantiles ? set_quantiles_by_group(g, v, n_rows, out) : NW_OK;
}

static int
table_by_group(struct stat_table *t, const char *group, bool with_quantiles, json_t *out,
    struct stat_error *err)
{
	const char *const *text = stat_table_texts(t, group, err);
	struct series_groups g;
	size_t col, n_values = 0;
	const double *v;
	json_t *part;
	int rc;

	if (text == NULL)
		return NW_EINVAL;
	if ((rc = series_groups_make(text, t->n_rows, &g)) != NW_OK)
		return rc;
	for (col = 0; col < t->n_cols; col++)
		n_values += column_is_numeric(t, col) && strcmp(t->cols[col].name, group) != 0;
	for (col = 0; col < t->n_cols && rc == NW_OK; col++) {
		if (!column_is_numeric(t, col) || strcmp(t->cols[col].name, group) == 0)
			continue;
		if ((v = stat_table_numbers_at(t, col, err)) == NULL) {
			rc = NW_EPROTO;
			break;
		}
		part = n_values == 1 ? json_incref(out) : json_object();
		rc = column_by_group(&g, v, t->n_rows, with_quantiles, part);
		if (n_values == 1)
			json_decref(part);
		else
			json_object_set_new(out, t->cols[col].name, part);
	}
	series_groups_free(&g);
	return rc;
}

/* Every column of numbers. Columns of names have no summary; a name among numbers is an error. */
static int
table_by_column(
    const struct stat_table *t, bool with_quantiles, json_t *out, struct stat_error *err)
{
	const double *v;
	json_t *o;
	size_t col;

	for (col = 0; col < t->n_cols; col++) {
		if (!column_is_numeric(t, col))
			continue;
		if ((v = stat_table_numbers_at(t, col, err)) == NULL)
			return NW_EPROTO;
		json_object_set_new(out, t->cols[col].name, o = series_json(v, t->n_rows));
		if (with_quantiles && set_quantiles(o, v, t->n_rows) != NW_OK)
			return NW_ENOMEM;
	}
	return NW_OK;
}

/* Tells a person which columns have no summary. */
static void
tell_left_out(const struct stat_table *t)
{
	struct stat_error note = { "" };
	char names[200] = "";
	size_t col, at = 0;

	for (col = 0; col < t->n_cols; col++)
		if (!column_is_numeric(t, col) && at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.40s",
			    at > 0 ? ", " : "", t->cols[col].name);
	if (at == 0)
		return;
	stat_fail(&note, NW_OK, "left out, not numbers: %s", names); /* without control bytes */
	fprintf(stderr, "narrows: %s\n", note.text);
}

static void
group_row_add(json_t *rows, const char *column, const char *group, const json_t *summary)
{
	json_t *row = json_pack("{s:s}", "group", group);

	if (column != NULL)
		json_object_set_new(row, "column", json_string(column));
	json_object_update(row, (json_t *)(uintptr_t)summary);
	json_array_append_new(rows, row);
}

static void
column_rows_add(json_t *rows, const char *column, const json_t *by_group)
{
	const char *group;
	json_t *summary;

	json_object_foreach(json_object_get(by_group, "windows"), group, summary)
	    group_row_add(rows, column, group, summary);
	group_row_add(rows, column, "total", json_object_get(by_group, "total"));
}

/* One row for each group, and for each column if there are several: for CSV, and for a person. */
static json_t *
rows_of_groups(const json_t *doc)
{
	json_t *rows = json_array(), *part;
	const char *column;

	if (json_object_get(json_object_get(doc, "total"), "n") != NULL)
		column_rows_add(rows, NULL, doc);
	else
		json_object_foreach((json_t *)(uintptr_t)doc, column, part)
		    column_rows_add(rows, column, part);
	return rows;
}

int
summary_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	const char *group = stat_arg(a, "group");
	struct stat_table *t;
	json_t *rows;
	int rc;

	if ((rc = series_table(a, &t, err)) != NW_OK)
		return rc;
	*out = json_object();
	rc = group != NULL ? table_by_group(t, group, true, *out, err)
			   : table_by_column(t, true, *out, err);
	if (rc == NW_OK && json_object_size(*out) == 0 && t->n_cols > 0)
		rc = stat_table_numbers_at(t, 0, err) == NULL ? NW_EPROTO : NW_OK;
	if (rc == NW_OK && group == NULL)
		tell_left_out(t);
	if (rc == NW_OK && group != NULL && json_object_size(*out) > 0 &&
	    (stat_arg_is_form(a, STAT_CSV) || stat_arg_is_form(a, STAT_TABLE))) {
		rows = rows_of_groups(*out);
		json_decref(*out);
		*out = rows;
	}
	stat_table_free(t);
	return rc;
}

static double
number_of(const json_t *v)
{
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static int
series_of_json(const json_t *doc, json_t *out)
{
	const char *name;
	json_t *list, *item;
	double *v;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)doc, name, list)
	{
		if ((v = malloc((json_array_size(list) + 1) * sizeof(*v))) == NULL)
			return NW_ENOMEM;
		json_array_foreach(list, i, item) v[i] = number_of(item);
		json_object_set_new(out, name, series_json(v, json_array_size(list)));
		free(v);
	}
	return NW_OK;
}

int
summary_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	const char *input = stat_case_input(c, NULL), *group = stat_case_text(c, "group_by", NULL);
	struct stat_table *t;
	json_t *doc, *only;
	int rc;

	if (input == NULL)
		return stat_fail(err, NW_EINVAL, "%s: no input", c->id);
	*out = json_object();
	if (strstr(input, ".json") != NULL) {
		if ((rc = stat_case_json(c, NULL, &doc, err)) == NW_OK)
			rc = series_of_json(doc, *out);
		json_decref(doc);
		return rc;
	}
	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return rc;
	rc = group != NULL ? table_by_group(t, group, false, *out, err)
			   : table_by_column(t, false, *out, err);
	/* with one series the summary is the answer */
	if (rc == NW_OK && group == NULL && json_object_size(*out) == 1) {
		only = json_incref(json_object_iter_value(json_object_iter(*out)));
		json_decref(*out);
		*out = only;
	}
	stat_table_free(t);
	return rc;
}
