/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge/combined.h"
#include "analyze/verdict/judge/lanes.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/ttest.h"

enum { NS_PER_S = 1000000000 };
/* A stage with so large a share of the time needs no hidden wait beside. */
static const double ACCOUNTED = 0.55;

/* --- change points --- */

struct work {
	const struct evidence *e;
	const struct nw_path *path;
	const struct segments_params *params;
	struct segments *out;
	struct lanes lanes;
	double *delivered;                   /* bytes per window */
	int64_t first_wall_ns, last_wall_ns; /* of the transfer */
};

static int
series_add(struct work *w, struct change_series what, const double *y)
{
	struct segments *s = w->out;

	s->series = xreallocarray(s->series, s->n_series + 1, sizeof(*s->series));
	s->series[s->n_series] = what;
	return nw_changes(y, w->e->n_windows, &s->options, &s->series[s->n_series++].changes);
}

static int64_t
window_ns(const struct evidence *e, size_t window)
{
	return e->t0_wall_ns + (int64_t)window * e->step_ns;
}

/* The ends of a session may cut the first and the last window short, without any change. */
static bool
is_whole(const struct work *w, size_t window)
{
	return window_ns(w->e, window) >= w->first_wall_ns &&
	    window_ns(w->e, window + 1) <= w->last_wall_ns;
}

static int
series_find(struct work *w)
{
	size_t n = w->e->n_windows, i, k;
	double *y = xcalloc(n, sizeof(*y));
	int rc;

	for (i = 0; i < n; i++)
		y[i] = is_whole(w, i) ? w->delivered[i] / ((double)w->e->step_ns / NS_PER_S) : NAN;
	rc = series_add(w, (struct change_series){ .what = CHANGE_DELIVERED }, y);
	for (k = 0; k < w->lanes.n && rc == NW_OK; k++) {
		const struct lane *l = &w->lanes.lane[k];

		for (i = 0; i < n; i++)
			y[i] = l->ops[i] > 0 && is_whole(w, i) ? l->rate_sum[i] / l->ops[i] : NAN;
		rc = series_add(
		    w, (struct change_series){ CHANGE_OPERATION, .host = l->host, .op = l->op }, y);
	}
	for (k = 0; k < w->path->n && rc == NW_OK; k++) {
		const struct nw_path_stage *s = &w->path->stage[k];

		for (i = 0; i < n; i++)
			y[i] = is_whole(w, i) ? 1 - s->free_share[i] : NAN;
		rc = series_add(
		    w, (struct change_series){ CHANGE_HELD, .host = s->host, .stage = s->kind }, y);
	}
	free(y);
	return rc;
}

struct mark {
	size_t at;
	bool delivered;
};

