/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat summary`: running summaries of columns, or of a column per group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* {"windows": {group: summary}, "total": the summaries merged}; with several columns, such an
 * object per column. */
static int
column_by_group(const struct series_groups *g, const double *v, size_t n_rows, json_t *out)
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
	return NW_OK;
}

static int
table_by_group(struct stat_table *t, const char *group, json_t *out, struct stat_error *err)
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
		rc = column_by_group(&g, v, t->n_rows, part);
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
table_by_column(const struct stat_table *t, json_t *out, struct stat_error *err)
{
	const double *v;
	size_t col;

	for (col = 0; col < t->n_cols; col++) {
		if (!column_is_numeric(t, col))
			continue;
		if ((v = stat_table_numbers_at(t, col, err)) == NULL)
			return NW_EPROTO;
		json_object_set_new(out, t->cols[col].name, series_json(v, t->n_rows));
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

int
summary_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	const char *group = stat_arg(a, "group");
	struct stat_table *t;
	int rc;

	if ((rc = series_table(a, &t, err)) != NW_OK)
		return rc;
	*out = json_object();
	rc = group != NULL ? table_by_group(t, group, *out, err) : table_by_column(t, *out, err);
	if (rc == NW_OK && json_object_size(*out) == 0 && t->n_cols > 0)
		rc = stat_table_numbers_at(t, 0, err) == NULL ? NW_EPROTO : NW_OK;
	if (rc == NW_OK && group == NULL)
		tell_left_out(t);
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
	rc = group != NULL ? table_by_group(t, group, *out, err) : table_by_column(t, *out, err);
	/* with one series the summary is the answer */
	if (rc == NW_OK && group == NULL && json_object_size(*out) == 1) {
		only = json_incref(json_object_iter_value(json_object_iter(*out)));
		json_decref(*out);
		*out = only;
	}
	stat_table_free(t);
	return rc;
}
