/* SPDX-License-Identifier: BSD-3-Clause */
/* The time grid of a session's evidence: choice of the step, amounts and gauges. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>

#include "narrows/xmalloc.h"

enum { STEP_SLOT_1S = 32, STEP_SLOTS_OCTAVE = 8 };

void
span_vote(struct loader *l, const struct span *s)
{
	int slot = (int)lround(STEP_SLOTS_OCTAVE * log2(s->window_s)) + STEP_SLOT_1S;

	slot = slot < 0 ? 0 : slot >= STEP_SLOTS ? STEP_SLOTS - 1 : slot;
	l->step_votes_s[slot] += s->window_s;
	l->step_rows[slot]++;
	if (l->begin_wall_ns == 0 || s->begin_wall_ns < l->begin_wall_ns)
		l->begin_wall_ns = s->begin_wall_ns;
	if (s->end_wall_ns > l->end_wall_ns)
		l->end_wall_ns = s->end_wall_ns;
}

static size_t
windows_in(int64_t length_ns, int64_t step_ns)
{
	return (size_t)((length_ns + step_ns - 1) / step_ns);
}

/* Programs with pipes alone have no calls on files and connections: the grid reaches as far as the
 * pipes only where the calls cover less than most of the pipes' time. */
static int64_t
pipes_widen(struct loader *l)
{
	int64_t length = l->end_wall_ns - l->begin_wall_ns,
		pipes = l->pipes_end_wall_ns - l->pipes_begin_wall_ns;

	if (l->pipes_begin_wall_ns == 0 || pipes <= length + length / 4)
		return length;
	if (l->pipes_begin_wall_ns < l->begin_wall_ns)
		l->begin_wall_ns = l->pipes_begin_wall_ns;
	if (l->pipes_end_wall_ns > l->end_wall_ns)
		l->end_wall_ns = l->pipes_end_wall_ns;
	return l->end_wall_ns - l->begin_wall_ns;
}

/* Takes the reporting interval with most of the time, unless the session is too long. */
void
grid_choose(struct loader *l)
{
	struct evidence *e = l->e;
	int64_t length = l->end_wall_ns - l->begin_wall_ns;
	double step_s;
	int slot, best = 0;

	if (length <= 0)
		return;
	for (slot = 1; slot < STEP_SLOTS; slot++)
		if (l->step_votes_s[slot] > l->step_votes_s[best])
			best = slot;
	length = pipes_widen(l);
	step_s = l->step_votes_s[best] / l->step_rows[best];
	if (step_s > 0.01)
		step_s = round(step_s * 1000) / 1000;
	e->step_ns = llround(step_s * 1e9);
	e->n_windows = windows_in(length, e->step_ns);
	if (e->n_windows > EVIDENCE_WINDOWS_MAX) {
		e->step_ns = length / EVIDENCE_WINDOWS_MAX + 1;
		e->n_windows = windows_in(length, e->step_ns);
	}
	e->t0_wall_ns = l->begin_wall_ns;
}

double *
grid_array(const struct evidence *e, double **a, double fill)
{
	size_t i;

	if (*a == NULL) {
		*a = xcalloc(e->n_windows, sizeof(**a));
		for (i = 0; i < e->n_windows; i++)
			(*a)[i] = fill;
	}
	return *a;
}

void
grid_spread(const struct evidence *e, double *a, const struct span *s, double amount)
{
	double step = (double)e->step_ns, from, to, lo, hi, length;
	size_t i, last;

	if (a == NULL || !(amount > 0))
		return;
	from = (double)(s->begin_wall_ns - e->t0_wall_ns);
	to = (double)(s->end_wall_ns - e->t0_wall_ns);
	length = to - from;
	if (to <= 0 || from >= step * (double)e->n_windows || length <= 0)
		return;
	i = from > 0 ? (size_t)(from / step) : 0;
	last = (size_t)(to / step);
	for (; i <= last && i < e->n_windows; i++) {
		lo = fmax(from, (double)i * step);
		hi = fmin(to, (double)(i + 1) * step);
		if (hi > lo)
			a[i] += amount * (hi - lo) / length;
	}
}

/* The windows touched by a span, from first to before end. */
static void
windows_touched(const struct evidence *e, const struct span *s, size_t *first, size_t *end)
{
	int64_t begin_ns = s->begin_wall_ns - e->t0_wall_ns,
		end_ns = s->end_wall_ns - e->t0_wall_ns;

	*first = begin_ns > 0 ? (size_t)(begin_ns / e->step_ns) : 0;
	*end = end_ns > 0 ? windows_in(end_ns, e->step_ns) : 0;
	if (*end > e->n_windows)
		*end = e->n_windows;
}

void
grid_gauge(const struct evidence *e, double *a, const struct span *s, double v)
{
	size_t i, end;

	if (!isfinite(v))
		return;
	for (windows_touched(e, s, &i, &end); i < end; i++)
		a[i] = v;
}

void
grid_raise(const struct evidence *e, double *a, const struct span *s, double v)
{
	size_t i, end;

	for (windows_touched(e, s, &i, &end); i < end; i++)
		if (!(a[i] >= v))
			a[i] = v;
}
