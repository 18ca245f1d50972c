/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/chain.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

/* Least lead of the slowest before the second, in the mean and in windows, and least held share. */
static const double LEAD = 0.1, LEAD_WINDOWS = 0.6, HELD_MIN = 0.3;
/* Least share of the time for a wait. */
static const double EDGE_MIN = 0.02;
/* Least part of a process's bytes, or waits, for a channel within the time at work. */
static const double MATTERS = 0.05;

const struct nw_chain_kind nw_chain_kinds[NW_CHAIN_KINDS_N] = {
#define NW_CHAIN_ROW(name, word, what, carries, named) \
	{ word, NW_CHAIN_WANT_##what, carries, named },
	NW_CHAIN_KINDS(NW_CHAIN_ROW)
#undef NW_CHAIN_ROW
};

const struct nw_chain_words nw_chain_wants[NW_CHAIN_WANTS_N] = {
#define NW_CHAIN_ROW(name, word, joint, words) { word, joint, words },
	NW_CHAIN_WANTS(NW_CHAIN_ROW)
#undef NW_CHAIN_ROW
};

const struct nw_chain_words nw_chain_users[NW_CHAIN_USERS_N] = {
#define NW_CHAIN_ROW(name, word, tail) { word, tail, word },
	NW_CHAIN_USERS(NW_CHAIN_ROW)
#undef NW_CHAIN_ROW
};

static const struct nw_chain_words *
row_with(const struct nw_chain_words *rows, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && word != NULL; i++)
		if (strcmp(rows[i].word, word) == 0)
			return &rows[i];
	return NULL;
}

const struct nw_chain_words *
nw_chain_want_of(const char *word)
{
	return row_with(nw_chain_wants, NW_CHAIN_WANTS_N, word);
}

const struct nw_chain_words *
nw_chain_user_of(const char *word)
{
	return row_with(nw_chain_users, NW_CHAIN_USERS_N, word);
}

struct builder {
	const struct nw_chain_process *p;
	size_t n;
	const struct nw_chain_end *ends;
	size_t n_ends, n_windows;
	double window_s;
	struct nw_chain *out;
	double *wait_s;          /* of each end, in all windows */
	bool *far;               /* of each end: whether another group has an end of the channel */
	double *begin_s, *end_s; /* of each process's channels */
	double *kept;            /* of each node, see kept_find() */
	size_t *node_of;         /* node of each process, or SIZE_MAX */
	double *part;            /* n_nodes: bytes of the far ends of the end in hand */
	double *waited;          /* n x n_windows: waits of a process at all channels, cut */
	double *locked;          /* n x n_windows: waits for equal processes, at semaphores */
	double *held;            /* n_nodes x n_windows: held seconds of a node */
	double *there;           /* n_nodes x n_windows: seconds at work */
	double *queued;          /* n_nodes x n_windows: seconds ready without a processor */
	double *sought;          /* n_nodes x n_windows: the longest wait of a process for a node */
};

static double
at(const double *a, size_t i)
{
	return a != NULL && a[i] > 0 ? a[i] : 0;
}

/* Whether two ends of a channel make an edge. */
static bool
is_edge(const struct builder *b, const struct nw_chain_end *waiter,
    const struct nw_chain_end *holder, int dir)
{
	return waiter->channel == holder->channel && waiter->process != holder->process &&
	    b->p[waiter->process].group != b->p[holder->process].group &&
	    holder->bytes[1 - dir] > 0 && (waiter->bytes[dir] > 0 || waiter->wait_s[dir] != NULL);
}

/* Whether an end waits for another end, or another end waits for this one. */
static bool
has_far_end(const struct builder *b, const struct nw_chain_end *e)
{
	const struct nw_chain_end *o;
	int dir;

	for (o = b->ends; o < b->ends + b->n_ends; o++)
		for (dir = 0; dir < 2; dir++)
			if (is_edge(b, e, o, dir) || is_edge(b, o, e, dir))
				return true;
	return false;
}

