/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/columns.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

/* Gives an array room for n elements, reallocating if need be. NULL: no memory, and the old array
 * stays. */
static void *
reserve(void *old, size_t *cap, size_t n, size_t size)
{
	void *grown;

	if (n <= *cap && old != NULL)
		return old;
	if (n > SIZE_MAX / 2 / size || (grown = realloc(old, n == 0 ? size : n * size)) == NULL)
		return NULL;
	*cap = n;
	return grown;
}

int
columns_reset(
    struct columns *c, size_t n_fields, const uint32_t *wanted, size_t n_wanted, size_t cap_rows)
{
	/* An odd number of cache lines keeps the values of a row out of each other's cache sets. */
	size_t stride = (cap_rows / 8 | 1) * 8 + 16, i;
	void *times, *ends, *value, *list, *mem;

	c->n_rows = 0;
	c->n_fields = n_fields;
	c->n_wanted = wanted == NULL ? n_fields : n_wanted;
	c->has_hist = false;
	if ((times = reserve(c->t_wall_ns, &c->cap_times, cap_rows, sizeof(*c->t_wall_ns))) != NULL)
		c->t_wall_ns = times;
	if ((ends = reserve(c->hist_end, &c->cap_ends, cap_rows, sizeof(*c->hist_end))) != NULL)
		c->hist_end = ends;
	if ((value = reserve(c->value, &c->cap_value, n_fields, sizeof(*c->value))) != NULL)
		c->value = value;
	if ((list = reserve(c->wanted, &c->cap_wanted, c->n_wanted, sizeof(*c->wanted))) != NULL)
		c->wanted = list;
	if ((mem = reserve(c->mem, &c->cap_mem, c->n_wanted * stride, sizeof(*c->mem))) != NULL)
		c->mem = mem;
	if (times == NULL || ends == NULL || value == NULL || list == NULL || mem == NULL)
		return NW_ENOMEM;
	memset(c->value, 0, n_fields * sizeof(*c->value));
	for (i = 0; i < c->n_wanted; i++) {
		c->wanted[i] = wanted == NULL ? (uint32_t)i : wanted[i];
		c->value[c->wanted[i]] = c->mem + i * stride;
	}
	return NW_OK;
}

void
columns_clear(struct columns *c)
{
	free(c->t_wall_ns);
	free(c->value);
	free(c->wanted);
	free(c->mem);
	free(c->hist_end);
	free(c->hist);
	memset(c, 0, sizeof(*c));
}

static uint32_t
hist_used(const struct columns *c)
{
	return c->n_rows == 0 ? 0 : c->hist_end[c->n_rows - 1];
}

/* Adds the histogram of the next row. */
static int
hist_add(struct columns *c, size_t row, const uint8_t *hist, size_t len)
{
	uint32_t used = row == 0 ? 0 : c->hist_end[row - 1];
	void *p;

	if (len > UINT32_MAX - used)
		return NW_ETOOBIG;
	if (len > 0) {
		if (used + len > c->cap_hist) {
			if ((p = reserve(c->hist, &c->cap_hist, 2 * (used + len), 1)) == NULL)
				return NW_ENOMEM;
			c->hist = p;
		}
		memcpy(c->hist + used, hist, len);
		c->has_hist = true;
	}
	c->hist_end[row] = used + (uint32_t)len;
	return NW_OK;
}

int
columns_set_hist(struct columns *c, size_t row, const uint8_t *hist, size_t len)
{
	return hist_add(c, row, hist, len);
}

int
columns_add_rec(struct columns *c, const struct tail_rec *rec)
{
	const double *value = tail_rec_values(rec);
	size_t r, i, n = c->n_rows;
	int rc;

	for (r = 0; r < rec->n_rows; r++)
		if ((rc = hist_add(c, n + r, tail_rec_hist(rec), rec->hist_len)) != NW_OK)
			return rc;
	memcpy(c->t_wall_ns + n, tail_rec_times(rec), rec->n_rows * sizeof(int64_t));
	for (r = 0; r < rec->n_rows; r++, value += rec->n_fields)
		for (i = 0; i < c->n_wanted; i++)
			c->value[c->wanted[i]][n + r] = value[c->wanted[i]];
	c->n_rows += rec->n_rows;
	return NW_OK;
}

