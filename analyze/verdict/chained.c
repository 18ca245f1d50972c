/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/chained.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"

/* The path covers the session if its windows at work are so much of the chain's time. */
static const double COVERS = 0.5;
/* Two programs limit together if each held the bytes for so much of the time. */
static const double BOTH_HELD = 0.6;
/* A smaller share of the next program bounds no gain worth a number. */
static const double NEXT_MIN = 0.1;
/* A program lacked a processor for so much of the time in which it held the bytes. */
static const double STARVED_PART = 0.3;
/* Least share of the time for a word about waits for peers without measurement; beside waits for a
 * processor as long, the verdict is less sure: the peers may wait for processors, too. */
static const double LEAVES_MIN = 0.1;
/* Waits for a processor while a program held the bytes, of all programs of the chain together,
 * limit beside a pace that does not make up for them. Measured beside loops of equal weight and of
 * 64 times the weight, by lifting pauses and loops in turns: from 0.34 on the loops' lift helped
 * 1.3-fold and more, up to 0.25 at most 1.07-fold. */
static const double STARVED_BESIDE_PACE = 0.3;
/* Processors for the session's own programs on a host busy with other programs. */
static const double OWN_MOST = 0.25;
/* A program keeps no pace if waits for programs took so much of the time. */
static const double WAITED_MOST = 0.5;
/* A verdict of medium confidence: held share, lead before the next, windows. */
static const double SURE_HELD = 0.6, SURE_LEAD = 0.3, SURE_WINDOWS = 15;

/* --- stages of nodes --- */

static const struct nw_chain_node *
longest_node(const struct chain *c)
{
	return &c->graph.node[c->graph.longest];
}

static size_t
host_of(const struct evidence *e, const struct chain *c, size_t node)
{
	return e->processes[c->node[node].process].host;
}

static double
windows_of(const struct evidence *e, const struct nw_chain_node *n)
{
	return (n->end_s - n->begin_s) * 1e9 / (double)e->step_ns;
}

/* Seconds from the first to the last use of the chain. */
static double
span_s(const struct nw_chain *g)
{
	double begin = INFINITY, end = 0;
	size_t i;

	for (i = 0; i < g->n_nodes; i++) {
		begin = fmin(begin, g->node[i].begin_s);
		end = fmax(end, g->node[i].end_s);
	}
	return end > begin ? end - begin : 0;
}

static enum nw_stage_kind
kind_of_files(const struct evidence *e, const struct evidence_process *p, bool writes)
{
	const bool far = evidence_mount_of(e, p->host, writes) != NULL;

	if (writes)
		return far ? NW_STAGE_STORAGE_WRITE : NW_STAGE_DISK_WRITE;
	return far ? NW_STAGE_STORAGE_READ : NW_STAGE_DISK_READ;
}

static double
total(const struct evidence *e, const double *a)
{
	double sum = 0;
	size_t i;

	for (i = 0; a != NULL && i < e->n_windows; i++)
		sum += a[i];
	return sum;
}

/* The stage of a node by the largest use of its time. */
static enum nw_stage_kind
kind_of(const struct evidence *e, const struct chain *c, size_t node)
{
	const struct evidence_process *p = &e->processes[c->node[node].process];

	switch (chain_largest_use(&c->graph.node[node], -1)) {
	case NW_CHAIN_READ: return kind_of_files(e, p, false);
	case NW_CHAIN_WRITE: return kind_of_files(e, p, true);
	case NW_CHAIN_BLOCKED:
		return kind_of_files(e, p,
		    total(e, p->bytes[NW_OP_DISK_WRITE]) > total(e, p->bytes[NW_OP_DISK_READ]));
	case NW_CHAIN_FAR:
		return total(e, p->bytes[NW_OP_NET_READ]) > total(e, p->bytes[NW_OP_NET_WRITE])
		    ? NW_STAGE_NET_READ
		    : NW_STAGE_NET_WRITE;
	default: return NW_STAGE_HOST;
	}
}

static bool
is_host_kind(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_HOST || kind == NW_STAGE_SENDER_HOST ||
	    kind == NW_STAGE_RECEIVER_HOST;
}

static bool
is_net_kind(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_WRITE || kind == NW_STAGE_NET_READ;
}

