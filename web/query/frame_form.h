/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame is rows of some fields of one metadata; a form writes an answer: begin, any number of
 * frames, end. A metadata may have several frames, in time order for each set of fields, so that an
 * answer needs the memory of one frame.
 */
#ifndef NARROWS_WEB_FRAME_H
#define NARROWS_WEB_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/query/find.h"
#include "web/query/series_query.h"
#include "web/query/textout.h"

struct frame {
	const struct found *of;
	size_t n_fields, n_rows; /* n_rows 0: a description alone */
	const char *const *fields, *const *units;
	const int64_t *t_wall_ns;
	const double *const *values; /* [column * n_fields + field] pointers to n_rows values */
	/* of statistics: [field] pointers to counts, 0 for a step without values; else NULL */
	const double *const *n;
};

/* Columns of an answer: the value, or the statistics that the query chose. */
struct frame_columns {
	size_t n;
	enum result_key key[QUERY_COLUMNS];
};
struct frame_columns frame_columns(const struct query *q);
/* Whether a field has no value in a row. */
bool frame_is_missing(const struct frame *f, size_t field, size_t row);

struct frame_out;
struct frame_form {
	const char *content_type;
	int (*begin)(struct frame_out *o);
	int (*frame)(struct frame_out *o, const struct frame *f);
	/* next: series_id to continue after, 0 for a complete answer */
	int (*end)(struct frame_out *o, int64_t next);
	void (*state_free)(void *state);
};
extern const struct frame_form frame_json, frame_csv, frame_arrow;

/* An answer on its way out. */
struct frame_out {
	const struct frame_form *form;
	struct frame_columns columns;
	void *state; /* of the form */
	bool begun;  /* a frame was written */
	struct textout out;
};

#endif
