/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of metrics worth keeping as a document, and in a sentence. */
#include "analyze/verdict/keep/keeplist_in.h"
#include "analyze/verdict/keep/timedoc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

enum { MEMBERS_MAX = 50, METRICS_MAX = 200 };
static const double NS = 1e-9;
/* Shares of half-samples: at least, for a metric worth keeping and for a metric in the list. */
static const double SHARE_WORTH = 0.6, SHARE_LISTED = 0.2;

/* --- metrics --- */

/* A cluster of the selection of all rows, with its metric. */
struct entry {
	size_t cluster, column;
	double share;
	bool kept;
	double coefficient; /* NaN unless kept */
};

static int
surest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	if (x->kept != y->kept)
		return x->kept ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

static void
entry_fill(const struct keep_work *w, size_t cluster, struct entry *out)
{
	const struct nw_reduction *r = &w->result;
	const struct nw_elimination *e = &r->elimination;
	size_t k;

	*out = (struct entry){ .cluster = cluster,
		.column = r->prepared.used[r->clusters.rep[cluster]],
		.coefficient = NAN };
	out->share = w->share[out->column];
	for (k = 0; k < e->n_kept; k++)
		if (r->candidate[e->kept_terms[k].column] == out->column) {
			out->kept = true;
			out->coefficient = e->lm.coef[k].value;
		}
}

static json_t *
members_doc(const struct keep_work *w, const struct entry *at)
{
	const struct nw_clusters *c = &w->result.clusters;
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < c->n_metrics && json_array_size(list) < MEMBERS_MAX; i++)
		if (c->label[i] == at->cluster && w->result.prepared.used[i] != at->column)
			json_array_append_new(list,
			    resultdoc_text(keeptable_name(&w->table, w->result.prepared.used[i])));
	return list;
}

static bool
is_worth(const struct keep_work *w, const struct entry *at)
{
	return keep_has_headline(w) && at->share >= SHARE_WORTH;
}

static json_t *
metric_doc(const struct keep_work *w, const struct entry *at)
{
	json_t *o = json_object();

	put_text(o, KEY_keep_metric_name, keeptable_name(&w->table, at->column));
	put_text(o, KEY_keep_metric_unit, keeptable_unit(&w->table, at->column));
	result_set(o, KEY_keep_metric_worth_keeping, json_boolean(is_worth(w, at)));
	put_real(o, KEY_keep_metric_share, at->share);
	result_set(o, KEY_keep_metric_kept, json_boolean(at->kept));
	put_real(o, KEY_keep_metric_coefficient, at->coefficient);
	put_real(o, KEY_keep_metric_r, w->result.r_response[w->result.clusters.rep[at->cluster]]);
	result_set(o, KEY_keep_metric_members, members_doc(w, at));
	return o;
}

/* Also counts the metrics worth keeping. */
static json_t *
metrics_doc(const struct keep_work *w, size_t *n_worth)
{
	const size_t n = strcmp(w->status, "ok") == 0 ? w->result.clusters.n_clusters : 0;
	struct entry *all = xcalloc(n + 1, sizeof(*all));
	json_t *list = json_array();
	size_t i;

	*n_worth = 0;
	for (i = 0; i < n; i++)
		entry_fill(w, i, &all[i]);
	if (n > 0)
		qsort(all, n, sizeof(*all), surest_first);
	for (i = 0; i < n; i++) {
		*n_worth += is_worth(w, &all[i]);
		if ((all[i].kept || all[i].share >= SHARE_LISTED) &&
		    json_array_size(list) < METRICS_MAX)
			json_array_append_new(list, metric_doc(w, &all[i]));
	}
	free(all);
	return list;
}

/* --- trials and hosts --- */

static size_t
answers_of(const struct keep_work *w, const struct nw_chunk *rows)
{
	size_t i, n = 0;

	for (i = rows->first_row; i < rows->end_row; i++)
		n += isfinite(w->table.y[i]);
	return n;
}

