/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/keeplist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/keep/keeplist_in.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum {
	ROWS_MAX = 1800,
	TRIAL_ROWS_MAX = 300,
	ROWS_MIN = 60,
	RANDOM_SETS = 20,
	SCAN_SESSIONS = 20000, /* newest sessions that are looked at for groups */
	STEP_MAX_S = 30        /* the published table has a row each 30 s */
};
static const int64_t SECOND_NS = 1000000000;
static const int64_t DAY_NS = 86400000000000;

/* --- groups --- */

struct grouping {
	struct keeplist_groups *out;
	int64_t from_wall_ns;
};

static bool
is_same(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static struct keeplist_group *
group_of(struct keeplist_groups *g, const struct nw_result_rec *res)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (is_same(g->group[i].route, res->route) &&
		    is_same(g->group[i].program, res->program))
			return &g->group[i];
	if (g->n == KEEPLIST_GROUPS_MAX)
		return NULL;
	g->group = xreallocarray(g->group, g->n + 1, sizeof(*g->group));
	g->group[g->n] = (struct keeplist_group){ .route = xstrdup(res->route),
		.program = xstrdup(res->program) };
	return &g->group[g->n++];
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct grouping *to = arg;
	int64_t end =
	    s->closed_wall_ns > s->last_data_wall_ns ? s->closed_wall_ns : s->last_data_wall_ns;
	struct keeplist_group *g;
	struct keeplist_session one = { .id = s->id };

	if (res == NULL || res->route == NULL || s->closed_wall_ns == 0 || end < to->from_wall_ns)
		return 0;
	one.duration_ns = res->duration_ns > 0 ? res->duration_ns : end - s->opened_wall_ns;
	if ((g = group_of(to->out, res)) == NULL)
		to->out->n_more++;
	else if (g->n_sessions == KEEPLIST_SESSIONS_MAX)
		g->n_more++;
	else {
		g->session = xreallocarray(g->session, g->n_sessions + 1, sizeof(*g->session));
		g->session[g->n_sessions++] = one;
	}
	return 0;
}

int
keeplist_groups_find(struct store_reader *r, int64_t from_wall_ns, struct keeplist_groups *out)
{
	struct grouping to = { out, from_wall_ns };
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = store_sessions(r, 0, SCAN_SESSIONS, on_session, &to)) < 0)
		keeplist_groups_clear(out);
	return rc;
}

void
keeplist_groups_clear(struct keeplist_groups *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		free(g->group[i].route);
		free(g->group[i].program);
		free(g->group[i].session);
	}
	free(g->group);
	memset(g, 0, sizeof(*g));
}

/* --- rows --- */

static bool
goes_on(const struct nw_progress_hook *hook, size_t done, size_t all)
{
	return hook == NULL || hook->go_on(hook->arg, done, all);
}

/* So many newest sessions of the group fit into the rows; at least the newest, in part. */
static size_t
sessions_that_fit(const struct keeplist_group *g, int64_t step_ns, size_t rows)
{
	size_t i;
	int64_t left = (int64_t)rows;

	for (i = 0; i < g->n_sessions; i++)
		if ((left -= g->session[i].duration_ns / step_ns) < 0)
			break;
	return i > 0 ? i : 1;
}

/* A row is as short as the sessions' time allows: a second to 30 s. */
static int64_t
step_choose(const struct keeplist_group *g)
{
	int64_t all_ns = 0, step_s;
	size_t i;

	for (i = 0; i < g->n_sessions; i++)
		if (g->session[i].duration_ns < INT64_MAX / (2 * KEEPLIST_SESSIONS_MAX))
			all_ns += g->session[i].duration_ns;
	step_s = (all_ns / ROWS_MAX + SECOND_NS - 1) / SECOND_NS;
	return SECOND_NS * (step_s < 1 ? 1 : step_s > STEP_MAX_S ? STEP_MAX_S : step_s);
}

/* Adds a group's newest sessions, the oldest of them first; returns their number with rows. */
static int
sessions_add(struct keep_work *w, struct store_reader *r, const struct keeplist_group *g,
    size_t rows, const struct nw_progress_hook *hook, size_t *n)
{
	struct keep_response what = w->what;
	size_t i = sessions_that_fit(g, w->table.step_ns, rows), before;
	const size_t all = i;
	int rc = NW_OK;

	*n = 0;
	what.route = g->route;
	w->table.end_row = w->table.n_rows + rows;
	while (rc == NW_OK && i-- > 0) {
		before = w->table.n_rows;
		rc = keeptable_add(&w->table, r, g->session[i].id, &what);
		if (g == w->group && w->table.n_rows > before)
			w->session_row[*n] = before;
		*n += w->table.n_rows > before;
		if (rc == NW_OK && !goes_on(hook, all - i, all + 2 * KEEP_PAIRS))
			rc = NW_ECLOSED;
	}
	return rc;
}