int
columns_add_rows(struct columns *c, const struct chunk_columns *rows, size_t from, size_t to)
{
	size_t r, i, n = c->n_rows, start;
	int rc;

	if (from >= to)
		return NW_OK;
	for (r = from; r < to; r++) {
		start = rows->attachment_end == NULL || r == 0 ? 0 : rows->attachment_end[r - 1];
		rc = rows->attachment_end == NULL
		    ? hist_add(c, n + r - from, NULL, 0)
		    : hist_add(c, n + r - from, rows->attachment + start,
			  rows->attachment_end[r] - start);
		if (rc != NW_OK)
			return rc;
	}
	memcpy(c->t_wall_ns + n, rows->t_wall_ns + from, (to - from) * sizeof(int64_t));
	for (i = 0; i < c->n_wanted; i++)
		memcpy(c->value[c->wanted[i]] + n, rows->value[c->wanted[i]] + from,
		    (to - from) * sizeof(double));
	c->n_rows += to - from;
	return NW_OK;
}

struct place {
	int64_t t;
	size_t row;
};

static int
place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static int
hist_permute(struct columns *c, const struct place *p)
{
	uint8_t *bytes = malloc(hist_used(c));
	uint32_t *end = malloc(c->n_rows * sizeof(*end)), used = 0, start;
	size_t r;

	if (bytes == NULL || end == NULL) {
		free(bytes);
		free(end);
		return NW_ENOMEM;
	}
	for (r = 0; r < c->n_rows; r++) {
		start = p[r].row == 0 ? 0 : c->hist_end[p[r].row - 1];
		memcpy(bytes + used, c->hist + start, c->hist_end[p[r].row] - start);
		end[r] = used += c->hist_end[p[r].row] - start;
	}
	memcpy(c->hist, bytes, used);
	memcpy(c->hist_end, end, c->n_rows * sizeof(*end));
	free(bytes);
	free(end);
	return NW_OK;
}

int
columns_sort(struct columns *c)
{
	struct place *p = NULL;
	double *scratch = NULL, *column;
	size_t r, i;
	int rc = NW_ENOMEM;

	for (r = 1; r < c->n_rows && c->t_wall_ns[r - 1] <= c->t_wall_ns[r]; r++)
		;
	if (r >= c->n_rows)
		return NW_OK;
	if ((p = malloc(c->n_rows * sizeof(*p))) == NULL ||
	    (scratch = malloc(c->n_rows * sizeof(*scratch))) == NULL)
		goto out;
	for (r = 0; r < c->n_rows; r++)
		p[r] = (struct place){ c->t_wall_ns[r], r };
	qsort(p, c->n_rows, sizeof(*p), place_cmp);
	if (c->has_hist && (rc = hist_permute(c, p)) != NW_OK)
		goto out;
	for (r = 0; r < c->n_rows; r++)
		c->t_wall_ns[r] = p[r].t;
	for (i = 0; i < c->n_wanted; i++) {
		column = c->value[c->wanted[i]];
		for (r = 0; r < c->n_rows; r++)
			scratch[r] = column[p[r].row];
		memcpy(column, scratch, c->n_rows * sizeof(*scratch));
	}
	rc = NW_OK;
out:
	free(scratch);
	free(p);
	return rc;
}

size_t
columns_seek(const int64_t *t_wall_ns, size_t n_rows, int64_t t)
{
	size_t lo = 0, hi = n_rows, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t_wall_ns[mid] < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int
columns_cut(const struct columns *c, size_t from, size_t to, struct columns_piece *out)
{
	uint32_t start = from == 0 || !c->has_hist ? 0 : c->hist_end[from - 1];
	void *value, *ends;
	size_t r, f;

	if ((value = reserve(out->value, &out->cap_value, c->n_fields, sizeof(*out->value))) !=
	    NULL)
		out->value = value;
	if ((ends = reserve(out->hist_end, &out->cap_ends, to - from, sizeof(*out->hist_end))) !=
	    NULL)
		out->hist_end = ends;
	if (value == NULL || ends == NULL)
		return NW_ENOMEM;
	for (f = 0; f < c->n_fields; f++)
		out->value[f] = c->value[f] == NULL ? NULL : c->value[f] + from;
	for (r = from; c->has_hist && r < to; r++)
		out->hist_end[r - from] = c->hist_end[r] - start;
	out->is = (struct chunk_columns){
		.n_rows = (uint32_t)(to - from),
		.n_columns = (uint32_t)c->n_fields,
		.t_wall_ns = c->t_wall_ns + from,
		.value = out->value,
		.attachment_end = c->has_hist ? out->hist_end : NULL,
		.attachment = c->has_hist ? c->hist + start : NULL,
	};
	return NW_OK;
}

void
columns_piece_clear(struct columns_piece *p)
{
	free(p->value);
	free(p->hist_end);
	memset(p, 0, sizeof(*p));
}
