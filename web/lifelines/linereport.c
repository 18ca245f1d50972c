/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/linereport.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "web/lifelines/lineclock.h"

#define WITH_P     0.001 /* events count as together with the finding below this chance */
#define LANE_WHOLE 0.9 /* a delay of such a share of a server's lines is one of the whole server */

#define MOST 0.5 /* a delay of a larger share of lines is the rule among them */

enum { CLOCKS_TOLD = 3 };

/* --- events of hosts --- */

struct stretches {
	int64_t *begin, *end;
	size_t n;
};

/* The stretches of the finding: stalls, or the slow lines in its segment. */
static int
stretches_fill(const struct chosen *k, const struct linereport *p, struct stretches *out)
{
	const struct nw_line_finding *f = &p->found.finding[0];
	size_t i, n = p->n_stalls > k->lines.n ? p->n_stalls : k->lines.n,
		  points = k->lines.n_points;

	*out = (struct stretches){ .begin = calloc(n + 1, sizeof(*out->begin)),
		.end = calloc(n + 1, sizeof(*out->end)) };
	if (out->begin == NULL || out->end == NULL)
		return NW_ENOMEM;
	for (i = 0; f->kind == NW_LINE_STALL && i < p->n_stalls; i++) {
		out->begin[out->n] = p->stall[i].blocked_ns;
		out->end[out->n++] = p->stall[i].unblocked_ns;
	}
	for (i = 0; f->kind != NW_LINE_STALL && i < k->lines.n; i++) {
		int64_t from = k->t[i * points + f->from], to = k->t[i * points + f->to];

		if (from == NW_LINE_NEVER || to == NW_LINE_NEVER ||
		    nw_line_before(&k->lines, i, f->to) != f->from ||
		    (f->lane != NW_LINE_ANY && k->lane[i] != f->lane) ||
		    (double)to - (double)from < f->split_s * 1e9 ||
		    (f->kind == NW_LINE_STEP && from < f->first_ns))
			continue;
		out->begin[out->n] = from;
		out->end[out->n++] = to;
	}
	return NW_OK;
}

static int
by_surprise(const void *a, const void *b)
{
	const struct linereport_with *x = a, *y = b;

	return (x->with.p > y->with.p) - (x->with.p < y->with.p);
}

static int
by_kind(const void *a, const void *b)
{
	const struct lineset_side *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	return (x->t_wall_ns > y->t_wall_ns) - (x->t_wall_ns < y->t_wall_ns);
}

/* Drops that name another server prove nothing of the finding's server. */
static bool
is_apt(const struct lineset *s, const struct nw_line_finding *f, uint32_t server)
{
	return server == NW_LINE_ANY || f->lane == NW_LINE_ANY ||
	    strcmp(s->side_servers.text[server], s->lanes.text[f->lane]) == 0;
}

static int
with_fill(const struct lineset *s, const struct stretches *st, struct linereport *p)
{
	const struct nw_line_finding *f = &p->found.finding[0];
	struct lineset_side *side = calloc(s->n_side + 1, sizeof(*side));
	int64_t *t = calloc(s->n_side + 1, sizeof(*t));
	size_t i, k, n;
	int rc = side != NULL && t != NULL ? NW_OK : NW_ENOMEM;

	p->with = calloc(s->n_side + 1, sizeof(*p->with));
	if (p->with == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK && s->n_side > 0) {
		memcpy(side, s->side, s->n_side * sizeof(*side));
		for (i = 0; f->lane == NW_LINE_ANY && i < s->n_side; i++)
			side[i].server = NW_LINE_ANY;
		qsort(side, s->n_side, sizeof(*side), by_kind);
	}
	for (i = 0; rc == NW_OK && i < s->n_side; i += n) {
		for (n = 0, k = i; k < s->n_side && side[k].name == side[i].name &&
		     side[k].host == side[i].host && side[k].server == side[i].server;
		     k++)
			t[n++] = side[k].t_wall_ns;
		p->with[p->n_with] = (struct linereport_with){ side[i].name, side[i].host,
			side[i].server, is_apt(s, f, side[i].server), { 0 } };
		rc = nw_lines_with(t, n, st->begin, st->end, st->n, s->first_wall_ns,
		    s->last_wall_ns, &p->with[p->n_with++].with);
	}
	if (rc == NW_OK)
		qsort(p->with, p->n_with, sizeof(*p->with), by_surprise);
	free(side);
	free(t);
	return rc;
}

