/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A column's bytes:
 *
 *   u8       form (bits 0-2), skip (bits 3-4), guess (bits 5-7)
 *   EQUAL    varint of the value's bits, bytes reversed (short numbers end in zeros); the end
 *   u8       scale: digits (bits 0-6), multiplied (bit 7)           SCALED, NEAR, RATIO
 *   varint   numerator's column                                     RATIO
 *   varint   proportional column                                    STEADY
 *   u8 op, varint columns                                           RELATION
 *   varint   number of skipped rows, then a stream of the gaps      LISTED, REPEATED
 *   stream   bits of the skipped rows                               LISTED
 *   signed   first integer                                          PREVIOUS, STEADY, SLOPE
 *   signed   its difference to the second                           SLOPE
 *   stream   the other integers less their guesses
 *   stream   ulps                                                   NEAR, RATIO
 *
 * Skipped rows have no integers; a guess from earlier rows looks back over skipped rows.
 */
#include "store/codec/codec_column.h"

#include <stdlib.h>

#include "store/codec/codec_skip.h"

enum { SCALE_MULTIPLIED = 0x80, PLAN_BITS = 8 * 3 };

int
column_work_reserve(struct column_work *work, uint32_t n)
{
	int rc;

	if (n <= work->cap)
		return NW_OK;
	column_work_clear(work);
	if ((rc = stream_reserve(&work->coder, n)) != NW_OK)
		return rc;
	work->x = malloc(n * sizeof(*work->x));
	work->ulps = malloc(n * sizeof(*work->ulps));
	work->main = malloc(n * sizeof(*work->main));
	work->listed = malloc(n * sizeof(*work->listed));
	work->gap = malloc(n * sizeof(*work->gap));
	work->skipped = malloc(n * sizeof(*work->skipped));
	work->guess = malloc(n * sizeof(*work->guess));
	work->row = malloc(n * sizeof(*work->row));
	if (work->x == NULL || work->ulps == NULL || work->main == NULL || work->listed == NULL ||
	    work->gap == NULL || work->skipped == NULL || work->guess == NULL ||
	    work->row == NULL) {
		column_work_clear(work);
		return NW_ENOMEM;
	}
	work->cap = n;
	return NW_OK;
}

void
column_work_clear(struct column_work *work)
{
	stream_clear(&work->coder);
	free(work->x);
	free(work->ulps);
	free(work->main);
	free(work->listed);
	free(work->gap);
	free(work->skipped);
	free(work->guess);
	free(work->row);
	memset(work, 0, sizeof(*work));
}

void
column_work_forget(struct column_work *work)
{
	work->formed = NULL;
}

static inline bool
has_ulps(const struct column_plan *plan)
{
	return plan->form == FORM_NEAR || plan->form == FORM_RATIO;
}

/* How many integers stand before the stream. */
static uint32_t
n_seeds(const struct column_plan *plan, uint32_t n_main)
{
	uint32_t seeds = plan->guess == GUESS_SLOPE                        ? 2
	    : plan->guess == GUESS_PREVIOUS || plan->guess == GUESS_STEADY ? 1
									   : 0;

	return seeds < n_main ? seeds : n_main;
}

/* --- skipped rows --- */

/* Finds the rows of y that the form, with its parameters, cannot express. */
static uint32_t
find_skipped(
    const struct column_plan *plan, const double *y, const double *said, uint32_t n, uint32_t *row)
{
	if (plan->skip == SKIP_REPEATED)
		return skip_repeated(y, n, row);
	if (plan->form == FORM_SCALED)
		return skip_different(y, said, n, row);
	return skip_odd(y, n, plan->form == FORM_NEAR || plan->guess == GUESS_RELATION, row);
}

static void
list_skipped(struct column_work *work, const struct column_plan *plan, const double *y)
{
	uint32_t i, next = 0;

	for (i = 0; i < work->n_skipped; i++) {
		work->gap[i] = work->skipped[i] - next;
		next = work->skipped[i] + 1;
		if (plan->skip == SKIP_LISTED)
			work->listed[i] = (int64_t)number_bits(y[work->skipped[i]]);
	}
}

/* --- doubles to integers and back --- */

