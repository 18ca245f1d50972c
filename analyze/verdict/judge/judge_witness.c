/* SPDX-License-Identifier: BSD-3-Clause */
/* The witnesses of a judgement: independent sources of evidence, each with its opinion. */
#include "analyze/verdict/judge/judge_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/xmalloc.h"

/* Of 13 transfers whose receiving end was planted as the limit, the window was full for 65 % of the
 * time at least. With data in flight all the time and a window hardly ever full, the receiver does
 * not limit. */
static const double FLIGHT_FULL = 0.9, WINDOW_OPEN = 0.02;

static void
witness_add(struct judgement *j, enum nw_witness name, enum nw_says says, enum agreement agrees,
    struct claims *told)
{
	if (j->n_witnesses == JUDGE_WITNESSES_MAX) {
		claims_clear(told);
		return;
	}
	j->witnesses[j->n_witnesses++] =
	    (struct witness){ name, says, agrees, claims_phrase(told), *told };
}

static void
caliper_witness(struct judgement *j)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	struct claims told = { 0 };
	double worst_p = 0;
	size_t i;

	for (i = 0; i < j->path.n; i++)
		if (i != b->lowest && j->limit.tests[i].p_holm > worst_p)
			worst_p = j->limit.tests[i].p_holm;
	if (j->path.n < 2)
		return;
	CLAIM_SAY(&told, calipers_saw, b->lowest, claim_number((double)j->path.n),
	    claim_number((double)j->limit.n_windows),
	    claim_number(j->limit.tests[b->lowest].group.n),
	    claim_text(worst_p < 1e-12 ? "<" : "="), claim_number(fmax(worst_p, 1e-12)));
	witness_add(j, NW_WITNESS_CALIPERS, nw_says_stage(j->path.stage[b->lowest].kind),
	    j->limit.known ? AGREES : NO_OPINION, &told);
}

/* --- tcp: the sending kernel's own account of its waits --- */

/* Whether the receiving end limits, but never closed its window while data were in flight. */
static bool
is_open_window(const struct judgement *j)
{
	const struct resources *r = &j->resources;
	enum nw_stage_kind kind;

	if (!j->limit.known || !(r->in_flight >= FLIGHT_FULL && r->rwnd < WINDOW_OPEN))
		return false;
	kind = j->path.stage[j->limit.stage].kind;
	return kind == NW_STAGE_DISK_WRITE || kind == NW_STAGE_RECEIVER_HOST;
}

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

	if (is_open_window(j))
		return AGREES_NOT;
	if (says == NW_SAYS_NOTHING || !j->limit.known || j->combined)
		return NO_OPINION;
	/* A sender that paces itself keeps data in flight on a long path. */
	if (j->pace.found && says == NW_SAYS_NETWORK)
		return NO_OPINION;
	kind = j->path.stage[j->limit.stage].kind;
	at_sender = nw_stage_kind_reads(kind) || kind == NW_STAGE_SENDER_HOST;
	at_receiver = nw_stage_kind_writes(kind) || kind == NW_STAGE_RECEIVER_HOST;
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
	enum nw_says says = is_open_window(j) ? NW_SAYS_NETWORK : tcp_opinion(j);
	struct claims told = { 0 };

	if (!isfinite(r->in_flight))
		return;
	CLAIM_SAY(&told, tcp_saw, CLAIM_NO_STAGE, claim_number(r->in_flight), claim_number(r->rwnd),
	    claim_number(r->sndbuf), claim_number(r->resent));
	witness_add(j, NW_WITNESS_TCP, says, tcp_agreement(j, says), &told);
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
	sender = nw_stage_kind_reads(kind) || kind == NW_STAGE_SENDER_HOST;
	receiver = nw_stage_kind_writes(kind) || kind == NW_STAGE_RECEIVER_HOST;
	net = stage_kind_is_net(kind);
	switch (j->kernel.says) {
	case NW_SAYS_SENDING_END: return sender || kind == NW_STAGE_NET_READ ? AGREES : AGREES_NOT;
	case NW_SAYS_NETWORK: return net ? AGREES : AGREES_NOT;
	case NW_SAYS_BEYOND_SENDER: return sender ? AGREES_NOT : AGREES;
	default: return receiver || kind == NW_STAGE_NET_WRITE ? AGREES : AGREES_NOT;
	}
}

/* Adds "bytes lay in the send buffer of a for 93 % of the time, 4.1 ms on average". */
static void
lay_say(struct claims *told, const struct evidence *e, const struct kernel_end *end,
    enum evidence_wait wait, const char *where)
{
	const struct kernel_wait *w = &end->wait[wait];

	if (end->known && w->count > 0)
		CLAIM_SAY(told, bytes_lay, CLAIM_NO_STAGE, claim_text(told->n > 0 ? "; " : ""),
		    claim_text(where), claim_text(e->hosts[end->host].name),
		    claim_number(fmin(1, w->share)), claim_number(w->mean_s));
}

