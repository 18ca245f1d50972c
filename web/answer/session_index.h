/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lists of sessions are filtered and sorted by, of all sessions of a store, in memory: a list
 * of 100,000 sessions is found in a few milliseconds, whatever the filter and the order. A search
 * costs time in proportion to the number of sessions; memory is about 100 bytes a session, and its
 * texts, each once.
 *
 * The index proposes and the store decides: a caller reads the sessions found again, and passes
 * over those that changed or went meanwhile.
 */
#ifndef NARROWS_WEB_SESSION_INDEX_H
#define NARROWS_WEB_SESSION_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"
#include "web/answer/session_filter.h"

struct session_index;

enum { SESSION_FOLLOW = 5000 }; /* sessions of a stretch short enough to delay no reader */

struct session_index *session_index_new(void); /* NULL: memory was short */
void session_index_free(struct session_index *x);

/* Follows the store, at most `limit` sessions further than before. *done: all are known. */
int session_index_follow(struct session_index *x, struct store_reader *r, size_t limit, bool *done);

struct session_found {
	int64_t id[SESSION_LIST_LIMIT_MAX];
	size_t n;
	bool more;     /* whether others pass behind them */
	size_t n_pass; /* all passing sessions, before the page, too */
};
/* The first `limit` sessions that pass, in the order of the filter, behind the session `behind` (0:
 * from the begin). Orders by a number leave out the sessions without that number. */
int session_index_find(const struct session_index *x, const struct session_filter *f,
    int64_t behind, size_t limit, struct session_found *found);

#endif
