/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: one transfer or run, joined from its XSP sessions by task_id (else one XSP session is
 * one session).
 *
 *	        attach              last detach           linger over
 *	OPEN ------------> OPEN ------------------> LINGERING ----------> CLOSED (sealed, judged)
 *	  ^                                            |                     |
 *	  +------------------- attach -----------------+---------------------+
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

struct box;
struct event;
struct join;

enum session_state { SESSION_OPEN, SESSION_LINGERING, SESSION_CLOSED };

struct session {
	int64_t id;
	char *key; /* hash key: the task_id, or "xsp:" and the XSP session id */
	char *program;
	enum session_state state;
	unsigned live; /* XSP sessions attached */
	unsigned refs; /* series and XSP sessions that point here */
	int64_t opened_wall_ns, closed_wall_ns, last_data_wall_ns;
	struct join *join; /* of a session without task: what may bring others to it (join.h) */
	struct session *merged_into; /* it turned out to be part of this one */
	int64_t analysed_mono_ns;    /* when last put on the schedule while open */
	bool fresh;                  /* rows since then */
	struct box *box;
	struct event *linger;
	UT_hash_handle hh;
};

/* Finds or makes the session of a key (a task_id, "xsp:..."). A closed one opens again. One
 * reference, to be released. */
struct session *session_join(struct box *box, const char *key);
/* The session of a key if there is one, left as it is: of what only looks on. One reference, to be
 * released. */
struct session *session_find(struct box *box, const char *key);
/* What s is now: itself, or the session it was merged into. The reference moves along. NULL stays
 * NULL. */
struct session *session_now(struct session *s);
/* All of `from` belongs to `into` from now on. */
void session_merge(struct session *from, struct session *into);
void session_release(struct session *s);
/* An XSP session belongs to it / has ended. */
void session_attach(struct session *s);
void session_detach(struct session *s);
/* The transfer has said that it is over, though connections may stay: no more than the linger until
 * it is judged. */
void session_end(struct session *s);
void session_touch(struct session *s, int64_t now_wall_ns);
/* The first name stays. */
void session_name(struct session *s, const char *program);

/* Startup: a session of the store; an open one lingers, so that its providers can come back. */
void session_restore(struct box *box, int64_t id, const char *task_id, const char *program,
    int64_t opened_wall_ns, int64_t closed_wall_ns, int64_t last_data_wall_ns);
/* All are there: the oldest will be forgotten first, in whatever order they came. */
void session_restored(struct box *box);
/* Once a second: puts open sessions with new data on the schedule, forgets old closed ones. */
void session_tick(struct box *box, int64_t now_mono_ns);
/* Shutdown: writes every open session down as closed. */
void session_close_all(struct box *box);
void session_free_all(struct box *box);

#endif