/* Without any row of the configured series, the rate stands in. */
static int
own_rows_add(struct keep_work *w, struct store_reader *r, const struct nw_progress_hook *hook)
{
	int rc = sessions_add(w, r, w->group, ROWS_MAX, hook, &w->n_sessions);

	if (rc == NW_OK && w->table.n_rows == 0 && w->what.series != NULL) {
		w->what.series = NULL;
		rc = sessions_add(w, r, w->group, ROWS_MAX, hook, &w->n_sessions);
	}
	return rc == NW_OK && w->table.n_rows == 0 ? NW_ENOTFOUND : rc;
}

/* Rows of other routes of the program, below the group's. */
static int
trials_add(struct keep_work *w, struct store_reader *r, const struct keeplist_groups *groups,
    const struct nw_progress_hook *hook)
{
	size_t i, n, first;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < groups->n && w->n_trials < KEEP_TRIALS_MAX; i++) {
		const struct keeplist_group *g = &groups->group[i];

		if (g == w->group || !is_same(g->program, w->group->program))
			continue;
		first = w->table.n_rows;
		rc = sessions_add(w, r, g, TRIAL_ROWS_MAX, hook, &n);
		if (w->table.n_rows > first)
			w->trial[w->n_trials++] = (struct keep_trial){ .group = g,
				.rows = { first, w->table.n_rows, NW_CHUNK_VERIFY } };
	}
	return rc;
}

/* --- the list --- */

static bool
column_varies(const double *x, size_t n)
{
	double first = NAN;
	size_t i;

	for (i = 0; i < n; i++) {
		if (isfinite(x[i]) && isfinite(first) && x[i] != first)
			return true;
		if (isfinite(x[i]) && !isfinite(first))
			first = x[i];
	}
	return false;
}

/* Columns that vary in the group's rows. */
static void
table_make(struct keep_work *w, size_t n_rows)
{
	size_t i, kept = 0;

	for (i = 0; i < w->table.n; i++)
		if (column_varies(keeptable_values(&w->table, i), n_rows))
			w->table.column[kept++] = w->table.column[i];
	w->table.n = kept;
	w->columns = xcalloc(kept + 1, sizeof(*w->columns));
	for (i = 0; i < kept; i++)
		w->columns[i] = keeptable_values(&w->table, i);
	w->x = (struct nw_table){ w->columns, kept, w->table.y, n_rows };
	for (i = 0; i < n_rows; i++)
		w->n_answers += isfinite(w->table.y[i]);
}

static size_t
lacking_count(const struct keep_work *w, const struct nw_chunk *rows)
{
	const struct nw_elimination *e = &w->result.elimination;
	size_t k, i, n = 0;

	for (k = 0; k < e->n_metrics; k++) {
		const double *x = w->columns[w->result.candidate[k]];

		if (!e->metric_kept[k])
			continue;
		for (i = rows->first_row; i < rows->end_row && !isfinite(x[i]); i++)
			;
		n += i == rows->end_row;
	}
	return n;
}

/* Takes the courses in time from response and metrics of some rows, in place: metrics that begin,
 * rise or turn with the hour as the response does explain nothing by that alone. */
static int
time_take(struct keep_work *w, const struct nw_chunk *rows, struct nw_time_rival *time)
{
	const size_t n = rows->end_row - rows->first_row;
	const double **x = xcalloc(w->x.n_columns + 1, sizeof(*x));
	double *day = xcalloc(n + 1, sizeof(*day)), *y = w->table.y + rows->first_row;
	struct nw_table t = { x, w->x.n_columns, y, n };
	size_t i;
	int rc;

	for (i = 0; i < w->x.n_columns; i++)
		x[i] = w->columns[i] + rows->first_row;
	for (i = 0; i < n; i++)
		day[i] =
		    (double)(w->table.t_wall_ns[rows->first_row + i] % DAY_NS) / (double)DAY_NS;
	rc = nw_time_rival(&t, day, time);
	if (rc == NW_OK && time->parts != 0) {
		for (i = 0; i < w->x.n_columns; i++)
			keeptable_replace(&w->table, i, rows->first_row, time->rest.x[i], n);
		memcpy(y, time->rest.y, n * sizeof(*y));
	}
	time->rest = (struct nw_table){ 0 };
	free(x);
	free(day);
	return rc;
}

static int
times_take(struct keep_work *w)
{
	const struct nw_chunk own = { 0, w->x.n_rows, NW_CHUNK_TRAIN };
	struct nw_time_rival other;
	size_t i;
	int rc;

	w->whole = xcalloc(w->x.n_rows + 1, sizeof(*w->whole));
	memcpy(w->whole, w->table.y, w->x.n_rows * sizeof(*w->whole));
	rc = time_take(w, &own, &w->time);
	w->options.n_courses = w->time.n_courses;
	w->options.course = w->time.course;
	w->options.response = w->time.parts != 0 ? w->whole : NULL;
	for (i = 0; rc == NW_OK && i < w->n_trials; i++) {
		rc = time_take(w, &w->trial[i].rows, &other);
		nw_time_rival_clear(&other);
	}
	return rc;
}