/* --- the decision --- */

/* Whether a stage of the path is the chain's limit. */
static bool
agrees(const struct evidence *e, const struct chain *c, const struct nw_path_stage *s)
{
	enum nw_stage_kind kind;

	if (c->graph.limit_is_edge)
		return is_net_kind(s->kind);
	kind = kind_of(e, c, c->graph.limit);
	if (is_net_kind(s->kind))
		return is_net_kind(kind);
	if (c->node_of[s->process] != c->graph.limit)
		return false;
	return is_host_kind(s->kind) ? is_host_kind(kind) : s->kind == kind;
}

/* Whether the stages of the path alone tell nothing, so that the chain may decide. */
static bool
is_open(const struct judgement *j)
{
	return !j->limit.known && j->second == j->path.n && !j->crowd.limits && !j->idle_disk &&
	    !j->idle_network && !j->blind_reads &&
	    (j->path.n <= 1 || j->limit.n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(&j->limit));
}

/* Whether bytes past the calls alone keep the path from an answer. The waits for a program that
 * computes or pauses are known without these bytes. */
static bool
is_known_without_bytes(const struct chain *c, const struct judgement *j)
{
	const int use = chain_largest_use(longest_node(c), -1);

	return !j->limit.known && j->unseen > UNSEEN_MOST && !j->crowd.limits && !j->idle_disk &&
	    !j->idle_network && !c->graph.limit_is_edge &&
	    (use == NW_CHAIN_CPU || use == NW_CHAIN_PAUSED);
}

/* Whether a pace that the path found is none of that program: the chain's program paused, or the
 * path's program waited for others, by looking again and again. */
static bool
is_pace_of_others(const struct chain *c, const struct judgement *j)
{
	const size_t node = c->node_of[j->path.stage[j->limit.stage].process];

	return chain_largest_use(longest_node(c), -1) == NW_CHAIN_PAUSED ||
	    (node < c->graph.n_nodes && c->graph.node[node].waited_share >= WAITED_MOST);
}

/* Whether path and chain name programs of one host, and differ. */
static bool
is_another_program(const struct evidence *e, const struct chain *c, const struct judgement *j)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];

	return j->limit.known && (!j->pace.found || is_pace_of_others(c, j)) &&
	    is_host_kind(s->kind) && !c->graph.limit_is_edge &&
	    is_host_kind(kind_of(e, c, c->graph.limit)) &&
	    host_of(e, c, c->graph.limit) == e->processes[s->process].host &&
	    c->node_of[s->process] != c->graph.limit;
}

/* Whether programs have networks, and all of these have peers in the chain alone. */
static bool
is_closed(const struct evidence *e, const struct chain *c)
{
	const struct evidence_process *p;
	bool found = false;
	size_t i;

	for (i = 0; i < e->n_processes; i++) {
		p = &e->processes[i];
		if (!(total(e, p->bytes[NW_OP_NET_READ]) + total(e, p->bytes[NW_OP_NET_WRITE]) > 0))
			continue;
		found = true;
		if (c->node_of[i] >= c->graph.n_nodes ||
		    c->graph.node[c->node_of[i]].use_share[NW_CHAIN_FAR] >= LEAVES_MIN)
			return false;
	}
	return found;
}

static bool
is_one_end(const struct nw_path_stage *s)
{
	return s->kind == NW_STAGE_NET_WRITE || s->kind == NW_STAGE_NET_READ;
}

/* Whether the path's limit is the network behind one end while all peers are measured: the chain
 * knows for whom the programs waited. */
static bool
is_behind_nodes(const struct evidence *e, const struct chain *c, const struct judgement *j)
{
	return j->limit.known && !c->graph.limit_is_edge &&
	    is_one_end(&j->path.stage[j->limit.stage]) &&
	    !is_net_kind(kind_of(e, c, c->graph.limit)) && is_closed(e, c);
}

/* Whether the chain knows that a stage is no limit beside the chain's: a program that held the
 * bytes for far less of the time, or that only waited for the limit's disk; a network with all
 * peers measured. */