/* --- the sentence --- */

static void __attribute__((format(printf, 2, 3))) say(struct linereport *p, const char *format, ...)
{
	size_t len = strlen(p->sentence);
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->sentence + len, sizeof(p->sentence) - len, format, ap);
	va_end(ap);
}

static void
say_nothing(const struct lineset *s, struct linereport *p)
{
	if (s->n_events == 0)
		say(p, "The session has no events.");
	else if (s->lines.n == 0)
		say(p, "No lifelines: none of the session's %s events share an id.",
		    fmt_count((uint64_t)s->n_events).s);
	else if (p->segments.n_finished == 0)
		say(p, "No chosen lifeline reaches the last point of the path, %.80s.",
		    lineset_point(s, (unsigned)s->lines.n_points - 1));
	else
		say(p, "Nothing stands out: the median line takes %s, the slowest of a hundred %s.",
		    fmt_duration(p->segments.total_s[NW_LINE_MEDIAN]).s,
		    fmt_duration(p->segments.total_s[NW_LINE_Q99]).s);
}

/* A delay of a whole server between two hosts that their clocks can explain; *proven: one of the
 * clocks is wrong by that. */
static bool
may_be_clock(const struct lineset *s, const struct nw_line_finding *f, bool *proven)
{
	*proven = false;
	return (f->kind == NW_LINE_LANE ||
		   (f->kind == NW_LINE_CLASS && f->lane != NW_LINE_ANY && f->share > LANE_WHOLE)) &&
	    f->size_low_s <= lineclock_doubt(s, f->lane, f->from, f->to, proven);
}

static void
say_finding(const struct lineset *s, struct linereport *p)
{
	const struct nw_line_finding *f = &p->found.finding[0];
	const char *lane = f->lane != NW_LINE_ANY ? s->lanes.text[f->lane] : NULL,
		   *from = lineset_point(s, f->from), *to = lineset_point(s, f->to);
	struct fmt size = fmt_duration(f->size_s), low = fmt_duration(f->size_low_s),
		   high = fmt_duration(f->size_high_s);
	bool proven;

	if (f->kind == NW_LINE_STALL && f->n_moments == 1)
		say(p,
		    "Between %.80s and %.80s, %s%.80s stood still once, for %s from %s on: %zu "
		    "lines waited, with %s of the time that slow lines lost.",
		    from, to, lane != NULL ? "server " : "", lane != NULL ? lane : "all",
		    fmt_duration(f->cost_s).s, fmt_iso(f->first_ns, 3).s, f->n_lines,
		    fmt_share(f->share).s);
	else if (f->kind == NW_LINE_STALL)
		say(p,
		    "Between %.80s and %.80s, %s%.80s stood still %zu times, and a line that "
		    "waited lost %s (%s to %s).",
		    from, to, lane != NULL ? "server " : "", lane != NULL ? lane : "a server",
		    f->n_moments, size.s, low.s, high.s);
	else if (f->kind == NW_LINE_STEP)
		say(p,
		    "From %.80s to %.80s, lines%s%.80s take %s longer (%s to %s) from %s on than "
		    "before.",
		    from, to, lane != NULL ? " of server " : "", lane != NULL ? lane : "", size.s,
		    low.s, high.s, fmt_iso(f->first_ns, 3).s);
	else if (f->kind == NW_LINE_LANE)
		say(p,
		    "From %.80s to %.80s the lines of server %.80s take %s longer (%s to %s) than "
		    "the lines of the other servers.",
		    from, to, lane != NULL ? lane : "?", size.s, low.s, high.s);
	else if (f->share > MOST)
		say(p,
		    "From %.80s to %.80s, most lines%s%.80s (%s of them) take %s longer (%s to "
		    "%s) than the fast ones, which are the exception.",
		    from, to, lane != NULL ? " of server " : "", lane != NULL ? lane : "",
		    fmt_share(f->share).s, size.s, low.s, high.s);
	else
		say(p,
		    "From %.80s to %.80s, %zu lines%s%.80s (%s of them) take %s longer than the "
		    "others (%s to %s).",
		    from, to, f->n_lines, lane != NULL ? " of server " : "",
		    lane != NULL ? lane : "", fmt_share(f->share).s, size.s, low.s, high.s);
	if (may_be_clock(s, f, &proven))
		say(p, " The clocks may be wrong by so much: no proof of a delay.");
}

