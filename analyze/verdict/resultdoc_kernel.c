/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the result document about waiting times inside kernels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/resultdoc_in.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

/* The waits of each end, and whether bytes wait there on their way. */
static const struct {
	enum evidence_wait wait;
	bool sending, receiving, on_the_way;
	const char *words;
} shown[] = {
	{ EVIDENCE_SEND_BUFFER, true, false, true, "in the send buffer" },
	{ EVIDENCE_QDISC, true, false, true, "in the queueing discipline" },
	{ EVIDENCE_DRIVER, true, false, true, "in the driver" },
	{ EVIDENCE_RECEIVE, false, true, true, "from the interrupt to the socket" },
	{ EVIDENCE_READ, false, true, true, "in the receiving socket" },
	{ EVIDENCE_RUN_QUEUE, true, true, false, "of the program for a processor" },
	{ EVIDENCE_BLOCK, true, true, false, "of the host's requests for block devices" },
};
enum { N_SHOWN = sizeof(shown) / sizeof(shown[0]) };

/* Sums of all connections of an end's host in that direction; of devices, of the whole host. */
static json_t *
over_time(const struct evidence *e, size_t host, int way, enum evidence_wait wait)
{
	double *sum = xcalloc(e->n_windows + 1, 2 * sizeof(*sum)), *count = sum + e->n_windows;
	const struct evidence_kernel *k;
	json_t *list;
	size_t i;

	for (k = e->kernels; k < e->kernels + e->n_kernels; k++) {
		if (k->host != host || k->sum_s[wait] == NULL ||
		    (wait != EVIDENCE_BLOCK && kernelwaits_way(e, k) != way))
			continue;
		for (i = 0; i < e->n_windows; i++) {
			sum[i] += k->sum_s[wait][i];
			count[i] += k->count[wait][i];
		}
	}
	list = resultdoc_timeline_ratio(e, sum, count);
	free(sum);
	return list;
}

/* Mean time of a byte there on its way through the end; 0 where no bytes wait, or nothing is
 * known. */
static double
on_the_way_s(const struct kernel_end *end, bool sending, size_t i)
{
	const double s = end->known ? end->wait[shown[i].wait].mean_s : 0;

	return shown[i].on_the_way && (sending ? shown[i].sending : shown[i].receiving) &&
		isfinite(s)
	    ? s
	    : 0;
}

static double
all_s(const struct kernelwaits *k)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < N_SHOWN; i++)
		sum += on_the_way_s(&k->sender, true, i) + on_the_way_s(&k->receiver, false, i);
	return sum;
}

static json_t *
wait_doc(const struct evidence *e, const struct kernel_end *end, int way, size_t i, double whole_s)
{
	const struct kernel_wait *w = &end->wait[shown[i].wait];
	json_t *o = json_object();

	put_text(o, KEY_kernel_wait_end, way > 0 ? "sending" : "receiving");
	put_text(o, KEY_kernel_wait_host, e->hosts[end->host].name);
	put_text(o, KEY_kernel_wait_wait, evidence_wait_names[shown[i].wait]);
	put_text(o, KEY_kernel_wait_words, shown[i].words);
	put_real(o, KEY_kernel_wait_count, round(w->count));
	put_real(o, KEY_kernel_wait_share,
	    shown[i].on_the_way ? on_the_way_s(end, way > 0, i) / whole_s : NAN);
	put_real(o, KEY_kernel_wait_at_once, w->share);
	put_real(o, KEY_kernel_wait_mean_s, w->mean_s);
	put_real(o, KEY_kernel_wait_p50_s, w->p50_s);
	put_real(o, KEY_kernel_wait_p99_s, w->p99_s);
	put_real(o, KEY_kernel_wait_max_s, w->max_s);
	result_set(o, KEY_kernel_wait_over_time, over_time(e, end->host, way, shown[i].wait));
	return o;
}

static void
end_add(
    json_t *list, const struct evidence *e, const struct kernel_end *end, int way, double whole_s)
{
	size_t i;

	for (i = 0; end->known && i < N_SHOWN; i++)
		if ((way > 0 ? shown[i].sending : shown[i].receiving) &&
		    end->wait[shown[i].wait].count > 0)
			json_array_append_new(list, wait_doc(e, end, way, i, whole_s));
}

/* What bytes wait for that lie before a full receiving socket: the window is closed. */
static const char *
cause_of(const struct kernelwaits *k, const struct kernel_end *at)
{
	return k->says == NW_SAYS_RECEIVING_END && at == &k->sender
	    ? ", behind the receiving socket, which was never empty: the bytes waited for the "
	      "reader"
	    : "";
}

/* "Below the programs bytes waited 4.2 ms on average, most of it (97 %) in the send buffer of
 * a." */
static char *
sentence_of(const struct evidence *e, const struct kernelwaits *k, double whole_s)
{
	const struct kernel_end *ends[2] = { &k->sender, &k->receiver }, *at = NULL;
	double most_s = 0, s;
	const char *words = "";
	size_t i, n;

	for (n = 0; n < 2; n++)
		for (i = 0; i < N_SHOWN; i++) {
			s = on_the_way_s(ends[n], n == 0, i);
			if (s > 0 && s >= most_s) {
				most_s = s;
				at = ends[n];
				words = shown[i].words;
			}
		}
	if (at == NULL)
		return NULL;
	return xasprintf(
	    "Below the programs bytes waited %s on average, %s of it (%.0f %%) %s of %s%s%s.",
	    fmt_si(whole_s, "s").s, most_s > whole_s / 2 ? "most" : "the largest part",
	    100 * most_s / whole_s, words, e->hosts[at->host].name, cause_of(k, at),
	    k->sender.known && k->receiver.known ? "" : "; only one end was watched");
}

json_t *
resultdoc_kernel(const struct analysis *a)
{
	const struct kernelwaits *k = &a->judgement.kernel;
	const double whole_s = all_s(k);
	char *sentence = sentence_of(&a->evidence, k, whole_s);
	json_t *o, *waits;

	if (sentence == NULL)
		return json_null();
	o = json_object();
	waits = json_array();
	end_add(waits, &a->evidence, &k->sender, 1, whole_s);
	end_add(waits, &a->evidence, &k->receiver, -1, whole_s);
	put_text(o, KEY_kernel_sentence, sentence);
	put_text(o, KEY_kernel_says, nw_says_name(k->says));
	put_real(o, KEY_kernel_one_in, k->one_in);
	result_set(o, KEY_kernel_waits, waits);
	free(sentence);
	return o;
}