static bool
is_ruled_out(const struct evidence *e, const struct chain *c, const struct nw_path_stage *s)
{
	const struct nw_chain_node *n = longest_node(c);
	const size_t node = c->node_of[s->process];

	if (c->graph.limit_is_edge)
		return false;
	if (!is_host_kind(s->kind))
		return is_one_end(s) && is_closed(e, c);
	return node == c->graph.limit ? chain_largest_use(n, chain_largest_use(n, -1)) < 0
				      : node < c->graph.n_nodes &&
		c->graph.node[node].held_share + SURE_LEAD <= n->held_share;
}

static bool
is_candidate(const struct judgement *j, size_t stage)
{
	return j->second < j->path.n ? stage == j->limit.stage || stage == j->second
				     : j->limit.tests[stage].candidate;
}

/* Whether the path leaves several stages, of which the chain leaves its own limit at most. */
static bool
is_one_of_several(const struct evidence *e, const struct chain *c, const struct judgement *j)
{
	const struct nw_path_stage *s;
	size_t i, n = 0;

	if (j->limit.known || j->crowd.limits || j->idle_disk || j->idle_network || j->blind_reads)
		return false;
	for (i = 0; i < j->path.n; i++) {
		s = &j->path.stage[i];
		if (!is_candidate(j, i))
			continue;
		if (!agrees(e, c, s) && !is_ruled_out(e, c, s))
			return false;
		n++;
	}
	return n > 1;
}

static enum chained_how
how(const struct evidence *e, const struct chain *c, const struct judgement *j)
{
	const bool local = !j->path.has_sender && !j->path.has_receiver;

	if (c->graph.n_nodes == 0 || j->announced.alone ||
	    windows_of(e, longest_node(c)) < LIMIT_WINDOWS_MIN || chain_is_outlived(e, c))
		return CHAINED_NOT;
	if (local && j->path.active_s < COVERS * span_s(&c->graph))
		return CHAINED_INSTEAD;
	if (!c->graph.known)
		return CHAINED_NOT;
	/* a network alone is the path's own sentence */
	if (j->limit.known && agrees(e, c, &j->path.stage[j->limit.stage]))
		return c->graph.limit_is_edge && c->told.n == 1 ? CHAINED_NOT : CHAINED_BESIDE;
	return is_open(j) || is_known_without_bytes(c, j) || is_another_program(e, c, j) ||
		is_behind_nodes(e, c, j) || is_one_of_several(e, c, j)
	    ? CHAINED_INSTEAD
	    : CHAINED_NOT;
}

/* Bytes and times of the longest holder, where the path's stages do not cover the session. */
static void
transfer_take(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	const struct nw_chain *g = &c->graph;
	const struct nw_chain_node *n = longest_node(c);
	const struct nw_chain_edge *edge;
	double bytes = 0;

	for (edge = g->edge; edge < g->edge + g->n_edges; edge++)
		if (edge->waiter == g->longest || edge->holder == g->longest)
			bytes = fmax(bytes, edge->bytes);
	j->bytes = round(bytes);
	j->first_wall_ns = e->t0_wall_ns + llround(n->begin_s * 1e9);
	j->last_wall_ns = e->t0_wall_ns + llround(n->end_s * 1e9);
	j->duration_s = n->end_s - n->begin_s;
	j->bytes_per_s = j->duration_s > 0 && bytes > 0 ? j->bytes / j->duration_s : NAN;
}

/* Whether the limit is a node that lacked a processor for much of its time. */
static bool
is_starved(const struct nw_chain *g)
{
	const struct nw_chain_node *n = &g->node[g->limit];

	return !g->limit_is_edge && n->use_share[NW_CHAIN_STARVED] >= STARVED_PART * n->held_share;
}

/* The next program needs a share of the time, whatever becomes of the limit. A remedy for a lack of
 * processors may also help the next program, as does a larger quota of both. */
static void
gain_take(const struct nw_chain *g, struct judgement *j)
{
	if (!g->known || !(g->second_share >= NEXT_MIN) || is_starved(g))
		return;
	j->gain.low = 1;
	j->gain.high = 1 / g->second_share;
	j->gain.source = GAIN_CHAIN;
}

/* The end whose program lacked a processor for most of the time of a path that keeps a pace; the
 * number of stages if the lack cost too little. */
