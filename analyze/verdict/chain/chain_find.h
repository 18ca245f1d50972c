/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waited for whom in a session: the graph of narrows/chain.h from the processes of the
 * session, their pipes and local sockets, and connections with both ends measured; and a sentence.
 */
#ifndef CHAIN_FIND_H
#define CHAIN_FIND_H

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"
#include "narrows/chain.h"

struct chain_node {
	size_t process; /* the node's first, in the evidence */
	char *name;     /* as sentences have it */
	bool workers;   /* forks of the program of another node */
};

struct chain {
	struct nw_chain graph;   /* without nodes: no program waited for another */
	struct chain_node *node; /* as graph.node */
	size_t *node_of; /* of each process of the evidence, or SIZE_MAX; NULL without nodes */
	struct claims told;
	char *sentence; /* of told; NULL without nodes */
};

void chain_find(const struct evidence *e, struct chain *out);
void chain_clear(struct chain *c);

/* The largest use of a node's time besides `without`, or of all uses for a negative number;
 * negative if no use is worth a word. */
int chain_largest_use(const struct nw_chain_node *n, int without);

/* Whether a node's processes are children of the only process of another node. */
bool chain_is_child(const struct evidence *e, const struct chain *c, size_t node, size_t of);
bool chain_same_program(const struct evidence *e, const struct chain *c, size_t a, size_t b);

/* Whether the longest holder are workers that were done early, and the workers' loop went on for
 * longer than the workers took: the loop was slower, for a time at work that is not known. */
bool chain_is_outlived(const struct evidence *e, const struct chain *c);

/* chain_words.c: names the nodes and tells the chain. */
void chain_tell(const struct evidence *e, struct chain *c);

#endif
