/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat bottleneck`: which component limits, and whether any other component may be the
 * limit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_hidden.h"
#include "cli/stat/stat_series.h"
#include "cli/stat/stat_sets.h"

const struct stat_option bottleneck_options[] = { { "alpha", "A", "significance level (0.05)" },
	{ "student", NULL, "judge by Student's test (pooled variance), not Welch's" },
	{ "n-eff", NULL, "effective sample sizes: values one after the other are alike" },
	{ "paired", NULL,
	    "test the differences within windows; components of one pipeline stall together" },
	{ "group", "COLUMN", "the column of component names" },
	{ "value", "COLUMN", "the column of values" },
	{ "change-at", "T", "compare the windows before and from T on: hidden waits" },
	{ NULL, NULL, NULL } };

static int
compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the candidates, sorted. */
static json_t *
candidates_json(const struct sets *s, const struct nw_component_result *r)
{
	const char **names = malloc((s->n + 1) * sizeof(*names));
	json_t *list;
	size_t i, n = 0;

	if (names == NULL)
		return NULL;
	for (i = 0; i < s->n; i++)
		if (r[i].candidate)
			names[n++] = s->name[i];
	qsort(names, n, sizeof(*names), compare_text);
	list = stat_json_strings(names, n);
	free(names);
	return list;
}

static json_t *
verdict_json(
    const struct sets *s, const struct nw_component_result *r, const struct nw_bottleneck *b)
{
	json_t *o = json_object(), *tests = json_object(), *holm = json_object();
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (i == b->lowest || !r[i].has_data)
			continue;
		json_object_set_new(tests, s->name[i], test_json(&r[i].test));
		set_defined(holm, s->name[i], r[i].p_holm);
	}
	json_object_set_new(o, "status", json_string(nw_status_text(b->status)));
	json_object_set_new(
	    o, "lowest", b->lowest < s->n ? json_string(s->name[b->lowest]) : json_null());
	json_object_set_new(o, "tests", tests);
	json_object_set_new(o, "candidates", candidates_json(s, r));
	json_object_set_new(o, "unique", json_boolean(b->unique));
	json_object_set_new(o, "holm", holm);
	json_object_set_new(o, "alpha", stat_json(b->alpha));
	json_object_set_new(
	    o, "runner_up", b->runner_up < s->n ? json_string(s->name[b->runner_up]) : json_null());
	json_object_set_new(o, "effect", stat_json(b->effect));
	json_object_set_new(o, "effect_interval",
	    json_pack("[o,o]", stat_json(b->effect_low), stat_json(b->effect_high)));
	return o;
}

/* One row per component: the tested numbers and the result of the test. */
static json_t *
components_json(const struct sets *s, const struct nw_component_result *r, size_t lowest)
{
	json_t *rows = json_array(), *o, *test;
	size_t i;

	for (i = 0; i < s->n; i++) {
		o = json_object();
		json_object_set_new(o, "component", json_string(s->name[i]));
		json_object_set_new(o, "values", json_integer((json_int_t)r[i].n_values));
		json_object_set_new(o, "n", stat_json(r[i].group.n));
		json_object_set_new(o, "mean", stat_json(r[i].group.mean));
		json_object_set_new(o, "sd", stat_json(r[i].group.sd));
		json_object_set_new(o, "lag1_autocorrelation", stat_json(r[i].r1));
		json_object_set_new(o, "candidate", json_boolean(r[i].candidate));
		test = test_json(&r[i].test);
		json_object_update(o, test);
		json_decref(test);
		if (i == lowest) /* the component of all comparisons */
			json_object_set_new(o, "status", json_string("lowest"));
		json_object_set_new(o, "holm", stat_json(r[i].p_holm));
		json_array_append_new(rows, o);
	}
	return rows;
}

/* Verdicts by both tests; the rows of the components tell the chosen test. With `windows`,
 * summaries are refused. */
static int
verdicts(struct sets *s, const struct nw_bottleneck_options *options, bool windows, json_t *out,
    struct stat_error *err)
{
	struct nw_bottleneck_options o = *options;
	struct nw_component_result *r = calloc(s->n + 1, sizeof(*r));
	struct nw_bottleneck b;
	bool series = s->n > 0 && s->series[0].x != NULL;
	int i, rc = r == NULL ? NW_ENOMEM : NW_OK;

	if (!series && windows && rc == NW_OK)
		rc = stat_fail(err, NW_EINVAL,
		    "%s: --n-eff and --paired need a value per window, not summaries", s->t->file);
	for (i = 0; i < 2 && rc == NW_OK; i++) {
		o.student = i == 1;
		rc = series ? nw_bottleneck(s->series, s->n, &o, r, &b)
			    : nw_bottleneck_groups(s->group, s->n, &o, r, &b);
		if (rc == NW_EINVAL)
			stat_fail(err, rc,
			    "%s: --paired needs components with as many windows each", s->t->file);
		if (rc != NW_OK)
			break;
		json_object_set_new(out, o.student ? "student" : "welch", verdict_json(s, r, &b));
		if (o.student == options->student)
			json_object_set_new(out, "components", components_json(s, r, b.lowest));
	}
	free(r);
	return rc;
}

/* Takes the table. */
static int
bottleneck_of_table(struct stat_table *t, const char *group, const char *value,
    const struct nw_bottleneck_options *options, bool windows, json_t *out, struct stat_error *err)
{
	struct sets s;
	int rc = sets_make(&s, t, group, value, err);

	if (rc == NW_OK)
		rc = verdicts(&s, options, windows, out, err);
	sets_free(&s);
	return rc;
}

int
bottleneck_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct nw_bottleneck_options o =
	    stat_arg_sound(a) ? nw_bottleneck_better : nw_bottleneck_faithful;
	double change_at = NAN;
	struct stat_table *t;
	int rc;

	o.student = stat_arg_given(a, "student");
	o.n_eff |= stat_arg_given(a, "n-eff");
	o.paired = stat_arg_given(a, "paired");
	if ((rc = stat_arg_number(a, "alpha", 0, 1, &o.alpha, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "change-at", -1e300, 1e300, &change_at, err)) != NW_OK ||
	    (rc = series_table(a, &t, err)) != NW_OK)
		return rc;
	*out = json_object();
	if (isnan(change_at)) {
		json_object_set_new(*out, "method",
		    json_string(o.paired ? "paired"
			    : o.student  ? "student"
					 : "welch"));
		return bottleneck_of_table(t, stat_arg(a, "group"), stat_arg(a, "value"), &o,
		    stat_arg_given(a, "n-eff") || o.paired, *out, err);
	}
	rc = hidden_wait_report(t, change_at, *out, err);
	stat_table_free(t);
	return rc;
}

int
bottleneck_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct nw_bottleneck_options o = nw_bottleneck_faithful;
	double change_at = stat_case_number(c, "change_at", NAN);
	struct stat_table *t;
	int rc;

	o.alpha = stat_case_number(c, "alpha", o.alpha);
	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	*out = json_object();
	if (isnan(change_at))
		return bottleneck_of_table(t, NULL, NULL, &o, false, *out, err);
	rc = hidden_wait_report(t, change_at, *out, err);
	stat_table_free(t);
	return rc;
}
