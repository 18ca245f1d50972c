/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/chain/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"

/* Least shares for a word: of waits and reads, and of time without a step. Most of a loop's time
 * that waits may have beyond the fetches. */
static const double WORD_MIN = 0.05, IDLE_MIN = 0.1, BEYOND_MAX = 0.05;

/* Seconds that a process waited for other nodes, without run queues; 0 of a process among
 * several of a node. */
static double
waited_s(const struct chain *c, size_t process)
{
	const struct nw_chain *g = &c->graph;
	const size_t node = c->node_of != NULL ? c->node_of[process] : SIZE_MAX;
	double sum = 0;
	size_t i;

	if (node >= g->n_nodes || g->node[node].n_processes != 1)
		return 0;
	for (i = 0; i < g->n_edges; i++)
		sum += g->edge[i].waiter == node && g->edge[i].holder < g->n_nodes
		    ? g->edge[i].share
		    : 0;
	return sum * g->node[node].at_work_s;
}

static double
read_s(const struct evidence *e, const struct evidence_process *p)
{
	const double *read = p->busy_s[NW_OP_DISK_READ];
	double sum = 0;
	size_t i;

	for (i = 0; read != NULL && i < e->n_windows; i++)
		sum += read[i];
	return sum;
}

static void
loop_tell(const struct evidence *e, struct steps_loop *l)
{
	const struct evidence_process *p = &e->processes[l->of->process];
	const char *program = p->program != NULL ? p->program : "A program",
		   *host = evidence_host_name(e, p->host, "a host");
	const double each_s = l->of->inside_s / l->of->n;

	if (l->of->by_calls)
		CLAIM_SAY(&l->told, steps_turned, CLAIM_NO_STAGE, claim_text(program),
		    claim_text(host), claim_number(l->of->n), claim_number(each_s),
		    claim_number(l->between_share));
	else
		CLAIM_SAY(&l->told, steps_took, CLAIM_NO_STAGE, claim_text(program),
		    claim_text(host), claim_number(l->of->n), claim_number(each_s),
		    claim_number(l->between_share));
	if (l->waited_share >= WORD_MIN && l->waited_share >= l->read_share)
		CLAIM_SAY(&l->told, steps_waited, CLAIM_NO_STAGE, claim_number(l->waited_share));
	else if (l->read_share >= WORD_MIN)
		CLAIM_SAY(&l->told, steps_read, CLAIM_NO_STAGE, claim_number(l->read_share));
	if (l->between_share >= IDLE_MIN && !l->of->by_calls)
		CLAIM_SAY(&l->told, steps_idle, CLAIM_NO_STAGE);
	l->sentence = claims_text(&l->told);
}

static bool
is_marked(const struct evidence *e, size_t process)
{
	size_t i;

	for (i = 0; i < e->n_steps; i++)
		if (e->steps[i].process == process && !e->steps[i].by_calls)
			return true;
	return false;
}

/* Whether a node of the chain is of workers of the process. */
static bool
has_workers(const struct evidence *e, const struct chain *c, size_t process)
{
	size_t i;

	for (i = 0; i < c->graph.n_nodes; i++)
		if (c->node[i].workers &&
		    evidence_is_parent(&e->processes[process], &e->processes[c->node[i].process]))
			return true;
	return false;
}

/* Without marks, calls tell of the steps of a loop with workers; not of a loop that waited longer
 * than the fetches took, for such a loop has other ways to wait. */
static bool
is_loop(const struct evidence *e, const struct chain *c, const struct evidence_steps *t)
{
	const double all = t->inside_s + t->between_s;

	if (!(t->n >= 1) || !(all > 0))
		return false;
	return !t->by_calls ||
	    (!is_marked(e, t->process) && has_workers(e, c, t->process) &&
		waited_s(c, t->process) <= t->between_s + BEYOND_MAX * all);
}

double
steps_fetched_share(const struct evidence *e, const struct chain *c, size_t process)
{
	const struct evidence_steps *t;
	double inside_s = 0, between_s = 0;

	for (t = e->steps; t < e->steps + e->n_steps; t++)
		if (t->process == process && t->by_calls && is_loop(e, c, t)) {
			inside_s += t->inside_s;
			between_s += t->between_s;
		}
	return between_s > 0 ? between_s / (inside_s + between_s) : 0;
}

void
steps_find(const struct evidence *e, const struct chain *c, struct steps *out)
{
	const struct evidence_steps *t;
	struct steps_loop *l;
	double all;

	memset(out, 0, sizeof(*out));
	out->loop = xcalloc(e->n_steps + 1, sizeof(*out->loop));
	for (t = e->steps; t < e->steps + e->n_steps; t++) {
		all = t->inside_s + t->between_s;
		if (!is_loop(e, c, t))
			continue;
		l = &out->loop[out->n++];
		l->of = t;
		l->between_share = t->between_s / all;
		l->waited_share = fmin(l->between_share, waited_s(c, t->process) / all);
		l->read_share = fmin(l->between_share, read_s(e, &e->processes[t->process]) / all);
		loop_tell(e, l);
	}
}

void
steps_clear_found(struct steps *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		claims_clear(&s->loop[i].told);
		free(s->loop[i].sentence);
	}
	free(s->loop);
	memset(s, 0, sizeof(*s));
}
