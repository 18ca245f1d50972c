/* SPDX-License-Identifier: BSD-3-Clause */
/* A caliper window as a data document: the names and units of the original calipers, then our
 * own. */
#include "host/lib/caliper_doc.h"

#include <math.h>

#include "narrows/provider.h"

#define S_PER_NS 1e-9

const char *const caliper_doc_names[CALIPER_FIELDS] = { "sum_v", "min_v", "max_v", "mean_v", "sd_v",
	"sum_r", "min_r", "max_r", "mean_r", "sd_r", "sum_g", "min_g", "max_g", "mean_g", "sd_g",
	"sum_d", "min_d", "max_d", "mean_d", "sd_d", "count", "count_r", "dur", "dur_inst",
	"window", "busy", "busy_max", "wait", "threads", "clamped" };

/* A value without meaning is NaN, which the encoder leaves out: the originals send DBL_MAX and
 * -1 instead. */
static double *
put_sum(double *at, const struct nw_caliper_sum *s, uint64_t n, double unit)
{
	*at++ = s->sum * unit;
	*at++ = n > 0 ? s->min * unit : NAN;
	*at++ = n > 0 ? s->max * unit : NAN;
	*at++ = n > 0 ? s->mean * unit : NAN;
	*at++ = n > 1 ? sqrt(s->m2 / (double)(n - 1)) * unit : NAN;
	return at;
}

size_t
caliper_doc_fill(const struct nw_caliper_window *w, double values[CALIPER_FIELDS],
    uint8_t hist[NW_HIST_ENCODED_MAX_BYTES])
{
	/* unsigned: numbers of a hostile program may be anything */
	int64_t dur_ns =
	    (int64_t)((uint64_t)w->last_end_mono_ns - (uint64_t)w->first_begin_mono_ns);
	double *at = values;

	at = put_sum(at, &w->v, w->n, 1);
	at = put_sum(at, &w->r, w->n_rate, 1);
	at = put_sum(at, &w->g, w->n_rate, 1);
	at = put_sum(at, &w->d, w->n, S_PER_NS);
	*at++ = (double)w->n;
	*at++ = (double)w->n_rate;
	*at++ = w->n > 0 ? (double)dur_ns * S_PER_NS : 0;
	*at++ = w->d.sum * S_PER_NS;
	*at++ = (double)w->window_ns * S_PER_NS;
	*at++ = (double)w->busy_ns * S_PER_NS;
	*at++ = (double)w->busy_max_ns * S_PER_NS;
	*at++ = (double)w->wait_ns * S_PER_NS;
	*at++ = (double)w->threads;
	*at++ = (double)w->clamped;
	return w->hist != NULL ? nw_hist_encode(hist, w->hist) : 0;
}

int
nw_provider_caliper(
    struct nw_provider *p, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w)
{
	uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	double values[CALIPER_FIELDS];
	size_t hist_len = caliper_doc_fill(w, values, hist);

	return nw_provider_data(p, mid, t_wall_ns, caliper_doc_names, values, CALIPER_FIELDS,
	    hist_len > 0 ? hist : NULL, hist_len);
}
