/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/kernelwaits.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/hist.h"
#include "narrows/xmalloc.h"

/* Bytes lie somewhere always with this share of the time, and hardly ever with the other. */
static const double FULL = 0.7, EMPTY = 0.15, NOT_FULL = 0.4;
/* Less watched time, or fewer waits, say nothing. */
static const double COVERED_MIN_S = 1, COUNT_MIN = 20;
/* Connections with a smaller part of the bytes than this do not count beside the largest. */
static const double SMALL = 0.1;

/* Sent minus received bytes of the host of k, by a program's own account. */
static double
bytes_out(const struct evidence *e, const struct evidence_kernel *k, bool *told)
{
	const struct evidence_connection *c;
	double out = 0;

	*told = false;
	for (c = e->connections;
	     k->src != NULL && k->dst != NULL && c < e->connections + e->n_connections; c++) {
		bool own = c->host == k->host && c->sport == k->sport && c->dport == k->dport &&
		    strcmp(c->src, k->src) == 0 && strcmp(c->dst, k->dst) == 0;
		bool mirrored = c->sport == k->dport && c->dport == k->sport &&
		    strcmp(c->src, k->dst) == 0 && strcmp(c->dst, k->src) == 0;

		if (c->watched || (!own && !mirrored))
			continue;
		*told = true;
		if (own)
			return c->bytes_out - c->bytes_in;
		out = c->bytes_in - c->bytes_out;
	}
	return out;
}

int
kernelwaits_way(const struct evidence *e, const struct evidence_kernel *k)
{
	bool told;
	double out = bytes_out(e, k, &told);

	return !told ? 0 : out >= 0 ? 1 : -1;
}

struct sums {
	double count[EVIDENCE_WAITS], sum_s[EVIDENCE_WAITS], covered_s, max_s[EVIDENCE_WAITS];
	uint64_t *durations[EVIDENCE_WAITS];
};

static double
sum_of(const double *x, const struct nw_path *p)
{
	double sum = 0;
	size_t i;

	for (i = p->first; x != NULL && i < p->end && i < p->n_windows; i++)
		sum += x[i];
	return sum;
}

/* Adds a connection. The fullest series of the connection tells the watched time. */
static void
sums_add(struct sums *s, const struct evidence_kernel *k, const struct nw_path *p)
{
	double covered_s = 0;
	size_t i;
	int w;

	for (w = 0; w < EVIDENCE_WAITS; w++) {
		s->count[w] += sum_of(k->count[w], p);
		s->sum_s[w] += sum_of(k->sum_s[w], p);
		s->max_s[w] = fmax(s->max_s[w], k->max_s[w]);
		covered_s = fmax(covered_s, sum_of(k->covered_s[w], p));
		if (k->durations[w] == NULL)
			continue;
		if (s->durations[w] == NULL)
			s->durations[w] = xcalloc(NW_HIST_BUCKETS, sizeof(*s->durations[w]));
		for (i = 0; i < NW_HIST_BUCKETS; i++)
			s->durations[w][i] += k->durations[w][i];
	}
	s->covered_s += covered_s;
}

static double
quantile_s(const uint64_t *durations, double share)
{
	double lo, hi, all = 0, seen = 0;
	uint32_t i;

	for (i = 0; durations != NULL && i < NW_HIST_BUCKETS; i++)
		all += (double)durations[i];
	for (i = 0; all > 0 && i < NW_HIST_BUCKETS; i++) {
		seen += (double)durations[i];
		if (seen >= share * all) {
			nw_hist_bounds(i, &lo, &hi);
			return (lo + hi) / 2 * 1e-9;
		}
	}
	return NAN;
}

/* Waits of sockets follow one another, so each stands for the bytes of its own time: the mean of a
 * byte counts each as often as it is long, or Little's law would not hold. */
static double
mean_of_byte(const uint64_t *durations)
{
	double lo, hi, middle_s, sum = 0, squares = 0;
	uint32_t i;

	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		nw_hist_bounds(i, &lo, &hi);
		middle_s = (lo + hi) / 2 * 1e-9;
		sum += (double)durations[i] * middle_s;
		squares += (double)durations[i] * middle_s * middle_s;
	}
	return squares / sum;
}