static int
mark_order(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Joins the marks of all series in time: marks close together become a single mark, preferably
 * where the delivered rate changed. */
static size_t
marks_join(const struct segments *s, size_t n_windows, size_t **out)
{
	struct mark *marks = NULL;
	size_t *at, n = 0, joined = 0, i, k, end;

	for (i = 0; i < s->n_series; i++)
		for (k = 1; k < s->series[i].changes.n_segments; k++) {
			marks = xreallocarray(marks, n + 1, sizeof(*marks));
			marks[n++] = (struct mark){ s->series[i].changes.segment[k].start,
				s->series[i].what == CHANGE_DELIVERED };
		}
	if (n > 0)
		qsort(marks, n, sizeof(*marks), mark_order);
	at = xcalloc(n + 1, sizeof(*at));
	for (i = 0; i < n; i = end) {
		size_t chosen = i;

		for (end = i + 1; end < n && marks[end].at < marks[i].at + s->join_windows; end++)
			;
		chosen = i + (end - i) / 2;
		for (k = i; k < end; k++)
			if (marks[k].delivered) {
				chosen = k;
				break;
			}
		if (marks[chosen].at >=
			(joined > 0 ? at[joined - 1] : 0) + s->options.min_segment &&
		    marks[chosen].at + s->options.min_segment <= n_windows)
			at[joined++] = marks[chosen].at;
	}
	free(marks);
	*out = at;
	return joined;
}

/* --- verdicts --- */

/* Where no test tells the slowest stage of a segment, a single disk at its throttle does. */
static bool
throttle_decides(const struct work *w, const struct resources *r, struct segment *s)
{
	size_t i, n = 0, disk = 0;

	for (i = 0; i < w->path->n; i++)
		if (resources_throttled(r, i, s->bytes_per_s)) {
			disk = i;
			n++;
		}
	if (n != 1 || s->limit.claim == LIMIT_INFERENCE || s->limit.n_windows < LIMIT_WINDOWS_MIN)
		return false;
	s->limit.stage = disk;
	s->limit.known = true;
	s->limit.claim = LIMIT_ACCOUNT;
	return true;
}

static int
segment_judge(const struct work *w, struct segment *s)
{
	const struct evidence *e = w->e;
	int64_t from = window_ns(e, s->first), to = window_ns(e, s->end);
	struct resources r;
	size_t i;
	int rc;

	for (i = s->first; i < s->end; i++)
		s->bytes += w->delivered[i];
	from = from < w->first_wall_ns ? w->first_wall_ns : from;
	to = to > w->last_wall_ns ? w->last_wall_ns : to;
	s->bytes_per_s = to > from ? s->bytes / ((double)(to - from) / NS_PER_S) : NAN;
	if ((rc = limit_find(
		 w->path, s->first, s->end, w->params->alpha, w->params->margin, &s->limit)) < 0)
		return rc;
	resources_find(e, w->path, s->first, s->end, &r);
	s->by_kernel = combined_decide(e, w->path, &r, &s->limit);
	s->throttled = throttle_decides(w, &r, s);
	return NW_OK;
}

static int
segments_correct(struct work *w)
{
	struct segments *s = w->out;
	double *p = xcalloc(s->n, sizeof(*p));
	size_t i;
	int rc;

	for (i = 0; i < s->n; i++)
		p[i] = s->segment[i].limit.p;
	rc = nw_holm(p, s->n, p);
	for (i = 0; i < s->n && rc == NW_OK; i++) {
		struct segment *at = &s->segment[i];

		at->p_holm = p[i];
		at->stage = at->limit.stage;
		at->claim =
		    limit_is_held(&at->limit) || at->throttled ? at->limit.claim : LIMIT_NONE;
		if (at->claim == LIMIT_INFERENCE && !at->by_kernel && !(p[i] < w->params->alpha))
			at->claim = LIMIT_ACCOUNT;
		at->known = at->claim != LIMIT_NONE;
	}
	free(p);
	return rc;
}

/* --- hidden waits: an operation waits outside itself, so its stage looks fast --- */

/* Room for the windows of a segment, two columns of n_windows. */
struct spread {
	double *mean, *sd;
};

/* An operation within a segment, in the form of nw_hidden_wait(), on loan from `room`. */
static struct nw_stage_segment
lane_summary(
    const struct work *w, const struct lane *l, const struct segment *s, struct spread room)
{
	double step_s = (double)w->e->step_ns / NS_PER_S, windows = (double)(s->end - s->first);
	double rate = 0, sd = 0, ops = 0, held = 0;
	size_t i, n = 0;

	for (i = s->first; i < s->end; i++) {
		rate += l->rate_sum[i];
		sd += l->rate_sd_sum[i];
		ops += l->ops[i];
		held += l->held_s[i];
		if (l->ops[i] > 0) {
			room.mean[n] = l->rate_sum[i] / l->ops[i];
			room.sd[n++] = l->rate_sd_sum[i] / l->ops[i];
		}
	}
	return (struct nw_stage_segment){ .tput_mean = ops > 0 ? rate / ops : NAN,
		.tput_sd = sd > 0 ? sd / ops : NAN,
		.ops_per_window = ops / windows,
		.delivered_bytes_per_s = s->bytes_per_s,
		.busy_fraction = held / (windows * step_s),
		.window_mean = room.mean,
		.window_sd = room.sd,
		.n_windows = n };
}

/* Whether the stage last seen only became invisible in a segment: the reasons, or 0. */
static int
hidden_compare(const struct work *w, const struct lane *l, const struct segment *seen,
    const struct segment *now, unsigned *found)
{
	const size_t n = w->e->n_windows + 1;
	double *store = calloc(4 * n, sizeof(*store));
	struct nw_stage_segment before, after;
	int rc;

	if (store == NULL)
		return NW_ENOMEM;
	before = lane_summary(w, l, seen, (struct spread){ store, store + n });
	after = lane_summary(w, l, now, (struct spread){ store + 2 * n, store + 3 * n });
	rc = nw_hidden_wait(&before, &after, found);
	free(store);
	return rc;
}

/* The operation behind a stage; NULL for a program between its calls. */
static const struct lane *
lane_of(const struct work *w, const struct nw_path_stage *s)
{
	enum nw_op op;
	size_t i, host = s->host;

	switch (s->kind) {
	case NW_STAGE_DISK_READ:
	case NW_STAGE_STORAGE_READ: op = NW_OP_DISK_READ; break;
	case NW_STAGE_DISK_WRITE:
	case NW_STAGE_STORAGE_WRITE: op = NW_OP_DISK_WRITE; break;
	case NW_STAGE_NET_WRITE: op = NW_OP_NET_WRITE; break;
	case NW_STAGE_NET_READ: op = NW_OP_NET_READ; break;
	case NW_STAGE_NETWORK:
		op = NW_OP_NET_READ;
		host = s->to_host;
		break;
	default: return NULL;
	}
	for (i = 0; i < w->lanes.n; i++)
		if (w->lanes.lane[i].op == op && w->lanes.lane[i].host == host)
			return &w->lanes.lane[i];
	return NULL;
}

/* The share of a segment explained by the slowest stage. */
static double
accounted(const struct work *w, const struct segment *s)
{
	const struct nw_path *p = w->path;
	enum nw_stage_kind kind = p->stage[s->limit.stage].kind;
	const struct evidence_process *f;
	double cpu = 0;
	size_t i;

	if (kind != NW_STAGE_SENDER_HOST && kind != NW_STAGE_RECEIVER_HOST && kind != NW_STAGE_HOST)
		return limit_held(&s->limit);
	f = &w->e->processes[p->stage[s->limit.stage].process];
	for (i = s->first; f->cpu != NULL && i < s->end; i++)
		cpu += f->cpu[i];
	return cpu / ((double)(s->end - s->first) * (double)w->e->step_ns / NS_PER_S);
}

/* Finds segments, from the second on, in which the stage last seen only became invisible. */
static int
hidden_find(struct work *w)
{
	struct segments *s = w->out;
	const struct segment *seen = NULL;
	const struct lane *l;
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < s->n; i++) {
		struct segment *now = &s->segment[i];
		bool moved = seen != NULL && now->limit.n_windows > 0 &&
		    !(now->known && now->stage == seen->stage);

		if (moved && !now->throttled && !(accounted(w, now) >= ACCOUNTED) &&
		    (l = lane_of(w, &w->path->stage[seen->stage])) != NULL)
			rc = hidden_compare(w, l, seen, now, &now->hidden);
		if (now->hidden != 0) {
			now->known = true;
			now->stage = seen->stage;
		} else if (now->known)
			seen = now;
	}
	return rc;
}

