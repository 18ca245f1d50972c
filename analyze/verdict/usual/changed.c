/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/changed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/claim/setting_text.h"
#include "narrows/differ.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

double
changed_q_metrics(const struct changed *c)
{
	return c->n_after < NW_DIFFER_AFTER_MIN ? CHANGED_Q_ALONE : CHANGED_Q_METRICS;
}

/* --- weights --- */

/* Logarithms of durations that are alike differ by less. */
static const double SAME_TIME = 0.2;

static enum nw_stage_kind
stage_of(const struct changed_ask *ask)
{
	const char *stage =
	    result_text(result_get(ask->own, KEY_result_verdict), KEY_verdict_stage);
	enum nw_stage_kind kind;

	return nw_stage_kind_find(stage, &kind) ? kind : NW_STAGE_COUNT;
}

/* Logarithms of rate and bytes before the change over those since, by geometric means. */
static void
falls(const struct changed_ask *ask, double *rate, double *bytes)
{
	double weight;
	size_t i;

	*rate = *bytes = 0;
	for (i = 0; i < ask->n; i++) {
		weight =
		    i < ask->split ? 1 / (double)ask->split : -1 / (double)(ask->n - ask->split);
		*rate += weight * log(ask->session[i].bytes_per_s);
		*bytes += weight * log(ask->session[i].bytes);
	}
}

/*
 * Whether others took so much more of the limiting resource that at least half of the slowdown, as
 * a logarithm, is theirs. A slowdown by anything else raises the share of the others as well, for
 * a slow transfer has fewer bytes, but of less than 15 % before to less than half of the slowdown.
 */
static bool
others_account(const struct changed_ask *ask, const struct difference *d)
{
	double rate, bytes;

	falls(ask, &rate, &bytes);
	return 1 - d->before >= (1 - d->after) * exp(rate / 2);
}

/*
 * Whether files are smaller since each session moved what the session's time allowed: a program
 * with a deadline takes as long as before, and smaller files are the effect of the slowdown.
 */
static bool
size_follows(const struct changed_ask *ask, const struct difference *d)
{
	double rate, bytes;

	falls(ask, &rate, &bytes);
	return fabs(bytes - rate) < SAME_TIME && log(d->before / d->after) < bytes + SAME_TIME;
}

static bool
is_metric(const struct difference *d, const char *name)
{
	return d->kind == DIFFERENCE_METRIC && strcmp(d->name, name) == 0;
}

static void
differences_weigh(const struct changed_ask *ask, const struct nw_reach *reach, struct changed *c)
{
	const struct nw_begin begin = { ask->n, ask->low, ask->high, c->n_survived, *reach };
	struct nw_cause *cause = xcalloc(c->n + 1, sizeof(*cause));
	const struct difference *d;
	bool accounts, effect;
	size_t i;

	for (i = 0; i < c->n; i++) {
		d = &c->difference[i];
		accounts = is_metric(d, CHANGED_OTHERS) && others_account(ask, d);
		effect = is_metric(d, CHANGED_OTHERS)
		    ? !accounts
		    : is_metric(d, CHANGED_FILE_SIZE) && size_follows(ask, d);
		cause[i] = (struct nw_cause){ .name = d->name,
			.before = d->before_text,
			.after = d->after_text,
			.host = d->host_at,
			.place = strncmp(d->name, "way.", 4) == 0 ? NW_CAUSE_BETWEEN
								  : changed_place(ask, d->host),
			.moved = d->moved,
			.n_quiet = d->n_quiet,
			.chance = effect ? 1 : d->p,
			.rose = d->after > d->before,
			.accounts = accounts };
	}
	nw_causes_weigh(cause, c->n, &begin, stage_of(ask), &c->unexplained);
	for (i = 0; i < c->n; i++)
		c->difference[i].weight = cause[i].weight;
	free(cause);
}

static int
weight_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return x->weight < y->weight ? 1 : -(x->weight > y->weight);
}

