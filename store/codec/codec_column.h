/* SPDX-License-Identifier: BSD-3-Clause */
/* One column of doubles as bytes. A plan says how: the form turns doubles into integers (and, for
 * an inexact form, a second run of integers), the guess subtracts a prediction, the stream writes
 * the rest. Rows that do not fit the form are skipped and listed. */
#ifndef STORE_CODEC_COLUMN_H
#define STORE_CODEC_COLUMN_H

#include "store/codec/codec_number.h"
#include "store/codec/codec_relation.h"
#include "store/codec/codec_stream.h"

enum column_form {
	FORM_EQUAL,  /* form of a column with one value in all rows */
	FORM_ORDER,  /* the bit pattern, see number_order() */
	FORM_SCALED, /* integer at a scale */
	FORM_NEAR,   /* the same, and some ulps */
	FORM_RATIO,  /* another column divided by an integer at a scale, and some ulps: rates */
	N_FORMS
};

enum column_guess {
	GUESS_BASE,     /* all alike */
	GUESS_PREVIOUS, /* like the row before */
	GUESS_SLOPE,    /* on a line through the two rows before */
	GUESS_STEADY,   /* in the same proportion to another column as in the row before */
	GUESS_RELATION, /* a function of other columns */
	N_GUESSES
};

enum column_skip {
	SKIP_NONE,
	SKIP_LISTED,   /* skipped rows: rows unfit for the form, with their values */
	SKIP_REPEATED, /* skipped rows: repetitions of the row before */
	N_SKIPS
};

struct column_plan {
	enum column_form form;
	enum column_guess guess;
	enum column_skip skip;
	struct number_scale scale;
	uint32_t numerator;       /* of FORM_RATIO: a column */
	struct relation relation; /* of GUESS_RELATION; GUESS_STEADY uses arg[0] only */
	uint64_t cost_bits;       /* all in, estimated */
};

/* Working memory for columns of up to cap rows. Zero, then column_work_reserve(). */
struct column_work {
	struct stream_coder coder;
	/* integers of the form, ulps of the form, and x less the guess, for the rows that are not
	 * skipped */
	int64_t *x, *ulps, *main;
	int64_t *listed;     /* bit patterns of skipped rows, as integers */
	int64_t *gap;        /* rows between skipped rows */
	uint32_t *skipped;   /* rows, ascending */
	double *guess, *row; /* [cap] of the relation's values, and of whatever a step needs */
	uint32_t n_skipped, n_main;
	uint32_t cap;
	/* column whose x, ulps and skipped rows are in memory; NULL for none */
	const double *formed;
	uint32_t n_formed;
	struct column_plan formed_as;
};

int column_work_reserve(struct column_work *work, uint32_t n);
void column_work_clear(struct column_work *work);

/* Says the values of earlier columns may have changed. */
void column_work_forget(struct column_work *work);

/* Returns true if a single value, bit by bit, fills all rows. */
bool column_is_equal(const double *y, uint32_t n);

/* The best plan for column c by itself. O(n). */
void column_choose(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan *plan);

/* Estimates the bits of a column by `plan`; UINT64_MAX if too many rows are unfit. Sets plan->skip
 * and plan->cost_bits. */
uint64_t column_cost(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan *plan);

/* Columns to decode before a column with this plan; returns their number (at most 1 +
 * RELATION_ARGS_MAX). */
unsigned column_needs(const struct column_plan *plan, uint32_t need[1 + RELATION_ARGS_MAX]);

/* Replaces a plan unfit for this column by another plan. NW_OK or NW_ENOMEM. */
int column_write(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    const struct column_plan *plan, struct chunk_buf *out);

/* The plan in front of a column's bytes; bad in `in` if there is none. Columns are numbered below
 * n_columns. */
void column_read_plan(struct byte_reader *in, uint32_t n_columns, struct column_plan *plan);

/* Decodes the rest, once the columns of column_needs() are in `value`. NW_OK, NW_ENOMEM,
 * NW_ECORRUPT. */
int column_read(struct column_work *work, struct byte_reader *in, const struct column_plan *plan,
    const double *const *value, uint32_t n, double *y);

#endif
