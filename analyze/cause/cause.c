/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/cause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The chance that a slowdown without a recorded change begins between two neighbouring sessions. */
static const double UNRECORDED = 0.02;
/* The same as evidence of a begin. The search for a cause starts from a slow transfer, an opening
 * does not: a larger chance keeps openings on changed hosts as rare as on other hosts. */
static const double UNRECORDED_BEGIN = 0.05;
/* Sum of the chances of earlier changes at which the next change has half of the weight. */
static const double UNFELT_WORTH = 1;
/* The share of a prior that is left while a stage limits which the setting does not touch, and for
 * a step in the direction that speeds up. */
static const double OTHER_STAGE = 0.05, OTHER_WAY = 0.05;
/* What is left of a weight after each session that contradicts the cause, and for a change one
 * session beside the interval. */
static const double CONTRADICTED = 0.2, BESIDE = 0.05;
/* Observations that a prior is worth against earlier moves without effect. */
static const double QUIET_WORTH = 4;
/* The same for changes of all kinds, for a host that is changed daily survives its changes. */
static const double SURVIVED_WORTH = 8;
static const double METRIC_FACTOR_MAX = 50;
/* The prior of a metric whose size makes up most of the slowdown: what remains is the chance that
 * the limit of a slow transfer was another one, and the others merely there. */
static const double ACCOUNTS = 0.8;
/* The chance that a change of a host which slows one route slows the host's other routes, too: in
 * general, of a disk or mount, and of a program. */
static const double SHARED = 0.7, SHARED_DISK = 0.4, SHARED_PROGRAM = 0.15;
/* The chance that a route falls at the same time: by itself, and with a shared cause; and the
 * chance of a shared cause elsewhere, such as the switch of a site. */
static const double FALLS_ALONE = 0.02, FALLS_TOO = 0.9, ELSEWHERE = 0.03;

enum { CONTRADICTIONS_MAX = 8, NUMBERS_MAX = 8 };

/* --- steps --- */

/* The number of a word, of "rate=8000" the 8000; on, off, full, half and max are numbers, too. */
static bool
number_of(const char *word, size_t len, double *out)
{
	static const struct {
		const char *word;
		double number;
	} words[] = { { "on", 1 }, { "off", 0 }, { "full", 2 }, { "half", 1 }, { "max", INFINITY },
		{ "unlimited", INFINITY }, { "-1", INFINITY } };
	char text[64], *end, *equal;
	size_t i;

	if (len >= sizeof(text))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	equal = strrchr(text, '=');
	equal = equal != NULL ? equal + 1 : text;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(equal, words[i].word) == 0) {
			*out = words[i].number;
			return true;
		}
	*out = strtod(equal, &end);
	return end != equal && *end == '\0' && !isnan(*out);
}

static size_t
numbers_of(const char *text, double *v)
{
	size_t n = 0, len;

	for (text = text != NULL ? text : ""; *text != '\0' && n < NUMBERS_MAX; text += len) {
		text += strspn(text, " \t");
		len = strcspn(text, " \t");
		n += len > 0 && number_of(text, len, &v[n]);
	}
	return n;
}

/* The logarithm of the largest step of a number; to and from zero or "no limit" is ln 1000. */
static double
step_of(double before, double after)
{
	const double far = log(1000);

	if (before == after)
		return 0;
	if (before > 0 && after > 0 && isfinite(before) && isfinite(after))
		return fmin(far, fmax(-far, log(after / before)));
	return after > before ? far : -far;
}

/* Returns false if the values are no numbers that can be compared. */
static bool
largest_step(const struct nw_cause *c, double *out)
{
	const bool cap = c->mechanism->step == NW_STEP_CAP;
	double before[NUMBERS_MAX], after[NUMBERS_MAX], step;
	size_t i, n_before = numbers_of(c->before, before), n_after = numbers_of(c->after, after);

	*out = 0;
	if (cap && (n_before == 0 || n_after == 0)) {
		*out = n_before == n_after ? 0 : n_after > 0 ? -log(1000) : log(1000);
		return true;
	}
	if (n_before == 0 || n_before != n_after)
		return false;
	for (i = 0; i < n_after; i++) {
		step = step_of(before[i], after[i]);
		*out = fabs(step) > fabs(*out) ? step : *out;
	}
	return true;
}

