/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one program on one host delivered, on a grid of rows: in the session that is analysed, and
 * in earlier sessions of the same program that reach into the grid. Rows in which it did not run
 * have no response.
 */
#ifndef RESPONSE_H
#define RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence.h"
#include "narrows/store.h"

struct response {
	size_t host; /* index into the evidence's hosts */
	char *program;
	enum nw_op op; /* by which it delivers */
	size_t n_rows, n_sessions;
	int64_t t0_wall_ns, step_ns;
	double *bytes, *busy_s, *ops; /* per row */
	bool *active;
};

/* Takes `program`. `by` windows of the evidence are one row, and the last row ends with the last
 * window. */
void response_init(struct response *r, const struct evidence *e, size_t host, char *program,
    enum nw_op op, size_t by, size_t n_rows);
void response_clear(struct response *r);
/* Adds another session, if it has that program on that host. NW_OK or what the store says. */
int response_add(
    struct response *r, const struct evidence *e, struct store_reader *reader, int64_t session_id);
/* Bytes per second, or seconds per operation; NaN where there is none. */
double response_at(const struct response *r, size_t row, bool operation_time);

/* Of the evidence's processes: is it that program, there? */
bool response_is_process(const struct evidence_process *f, size_t host, const char *program);

#endif