/* Computes a value for each row from form and integers, before the ulps. */
static void
say_values(const struct column_plan *plan, const double *const *value, const int64_t *x, uint32_t n,
    double *said)
{
	const double *a;
	uint32_t i;

	switch (plan->form) {
	case FORM_ORDER: number_from_orders(x, n, said); break;
	case FORM_RATIO:
		a = value[plan->numerator];
		scale_values(plan->scale, x, n, said);
		for (i = 0; i < n; i++) {
			said[i] = a[i] / said[i];
			said[i] = said[i] == said[i] ? said[i] : 0;
		}
		break;
	default: scale_values(plan->scale, x, n, said);
	}
}

/* The choice of a plan and the writing of a column often want the same integers twice in a row. */
static bool
is_formed(
    const struct column_work *work, const double *y, uint32_t n, const struct column_plan *plan)
{
	const struct column_plan *as = &work->formed_as;

	return work->formed == y && work->n_formed == n && as->form == plan->form &&
	    as->scale.digits == plan->scale.digits &&
	    as->scale.multiplied == plan->scale.multiplied && as->numerator == plan->numerator &&
	    (as->skip == SKIP_REPEATED) == (plan->skip == SKIP_REPEATED) &&
	    (as->guess == GUESS_RELATION) == (plan->guess == GUESS_RELATION);
}

static void
make_integers(struct column_work *work, const double *const *value, uint32_t n, const double *y,
    const struct column_plan *plan)
{
	const double *a;
	uint32_t i;

	switch (plan->form) {
	case FORM_ORDER: number_orders(y, n, work->x); return;
	case FORM_RATIO:
		a = value[plan->numerator];
		for (i = 0; i < n; i++)
			work->row[i] = a[i] / y[i];
		scale_nearest(plan->scale, work->row, n, work->x);
		break;
	default: scale_nearest(plan->scale, y, n, work->x);
	}
	say_values(plan, value, work->x, n, work->row);
	if (has_ulps(plan))
		number_ulps(y, work->row, n, work->ulps);
}

/* Fills x, ulps, skipped, gap and listed of `work`, and decides whether rows are skipped. */
static void
apply_form(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan *plan)
{
	const double *y = value[c];

	if (is_formed(work, y, n, plan)) {
		plan->skip = work->formed_as.skip;
		return;
	}
	make_integers(work, value, n, y, plan);
	work->n_skipped = find_skipped(plan, y, work->row, n, work->skipped);
	work->n_main = n - work->n_skipped;
	if (work->n_skipped == 0)
		plan->skip = SKIP_NONE;
	else if (plan->skip == SKIP_NONE)
		plan->skip = SKIP_LISTED;
	if (work->n_skipped > 0) {
		list_skipped(work, plan, y);
		skip_squeeze(work->skipped, work->n_skipped, work->x, n, work->x);
		if (has_ulps(plan))
			skip_squeeze(work->skipped, work->n_skipped, work->ulps, n, work->ulps);
	}
	work->formed = y;
	work->n_formed = n;
	work->formed_as = *plan;
}

/* --- guesses --- */

/* How column a grew from each remaining row to the next, into work->guess. */
static void
make_growth(struct column_work *work, const double *a, uint32_t n)
{
	uint32_t i;

	skip_squeeze(work->skipped, work->n_skipped, a, n, work->guess);
	for (i = work->n_main; i-- > 1;)
		work->guess[i] /= work->guess[i - 1];
}

/* The relation's values as integers of the form, into `x`: remaining rows only. */
static void
guess_relation(struct column_work *work, const struct column_plan *plan, const double *const *value,
    uint32_t n, int64_t *x)
{
	relation_compute(&plan->relation, value, n, work->guess);
	if (work->n_skipped > 0)
		skip_squeeze(work->skipped, work->n_skipped, work->guess, n, work->guess);
	if (plan->form == FORM_ORDER)
		number_orders(work->guess, work->n_main, x);
	else
		scale_nearest(plan->scale, work->guess, work->n_main, x);
}

static inline int64_t
steady_guess(int64_t before, double growth)
{
	return number_round((double)before * growth);
}

