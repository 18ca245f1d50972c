/* SPDX-License-Identifier: BSD-3-Clause */
/* Proposals: series of a host, and the savings and the risk of their slower sampling. */
#include "analyze/verdict/keep/diet_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

/* The stretch for the series' present yield. */
static const int64_t COST_NS = INT64_C(21600000000000);
static const double DAY_S = 86400, NS = 1e-9;

/* The series of a group. */
struct group {
	struct diet_book *b;
	struct store_reader *r;
	struct diet_host *h;
	char name[DIET_GROUP_BYTES];
	const char **series;
	size_t n;
	int64_t since_ns; /* all of them have carried nothing since then */
	int64_t runs;     /* fewest runs of a series since */
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
group_collect(struct group *g)
{
	struct diet_series *s, *next;
	char its[DIET_GROUP_BYTES];
	int64_t since;

	g->n = 0;
	g->since_ns = 0;
	g->runs = INT64_MAX;
	HASH_ITER (hh, g->h->series, s, next) {
		diet_group_name(s->name, its);
		if (strcmp(its, g->name) != 0 || !diet_is_spare(g->b, s))
			continue;
		since = s->carried_ns > s->first_ns ? s->carried_ns : s->first_ns;
		g->since_ns = since > g->since_ns ? since : g->since_ns;
		g->runs = s->runs < g->runs ? s->runs : g->runs;
		g->series = xreallocarray(g->series, g->n + 1, sizeof(*g->series));
		g->series[g->n++] = s->name;
	}
	if (g->n > 0)
		qsort(g->series, g->n, sizeof(*g->series), by_name);
}

/* --- savings --- */

/* Values a day of series, as they came in the last hours. */
static double
per_day(const struct diet_book *b, const struct store_named_cost *c)
{
	const double span_s = (double)(b->params.now_wall_ns - c->first_wall_ns) * NS;

	return c->rows > 0 && span_s > 0 ? c->samples * DAY_S / span_s : 0;
}

static int
put_savings(json_t *o, const struct group *g)
{
	const int64_t now = g->b->params.now_wall_ns;
	struct store_named_cost c, all;
	double slow, saved, before;
	int rc;

	rc = store_named_cost(g->r, g->h->id, g->series, g->n, now - COST_NS, now, &c);
	if (rc == NW_OK)
		rc = store_named_cost(g->r, g->h->id, NULL, 0, now - COST_NS, now, &all);
	if (rc < 0)
		return rc;
	before = per_day(g->b, &c);
	slow = c.rows > 0 ? (double)c.n_series * DAY_S / ((double)g->b->params.interval_ns * NS) *
		(c.samples / c.rows)
			  : 0;
	saved = before > slow ? before - slow : 0;
	put_real(o, KEY_diet_samples_per_day, before);
	put_real(o, KEY_diet_samples_saved_per_day, saved);
	put_real(o, KEY_diet_bytes_per_sample, c.bytes_per_sample);
	put_real(o, KEY_diet_bytes_saved_per_day, saved * c.bytes_per_sample);
	put_real(o, KEY_diet_collector_share, all.samples > 0 ? saved / per_day(g->b, &all) : NAN);
	return NW_OK;
}

/* --- risk --- */

/* The entry with the largest loss; NULL: none is known to lose anything. */
static const json_t *
worst_of(const json_t *risks, bool *unknown, bool *moved)
{
	const json_t *worst = NULL, *o;
	size_t i;

	*unknown = *moved = false;
	json_array_foreach(risks, i, o)
	{
		if (result_bool(o, KEY_diet_risk_moved) != 1)
			continue;
		*moved = true;
		if (result_text(o, KEY_diet_risk_unknown) != NULL)
			*unknown = true;
		else if (worst == NULL ||
		    result_number(o, KEY_diet_risk_r2_lost) >
			result_number(worst, KEY_diet_risk_r2_lost))
			worst = o;
	}
	return worst;
}

static char *
risk_words(const json_t *risks)
{
	bool unknown, moved;
	const json_t *worst = worst_of(risks, &unknown, &moved), *first;

	if (!moved)
		return xstrdup("no R2 is lost: none of them moved in any session");
	if (worst != NULL)
		return xasprintf(
		    "on sessions left out of the fit R2 is %.3f without them and %.3f with them: "
		    "%.3f lost (95 %%: %.3f to %.3f)%s",
		    result_number(worst, KEY_diet_risk_r2_without),
		    result_number(worst, KEY_diet_risk_r2_with),
		    result_number(worst, KEY_diet_risk_r2_lost),
		    result_number(worst, KEY_diet_risk_r2_lost_low),
		    result_number(worst, KEY_diet_risk_r2_lost_high),
		    unknown ? "; on other routes the risk is unknown" : "");
	first = json_array_get(risks, 0);
	return xasprintf("risk unknown: %s",
	    result_text(first, KEY_diet_risk_unknown) != NULL
		? result_text(first, KEY_diet_risk_unknown)
		: "nothing relates them to what the programs deliver");
}

static void
put_risk(json_t *o, const struct group *g)
{
	json_t *risks = g->h->risks != NULL ? json_object_get(g->h->risks, g->name) : NULL;
	bool unknown, moved;
	const json_t *worst = worst_of(risks, &unknown, &moved);
	char *words = risk_words(risks);

	put_text(o, KEY_diet_risk, words);
	put_real(o, KEY_diet_r2_lost,
	    worst != NULL ? result_number(worst, KEY_diet_risk_r2_lost)
		: moved   ? NAN
			  : 0);
	result_set(o, KEY_diet_risks, risks != NULL ? json_deep_copy(risks) : json_array());
	free(words);
}

/* --- the document --- */

static char *
sentence_make(const struct group *g, const json_t *o)
{
	const double saved = result_number(o, KEY_diet_samples_saved_per_day),
		     share = result_number(o, KEY_diet_collector_share);
	const double months_s = (double)(g->b->params.now_wall_ns - g->since_ns) * NS;

	return xasprintf(
	    "%zu series of %s (%s%s) carried nothing for %s in %lld reductions: once in %s they "
	    "bring %s values a day fewer, %s of what the host's collector sends.",
	    g->n, g->name, g->series[0], g->n > 1 ? ", ..." : "", fmt_duration(months_s).s,
	    (long long)g->runs, fmt_duration((double)g->b->params.interval_ns * NS).s,
	    fmt_count((uint64_t)saved).s, fmt_share(isfinite(share) ? share : 0).s);
}

static int
group_propose(struct group *g, struct nw_batch *out)
{
	json_t *o = json_object(), *series = json_array();
	char *sentence, *text = NULL;
	size_t i;
	int rc = put_savings(o, g);

	for (i = 0; i < g->n; i++)
		json_array_append_new(series, json_string(g->series[i]));
	result_set(o, KEY_diet_series, series);
	put_ns(o, KEY_diet_since_ns, g->since_ns);
	put_count(o, KEY_diet_runs, (size_t)g->runs);
	put_real(o, KEY_diet_interval_s, (double)g->b->params.interval_ns * NS);
	put_risk(o, g);
	sentence = sentence_make(g, o);
	put_text(o, KEY_diet_sentence, sentence);
	if (rc == NW_OK && (text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9))) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = nw_batch_diet(out,
		    &(struct nw_diet_rec){ .host_id = g->h->id,
			.group = g->name,
			.made_wall_ns = g->b->params.now_wall_ns,
			.json = text });
	free(sentence);
	free(text);
	json_decref(o);
	return rc;
}

