/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the book of series, the risk of a diet and the proposals. */
#ifndef DIET_IN_H
#define DIET_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <uthash.h>

#include "analyze/verdict/keep/keeplist_in.h"
#include "narrows/diet.h"

enum { DIET_GROUP_BYTES = 64, DIET_RUNS_MIN = 3 };
/* Share of half-samples from which on a metric carries something. */
#define DIET_SHARE_MIN 0.2

struct diet_series {
	char *name;                            /* "disk:partition:sda" */
	int64_t first_ns, last_ns, carried_ns; /* times of runs; 0: none */
	int64_t runs;                          /* since the series carried something */
	bool moved;                            /* ever, in a session */
	/* in this run, over all lists: a list counts; the series carries something */
	bool looked, carried_now;
	/* in the present list: a host of the group has the series; the series moves; it carries
	 * something */
	bool here, moved_here, carried_here;
	UT_hash_handle hh;
};

struct diet_host {
	int64_t id;
	char *name;
	struct diet_series *series; /* hash by name */
	json_t *risks;              /* {group: [risk on a route]}; NULL: none yet */
};

struct diet_book {
	struct diet_params params;
	struct diet_host *host;
	size_t n_hosts;
};

/* "disk:partition" of "disk:partition:sda". */
void diet_group_name(const char *series, char out[DIET_GROUP_BYTES]);
/* Whether the series will be proposed if no later list of this run has a use for it; whether the
 * series is to be proposed, after the book has taken the run. */
bool diet_may_be_spare(const struct diet_book *b, const struct diet_series *s);
bool diet_is_spare(const struct diet_book *b, const struct diet_series *s);
/* The series and the host of a moving column; NULL: of no host, or of a program. */
struct diet_series *diet_series_of(
    struct diet_book *b, const struct keep_work *w, size_t column, struct diet_host **host);
/* Adds what the list says of the risk of each group of candidates. NW_ENOMEM. */
int diet_risks_take(struct diet_book *b, const struct keep_work *w);
/* Adds the proposals of a host to the batch, after the book has taken the run. */
int diet_propose(
    struct diet_book *b, struct store_reader *r, struct diet_host *h, struct nw_batch *out);

#endif