static bool
is_same_outcome(const struct segment *a, const struct segment *b)
{
	return a->known == b->known &&
	    (!a->known || (a->stage == b->stage && (a->hidden != 0) == (b->hidden != 0)));
}

static int
segments_judge(struct work *w)
{
	struct segments *s = w->out;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < s->n && rc == NW_OK; i++) {
		s->segment[i] =
		    (struct segment){ .first = s->segment[i].first, .end = s->segment[i].end };
		rc = segment_judge(w, &s->segment[i]);
	}
	if (rc == NW_OK && (rc = segments_correct(w)) == NW_OK)
		rc = hidden_find(w);
	return rc;
}

/* Merges neighbours of equal outcome and about equal rate: the mark between them means nothing. */
static bool
segments_merge(struct work *w)
{
	struct segments *s = w->out;
	size_t i, n = 0;

	for (i = 1; i < s->n; i++) {
		struct segment *last = &s->segment[n], *now = &s->segment[i];
		double more = fmax(last->bytes_per_s, now->bytes_per_s),
		       less = fmin(last->bytes_per_s, now->bytes_per_s);

		if (is_same_outcome(last, now) && !(more > less * (1 + w->params->margin)))
			last->end = now->end;
		else
			s->segment[++n] = *now;
	}
	if (n + 1 == s->n)
		return false;
	s->n = n + 1;
	return true;
}

int
segments_find(const struct evidence *e, const struct nw_path *p,
    const struct segments_params *params, struct segments *out)
{
	struct work w = { .e = e, .path = p, .params = params, .out = out };
	size_t *marks = NULL, n_marks, i;
	int rc;

	memset(out, 0, sizeof(*out));
	out->options = nw_change_better;
	out->options.min_segment = params->windows_min;
	out->join_windows = params->windows_min;
	if (p->n == 0 || e->n_windows == 0)
		return NW_OK;
	evidence_extent(e, p, &w.first_wall_ns, &w.last_wall_ns);
	lanes_find(e, &w.lanes);
	w.delivered = xcalloc(e->n_windows, sizeof(*w.delivered));
	lanes_delivered(&w.lanes, p, w.delivered);
	if ((rc = series_find(&w)) < 0)
		goto out;
	n_marks = marks_join(out, e->n_windows, &marks);
	out->n = n_marks + 1;
	out->segment = xcalloc(out->n, sizeof(*out->segment));
	for (i = 0; i < out->n; i++) {
		out->segment[i].first = i > 0 ? marks[i - 1] : 0;
		out->segment[i].end = i < n_marks ? marks[i] : e->n_windows;
	}
	do
		rc = segments_judge(&w);
	while (rc == NW_OK && segments_merge(&w));
out:
	free(marks);
	free(w.delivered);
	lanes_clear(&w.lanes);
	if (rc < 0)
		segments_clear(out);
	return rc;
}

void
segments_clear(struct segments *s)
{
	size_t i;

	for (i = 0; i < s->n_series; i++)
		nw_changes_clear(&s->series[i].changes);
	free(s->series);
	free(s->segment);
	memset(s, 0, sizeof(*s));
}
