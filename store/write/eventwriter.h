/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events in the file: rows of event_chunk, each with events of a session and a sender, rising in
 * time. A commit writes a row for each pair of its events. Sixteen rows of a pair and a level are
 * merged into rows of the next level: an event is written four times at most, however slowly events
 * come. A large new row is at the last level.
 */
#ifndef STORE_EVENTWRITER_H
#define STORE_EVENTWRITER_H

#include "store/write/connection.h"
#include "store/ground/eventcodec.h"

struct nw_batch;

/* Levels of rows; rows of the last level are not merged. */
enum { EVENT_LEVELS = 4, EVENT_MERGE_ROWS = 16 };

struct event_group {
	int64_t session_id, host_id; /* session_id 0: of no session */
};

struct event_writer {
	struct connection *c;
	struct event_codec *codec;
	/* pairs with possible rows to merge */
	struct event_group *due;
	size_t n_due, cap_due;
	/* the file may have more such pairs: after the start, and when memory was short */
	bool look;
};

/* Rows to merge, of a pair and level, and their bytes. */
struct event_due {
	bool found;
	struct event_group group;
	int level;
	size_t bytes;
};

struct event_old {
	bool found;
	int64_t id, host_id;
};

int event_writer_init(struct event_writer *w, struct connection *c);
void event_writer_clear(struct event_writer *w);
/* Inside the transaction: writes the events of a batch. A session with an id below next_session
 * that is not there is forgotten, and its events belong to the host alone. */
int event_writer_put(struct event_writer *w, const struct nw_batch *b, int64_t next_session);
/* After the commit: the batch's rows may be due for a merge. */
void event_writer_note(struct event_writer *w, const struct nw_batch *b);
/* Finds rows to merge; due->found is false if there are none. */
int event_writer_find(struct event_writer *w, struct event_due *due);
/* Merges the found rows, in a transaction of its own. */
int event_writer_merge(struct event_writer *w, const struct event_due *due);
/* Leaves the found rows alone, until more come. */
void event_writer_skip(struct event_writer *w);

/* Finds the oldest row without pin stored before a time, of a host or of any (HOST_ANY).
 * out->found: such a row exists. */
int event_writer_oldest(
    struct connection *c, int64_t host_id, int64_t stored_before_ns, struct event_old *out);
/* Inside a transaction: deletes a row. */
int event_writer_drop(struct connection *c, const struct event_old *row);

#endif
