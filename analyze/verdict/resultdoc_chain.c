/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the result document about waits of programs for each other, and about steps. */
#include <math.h>
#include <stdlib.h>

#include "analyze/verdict/chained.h"
#include "analyze/verdict/resultdoc_in.h"
#include "narrows/xmalloc.h"

static const enum result_key use_keys[NW_CHAIN_USES] = {
	[NW_CHAIN_CPU] = KEY_chain_node_cpu_share,
	[NW_CHAIN_READ] = KEY_chain_node_read_share,
	[NW_CHAIN_WRITE] = KEY_chain_node_write_share,
	[NW_CHAIN_BLOCKED] = KEY_chain_node_blocked_share,
	[NW_CHAIN_FAR] = KEY_chain_node_far_share,
	[NW_CHAIN_STEP] = KEY_chain_node_step_share,
	[NW_CHAIN_PAUSED] = KEY_chain_node_paused_share,
	[NW_CHAIN_STARVED] = KEY_chain_node_starved_share,
	[NW_CHAIN_INSIDE] = KEY_chain_node_inside_share,
};

static json_t *
node_doc(const struct analysis *a, size_t i)
{
	const struct nw_chain_node *n = &a->chain.graph.node[i];
	const struct evidence_process *p = &a->evidence.processes[a->chain.node[i].process];
	json_t *o = json_object();
	int k;

	put_text(o, KEY_chain_node_name, a->chain.node[i].name);
	put_text(o, KEY_chain_node_program, p->program);
	put_text(o, KEY_chain_node_host, evidence_host_name(&a->evidence, p->host, NULL));
	if (n->n_processes == 1 && p->pid >= 0)
		result_set(o, KEY_chain_node_pid, json_integer(p->pid));
	put_count(o, KEY_chain_node_processes, n->n_processes);
	result_set(o, KEY_chain_node_workers, json_boolean(a->chain.node[i].workers));
	put_real(o, KEY_chain_node_at_work_s, n->at_work_s);
	put_real(o, KEY_chain_node_held_share, n->held_share);
	put_real(o, KEY_chain_node_waited_share, n->waited_share);
	for (k = 0; k < NW_CHAIN_USES; k++)
		put_real(o, use_keys[k], n->use_share[k]);
	return o;
}

/* Waits as a share of the time of all the waiter's processes. */
static json_t *
edge_over_time(const struct analysis *a, const struct nw_chain_edge *edge)
{
	const struct evidence *e = &a->evidence;
	double *there = xcalloc(e->n_windows + 1, sizeof(*there));
	json_t *list;
	size_t i;

	for (i = 0; i < e->n_windows; i++)
		there[i] = (double)a->chain.graph.node[edge->waiter].n_processes *
		    (double)e->step_ns * 1e-9;
	list = resultdoc_timeline_ratio(e, edge->wait_s, there);
	free(there);
	return list;
}

static json_t *
edge_doc(const struct analysis *a, const struct nw_chain_edge *edge)
{
	const struct nw_chain_kind *kind = &nw_chain_kinds[edge->by];
	const bool queues = edge->by == NW_CHAIN_QUEUE;
	enum nw_chain_user user;
	json_t *o = json_object();

	put_count(o, KEY_chain_edge_waiter, edge->waiter);
	if (queues)
		result_set(o, KEY_chain_edge_holder, json_null());
	else
		put_count(o, KEY_chain_edge_holder, edge->holder);
	put_text(o, KEY_chain_edge_waits_for,
	    nw_chain_wants[edge->writes ? NW_CHAIN_WANT_ROOM : kind->what].word);
	put_text(o, KEY_chain_edge_by, kind->word);
	if (queues) {
		user = chained_user(&a->evidence, &a->chain, edge->waiter);
		put_text(o, KEY_chain_edge_used_by,
		    user < NW_CHAIN_USERS_N ? nw_chain_users[user].word : NULL);
	}
	put_real(o, KEY_chain_edge_share, edge->share);
	put_real(
	    o, KEY_chain_edge_both_share, edge->by == NW_CHAIN_NETWORK ? edge->own_share : NAN);
	put_real(o, KEY_chain_edge_bytes, edge->bytes);
	result_set(o, KEY_chain_edge_over_time, edge_over_time(a, edge));
	return o;
}

json_t *
resultdoc_chain(const struct analysis *a)
{
	const struct nw_chain *c = &a->chain.graph;
	json_t *o, *nodes, *edges;
	size_t i;

	if (c->n_nodes == 0)
		return json_null();
	o = json_object();
	nodes = json_array();
	edges = json_array();
	for (i = 0; i < c->n_nodes; i++)
		json_array_append_new(nodes, node_doc(a, i));
	for (i = 0; i < c->n_edges; i++)
		json_array_append_new(edges, edge_doc(a, &c->edge[i]));
	put_text(o, KEY_chain_sentence, a->chain.sentence);
	if (c->known)
		put_count(o, c->limit_is_edge ? KEY_chain_limit_edge : KEY_chain_limit, c->limit);
	put_real(o, KEY_chain_second_share, c->second_share);
	result_set(o, KEY_chain_nodes, nodes);
	result_set(o, KEY_chain_edges, edges);
	return o;
}

/* --- steps --- */

static json_t *
between_over_time(const struct evidence *e, const struct evidence_steps *t)
{
	double *all = xcalloc(e->n_windows + 1, sizeof(*all)),
	       *between = xcalloc(e->n_windows + 1, sizeof(*between));
	json_t *list;
	size_t i;

	for (i = 0; i < e->n_windows; i++) {
		between[i] = t->between != NULL ? t->between[i] : 0;
		all[i] = between[i] + (t->inside != NULL ? t->inside[i] : 0);
	}
	list = resultdoc_timeline_ratio(e, between, all);
	free(all);
	free(between);
	return list;
}

static json_t *
loop_doc(const struct analysis *a, const struct steps_loop *l)
{
	const struct evidence *e = &a->evidence;
	const struct evidence_process *p = &e->processes[l->of->process];
	json_t *o = json_object();

	put_text(o, KEY_steps_sentence, l->sentence);
	put_text(o, KEY_steps_program, p->program);
	put_text(o, KEY_steps_host, evidence_host_name(e, p->host, NULL));
	if (p->pid >= 0)
		result_set(o, KEY_steps_pid, json_integer(p->pid));
	put_text(o, KEY_steps_by, l->of->by_calls ? "calls" : "marks");
	put_real(o, KEY_steps_n, l->of->n);
	put_real(o, KEY_steps_inside_s, l->of->inside_s);
	put_real(o, KEY_steps_between_s, l->of->between_s);
	put_real(o, KEY_steps_mean_s, l->of->inside_s / l->of->n);
	put_real(o, KEY_steps_between_share, l->between_share);
	put_real(o, KEY_steps_waited_share, l->waited_share);
	put_real(o, KEY_steps_read_share, l->read_share);
	result_set(o, KEY_steps_over_time, between_over_time(e, l->of));
	if (l->of->inside != NULL && l->of->count != NULL)
		result_set(o, KEY_steps_mean_over_time,
		    resultdoc_timeline_ratio(e, l->of->inside, l->of->count));
	return o;
}

json_t *
resultdoc_steps(const struct analysis *a)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < a->steps.n; i++)
		json_array_append_new(list, loop_doc(a, &a->steps.loop[i]));
	return list;
}
