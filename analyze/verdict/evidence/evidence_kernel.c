/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of waiting times inside kernels, as reported by magnet. Hosts may send anything:
 * impossible numbers are left out. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/eventtype.h"
#include "narrows/hist.h"
#include "narrows/xmalloc.h"

/* Bounds of a row: slots of sampling, seconds of an interval. */
static const double ONE_IN_MAX = 64, WINDOW_MAX_S = 3600;
static const double NS = 1e-9;

const char *const evidence_wait_names[EVIDENCE_WAITS] = { "send_buffer", "qdisc", "driver",
	"receive", "read", "run_queue", "block" };

static const char *
text_of(const json_t *subject, const char *key)
{
	return json_string_value(json_object_get(subject, key));
}

static unsigned
port_of(const json_t *subject, const char *key)
{
	return (unsigned)json_integer_value(json_object_get(subject, key)) & 0xffff;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The entry of a connection, or of a host; n_kernels if there is no room. */
static size_t
kernel_index(struct evidence *e, size_t host, const json_t *subject)
{
	const char *src = text_of(subject, "src"), *dst = text_of(subject, "dst");
	unsigned sport = port_of(subject, "sport"), dport = port_of(subject, "dport");
	struct evidence_kernel *k;
	size_t i;

	for (i = 0; i < e->n_kernels; i++) {
		k = &e->kernels[i];
		if (k->host == host && k->sport == sport && k->dport == dport &&
		    same_text(k->src, src) && same_text(k->dst, dst))
			return i;
	}
	if (e->n_kernels == EVIDENCE_LIST_MAX)
		return e->n_kernels;
	e->kernels = xreallocarray(e->kernels, e->n_kernels + 1, sizeof(*e->kernels));
	k = &e->kernels[e->n_kernels];
	memset(k, 0, sizeof(*k));
	k->host = host;
	k->src = src != NULL ? xstrdup(src) : NULL;
	k->dst = dst != NULL ? xstrdup(dst) : NULL;
	k->sport = sport;
	k->dport = dport;
	k->one_in = 1;
	return e->n_kernels++;
}

void
source_kernel(struct loader *l, struct source *s, const char *event_type, const json_t *subject)
{
	const char *name = event_type + strlen(NW_TYPE_KERNEL ":");
	size_t i;

	if (!nw_type_begins(event_type, NW_TYPE_KERNEL ":"))
		return;
	for (i = 0; i < EVIDENCE_WAITS && strcmp(evidence_wait_names[i], name) != 0; i++)
		continue;
	if (i == EVIDENCE_WAITS ||
	    (s->item = kernel_index(l->e, s->host, subject)) == l->e->n_kernels)
		return;
	s->kind = SOURCE_KERNEL;
	s->wait = (enum evidence_wait)i;
}

static void
durations_add(struct evidence_kernel *k, enum evidence_wait w, const struct row *r)
{
	if (r->b->hist == NULL || r->b->hist[r->i] == NULL)
		return;
	if (k->durations[w] == NULL)
		k->durations[w] = xcalloc(NW_HIST_BUCKETS, sizeof(*k->durations[w]));
	(void)nw_hist_decode_add(r->b->hist[r->i], r->b->hist_len[r->i], k->durations[w]);
}

void
kernel_row(struct loader *l, const struct row *r)
{
	enum evidence_wait w = l->source->wait;
	double count = row_cell(r, r->c->count), sum_s = row_cell(r, r->c->sum_d),
	       max_s = row_cell(r, r->c->max_d), window_s = row_cell(r, r->c->window),
	       one_in = row_cell(r, r->c->one_in);
	struct span s = { .window_s = window_s, .end_wall_ns = r->b->t_wall_ns[r->i] };
	struct evidence_kernel *k;

	if (!l->filling || !(count >= 1 && count < 1e15) || !(sum_s >= 0 && sum_s < 1e9) ||
	    !(window_s > 0 && window_s <= WINDOW_MAX_S) || !(one_in >= 1 && one_in <= ONE_IN_MAX))
		return;
	k = &l->e->kernels[l->source->item];
	s.begin_wall_ns = s.end_wall_ns - (int64_t)(window_s / NS);
	grid_spread(l->e, grid_array(l->e, &k->count[w], 0), &s, count * one_in);
	grid_spread(l->e, grid_array(l->e, &k->sum_s[w], 0), &s, sum_s * one_in);
	grid_spread(l->e, grid_array(l->e, &k->covered_s[w], 0), &s, window_s);
	k->max_s[w] = fmax(k->max_s[w], known_or_0(max_s));
	k->one_in = fmax(k->one_in, one_in);
	durations_add(k, w, r);
}

void
kernels_clear(struct evidence *e)
{
	struct evidence_kernel *k;
	int w;

	for (k = e->kernels; k < e->kernels + e->n_kernels; k++) {
		free(k->src);
		free(k->dst);
		for (w = 0; w < EVIDENCE_WAITS; w++) {
			free(k->count[w]);
			free(k->sum_s[w]);
			free(k->covered_s[w]);
			free(k->durations[w]);
		}
	}
	free(e->kernels);
}
