/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: one transfer or run, joined from its XSP sessions by task_id (without a task_id, one
 * XSP session is one session).
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
struct series;

enum session_state { SESSION_OPEN, SESSION_LINGERING, SESSION_CLOSED };

struct session {
	int64_t id;
	char *key; /* hash key: the task_id, or "xsp:" and the XSP session id */
	char *program;
	enum session_state state;
	unsigned live; /* XSP sessions attached */
	unsigned refs; /* references from series and XSP sessions */
	int64_t opened_wall_ns, closed_wall_ns, last_data_wall_ns;
	struct join *join; /* clues of a session without task (join.h), or NULL */
	void (*join_free)(struct join *join);
	struct session *merged_into; /* session that took over, or NULL */
	int64_t analysed_mono_ns;    /* time of the last analysis while open */
	bool fresh;                  /* rows have come since then */
	struct box *box;
	struct event *linger;
	UT_hash_handle hh;
};

/* Finds or makes the session of a key (a task_id, "xsp:..."). A closed session opens again. The
 * caller gets one reference. */
struct session *session_join(struct box *box, const char *key);
/* Finds the session of a key, or NULL, and changes nothing. The caller gets a reference. */
struct session *session_find(struct box *box, const char *key);
/* Follows merges: returns s, or the session that took s over; the caller's reference moves along.
 * NULL stays NULL. */
struct session *session_now(struct session *s);
/* Gives everything of `from` to `into`, from now on. */
void session_merge(struct session *from, struct session *into);
void session_release(struct session *s);
/* An XSP session begins to feed the session. */
void session_attach(struct session *s);
/* The XSP session has ended. */
void session_detach(struct session *s);
/* The sender said that the transfer is over, though connections may stay: the linger begins. */
void session_end(struct session *s);
/* Rows of the session have come. */
void session_touch(struct session *s, int64_t now_wall_ns);
/* Names the session's program; the first name stays. */
void session_name(struct session *s, const char *program);

/* Releases the session of a series before its catalogue frees the series. */
void session_series_forget(struct series *gone);
/* True for a host's series of a transfer whose session closed a while ago. */
bool session_series_is_over(struct series *s, int64_t now_wall_ns);

/* Startup: a session of the store; an open session lingers, so that its providers can return. */
void session_restore(struct box *box, int64_t id, const char *task_id, const char *program,
    int64_t opened_wall_ns, int64_t closed_wall_ns, int64_t last_data_wall_ns);
/* Startup: every session is restored; sorts them, because the oldest are forgotten first. */
void session_restored(struct box *box);
/* Once a second: has open sessions with new data analysed, forgets old closed ones. */
void session_tick(struct box *box, int64_t now_mono_ns);
/* Shutdown: stores every open session as closed. */
void session_close_all(struct box *box);
void session_free_all(struct box *box);

#endif