/* Whether one of the words apart by '|' begins a word of the text. */
static bool
words_in(const char *words, const char *text)
{
	const char *at;
	size_t len;

	for (; text != NULL; words += len + 1) {
		len = strcspn(words, "|");
		for (at = text; *at != '\0'; at++)
			if ((at == text || strchr(" ,", at[-1]) != NULL) &&
			    strncmp(at, words, len) == 0)
				return true;
		if (words[len] == '\0')
			break;
	}
	return false;
}

/* How well the step suits a slowdown: from OTHER_WAY to 1. */
static double
step_weight(const struct nw_cause *c)
{
	const struct nw_mechanism *m = c->mechanism;
	const double half = log(2);
	bool before, after;
	double step;

	if (m->step == NW_STEP_WORDS) {
		before = words_in(m->words, c->before);
		after = words_in(m->words, c->after);
		return after ? (before ? 0.7 : 1) : before ? OTHER_WAY : 0.2;
	}
	if (!largest_step(c, &step))
		return m->step == NW_STEP_ANY ? 1 : 0.3;
	if (m->step == NW_STEP_LOWER || m->step == NW_STEP_CAP)
		step = -step;
	else if (m->step == NW_STEP_ANY)
		step = fabs(step);
	return step <= 0 ? OTHER_WAY : fmax(OTHER_WAY, fmin(1, step / half));
}

/* --- time --- */

/* How well the sessions agree with the change as the cause. */
static double
time_weight(const bool *moved, const struct nw_begin *b)
{
	size_t i, first = b->low > 0 ? b->low - 1 : 0, against = 0;
	double w;

	while (first < b->n && !moved[first])
		first++;
	if (first > b->high + 1 || first >= b->n)
		return 0;
	w = first < b->low || first > b->high ? BESIDE : 1;
	for (i = 0; i < b->n; i++)
		if ((i + 1 < b->low && moved[i]) || (i > first && i > b->high && !moved[i]))
			against++;
	return w *
	    pow(CONTRADICTED,
		(double)(against < CONTRADICTIONS_MAX ? against : CONTRADICTIONS_MAX));
}

/* --- other routes --- */

/* The chance that so many of n routes over a host fell, and no more. */
static double
fell_chance(size_t n, size_t fell, double each)
{
	return pow(each, (double)fell) * pow(1 - each, (double)(n - fell));
}

/* The chance of what the other routes over a host show, where a cause reaches all routes with the
 * chance `shared`. */
static double
side_chance(size_t n, size_t fell, double shared)
{
	return (1 - shared) * fell_chance(n, fell, FALLS_ALONE) +
	    shared * fell_chance(n, fell, FALLS_TOO);
}

/* The chance of what the other routes over both hosts show, for a cause at a place. */
static double
reach_chance(const struct nw_reach *r, enum nw_cause_place place, double shared)
{
	const double from = side_chance(r->n_from, r->n_from_fell, ELSEWHERE),
		     to = side_chance(r->n_to, r->n_to_fell, ELSEWHERE),
		     at_from = side_chance(r->n_from, r->n_from_fell, shared) * to,
		     at_to = side_chance(r->n_to, r->n_to_fell, shared) * from;

	switch (place) {
	case NW_CAUSE_FROM: return at_from;
	case NW_CAUSE_TO: return at_to;
	case NW_CAUSE_BETWEEN: return from * to;
	case NW_CAUSE_ANYWHERE: break;
	}
	return (at_from + at_to + from * to) / 3;
}

static double
shared_of(const struct nw_cause *c)
{
	const unsigned hosts_or_net = ~((1U << NW_STAGE_DISK_READ) | (1U << NW_STAGE_DISK_WRITE) |
	    (1U << NW_STAGE_STORAGE_READ) | (1U << NW_STAGE_STORAGE_WRITE));

	if (strncmp(c->name, "program.", 8) == 0)
		return SHARED_PROGRAM;
	return (c->mechanism->stages & hosts_or_net) == 0 ? SHARED_DISK : SHARED;
}

