/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns as functions of other columns. Decoding repeats the arithmetic of encoding, so the
 * operations and their order are part of the format: IEEE + - * / and sqrt() only, which are
 * exactly rounded on all machines. */
#include "store/codec/codec_relation.h"

#include "store/codec/codec_number.h"

unsigned
relation_args(enum relation_op op)
{
	static const unsigned char args[N_RELATIONS] = { 1, 2, 2, 2, 2, 4, 5 };

	return args[op];
}

/* Count, mean and extremes leave the other values free. The formula takes these as equal to one
 * another: exact for up to three values, and the least possible deviation beyond. */
static inline double
spread(double count, double mean, double least, double greatest)
{
	double low = least - mean, high = greatest - mean, others, square;

	if (!(count >= 2))
		return 0;
	square = low * low + high * high;
	if (count > 2) {
		others = (count * mean - least - greatest) / (count - 2) - mean;
		square += (count - 2) * (others * others);
	}
	return sqrt(square / (count - 1));
}

/* The mean of a rate is not the rate of the sums: slow operations count as much as fast operations.
 * With equal u, the v of the extremes are known, and so is the time of all other operations. */
static inline double
pooled(double count, double least, double greatest, double sum_u, double sum_v)
{
	double u, others_v;

	if (!(count >= 2))
		return least;
	if (count == 2)
		return least + (greatest - least) / 2;
	u = sum_u / count;
	others_v = (sum_v - u / least - u / greatest) / (count - 2);
	return (least + greatest + (count - 2) * (u / others_v)) / count;
}

void
relation_compute(const struct relation *rel, const double *const *value, uint32_t n, double *p)
{
	const double *a = value[rel->arg[0]],
		     *b = relation_args(rel->op) > 1 ? value[rel->arg[1]] : a;
	const double *c, *d, *e;
	uint32_t i;

	switch (rel->op) {
	case RELATION_SAME: memcpy(p, a, n * sizeof(*p)); return;
	case RELATION_SUM:
		for (i = 0; i < n; i++)
			p[i] = a[i] + b[i];
		break;
	case RELATION_DIFFERENCE:
		for (i = 0; i < n; i++)
			p[i] = a[i] - b[i];
		break;
	case RELATION_PRODUCT:
		for (i = 0; i < n; i++)
			p[i] = a[i] * b[i];
		break;
	case RELATION_QUOTIENT:
		for (i = 0; i < n; i++)
			p[i] = a[i] / b[i];
		break;
	case RELATION_SPREAD:
		c = value[rel->arg[2]];
		d = value[rel->arg[3]];
		for (i = 0; i < n; i++)
			p[i] = spread(a[i], b[i], c[i], d[i]);
		break;
	default:
		c = value[rel->arg[2]];
		d = value[rel->arg[3]];
		e = value[rel->arg[4]];
		for (i = 0; i < n; i++)
			p[i] = pooled(a[i], b[i], c[i], d[i], e[i]);
		break;
	}
	/* The payload of a NaN made by arithmetic differs between processors. */
	for (i = 0; i < n; i++)
		p[i] = p[i] == p[i] ? p[i] : 0;
}
