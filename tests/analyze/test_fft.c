/* SPDX-License-Identifier: BSD-3-Clause */
/* The transform against the sum that defines it, and back again. */
#include "analyze/fft.h"

#include <stdint.h>

#include "tests/check.h"

enum { N_MAX = 4096 };

int
main(void)
{
	static double x[2 * N_MAX], z[2 * N_MAX];
	uint64_t seed = 3;
	size_t n, i, j, k;

	for (n = 2; n <= N_MAX; n *= 2) {
		struct fft *f = fft_new(n);
		double worst = 0, back = 0, re, im, a;

		for (i = 0; i < 2 * n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			z[i] = x[i] = (double)(seed >> 11) * 0x1p-53 - 0.5;
		}
		fft_forward(f, z);
		for (k = 0; k<n; k += n> 64 ? n / 16 + 1 : 1) {
			for (j = 0, re = im = 0; j < n; j++) {
				a = -2 * M_PI * (double)(j * k % n) / (double)n;
				re += x[2 * j] * cos(a) - x[2 * j + 1] * sin(a);
				im += x[2 * j] * sin(a) + x[2 * j + 1] * cos(a);
			}
			worst = fmax(worst, hypot(re - z[2 * k], im - z[2 * k + 1]));
		}
		CHECK(worst < 1e-13 * (double)n);
		fft_backward(f, z);
		for (i = 0; i < 2 * n; i++)
			back = fmax(back, fabs(z[i] / (double)n - x[i]));
		CHECK(back < 1e-15 * 8);
		fft_free(f);
	}
	CHECK(fft_new(0) == NULL && fft_new(1) == NULL && fft_new(24) == NULL);
	fft_free(NULL);
	return check_done("fft");
}