static json_t *
trials_doc(const struct keep_work *w)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < w->n_trials; i++) {
		const struct keep_trial *t = &w->trial[i];
		const struct nw_chunk_check *c = t->n_lacking == 0 ? t->check : NULL;

		o = json_object();
		put_text(o, KEY_keep_trial_route, t->group->route);
		put_count(o, KEY_keep_trial_n_rows, answers_of(w, &t->rows));
		put_count(o, KEY_keep_trial_n_lacking, t->n_lacking);
		put_real(o, KEY_keep_trial_r2, c != NULL ? c->selected.r2 : NAN);
		put_real(o, KEY_keep_trial_r2_adjusted, c != NULL ? c->selected.adj_r2 : NAN);
		put_real(o, KEY_keep_trial_r2_random, c != NULL ? c->random_mean_r2 : NAN);
		put_real(o, KEY_keep_trial_r2_out_of_sample, c != NULL ? c->out_of_sample_r2 : NAN);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
hosts_doc(const struct keep_work *w)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < w->own.n_hosts; i++) {
		o = json_object();
		put_text(o, KEY_keep_host_role, w->table.host[i].role);
		put_text(o, KEY_keep_host_name, w->table.host[i].name);
		json_array_append_new(list, o);
	}
	return list;
}

/* --- the sentence --- */

static const char *
lack_words(const char *status)
{
	if (strcmp(status, "too_few_rows") == 0)
		return "there are too few rows to relate metrics to it";
	if (strcmp(status, "no_metrics") == 0)
		return "the hosts reported nothing of themselves in this time; start blipp on the "
		       "hosts";
	if (strcmp(status, "constant_response") == 0)
		return "it did not vary, so nothing follows it";
	return "it cannot be computed from what was measured";
}

/* Appends what time alone explains; takes text. */
static char *
time_add(const struct keep_work *w, char *text)
{
	const struct nw_time_rival *t = &w->time;
	char words[80] = "", *all, *with;
	json_t *parts = timedoc_parts(t), *part;
	size_t i;

	json_array_foreach(parts, i, part)
	{
		strcat(words, i > 0 ? ", " : "");
		strcat(words, json_string_value(part));
	}
	json_decref(parts);
	all = xasprintf("%s Time itself (%s) explains %s; the list is about the rest.", text, words,
	    fmt_share(t->r2).s);
	free(text);
	if (t->n_taken == 0)
		return all;
	with = xasprintf("%s %zu %s the same course in time and explain%s nothing besides.", all,
	    t->n_taken, t->n_taken == 1 ? "metric has" : "metrics have",
	    t->n_taken == 1 ? "s" : "");
	free(all);
	return with;
}

static char *
sentence_make(const struct keep_work *w, size_t n_worth)
{
	const struct keeplist_group *g = w->group;
	char *of = xasprintf("the %s of %s on %s", keep_response_words(&w->what),
		 g->program != NULL ? g->program : "the program", g->route),
	     *text;

	if (strcmp(w->status, "ok") != 0)
		text = xasprintf("No metric is known to follow %s: %s.", of, lack_words(w->status));
	else if (!keep_has_headline(w))
		text = xasprintf("None of %zu metrics is known to follow %s: in stretches of "
				 "time left out of the fit the best selection explains %s, as "
				 "many metrics at random %s, and the minute before %s.",
		    w->own.n_names, of, fmt_share(fmax(w->worth.r2, 0)).s,
		    fmt_share(fmax(w->worth.random_r2, 0)).s,
		    fmt_share(fmax(w->worth.minute_r2, 0)).s);
	else
		text = xasprintf("%zu of %zu metrics %s worth keeping to follow %s: the "
				 "selection explains %s of its ups and downs in stretches of time "
				 "left out of the fit.",
		    n_worth, w->own.n_names, n_worth == 1 ? "is" : "are", of,
		    fmt_share(w->worth.r2).s);
	free(of);
	return w->time.parts != 0 ? time_add(w, text) : text;
}

/* --- the document --- */

static const char *
column_name(const void *arg, size_t column)
{
	return keeptable_name(arg, column);
}