static void
starved_say(struct claims *told, const struct evidence *e, const struct kernel_end *end)
{
	const struct kernel_wait *w = &end->wait[EVIDENCE_RUN_QUEUE];

	if (told->n > 0 && end->known && w->share >= 0.1)
		CLAIM_SAY(told, end_starved, CLAIM_NO_STAGE, claim_text(e->hosts[end->host].name),
		    claim_number(fmin(1, w->share)));
}

static void
kernel_witness(struct judgement *j, const struct evidence *e)
{
	const struct kernelwaits *k = &j->kernel;
	struct claims told = { 0 };

	lay_say(&told, e, &k->sender, EVIDENCE_SEND_BUFFER, "send buffer");
	lay_say(&told, e, &k->receiver, EVIDENCE_READ, "receiving socket");
	starved_say(&told, e, &k->sender);
	starved_say(&told, e, &k->receiver);
	if (told.n > 0)
		witness_add(j, NW_WITNESS_KERNEL, k->says, kernel_agreement(j), &told);
}

/* --- hosts --- */

/* The host with the busiest device, and the share of the time; the number of hosts without any. */
static size_t
busiest_device(const struct evidence *e, double *most)
{
	double busy;
	size_t i, where = e->n_hosts;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].disk_busy, e->n_windows);
		if (!e->hosts[i].only_serves && isfinite(busy) &&
		    (where == e->n_hosts || busy > *most)) {
			*most = busy;
			where = i;
		}
	}
	return where;
}

/* Of storage, the server's devices alone are asked; without a measured server no device is. */
static bool
server_disk_witness(struct judgement *j, const struct evidence *e)
{
	struct claims told = { 0 };
	struct storage_server s;
	bool busy;

	if (!j->limit.known || !nw_stage_kind_is_storage(j->path.stage[j->limit.stage].kind))
		return false;
	if (!storage_server(j, e, &s) || !isfinite(s.disk_busy))
		return true;
	busy = s.disk_busy > 0.8;
	CLAIM_SAY(&told, server_disk_was_busy, CLAIM_NO_STAGE, claim_text(e->hosts[s.host].name),
	    claim_number(s.disk_busy));
	witness_add(j, NW_WITNESS_DISK, busy ? NW_SAYS_DISK : NW_SAYS_NOTHING,
	    busy ? AGREES : NO_OPINION, &told);
	return true;
}

/* The busy time of the busiest device: speaks for disk stages and against all others. */
static void
disk_witness(struct judgement *j, const struct evidence *e)
{
	enum nw_stage_kind kind =
	    j->limit.known ? j->path.stage[j->limit.stage].kind : NW_STAGE_COUNT;
	bool disk = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE;
	struct claims told = { 0 };
	double most = 0;
	size_t where;

	if (server_disk_witness(j, e) || (where = busiest_device(e, &most)) == e->n_hosts)
		return;
	CLAIM_SAY(&told, disk_was_busy, CLAIM_NO_STAGE, claim_text(e->hosts[where].name),
	    claim_number(most));
	/* An idle device proves nothing: the limit may be a quota, or a disk unseen by the
	 * host. */
	witness_add(j, NW_WITNESS_DISK, most > 0.8 ? NW_SAYS_DISK : NW_SAYS_NOTHING,
	    !j->limit.known || most <= 0.8 ? NO_OPINION
		: disk                     ? AGREES
					   : AGREES_NOT,
	    &told);
}

static void
cpu_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *waiter = cpu_waiter(j, e);
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];
	/* whether the waiting program is the limit */
	bool waits = waiter != NULL && j->limit.stage < j->path.n && !j->pace.found &&
	    starved_s(j, e, waiter) >= 0.3 * j->path.active_s && stage_kind_is_host(s->kind) &&
	    waiter->host == s->host;
	struct claims told = { 0 };
	double busy;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].cpu_busy, e->n_windows);
		if (!isfinite(busy))
			continue;
		CLAIM_SAY(&told, host_was_busy, CLAIM_NO_STAGE, claim_text(told.n > 0 ? ", " : ""),
		    claim_text(e->hosts[i].name), claim_number(busy));
	}
	if (waiter != NULL)
		CLAIM_SAY(&told, waited_for_processor, CLAIM_NO_STAGE,
		    claim_text(told.n > 0 ? "; " : ""), claim_text(waiter->program),
		    claim_number(fmin(waiter->cpu_wait_s / j->path.active_s, 1)));
	if (told.n > 0)
		witness_add(j, NW_WITNESS_CPU, waits ? NW_SAYS_PROCESSOR : NW_SAYS_NOTHING,
		    waits && j->limit.known ? AGREES : NO_OPINION, &told);
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
	struct claims told = { 0 };
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
	CLAIM_SAY(&told, port_counted, CLAIM_NO_STAGE, claim_text(worst->port),
	    claim_text(worst->name), claim_text(worst->serves), claim_number(worst->dropped),
	    claim_number(worst->errors), claim_number(worst->used));
	witness_add(j, NW_WITNESS_SWITCH, bad ? NW_SAYS_NETWORK : NW_SAYS_NOTHING,
	    switch_agreement(j, worst), &told);
}

/* --- active test: what the path carried beside the transfer --- */

