/* SPDX-License-Identifier: BSD-3-Clause */
/* Discrete Fourier transform of a power of two of complex numbers, in place. */
#ifndef ANALYZE_FFT_H
#define ANALYZE_FFT_H
#include <stddef.h>

struct fft;

/* Tables for n = 2, 4, 8 ..; NULL = no memory or another n. 8 n bytes. Free with fft_free (NULL is
 * fine). */
struct fft *fft_new(size_t n);
void fft_free(struct fft *f);
/* X_k = sum_j x_j e^(-2 pi i j k / n). `z` holds n pairs re, im. Radix 2: 5 n log2 n flops; 20 us
 * for n = 1024. */
void fft_forward(const struct fft *f, double *z);
/* Inverse without the factor 1/n. */
void fft_backward(const struct fft *f, double *z);

#endif
