/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What single comparisons of a host's clock with the box's clock say of a span of time. Each
 * comparison knows the offset at its own moment, within its own bound; between comparisons a clock
 * drifts, is slewed, or is set.
 */
#ifndef NARROWS_CLOCKSPAN_H
#define NARROWS_CLOCKSPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nw_clock_row {
	int64_t t_wall_ns;        /* time of the comparison, by the box's clock */
	double offset_s, bound_s; /* the host's clock minus the box's; the offset's largest error */
};

struct nw_clock_rows {
	struct nw_clock_row *row;
	size_t n, cap;
};

/* Keeps a comparison; an offset or bound that is no number, or a bound below 0, is left out.
 * NW_ENOMEM. */
int
nw_clock_rows_add(struct nw_clock_rows *rows, int64_t t_wall_ns, double offset_s, double bound_s);
void nw_clock_rows_clear(struct nw_clock_rows *rows);
/*
 * The offset by the best comparison of the span (and of a quarter of a minute before and after),
 * and a bound that holds in the whole span: all nearly as good comparisons there lie within. Of
 * comparisons before and after, those of a clock that was set meanwhile do not count.
 * A span without any takes the nearest comparison, with what a clock may drift until then. False if
 * there is no comparison at all.
 */
bool nw_clock_span(const struct nw_clock_rows *rows, int64_t from_wall_ns, int64_t to_wall_ns,
    double *offset_s, double *bound_s);

#endif
