/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/classes.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/hist.h"

static const double NS = 1e-9;

/* The buckets in use, in nanoseconds. */
static size_t
buckets_fill(const uint64_t counts[NW_HIST_BUCKETS], struct nw_density_bucket *out)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < NW_HIST_BUCKETS; i++)
		if (counts[i] > 0) {
			nw_hist_bounds(i, &out[n].low, &out[n].high);
			out[n++].count = (double)counts[i];
		}
	return n;
}

static int
op_classes_find(const struct evidence_durations *d, const struct classes_params *params,
    struct nw_density_bucket *buckets, struct op_classes *out)
{
	struct nw_density_options o = nw_density_defaults;
	size_t n = buckets_fill(d->counts, buckets), i;
	double step = 1;
	int rc;

	*out = (struct op_classes){ .of = d };
	for (i = 0; i < n; i++)
		out->n += buckets[i].count;
	out->density.status = NW_STATUS_INSUFFICIENT;
	if (out->n < CLASSES_OPS_MIN)
		return NW_OK;
	o.adjust = params->adjust;
	o.grid = 0;
	if ((rc = nw_density_clock_step(buckets, n, 1, &step)) < 0 ||
	    (rc = nw_density_buckets(buckets, n, step, &o, &out->density)) < 0 ||
	    (rc = nw_classes_test(&out->density, buckets, n, step, params->peak_min, params->cutoff,
		 &out->classes)) < 0)
		return rc;
	nw_classes_count_buckets(&out->classes, &out->density, buckets, n, step);
	out->clock_step_s = step * NS;
	out->sum_s = out->classes.outlier_sum * NS;
	for (i = 0; i < out->classes.n; i++)
		out->sum_s += out->classes.class[i].sum * NS;
	return NW_OK;
}

static int
most_first(const void *a, const void *b)
{
	const struct op_classes *x = a, *y = b;

	if (x->sum_s != y->sum_s)
		return x->sum_s < y->sum_s ? 1 : -1;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->of > y->of) - (x->of < y->of);
}

int
classes_find(
    const struct evidence *e, const struct classes_params *params, struct op_classes_list *out)
{
	struct nw_density_bucket *buckets;
	int rc = NW_OK;

	*out = (struct op_classes_list){ 0 };
	if (e->n_durations == 0)
		return NW_OK;
	buckets = xcalloc(NW_HIST_BUCKETS, sizeof(*buckets));
	out->list = xcalloc(e->n_durations, sizeof(*out->list));
	while (out->n < e->n_durations && rc == NW_OK) {
		rc = op_classes_find(&e->durations[out->n], params, buckets, &out->list[out->n]);
		out->n++;
	}
	free(buckets);
	if (rc < 0)
		classes_clear(out);
	else
		qsort(out->list, out->n, sizeof(*out->list), most_first);
	return rc;
}

void
classes_clear(struct op_classes_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		nw_density_clear(&l->list[i].density);
		nw_classes_clear(&l->list[i].classes);
	}
	free(l->list);
	memset(l, 0, sizeof(*l));
}