static double
row_sum(const double *a, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += at(a, i);
	return sum;
}

/* Whether much of a process's bytes, or of a process's waits, belongs to an end. */
static bool
matters(const struct builder *b, const struct nw_chain_end *end)
{
	double bytes = 0, waits = 0, own = 0, s;
	size_t i;

	for (i = 0; i < b->n_ends; i++) {
		if (b->ends[i].process != end->process)
			continue;
		s = b->wait_s[i];
		own = &b->ends[i] == end ? s : own;
		waits += s;
		bytes += b->ends[i].bytes[0] + b->ends[i].bytes[1];
	}
	return end->bytes[0] + end->bytes[1] >= MATTERS * bytes ||
	    (own > 0 && own >= MATTERS * waits);
}

/* Nodes are the groups of processes with an end whose other end is another group's. */
static void
nodes_find(struct builder *b)
{
	struct nw_chain *c = b->out;
	size_t i, k, process;

	for (i = 0; i < b->n_ends; i++) {
		process = b->ends[i].process;
		if (process >= b->n || !b->far[i])
			continue;
		if (matters(b, &b->ends[i])) {
			b->begin_s[process] = fmin(b->begin_s[process], b->ends[i].begin_s);
			b->end_s[process] = fmax(b->end_s[process], b->ends[i].end_s);
		}
		if (b->node_of[process] != SIZE_MAX)
			continue;
		for (k = 0; k < c->n_nodes && c->node[k].group != b->p[process].group; k++)
			;
		if (k == c->n_nodes)
			c->node[c->n_nodes++].group = b->p[process].group;
		b->node_of[process] = k;
		c->node[k].n_processes++;
	}
}

/* Seconds of a window within a process's time at work. */
static double
there_s(const struct builder *b, size_t process, size_t w)
{
	double from = fmax(b->begin_s[process], (double)w * b->window_s);
	double to = fmin(b->end_s[process], (double)(w + 1) * b->window_s);

	return b->node_of[process] != SIZE_MAX && to > from ? to - from : 0;
}

/* Seconds of a window in which a process may have waited: by the first thread's account, else not
 * on a processor, nor in the queue for a processor, nor in a step. */
static double
idle_s(const struct builder *b, size_t process, size_t w)
{
	const struct nw_chain_process *p = &b->p[process];
	double there = there_s(b, process, w);

	if (p->first_s != NULL)
		return fmin(there, at(p->first_s, w));
	return fmax(0,
	    there - at(p->use_s[NW_CHAIN_CPU], w) - at(p->use_s[NW_CHAIN_STARVED], w) -
		at(p->use_s[NW_CHAIN_STEP], w));
}

/* Moves what a window has no room for to the windows before, and the rest to the windows behind:
 * waits of a channel and of a thread are told at different times. */
static void
waits_move(struct builder *b, size_t process)
{
	double *waited = b->waited + process * b->n_windows, lost = 0, room;
	size_t w;

	for (w = b->n_windows; w-- > 0;) {
		room = idle_s(b, process, w);
		waited[w] += lost;
		lost = fmax(0, waited[w] - room);
		waited[w] -= lost;
	}
	for (w = 0; w < b->n_windows && lost > 0; w++) {
		room = fmin(lost, fmax(0, idle_s(b, process, w) - waited[w]));
		waited[w] += room;
		lost -= room;
	}
}

/* Of each node: the waits within the time at work, turns included, over those told by its ends. */
static void
kept_find(struct builder *b)
{
	double told, kept;
	size_t node, i;

	for (node = 0; node < b->out->n_nodes; node++) {
		for (told = 0, i = 0; i < b->n_ends; i++)
			if (b->far[i] && b->node_of[b->ends[i].process] == node)
				told += b->wait_s[i];
		for (kept = 0, i = 0; i < b->n; i++)
			if (b->node_of[i] == node)
				kept += row_sum(b->waited + i * b->n_windows, b->n_windows);
		b->kept[node] = told > 0 ? kept / told : 1;
	}
}

