/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Response: the delivered bytes of a program on a host, on a grid of rows, in the session at hand
 * and in earlier sessions of the same program. Rows without the program running have no response.
 */
#ifndef RESPONSE_H
#define RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/store.h"

struct response {
	size_t host; /* index into the evidence's hosts */
	char *program;
	enum nw_op op; /* operation of delivery */
	size_t n_rows, n_sessions;
	int64_t t0_wall_ns, step_ns;
	double *bytes, *busy_s, *ops; /* per row */
	bool *active;
};

/* How a program delivers: over the network, if about as much goes there as anywhere. Returns the
 * bytes of that operation, 0 for a program without bytes. */
double response_choose(const struct evidence *e, size_t host, const char *program, enum nw_op *op);
/* Takes `program`. A row has `by` windows of the evidence; the last row ends with the last
 * window. */
void response_init(struct response *r, const struct evidence *e, size_t host, char *program,
    enum nw_op op, size_t by, size_t n_rows);
void response_clear(struct response *r);
/* Adds another session if the program ran there on the host. NW_OK or the store's code. */
int response_add(
    struct response *r, const struct evidence *e, struct store_reader *reader, int64_t session_id);
/* Bytes per second, or seconds per operation; NaN without response. */
double response_at(const struct response *r, size_t row, bool operation_time);

#endif
