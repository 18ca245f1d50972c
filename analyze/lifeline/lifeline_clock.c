/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks by causality. A line that leaves the client, passes a server and comes back cannot be at
 * the server before it left, nor after it came back. So every line bounds the lead of the server's
 * clock: lead >= (server's event - client's next event), lead <= (server's event - client's event
 * before). The largest low and the smallest high of all lines remain.
 */
#include <math.h>

#include "analyze/lifeline/lifeline_in.h"

enum { WRONG_EVENTS = 3 }; /* that a proof needs at least */

/* The host at the last point of a line is the reference of all hosts. */
static void
line_bounds(const struct nw_lines *l, size_t line, struct nw_line_clock *out)
{
	const uint32_t *host = l->host + (size_t)l->lane[line] * l->n_points;
	const int64_t *t = line_times(l, line);
	uint32_t home = host[l->n_points - 1];
	int64_t before = NW_LINE_NEVER, after = NW_LINE_NEVER;
	size_t p;

	if (t[l->n_points - 1] == NW_LINE_NEVER)
		return;
	for (p = 0; p < l->n_points; p++) {
		if (t[p] == NW_LINE_NEVER)
			continue;
		if (host[p] == home)
			before = t[p];
		else if (before != NW_LINE_NEVER)
			out[host[p]].high_s = fmin(out[host[p]].high_s, line_seconds(before, t[p]));
	}
	for (p = l->n_points; p-- > 0;) {
		if (t[p] == NW_LINE_NEVER)
			continue;
		if (host[p] == home)
			after = t[p];
		else if (after != NW_LINE_NEVER) {
			out[host[p]].low_s = fmax(out[host[p]].low_s, line_seconds(after, t[p]));
			out[host[p]].n++;
		}
	}
}

void
nw_lines_clocks(const struct nw_lines *l, struct nw_line_clock *out)
{
	size_t i;

	for (i = 0; i < l->n_hosts; i++)
		out[i] = (struct nw_line_clock){ .low_s = -INFINITY, .high_s = INFINITY };
	for (i = 0; i < l->n; i++)
		line_bounds(l, i, out);
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

/* Whether the wrong clocks are all others, and agree: the clock of home is wrong then. */
static bool
is_home(const struct nw_lines *l, const struct nw_line_clock *c, uint32_t home,
    const struct nw_line_wrong *wrong, size_t n, struct nw_line_wrong *out)
{
	size_t i, others = 0;

	*out = (struct nw_line_wrong){ home, NW_LINE_ANY, -INFINITY, INFINITY };
	for (i = 0; i < l->n_hosts; i++)
		others += i != home && c[i].n > 0;
	for (i = 0; i < n; i++) {
		out->low_s = fmax(out->low_s, -wrong[i].high_s);
		out->high_s = fmin(out->high_s, -wrong[i].low_s);
	}
	return n >= 2 && n == others && out->low_s <= out->high_s &&
	    (out->low_s > 0 || out->high_s < 0);
}

size_t
nw_lines_wrong(const struct nw_lines *l, const struct nw_line_clock *c, struct nw_line_wrong *out)
{
	uint32_t home = l->n_points > 0 ? home_of(l) : NW_LINE_ANY, i;
	struct nw_line_wrong of_home;
	size_t n = 0;
	double bound;

	for (i = 0; home != NW_LINE_ANY && i < l->n_hosts; i++) {
		bound = known_bound(l, i) + known_bound(l, home);
		if (i != home && c[i].n >= WRONG_EVENTS && c[i].low_s <= c[i].high_s &&
		    (c[i].low_s > bound || c[i].high_s < -bound))
			out[n++] = (struct nw_line_wrong){ i, home, c[i].low_s, c[i].high_s };
	}
	if (n > 0 && is_home(l, c, home, out, n, &of_home)) {
		out[0] = of_home;
		n = 1;
	}
	return n;
}
