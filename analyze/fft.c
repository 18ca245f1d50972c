/* SPDX-License-Identifier: BSD-3-Clause */
/* Cooley & Tukey 1965, decimation in time. See fft.h. */
#include "analyze/fft.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct fft {
	size_t n;
	/* cos, -sin of 2 pi j / n, j < n/2: each computed by itself, so errors do not add up */
	double root[];
};

struct fft *
fft_new(size_t n)
{
	struct fft *f;
	size_t j;

	if (n < 2 || (n & (n - 1)) != 0 || n > SIZE_MAX / 16)
		return NULL;
	if ((f = malloc(sizeof(*f) + n * sizeof(f->root[0]))) == NULL)
		return NULL;
	f->n = n;
	for (j = 0; j < n / 2; j++) {
		f->root[2 * j] = cos(2 * M_PI * (double)j / (double)n);
		f->root[2 * j + 1] = -sin(2 * M_PI * (double)j / (double)n);
	}
	return f;
}

void
fft_free(struct fft *f)
{
	free(f);
}

static void
swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

static void
reverse_bits(double *z, size_t n)
{
	size_t i, j, bit;

	for (i = 1, j = 0; i < n; i++) {
		for (bit = n / 2; j & bit; bit /= 2)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			swap(&z[2 * i], &z[2 * j]);
			swap(&z[2 * i + 1], &z[2 * j + 1]);
		}
	}
}

/* A butterfly: (a, b) becomes (a + w b, a - w b). */
static inline void
butterfly(double *a, double *b, double w_re, double w_im)
{
	double re = b[0] * w_re - b[1] * w_im, im = b[0] * w_im + b[1] * w_re;

	b[0] = a[0] - re;
	b[1] = a[1] - im;
	a[0] += re;
	a[1] += im;
}

static void
transform(const struct fft *f, double *z, double sign)
{
	size_t half, start, j, stride;

	reverse_bits(z, f->n);
	for (half = 1; half < f->n; half *= 2) {
		stride = f->n / (2 * half);
		for (start = 0; start < f->n; start += 2 * half)
			for (j = 0; j < half; j++)
				butterfly(&z[2 * (start + j)], &z[2 * (start + j + half)],
				    f->root[2 * j * stride], sign * f->root[2 * j * stride + 1]);
	}
}

void
fft_forward(const struct fft *f, double *z)
{
	transform(f, z, 1);
}

void
fft_backward(const struct fft *f, double *z)
{
	transform(f, z, -1);
}
