/* SPDX-License-Identifier: BSD-3-Clause */
/* The witnesses of a judgement: independent sources of evidence, each with its opinion. */
#include "analyze/verdict/judge/judge_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/xmalloc.h"

static void
witness_add(struct judgement *j, enum nw_witness name, enum nw_says says, enum agreement agrees,
    char *detail)
{
	if (j->n_witnesses == JUDGE_WITNESSES_MAX) {
		free(detail);
		return;
	}
	j->witnesses[j->n_witnesses++] = (struct witness){ name, says, agrees, detail };
}

static void
caliper_witness(struct judgement *j)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	double worst_p = 0;
	size_t i;

	for (i = 0; i < j->path.n; i++)
		if (i != b->lowest && j->limit.tests[i].p_holm > worst_p)
			worst_p = j->limit.tests[i].p_holm;
	if (j->path.n < 2)
		return;
	witness_add(j, NW_WITNESS_CALIPERS, nw_says_stage(j->path.stage[b->lowest].kind),
	    j->limit.known ? AGREES : NO_OPINION,
	    xasprintf(
		"held the bytes longest of %zu stages over %zu windows (%.0f effective), p %s %.2g",
		j->path.n, j->limit.n_windows, j->limit.tests[b->lowest].group.n,
		worst_p < 1e-12 ? "<" : "=", worst_p < 1e-12 ? 1e-12 : worst_p));
}

/* --- tcp: the sending kernel's own account of its waits --- */

/* Page faults inside send(2) leave segments half filled, and so in flight: no opinion. */
static enum nw_says
tcp_opinion(const struct judgement *j)
{
	enum nw_says says = resources_opinion(&j->resources);
	bool mapped = j->path.n > 0 && j->path.stage[j->limit.stage].mapped;

	return mapped && says == NW_SAYS_NETWORK ? NW_SAYS_NOTHING : says;
}

/* The meaning of the opinion for the stage named. An opinion that decided is no evidence. */
static enum agreement
tcp_agreement(const struct judgement *j, enum nw_says says)
{
	enum nw_stage_kind kind;
	bool at_sender, at_receiver;

	if (says == NW_SAYS_NOTHING || !j->limit.known || j->combined)
		return NO_OPINION;
	kind = j->path.stage[j->limit.stage].kind;
	at_sender = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_SENDER_HOST;
	at_receiver = kind == NW_STAGE_DISK_WRITE || kind == NW_STAGE_RECEIVER_HOST;
	/* A slow receiver keeps data in flight, too. */
	if (says == NW_SAYS_NETWORK)
		return at_sender ? AGREES_NOT : at_receiver ? NO_OPINION : AGREES;
	if (says == NW_SAYS_RECEIVING_END)
		/* where both ends wait, the window is too small for the round trip */
		return !at_sender && kind != NW_STAGE_HOST ? AGREES : AGREES_NOT;
	return at_sender || kind == NW_STAGE_NET_READ ? AGREES : AGREES_NOT;
}

static void
tcp_witness(struct judgement *j)
{
	const struct resources *r = &j->resources;
	enum nw_says says = tcp_opinion(j);

	if (!isfinite(r->in_flight))
		return;
	witness_add(j, NW_WITNESS_TCP, says, tcp_agreement(j, says),
	    xasprintf("the sender's kernel had data in flight for %.0f %% of the time, and was "
		      "held by the receive window for %.0f %%, by the send buffer for %.0f %%; "
		      "%.0f retransmissions",
		100 * r->in_flight, 100 * r->rwnd, 100 * r->sndbuf, r->resent));
}

/* --- kernel: where bytes lay below the programs --- */