static size_t
starved_beside_pace(const struct evidence *e, const struct chain *c, const struct judgement *j)
{
	const struct nw_path *p = &j->path;
	double sum = 0, most = 0, starved;
	size_t i, found = p->n;

	for (i = 0; i < c->graph.n_nodes; i++)
		sum += c->graph.node[i].use_share[NW_CHAIN_STARVED];
	if (sum < STARVED_BESIDE_PACE)
		return p->n;
	for (i = 0; i < p->n; i++) {
		if (!is_host_kind(p->stage[i].kind) ||
		    c->node_of[p->stage[i].process] >= c->graph.n_nodes)
			continue;
		starved =
		    c->graph.node[c->node_of[p->stage[i].process]].use_share[NW_CHAIN_STARVED];
		if (starved > most && isfinite(e->processes[p->stage[i].process].cpu_wait_s)) {
			most = starved;
			found = i;
		}
	}
	return found;
}

/* A pace beside busy processors: both limit. */
static void
crowd_beside_pace(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	size_t program;

	if (!j->limit.known || !j->pace.found || j->pace.adapts || !c->graph.known ||
	    (program = starved_beside_pace(e, c, j)) == j->path.n)
		return;
	j->crowd = (struct crowd){ .limits = true,
		.stage = j->limit.stage,
		.program = program,
		.room = NAN,
		.wait_s = e->processes[j->path.stage[program].process].cpu_wait_s };
	j->limit.known = false;
	j->limit.claim = LIMIT_NONE;
	j->second = program;
	j->gain = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = program };
}

void
chained_decide(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	const bool covers = c->graph.n_nodes > 0 && j->path.n > 0 &&
	    (j->path.has_sender || j->path.has_receiver ||
		j->path.active_s >= COVERS * span_s(&c->graph));

	crowd_beside_pace(e, c, j);
	j->chained.how = how(e, c, j);
	if (j->chained.how != CHAINED_INSTEAD)
		return;
	judge_withdraw(j);
	if (!covers)
		transfer_take(e, c, j);
	gain_take(&c->graph, j);
	j->chained.known = c->graph.known;
	j->chained.stage =
	    c->graph.limit_is_edge ? NW_STAGE_NETWORK : kind_of(e, c, c->graph.longest);
}

/* --- words --- */

/* "the 4 workers of loop.py on here", "disk read by loop.py on here". */
static char *
place_text(const struct evidence *e, const struct chain *c, size_t node)
{
	const struct evidence_process *p = &e->processes[c->node[node].process];
	const char *host = evidence_host_name(e, p->host, "?"), *name = c->node[node].name;
	enum nw_stage_kind kind = kind_of(e, c, node);

	if (is_host_kind(kind) || !c->graph.known || node != c->graph.longest)
		return xasprintf("%s on %s", name, host);
	if (is_net_kind(kind))
		return xasprintf("the network behind %s on %s (or the far end)", name, host);
	return xasprintf("%s by %s on %s", nw_stage_kind_words(kind), name, host);
}

static char *
edge_text(const struct chain *c)
{
	const struct nw_chain_edge *edge = &c->graph.edge[c->graph.limit];

	return xasprintf("the network between %s and %s", c->node[edge->waiter].name,
	    c->node[edge->holder].name);
}

/* Adds the chain's claims, the first of them behind other words than a semicolon; the word of an
 * even chain only where wanted. */
static void
links_say(const struct chain *c, const char *lead, bool even, struct claims *out)
{
	const size_t last = c->told.n - 1, first = out->n;
	const bool drops = !even && c->told.claim[last].kind == CLAIM_chain_even;
	const struct claims told = { c->told.claim, drops ? last : c->told.n };
	struct claim_value *begin;

	claims_append(out, &told);
	if (told.n == 0)
		return;
	begin = &out->claim[first].value[0]; /* the lead: slot 0 of every kind at a begin */
	free((char *)begin->text);
	begin->text = xstrdup(lead);
}