/* Adds to the waits of a window the turns that equal processes waited for, as far as the whole node
 * waited for others meanwhile. */
static void
turns_share(struct builder *b, size_t w)
{
	double waited, used, factor;
	size_t node, i;
	int k;

	for (node = 0; node < b->out->n_nodes; node++) {
		for (waited = used = 0, i = 0; i < b->n; i++) {
			if (b->node_of[i] != node)
				continue;
			waited += b->waited[i * b->n_windows + w];
			for (k = 0; k < NW_CHAIN_USES; k++)
				used += at(b->p[i].use_s[k], w);
		}
		factor = waited > 0 ? waited / (waited + used) : 0;
		for (i = 0; i < b->n; i++)
			if (b->node_of[i] == node)
				b->waited[i * b->n_windows + w] +=
				    factor * b->locked[i * b->n_windows + w];
	}
}

/* The waits of each process in each window. */
static void
waits_fill(struct builder *b)
{
	const struct nw_chain_end *e;
	double *to;
	size_t i, w;

	for (i = 0; i < b->n_ends; i++) {
		e = &b->ends[i];
		if (e->process >= b->n || b->node_of[e->process] == SIZE_MAX)
			continue;
		if (b->far[i])
			to = b->waited;
		else if (nw_chain_kinds[e->by].named)
			to = b->locked;
		else
			continue;
		for (w = 0; w < b->n_windows; w++)
			to[e->process * b->n_windows + w] +=
			    at(e->wait_s[0], w) + at(e->wait_s[1], w);
	}
	for (w = 0; w < b->n_windows; w++)
		turns_share(b, w);
	for (i = 0; i < b->n; i++)
		waits_move(b, i);
	kept_find(b);
}

static double
use_cut(const struct nw_chain_process *p, size_t w, double room, double use[NW_CHAIN_USES])
{
	double all = 0;
	int k;

	for (k = 0; k < NW_CHAIN_USES; k++)
		all += use[k] = at(p->use_s[k], w);
	for (k = 0; k < NW_CHAIN_USES && all > room; k++)
		use[k] *= room / all;
	return all > room ? room : all;
}

/* Adds the time of a process in a window: held, waited, and by use. */
static void
window_add(struct builder *b, size_t process, size_t w)
{
	const struct nw_chain_process *p = &b->p[process];
	struct nw_chain_node *node = &b->out->node[b->node_of[process]];
	double there = there_s(b, process, w);
	double waited = b->waited[process * b->n_windows + w];
	double room = there - waited, use[NW_CHAIN_USES], held;
	size_t cell = b->node_of[process] * b->n_windows + w;
	int k;

	held = use_cut(p, w, room, use);
	if (p->cpu_known)
		use[NW_CHAIN_INSIDE] = fmin(room - held, b->sought[cell]);
	held = p->cpu_known ? held + use[NW_CHAIN_INSIDE] : room;
	node->at_work_s += there;
	node->begin_s = fmin(node->begin_s, b->begin_s[process]);
	node->end_s = fmax(node->end_s, b->end_s[process]);
	node->waited_share += waited;
	node->held_share += held;
	for (k = 0; k < NW_CHAIN_USES; k++)
		node->use_share[k] += use[k];
	b->held[cell] += held;
	b->there[cell] += there;
	b->queued[cell] += use[NW_CHAIN_STARVED];
}

/* The part of the chain's time with any process of a node at work: nobody waits for a link of a row
 * that was done early, and children of a tree work one after the other. */
