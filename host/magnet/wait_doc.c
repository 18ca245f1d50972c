/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/wait_doc.h"

#include <math.h>

#define S_PER_NS 1e-9

const char *const wait_doc_names[WAIT_DOC_FIELDS] = { "sum_d", "min_d", "max_d", "mean_d", "sd_d",
	"count", "window", "one_in" };

double
wait_bucket_middle(uint32_t bucket)
{
	double step;

	if (bucket < MAGNET_STAT_SUB)
		return bucket;
	step = ldexp(1, (int)(bucket / MAGNET_STAT_SUB) - 1);
	return step * (MAGNET_STAT_SUB + bucket % MAGNET_STAT_SUB) + step / 2;
}

size_t
wait_doc_fill(const struct magnet_stat *s, double window_s, double one_in,
    double values[WAIT_DOC_FIELDS], uint8_t hist[NW_HIST_ENCODED_MAX_BYTES])
{
	double n = (double)s->n, mean = n > 0 ? (double)s->sum / n : NAN;
	double squares = ldexp((double)s->squares_hi, 64) + (double)s->squares_lo;
	double var = n > 1 ? fmax(0, (squares - n * mean * mean) / (n - 1)) : NAN;
	uint64_t counts[NW_HIST_BUCKETS] = { 0 };
	uint32_t b;

	values[0] = (double)s->sum * S_PER_NS;
	values[1] = n > 0 ? (double)s->min * S_PER_NS : NAN;
	values[2] = n > 0 ? (double)s->max * S_PER_NS : NAN;
	values[3] = mean * S_PER_NS;
	values[4] = sqrt(var) * S_PER_NS;
	values[5] = n;
	values[6] = window_s;
	values[7] = one_in;
	for (b = 0; b < MAGNET_STAT_BUCKETS; b++)
		counts[nw_hist_index((uint64_t)wait_bucket_middle(b))] += s->hist[b];
	return nw_hist_encode(hist, counts);
}