/* Where the opinion itself decided, it is no evidence. */
static enum agreement
kernel_agreement(const struct judgement *j)
{
	enum nw_stage_kind kind;
	bool sender, receiver, net;

	if (j->kernel.says == NW_SAYS_NOTHING || !j->limit.known || j->by_kernel)
		return NO_OPINION;
	kind = j->path.stage[j->limit.stage].kind;
	sender = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_SENDER_HOST;
	receiver = kind == NW_STAGE_DISK_WRITE || kind == NW_STAGE_RECEIVER_HOST;
	net = stage_kind_is_net(kind);
	switch (j->kernel.says) {
	case NW_SAYS_SENDING_END: return sender || kind == NW_STAGE_NET_READ ? AGREES : AGREES_NOT;
	case NW_SAYS_NETWORK: return net ? AGREES : AGREES_NOT;
	case NW_SAYS_BEYOND_SENDER: return sender ? AGREES_NOT : AGREES;
	default: return receiver || kind == NW_STAGE_NET_WRITE ? AGREES : AGREES_NOT;
	}
}

/* Adds "bytes lay in the send buffer of a for 93 % of the time, 4.1 ms on average". */
static char *
lay_text(char *before, const struct evidence *e, const struct kernel_end *end,
    enum evidence_wait wait, const char *where)
{
	const struct kernel_wait *w = &end->wait[wait];
	char *text;

	if (!end->known || !(w->count > 0))
		return before;
	text = xasprintf("%s%sbytes lay in the %s of %s for %.0f %% of the time, %s on average",
	    before != NULL ? before : "", before != NULL ? "; " : "", where,
	    e->hosts[end->host].name, 100 * fmin(1, w->share), fmt_si(w->mean_s, "s").s);
	free(before);
	return text;
}

static char *
starved_text(char *before, const struct evidence *e, const struct kernel_end *end)
{
	const struct kernel_wait *w = &end->wait[EVIDENCE_RUN_QUEUE];
	char *text;

	if (before == NULL || !end->known || !(w->share >= 0.1))
		return before;
	text = xasprintf("%s; the program of %s waited for a processor for %.0f %%", before,
	    e->hosts[end->host].name, 100 * fmin(1, w->share));
	free(before);
	return text;
}

static void
kernel_witness(struct judgement *j, const struct evidence *e)
{
	const struct kernelwaits *k = &j->kernel;
	char *text = lay_text(NULL, e, &k->sender, EVIDENCE_SEND_BUFFER, "send buffer");

	text = lay_text(text, e, &k->receiver, EVIDENCE_READ, "receiving socket");
	text = starved_text(text, e, &k->sender);
	text = starved_text(text, e, &k->receiver);
	if (text != NULL)
		witness_add(j, NW_WITNESS_KERNEL, k->says, kernel_agreement(j), text);
}

/* --- hosts --- */

double
mean_known(const double *x, size_t n)
{
	double sum = 0;
	size_t i, k = 0;

	for (i = 0; x != NULL && i < n; i++)
		if (isfinite(x[i])) {
			sum += x[i];
			k++;
		}
	return k > 0 ? sum / (double)k : NAN;
}

/* The busy time of the busiest device: speaks for disk stages and against all others. */
static void
disk_witness(struct judgement *j, const struct evidence *e)
{
	enum nw_stage_kind kind =
	    j->limit.known ? j->path.stage[j->limit.stage].kind : NW_STAGE_COUNT;
	bool disk = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE;
	double busy, most = 0;
	size_t i, where = 0;
	bool have = false;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].disk_busy, e->n_windows);
		if (isfinite(busy) && (!have || busy > most)) {
			most = busy;
			where = i;
			have = true;
		}
	}
	if (!have)
		return;
	/* An idle device proves nothing: the limit may be a quota, or a disk unseen by the
	 * host. */
	witness_add(j, NW_WITNESS_DISK, most > 0.8 ? NW_SAYS_DISK : NW_SAYS_NOTHING,
	    !j->limit.known || most <= 0.8 ? NO_OPINION
		: disk                     ? AGREES
					   : AGREES_NOT,
	    xasprintf("the busiest device, on %s, was busy %.0f %% of the time",
		e->hosts[where].name, 100 * most));
}

