/* SPDX-License-Identifier: BSD-3-Clause */
/* The drawing of a chain: a box per program in the order of the bytes, a line per wait. */
#ifndef NARROWS_WEB_CHAIN_DRAW_H
#define NARROWS_WEB_CHAIN_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "web/draw/html.h"

enum { CHAIN_NODES_MAX = 24, CHAIN_EDGES_MAX = 96 };

struct chain_box {
	const char *name; /* on loan */
	double held, waited;
	double queued; /* for a processor; 0: a box without a line on that */
	bool limit;
};

struct chain_line {
	size_t waiter, holder; /* boxes; lines of other boxes are left out */
	bool room;             /* the waiter writes: bytes go from the waiter to the holder */
	double share, bytes;
};

/* At most CHAIN_NODES_MAX boxes and CHAIN_EDGES_MAX lines are drawn. A line leads from the waiter
 * to the box waited for; its width is the share of the time. */
void chain_draw(struct html *h, const struct chain_box *box, size_t n,
    const struct chain_line *line, size_t n_lines);

#endif
