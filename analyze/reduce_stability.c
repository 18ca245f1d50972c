/* SPDX-License-Identifier: BSD-3-Clause */
/* How steadily metrics are chosen: stability selection. See narrows/reduce.h. */
#include <stdlib.h>
#include <string.h>

#include "analyze/reduce_in.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum { BLOCKS = 20 };

/* Adds 1 to every metric that is kept, or says the same as a kept metric. */
static void
count_kept(const struct nw_reduction *r, double *count)
{
	const struct nw_elimination *e = &r->elimination;
	const struct nw_clusters *c = &r->clusters;

	for (size_t k = 0; e->status == NW_STATUS_OK && k < e->n_metrics; k++) {
		size_t rep = 0;

		if (!e->metric_kept[k])
			continue;
		while (rep < r->prepared.n_used && r->prepared.used[rep] != r->candidate[k])
			rep++;
		for (size_t i = 0; rep < r->prepared.n_used && i < c->n_metrics; i++)
			count[r->prepared.used[i]] += c->label[i] == c->label[rep];
	}
}

/* Deals half of the blocks at random to the one half, the rest to the other. */
static void
deal(uint64_t *seed, size_t n_rows, struct nw_chunk chunk[BLOCKS])
{
	size_t order[BLOCKS];

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t j = (size_t)(nw_splitmix(seed) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		chunk[order[i]] =
		    (struct nw_chunk){ n_rows * order[i] / BLOCKS, n_rows * (order[i] + 1) / BLOCKS,
			    i < BLOCKS / 2 ? NW_CHUNK_TRAIN : NW_CHUNK_IGNORE };
}

static void
swap_halves(struct nw_chunk chunk[BLOCKS])
{
	for (size_t i = 0; i < BLOCKS; i++)
		chunk[i].role = chunk[i].role == NW_CHUNK_TRAIN ? NW_CHUNK_IGNORE : NW_CHUNK_TRAIN;
}

int
nw_reduce_stability(const struct nw_table *t, const struct nw_reduce_options *opts, size_t pairs,
    const struct nw_progress_hook *hook, double *share)
{
	struct nw_reduce_options o = *opts;
	struct nw_chunk chunk[BLOCKS];
	uint64_t seed = opts->seed;
	int rc = NW_OK;

	memset(share, 0, t->n_columns * sizeof(*share));
	o.n_random = o.main.n = o.n_thresholds = o.folds = 0;
	o.choose_threshold = false;
	for (size_t i = 0; rc == NW_OK && i < 2 * pairs; i++) {
		struct nw_reduction r;

		if (i % 2 == 0)
			deal(&seed, t->n_rows, chunk);
		else
			swap_halves(chunk);
		rc = nw_reduce(t, chunk, BLOCKS, &o, &r);
		if (rc == NW_OK)
			count_kept(&r, share);
		nw_reduction_clear(&r);
		if (rc == NW_OK && hook != NULL && !hook->go_on(hook->arg, i + 1, 2 * pairs))
			rc = NW_ECLOSED;
	}
	for (size_t j = 0; j < t->n_columns; j++)
		share[j] /= (double)(pairs > 0 ? 2 * pairs : 1);
	return rc;
}
