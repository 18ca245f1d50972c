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
	char *label;   /* hash key: label of the task (task.h), or "xsp:" and a session id */
	char *task_id; /* id as the sender told it, NULL after a restart */
	struct session *older; /* another session with the same label */
	char *program;
	enum session_state state;
	unsigned live;      /* XSP sessions attached, and announced flows */
	unsigned announced; /* the flows among them */
	unsigned refs;      /* references from series and XSP sessions */
	int64_t opened_wall_ns, closed_wall_ns, last_data_wall_ns;
	struct join *join; /* clues of a session without task (join.h), or NULL */
	void (*join_free)(struct join *join);
	struct session *merged_into; /* session that took over, or NULL */
	int64_t analysed_mono_ns;    /* time of the last analysis while open */
	bool fresh;                  /* rows have come since then */
	uint8_t n_judged_late;       /* judgements after announcements that came too late */
	bool restored;               /* of an earlier life of the box, which forgot the senders */
	struct session_sender {
		char *owner;
		char *address;   /* of the newest connection; NULL: loopback */
		char *certified; /* that the certificate lists, by blanks; NULL: none */
		char **named;    /* addresses at ends of connections */
		size_t n_named;
	} * senders;
	size_t n_senders;
	struct box *box;
	struct event *linger;
	UT_hash_handle hh;
};

/* A sender that wants to add to a session. */
struct session_guest {
	const char *owner;     /* as of its provider ids (narrows/store.h) */
	const char *address;   /* address of its connection */
	const char *certified; /* further addresses in the certificate; NULL: none */
};

/* Returns true if the guest has the address, by its connection or by its certificate. */
bool session_guest_is(const struct session_guest *guest, const char *address);

/*
 * Finds or makes the session of a task_id ("xsp:..." stands for one without task). Every guest may
 * join an open session. A closed session opens again only for a sender that took part, for one at
 * the other end of a connection that the session named, or for one that knows a secret task_id; for
 * others a new session with the same label begins. The caller gets a reference.
 */
struct session *
session_join(struct box *box, const char *task_id, const struct session_guest *guest);
/* Finds a session that the guest may join, or NULL, and changes nothing. The caller gets a
 * reference. */
struct session *
session_find(struct box *box, const char *task_id, const struct session_guest *guest);
/*
 * The name of a session in orders for a host: a text that no other host can make or use, and that
 * tells nothing of a secret task. Good until the box ends.
 */
enum { SESSION_ALIAS_BYTES = 64 };
void session_alias(const struct session *s, const char *host, char out[SESSION_ALIAS_BYTES]);
/* Finds the session behind an alias of the host. Returns NULL for any other text; else the caller
 * gets a reference. O(sessions in memory). */
struct session *session_of_alias(struct box *box, const char *alias, const char *host);
/* The first sender that took part, "" if none is known; on loan until session_free_all(). */
const char *session_get_owner(const struct session *s);
/* Returns true if a sender with this task and owner may hear the verdict: the task is secret, or
 * the sender is the first one, or the first sender and this one name each other. */
bool session_may_hear(const struct session *s, const char *task_id, const char *owner);
/* A sender takes part in the session from now on. */
void session_take_part(struct session *s, const struct session_guest *guest);
/*
 * A sender of the session named an address at the end of a connection (NULL is fine). An open
 * session of the same label becomes part of s, if s is open, too, and each sender there and a
 * sender here named each other's address.
 */
void
session_name_address(struct session *s, const struct session_guest *guest, const char *address);
/* Follows merges: returns s, or the session that took s over; the caller's reference moves along.
 * NULL stays NULL. */
struct session *session_now(struct session *s);
/* Gives everything of `from` to `into`, from now on. */
void session_merge(struct session *from, struct session *into);
void session_release(struct session *s);
/* An XSP session of an owner begins to feed the session; a verdict of a closed session is kept. */
void session_attach(struct session *s, const char *owner);
/* The XSP session has ended. */
void session_detach(struct session *s);
/* The sender said that the transfer is over, though connections may stay: the linger begins. */
void session_end(struct session *s);
/* Rows of the session have come from an owner; they open a closed session again, and the verdict so
 * far is kept. */
void session_touch(struct session *s, const char *owner, int64_t now_wall_ns);
/* Measurements that the box ordered behind a session are in: a closed session is judged again, and
 * the verdict so far is kept. */
void session_judge_again(struct session *s, const char *why);
/* Owner of announcements by datagrams: nobody. */
#define SESSION_ANNOUNCER "announced"
/* An announced flow begins to feed the session, or ends. Flows do not hold open a session that has
 * taken theirs over. */
void session_announced(struct session *s, bool begins);
/* Names the session's program; the first name stays. */
void session_name(struct session *s, const char *program);

/* Releases the session of a series before its catalogue frees the series. */
void session_series_forget(struct series *gone);
/* True for a host's series of a transfer whose session closed a while ago. */
bool session_series_is_over(struct series *s, int64_t now_wall_ns);

/* Startup: a session of the store; an open session lingers, so that its providers can return. */
struct session *session_restore(struct box *box, int64_t id, const char *label, const char *program,
    int64_t opened_wall_ns, int64_t closed_wall_ns, int64_t last_data_wall_ns);
/* Startup: every session is restored, the newest first; from now on the oldest are forgotten first.
 */
void session_restored(struct box *box);
/* Calls fn for each session in memory. */
void session_each(struct box *box, void (*fn)(struct session *s, void *arg), void *arg);
/* Once a second: has open sessions with new data analysed, forgets old closed ones. */
void session_tick(struct box *box, int64_t now_mono_ns);
/* Shutdown: stores every open session as closed. */
void session_close_all(struct box *box);
void session_free_all(struct box *box);

#endif
