/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat changes`: where a series changes its mean or spread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"
#include "narrows/changepoint.h"

const struct stat_option changes_options[] = { { "penalty", "P",
						   "per change: a number, or \"K ln n\" (3 ln n)" },
	{ "min-segment", "M", "values a segment has at least (5)" },
	{ "ar", NULL, "multiply the penalty by (1+r)/(1-r), r the robust lag-1 autocorrelation" },
	{ "winsorise", "K", "cut to median +- K MAD first" }, { "column", "C", "the series" },
	{ NULL, NULL, NULL } };

/* A number, or a number followed by "ln n", to be multiplied by ln n. False for other text. */
static bool
parse_penalty(const char *s, size_t n, double *out)
{
	const char *ln = strstr(s, "ln n");
	double factor = 1, log_n = log((double)(n > 1 ? n : 2));

	if (ln == NULL)
		return stat_number_parse(s, strlen(s), out) && *out > 0;
	if (ln != s && !stat_number_parse(s, (size_t)(ln - s), &factor))
		return false;
	*out = factor * log_n;
	return ln[4] == '\0' && *out > 0;
}

static json_t *
starts_json(const struct nw_changes *c)
{
	json_t *list = json_array();
	size_t i;

	for (i = 1; i < c->n_segments; i++)
		json_array_append_new(list, json_integer((json_int_t)c->segment[i].start));
	return list;
}

static json_t *
segments_json(const struct nw_changes *c)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < c->n_segments; i++) {
		o = json_object();
		json_object_set_new(o, "start", json_integer((json_int_t)c->segment[i].start));
		json_object_set_new(o, "end", json_integer((json_int_t)c->segment[i].end));
		json_object_set_new(o, "mean", stat_json(c->segment[i].mean));
		json_object_set_new(o, "sd_population", stat_json(c->segment[i].sd));
		if (c->segment[i].drifts) {
			json_object_set_new(o, "drift_low", stat_json(c->segment[i].low));
			json_object_set_new(o, "drift_high", stat_json(c->segment[i].high));
		}
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
cycle_json(const struct nw_cycle *c)
{
	return json_pack("{s:f,s:f,s:f,s:f}", "period", c->period, "cycles", c->n_cycles, "low",
	    c->low, "high", c->high);
}

/* The segmentation asked for, and beside that the penalty by the series' autocorrelation. */
static int
report(const double *y, size_t n, const struct nw_change_options *options, json_t *out)
{
	struct nw_change_options ar = *options;
	struct nw_changes c, with_ar = { 0 };
	int rc;

	ar.ar = true;
	if ((rc = nw_changes(y, n, options, &c)) != NW_OK ||
	    (rc = nw_changes(y, n, &ar, &with_ar)) != NW_OK)
		goto out;
	json_object_set_new(out, "status", json_string(nw_status_text(c.status)));
	json_object_set_new(out, "changepoints", starts_json(&c));
	if (c.cycle.period > 0)
		json_object_set_new(out, "cycle", cycle_json(&c.cycle));
	json_object_set_new(out, "total_cost", stat_json(c.cost));
	json_object_set_new(out, "penalty", stat_json(c.penalty));
	json_object_set_new(out, "segments", segments_json(&c));
	json_object_set_new(out, "rho_robust", stat_json(c.r));
	json_object_set_new(out, "ar_penalty", stat_json(with_ar.penalty));
	json_object_set_new(out, "changepoints_ar_penalty", starts_json(&with_ar));
out:
	nw_changes_clear(&c);
	nw_changes_clear(&with_ar);
	return rc;
}

static int
report_table(const struct stat_table *t, const char *column, const char *penalty,
    struct nw_change_options *o, json_t *out, struct stat_error *err)
{
	size_t col = series_column(t, column, err);
	const double *y = col == SIZE_MAX ? NULL : stat_table_numbers_at(t, col, err);

	if (y == NULL)
		return NW_EPROTO;
	if (penalty != NULL &&
	    !parse_penalty(penalty, t->n_rows - t->cols[col].n_missing, &o->penalty))
		return stat_fail(err, NW_EINVAL,
		    "penalty \"%.40s\" is neither a positive number nor \"K ln n\"", penalty);
	return report(y, t->n_rows, o, out);
}

int
changes_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct nw_change_options o = stat_arg_sound(a) ? nw_change_better : nw_change_faithful;
	struct stat_table *t;
	int rc;

	o.ar |= stat_arg_given(a, "ar");
	if ((rc = stat_arg_count(a, "min-segment", 2, 1000000, &o.min_segment, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "winsorise", 0, 1e6, &o.winsorise_mad, err)) != NW_OK ||
	    (rc = series_table(a, &t, err)) != NW_OK)
		return rc;
	*out = json_object();
	rc = report_table(t, stat_arg(a, "column"), stat_arg(a, "penalty"), &o, *out, err);
	stat_table_free(t);
	return rc;
}

int
changes_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct nw_change_options o = nw_change_faithful;
	double min_segment = stat_case_number(c, "min_segment", (double)o.min_segment);
	struct stat_table *t;
	int rc;

	if (min_segment >= 2 && min_segment <= 1e6)
		o.min_segment = (size_t)min_segment;
	o.penalty = fmax(0, stat_case_number(c, "penalty", 0));
	o.ar = stat_case_bool(c, "ar", false);
	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	*out = json_object();
	rc = report_table(t, NULL, stat_case_text(c, "penalty", NULL), &o, *out, err);
	stat_table_free(t);
	return rc;
}
