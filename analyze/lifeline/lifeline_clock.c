/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks by causality. A line that leaves the client, passes a server and comes back cannot be at
 * the server before it left, nor after it came back. So every line bounds the lead of the server's
 * clock: lead >= (server's event - client's next event), lead <= (server's event - client's event
 * before). The largest low and the smallest high of all lines remain.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/lifeline/lifeline_in.h"
#include "narrows/err.h"

enum { WRONG_EVENTS = 3 }; /* that a proof needs at least */

/* The host at the last point of a line is the reference of all hosts. */
static void
line_bounds(const struct nw_lines *l, size_t line, line_bound_fn *fn, void *arg)
{
	const uint32_t *host = l->host + (size_t)l->lane[line] * l->n_points;
	const int64_t *t = line_times(l, line);
	uint32_t home = host[l->n_points - 1];
	int64_t other = NW_LINE_NEVER;
	struct line_bound b = { .line = line, .is_upper = true };
	size_t i, p;

	if (t[l->n_points - 1] == NW_LINE_NEVER)
		return;
	/* forward for upper bounds, backward for lower bounds */
	for (i = 0; i < 2 * l->n_points; i++) {
		p = i < l->n_points ? i : 2 * l->n_points - 1 - i;
		if (i == l->n_points) {
			other = NW_LINE_NEVER;
			b.is_upper = false;
		}
		if (t[p] == NW_LINE_NEVER)
			continue;
		if (host[p] == home)
			other = t[p];
		else if (other != NW_LINE_NEVER) {
			b.host = host[p];
			b.t_ns = t[p];
			b.lead_s = line_seconds(other, t[p]);
			fn(arg, &b);
		}
	}
}

void
line_bounds_each(const struct nw_lines *l, line_bound_fn *fn, void *arg)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		line_bounds(l, i, fn, arg);
}

static void
on_bound(void *arg, const struct line_bound *b)
{
	struct nw_line_clock *c = (struct nw_line_clock *)arg + b->host;

	if (b->is_upper)
		c->high_s = fmin(c->high_s, b->lead_s);
	else
		c->low_s = fmax(c->low_s, b->lead_s);
	c->n += !b->is_upper;
}

void
nw_lines_clocks(const struct nw_lines *l, struct nw_line_clock *out)
{
	size_t i;

	for (i = 0; i < l->n_hosts; i++)
		out[i] = (struct nw_line_clock){ .low_s = -INFINITY, .high_s = INFINITY };
	line_bounds_each(l, on_bound, out);
}

/* --- clocks that are wrong --- */

/* The host on which all lines end; NW_LINE_ANY: there are several. */
static uint32_t
home_of(const struct nw_lines *l)
{
	uint32_t home = NW_LINE_ANY, host;
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (line_times(l, i)[l->n_points - 1] == NW_LINE_NEVER)
			continue;
		host = l->host[(size_t)l->lane[i] * l->n_points + l->n_points - 1];
		if (home != NW_LINE_ANY && home != host)
			return NW_LINE_ANY;
		home = host;
	}
	return home;
}

static double
known_bound(const struct nw_lines *l, uint32_t host)
{
	return isfinite(l->bound_s[host]) ? l->bound_s[host] : 0;
}

/* A constant lead. */
static struct nw_line_wrong
constant(uint32_t host, uint32_t against, double low_s, double high_s)
{
	return (struct nw_line_wrong){ .host = host,
		.against = against,
		.low_s = low_s,
		.high_s = high_s,
		.end_low_s = low_s,
		.end_high_s = high_s,
		.lead_s = (low_s + high_s) / 2,
		.error_s = (high_s - low_s) / 2 };
}

/* A lead of all others is the opposite lead of the clock where lines end. */
static struct nw_line_wrong
opposite(const struct nw_line_wrong *w, uint32_t home)
{
	return (struct nw_line_wrong){ .host = home,
		.against = NW_LINE_ANY,
		.low_s = -w->high_s,
		.high_s = -w->low_s,
		.end_low_s = -w->end_high_s,
		.end_high_s = -w->end_low_s,
		.rate_low = -w->rate_high,
		.rate_high = -w->rate_low,
		.lead_s = -w->lead_s,
		.rate = -w->rate,
		.error_s = w->error_s,
		.from_ns = w->from_ns,
		.to_ns = w->to_ns };
}

/* Whether the wrong clocks are all others, and agree: the clock of home is wrong then. all: a
 * drift of all others together. */
static bool
is_home(const struct nw_lines *l, const struct nw_line_clock *c, uint32_t home,
    const struct nw_line_wrong *all, size_t n, struct nw_line_wrong *out)
{
	double low = -INFINITY, high = INFINITY;
	size_t i, others = 0;

	for (i = 0; i < l->n_hosts; i++) {
		others += i != home && c[i].n > 0;
		if (i != home && c[i].n > 0) {
			low = fmax(low, c[i].low_s);
			high = fmin(high, c[i].high_s);
		}
	}
	if (n < 2 || n != others)
		return false;
	*out = low <= high ? constant(home, NW_LINE_ANY, -high, -low) : opposite(all, home);
	return low <= high ? low > 0 || high < 0 : all->from_ns < all->to_ns && all->moved_s == 0;
}

/* Whether a clock is wrong, and how. drift: of the host, if no constant lead fits. */
static bool
is_wrong(const struct nw_lines *l, const struct nw_line_clock *c, uint32_t host, uint32_t home,
    const struct nw_line_wrong *drift, struct nw_line_wrong *out)
{
	double bound = known_bound(l, host) + known_bound(l, home);

	if (host == home || c->n < WRONG_EVENTS || !(c->low_s > bound || c->high_s < -bound))
		return false;
	*out = c->low_s <= c->high_s ? constant(host, home, c->low_s, c->high_s) : *drift;
	return c->low_s <= c->high_s || drift->from_ns < drift->to_ns;
}

int
nw_lines_wrong(
    const struct nw_lines *l, const struct nw_line_clock *c, struct nw_line_wrong *out, size_t *n)
{
	uint32_t home = l->n_points > 0 ? home_of(l) : NW_LINE_ANY, i;
	struct nw_line_wrong of_home, *drift = calloc(l->n_hosts + 1, sizeof(*drift));
	bool moved = false;
	int rc = drift != NULL ? NW_OK : NW_ENOMEM;

	*n = 0;
	for (i = 0; i < l->n_hosts; i++)
		moved = moved || c[i].low_s > c[i].high_s;
	if (rc == NW_OK && home != NW_LINE_ANY && moved)
		rc = line_drifts(l, home, drift);
	for (i = 0; rc == NW_OK && home != NW_LINE_ANY && i < l->n_hosts; i++)
		*n += is_wrong(l, &c[i], i, home, &drift[i], &out[*n]);
	if (*n > 0 && is_home(l, c, home, &drift[l->n_hosts], *n, &of_home)) {
		out[0] = of_home;
		*n = 1;
	}
	free(drift);
	return rc;
}

double
nw_line_wrong_lead(const struct nw_line_wrong *w, int64_t t_ns)
{
	return w->lead_s + (w->rate != 0 ? w->rate * line_seconds(w->from_ns, t_ns) : 0);
}
