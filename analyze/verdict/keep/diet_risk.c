/* SPDX-License-Identifier: BSD-3-Clause */
/* What slower sampling risks on a route: R^2 on sessions left out of the fit, by the same reduction
 * with the proposed series and without. */
#include "analyze/verdict/keep/diet_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/err.h"
#include "narrows/special.h"
#include "narrows/xmalloc.h"

enum { FOLDS_MIN = 4, FOLDS_MAX = 8 };
/* With a smaller R^2 the metrics explain nothing, so a diet cannot lose anything. */
static const double R2_SEEN = 0.05;

/* R^2 on the sessions of each fold; NaN where the response stands still. */
struct folds {
	size_t n;
	double r2[FOLDS_MAX];
};

/* First row of a fold: folds have whole sessions, as many each. */
static size_t
fold_row(const struct keep_work *w, size_t n_folds, size_t fold)
{
	return fold < n_folds ? w->session_row[fold * w->n_sessions / n_folds] : w->x.n_rows;
}

static bool
response_varies(const struct nw_table *t, size_t first, size_t end)
{
	double one = NAN;
	size_t i;

	for (i = first; i < end; i++) {
		if (!isfinite(t->y[i]))
			continue;
		if (isfinite(one) && t->y[i] != one)
			return true;
		one = t->y[i];
	}
	return false;
}

/* R^2 of the rows by a selection from all other rows; 0 where the selection is worse than the
 * mean, or where there is none. */
static int
fold_fit(const struct keep_work *w, const struct nw_table *t, size_t first, size_t end, double *r2)
{
	struct nw_reduce_options o = nw_reduce_better();
	struct nw_chunk chunk[3];
	struct nw_reduction res;
	size_t n = 0;
	int rc;

	*r2 = NAN;
	if (!response_varies(t, first, end))
		return NW_OK;
	o.cluster.rho0 = w->result.threshold;
	o.choose_threshold = false;
	o.folds = 0;
	o.n_thresholds = 0;
	if (first > 0)
		chunk[n++] = (struct nw_chunk){ 0, first, NW_CHUNK_TRAIN };
	chunk[n++] = (struct nw_chunk){ first, end, NW_CHUNK_VERIFY };
	if (end < t->n_rows)
		chunk[n++] = (struct nw_chunk){ end, t->n_rows, NW_CHUNK_TRAIN };
	if ((rc = nw_reduce(t, chunk, n, &o, &res)) != NW_OK)
		return rc == NW_ENOMEM ? rc : NW_OK;
	*r2 = 0;
	if (res.elimination.status == NW_STATUS_OK && res.n_checks == 1 &&
	    res.check[0].out_of_sample_r2 > 0)
		*r2 = res.check[0].out_of_sample_r2;
	nw_reduction_clear(&res);
	return NW_OK;
}

static int
folds_fit(const struct keep_work *w, const struct nw_table *t, struct folds *f)
{
	size_t i;
	int rc = NW_OK;

	f->n = w->n_sessions < FOLDS_MAX ? w->n_sessions : FOLDS_MAX;
	for (i = 0; i < f->n && rc == NW_OK; i++)
		rc = fold_fit(w, t, fold_row(w, f->n, i), fold_row(w, f->n, i + 1), &f->r2[i]);
	return rc;
}

/* The table without columns of the host's candidates of a group. */
static struct nw_table
table_without(struct diet_book *b, const struct keep_work *w, const struct diet_host *h,
    const char *group, const double **columns)
{
	struct nw_table t = w->x;
	struct diet_series *s;
	struct diet_host *of;
	char its[DIET_GROUP_BYTES];
	size_t i;

	t.x = columns;
	t.n_columns = 0;
	for (i = 0; i < w->x.n_columns; i++) {
		s = diet_series_of(b, w, i, &of);
		if (s != NULL && of == h && diet_may_be_spare(b, s)) {
			diet_group_name(s->name, its);
			if (strcmp(its, group) == 0)
				continue;
		}
		columns[t.n_columns++] = w->x.x[i];
	}
	return t;
}

/* --- the entry of a route --- */

