/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the selection (reduce.c) and its verification (reduce_verify.c). */
#ifndef ANALYZE_REDUCE_H
#define ANALYZE_REDUCE_H
#include "narrows/reduce.h"

struct reduce_input {
	const double *const *x;
	size_t p;
	const double *y;
	size_t n;
	const struct nw_chunk *chunk;
	size_t n_chunks;
	const struct nw_reduce_options *opts;
};

/* Fills random, check and mean; the selection is there. */
int reduce_verify(const struct reduce_input *in, struct nw_reduction *out);
void reduce_verify_clear(struct nw_reduction *out);

#endif