/* main = x less the guess; the seeds in front stay as they are. */
static void
apply_guess(struct column_work *work, const struct column_plan *plan, const double *const *value,
    uint32_t n)
{
	const int64_t *x = work->x;
	int64_t *main = work->main;
	uint32_t i, n_main = work->n_main;

	switch (plan->guess) {
	case GUESS_BASE: memcpy(main, x, n_main * sizeof(*main)); break;
	case GUESS_PREVIOUS:
		for (i = 1; i < n_main; i++)
			main[i] = wrap_sub(x[i], x[i - 1]);
		break;
	case GUESS_SLOPE:
		for (i = 2; i < n_main; i++)
			main[i] =
			    (int64_t)((uint64_t)x[i] - 2 * (uint64_t)x[i - 1] + (uint64_t)x[i - 2]);
		if (n_main > 1)
			main[1] = wrap_sub(x[1], x[0]);
		break;
	case GUESS_STEADY:
		make_growth(work, value[plan->relation.arg[0]], n);
		for (i = 1; i < n_main; i++)
			main[i] = wrap_sub(x[i], steady_guess(x[i - 1], work->guess[i]));
		break;
	default:
		guess_relation(work, plan, value, n, main);
		for (i = 0; i < n_main; i++)
			main[i] = wrap_sub(x[i], main[i]);
	}
	if (n_seeds(plan, n_main) > 0)
		main[0] = x[0];
}

/* The way back, in place. */
static void
undo_guess(struct column_work *work, const struct column_plan *plan, const double *const *value,
    uint32_t n, int64_t *x)
{
	uint64_t at = 0, step = 0;
	uint32_t i, n_main = work->n_main;

	switch (plan->guess) {
	case GUESS_BASE: break;
	case GUESS_PREVIOUS:
		for (i = 0; i < n_main; i++) {
			at += (uint64_t)x[i];
			x[i] = (int64_t)at;
		}
		break;
	case GUESS_SLOPE:
		if (n_main > 0)
			at = (uint64_t)x[0];
		for (i = 1; i < n_main; i++) {
			step += (uint64_t)x[i];
			at += step;
			x[i] = (int64_t)at;
		}
		break;
	case GUESS_STEADY:
		make_growth(work, value[plan->relation.arg[0]], n);
		for (i = 1; i < n_main; i++)
			x[i] = wrap_add(x[i], steady_guess(x[i - 1], work->guess[i]));
		break;
	default:
		guess_relation(work, plan, value, n, work->main);
		for (i = 0; i < n_main; i++)
			x[i] = wrap_add(x[i], work->main[i]);
	}
}

/* --- choosing --- */

static uint64_t
form_cost(struct column_work *work, const struct column_plan *plan)
{
	uint64_t bits = PLAN_BITS;

	if (work->n_skipped > 0)
		bits += stream_cost(&work->coder, work->gap, work->n_skipped) + 16;
	if (plan->skip == SKIP_LISTED)
		bits += stream_cost(&work->coder, work->listed, work->n_skipped);
	if (has_ulps(plan))
		bits += stream_cost(&work->coder, work->ulps, work->n_main);
	return bits;
}

static uint64_t
guess_cost(struct column_work *work, const struct column_plan *plan, const double *const *value,
    uint32_t n)
{
	uint32_t seeds = n_seeds(plan, work->n_main);

	apply_guess(work, plan, value, n);
	return stream_cost(&work->coder, work->main + seeds, work->n_main - seeds);
}

/* A form that fits less than most of the rows counts as unfit. */
static bool
fits(const struct column_work *work, const struct column_plan *plan, uint32_t n)
{
	return plan->form != FORM_SCALED || work->n_skipped <= n / 8 + 1;
}

uint64_t
column_cost(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan *plan)
{
	plan->cost_bits = UINT64_MAX;
	apply_form(work, value, n, c, plan);
	if (fits(work, plan, n))
		plan->cost_bits = form_cost(work, plan) + guess_cost(work, plan, value, n);
	return plan->cost_bits;
}

/* Tries the guesses without other columns on a form, and keeps the best guess or `plan`. The row
 * before comes first, because an almost constant column may look constant to an estimate. */
static void
try_form(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan try, struct column_plan *plan)
{
	static const enum column_guess guess[] = { GUESS_PREVIOUS, GUESS_BASE };
	uint64_t form_bits, bits;
	size_t i;

	apply_form(work, value, n, c, &try);
	if (!fits(work, &try, n))
		return;
	form_bits = form_cost(work, &try);
	for (i = 0; i < sizeof(guess) / sizeof(guess[0]); i++) {
		try.guess = guess[i];
		bits = form_bits + guess_cost(work, &try, value, n);
		if (bits < plan->cost_bits) {
			*plan = try;
			plan->cost_bits = bits;
		}
	}
}

bool
column_is_equal(const double *y, uint32_t n)
{
	return n < 2 || memcmp(y, y + 1, (n - 1) * sizeof(*y)) == 0;
}