/* Selects on the group's rows, and applies the selection to the trials' rows. */
static int
select_and_try(struct keep_work *w)
{
	struct nw_chunk chunk[1 + KEEP_TRIALS_MAX] = { { 0, w->x.n_rows, NW_CHUNK_TRAIN } };
	struct nw_table all = w->x;
	size_t i;
	int rc;

	all.n_rows = w->table.n_rows;
	for (i = 0; i < w->n_trials; i++)
		chunk[1 + i] = w->trial[i].rows;
	w->options.n_random = RANDOM_SETS;
	if ((rc = nw_reduce(&all, chunk, 1 + w->n_trials, &w->options, &w->result)) != NW_OK)
		return rc;
	w->status = nw_status_text(w->result.elimination.status);
	if (w->result.elimination.status != NW_STATUS_OK)
		return NW_OK;
	for (i = 0; i < w->result.n_checks; i++)
		w->trial[w->result.check[i].chunk - 1].check = &w->result.check[i];
	for (i = 0; i < w->n_trials; i++)
		w->trial[i].n_lacking = lacking_count(w, &w->trial[i].rows);
	return NW_OK;
}

struct rest {
	const struct nw_progress_hook *hook;
	size_t before;
};

static bool
on_half(void *arg, size_t done, size_t all)
{
	const struct rest *rest = arg;

	return goes_on(rest->hook, rest->before + done, rest->before + all);
}

static int
list_find(struct keep_work *w, const struct nw_progress_hook *hook)
{
	const int64_t minute_s = 60;
	size_t minute_rows = (size_t)(minute_s * SECOND_NS / w->table.step_ns);
	struct rest rest = { hook, w->n_sessions };
	struct nw_progress_hook each = { on_half, &rest };
	struct nw_reduce_options o;
	int rc;

	w->worth = (struct nw_worth){ .r2 = NAN, .random_r2 = NAN, .minute_r2 = NAN };
	w->share = xcalloc(w->x.n_columns + 1, sizeof(*w->share));
	w->status = w->x.n_columns == 0 ? "no_metrics" : "too_few_rows";
	if (w->x.n_columns == 0 || w->n_answers < w->params->rows_min || w->n_answers < ROWS_MIN)
		return NW_OK;
	if ((rc = times_take(w)) != NW_OK)
		return rc;
	if ((rc = select_and_try(w)) != NW_OK || strcmp(w->status, "ok") != 0)
		return rc;
	if ((rc = nw_reduce_worth(
		 &w->x, &w->options, minute_rows > 0 ? minute_rows : 1, &w->worth)) != NW_OK)
		return rc;
	o = w->options;
	o.cluster.rho0 = w->result.threshold;
	return nw_reduce_stability(&w->x, &o, KEEP_PAIRS, &each, w->share);
}

const char *
keep_response_words(const struct keep_response *what)
{
	return what->series != NULL ? what->series
	    : what->operation_time  ? "operation time"
				    : "delivered rate";
}

static void
work_clear(struct keep_work *w)
{
	nw_reduction_clear(&w->result);
	nw_time_rival_clear(&w->time);
	free(w->whole);
	keeptable_clear(&w->table);
	free(w->columns);
	free(w->share);
}

int
keeplist_make(struct store_reader *r, const struct keeplist_groups *groups, size_t which,
    const struct reduction_params *params, const struct nw_progress_hook *hook,
    struct diet_book *diets, struct nw_keeplist_rec *out)
{
	const struct keeplist_group *g = &groups->group[which];
	struct keep_work w = { .group = g,
		.params = params,
		.what = { g->route, g->program, params->operation_time, params->series },
		.options = nw_reduce_better(),
		.begin_mono_ns = nw_mono_ns() };
	int rc;

	memset(out, 0, sizeof(*out));
	keeptable_init(&w.table, ROWS_MAX + KEEP_TRIALS_MAX * TRIAL_ROWS_MAX, step_choose(g));
	rc = own_rows_add(&w, r, hook);
	w.own = w.table;
	if (rc == NW_OK && diets != NULL)
		diet_book_names(diets, &w);
	if (rc == NW_OK)
		rc = trials_add(&w, r, groups, hook);
	if (rc == NW_OK) {
		table_make(&w, w.own.n_rows);
		rc = list_find(&w, hook);
	}
	if (rc == NW_OK && diets != NULL)
		rc = diet_book_take(diets, &w);
	if (rc == NW_OK)
		rc = keeplist_document(&w, out);
	work_clear(&w);
	return rc;
}

void
keeplist_clear(struct nw_keeplist_rec *rec)
{
	free((char *)rec->route);
	free((char *)rec->program);
	free((char *)rec->response);
	free((char *)rec->sentence);
	free((char *)rec->json);
	memset(rec, 0, sizeof(*rec));
}
