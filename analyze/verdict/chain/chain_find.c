/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/chain/chain_in.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Nobody would follow the chain of a larger session. */
enum { PROCESSES_MAX = 256, ENDS_MAX = 1024 };

double *
chain_array(struct finder *f)
{
	double *a = xcalloc(f->e->n_windows + 1, sizeof(*a));

	f->made = xreallocarray(f->made, f->n_made + 1, sizeof(*f->made));
	return f->made[f->n_made++] = a;
}

static double
at(const double *a, size_t i)
{
	return a != NULL ? a[i] : 0;
}

double
chain_seconds_of(const struct evidence *e, int64_t wall_ns)
{
	return (double)(wall_ns - e->t0_wall_ns) * 1e-9;
}

static bool
same_text(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* The index of a process's parent, or the number of processes. */
static size_t
parent_of(const struct evidence *e, size_t process)
{
	const struct evidence_process *p = &e->processes[process];
	size_t i;

	for (i = 0; i < e->n_processes; i++)
		if (evidence_is_parent(&e->processes[i], p))
			break;
	return i;
}

/* --- channels --- */

struct nw_chain_end *
chain_end_add(struct finder *f, size_t process, size_t channel, const char *name)
{
	struct nw_chain_end *end;

	if (f->n_ends == ENDS_MAX)
		return NULL;
	f->end = xreallocarray(f->end, f->n_ends + 1, sizeof(*f->end));
	f->name = xreallocarray(f->name, f->n_ends + 1, sizeof(*f->name));
	f->name[f->n_ends] = name;
	end = &f->end[f->n_ends++];
	*end = (struct nw_chain_end){ .process = process, .channel = channel };
	return end;
}

static size_t
pipe_channel(const struct finder *f, size_t host, const char *name)
{
	size_t i;

	for (i = 0; i < f->n_ends; i++)
		if (f->name[i] != NULL && f->e->processes[f->end[i].process].host == host &&
		    strcmp(f->name[i], name) == 0)
			return f->end[i].channel;
	return f->n_channels;
}

static bool
is_children(const struct evidence_pipe *p)
{
	return strcmp(p->name, "children") == 0 && p->first_wall_ns != 0;
}

/* By the word before the colon, which a peer may choose; a local socket is a pipe of two inodes. */
static enum nw_chain_by
kind_of_name(const char *name)
{
	size_t len = strcspn(name, ":");
	int by;

	for (by = 0; by < NW_CHAIN_KINDS_N; by++)
		if (nw_chain_kinds[by].named && strlen(nw_chain_kinds[by].word) == len &&
		    strncmp(nw_chain_kinds[by].word, name, len) == 0)
			return (enum nw_chain_by)by;
	return NW_CHAIN_PIPE;
}

static void
pipes_add(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_pipe *p;
	struct nw_chain_end *end;
	size_t channel;
	int way;

	for (p = e->pipes; p < e->pipes + e->n_pipes; p++) {
		if (p->first_wall_ns == 0 || is_children(p))
			continue;
		channel = pipe_channel(f, e->processes[p->process].host, p->name);
		if ((end = chain_end_add(f, p->process, channel, p->name)) == NULL)
			return;
		f->n_channels += channel == f->n_channels;
		end->begin_s = chain_seconds_of(e, p->first_wall_ns);
		end->end_s = chain_seconds_of(e, p->last_wall_ns);
		for (way = 0; way < 2; way++) {
			end->bytes[way] = p->bytes[way];
			end->wait_s[way] = p->wait_s[way];
		}
		end->by = kind_of_name(p->name);
	}
}

/* --- children --- */

/* Whether a process shares a channel with another process. */
static bool
has_neighbour(const struct finder *f, size_t process)
{
	const struct nw_chain_end *a, *b;

	for (a = f->end; a < f->end + f->n_ends; a++)
		for (b = f->end; a->process == process && b < f->end + f->n_ends; b++)
			if (b->process != process && b->channel == a->channel &&
			    a->by != NW_CHAIN_CHILD && a->by != NW_CHAIN_FILE)
				return true;
	return false;
}

static bool
is_lone_child(const struct finder *f, size_t process, const struct evidence_process *of)
{
	const struct evidence_process *p = &f->e->processes[process];

	return evidence_is_parent(of, p) && p->last_wall_ns > p->first_wall_ns &&
	    !has_neighbour(f, process);
}

/* The parent and its children are the ends of a channel. A child's part of the wait goes by the
 * child's time. */
static void
children_join(struct finder *f, const struct evidence_pipe *p)
{
	const struct evidence *e = f->e;
	const struct evidence_process *parent = &e->processes[p->process], *child;
	struct nw_chain_end *end = chain_end_add(f, p->process, f->n_channels, NULL);
	size_t i;

	if (end == NULL)
		return;
	end->by = NW_CHAIN_CHILD;
	end->begin_s = chain_seconds_of(e, p->first_wall_ns);
	end->end_s = chain_seconds_of(e, p->last_wall_ns);
	end->bytes[0] = 1;
	end->wait_s[0] = p->wait_s[0];
	for (i = 0; i < e->n_processes; i++) {
		child = &e->processes[i];
		if (!is_lone_child(f, i, parent) ||
		    (end = chain_end_add(f, i, f->n_channels, NULL)) == NULL)
			continue;
		end->by = NW_CHAIN_CHILD;
		end->begin_s = chain_seconds_of(e, child->first_wall_ns);
		end->end_s = chain_seconds_of(e, child->last_wall_ns);
		end->bytes[1] = end->end_s - end->begin_s;
	}
	f->n_channels++;
}

/* A shell that waits for one program is no chain; two children without a pipe are a tree. */
static void
children_add(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_pipe *p;
	size_t i, n = 0;

	for (p = e->pipes; p < e->pipes + e->n_pipes; p++)
		for (i = 0; is_children(p) && i < e->n_processes; i++)
			n += is_lone_child(f, i, &e->processes[p->process]);
	for (p = e->pipes; n >= 2 && p < e->pipes + e->n_pipes; p++)
		if (is_children(p))
			children_join(f, p);
}

static size_t
process_of(const struct evidence *e, const struct evidence_connection *c)
{
	size_t i;

	for (i = 0; i < e->n_processes; i++)
		if (c->pid >= 0 && e->processes[i].host == c->host && e->processes[i].pid == c->pid)
			break;
	return i;
}

static bool
is_other_end(const struct evidence_connection *a, const struct evidence_connection *b)
{
	return a != b && !b->watched && a->sport == b->dport && a->dport == b->sport &&
	    a->sport != 0 && strcmp(a->src, b->dst) == 0 && strcmp(a->dst, b->src) == 0;
}

static const struct evidence_connection *
other_end(const struct evidence *e, const struct evidence_connection *c)
{
	const struct evidence_connection *o;

	for (o = e->connections; o < e->connections + e->n_connections; o++)
		if (is_other_end(c, o) && process_of(e, o) < e->n_processes)
			return o;
	return NULL;
}

/* A connection's part of a process's time at the network, by bytes. */
static double
connection_share(const struct evidence *e, const struct evidence_connection *c, bool out)
{
	const struct evidence_connection *o;
	double own = out ? c->bytes_out : c->bytes_in, all = 0;

	for (o = e->connections; o < e->connections + e->n_connections; o++)
		if (!o->watched && o->host == c->host && o->pid == c->pid)
			all += out ? o->bytes_out : o->bytes_in;
	return all > 0 ? own / all : 0;
}

/* Seconds of a process at the network in a direction, per window, times `share`. */
static void
net_add(
    const struct evidence *e, const struct evidence_process *p, bool out, double share, double *to)
{
	enum nw_op op = out ? NW_OP_NET_WRITE : NW_OP_NET_READ;
	size_t i;

	for (i = 0; i < e->n_windows; i++)
		to[i] += share * (at(p->busy_s[op], i) + at(p->wait_s[op], i));
}

/* From the first to the last window with use of the network. */
static void
connection_extent(
    const struct evidence *e, const struct evidence_process *p, struct nw_chain_end *end)
{
	double step_s = (double)e->step_ns * 1e-9;
	bool found = false;
	size_t i;

	for (i = 0; i < e->n_windows; i++) {
		if (at(end->wait_s[0], i) + at(end->wait_s[1], i) +
			at(p->bytes[NW_OP_NET_READ], i) + at(p->bytes[NW_OP_NET_WRITE], i) <=
		    0)
			continue;
		if (!found)
			end->begin_s = (double)i * step_s;
		found = true;
		end->end_s = (double)(i + 1) * step_s;
	}
	end->begin_s = fmax(end->begin_s, chain_seconds_of(e, p->first_wall_ns));
	end->end_s = fmin(end->end_s, chain_seconds_of(e, p->last_wall_ns));
}

static void
connection_end(
    struct finder *f, const struct evidence_connection *c, size_t process, size_t channel)
{
	struct nw_chain_end *end = chain_end_add(f, process, channel, NULL);
	const struct evidence_process *p = &f->e->processes[process];
	double *wait[2];
	int way;

	if (end == NULL)
		return;
	end->by = NW_CHAIN_NETWORK;
	end->bytes[0] = c->bytes_in;
	end->bytes[1] = c->bytes_out;
	for (way = 0; way < 2; way++) {
		wait[way] = chain_array(f);
		net_add(f->e, p, way == 1, connection_share(f->e, c, way == 1), wait[way]);
		end->wait_s[way] = wait[way];
	}
	connection_extent(f->e, p, end);
}

/* A connection with both ends measured is a channel; waits at another are for a far peer. */
static void
connections_add(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_connection *c, *o;
	size_t process, i;

	for (c = e->connections; c < e->connections + e->n_connections; c++) {
		process = process_of(e, c);
		if (c->watched || process == e->n_processes)
			continue;
		o = other_end(e, c);
		if (o == NULL) {
			if (f->p[process].use_s[NW_CHAIN_FAR] == NULL)
				f->p[process].use_s[NW_CHAIN_FAR] = chain_array(f);
			for (i = 0; i < 2; i++)
				net_add(e, &e->processes[process], i == 1,
				    connection_share(e, c, i == 1),
				    (double *)f->p[process].use_s[NW_CHAIN_FAR]);
		} else if (c < o) {
			connection_end(f, c, process, f->n_channels);
			connection_end(f, o, process_of(e, o), f->n_channels);
			f->n_channels++;
		}
	}
}

/* --- loops with workers --- */

/* Whether a process is a fork of its parent without another program, and shares a channel with the
 * parent. */
static bool
is_worker_of(const struct finder *f, size_t process, size_t parent)
{
	const struct nw_chain_end *a, *b;

	if (parent == f->e->n_processes ||
	    !same_text(f->e->processes[process].program, f->e->processes[parent].program))
		return false;
	for (a = f->end; a < f->end + f->n_ends; a++)
		for (b = f->end; a->process == process && b < f->end + f->n_ends; b++)
			if (b->process == parent && b->channel == a->channel)
				return true;
	return false;
}

static void
ends_widen(struct finder *f, size_t process, double end_s)
{
	struct nw_chain_end *end;

	for (end = f->end; end < f->end + f->n_ends; end++)
		if (end->process == process)
			end->end_s = fmax(end->end_s, end_s);
}

/* A loop is at work until its workers end, and so are the workers: workers ahead of the loop have
 * filled its queue, and use no channel any more. */
static void
workers_widen(struct finder *f)
{
	const struct evidence *e = f->e;
	double end_s;
	size_t i, parent;

	for (i = 0; i < e->n_processes; i++) {
		parent = parent_of(e, i);
		if (!is_worker_of(f, i, parent))
			continue;
		end_s = chain_seconds_of(e, e->processes[i].last_wall_ns);
		ends_widen(f, i, end_s);
		ends_widen(f, parent, end_s);
	}
}

/* --- groups --- */

/* The first process with the program of `far`, at an end of the same kind. */
static size_t
first_alike(const struct finder *f, const uint8_t ways[PROCESSES_MAX], size_t far)
{
	size_t i = 0;

	while (i < far &&
	    !(ways[i] == ways[far] &&
		same_text(f->e->processes[i].program, f->e->processes[far].program)))
		i++;
	return i;
}

/* Sums of these numbers are equal for equal sets alone, but for chance (the finalizer of
 * splitmix64). */
static uint64_t
mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* A mark of the processes at the other ends, with the directions: equal for equal work. In a tree
 * of children the programs count, not their processes. */
static uint64_t
neighbours_mark(const struct finder *f, size_t process)
{
	enum { TAKES = 1, GIVES = 2, TREE = 4 };
	const struct nw_chain_end *a, *b;
	uint8_t ways[PROCESSES_MAX] = { 0 };
	uint64_t mark = 0, one;
	size_t far, i;

	for (a = f->end; a < f->end + f->n_ends; a++)
		for (b = f->end; a->process == process && b < f->end + f->n_ends; b++)
			if (b->process != process && b->channel == a->channel &&
			    !nw_chain_kinds[a->by].named) {
				ways[b->process] |= a->bytes[1] > 0 && b->bytes[0] > 0 ? GIVES : 0;
				ways[b->process] |= a->bytes[0] > 0 && b->bytes[1] > 0 ? TAKES : 0;
				ways[b->process] |=
				    a->by == NW_CHAIN_CHILD && ways[b->process] != 0 ? TREE : 0;
			}
	for (i = 0; i < f->n_handed; i++) {
		if (f->handed[i][0] == process)
			ways[f->handed[i][1]] |= GIVES;
		if (f->handed[i][1] == process)
			ways[f->handed[i][0]] |= TAKES;
	}
	for (far = 0; far < f->e->n_processes; far++) {
		one = (uint64_t)((ways[far] & TREE) != 0 ? first_alike(f, ways, far) : far) * 8 +
		    ways[far] + 1;
		if (ways[far] != 0 && ((ways[far] & TREE) == 0 || first_alike(f, ways, far) == far))
			mark += mixed(one);
	}
	return mark;
}

/* Whether two processes have one parent; or, without neighbours at pipes, equal parents. */
static bool
are_siblings(const struct finder *f, size_t one, size_t other)
{
	const struct evidence *e = f->e;
	const struct evidence_process *a = &e->processes[one], *b = &e->processes[other];
	size_t x, y;

	if (a->parent_pid >= 0 && a->parent_pid == b->parent_pid)
		return true;
	if (has_neighbour(f, one) || has_neighbour(f, other))
		return false;
	x = parent_of(e, one);
	y = parent_of(e, other);
	return x < e->n_processes && y < e->n_processes &&
	    same_text(e->processes[x].program, e->processes[y].program);
}

static void
groups_set(struct finder *f)
{
	const struct evidence *e = f->e;
	uint64_t *mark = xcalloc(e->n_processes + 1, sizeof(*mark));
	const struct evidence_process *p, *o;
	size_t i, k;

	for (i = 0; i < e->n_processes; i++) {
		mark[i] = neighbours_mark(f, i);
		p = &e->processes[i];
		for (k = 0; k < i; k++) {
			o = &e->processes[k];
			if (mark[k] == mark[i] && mark[i] != 0 && o->host == p->host &&
			    are_siblings(f, i, k) && same_text(o->program, p->program))
				break;
		}
		f->p[i].group = k < i ? f->p[k].group : i;
	}
	free(mark);
}

/* --- what processes did --- */

/* Copying pages is a processor's work: only the rest of a call is the storage's. */
static const double *
less(struct finder *f, const double *a, const double *b)
{
	double *out;
	size_t i;

	if (a == NULL)
		return NULL;
	out = chain_array(f);
	for (i = 0; i < f->e->n_windows; i++)
		out[i] = fmax(0, a[i] - at(b, i));
	return out;
}

/* A step without another use waits for the device that computes, which may look like a pause. */
static void
steps_fill(struct finder *f)
{
	const struct evidence_steps *t;
	struct nw_chain_process *out;
	const double *left;
	int k;

	for (t = f->e->steps; t < f->e->steps + f->e->n_steps; t++) {
		if (t->by_calls)
			continue;
		out = &f->p[t->process];
		left = t->inside;
		for (k = 0; k < NW_CHAIN_USES; k++)
			if (k != NW_CHAIN_FAR && k != NW_CHAIN_PAUSED)
				left = less(f, left, out->use_s[k]);
		out->use_s[NW_CHAIN_STEP] = left;
		out->use_s[NW_CHAIN_PAUSED] = less(f, out->use_s[NW_CHAIN_PAUSED], left);
	}
}

/* The first thread's waits are known without those at networks and for files. */
static bool
has_other_waits(const struct finder *f, size_t process)
{
	const struct nw_chain_end *end;

	for (end = f->end; end < f->end + f->n_ends; end++)
		if (end->process == process &&
		    (end->by == NW_CHAIN_NETWORK || end->by == NW_CHAIN_FILE))
			return true;
	return false;
}

static void
processes_fill(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_process *p;
	struct nw_chain_process *out;
	size_t i;

	for (i = 0; i < e->n_processes; i++) {
		p = &e->processes[i];
		out = &f->p[i];
		out->cpu_known = p->cpu != NULL;
		out->use_s[NW_CHAIN_CPU] = p->cpu;
		out->first_s = has_other_waits(f, i) ? NULL : p->first_s;
		out->use_s[NW_CHAIN_READ] = evidence_reads_cached(e, p)
		    ? less(f, p->busy_s[NW_OP_DISK_READ], p->cpu)
		    : p->busy_s[NW_OP_DISK_READ];
		out->use_s[NW_CHAIN_WRITE] = less(f, p->busy_s[NW_OP_DISK_WRITE], p->cpu);
		out->use_s[NW_CHAIN_BLOCKED] = less(f,
		    less(f, p->blocked, p->busy_s[NW_OP_DISK_READ]), p->busy_s[NW_OP_DISK_WRITE]);
		out->use_s[NW_CHAIN_PAUSED] = p->paused;
		out->use_s[NW_CHAIN_STARVED] = p->starved;
	}
	steps_fill(f);
}

static void
nodes_take(const struct finder *f, struct chain *c)
{
	size_t i, k;

	c->node = xcalloc(c->graph.n_nodes + 1, sizeof(*c->node));
	c->node_of = xcalloc(f->e->n_processes + 1, sizeof(*c->node_of));
	for (k = f->e->n_processes; k-- > 0;) {
		c->node_of[k] = SIZE_MAX;
		for (i = 0; i < c->graph.n_nodes; i++)
			if (f->p[k].group == c->graph.node[i].group) {
				c->node[i].process = k;
				c->node_of[k] = i;
			}
	}
}

bool
chain_is_child(const struct evidence *e, const struct chain *c, size_t node, size_t of)
{
	return c->graph.node[of].n_processes == 1 &&
	    evidence_is_parent(
		&e->processes[c->node[of].process], &e->processes[c->node[node].process]);
}

bool
chain_same_program(const struct evidence *e, const struct chain *c, size_t a, size_t b)
{
	const char *one = e->processes[c->node[a].process].program,
		   *other = e->processes[c->node[b].process].program;

	return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* A fork of the same program is a worker of its parent. */
static void
workers_mark(const struct evidence *e, struct chain *c)
{
	size_t i, of;

	for (i = 0; i < c->graph.n_nodes; i++)
		for (of = 0; of < c->graph.n_nodes; of++)
			c->node[i].workers |= of != i && chain_is_child(e, c, i, of) &&
			    chain_same_program(e, c, i, of);
}

void
chain_find(const struct evidence *e, struct chain *out)
{
	struct finder f = { .e = e };
	size_t i;

	memset(out, 0, sizeof(*out));
	if (e->n_windows == 0 || e->n_processes < 2 || e->n_processes > PROCESSES_MAX)
		return;
	f.p = xcalloc(e->n_processes, sizeof(*f.p));
	pipes_add(&f);
	connections_add(&f);
	children_add(&f);
	chain_files_add(&f);
	workers_widen(&f);
	processes_fill(&f);
	groups_set(&f);
	if (f.n_ends > 1 &&
	    nw_chain_build(f.p, e->n_processes, f.end, f.n_ends, e->n_windows,
		(double)e->step_ns * 1e-9, &out->graph) == NW_OK &&
	    out->graph.n_nodes > 0) {
		nodes_take(&f, out);
		workers_mark(e, out);
		out->graph.known = out->graph.known && !chain_is_outlived(e, out);
		chain_tell(e, out);
	}
	for (i = 0; i < f.n_made; i++)
		free(f.made[i]);
	free(f.made);
	free(f.end);
	free(f.name);
	free(f.p);
}

bool
chain_is_outlived(const struct evidence *e, const struct chain *c)
{
	/* so many times the workers' time after their begin */
	static const double LONGER = 2;
	const struct nw_chain_node *n = &c->graph.node[c->graph.longest];
	const size_t worker = c->node[c->graph.longest].process;
	const size_t loop = parent_of(e, worker);

	return c->node[c->graph.longest].workers && loop < e->n_processes &&
	    chain_seconds_of(e, e->processes[loop].last_wall_ns) - n->begin_s >
	    LONGER * (n->end_s - n->begin_s);
}

void
chain_clear(struct chain *c)
{
	size_t i;

	for (i = 0; i < c->graph.n_nodes; i++)
		free(c->node[i].name);
	free(c->node);
	free(c->node_of);
	nw_chain_clear(&c->graph);
	claims_clear(&c->told);
	free(c->sentence);
	memset(c, 0, sizeof(*c));
}
