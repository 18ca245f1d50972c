/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/pace.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/xmalloc.h"

/* Least share of the time in pauses; and of a program that keeps its pace although other programs
 * have the processors: late wakings leave little time to pause. */
static const double PAUSED = 0.1, PAUSED_LATE = 0.02;
/* Bytes per second are even with this deviation from their mean. Pauses adapt where theirs is so
 * many times as large, and no less than the last number. */
static const double EVEN = 0.1, ADAPTS = 3, VARIES = 0.05;
/* Beside a disk or a network at work for so large a share of the time, pauses that adapt prove
 * nothing. */
static const double RIVAL_MOST = 0.6;
/* A program behind a pipe belongs to an end with this share of the end's bytes. */
static const double PIPED = 0.5;
/* Length of the stretches whose bytes are compared, and the fewest of them. */
static const double STRETCH_S = 1;
enum { STRETCHES_MIN = 5 };

static double
at(const double *x, size_t i)
{
	return x != NULL ? x[i] : 0;
}

static bool
is_at_work(const struct nw_path *p, size_t i)
{
	return isfinite(p->stage[0].free_share[i]);
}

static double
paused_s(const struct evidence *e, const struct nw_path *p, size_t process)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n_windows; i++)
		sum += is_at_work(p, i) ? at(e->processes[process].paused, i) : 0;
	return fmin(sum, p->active_s);
}

static double
work_s(const struct evidence *e, const struct nw_path *p, size_t process)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n_windows; i++)
		sum += is_at_work(p, i) ? at(e->processes[process].cpu, i) : 0;
	return sum;
}

/* --- evenness --- */

struct stretches {
	double *bytes, *paused, *starved;
	size_t n;
};

static double
deviation(const double *x, size_t n)
{
	double mean = 0, squares = 0;
	size_t i;

	for (i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return mean > 0 ? sqrt(squares / (double)n) / mean : INFINITY;
}

static double
window_bytes(const struct evidence_process *f, size_t i)
{
	double most = fmax(at(f->pipe_bytes[0], i), at(f->pipe_bytes[1], i));
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		most = fmax(most, at(f->bytes[op], i));
	return most;
}

/* Stretches of the transfer, without the first and the last, which are not full. */
static void
stretches_fill(const struct evidence_process *f, const struct nw_path *p, struct stretches *s)
{
	size_t per = (size_t)fmax(1, ceil(STRETCH_S / p->window_s)), i, k;
	size_t n = p->end > p->first ? (p->end - p->first) / per : 0;

	s->n = n > 2 ? n - 2 : 0;
	s->bytes = xcalloc(s->n + 1, sizeof(*s->bytes));
	s->paused = xcalloc(s->n + 1, sizeof(*s->paused));
	s->starved = xcalloc(s->n + 1, sizeof(*s->starved));
	for (k = 0; k < s->n; k++)
		for (i = 0; i < per; i++) {
			s->bytes[k] += window_bytes(f, p->first + (k + 1) * per + i);
			s->paused[k] += at(f->paused, p->first + (k + 1) * per + i);
			s->starved[k] += at(f->starved, p->first + (k + 1) * per + i);
		}
}

/* How much the rate of a program would vary if its waits for a processor were its limit: the
 * deviation of the time that these waits leave of a stretch. */
static double
late_deviation(const struct stretches *s, double stretch_s)
{
	double *left = xcalloc(s->n + 1, sizeof(*left)), d;
	size_t i;

	for (i = 0; i < s->n; i++)
		left[i] = fmax(0, stretch_s - s->starved[i]);
	d = deviation(left, s->n);
	free(left);
	return d;
}

/* Whether the bytes of a second are even; *adapts: and the pauses are not; *late: nor is the time
 * without a processor. */
static bool
is_even(const struct evidence_process *f, const struct nw_path *p, bool *adapts, bool *late)
{
	double stretch_s = fmax(1, ceil(STRETCH_S / p->window_s)) * p->window_s;
	struct stretches s;
	double bytes;
	bool even;

	stretches_fill(f, p, &s);
	bytes = deviation(s.bytes, s.n);
	even = s.n >= STRETCHES_MIN && bytes <= EVEN;
	*adapts = even && deviation(s.paused, s.n) >= fmax(VARIES, ADAPTS * bytes);
	*late = *adapts && late_deviation(&s, stretch_s) >= fmax(VARIES, ADAPTS * bytes);
	free(s.bytes);
	free(s.paused);
	free(s.starved);
	return even;
}

/* --- ends --- */

/* A process of an end: the stage's own, the end's main process, or a neighbour behind a pipe. */
static bool
is_of_stage(const struct evidence *e, const struct nw_path *p, size_t stage, size_t process)
{
	const struct nw_path_stage *s = &p->stage[stage];
	const struct evidence_process *f = &e->processes[process];
	size_t main = s->kind == NW_STAGE_RECEIVER_HOST ? p->receiver_process : p->sender_process;

	return process == s->process || process == main ||
	    (s->of_several && f->host == s->host &&
		fmax(f->local_bytes[0], f->local_bytes[1]) >= PIPED * p->bytes);
}

static bool
is_host(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

/* The largest share of the time that another stage held the bytes. */
static double
rival_held(const struct nw_path *p, const struct limit *l, size_t stage)
{
	double most = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		if (i != stage)
			most = fmax(most, 1 - l->tests[i].group.mean);
	return most;
}

static bool
limits(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const double *starved_s, struct pace *a)
{
	double rival = rival_held(p, l, a->stage);
	double own =
	    fmax(starved_s[a->process], work_s(e, p, a->process)) / fmax(p->active_s, 1e-9);
	bool late;

	a->even = is_even(&e->processes[a->process], p, &a->adapts, &late);
	if (a->share < (late ? PAUSED_LATE : PAUSED))
		return false;
	return a->share >= fmax(rival, own) || (a->adapts && rival <= RIVAL_MOST);
}

void
pace_find(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const double *starved_s, struct pace *out)
{
	struct pace a = { .found = true };

	*out = (struct pace){ .stage = p->n, .process = e->n_processes };
	for (a.stage = 0; a.stage < p->n && l->n_windows >= LIMIT_WINDOWS_MIN; a.stage++)
		for (a.process = 0; a.process < e->n_processes; a.process++) {
			if (!is_host(p->stage[a.stage].kind) ||
			    !is_of_stage(e, p, a.stage, a.process))
				continue;
			a.share = paused_s(e, p, a.process) / p->active_s;
			if (a.share > out->share && limits(e, p, l, starved_s, &a))
				*out = a;
		}
}