static void
say_with(const struct lineset *s, struct linereport *p)
{
	const struct linereport_with *w = NULL;
	size_t i;

	for (i = 0; i < p->n_with && w == NULL; i++)
		w = p->with[i].apt ? &p->with[i] : NULL;
	if (w == NULL || !(w->with.p * (double)p->n_with < WITH_P))
		return;
	say(p,
	    " %zu of %zu events %.80s on %.80s%s%.80s fall into that time, where chance would put "
	    "%s.",
	    w->with.n_within, w->with.n, s->names.text[w->name], s->hosts.text[w->host],
	    w->server != NW_LINE_ANY ? " of server " : "",
	    w->server != NW_LINE_ANY ? s->side_servers.text[w->server] : "",
	    fmt_ratio(w->with.expected).s);
}

/* Of stalls that come again, the longest one: the server, and both times. Long waits without such a
 * finding are no evidence. */
static void
say_stall(const struct lineset *s, struct linereport *p)
{
	const struct nw_line_stall *longest = NULL;
	size_t i;

	if (p->found.n == 0 || p->found.finding[0].kind != NW_LINE_STALL ||
	    p->found.finding[0].n_moments == 1)
		return;
	for (i = 0; i < p->n_stalls; i++)
		if (longest == NULL ||
		    (double)p->stall[i].unblocked_ns - (double)p->stall[i].blocked_ns >
			(double)longest->unblocked_ns - (double)longest->blocked_ns)
			longest = &p->stall[i];
	if (longest != NULL)
		say(p,
		    " Longest, server %.80s let no line through from %s to %s, while %zu waited.",
		    s->lanes.text[longest->lane], fmt_iso(longest->blocked_ns, 3).s,
		    fmt_iso(longest->unblocked_ns, 3).s, longest->waiting);
}

/* Clocks whose measured offset was taken off, and the error that is left. */
static void
say_measured(const struct lineset *s, struct linereport *p)
{
	const struct lineset_clock *c;
	double worst = 0;
	size_t i, n = 0;

	for (i = 0; i < s->hosts.n; i++) {
		c = &s->clock[i];
		if (c->bound_s > worst)
			worst = c->bound_s;
		if (!c->measured || ++n > CLOCKS_TOLD)
			continue;
		say(p, "%s%.80s %s %s the box", n == 1 ? " By exchanged time stamps " : ", ",
		    s->hosts.text[i], fmt_duration(fabs(c->offset_s)).s,
		    c->offset_s < 0 ? "behind" : "ahead of");
	}
	if (n > CLOCKS_TOLD)
		say(p, ", %zu more", n - CLOCKS_TOLD);
	if (n > 0)
		say(p,
		    ". Times are corrected by the measured offsets of the clocks, and may be "
		    "wrong by %s.",
		    fmt_duration(worst).s);
}