/* Marks the few heaviest differences as the cause. */
static void
causes_name(struct changed *c)
{
	double *weight = xcalloc(c->n + 1, sizeof(*weight));
	size_t i;

	if (c->n > 0)
		qsort(c->difference, c->n, sizeof(*c->difference), weight_compare);
	for (i = 0; i < c->n; i++)
		weight[i] = c->difference[i].weight;
	c->n_named = nw_causes_named(weight, c->n, c->unexplained);
	for (i = 0; i < c->n_named; i++)
		c->difference[i].named = true;
	free(weight);
}

/* --- chances of metrics --- */

static int
metrics_judge(struct changed *c)
{
	double *p = xcalloc(c->n + 1, sizeof(*p)), *q = xcalloc(c->n + 1, sizeof(*q));
	struct difference *d;
	size_t n = 0;
	int rc;

	for (d = c->difference; d < c->difference + c->n; d++)
		if (d->kind == DIFFERENCE_METRIC)
			p[n++] = d->p;
	rc = nw_false_discoveries(p, n, q);
	n = 0;
	for (d = c->difference; d < c->difference + c->n; d++) {
		if (d->kind == DIFFERENCE_METRIC)
			d->q = q[n++];
		d->beyond = d->named || d->q <= changed_q_metrics(c);
	}
	free(p);
	free(q);
	return rc;
}

/* --- order --- */

static double
effect_of(const struct difference *d)
{
	double ratio = d->after / d->before;

	return d->before > 0 && d->after > 0 ? fabs(log(ratio)) : isfinite(ratio) ? 10 : 0;
}

/* Named causes, metrics beyond chance (those of the limiting stage first), settings, the rest. */
static int
place_of(const struct difference *d)
{
	if (d->named)
		return 0;
	if (d->kind == DIFFERENCE_METRIC)
		return d->beyond ? (d->limits ? 1 : 2) : 4;
	return 3;
}

static int
difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double ex, ey;

	if (place_of(x) != place_of(y))
		return place_of(x) < place_of(y) ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	ex = effect_of(x);
	ey = effect_of(y);
	return ex > ey ? -1 : ex < ey;
}

/* --- words --- */

static struct fmt
metric_text(const struct difference *d, double v)
{
	if (strcmp(d->unit, "By/s") == 0)
		return fmt_bytes_per_s(v);
	if (strcmp(d->unit, "By") == 0)
		return fmt_bytes(v);
	if (strcmp(d->unit, "s") == 0)
		return fmt_duration(v);
	if (strcmp(d->unit, "%") == 0)
		return fmt_share(v);
	return fmt_ratio(v);
}

/* A value before or after; free() the text. */
static char *
value_text(const struct difference *d, bool after)
{
	if (d->kind == DIFFERENCE_METRIC)
		return xstrdup(metric_text(d, after ? d->after : d->before).s);
	return after ? setting_text(d->after_text, d->before_text)
		     : setting_text(d->before_text, d->after_text);
}

/* The values of a claim about a difference, on loan until the texts are freed. */
struct difference_words {
	char *before, *after, *since;
	struct claim_value name, on, host;
};

static void
words_make(const struct difference *d, struct difference_words *w)
{
	*w = (struct difference_words){ .before = value_text(d, false),
		.after = value_text(d, true),
		.since = d->kind == DIFFERENCE_SETTING
		    ? xasprintf(" since %s", fmt_time(d->at_wall_ns).s)
		    : xstrdup(""),
		.name = claim_text(d->name),
		.on = claim_text(d->host != NULL ? " on " : ""),
		.host = claim_text(d->host) };
}

static void
words_clear(struct difference_words *w)
{
	free(w->before);
	free(w->after);
	free(w->since);
}

static void
difference_say(const struct difference *d, struct claims *told)
{
	struct difference_words w;

	words_make(d, &w);
	if (d->kind == DIFFERENCE_SETTING)
		CLAIM_SAY(told, setting_changed, CLAIM_NO_STAGE, w.name, w.on, w.host,
		    claim_text(w.before), claim_text(w.after), claim_text(w.since));
	else
		CLAIM_SAY(told, metric_changed, CLAIM_NO_STAGE, w.name, w.on, w.host,
		    claim_text(w.before), claim_text(w.after));
	words_clear(&w);
}