static double
cover(const struct builder *b, size_t node)
{
	const struct nw_chain *c = b->out;
	double begin_s = INFINITY, end_s = 0, there = 0;
	size_t i, w;

	for (i = 0; i < c->n_nodes; i++) {
		begin_s = fmin(begin_s, c->node[i].begin_s);
		end_s = fmax(end_s, c->node[i].end_s);
	}
	for (w = 0; w < b->n_windows; w++)
		there += fmax(0,
		    fmin(b->there[node * b->n_windows + w],
			fmin(end_s, (double)(w + 1) * b->window_s) -
			    fmax(begin_s, (double)w * b->window_s)));
	return end_s > begin_s ? fmin(1, there / (end_s - begin_s)) : 1;
}

static void
nodes_fill(struct builder *b)
{
	struct nw_chain_node *node;
	size_t i, w;
	int k;

	for (i = 0; i < b->out->n_nodes; i++)
		b->out->node[i].begin_s = INFINITY;
	for (i = 0; i < b->n; i++)
		for (w = 0; w < b->n_windows; w++)
			if (there_s(b, i, w) > 0)
				window_add(b, i, w);
	for (node = b->out->node; node < b->out->node + b->out->n_nodes; node++) {
		if (!(node->at_work_s > 0))
			continue;
		node->waited_share /= node->at_work_s;
		node->held_share *= cover(b, (size_t)(node - b->out->node)) / node->at_work_s;
		for (k = 0; k < NW_CHAIN_USES; k++)
			node->use_share[k] /= node->at_work_s;
	}
}

/* --- edges --- */

static struct nw_chain_edge *
edge_get(struct builder *b, size_t waiter, size_t holder, bool writes, enum nw_chain_by by)
{
	struct nw_chain *c = b->out;
	struct nw_chain_edge *e, *more;

	for (e = c->edge; e < c->edge + c->n_edges; e++)
		if (e->waiter == waiter && e->holder == holder && e->writes == writes &&
		    e->by == by)
			return e;
	if ((more = realloc(c->edge, (c->n_edges + 1) * sizeof(*more))) == NULL)
		return NULL;
	c->edge = more;
	e = &c->edge[c->n_edges];
	*e = (struct nw_chain_edge){
		.waiter = waiter, .holder = holder, .writes = writes, .by = by
	};
	if ((e->wait_s = calloc(b->n_windows, sizeof(*e->wait_s))) == NULL)
		return NULL;
	c->n_edges++;
	return e;
}

/* Of a channel with several far ends the wait is shared out by their bytes. */
static int
end_edges(struct builder *b, const struct nw_chain_end *e, int dir)
{
	const struct nw_chain_end *far;
	struct nw_chain_edge *edge;
	double all = 0, part;
	size_t k, w;

	for (k = 0; k < b->out->n_nodes; k++)
		b->part[k] = 0;
	for (far = b->ends; far < b->ends + b->n_ends; far++)
		if (is_edge(b, e, far, dir)) {
			b->part[b->node_of[far->process]] += far->bytes[1 - dir];
			all += far->bytes[1 - dir];
		}
	for (k = 0; k < b->out->n_nodes; k++) {
		if (!(b->part[k] > 0))
			continue;
		edge = edge_get(b, b->node_of[e->process], k, dir == 1, e->by);
		if (edge == NULL)
			return NW_ENOMEM;
		part = b->part[k] / all * b->kept[b->node_of[e->process]];
		edge->bytes += nw_chain_kinds[e->by].carries ? b->part[k] : 0;
		for (w = 0; w < b->n_windows; w++)
			edge->wait_s[w] += part * at(e->wait_s[dir], w);
	}
	return NW_OK;
}

static const struct nw_chain_edge *
edge_back(const struct nw_chain *c, const struct nw_chain_edge *e)
{
	const struct nw_chain_edge *o;

	for (o = c->edge; o < c->edge + c->n_edges; o++)
		if (o->waiter == e->holder && o->holder == e->waiter && o->writes != e->writes &&
		    o->by == e->by)
			return o;
	return NULL;
}

