/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of nodes, and the sentence: waits from the far ends up to the limit, then its work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/chain/steps.h"
#include "narrows/xmalloc.h"

/* Links of the chain in a sentence; least shares of a wait and of a use for a word. */
enum { LINKS_MAX = 5 };
static const double WAIT_TOLD = 0.05, USE_TOLD = 0.1;

static const char *const use_words[NW_CHAIN_USES] = { [NW_CHAIN_CPU] = "computed",
	[NW_CHAIN_READ] = "read files for",
	[NW_CHAIN_WRITE] = "wrote files for",
	[NW_CHAIN_BLOCKED] = "was blocked by storage for",
	[NW_CHAIN_FAR] = "waited for the network for",
	[NW_CHAIN_STEP] = "was in its steps, without computing itself, for",
	[NW_CHAIN_PAUSED] = "paused for",
	[NW_CHAIN_STARVED] = "had no processor for",
	[NW_CHAIN_INSIDE] = "waited within itself, or out of sight, for" };

/* --- names --- */

static const struct evidence_process *
process_of(const struct evidence *e, const struct chain *c, size_t node)
{
	return &e->processes[c->node[node].process];
}

static const char *
program_of(const struct evidence *e, const struct chain *c, size_t node)
{
	const char *program = process_of(e, c, node)->program;

	return program != NULL ? program : "a program";
}

/* Whether another node, of no workers, has the same program on the same host, or on another. */
static bool
has_namesake(const struct evidence *e, const struct chain *c, size_t node, bool same_host)
{
	size_t i;

	for (i = 0; i < c->graph.n_nodes; i++)
		if (i != node && !c->node[i].workers && chain_same_program(e, c, i, node) &&
		    (process_of(e, c, i)->host == process_of(e, c, node)->host) == same_host)
			return true;
	return false;
}

static char *
name_make(const struct evidence *e, const struct chain *c, size_t i)
{
	const struct evidence_process *p = process_of(e, c, i);
	const char *program = program_of(e, c, i);
	const char *host = evidence_host_name(e, p->host, "a host");
	size_t n = c->graph.node[i].n_processes;

	if (n > 1 && c->node[i].workers)
		return xasprintf("the %zu workers of %s", n, program);
	if (n > 1)
		return xasprintf("%zu processes of %s", n, program);
	if (c->node[i].workers)
		return xasprintf("the worker of %s", program);
	if (has_namesake(e, c, i, true) && p->pid >= 0)
		return xasprintf("%s (process %lld)", program, (long long)p->pid);
	if (has_namesake(e, c, i, false))
		return xasprintf("%s on %s", program, host);
	return xstrdup(program);
}

/* Equal names get the process of each node, or of the first of its processes. */
static void
names_part(const struct evidence *e, struct chain *c)
{
	const size_t n = c->graph.n_nodes;
	bool *twice = xcalloc(n + 1, sizeof(*twice));
	char *name;
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			twice[i] |= k != i && strcmp(c->node[i].name, c->node[k].name) == 0;
	for (i = 0; i < n; i++) {
		if (!twice[i])
			continue;
		name = xasprintf("%s (%s%lld)", c->node[i].name,
		    c->graph.node[i].n_processes > 1 ? "from process " : "process ",
		    (long long)process_of(e, c, i)->pid);
		free(c->node[i].name);
		c->node[i].name = name;
	}
	free(twice);
}

/* --- the sentence --- */

struct teller {
	const struct evidence *e;
	struct chain *c;
	const struct nw_chain_edge *link[LINKS_MAX];
	size_t n;
};

static bool
is_told(const struct teller *t, size_t node)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (t->link[i]->waiter == node)
			return true;
	return false;
}

/* The largest wait for a node by a node not yet in the sentence. */
static const struct nw_chain_edge *
next_link(const struct teller *t, size_t holder, size_t limit)
{
	const struct nw_chain *g = &t->c->graph;
	const struct nw_chain_edge *e, *most = NULL;

	for (e = g->edge; e < g->edge + g->n_edges; e++)
		if (e->holder == holder && e->waiter != limit && e->share >= WAIT_TOLD &&
		    !is_told(t, e->waiter) && (most == NULL || e->share > most->share))
			most = e;
	return most;
}

/* Breadth first from the limit outwards. */
static void
links_find(struct teller *t, size_t limit)
{
	const struct nw_chain_edge *e;
	size_t done = 0, holder = limit;

	for (;;) {
		while (t->n < LINKS_MAX && (e = next_link(t, holder, limit)) != NULL)
			t->link[t->n++] = e;
		if (done == t->n)
			return;
		holder = t->link[done++]->waiter;
	}
}