static void
end_set(struct kernel_end *end, size_t host, struct sums *s)
{
	struct kernel_wait *k;
	int w;

	end->known = s->covered_s >= COVERED_MIN_S;
	end->host = host;
	end->covered_s = s->covered_s;
	for (w = 0; w < EVIDENCE_WAITS; w++) {
		k = &end->wait[w];
		k->count = s->count[w];
		k->mean_s = s->count[w] > 0 ? s->sum_s[w] / s->count[w] : NAN;
		if ((w == EVIDENCE_SEND_BUFFER || w == EVIDENCE_READ) && s->count[w] > 0 &&
		    s->durations[w] != NULL)
			k->mean_s = mean_of_byte(s->durations[w]);
		k->p50_s = quantile_s(s->durations[w], 0.5);
		k->p99_s = quantile_s(s->durations[w], 0.99);
		k->max_s = s->count[w] > 0 ? s->max_s[w] : NAN;
		k->share = s->covered_s > 0 ? s->sum_s[w] / s->covered_s : NAN;
		free(s->durations[w]);
	}
}

static void
end_find(
    const struct evidence *e, const struct nw_path *p, int way, size_t host, struct kernel_end *out)
{
	const struct evidence_kernel *k;
	struct sums s = { .covered_s = 0 };
	double most = 0;
	bool told;

	for (k = e->kernels; k < e->kernels + e->n_kernels; k++)
		if (k->host == host && kernelwaits_way(e, k) == way)
			most = fmax(most, fabs(bytes_out(e, k, &told)));
	for (k = e->kernels; k < e->kernels + e->n_kernels; k++)
		if (k->host == host && kernelwaits_way(e, k) == way &&
		    fabs(bytes_out(e, k, &told)) >= SMALL * most)
			sums_add(&s, k, p);
	end_set(out, host, &s);
}

/* The device of an end's host has a time of its own. */
static void
device_find(const struct evidence *e, const struct nw_path *p, struct kernel_end *end)
{
	const struct evidence_kernel *k;
	struct sums s = { .covered_s = 0 };
	struct kernel_end host = { .known = false };

	for (k = e->kernels; k < e->kernels + e->n_kernels; k++)
		if (k->host == end->host && k->src == NULL)
			sums_add(&s, k, p);
	end_set(&host, end->host, &s);
	end->wait[EVIDENCE_BLOCK] = host.wait[EVIDENCE_BLOCK];
}

static enum nw_says
say(const struct kernelwaits *k)
{
	const struct kernel_wait *out = &k->sender.wait[EVIDENCE_SEND_BUFFER],
				 *before = &k->sender.wait[EVIDENCE_QDISC],
				 *in = &k->receiver.wait[EVIDENCE_READ];
	bool sends = k->sender.known && out->count >= COUNT_MIN,
	     reads = k->receiver.known && in->count >= COUNT_MIN;

	if (reads && in->share >= FULL)
		return NW_SAYS_RECEIVING_END;
	/* bytes that always lie before the device wait for the device, or for its shaper */
	if (sends && (out->share >= FULL || before->share >= FULL) &&
	    (!reads || in->share <= NOT_FULL))
		return reads ? NW_SAYS_NETWORK : NW_SAYS_BEYOND_SENDER;
	if (sends && out->share <= EMPTY && (!reads || in->share <= NOT_FULL))
		return NW_SAYS_SENDING_END;
	return NW_SAYS_NOTHING;
}

void
kernelwaits_find(const struct evidence *e, const struct nw_path *p, struct kernelwaits *out)
{
	size_t i;

	*out = (struct kernelwaits){ .one_in = 1 };
	if (e->n_kernels == 0)
		return;
	if (p->has_sender) {
		end_find(e, p, 1, p->sender_host, &out->sender);
		device_find(e, p, &out->sender);
	}
	if (p->has_receiver) {
		end_find(e, p, -1, p->receiver_host, &out->receiver);
		device_find(e, p, &out->receiver);
	}
	for (i = 0; i < e->n_kernels; i++)
		out->one_in = fmax(out->one_in, e->kernels[i].one_in);
	out->says = say(out);
}
