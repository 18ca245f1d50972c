/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The senders of a session, and whose data the verdict uses.
 *
 * Any sender may join an open session whose name somebody chose. What a stranger sends counts only
 * where sender and session name each other:
 *
 *	- both report the same connection (two addresses, two ports), as the kernels at its two ends
 *	  do; or
 *	- each names an address of the other one.
 *
 * An owner's addresses are those from which it speaks to the box, and those that its certificate
 * lists. Between other addresses a connection counts if the two report its two ends, each its own,
 * if no other owner has the address, and if the owner names few such connections: ports can be
 * guessed.
 *
 * The first sender's data count, and those of senders that are tied to the first one by a chain of
 * such pairs. Loopback addresses name nobody. A task id that is a secret ties all that know it; so
 * do the rules by which the box joins sessions without a task (daemon/join.h). Senders without an
 * owner are files that an operator imported.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"

/* A sender of a session: a certificate's host, a user of the box's machine, an address. */
struct owner {
	char *name;     /* as in store.h; "" for a file that was imported */
	char **address; /* from which the owner spoke to the box, or in its certificate */
	size_t n_addresses;
	bool local;       /* the owner speaks from the box's machine */
	size_t n_named;   /* addresses and ends of connections that the owner named */
	size_t n_guesses; /* ends at addresses that are not known to be the owner's */
	uint64_t documents, bytes;
	size_t tied; /* index of the owner to which the owner is tied, or the own index */
	bool used;
};

struct owners {
	struct owner *owner; /* the first sender first */
	size_t n, n_set_aside;
	struct owner_share {
		int64_t xsp_id;
		size_t owner;
	} * share;              /* XSP sessions, by id */
	size_t n_shares, n_own; /* n_own: of the session itself */
};

/* Reads the senders of the session and settles whose data count. */
int
owners_load(struct store_reader *r, int64_t session_id, const char *task_id, struct owners *out);
/* Returns true if the data of an XSP session count. O(log XSP sessions, and witnesses). */
bool owners_use(const struct owners *o, int64_t xsp_id);
/* From now on the data of all senders count. */
void owners_use_all(struct owners *o);
void owners_clear(struct owners *o);

#endif