static const char *
lead(const struct teller *t)
{
	return t->c->told.n > 0 ? "; " : "";
}

/* "its 4 workers" where the waiter is the parent. */
static char *
workers_of(const struct teller *t, const struct nw_chain_edge *e)
{
	size_t n = t->c->graph.node[e->holder].n_processes;

	return n > 1 ? xasprintf("its %zu workers", n) : xstrdup("its worker");
}

/* A loop's wait for a batch goes on, as the loop sees the wait, while the loop waits for a
 * processor and unpacks the batch: the time at the pipe is the least. Fetches, where the calls of
 * the loop tell of them, have also the waits that no edge has. */
static void
link_tell(struct teller *t, const struct nw_chain_edge *e)
{
	const struct chain_node *waiter = &t->c->node[e->waiter], *holder = &t->c->node[e->holder];
	bool own = holder->workers && chain_is_child(t->e, t->c, e->holder, e->waiter);
	double fetched_share = own ? steps_fetched_share(t->e, t->c, waiter->process) : 0;
	char *name = own ? workers_of(t, e) : xstrdup(holder->name);

	if (fetched_share > e->share)
		CLAIM_SAY(&t->c->told, chain_fetched, CLAIM_NO_STAGE, claim_text(lead(t)),
		    claim_text(waiter->name), claim_text(name), claim_number(fetched_share));
	else if (own)
		CLAIM_SAY(&t->c->told, chain_waited_least, CLAIM_NO_STAGE, claim_text(lead(t)),
		    claim_text(waiter->name), claim_number(e->share), claim_text(name));
	else
		CLAIM_SAY(&t->c->told, chain_waited, CLAIM_NO_STAGE, claim_text(lead(t)),
		    claim_text(waiter->name), claim_number(e->share), claim_text(name));
	free(name);
}

static void
waits_tell(struct teller *t)
{
	size_t i;

	for (i = t->n; i-- > 0;)
		link_tell(t, t->link[i]);
}

/* Time of no known use is told where it is more than all others together. */
int
chain_largest_use(const struct nw_chain_node *n, int without)
{
	double known = 0;
	int k, most = -1;

	for (k = 0; k < NW_CHAIN_INSIDE; k++) {
		known += n->use_share[k];
		if (k != without && n->use_share[k] >= USE_TOLD &&
		    (most < 0 || n->use_share[k] > n->use_share[most]))
			most = k;
	}
	return without < 0 && n->use_share[NW_CHAIN_INSIDE] >= fmax(USE_TOLD, known)
	    ? NW_CHAIN_INSIDE
	    : most;
}

static void
limit_tell(struct teller *t, size_t limit)
{
	const struct nw_chain_node *n = &t->c->graph.node[limit];
	const char *name = t->c->node[limit].name;
	int first = chain_largest_use(n, -1), second;

	if (first < 0) {
		CLAIM_SAY(&t->c->told, chain_did, CLAIM_NO_STAGE, claim_text(lead(t)),
		    claim_text(name), claim_text("held the bytes for"),
		    claim_number(n->held_share));
		return;
	}
	CLAIM_SAY(&t->c->told, chain_did, CLAIM_NO_STAGE, claim_text(lead(t)), claim_text(name),
	    claim_text(use_words[first]), claim_number(n->use_share[first]));
	if ((second = chain_largest_use(n, first)) >= 0 &&
	    n->use_share[second] >= n->use_share[first] / 4)
		CLAIM_SAY(&t->c->told, chain_did_too, CLAIM_NO_STAGE, claim_text(use_words[second]),
		    claim_number(n->use_share[second]));
}

void
chain_tell(const struct evidence *e, struct chain *c)
{
	const struct nw_chain *g = &c->graph;
	struct teller t = { .e = e, .c = c };
	const struct nw_chain_edge *edge;
	size_t i, limit = g->longest;

	for (i = 0; i < g->n_nodes; i++)
		c->node[i].name = name_make(e, c, i);
	names_part(e, c);
	if (g->known && g->limit_is_edge) {
		edge = &g->edge[g->limit];
		CLAIM_SAY(&c->told, chain_network, CLAIM_NO_STAGE, claim_text(""),
		    claim_text(c->node[edge->waiter].name), claim_text(c->node[edge->holder].name),
		    claim_number(edge->own_share));
	} else {
		links_find(&t, limit);
		waits_tell(&t);
		if (g->known)
			limit_tell(&t, limit);
		else
			CLAIM_SAY(&c->told, chain_even, CLAIM_NO_STAGE, claim_text(lead(&t)),
			    claim_text(c->node[limit].name),
			    claim_number(g->node[limit].held_share));
	}
	c->sentence = claims_text(&c->told);
}