static void
known_say(const struct evidence *e, const struct chain *c, struct judgement *j, struct claims *said,
    const char *what)
{
	const struct nw_chain *g = &c->graph;
	char *next;

	if (g->limit_is_edge)
		CLAIM_SAY(said, chain_held_network, CLAIM_NO_STAGE, claim_text(what),
		    claim_number(g->edge[g->limit].own_share));
	else
		CLAIM_SAY(said, chain_held, CLAIM_NO_STAGE, claim_text(what),
		    claim_number(g->node[g->limit].held_share));
	links_say(c, ": ", true, said);
	if (isfinite(j->bytes_per_s))
		CLAIM_SAY(said, ran_at, CLAIM_NO_STAGE, claim_number(j->bytes_per_s));
	if (j->gain.source != GAIN_CHAIN)
		return;
	next = place_text(e, c, g->limit_is_edge ? g->longest : g->second);
	CLAIM_SAY(said, chain_gain, CLAIM_NO_STAGE, claim_number(j->gain.high), claim_text(next));
	free(next);
}

static bool
both_held(const struct nw_chain *g)
{
	return !g->limit_is_edge && g->node[g->longest].held_share >= BOTH_HELD &&
	    g->second_share >= BOTH_HELD;
}

static void
unknown_say(const struct evidence *e, const struct chain *c, struct claims *said)
{
	const struct nw_chain *g = &c->graph;
	char *first, *second;

	if (!both_held(g)) {
		CLAIM_SAY(said, cannot_tell, CLAIM_NO_STAGE, claim_text("session"));
		links_say(c, "", true, said);
		return;
	}
	first = place_text(e, c, g->longest);
	second = place_text(e, c, g->second);
	CLAIM_SAY(said, chain_both, CLAIM_NO_STAGE, claim_text(first), claim_text(second),
	    claim_number(g->node[g->longest].held_share), claim_number(g->second_share));
	links_say(c, ": ", false, said);
	free(first);
	free(second);
}

/* Where the programs of the session themselves used much of their host, a busy host proves no other
 * programs. */
enum nw_chain_user
chained_user(const struct evidence *e, const struct chain *c, size_t node)
{
	const struct evidence_process *of = &e->processes[c->node[node].process];
	const char *cause = judge_starved_cause(e, of, of->cpu_wait_s);

	if (strcmp(cause, "quota") == 0)
		return NW_CHAIN_USER_QUOTA;
	if (judge_own_users(e, of->host))
		return NW_CHAIN_USER_OWN;
	return strcmp(cause, "hog") == 0 &&
		judge_own_cpu_s(e, of->host) <= OWN_MOST * span_s(&c->graph)
	    ? NW_CHAIN_USER_OTHERS
	    : NW_CHAIN_USERS_N;
}

/* The judgement's word for the lack of a processor. */
static const char *
starved_cause(const struct evidence *e, const struct chain *c, size_t node)
{
	switch (chained_user(e, c, node)) {
	case NW_CHAIN_USER_OTHERS: return "hog";
	case NW_CHAIN_USER_QUOTA: return "quota";
	default: return "processors";
	}
}

static const char *
cause_of(const struct evidence *e, const struct chain *c)
{
	switch (chain_largest_use(longest_node(c), -1)) {
	case NW_CHAIN_CPU: return "computing";
	case NW_CHAIN_PAUSED: return "pause";
	case NW_CHAIN_STARVED: return starved_cause(e, c, c->graph.longest);
	default: return NULL;
	}
}

/* Whether the longest holder's waits for peers without measurement may be waits for processors. */
static bool
is_crowded(const struct chain *c)
{
	const struct nw_chain_node *n = longest_node(c);

	return !c->graph.limit_is_edge && n->use_share[NW_CHAIN_FAR] >= LEAVES_MIN &&
	    n->use_share[NW_CHAIN_STARVED] >= LEAVES_MIN;
}

static const char *
confidence_of(const struct evidence *e, const struct chain *c)
{
	const struct nw_chain *g = &c->graph;
	const double held = longest_node(c)->held_share;

	if (!g->known)
		return both_held(g) ? "low" : "none";
	return !g->limit_is_edge && held >= SURE_HELD &&
		chain_largest_use(longest_node(c), -1) != NW_CHAIN_INSIDE &&
		held - g->second_share >= SURE_LEAD &&
		windows_of(e, longest_node(c)) >= SURE_WINDOWS && e->documents_dropped == 0 &&
		!is_crowded(c)
	    ? "medium"
	    : "low";
}

static void
reason_say(struct judgement *j, struct claims *told)
{
	judge_add_reason(j, told);
	claims_clear(told);
}