static void
edges_share(struct builder *b)
{
	struct nw_chain *c = b->out;
	const struct nw_chain_edge *back;
	struct nw_chain_edge *e;
	double sum;
	size_t w;

	for (e = c->edge; e < c->edge + c->n_edges; e++) {
		for (sum = 0, w = 0; w < b->n_windows; w++)
			sum += e->wait_s[w];
		e->share =
		    c->node[e->waiter].at_work_s > 0 ? sum / c->node[e->waiter].at_work_s : 0;
	}
	for (e = c->edge; e < c->edge + c->n_edges; e++)
		if (e->by == NW_CHAIN_NETWORK && (back = edge_back(c, e)) != NULL)
			e->own_share = fmin(e->share, back->share);
}

static void
sought_fill(struct builder *b)
{
	const struct nw_chain *c = b->out;
	const struct nw_chain_edge *e;
	double *to;
	size_t w;

	for (e = c->edge; e < c->edge + c->n_edges; e++)
		for (w = 0; w < b->n_windows; w++) {
			to = &b->sought[e->holder * b->n_windows + w];
			*to = fmax(*to, e->wait_s[w] / (double)c->node[e->waiter].n_processes);
		}
}

static int
edges_find(struct builder *b)
{
	const struct nw_chain_end *e;
	int rc = NW_OK, dir;

	for (e = b->ends; e < b->ends + b->n_ends && rc == NW_OK; e++)
		for (dir = 0; dir < 2 && rc == NW_OK; dir++)
			if (e->process < b->n && e->wait_s[dir] != NULL)
				rc = end_edges(b, e, dir);
	sought_fill(b);
	return rc;
}

/* Waits for a processor, of nodes that waited so for a share worth a line. */
static int
queues_find(struct builder *b)
{
	const struct nw_chain *c = b->out;
	struct nw_chain_edge *e;
	size_t node;

	for (node = 0; node < c->n_nodes; node++) {
		if (c->node[node].use_share[NW_CHAIN_STARVED] < EDGE_MIN)
			continue;
		if ((e = edge_get(b, node, c->n_nodes, false, NW_CHAIN_QUEUE)) == NULL)
			return NW_ENOMEM;
		e->share = c->node[node].use_share[NW_CHAIN_STARVED];
		memcpy(
		    e->wait_s, b->queued + node * b->n_windows, b->n_windows * sizeof(*e->wait_s));
	}
	return NW_OK;
}

/* --- the slowest --- */

/* Share of the windows of both nodes with a larger held share of the first, or the first alone. */
static double
lead_windows(const struct builder *b, size_t first, size_t second)
{
	const double *h = b->held, *t = b->there;
	size_t w, n = 0, led = 0, i, k;

	for (w = 0; w < b->n_windows; w++) {
		i = first * b->n_windows + w;
		k = second * b->n_windows + w;
		if (!(t[i] > 0) && !(t[k] > 0))
			continue;
		n++;
		led += t[i] > 0 && (!(t[k] > 0) || h[i] / t[i] > h[k] / t[k]);
	}
	return n > 0 ? (double)led / (double)n : 1;
}

static void
slowest_find(struct builder *b)
{
	struct nw_chain *c = b->out;
	double most = -1, second = -1, share;
	size_t i;

	c->longest = c->second = c->n_nodes;
	for (i = 0; i < c->n_nodes; i++) {
		share = c->node[i].held_share;
		if (share > most) {
			second = most;
			c->second = c->longest;
			most = share;
			c->longest = i;
		} else if (share > second) {
			second = share;
			c->second = i;
		}
	}
	c->limit = c->longest;
	c->second_share = second;
	c->known = c->second < c->n_nodes && most >= HELD_MIN && most - second >= LEAD &&
	    lead_windows(b, c->limit, c->second) >= LEAD_WINDOWS;
	for (i = 0; i < c->n_edges; i++) {
		if (c->edge[i].own_share <= most)
			continue;
		c->limit_is_edge = true;
		c->known = c->edge[i].own_share - most >= LEAD && c->edge[i].own_share >= HELD_MIN;
		c->second_share = most;
		most = c->edge[i].own_share;
		c->limit = i;
	}
}

