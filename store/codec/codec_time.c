/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n times:
 *
 *   u8       mode
 *   0 STEPS  signed first time; stream of n - 1 differences: bursts, events
 *   1 BENDS  signed first time, signed first difference; stream of n - 2 differences of
 *            differences: a clean clock
 *   2 GRID   signed origin, varint period; stream of n grid steps, stream of n distances from the
 *            grid: a collector that aims at every full period and is late by a little, each time
 *            anew. Differences would count every delay twice.
 *
 * Units coarser than the nanosecond are the streams' common divisors.
 */
#include "store/codec/codec_time.h"

#include "store/codec/codec_unit.h"

enum time_mode { TIME_STEPS, TIME_BENDS, TIME_GRID };

enum {
	PERIOD_SAMPLES = 31,
	GRID_ROWS_MIN = 8,
	LAG_GROWTH = 8,
	ROUND_NS = 1000,
	ROUND_SLACK_NS = 4
};

static const uint64_t PERIOD_MAX_NS = UINT64_C(1) << 60;

/* Inserts a number into a sorted list; returns the new count. */
static uint32_t
insert_sorted(uint64_t *sorted, uint32_t count, uint64_t v)
{
	uint32_t i;

	for (i = count; i > 0 && sorted[i - 1] > v; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = v;
	return count + 1;
}

/* The median difference: a guess at the period, robust against gaps and late rows. */
static uint64_t
middle_step(const int64_t *t, uint32_t n)
{
	uint64_t sorted[PERIOD_SAMPLES];
	uint32_t count = 0, i, row;

	for (i = 0; i < PERIOD_SAMPLES; i++) {
		row = (uint32_t)((uint64_t)i * (n - 1) / PERIOD_SAMPLES);
		count = insert_sorted(sorted, count, (uint64_t)wrap_sub(t[row + 1], t[row]));
	}
	return sorted[count / 2];
}

/* The median slope over `lag` rows, from the number of steps between each row and the row
 * before. */
static uint64_t
middle_slope(const int64_t *t, uint32_t n, uint32_t lag, const int64_t *steps)
{
	uint64_t sorted[PERIOD_SAMPLES], span_steps = 0;
	uint32_t count = 0, every = (n - lag + PERIOD_SAMPLES - 1) / PERIOD_SAMPLES, i;

	for (i = 1; i <= lag; i++)
		span_steps += (uint64_t)steps[i];
	for (i = 0; i + lag < n; i++) {
		if (i > 0)
			span_steps += (uint64_t)steps[i + lag] - (uint64_t)steps[i];
		if (i % every == 0 && span_steps > 0 && span_steps <= INT64_MAX)
			count = insert_sorted(sorted, count,
			    ((uint64_t)wrap_sub(t[i + lag], t[i]) + span_steps / 2) / span_steps);
	}
	return count > 0 ? sorted[count / 2] : 0;
}

/* Times in whole milliseconds have a period in whole milliseconds; and timers are set in round
 * numbers, which is worth a guess. */
static uint64_t
round_period(uint64_t period, uint64_t unit)
{
	if (unit > 1)
		return (period + unit / 2) / unit * unit;
	if (period >= ROUND_NS && (period + ROUND_SLACK_NS) % ROUND_NS <= 2 * ROUND_SLACK_NS)
		return (period + ROUND_SLACK_NS) / ROUND_NS * ROUND_NS;
	return period;
}

/* Splits times into steps on the grid, from the row before, and distances from the grid. */
static void
grid_split(const int64_t *t, uint32_t n, int64_t origin, uint64_t period, int64_t *steps,
    int64_t *distance)
{
	double per_period = 1 / (double)period;
	uint64_t at = (uint64_t)origin;
	uint32_t i;

	for (i = 0; i < n; i++) {
		steps[i] = number_round((double)wrap_sub(t[i], (int64_t)at) * per_period);
		at += (uint64_t)steps[i] * period;
		distance[i] = wrap_sub(t[i], (int64_t)at);
	}
}

/* Fills x with the steps and ulps with the distances. False if the times have no period. An error
 * of the period piles up from row to row, and beyond half a period steps are counted wrong. So the
 * loop uses a period from single steps on few rows only, takes a better period from these over more
 * rows, and ends with a period good for all rows. */
static bool
grid_fit(struct column_work *work, const int64_t *t, uint32_t n, uint64_t *period)
{
	uint32_t lag, rows;

	if (n < GRID_ROWS_MIN)
		return false;
	*period = middle_step(t, n);
	for (lag = LAG_GROWTH; *period > 0 && *period <= PERIOD_MAX_NS; lag *= LAG_GROWTH) {
		lag = lag < n / 2 ? lag : n / 2;
		rows = lag < n / 3 ? 3 * lag : n;
		grid_split(t, rows, t[0], *period, work->x, work->ulps);
		*period = middle_slope(t, rows, lag, work->x);
		if (lag == n / 2)
			break;
	}
	*period = round_period(*period, unit_find(t, n));
	if (*period == 0 || *period > PERIOD_MAX_NS)
		return false;
	grid_split(t, n, t[0], *period, work->x, work->ulps);
	return true;
}

int
time_write(struct column_work *work, const int64_t *t, uint32_t n, struct chunk_buf *out)
{
	uint64_t period = 0, steps_bits, bends_bits, grid_bits = UINT64_MAX;
	uint32_t i;
	int rc;

	if ((rc = buf_reserve(out, 1 + 2 * VARINT_MAX_BYTES)) != NW_OK || n == 0)
		return rc;
	if (grid_fit(work, t, n, &period))
		grid_bits = stream_cost(&work->coder, work->x, n) +
		    stream_cost(&work->coder, work->ulps, n);
	for (i = 1; i < n; i++)
		work->main[i] = wrap_sub(t[i], t[i - 1]);
	for (i = 2; i < n; i++)
		work->listed[i] = wrap_sub(work->main[i], work->main[i - 1]);
	steps_bits = stream_cost(&work->coder, work->main + 1, n - 1);
	bends_bits = n < 2 ? UINT64_MAX : stream_cost(&work->coder, work->listed + 2, n - 2);

	if (grid_bits < steps_bits && grid_bits < bends_bits) {
		write_u8(out, TIME_GRID);
		write_signed(out, t[0]);
		write_varint(out, period);
		rc = stream_write(&work->coder, work->x, n, out);
		return rc == NW_OK ? stream_write(&work->coder, work->ulps, n, out) : rc;
	}
	if (bends_bits < steps_bits) {
		write_u8(out, TIME_BENDS);
		write_signed(out, t[0]);
		write_signed(out, work->main[1]);
		return stream_write(&work->coder, work->listed + 2, n - 2, out);
	}
	write_u8(out, TIME_STEPS);
	write_signed(out, t[0]);
	return stream_write(&work->coder, work->main + 1, n - 1, out);
}

static int
read_steps(struct column_work *work, struct byte_reader *in, int64_t *t, uint32_t n)
{
	uint32_t i;
	int rc;

	t[0] = read_signed(in);
	if ((rc = stream_read(&work->coder, in, t + 1, n - 1)) != NW_OK)
		return rc;
	for (i = 1; i < n; i++)
		t[i] = wrap_add(t[i], t[i - 1]);
	return NW_OK;
}

static int
read_bends(struct column_work *work, struct byte_reader *in, int64_t *t, uint32_t n)
{
	int64_t step;
	uint32_t i;
	int rc;

	if (n < 2)
		return NW_ECORRUPT;
	t[0] = read_signed(in);
	step = read_signed(in);
	t[1] = wrap_add(t[0], step);
	if ((rc = stream_read(&work->coder, in, t + 2, n - 2)) != NW_OK)
		return rc;
	for (i = 2; i < n; i++) {
		step = wrap_add(step, t[i]);
		t[i] = wrap_add(t[i - 1], step);
	}
	return NW_OK;
}

static int
read_grid(struct column_work *work, struct byte_reader *in, int64_t *t, uint32_t n)
{
	uint64_t at = (uint64_t)read_signed(in), period = read_varint(in);
	uint32_t i;
	int rc;

	if ((rc = stream_read(&work->coder, in, t, n)) != NW_OK ||
	    (rc = stream_read(&work->coder, in, work->ulps, n)) != NW_OK)
		return rc;
	for (i = 0; i < n; i++) {
		at += period * (uint64_t)t[i];
		t[i] = (int64_t)(at + (uint64_t)work->ulps[i]);
	}
	return NW_OK;
}

int
time_read(struct column_work *work, struct byte_reader *in, int64_t *t, uint32_t n)
{
	int rc;

	if (n == 0)
		return NW_OK;
	switch (read_u8(in)) {
	case TIME_STEPS: rc = read_steps(work, in, t, n); break;
	case TIME_BENDS: rc = read_bends(work, in, t, n); break;
	case TIME_GRID: rc = read_grid(work, in, t, n); break;
	default: rc = NW_ECORRUPT;
	}
	return rc == NW_OK && in->bad ? NW_ECORRUPT : rc;
}
