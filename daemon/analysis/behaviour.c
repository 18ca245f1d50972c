/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/analysis/behaviour.h"

#include <math.h>
#include <string.h>

/* A rate is another rate beyond this factor. */
static const double FACTOR = 1.25;
/* Looks over a shorter time say nothing of a rate. */
static const double LOOK_S = 2;
/* Halvings from the slowest interval there is to the fastest. */
enum { STEP_MAX = 13 };
/* Reasons to look closer. */
enum { UNEASY = BEHAVIOUR_SLOW | BEHAVIOUR_CHANGED | BEHAVIOUR_UNTOLD };

void
behaviour_begin(struct behaviour *b, int64_t steady_ns, int64_t now_mono_ns)
{
	*b = (struct behaviour){ .is = BEHAVIOUR_OPEN | BEHAVIOUR_UNTOLD,
		.steady_ns = steady_ns,
		.uneasy_mono_ns = now_mono_ns };
}

/* The rate since the analysis before; NaN: too soon, or bytes were taken back. */
static double
recent_rate(const struct behaviour *b, const struct session_outcome *o)
{
	double seconds = o->duration_s - (b->judged ? b->last.duration_s : 0);
	double bytes = o->bytes - (b->judged ? b->last.bytes : 0);

	return seconds >= LOOK_S && bytes >= 0 ? bytes / seconds : NAN;
}

static bool
has_changed(const struct behaviour *b, const struct session_outcome *o, double recent)
{
	double before = b->last.bytes / b->last.duration_s;

	if (!b->judged)
		return false;
	if (strcmp(b->last.stage, o->stage) != 0)
		return true;
	return recent > before * FACTOR || recent < before / FACTOR;
}

static void
step_take(struct behaviour *b, bool uneasy_before)
{
	bool uneasy = (b->is & UNEASY) != 0;

	if (uneasy && uneasy_before && b->judged && b->step < STEP_MAX)
		b->step++;
	else if (!uneasy && b->step > 0)
		b->step--;
}

void
behaviour_take(struct behaviour *b, const struct session_outcome *o, int64_t now_mono_ns)
{
	double recent = recent_rate(b, o);
	unsigned before = b->is;

	b->is = BEHAVIOUR_OPEN;
	if (isnan(recent) && b->judged) /* no newer knowledge than at the look before */
		b->is |= before & (BEHAVIOUR_SLOW | BEHAVIOUR_CHANGED);
	if (recent < o->usual_bytes_per_s / FACTOR)
		b->is |= BEHAVIOUR_SLOW;
	if (has_changed(b, o, recent))
		b->is |= BEHAVIOUR_CHANGED;
	if (o->stage[0] == '\0')
		b->is |= BEHAVIOUR_UNTOLD;
	if ((b->is & UNEASY) != 0)
		b->uneasy_mono_ns = now_mono_ns;
	else if (now_mono_ns - b->uneasy_mono_ns >= b->steady_ns)
		b->is |= BEHAVIOUR_STEADY;
	if (!isnan(recent))
		step_take(b, (before & UNEASY) != 0);
	if (!b->judged || !isnan(recent))
		b->last = *o;
	b->judged = true;
}

unsigned
behaviour_parse(const char *word)
{
	static const struct {
		const char *word;
		unsigned is;
	} words[] = { { "open", BEHAVIOUR_OPEN }, { "slow", BEHAVIOUR_SLOW },
		{ "changed", BEHAVIOUR_CHANGED }, { "untold", BEHAVIOUR_UNTOLD },
		{ "steady", BEHAVIOUR_STEADY } };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].is;
	return 0;
}