static void
put_time(json_t *o, const struct keep_work *w)
{
	const struct nw_time_rival *t = &w->time;

	result_set(o, KEY_keeplist_time_parts, timedoc_parts(t));
	put_real(o, KEY_keeplist_r2_time, t->parts != 0 ? t->r2 : NAN);
	result_set(o, KEY_keeplist_time_taken,
	    timedoc_taken(t, t->taken != NULL ? w->x.n_columns : 0, column_name, &w->table));
	put_count(o, KEY_keeplist_n_time_taken, t->n_taken);
}

static void
put_fit(json_t *o, const struct keep_work *w)
{
	const struct nw_reduction *n = &w->result;
	bool ok = strcmp(w->status, "ok") == 0;

	put_real(o, KEY_keeplist_threshold, ok ? n->threshold : NAN);
	put_real(o, KEY_keeplist_r2, ok ? n->elimination.lm.r2 : NAN);
	put_real(o, KEY_keeplist_r2_adjusted, ok ? n->elimination.lm.adj_r2 : NAN);
	put_real(o, KEY_keeplist_r2_out_of_sample, ok ? w->worth.r2 : NAN);
	put_real(o, KEY_keeplist_r2_random, ok ? w->worth.random_r2 : NAN);
	put_real(o, KEY_keeplist_r2_minute_before, ok ? w->worth.minute_r2 : NAN);
	put_real(o, KEY_keeplist_shift_chance, ok ? w->worth.shift_chance : NAN);
	put_count(o, KEY_keeplist_half_samples, ok ? 2 * KEEP_PAIRS : 0);
}

static void
put_rows(json_t *o, const struct keep_work *w)
{
	const struct keeplist_group *g = w->group;

	put_ns(o, KEY_keeplist_first_ns, w->own.first_wall_ns);
	put_ns(o, KEY_keeplist_last_ns, w->own.last_wall_ns);
	put_real(o, KEY_keeplist_step_s, (double)w->table.step_ns * NS);
	put_count(o, KEY_keeplist_n_rows, w->n_answers);
	put_count(o, KEY_keeplist_n_sessions, w->n_sessions);
	put_count(o, KEY_keeplist_n_sessions_left_out, g->n_sessions + g->n_more - w->n_sessions);
	result_set(o, KEY_keeplist_hosts, hosts_doc(w));
	put_count(o, KEY_keeplist_n_metrics, w->own.n_names);
	put_count(o, KEY_keeplist_n_varying, w->x.n_columns);
	put_count(o, KEY_keeplist_n_cut, w->own.n_cut);
}

int
keeplist_document(const struct keep_work *w, struct nw_keeplist_rec *out)
{
	json_t *o = json_object(), *metrics;
	const char *response = keep_response_words(&w->what);
	size_t n_worth;

	metrics = metrics_doc(w, &n_worth);
	out->route = xstrdup(w->group->route);
	out->program = xstrdup(w->group->program != NULL ? w->group->program : "");
	out->response = xstrdup(response);
	out->made_wall_ns = nw_wall_ns();
	out->took_ns = nw_mono_ns() - w->begin_mono_ns;
	out->headline = keep_has_headline(w);
	out->sentence = sentence_make(w, n_worth);
	put_text(o, KEY_keeplist_route, out->route);
	put_text(o, KEY_keeplist_program, w->group->program);
	put_text(o, KEY_keeplist_response, response);
	put_text(o, KEY_keeplist_response_unit, w->table.unit);
	put_text(o, KEY_keeplist_sentence, out->sentence);
	put_text(o, KEY_keeplist_status, w->status);
	result_set(o, KEY_keeplist_headline, json_boolean(out->headline));
	put_text(o, KEY_keeplist_made, fmt_iso_ns(out->made_wall_ns).s);
	put_real(o, KEY_keeplist_took_s, (double)out->took_ns * NS);
	put_rows(o, w);
	put_time(o, w);
	put_fit(o, w);
	result_set(o, KEY_keeplist_metrics, metrics);
	result_set(o, KEY_keeplist_trials, trials_doc(w));
	out->json = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(o);
	return out->json != NULL ? NW_OK : NW_ENOMEM;
}
