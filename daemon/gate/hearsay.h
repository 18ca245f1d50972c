/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announcements of other programs (narrows/announce.h, narrows/xrootd.h), from datagrams to rows in
 * the store. The sender of a datagram and an end of the flow must lie in the networks of
 * announce-from. What sessions are is the daemon's business: the daemon gives a record of a session
 * for a flow.
 */
#ifndef HEARSAY_H
#define HEARSAY_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/conftable.h"
#include "narrows/store.h"

struct announce;
struct event_base;
struct nw_announcement;
struct nw_scitags;

enum announce_fate {
	ANNOUNCE_TAKEN,
	ANNOUNCE_FOREIGN,   /* sender or flow outside of the networks */
	ANNOUNCE_MALFORMED, /* no announcement that the box knows */
	ANNOUNCE_STALE,     /* a repetition, or a clock that is ten minutes off */
	ANNOUNCE_OVER_LIMIT /* too much of the source or of all, or the store is behind */
};

enum { ANNOUNCE_HIDDEN_BYTES = 40 };
enum announce_hide {
	ANNOUNCE_HIDE_NONE,
	ANNOUNCE_HIDE_USERS,
	ANNOUNCE_HIDE_FILES,
	ANNOUNCE_HIDE_ALL
};

/* Calls of the daemon; text is on loan. */
struct announce_ops {
	/* The session of a flow, and its id; NULL refuses. The record lives until `end`. */
	void *(*begin)(void *arg, const struct nw_announcement *n, int64_t *session_id);
	/* Numbers have come. */
	void (*more)(void *arg, void *session);
	void (*end)(void *arg, void *session);
	int64_t (*host)(void *arg, const char *source); /* its id */
	struct nw_batch *(*batch)(void *arg);
	bool (*is_full)(void *arg); /* nothing can be stored now */
	/* what a datagram became; why is static text or NULL. Charges for `cost` (commit.h). */
	void (*note)(void *arg, enum announce_fate fate, const char *source, const char *why);
	void (*charge)(void *arg, size_t bytes);
	/* n datagrams of a numbered stream are missing, or come later. */
	void (*lost)(void *arg, unsigned n);
	/* Writes what stands for a name that the box must not keep: the same for the same name. */
	void (*hide)(void *arg, const char *name, char out[ANNOUNCE_HIDDEN_BYTES]);
	struct store_ids *next;
	void *arg;
};

struct announce_conf {
	const char *listen, *from; /* addresses, networks; "none" for none */
	const struct nw_scitags *names;
	enum announce_hide hide; /* names that are hidden before anything is stored */
};

/* Reads the file of names. A missing file gives no names. NW_EINVAL or NW_EIO with the fault in
 * why; *out is freed by nw_scitags_free(). */
int announce_names(const char *path, struct nw_scitags **out, char why[CONF_WHY_BYTES]);
/* Opens the sockets. c->names must live as long. After a negative code, why has the fault. */
int announce_start(struct event_base *base, const struct announce_conf *c,
    const struct announce_ops *ops, struct announce **out, char why[CONF_WHY_BYTES]);
struct nw_event;
/* An event came from a host of the box. The event of a whole transfer (narrows/announce.h) begins
 * and ends a flow at once. */
void announce_event(struct announce *a, const char *host, const struct nw_event *e);
/* A transfer that its sender (an address) announced as a whole, as Rucio's traces do. One of whose
 * ends no address lies in the networks of announce-from is refused, and so is such a sender. */
enum announce_fate
announce_whole(struct announce *a, const char *sender, const struct nw_announcement *n);
/* Once a second. */
void announce_tick(struct announce *a);
/* Ends the flows; accepts NULL. */
void announce_stop(struct announce *a);
/* "address/port" of each socket, parted by blanks; on loan. */
const char *announce_addresses(const struct announce *a);

#endif
