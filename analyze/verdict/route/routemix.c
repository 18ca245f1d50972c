/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/route/routemix.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { PERIODS_MAX = 24, STAGES_MAX = 16, HALF_MIN = 4 };

struct tally {
	const char *stage[STAGES_MAX]; /* NULL: cannot tell; on loan */
	size_t n[STAGES_MAX], n_stages;
};

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void
tally_add(struct tally *t, const char *stage)
{
	size_t i;

	for (i = 0; i < t->n_stages && !is_same(t->stage[i], stage); i++)
		;
	if (i == STAGES_MAX)
		return;
	t->stage[i] = stage;
	t->n_stages += i == t->n_stages;
	t->n[i]++;
}

static void
tally_make(struct tally *t, const struct past *past, size_t first, size_t end)
{
	size_t i;

	*t = (struct tally){ .n_stages = 0 };
	for (i = first; i < end; i++)
		tally_add(t, past->session[i].stage);
}

/* --- stretches --- */

/* The shortest length that divides the history into few stretches. */
static int64_t
length_of(int64_t span_ns)
{
	static const int64_t hour_ns = INT64_C(3600) * 1000000000;
	static const int hours[] = { 1, 6, 24, 7 * 24, 28 * 24, 91 * 24, 364 * 24 };
	size_t i;

	for (i = 0; i + 1 < sizeof(hours) / sizeof(hours[0]); i++)
		if (span_ns / (hours[i] * hour_ns) < PERIODS_MAX)
			break;
	return hours[i] * hour_ns;
}

static json_t *
period_doc(const struct past *past, size_t first, size_t end, int64_t from_ns, int64_t to_ns)
{
	json_t *o = json_object(), *list = json_array(), *s;
	struct tally t;
	size_t i;

	tally_make(&t, past, first, end);
	for (i = 0; i < t.n_stages; i++) {
		s = json_object();
		put_text(s, KEY_route_period_stage_stage, t.stage[i]);
		put_count(s, KEY_route_period_stage_n, t.n[i]);
		json_array_append_new(list, s);
	}
	put_ns(o, KEY_route_period_from_ns, from_ns);
	put_ns(o, KEY_route_period_to_ns, to_ns);
	put_count(o, KEY_route_period_n_sessions, end - first);
	result_set(o, KEY_route_period_stages, list);
	return o;
}

json_t *
routemix_periods(const struct past *past)
{
	const struct past_session *s = past->session;
	json_t *list = json_array();
	int64_t length, from;
	size_t i, end, n;

	if (past->n == 0)
		return list;
	length = length_of(s[past->n - 1].start_wall_ns - s[0].start_wall_ns);
	from = s[0].start_wall_ns / length * length;
	for (i = n = 0; i < past->n && n < PERIODS_MAX + 1; i = end, from += length, n++) {
		for (end = i; end < past->n && s[end].start_wall_ns < from + length; end++)
			;
		json_array_append_new(list, period_doc(past, i, end, from, from + length));
	}
	return list;
}

/* --- words --- */

/* The most frequent one. */
static size_t
tally_first(const struct tally *t)
{
	size_t i, best = 0;

	for (i = 1; i < t->n_stages; i++)
		if (t->n[i] > t->n[best])
			best = i;
	return best;
}

static const char *
stage_words(const char *stage)
{
	return stage != NULL ? result_stage_words(stage) : "no clear limit";
}

char *
routemix_words(const struct past *past)
{
	const size_t half = past->n / 2;
	struct tally early, late;
	size_t a, b;

	if (half < HALF_MIN)
		return NULL;
	tally_make(&early, past, 0, half);
	tally_make(&late, past, half, past->n);
	a = tally_first(&early);
	b = tally_first(&late);
	if (is_same(early.stage[a], late.stage[b]))
		return xasprintf("Most often limited by %s: %zu of the first %zu sessions, %zu of "
				 "the %zu since.",
		    stage_words(early.stage[a]), early.n[a], half, late.n[b], past->n - half);
	return xasprintf(
	    "The first %zu sessions were most often limited by %s (%zu), the %zu since "
	    "by %s (%zu).",
	    half, stage_words(early.stage[a]), early.n[a], past->n - half,
	    stage_words(late.stage[b]), late.n[b]);
}