void
column_choose(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    struct column_plan *plan)
{
	struct column_plan scaled = { .form = FORM_SCALED }, near = { .form = FORM_NEAR },
			   order = { .form = FORM_ORDER };
	const double *y = value[c];

	*plan = (struct column_plan){ .form = FORM_EQUAL, .cost_bits = 8 * 4 };
	if (column_is_equal(y, n))
		return;
	plan->cost_bits = UINT64_MAX;
	if (scale_find(y, n, &scaled.scale)) {
		try_form(work, value, n, c, scaled, plan);
		if (work->n_skipped > 0 && scaled.scale.digits > 0) {
			scaled.scale.multiplied = !scaled.scale.multiplied;
			try_form(work, value, n, c, scaled, plan);
		}
		if (plan->cost_bits != UINT64_MAX)
			return;
	}
	try_form(work, value, n, c, order, plan);
	if (scale_find_near(y, n, &near.scale))
		try_form(work, value, n, c, near, plan);
}

unsigned
column_needs(const struct column_plan *plan, uint32_t need[1 + RELATION_ARGS_MAX])
{
	unsigned n = 0, i, args;

	if (plan->form == FORM_RATIO)
		need[n++] = plan->numerator;
	if (plan->form == FORM_EQUAL)
		return n;
	args = plan->guess == GUESS_RELATION ? relation_args(plan->relation.op)
					     : plan->guess == GUESS_STEADY;
	for (i = 0; i < args; i++)
		need[n++] = plan->relation.arg[i];
	return n;
}

/* --- writing and reading --- */

static void
write_plan(const struct column_plan *plan, struct chunk_buf *out)
{
	uint32_t need[1 + RELATION_ARGS_MAX];
	unsigned n = column_needs(plan, need), i;

	write_u8(out, (uint8_t)(plan->form | plan->skip << 3 | plan->guess << 5));
	if (plan->form >= FORM_SCALED)
		write_u8(out, plan->scale.digits | (plan->scale.multiplied ? SCALE_MULTIPLIED : 0));
	if (plan->guess == GUESS_RELATION)
		write_u8(out, (uint8_t)plan->relation.op);
	for (i = 0; i < n; i++)
		write_varint(out, need[i]);
}

int
column_write(struct column_work *work, const double *const *value, uint32_t n, uint32_t c,
    const struct column_plan *plan, struct chunk_buf *out)
{
	struct column_plan use = *plan;
	uint32_t seeds, i;
	int rc;

	if ((rc = buf_reserve(out, 16 * VARINT_MAX_BYTES)) != NW_OK)
		return rc;
	if (use.form == FORM_EQUAL) {
		write_plan(&use, out);
		write_varint(out, __builtin_bswap64(n > 0 ? number_bits(value[c][0]) : 0));
		return NW_OK;
	}
	apply_form(work, value, n, c, &use);
	if (!fits(work, &use, n)) {
		use = (struct column_plan){ .form = FORM_ORDER };
		apply_form(work, value, n, c, &use);
	}
	apply_guess(work, &use, value, n);
	write_plan(&use, out);
	if (use.skip != SKIP_NONE) {
		write_varint(out, work->n_skipped);
		rc = stream_write(&work->coder, work->gap, work->n_skipped, out);
		if (rc == NW_OK && use.skip == SKIP_LISTED)
			rc = stream_write(&work->coder, work->listed, work->n_skipped, out);
		if (rc == NW_OK)
			rc = buf_reserve(out, 2 * VARINT_MAX_BYTES);
		if (rc != NW_OK)
			return rc;
	}
	seeds = n_seeds(&use, work->n_main);
	for (i = 0; i < seeds; i++)
		write_signed(out, work->main[i]);
	rc = stream_write(&work->coder, work->main + seeds, work->n_main - seeds, out);
	if (rc == NW_OK && has_ulps(&use))
		rc = stream_write(&work->coder, work->ulps, work->n_main, out);
	return rc;
}

static uint32_t
read_column_number(struct byte_reader *in, uint32_t n_columns)
{
	uint64_t c = read_varint(in);

	if (c >= n_columns)
		in->bad = true;
	return in->bad ? 0 : (uint32_t)c;
}