static void
cpu_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *waiter = cpu_waiter(j, e);
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];
	/* whether the waiting program is the limit */
	bool waits = waiter != NULL && j->limit.stage < j->path.n &&
	    starved_s(j, e, waiter) >= 0.3 * j->path.active_s && stage_kind_is_host(s->kind) &&
	    waiter->host == s->host;
	char *text = NULL, *more;
	double busy;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].cpu_busy, e->n_windows);
		if (!isfinite(busy))
			continue;
		more = xasprintf("%s%s%s %.0f %% busy", text != NULL ? text : "",
		    text != NULL ? ", " : "", e->hosts[i].name, 100 * busy);
		free(text);
		text = more;
	}
	if (waiter != NULL) {
		more = xasprintf("%s%s%s waited for a processor %.0f %% of the time",
		    text != NULL ? text : "", text != NULL ? "; " : "", waiter->program,
		    100 * fmin(waiter->cpu_wait_s / j->path.active_s, 1));
		free(text);
		text = more;
	}
	if (text != NULL)
		witness_add(j, NW_WITNESS_CPU, waits ? NW_SAYS_PROCESSOR : NW_SAYS_NOTHING,
		    waits && j->limit.known ? AGREES : NO_OPINION, text);
}

/* --- switch: what the network itself counted --- */

/* Drops slow a sender down wherever they happen. A hardly used port without drops says nothing
 * of the rest of the network. */
static enum agreement
switch_agreement(const struct judgement *j, const struct evidence_switch *s)
{
	enum nw_stage_kind kind;

	if ((s->dropped + s->errors == 0 && s->used < 0.9) || !j->limit.known)
		return NO_OPINION;
	kind = j->path.stage[j->limit.stage].kind;
	if (stage_kind_is_net(kind))
		return AGREES;
	return s->used >= 0.9 ? AGREES_NOT : NO_OPINION;
}

static void
switch_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_switch *worst = NULL, *s;
	bool bad;
	size_t i;

	for (i = 0; i < e->n_switches; i++) {
		s = &e->switches[i];
		if (s->rows < 2)
			continue;
		if (worst == NULL || s->dropped + s->errors > worst->dropped + worst->errors ||
		    (s->dropped + s->errors == worst->dropped + worst->errors &&
			s->used > worst->used))
			worst = s;
	}
	if (worst == NULL)
		return;
	bad = worst->dropped + worst->errors > 0 || worst->used >= 0.9;
	witness_add(j, NW_WITNESS_SWITCH, bad ? NW_SAYS_NETWORK : NW_SAYS_NOTHING,
	    switch_agreement(j, worst),
	    xasprintf("port %s of %s, of %s, dropped %.0f packets, had %.0f errors, and was used "
		      "up to %.0f %%",
		worst->port, worst->name, worst->serves, worst->dropped, worst->errors,
		100 * worst->used));
}

/* The opinion of the published method: the lowest mean throughput of single operations. */
static void
per_call_witness(struct judgement *j, const struct evidence *e)
{
	double rate, lowest = INFINITY, rate_sum[NW_OP_COUNT] = { 0 }, ops[NW_OP_COUNT] = { 0 };
	int op, which = -1;
	char *text;
	size_t f, i;

	for (f = 0; f < e->n_processes; f++)
		for (op = 0; op < NW_OP_COUNT; op++)
			for (i = 0; e->processes[f].ops[op] != NULL && i < e->n_windows; i++) {
				rate_sum[op] += e->processes[f].rate_sum[op][i];
				ops[op] += e->processes[f].ops[op][i];
			}
	for (op = 0; op < NW_OP_COUNT; op++) {
		rate = ops[op] > 0 ? rate_sum[op] / ops[op] : 0;
		if (rate > 0 && rate < lowest) {
			lowest = rate;
			which = op;
		}
	}
	if (which < 0)
		return;
	text = judge_rate_text(lowest);
	witness_add(j, NW_WITNESS_PER_CALL, nw_says_stage(nw_op_stage((enum nw_op)which)),
	    NO_OPINION,
	    xasprintf(
		"lowest mean throughput of single calls: %s at %s; a call counts the waits for "
		"its peer as its own, and waits in poll not at all",
		nw_op_name((enum nw_op)which), text));
	free(text);
}

void
witnesses_hear(struct judgement *j, const struct evidence *e)
{
	caliper_witness(j);
	tcp_witness(j);
	kernel_witness(j, e);
	disk_witness(j, e);
	cpu_witness(j, e);
	switch_witness(j, e);
	if (!j->limit.known)
		per_call_witness(j, e);
}
