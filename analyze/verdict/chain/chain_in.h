/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for a session's chain, inside the room: chain_find.c leads, chain_files.c finds the
 * waits for files. */
#ifndef CHAIN_IN_H
#define CHAIN_IN_H

#include "analyze/verdict/chain/chain_find.h"

/* Most pairs of writers and readers of the same files. */
enum { CHAIN_PAIRS_MAX = 32 };

struct finder {
	const struct evidence *e;
	struct nw_chain_process *p;
	struct nw_chain_end *end;
	const char **name; /* of each end's channel; NULL of a connection, of children and files */
	size_t n_ends, n_channels;
	/* writers and readers of the same files with one program, waits or not */
	size_t handed[CHAIN_PAIRS_MAX][2], n_handed;
	double **made; /* arrays to free */
	size_t n_made;
};

/* An array of the grid, filled with 0; freed with the finder. */
double *chain_array(struct finder *f);
/* Adds an end, valid until the next; NULL: too many. name: as in the finder, on loan. */
struct nw_chain_end *
chain_end_add(struct finder *f, size_t process, size_t channel, const char *name);
/* Since the first window's begin. */
double chain_seconds_of(const struct evidence *e, int64_t wall_ns);

/* Adds a channel for each pair of processes of which one waits for files of the other. */
void chain_files_add(struct finder *f);

#endif
