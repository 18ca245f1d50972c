/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender of measurements. A provider that said HELLO keeps one origin over all its connections:
 * the catalogue of its series, and the numbers of its documents, so that a document delivered twice
 * is stored once. A peer without HELLO has one origin per XSP session.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "narrows/catalog.h"

struct box;

/* Calls to the present connection of an origin. */
struct origin_ops {
	void (*stored)(void *arg, uint64_t stored_seq); /* documents up to stored_seq are on disk */
	void (*end)(void *arg, const char *why);        /* the connection must end; why is static */
};

struct origin {
	char *key;                       /* hash key: owner, line feed, id; NULL without HELLO */
	const char *owner, *provider_id; /* parts of the key; owner: narrows/store.h */
	unsigned refs;
	struct box *box;
	const struct origin_ops *ops; /* calls to the present connection, NULL without connection */
	void *ops_arg;
	uint64_t accepted_seq, stored_seq;
	const void *noted_in; /* batch in which commit.c noted the origin, or NULL */
	size_t noted_at;      /* position in the batch's notes */
	struct catalog catalog;
	size_t counted_bytes; /* part of the box's memory_bytes */
	int64_t idle_since_mono_ns, made_room_mono_ns;
	struct origin *older, *newer; /* list of idle origins by age */
	UT_hash_handle hh;
};

/*
 * Finds or makes the origin of an owner's provider (provider_id NULL: makes a new one); one
 * reference. Equal ids of two owners are two providers.
 */
struct origin *origin_get(struct box *box, const char *owner, const char *provider_id);
struct origin *origin_hold(struct origin *o);
void origin_release(struct origin *o);
/* Startup: the store's knowledge of a provider. */
void
origin_restore(struct box *box, const char *owner, const char *provider_id, uint64_t stored_seq);
/* Forgets the series of providers long without reference; only their numbers stay. Returns the
 * number of origins looked at: those that go, and one. */
unsigned origin_expire(struct box *box, int64_t now_mono_ns);
/* Forgets the series of the provider that is longest without reference. False without any. */
bool origin_forget_oldest(struct box *box);
void origin_free_all(struct box *box);
/* Brings the box's memory_bytes up to date with the catalogue. */
void origin_count(struct origin *o);

/* Makes arg's connection the present one; an older connection of the provider ends. */
void origin_attach(struct origin *o, const struct origin_ops *ops, void *arg);
/* Does nothing when the origin talks on another connection than arg's. */
void origin_detach(struct origin *o, const void *arg);

/* The documents up to seq are on disk: the connection is told. */
void origin_stored(struct origin *o, uint64_t seq);
/* Accepted documents did not reach the disk: the connection ends, and the provider sends again. */
void origin_lost(struct origin *o);

/* Adds m to the catalogue. At the limit, series of finished transfers make room (is_over as in
 * catalog_prune). NW_ETOOBIG, NW_ENOMEM. */
int origin_series_add(struct origin *o, const struct nw_meta *m, struct series **out, bool *is_new);
/* Forgets series of finished transfers, except `keep`, at most once a second. False if none was
 * forgotten. */
bool origin_make_room(struct origin *o, const struct series *keep);

#endif