/* A test speaks for the time of the session if the two are no further apart. */
static const double TEST_NEAR_S = 900;
/* The test had room beside the transfer's rate; its rate was that of the transfer. */
static const double TEST_ROOM = 1.5, TEST_ALIKE_LOW = 0.8, TEST_ALIKE_HIGH = 1.25;

/* Speaks for the network if test and transfer went alike, and against a full network if one stream
 * of TCP had room. A window or a buffer limits one connection, and not the path. */
static enum agreement
test_agreement(const struct judgement *j, const struct evidence_test *t)
{
	const double ratio = t->test.value[NW_TEST_bits_per_s] / 8 / j->bytes_per_s;
	const bool alike = ratio >= TEST_ALIKE_LOW && ratio <= TEST_ALIKE_HIGH,
		   single =
		       t->test.value[NW_TEST_streams] == 1 && !(t->test.value[NW_TEST_udp] > 0);

	if (!j->limit.known || j->pace.found || !(t->apart_s <= TEST_NEAR_S) || !isfinite(ratio))
		return NO_OPINION;
	if (!stage_kind_is_net(j->path.stage[j->limit.stage].kind))
		return ratio >= TEST_ROOM ? AGREES : alike ? AGREES_NOT : NO_OPINION;
	if (j->cause != NULL)
		return NO_OPINION;
	return alike ? AGREES : single && ratio >= TEST_ROOM ? AGREES_NOT : NO_OPINION;
}

static void
test_time_say(struct claims *told, const struct evidence_test *t)
{
	if (t->apart_s == 0)
		CLAIM_SAY(told, test_during, CLAIM_NO_STAGE);
	else if (t->is_before)
		CLAIM_SAY(told, test_before, CLAIM_NO_STAGE, claim_number(t->apart_s));
	else
		CLAIM_SAY(told, test_after, CLAIM_NO_STAGE, claim_number(t->apart_s));
}

/* What lifting every limit outside the path would have brought at the time of the test: TCP and UDP
 * carry at most what the path has room for, so the test's rate is a lower bound, for as long as the
 * test took. Beside the transfer the two shared the path, and the bound would be another. */
static void
test_room_say(struct claims *told, const struct judgement *j, const struct evidence_test *t)
{
	const double times = t->test.value[NW_TEST_bits_per_s] / 8 / j->bytes_per_s;

	if (isfinite(times) && times >= TEST_ROOM && t->apart_s > 0 && t->apart_s <= TEST_NEAR_S &&
	    t->test.end_wall_ns > t->test.start_wall_ns)
		CLAIM_SAY(told, test_room, CLAIM_NO_STAGE, claim_number(times),
		    claim_number((double)(t->test.end_wall_ns - t->test.start_wall_ns) * 1e-9));
}

static void
test_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_test *t, *throughput = NULL;
	enum agreement agrees = NO_OPINION;
	struct claims told = { 0 };
	bool net;

	for (t = e->tests; t < e->tests + e->n_tests; t++) {
		const double *v = t->test.value;

		if (v[NW_TEST_bits_per_s] > 0) {
			throughput = t;
			CLAIM_SAY(&told, test_carried, CLAIM_NO_STAGE,
			    claim_number(v[NW_TEST_bits_per_s] / 8),
			    claim_number(v[NW_TEST_streams]),
			    claim_text(v[NW_TEST_streams] == 1 ? "stream" : "streams"),
			    claim_text(v[NW_TEST_udp] > 0 ? " of UDP" : ""));
		} else
			CLAIM_SAY(&told, test_lost, CLAIM_NO_STAGE,
			    claim_text(told.n > 0 ? "; " : ""), claim_number(v[NW_TEST_loss]),
			    claim_number(v[NW_TEST_packets_sent]));
		test_time_say(&told, t);
		test_room_say(&told, j, t);
	}
	if (told.n == 0)
		return;
	if (throughput != NULL)
		agrees = test_agreement(j, throughput);
	net = j->limit.known && stage_kind_is_net(j->path.stage[j->limit.stage].kind);
	witness_add(j, NW_WITNESS_ACTIVE_TEST,
	    agrees == (net ? AGREES : AGREES_NOT) ? NW_SAYS_NETWORK : NW_SAYS_NOTHING, agrees,
	    &told);
}

/* The opinion of the published method: the lowest mean throughput of single operations. */
static void
per_call_witness(struct judgement *j, const struct evidence *e)
{
	double rate, lowest = INFINITY, rate_sum[NW_OP_COUNT] = { 0 }, ops[NW_OP_COUNT] = { 0 };
	struct claims told = { 0 };
	int op, which = -1;
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
	CLAIM_SAY(&told, calls_were_slow, CLAIM_NO_STAGE, claim_text(nw_op_name((enum nw_op)which)),
	    claim_number(lowest));
	witness_add(j, NW_WITNESS_PER_CALL, nw_says_stage(nw_op_stage((enum nw_op)which)),
	    NO_OPINION, &told);
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
	test_witness(j, e);
	if (!j->limit.known)
		per_call_witness(j, e);
}