/* Who had the processors that a node waited for, as far as the cause tells. */
static void
starved_say(struct judgement *j, const char *name, double share)
{
	const struct claim_value who = claim_text(name), waited = claim_number(share);
	struct claims told = { 0 };

	if (j->cause != NULL && strcmp(j->cause, "hog") == 0)
		CLAIM_SAY(&told, chain_hogged, CLAIM_NO_STAGE, who, waited);
	else if (j->cause != NULL && strcmp(j->cause, "quota") == 0)
		CLAIM_SAY(&told, chain_throttled, CLAIM_NO_STAGE, who, waited);
	else
		return;
	reason_say(j, &told);
}

static void
crowded_say(const struct chain *c, struct judgement *j)
{
	const struct nw_chain_node *n = longest_node(c);
	struct claims told = { 0 };

	CLAIM_SAY(&told, chain_crowded, CLAIM_NO_STAGE, claim_text(c->node[c->graph.longest].name),
	    claim_number(n->use_share[NW_CHAIN_FAR]), claim_number(n->use_share[NW_CHAIN_STARVED]));
	reason_say(j, &told);
}

static void
reasons_say(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	const struct nw_chain *g = &c->graph;
	const struct nw_chain_node *n = longest_node(c);
	struct claims told = { 0 };

	CLAIM_SAY(&told, chain_account, CLAIM_NO_STAGE, claim_number((double)g->n_nodes),
	    claim_number(floor(windows_of(e, n))));
	reason_say(j, &told);
	if (g->known && !g->limit_is_edge) {
		CLAIM_SAY(&told, chain_next, CLAIM_NO_STAGE, claim_text(c->node[g->second].name),
		    claim_number(g->second_share));
		reason_say(j, &told);
	}
	if (is_crowded(c)) {
		crowded_say(c, j);
	} else if (n->use_share[NW_CHAIN_FAR] >= LEAVES_MIN) {
		CLAIM_SAY(&told, chain_leaves, CLAIM_NO_STAGE, claim_text(c->node[g->longest].name),
		    claim_number(n->use_share[NW_CHAIN_FAR]));
		reason_say(j, &told);
	}
	if (j->chained.known &&
	    (j->chained.stage == NW_STAGE_DISK_READ || j->chained.stage == NW_STAGE_DISK_WRITE))
		judge_add_idle_device(j, CLAIM_NO_STAGE);
	if (g->known && !g->limit_is_edge)
		starved_say(j, c->node[g->longest].name, n->use_share[NW_CHAIN_STARVED]);
	if (e->documents_dropped > 0) {
		CLAIM_SAY(
		    &told, chain_lost, CLAIM_NO_STAGE, claim_number((double)e->documents_dropped));
		reason_say(j, &told);
	}
}

static void
instead_say(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	struct claims said = { 0 };
	char *what = c->graph.known && c->graph.limit_is_edge ? edge_text(c)
							      : place_text(e, c, c->graph.longest);

	if (c->graph.known)
		known_say(e, c, j, &said, what);
	else
		unknown_say(e, c, &said);
	judge_replace(j, &said,
	    c->graph.known ? xstrdup(what)
			   : xstrdup(both_held(&c->graph) ? "two stages at once" : "cannot tell"));
	if (c->graph.known && !c->graph.limit_is_edge)
		j->cause = cause_of(e, c);
	j->confidence = confidence_of(e, c);
	reasons_say(e, c, j);
	free(what);
}

void
chained_say(const struct evidence *e, const struct chain *c, struct judgement *j)
{
	struct claims more = { 0 };

	if (j->chained.how == CHAINED_INSTEAD)
		instead_say(e, c, j);
	if (j->chained.how == CHAINED_BESIDE && is_crowded(c) && j->confidence != NULL &&
	    strcmp(j->confidence, "high") == 0) {
		j->confidence = "medium";
		crowded_say(c, j);
	}
	/* the chain tells the sum alone of a limit with changes on the way */
	if (j->chained.how == CHAINED_BESIDE && j->said.n > 0 &&
	    j->said.claim[0].kind != CLAIM_moved) {
		links_say(c, "; along the chain, ", true, &more);
		judge_add_said(j, &more);
		claims_clear(&more);
	}
}