void
column_read_plan(struct byte_reader *in, uint32_t n_columns, struct column_plan *plan)
{
	uint8_t head = read_u8(in), scale;
	unsigned i, args = 0, op = 0;

	*plan = (struct column_plan){ .form = FORM_EQUAL };
	if ((head & 7) >= N_FORMS || (head >> 3 & 3) >= N_SKIPS || head >> 5 >= N_GUESSES)
		in->bad = true;
	if (in->bad || head == FORM_EQUAL)
		return;
	plan->form = (enum column_form)(head & 7);
	plan->skip = (enum column_skip)(head >> 3 & 3);
	plan->guess = (enum column_guess)(head >> 5);
	if (plan->form == FORM_EQUAL)
		in->bad = true;
	if (plan->form >= FORM_SCALED) {
		scale = read_u8(in);
		plan->scale.digits = scale & ~SCALE_MULTIPLIED;
		plan->scale.multiplied = scale & SCALE_MULTIPLIED;
		if (plan->scale.digits > SCALE_DIGITS_MAX)
			in->bad = true;
	}
	if (plan->guess == GUESS_RELATION) {
		if ((op = read_u8(in)) >= N_RELATIONS)
			in->bad = true;
		plan->relation.op = in->bad ? RELATION_SAME : (enum relation_op)op;
		args = relation_args(plan->relation.op);
	} else if (plan->guess == GUESS_STEADY)
		args = 1;
	if (plan->form == FORM_RATIO)
		plan->numerator = read_column_number(in, n_columns);
	for (i = 0; i < args; i++)
		plan->relation.arg[i] = read_column_number(in, n_columns);
}

static int
read_skipped(
    struct column_work *work, struct byte_reader *in, const struct column_plan *plan, uint32_t n)
{
	uint64_t count = read_varint(in), row = 0;
	uint32_t i;
	int rc;

	if (in->bad || count > n)
		return NW_ECORRUPT;
	if ((rc = stream_read(&work->coder, in, work->gap, (uint32_t)count)) != NW_OK)
		return rc;
	for (i = 0; i < count; i++, row++) {
		if ((uint64_t)work->gap[i] >= n - row)
			return NW_ECORRUPT;
		row += (uint64_t)work->gap[i];
		work->skipped[i] = (uint32_t)row;
	}
	work->n_skipped = (uint32_t)count;
	return plan->skip == SKIP_LISTED
	    ? stream_read(&work->coder, in, work->listed, work->n_skipped)
	    : NW_OK;
}

static void
fill_skipped(const struct column_work *work, const struct column_plan *plan, double *y)
{
	uint32_t i, row;

	for (i = 0; i < work->n_skipped; i++) {
		row = work->skipped[i];
		if (plan->skip == SKIP_LISTED)
			y[row] = number_from_bits((uint64_t)work->listed[i]);
		else
			y[row] = row > 0 ? y[row - 1] : 0;
	}
}

int
column_read(struct column_work *work, struct byte_reader *in, const struct column_plan *plan,
    const double *const *value, uint32_t n, double *y)
{
	uint32_t i, seeds;
	double equal;
	int rc;

	if (plan->form == FORM_EQUAL) {
		equal = number_from_bits(__builtin_bswap64(read_varint(in)));
		for (i = 0; i < n; i++)
			y[i] = equal;
		return in->bad ? NW_ECORRUPT : NW_OK;
	}
	column_work_forget(work);
	work->n_skipped = 0;
	if (plan->skip != SKIP_NONE && (rc = read_skipped(work, in, plan, n)) != NW_OK)
		return rc;
	work->n_main = n - work->n_skipped;
	seeds = n_seeds(plan, work->n_main);
	for (i = 0; i < seeds; i++)
		work->x[i] = read_signed(in);
	if (in->bad)
		return NW_ECORRUPT;
	if ((rc = stream_read(&work->coder, in, work->x + seeds, work->n_main - seeds)) != NW_OK)
		return rc;
	if (has_ulps(plan) &&
	    (rc = stream_read(&work->coder, in, work->ulps, work->n_main)) != NW_OK)
		return rc;
	undo_guess(work, plan, value, n, work->x);
	if (work->n_skipped > 0) {
		skip_stretch(work->skipped, work->n_skipped, n, work->x);
		if (has_ulps(plan))
			skip_stretch(work->skipped, work->n_skipped, n, work->ulps);
	}
	say_values(plan, value, work->x, n, y);
	if (has_ulps(plan))
		number_add_ulps(y, work->ulps, n);
	fill_skipped(work, plan, y);
	return NW_OK;
}
