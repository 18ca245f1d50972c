/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat ttest`: is the first group's mean lower than the second's? Besides the layouts of
 * stat_sets.h, a file may hold a test per row: n_a, mean_a, sd_a, n_b, mean_b, sd_b.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/stat/stat_paper.h"
#include "cli/stat/stat_series.h"
#include "cli/stat/stat_sets.h"

const struct stat_option ttest_options[] = { { "alpha", "A", "significance level (0.05)" },
	{ "student", NULL, "judge by Student's test (pooled variance), not Welch's" },
	{ "n-eff", NULL, "effective sample sizes: values one after the other are alike" },
	{ "group", "COLUMN", "the column of names" }, { "value", "COLUMN", "the column of values" },
	{ "paper", NULL, "Tables I and II of Kissel et al. (2012), wrong cells marked; no file" },
	{ "windows", "N", "with --paper: windows behind a rate of Table I (60)" },
	{ "spread", "F", "with --paper: their standard deviation, of the rate (0.1)" },
	{ NULL, NULL, NULL } };

static bool
has_column(const struct stat_table *t, const char *name)
{
	return stat_table_find(t, name) >= 0;
}

static void
set_both_tests(json_t *o, const struct nw_group *a, const struct nw_group *b)
{
	struct nw_ttest welch = nw_ttest_welch(a, b), student = nw_ttest_student(a, b);

	json_object_set_new(o, "welch", test_json(&welch));
	json_object_set_new(o, "student", test_json(&student));
}

/* One test per row, keyed by the row's id or by the row's number from 0. */
static int
tests_of_pairs(struct stat_table *t, json_t *out, struct stat_error *err)
{
	static const char *const want[] = { "n_a", "mean_a", "sd_a", "n_b", "mean_b", "sd_b" };
	const double *v[6];
	const char *const *ids = NULL;
	char key[32];
	size_t i, k;

	for (k = 0; k < 6; k++)
		if ((v[k] = stat_table_numbers(t, want[k], err)) == NULL)
			return NW_EPROTO;
	if (has_column(t, "id") && (ids = stat_table_texts(t, "id", err)) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < t->n_rows; i++) {
		struct nw_group a = { v[0][i], v[1][i], v[2][i] },
				b = { v[3][i], v[4][i], v[5][i] };
		json_t *o = json_object();

		set_both_tests(o, &a, &b);
		snprintf(key, sizeof(key), "%zu", i);
		json_object_set_new(out, ids != NULL ? ids[i] : key, o);
	}
	return NW_OK;
}

/* The first two groups of the file; takes the table. */
static int
test_of_two(struct stat_table *t, const char *group, const char *value, bool n_eff, json_t *out,
    struct stat_error *err)
{
	struct sets s;
	int rc;

	if ((rc = sets_make(&s, t, group, value, err)) == NW_OK && s.n != 2)
		rc = stat_fail(err, NW_EPROTO, "%s:1:1: a t-test compares 2 groups, here are %zu",
		    t->file, s.n);
	if (rc == NW_OK) {
		sets_summarise(&s, n_eff);
		json_object_set_new(out, "groups", stat_json_strings(s.name, 2));
		json_object_set_new(
		    out, "n", json_pack("[o,o]", stat_json(s.group[0].n), stat_json(s.group[1].n)));
		set_both_tests(out, &s.group[0], &s.group[1]);
	}
	sets_free(&s);
	return rc;
}

int
ttest_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	const char *method = stat_arg_given(a, "student") ? "student" : "welch";
	double alpha = 0.05;
	struct stat_table *t;
	json_t *p;
	int rc;

	if (stat_arg_given(a, "paper"))
		return paper_cells_run(a, out, err);
	if ((rc = stat_arg_number(a, "alpha", 0, 1, &alpha, err)) != NW_OK ||
	    (rc = series_table(a, &t, err)) != NW_OK)
		return rc;
	*out = json_object();
	if (has_column(t, "mean_a")) {
		rc = tests_of_pairs(t, *out, err);
		stat_table_free(t);
		return rc;
	}
	rc = test_of_two(t, stat_arg(a, "group"), stat_arg(a, "value"),
	    stat_arg_given(a, "n-eff") || stat_arg_sound(a), *out, err);
	p = json_object_get(json_object_get(*out, method), "p");
	json_object_set_new(*out, "method", json_string(method));
	json_object_set_new(*out, "alpha", stat_json(alpha));
	json_object_set_new(
	    *out, "significant", json_boolean(p != NULL && json_number_value(p) < alpha));
	return rc;
}

int
ttest_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct stat_table *t;
	int rc;

	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	*out = json_object();
	if (!has_column(t, "mean_a"))
		return test_of_two(t, NULL, NULL, false, *out, err);
	rc = tests_of_pairs(t, *out, err);
	stat_table_free(t);
	return rc;
}

/* --- the effective size of a series --- */

static int
holm_of_table(struct stat_table *t, json_t *out, struct stat_error *err)
{
	size_t col = name_column(t, NULL), i;
	const char *const *names =
	    col == SIZE_MAX ? NULL : stat_table_texts(t, t->cols[col].name, err);
	const double *p = stat_table_numbers(t, "p", err);
	double *adjusted;
	int rc;

	if (p == NULL || names == NULL)
		return stat_fail(err, NW_EPROTO, "%s:1:1: wants columns name and p", t->file);
	if ((adjusted = malloc((t->n_rows + 1) * sizeof(*adjusted))) == NULL)
		return NW_ENOMEM;
	if ((rc = nw_holm(p, t->n_rows, adjusted)) == NW_OK)
		for (i = 0; i < t->n_rows; i++)
			json_object_set_new(out, names[i], stat_json(adjusted[i]));
	free(adjusted);
	return rc;
}

static void
set_test(json_t *out, const char *key, const struct nw_group *a, const struct nw_group *b)
{
	struct nw_ttest t = nw_ttest_welch(a, b);

	json_object_set_new(out, key, test_json(&t));
}

/* Tests of the first two series with every count of independent values. */
static int
set_comparisons(const struct sets *s, const struct nw_autocorr *a, json_t *out)
{
	struct nw_group plain[2], eff[2], corrected[2];
	size_t i, n = s->series[0].n < s->series[1].n ? s->series[0].n : s->series[1].n,
		  lag = nw_hac_lag(n);
	double var[2], *d, paired;

	for (i = 0; i < 2; i++) {
		plain[i] = nw_group_of(&a[i].sum);
		eff[i] = (struct nw_group){ a[i].n_eff_plain, plain[i].mean, plain[i].sd };
		corrected[i] = nw_autocorr_group(&a[i]);
		var[i] = nw_hac_variance(s->series[i].x, s->series[i].n, lag);
	}
	if ((d = malloc((n + 1) * sizeof(*d))) == NULL)
		return NW_ENOMEM;
	nw_paired_difference(s->series[0].x, s->series[1].x, n, d);
	paired = nw_summary_of(d, n).mean / sqrt(nw_hac_variance(d, n, lag));
	free(d);
	set_test(out, "welch", &plain[0], &plain[1]);
	set_test(out, "welch_n_eff", &eff[0], &eff[1]);
	set_test(out, "welch_n_eff_bc", &corrected[0], &corrected[1]);
	json_object_set_new(out, "hac_lag", json_integer((json_int_t)lag));
	json_object_set_new(out, "hac_var_mean", stat_json_array(var, 2));
	json_object_set_new(
	    out, "hac_z", stat_json((plain[0].mean - plain[1].mean) / sqrt(var[0] + var[1])));
	json_object_set_new(out, "paired_hac_z", stat_json(paired));
	return NW_OK;
}

static int
autocorr_of_sets(const struct sets *s, json_t *out)
{
	struct nw_autocorr *a = calloc(s->n + 1, sizeof(*a));
	json_t *lag1 = json_array(), *n_eff = json_array(), *n_eff_bc = json_array();
	size_t i;
	int rc = a == NULL ? NW_ENOMEM : NW_OK;

	for (i = 0; i < s->n && rc == NW_OK; i++) {
		a[i] = nw_autocorr(s->series[i].x, s->series[i].n);
		json_array_append_new(lag1, stat_json(a[i].r1));
		json_array_append_new(n_eff, stat_json(a[i].n_eff_plain));
		json_array_append_new(n_eff_bc, stat_json(a[i].n_eff));
	}
	json_object_set_new(out, "lag1", lag1);
	json_object_set_new(out, "n_eff", n_eff);
	json_object_set_new(out, "n_eff_bc", n_eff_bc);
	if (rc == NW_OK && s->n == 2)
		rc = set_comparisons(s, a, out);
	free(a);
	return rc;
}

int
autocorr_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct stat_table *t;
	struct sets s;
	int rc;

	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	*out = json_object();
	if (has_column(t, "p")) {
		rc = holm_of_table(t, *out, err);
		stat_table_free(t);
		return rc;
	}
	if ((rc = sets_make_wide(&s, t, err)) == NW_OK)
		rc = autocorr_of_sets(&s, *out);
	sets_free(&s);
	return rc;
}
