/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks by causality. A line that leaves the client, passes a server and comes back cannot be at
 * the server before it left, nor after it came back. So every line bounds the lead of the server's
 * clock: lead >= (server's event - client's next event), lead <= (server's event - client's event
 * before). The largest low and the smallest high of all lines remain.
 */
#include <math.h>

#include "analyze/lifeline/lifeline_in.h"

/* The host at the last point of a line is the reference of all hosts. */
static void
line_bounds(const struct nw_lines *l, size_t line, struct nw_line_clock *out)
{
	const uint32_t *host = l->host + (size_t)l->lane[line] * l->n_points;
	const int64_t *t = line_times(l, line);
	uint32_t home = host[l->n_points - 1];
	int64_t before = NW_LINE_NEVER, after = NW_LINE_NEVER;
	size_t p;

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