static void
difference_clear(struct difference *d)
{
	free(d->host);
	free(d->name);
	free(d->moved);
	free(d->before_text);
	free(d->after_text);
	free(d->sentence);
	claims_clear(&d->told);
}

/* Whether a setting came back to the earlier value. */
static bool
is_back(const struct difference *d)
{
	return d->kind == DIFFERENCE_SETTING && d->before_text != NULL && d->after_text != NULL &&
	    strcmp(d->before_text, d->after_text) == 0;
}

/* Drops metrics without a change, and settings with the earlier value. */
static void
same_drop(struct changed *c)
{
	size_t i, kept = 0, n_named = c->n_named;

	for (i = 0; i < c->n; i++)
		if (is_back(&c->difference[i]) ||
		    (c->difference[i].kind == DIFFERENCE_METRIC && !c->difference[i].beyond &&
			c->difference[i].q > 0.5)) {
			c->n_named -= i < n_named;
			difference_clear(&c->difference[i]);
		} else
			c->difference[kept++] = c->difference[i];
	c->n = kept;
}

/* The cause, or the few that share most of the weight. */
static void
causes_say(struct changed *c)
{
	const struct difference *d;
	struct difference_words w;
	double together = 0;

	for (d = c->difference; d < c->difference + c->n_named; d++)
		together += d->weight;
	if (c->n_named == 1)
		CLAIM_SAY(&c->told, cause_one, CLAIM_NO_STAGE, claim_text(nw_cause_words(together)),
		    claim_number(together));
	else
		CLAIM_SAY(&c->told, cause_several, CLAIM_NO_STAGE,
		    claim_text(nw_cause_words(together)), claim_number((double)c->n_named),
		    claim_number(together));
	for (d = c->difference; d < c->difference + c->n_named; d++) {
		words_make(d, &w);
		CLAIM_SAY(&c->told, cause_is, CLAIM_NO_STAGE,
		    claim_text(d == c->difference ? ": " : "; or "), w.name, w.on, w.host,
		    claim_text(w.before), claim_text(w.after), claim_text(w.since));
		words_clear(&w);
	}
}

static void
unexplained_say(struct changed *c)
{
	CLAIM_SAY(&c->told, unexplained, CLAIM_NO_STAGE, claim_number((double)c->n_settings),
	    claim_number((double)c->n_metrics));
	if (c->n > 0 && c->difference[0].beyond) {
		CLAIM_SAY(&c->told, moved_with_it, CLAIM_NO_STAGE);
		claims_append(&c->told, &c->difference[0].told);
	}
}

static void
changed_say(struct changed *c)
{
	size_t i;

	same_drop(c);
	for (i = DIFFERENCES_MAX; i < c->n; i++)
		difference_clear(&c->difference[i]);
	c->n = c->n < DIFFERENCES_MAX ? c->n : DIFFERENCES_MAX;
	for (i = 0; i < c->n; i++) {
		difference_say(&c->difference[i], &c->difference[i].told);
		c->difference[i].sentence = claims_text(&c->difference[i].told);
	}
	if (c->n_named > 0)
		causes_say(c);
	else
		unexplained_say(c);
	c->sentence = claims_text(&c->told);
}

int
changed_find(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	struct nw_reach reach;
	int rc;

	*out = (struct changed){
		.asked = true, .n_before = ask->split, .n_after = ask->n - ask->split
	};
	if ((rc = changed_settings(r, ask, out)) == NW_OK &&
	    (rc = changed_metrics(r, ask, out)) == NW_OK &&
	    (rc = changed_reach(r, ask, &reach)) == NW_OK) {
		differences_weigh(ask, &reach, out);
		causes_name(out);
		rc = metrics_judge(out);
	}
	if (rc < 0) {
		changed_clear(out);
		return rc;
	}
	if (out->n > 0)
		qsort(out->difference, out->n, sizeof(*out->difference), difference_compare);
	changed_say(out);
	return NW_OK;
}

void
changed_clear(struct changed *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		difference_clear(&c->difference[i]);
	free(c->difference);
	free(c->sentence);
	claims_clear(&c->told);
	*c = (struct changed){ 0 };
}
