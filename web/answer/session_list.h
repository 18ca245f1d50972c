/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of the sessions that pass a filter, a page at a time. */
#ifndef NARROWS_WEB_SESSION_LIST_H
#define NARROWS_WEB_SESSION_LIST_H

#include "web/answer/session_filter.h"
#include "web/answer/session_index.h"

struct session_listed {
	int64_t next; /* where to go on (`before`); 0 behind the last session */
	size_t n_all; /* sessions that pass, on all pages; 0: not counted */
};
/*
 * The sessions that pass, in the order asked for, a page of them. By a number, sessions without
 * that number are left out. x: what the caller keeps from one list to the next; NULL: all sessions
 * are read unless the list is the newest ones of all.
 */
int session_list(struct session_index *x, struct store_reader *r, const struct session_filter *f,
    store_session_fn *fn, void *arg, struct session_listed *listed);

#endif
