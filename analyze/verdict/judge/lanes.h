/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes: an operation on a host, all processes together, window by window. */
#ifndef LANES_H
#define LANES_H

#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/stage.h"

struct lane {
	size_t host;
	enum nw_op op;
	double total_bytes;
	/* per window */
	double *bytes, *ops, *rate_sum, *rate_sd_sum;
	double *held_s; /* in calls and waits, of the busiest process */
	double *store;  /* owner of all five arrays */
};

struct lanes {
	struct lane *lane;
	size_t n;
};

/* Lanes with a hundredth of the bytes of the largest lane; acknowledgements and small change are
 * left out. */
void lanes_find(const struct evidence *e, struct lanes *out);
void lanes_clear(struct lanes *l);
/* Bytes that arrived per window, by the word of the far end. `bytes` has n_windows entries. */
void lanes_delivered(const struct lanes *l, const struct nw_path *p, double *bytes);

#endif