/* Impossible order, and the error of the clocks. */
static void
say_order(const struct lineset *s, struct linereport *p)
{
	say_measured(s, p);
	if (p->n_backwards > 0)
		say(p, " %zu segments run backwards in time: %s wrong%s.", p->n_backwards,
		    s->path_source == LINESET_LEARNED ? "the learnt order of points, or a clock, is"
						      : "a clock is",
		    s->path_source == LINESET_LEARNED ? "" : " by more than its known error");
	if (p->n_reversed > 0)
		say(p,
		    " %zu segments run against the path by the clock of a single host: the path "
		    "does not hold for them.",
		    p->n_reversed);
}

/* Lines of objects that a server had in memory: another way than the one by the disk. */
static void
say_memory(struct linereport *p)
{
	if (p->n_memory == 0)
		return;
	say(p, " %s of %s finished lines came from memory", fmt_count(p->n_memory).s,
	    fmt_count(p->n_finished).s);
	if (isfinite(p->others_s))
		say(p, ": the median of these takes %s, that of the others %s",
		    fmt_duration(p->memory_s).s, fmt_duration(p->others_s).s);
	say(p, ".");
}

/* --- all of it --- */

static int
memory_fill(const struct lineset *s, const struct chosen *k, struct linereport *p)
{
	double *v = calloc(k->lines.n + 1, sizeof(*v));
	size_t i, n = 0, m = 0, at;

	p->memory_s = p->others_s = NAN;
	if (v == NULL)
		return NW_ENOMEM;
	/* from memory in front, the others from the back */
	for (i = 0; i < k->lines.n; i++) {
		if (s->state[k->line[i]] != LINESET_FINISHED)
			continue;
		at = s->flags[k->line[i]] & LINESET_MEMORY ? n++ : k->lines.n - ++m;
		v[at] = nw_line_total(&k->lines, i);
	}
	p->n_memory = n;
	if (n > 0)
		p->memory_s = quantile(v, n, 0.5);
	if (m > 0)
		p->others_s = quantile(v + k->lines.n - m, m, 0.5);
	free(v);
	return NW_OK;
}

static void
states_count(const struct lineset *s, const struct chosen *k, struct linereport *p)
{
	size_t i;

	for (i = 0; i < k->lines.n; i++) {
		p->n_finished += s->state[k->line[i]] == LINESET_FINISHED;
		p->n_flushed += s->state[k->line[i]] == LINESET_FLUSHED;
		p->n_unfinished += s->state[k->line[i]] == LINESET_UNFINISHED;
	}
	for (i = 0; i < p->segments.n; i++) {
		p->n_backwards += p->segments.segment[i].backwards;
		p->n_reversed += p->segments.segment[i].reversed;
	}
}

/* Stalls of the finding's segment; without a finding, of the last segment that most lines take.
 * Lines without a server do not wait for the same server. */
static int
stalls_fill(const struct lineset *s, const struct chosen *k, struct linereport *p)
{
	const struct nw_line_segment *seg = NULL;
	size_t i, n = 0;
	int rc;

	for (i = 0; i < p->segments.n; i++) {
		const struct nw_line_segment *x = &p->segments.segment[i];

		if (p->found.n > 0
			? x->from == p->found.finding[0].from && x->to == p->found.finding[0].to
			: x->to + 1 == k->lines.n_points && (seg == NULL || x->n > seg->n))
			seg = x;
	}
	rc = seg != NULL ? nw_lines_stalls(&k->lines, seg, &p->stall, &p->n_stalls) : NW_OK;
	for (i = 0; i < p->n_stalls; i++)
		if (p->stall[i].lane != s->lane_unknown)
			p->stall[n++] = p->stall[i];
	p->n_stalls = n;
	return rc;
}