/* --- weights --- */

static double
prior_of(const struct nw_cause *c, enum nw_stage_kind stage)
{
	const struct nw_mechanism *m = c->mechanism;
	double p = m->prior;

	if (stage < NW_STAGE_COUNT && (m->stages >> stage & 1) == 0)
		p *= OTHER_STAGE;
	return p * QUIET_WORTH / (QUIET_WORTH + (double)c->n_quiet);
}

static double
metric_odds(const struct nw_cause *c, enum nw_stage_kind stage)
{
	const double p = c->chance;
	const enum nw_cause_step step = c->mechanism->step;

	if (!(p > 0 && p < exp(-1)) || step == NW_STEP_ANY || c->rose != (step == NW_STEP_HIGHER))
		return 0;
	return (c->accounts ? ACCOUNTS : prior_of(c, stage)) *
	    fmin(METRIC_FACTOR_MAX, -1 / (exp(1) * p * log(p)));
}

/* Of several settings of one change (a new kernel, a new program) only the heaviest counts. */
static void
units_join(struct nw_cause *c, size_t n)
{
	size_t i, k, len;

	for (i = 0; i < n; i++) {
		len = nw_cause_unit(c[i].name);
		for (k = 0; k < n && c[i].moved != NULL; k++)
			if (k != i && c[k].moved != NULL && c[k].host == c[i].host &&
			    nw_cause_unit(c[k].name) == len &&
			    memcmp(c[k].name, c[i].name, len) == 0 &&
			    (c[k].weight > c[i].weight || (c[k].weight == c[i].weight && k < i)))
				c[i].weight = 0;
	}
}

void
nw_causes_weigh(struct nw_cause *cause, size_t n, const struct nw_begin *begin,
    enum nw_stage_kind stage, double *unexplained)
{
	const double places = (double)(begin->high - begin->low + 1);
	const double unrecorded =
	    UNRECORDED * places * reach_chance(&begin->reach, NW_CAUSE_ANYWHERE, SHARED);
	double all = unrecorded, survived = (double)begin->n_survived;
	struct nw_cause *c;

	for (c = cause; c < cause + n; c++)
		survived += c->moved != NULL && time_weight(c->moved, begin) == 0;
	for (c = cause; c < cause + n; c++) {
		c->mechanism = nw_mechanism_find(c->name);
		c->weight = c->moved == NULL ? UNRECORDED * places * metric_odds(c, stage)
					     : SURVIVED_WORTH / (SURVIVED_WORTH + survived) *
			prior_of(c, stage) * step_weight(c) * time_weight(c->moved, begin);
		c->weight *= reach_chance(&begin->reach, c->place, shared_of(c));
	}
	units_join(cause, n);
	for (c = cause; c < cause + n; c++)
		all += c->weight;
	for (c = cause; c < cause + n; c++)
		c->weight /= all;
	*unexplained = unrecorded / all;
}

double
nw_change_chance(const char *name, const char *before, const char *after, size_t n_quiet)
{
	const struct nw_cause c = { .name = name,
		.before = before,
		.after = after,
		.n_quiet = n_quiet,
		.mechanism = nw_mechanism_find(name) };

	return prior_of(&c, NW_STAGE_COUNT) * step_weight(&c);
}

double
nw_change_log_odds(double chance, double earlier)
{
	return log1p(chance * UNFELT_WORTH / (UNFELT_WORTH + earlier) / UNRECORDED_BEGIN);
}

size_t
nw_causes_named(const double *weight, size_t n, double unexplained)
{
	double explained = 1 - unexplained, sum = 0;
	size_t i;

	for (i = 0; i < n && i < NW_CAUSES_NAMED_MAX && weight[i] > 0; i++) {
		/* a rival of a tenth of the first cause is not worth a name */
		if (i > 0 && (sum >= NW_CAUSE_SURE * explained || weight[i] < 0.1 * weight[0]))
			break;
		sum += weight[i];
	}
	return sum > unexplained ? i : 0;
}

const char *
nw_cause_words(double weight)
{
	return weight > NW_CAUSE_SURE ? "Almost certainly" : weight > 0.5 ? "Probably" : "Possibly";
}