/* Edges without waits tell of the bytes' way alone, and stay. */
static bool
waits_somewhere(const struct nw_chain *c)
{
	size_t i;

	for (i = 0; i < c->n_edges; i++)
		if (c->edge[i].share >= EDGE_MIN)
			return true;
	return false;
}

static int
builder_make(struct builder *b)
{
	size_t i, n = b->n + 1, w = b->n_windows + 1;

	b->wait_s = calloc(b->n_ends + 1, sizeof(*b->wait_s));
	b->far = calloc(b->n_ends + 1, sizeof(*b->far));
	b->begin_s = calloc(n, sizeof(*b->begin_s));
	b->end_s = calloc(n, sizeof(*b->end_s));
	b->kept = calloc(n, sizeof(*b->kept));
	b->node_of = calloc(n, sizeof(*b->node_of));
	b->part = calloc(n, sizeof(*b->part));
	b->waited = calloc(n * w, sizeof(*b->waited));
	b->locked = calloc(n * w, sizeof(*b->locked));
	b->held = calloc(n * w, sizeof(*b->held));
	b->there = calloc(n * w, sizeof(*b->there));
	b->queued = calloc(n * w, sizeof(*b->queued));
	b->sought = calloc(n * w, sizeof(*b->sought));
	b->out->node = calloc(n, sizeof(*b->out->node));
	if (b->wait_s == NULL || b->far == NULL || b->begin_s == NULL || b->end_s == NULL ||
	    b->kept == NULL || b->node_of == NULL || b->part == NULL || b->waited == NULL ||
	    b->locked == NULL || b->held == NULL || b->there == NULL || b->queued == NULL ||
	    b->sought == NULL || b->out->node == NULL)
		return NW_ENOMEM;
	for (i = 0; i < b->n; i++) {
		b->begin_s[i] = INFINITY;
		b->node_of[i] = SIZE_MAX;
	}
	for (i = 0; i < b->n_ends; i++) {
		b->wait_s[i] = row_sum(b->ends[i].wait_s[0], b->n_windows) +
		    row_sum(b->ends[i].wait_s[1], b->n_windows);
		b->far[i] = b->ends[i].process < b->n && has_far_end(b, &b->ends[i]);
	}
	return NW_OK;
}

int
nw_chain_build(const struct nw_chain_process *p, size_t n, const struct nw_chain_end *ends,
    size_t n_ends, size_t n_windows, double window_s, struct nw_chain *out)
{
	struct builder b = { .p = p,
		.n = n,
		.ends = ends,
		.n_ends = n_ends,
		.n_windows = n_windows,
		.window_s = window_s,
		.out = out };
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = builder_make(&b)) == NW_OK) {
		nodes_find(&b);
		waits_fill(&b);
		rc = edges_find(&b);
		nodes_fill(&b);
		edges_share(&b);
	}
	if (rc == NW_OK && waits_somewhere(out)) {
		slowest_find(&b);
		rc = queues_find(&b);
	} else
		nw_chain_clear(out);
	free(b.wait_s);
	free(b.far);
	free(b.part);
	free(b.begin_s);
	free(b.end_s);
	free(b.kept);
	free(b.node_of);
	free(b.waited);
	free(b.locked);
	free(b.held);
	free(b.there);
	free(b.queued);
	free(b.sought);
	return rc;
}

void
nw_chain_clear(struct nw_chain *c)
{
	size_t i;

	for (i = 0; i < c->n_edges; i++)
		free(c->edge[i].wait_s);
	free(c->edge);
	free(c->node);
	memset(c, 0, sizeof(*c));
}