/* Only finished lines tell of delays: the others stopped somewhere, for reasons of their own. */
static int
find(const struct lineset *s, const struct chosen *k, struct linereport *p)
{
	size_t i, n = 0, points = k->lines.n_points;
	struct nw_line_segments *segments = calloc(1, sizeof(*segments));
	int64_t *t = calloc(k->lines.n * points + 1, sizeof(*t));
	uint32_t *lane = calloc(k->lines.n + 1, sizeof(*lane));
	struct nw_lines l = k->lines;
	int rc = segments != NULL && t != NULL && lane != NULL ? NW_OK : NW_ENOMEM;

	for (i = 0; rc == NW_OK && i < k->lines.n; i++)
		if (s->state[k->line[i]] == LINESET_FINISHED) {
			memcpy(t + n * points, k->t + i * points, points * sizeof(*t));
			lane[n++] = k->lane[i];
		}
	l.n = n;
	l.t_ns = t;
	l.lane = lane;
	if (rc == NW_OK)
		rc = nw_lines_segments(&l, segments);
	if (rc == NW_OK)
		rc = nw_lines_find(&l, segments, &p->found);
	free(segments);
	free(t);
	free(lane);
	return rc;
}

/* The error of a clock is no delay, and lines without a server have no server in common. */
static void
findings_settle(const struct lineset *s, struct linereport *p)
{
	size_t i, n = 0;
	bool proven;

	for (i = 0; i < p->found.n; i++)
		if (p->found.finding[i].lane == s->lane_unknown)
			p->found.finding[i].lane = NW_LINE_ANY;
	for (i = 0; i < p->found.n; i++)
		if (!may_be_clock(s, &p->found.finding[i], &proven) || !proven)
			p->found.finding[n++] = p->found.finding[i];
	p->found.n = n;
}

static int
analyse(const struct lineset *s, const struct chosen *k, struct linereport *p)
{
	struct stretches st = { .n = 0 };
	int rc = nw_lines_segments(&k->lines, &p->segments);

	if (rc == NW_OK)
		rc = p->segments.n_finished == k->lines.n
		    ? nw_lines_find(&k->lines, &p->segments, &p->found)
		    : find(s, k, p);
	findings_settle(s, p);
	if (rc == NW_OK)
		rc = stalls_fill(s, k, p);
	if (rc == NW_OK && p->found.n > 0) {
		rc = stretches_fill(k, p, &st);
		if (rc == NW_OK)
			rc = with_fill(s, &st, p);
		free(st.begin);
		free(st.end);
	}
	return rc;
}

int
linereport_make(const struct lineset *s, const struct chosen *k, struct linereport **out)
{
	struct linereport *p = calloc(1, sizeof(*p));
	int rc = p != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && k->lines.n > 0)
		rc = analyse(s, k, p);
	if (rc == NW_OK)
		rc = memory_fill(s, k, p);
	if (rc == NW_OK) {
		states_count(s, k, p);
		lineclock_words(s, p->sentence, sizeof(p->sentence));
		if (p->found.n > 0)
			say_finding(s, p);
		else
			say_nothing(s, p);
		say_stall(s, p);
		say_with(s, p);
		say_memory(p);
		say_order(s, p);
	} else {
		linereport_free(p);
		p = NULL;
	}
	*out = p;
	return rc;
}

void
linereport_free(struct linereport *p)
{
	if (p == NULL)
		return;
	free(p->stall);
	free(p->with);
	free(p);
}

size_t
linereport_line(const struct lineset *s, const char *text)
{
	size_t i;

	for (i = 0; i < s->lines.n; i++)
		if (strcmp(s->label[i], text) == 0)
			return i;
	for (i = 0; i < s->lines.n; i++)
		if (strstr(s->label[i], text) != NULL)
			return i;
	return s->lines.n;
}

unsigned
linereport_point(const struct lineset *s, const char *name)
{
	unsigned p;

	for (p = 0; p < s->lines.n_points; p++)
		if (strcmp(lineset_point(s, p), name) == 0)
			break;
	return p;
}
