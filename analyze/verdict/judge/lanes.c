/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/lanes.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/xmalloc.h"

enum { LANES_MAX = 32 };
static const double SMALL_CHANGE = 0.01;

static void
add_to(double *to, const double *from, size_t n)
{
	size_t i;

	for (i = 0; from != NULL && i < n; i++)
		to[i] += from[i];
}

static void
lane_init(struct lane *l, const struct evidence *e, size_t host, enum nw_op op, double bytes)
{
	size_t n = e->n_windows, f, i;

	*l = (struct lane){ .host = host,
		.op = op,
		.total_bytes = bytes,
		.store = xcalloc(5 * n, sizeof(double)) };
	l->bytes = l->store;
	l->ops = l->bytes + n;
	l->rate_sum = l->ops + n;
	l->rate_sd_sum = l->rate_sum + n;
	l->held_s = l->rate_sd_sum + n;
	for (f = 0; f < e->n_processes; f++) {
		const struct evidence_process *process = &e->processes[f];

		if (process->host != host || process->bytes[op] == NULL)
			continue;
		add_to(l->bytes, process->bytes[op], n);
		add_to(l->ops, process->ops[op], n);
		add_to(l->rate_sum, process->rate_sum[op], n);
		add_to(l->rate_sd_sum, process->rate_sd_sum[op], n);
		for (i = 0; i < n; i++)
			l->held_s[i] =
			    fmax(l->held_s[i], process->busy_s[op][i] + process->wait_s[op][i]);
	}
}

void
lanes_clear(struct lanes *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->lane[i].store);
	free(l->lane);
}

static double
total_bytes(const struct evidence *e, size_t host, enum nw_op op)
{
	double sum = 0;
	size_t f, i;

	for (f = 0; f < e->n_processes; f++)
		for (i = 0; e->processes[f].host == host && e->processes[f].bytes[op] != NULL &&
		     i < e->n_windows;
		     i++)
			sum += e->processes[f].bytes[op][i];
	return sum;
}

void
lanes_find(const struct evidence *e, struct lanes *out)
{
	double *total = xcalloc(e->n_hosts * NW_OP_COUNT + 1, sizeof(*total)), most = 0;
	size_t i, n = e->n_hosts * NW_OP_COUNT;

	*out = (struct lanes){ .lane = xcalloc(LANES_MAX, sizeof(struct lane)) };
	for (i = 0; i < n; i++)
		most = fmax(most,
		    total[i] = total_bytes(e, i / NW_OP_COUNT, (enum nw_op)(i % NW_OP_COUNT)));
	for (i = 0; i < n && out->n < LANES_MAX; i++)
		if (total[i] > 0 && total[i] >= SMALL_CHANGE * most)
			lane_init(&out->lane[out->n++], e, i / NW_OP_COUNT,
			    (enum nw_op)(i % NW_OP_COUNT), total[i]);
	free(total);
}

void
lanes_delivered(const struct lanes *l, const struct nw_path *p, double *bytes)
{
	double total[NW_OP_COUNT] = { 0 };
	enum nw_op op;
	size_t i;

	for (i = 0; i < l->n; i++)
		total[l->lane[i].op] += l->lane[i].total_bytes;
	op = p->has_receiver && !(p->end_at_pipe && total[NW_OP_NET_READ] < total[NW_OP_NET_WRITE])
	    ? NW_OP_NET_READ
	    : p->has_sender                                     ? NW_OP_NET_WRITE
	    : total[NW_OP_DISK_WRITE] >= total[NW_OP_DISK_READ] ? NW_OP_DISK_WRITE
								: NW_OP_DISK_READ;
	for (i = 0; i < l->n; i++)
		if (l->lane[i].op == op)
			add_to(bytes, l->lane[i].bytes, p->n_windows);
}
