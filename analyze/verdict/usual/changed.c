/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/changed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/differ.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

double
changed_q_metrics(const struct changed *c)
{
	return c->n_after < NW_DIFFER_AFTER_MIN ? CHANGED_Q_ALONE : CHANGED_Q_METRICS;
}

/* --- ranks --- */

static double
effect_of(const struct difference *d)
{
	double ratio = d->after / d->before;

	return d->before > 0 && d->after > 0 ? fabs(log(ratio)) : isfinite(ratio) ? 10 : 0;
}

/* Settings with a bearing on the limiting stage, metrics of the stage, other settings, the rest. */
static int
place_of(const struct difference *d)
{
	return d->kind == DIFFERENCE_SETTING ? (d->limits ? 0 : 2) : d->limits ? 1 : 3;
}

/* What is beyond chance comes first; then by place; then the surer setting or the larger effect. */
static int
difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double ex, ey;

	if (x->beyond != y->beyond)
		return x->beyond ? -1 : 1;
	if (place_of(x) != place_of(y))
		return place_of(x) < place_of(y) ? -1 : 1;
	if (x->kind == DIFFERENCE_SETTING && x->p != y->p)
		return x->p < y->p ? -1 : 1;
	if (x->known != y->known)
		return x->known ? -1 : 1;
	ex = effect_of(x);
	ey = effect_of(y);
	return ex > ey ? -1 : ex < ey;
}

/*
 * q of a kind. Settings with a common change are one chance; settings with a bearing on the
 * limiting stage and settings without are judged apart.
 */
static int
kind_judge(struct changed *c, enum difference_kind kind, bool limits, size_t n, double level)
{
	double *p = xcalloc(n + 1, sizeof(*p)), *q = xcalloc(n + 1, sizeof(*q));
	size_t *at = xcalloc(n + 1, sizeof(*at)), n_p = 0;
	struct difference *d;
	int rc;

	for (d = c->difference; d < c->difference + c->n; d++)
		if (d->kind == kind && (kind == DIFFERENCE_METRIC || d->limits == limits) &&
		    at[d->course] == 0) {
			p[n_p] = d->p;
			at[d->course] = ++n_p;
		}
	rc = nw_false_discoveries(p, n_p, q);
	for (d = c->difference; d < c->difference + c->n; d++)
		if (d->kind == kind && (kind == DIFFERENCE_METRIC || d->limits == limits)) {
			d->q = q[at[d->course] - 1];
			d->beyond = d->q <= level;
		}
	free(at);
	free(p);
	free(q);
	return rc;
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

enum { SETTING_SHOWN = 80 };

/* A value, cut to the part that differs from another value. */
static char *
setting_text(const char *value, const char *other)
{
	size_t same = 0;

	if (value == NULL || *value == '\0')
		return xstrdup(value == NULL ? "absent" : "empty");
	while (other != NULL && value[same] != '\0' && value[same] == other[same])
		same++;
	while (same > 0 && value[same - 1] != ' ') /* whole words */
		same--;
	return same < SETTING_SHOWN ? xasprintf("%.*s", SETTING_SHOWN, value)
				    : xasprintf("... %.*s", SETTING_SHOWN, value + same);
}

static void
difference_say(const struct difference *d, struct claims *told)
{
	const struct claim_value name = claim_text(d->name),
				 on = claim_text(d->host != NULL ? " on " : ""),
				 host = claim_text(d->host);
	char *before, *after;

	if (d->kind == DIFFERENCE_SETTING) {
		before = setting_text(d->before_text, d->after_text);
		after = setting_text(d->after_text, d->before_text);
		CLAIM_SAY(told, setting_changed, CLAIM_NO_STAGE, name, on, host, claim_text(before),
		    claim_text(after), claim_text(fmt_time(d->at_wall_ns).s));
	} else {
		before = xstrdup(metric_text(d, d->before).s);
		after = xstrdup(metric_text(d, d->after).s);
		CLAIM_SAY(told, metric_changed, CLAIM_NO_STAGE, name, on, host, claim_text(before),
		    claim_text(after));
	}
	free(before);
	free(after);
}

static void
difference_clear(struct difference *d)
{
	free(d->host);
	free(d->name);
	free(d->before_text);
	free(d->after_text);
	free(d->sentence);
	claims_clear(&d->told);
}

/* Metrics without a change say nothing. */
static void
same_drop(struct changed *c)
{
	size_t i, kept = 0;

	for (i = 0; i < c->n; i++)
		if (c->difference[i].kind == DIFFERENCE_METRIC && c->difference[i].q > 0.5)
			difference_clear(&c->difference[i]);
		else
			c->difference[kept++] = c->difference[i];
	c->n = kept;
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
	if (c->n > 0 && c->difference[0].beyond)
		claims_append(&c->told, &c->difference[0].told);
	else
		CLAIM_SAY(&c->told, nothing_changed, CLAIM_NO_STAGE,
		    claim_number((double)c->n_settings), claim_number((double)c->n_metrics));
	c->sentence = claims_text(&c->told);
}

int
changed_find(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	int rc;

	*out = (struct changed){
		.asked = true, .n_before = ask->split, .n_after = ask->n - ask->split
	};
	if ((rc = changed_settings(r, ask, out)) < 0 || (rc = changed_metrics(r, ask, out)) < 0 ||
	    (rc = kind_judge(out, DIFFERENCE_SETTING, true, out->n_settings, CHANGED_Q_SETTINGS)) <
		0 ||
	    (rc = kind_judge(out, DIFFERENCE_SETTING, false, out->n_settings, CHANGED_Q_SETTINGS)) <
		0 ||
	    (rc = kind_judge(
		 out, DIFFERENCE_METRIC, true, out->n_metrics, changed_q_metrics(out))) < 0) {
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