/* --- diets in force --- */

struct force {
	struct diet_host *h;
	struct nw_batch *out;
	int64_t now_wall_ns;
	int rc;
};

/* A series that slower sampling holds back carries something again: sessions that are looked at
 * closely show that. */
static int
on_diet(void *arg, const struct nw_diet_rec *rec)
{
	struct force *f = arg;
	json_t *doc;
	const json_t *list, *name;
	const struct diet_series *s;
	size_t i;

	if (rec->accepted_wall_ns == 0 || rec->ended_wall_ns != 0 || rec->carried_wall_ns != 0)
		return 0;
	doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	list = result_list(doc, KEY_diet_series);
	json_array_foreach(list, i, name)
	{
		HASH_FIND_STR(f->h->series, json_string_value(name), s);
		if (s != NULL && s->carried_ns > rec->accepted_wall_ns) {
			f->rc = nw_batch_diet_carried(f->out, rec->id, f->now_wall_ns);
			break;
		}
	}
	json_decref(doc);
	return f->rc;
}

int
diet_propose(struct diet_book *b, struct store_reader *r, struct diet_host *h, struct nw_batch *out)
{
	struct force force = { h, out, b->params.now_wall_ns, NW_OK };
	struct group g = { .b = b, .r = r, .h = h };
	const char *name;
	json_t *value;
	int rc = store_diets(r, h->id, on_diet, &force);

	json_object_foreach(h->risks, name, value)
	{
		if (rc < 0)
			break;
		snprintf(g.name, sizeof(g.name), "%s", name);
		group_collect(&g);
		if (g.n > 0)
			rc = group_propose(&g, out);
	}
	free(g.series);
	return rc == NW_OK ? nw_batch_diet_trim(out, h->id, b->params.now_wall_ns) : rc;
}