static void
put_lost(json_t *o, const struct folds *with, const struct folds *without)
{
	double sum = 0, square = 0, sum_with = 0, sum_without = 0, mean, half, d;
	size_t i, n = 0;

	for (i = 0; i < with->n; i++) {
		if (!isfinite(with->r2[i]) || !isfinite(without->r2[i]))
			continue;
		d = with->r2[i] - without->r2[i];
		sum += d;
		square += d * d;
		sum_with += with->r2[i];
		sum_without += without->r2[i];
		n++;
	}
	mean = n > 0 ? sum / (double)n : NAN;
	half = n > 1 ? nw_t_quantile(0.975, (double)(n - 1)) *
		sqrt(fmax(0, square - (double)n * mean * mean) / (double)(n - 1) / (double)n)
		     : NAN;
	put_count(o, KEY_diet_risk_folds, n);
	put_real(o, KEY_diet_risk_r2_with, n > 0 ? sum_with / (double)n : NAN);
	put_real(o, KEY_diet_risk_r2_without, n > 0 ? sum_without / (double)n : NAN);
	put_real(o, KEY_diet_risk_r2_lost, mean);
	put_real(o, KEY_diet_risk_r2_lost_low, mean - half);
	put_real(o, KEY_diet_risk_r2_lost_high, mean + half);
}

/* Why the risk cannot be told; NULL: it can. */
static const char *
unknown_why(const struct keep_work *w, const json_t *o)
{
	if (!keep_has_headline(w))
		return "no metric is known to follow what the program delivers";
	if (w->n_sessions < FOLDS_MIN)
		return "too few sessions";
	if (o == NULL)
		return NULL;
	if (result_number(o, KEY_diet_risk_folds) < FOLDS_MIN)
		return "what the program delivers hardly varied";
	if (!(result_number(o, KEY_diet_risk_r2_with) > R2_SEEN))
		return "the metrics explain nothing of sessions left out of the fit";
	return NULL;
}

static json_t *
entry_new(const struct keep_work *w, bool moved)
{
	json_t *o = json_object();

	put_text(o, KEY_diet_risk_route, w->group->route);
	put_text(o, KEY_diet_risk_program, w->group->program);
	result_set(o, KEY_diet_risk_moved, json_boolean(moved));
	return o;
}

/* with->n 0: not made yet. */
static int
entry_add(struct diet_book *b, const struct keep_work *w, const struct diet_host *h,
    const char *group, struct folds *with, json_t *list)
{
	const double **columns = xcalloc(w->x.n_columns + 1, sizeof(*columns));
	const struct nw_table t = table_without(b, w, h, group, columns);
	const bool moved = t.n_columns < w->x.n_columns;
	json_t *o = entry_new(w, moved);
	const char *why = moved ? unknown_why(w, NULL) : NULL;
	struct folds without = { 0 };
	int rc = NW_OK;

	if (moved && why == NULL) {
		if (with->n == 0)
			rc = folds_fit(w, &w->x, with);
		if (rc == NW_OK)
			rc = folds_fit(w, &t, &without);
		put_lost(o, with, &without);
		why = unknown_why(w, o);
	}
	put_text(o, KEY_diet_risk_unknown, why);
	json_array_append_new(list, o);
	free(columns);
	return rc;
}

/* Gives every group of candidates a list in h->risks. `todo` gets the names of the groups whose
 * lists the present run extends. */
static void
groups_note(const struct diet_book *b, struct diet_host *h, json_t *todo)
{
	struct diet_series *s, *next;
	char group[DIET_GROUP_BYTES];

	HASH_ITER (hh, h->series, s, next) {
		if (!diet_may_be_spare(b, s))
			continue;
		diet_group_name(s->name, group);
		if (h->risks == NULL)
			h->risks = json_object();
		if (json_object_get(h->risks, group) == NULL)
			json_object_set_new(h->risks, group, json_array());
		json_object_set_new(todo, group, json_true());
	}
}

int
diet_risks_take(struct diet_book *b, const struct keep_work *w)
{
	struct folds with = { 0 };
	const char *group;
	json_t *todo, *value;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < b->n_hosts && rc == NW_OK; i++) {
		struct diet_host *h = &b->host[i];

		todo = json_object();
		groups_note(b, h, todo);
		json_object_foreach(todo, group, value)
		{
			rc = entry_add(b, w, h, group, &with, json_object_get(h->risks, group));
			if (rc < 0)
				break;
		}
		json_decref(todo);
	}
	return rc;
}
