/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/bucket.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/hist.h"
#include "narrows/store.h"

enum { LANES = 4 };

const int64_t tier_step_ns[STORE_TIERS] = { 0, INT64_C(10000000000), INT64_C(60000000000),
	INT64_C(3600000000000) };

/* Sums numbers. Several partial sums, because an addition waits for the addition before. */
static double
sum_of(const double *v, size_t n)
{
	double sum[LANES] = { 0 };
	size_t i, k;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			sum[k] += v[i + k];
	for (k = 0; i < n; i++, k++)
		sum[k] += v[i];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double
m2_of(const double *v, size_t n, double mean)
{
	double sum[LANES] = { 0 };
	size_t i, k;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			sum[k] += (v[i + k] - mean) * (v[i + k] - mean);
	for (k = 0; i < n; i++, k++)
		sum[k] += (v[i] - mean) * (v[i] - mean);
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static struct bucket_stat
stat_of_odd(const double *v, size_t n)
{
	struct bucket_stat s = { 0, 0, NAN, NAN, 0 };
	double mean;
	size_t i;

	for (i = 0; i < n; i++) {
		if (isnan(v[i]))
			continue;
		s.n++;
		s.sum += v[i];
		s.min = v[i] > s.min ? s.min : v[i];
		s.max = v[i] < s.max ? s.max : v[i];
	}
	mean = s.sum / s.n;
	for (i = 0; s.n > 1 && i < n; i++)
		if (!isnan(v[i]))
			s.m2 += (v[i] - mean) * (v[i] - mean);
	return s;
}

static double
first_zero(const double *v)
{
	while (*v != 0)
		v++;
	return *v;
}

/* The extremes of n numbers, n > 0, by two pairs, because a comparison waits for the comparison
 * before. Equal numbers of both signs are zeros: the first one stays. */
static void
extremes_of(const double *v, size_t n, struct bucket_stat *s)
{
	double min = v[0], max = v[0], min2 = v[n - 1], max2 = v[n - 1];
	size_t i;

	for (i = 1; i + 2 < n; i += 2) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		min2 = v[i + 1] < min2 ? v[i + 1] : min2;
		max2 = v[i + 1] > max2 ? v[i + 1] : max2;
	}
	for (; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	min = min2 < min ? min2 : min;
	max = max2 > max ? max2 : max;
	s->min = min == 0 ? first_zero(v) : min;
	s->max = max == 0 ? first_zero(v) : max;
}

/* n values of a field, n > 0. */
static struct bucket_stat
bucket_stat_of(const double *v, size_t n)
{
	struct bucket_stat s = { (double)n, sum_of(v, n), v[0], v[0], 0 };

	if (isnan(s.sum))
		return stat_of_odd(v, n); /* NaN among the values, or infinities of both signs */
	extremes_of(v, n, &s);
	if (s.min != s.max)
		s.m2 = m2_of(v, n, s.sum / s.n);
	return s;
}

static void
bucket_stat_add(struct bucket_stat *a, const struct bucket_stat *b)
{
	double d;

	if (!(b->n > 0))
		return;
	if (!(a->n > 0)) {
		*a = *b;
		return;
	}
	d = b->sum / b->n - a->sum / a->n;
	a->m2 += b->m2 + d * d * a->n * b->n / (a->n + b->n);
	a->n += b->n;
	a->sum += b->sum;
	a->min = b->min < a->min ? b->min : a->min;
	a->max = b->max > a->max ? b->max : a->max;
}

static struct bucket_stat
stat_get(const double *const *value, size_t field, size_t row)
{
	const double *const *c = value + field * STATS;

	return (struct bucket_stat){ c[STAT_N][row], c[STAT_SUM][row], c[STAT_MIN][row],
		c[STAT_MAX][row], c[STAT_M2][row] };
}

static void
stat_put(double **value, size_t field, size_t row, const struct bucket_stat *s)
{
	double **c = value + field * STATS;

	c[STAT_N][row] = s->n;
	c[STAT_SUM][row] = s->sum;
	c[STAT_MIN][row] = s->min;
	c[STAT_MAX][row] = s->max;
	c[STAT_M2][row] = s->m2;
}

/* --- histograms: of the open bucket, counted out --- */

static int
hist_add(struct bucketer *f, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return NW_OK;
	if (f->counts == NULL &&
	    (f->counts = calloc(2 * NW_HIST_BUCKETS, sizeof(*f->counts))) == NULL)
		return NW_ENOMEM;
	/* Into a copy: bytes without a histogram must leave nothing behind. */
	memcpy(f->counts + NW_HIST_BUCKETS, f->counts, NW_HIST_BUCKETS * sizeof(*f->counts));
	if (nw_hist_decode_add(bytes, len, f->counts + NW_HIST_BUCKETS) != NW_OK) {
		f->lost_hists++;
		return NW_OK;
	}
	memcpy(f->counts, f->counts + NW_HIST_BUCKETS, NW_HIST_BUCKETS * sizeof(*f->counts));
	f->has_hist = true;
	return NW_OK;
}

static int
bucket_close(struct bucketer *f)
{
	size_t len = 0;

	if (!f->open)
		return NW_OK;
	if (f->has_hist) {
		if (f->hist == NULL && (f->hist = malloc(NW_HIST_ENCODED_MAX_BYTES)) == NULL)
			return NW_ENOMEM;
		len = nw_hist_encode(f->hist, f->counts);
		memset(f->counts, 0, NW_HIST_BUCKETS * sizeof(*f->counts));
		f->has_hist = false;
	}
	f->open = false;
	return columns_set_hist(f->out, f->out->n_rows - 1, f->hist, len);
}

/* --- values --- */

size_t
bucket_end(const int64_t *t_wall_ns, size_t from, size_t to, int64_t step_ns)
{
	/* differences wrap around: the bucket of the least times begins before them */
	uint64_t step = (uint64_t)step_ns,
		 begin = (uint64_t)bucket_number(t_wall_ns[from], step_ns) * step;
	size_t i = from + 1;

	while (i < to && (uint64_t)t_wall_ns[i] - begin < step)
		i++;
	return i;
}

size_t
buckets_count(const int64_t *t_wall_ns, size_t from, size_t to, int64_t step_ns)
{
	size_t n = 0;

	for (; from < to; n++)
		from = bucket_end(t_wall_ns, from, to, step_ns);
	return n;
}

void
bucketer_begin(struct bucketer *f, int64_t step_ns, struct columns *out, const uint32_t *fields,
    size_t n_fields)
{
	if (f->has_hist) /* of an earlier, incomplete run */
		memset(f->counts, 0, NW_HIST_BUCKETS * sizeof(*f->counts));
	f->open = f->has_hist = false;
	f->step_ns = step_ns;
	f->out = out;
	f->fields = fields;
	f->n_fields = n_fields;
}

/* Adds rows i..j, all of a bucket, to the last row of out, new or open. */
static void
values_add(struct bucketer *f, const struct chunk_columns *rows, size_t i, size_t j, bool stats,
    bool fresh)
{
	size_t row = f->out->n_rows - 1, k, field, r;
	struct bucket_stat s, more;

	for (k = 0; k < f->n_fields; k++) {
		field = f->fields == NULL ? k : f->fields[k];
		if (stats) {
			s = stat_get(rows->value, field, i);
			for (r = i + 1; r < j; r++) {
				more = stat_get(rows->value, field, r);
				bucket_stat_add(&s, &more);
			}
		} else {
			s = bucket_stat_of(rows->value[field] + i, j - i);
		}
		if (!fresh) {
			more = s;
			s = stat_get((const double *const *)f->out->value, field, row);
			bucket_stat_add(&s, &more);
		}
		stat_put(f->out->value, field, row, &s);
	}
	f->out->t_wall_ns[row] = rows->t_wall_ns[j - 1];
}

int
bucketer_add(
    struct bucketer *f, const struct chunk_columns *rows, size_t from, size_t to, bool stats)
{
	struct columns *out = f->out;
	size_t i, j, r, start;
	int64_t bucket;
	bool fresh;
	int rc;

	for (i = from; i < to; i = j) {
		bucket = bucket_number(rows->t_wall_ns[i], f->step_ns);
		j = bucket_end(rows->t_wall_ns, i, to, f->step_ns);
		fresh = !f->open ||
		    bucket_number(out->t_wall_ns[out->n_rows - 1], f->step_ns) != bucket;
		if (fresh) {
			if ((rc = bucket_close(f)) != NW_OK)
				return rc;
			out->n_rows++;
			f->open = true;
		}
		values_add(f, rows, i, j, stats, fresh);
		for (r = i; rows->attachment_end != NULL && r < j; r++) {
			start = r == 0 ? 0 : rows->attachment_end[r - 1];
			if ((rc = hist_add(f, rows->attachment + start,
				 rows->attachment_end[r] - start)) != NW_OK)
				return rc;
		}
	}
	return NW_OK;
}

int
bucketer_end(struct bucketer *f)
{
	return bucket_close(f);
}

void
bucketer_clear(struct bucketer *f)
{
	free(f->counts);
	free(f->hist);
	memset(f, 0, sizeof(*f));
}
