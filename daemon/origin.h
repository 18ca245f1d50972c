/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sends. A provider that said HELLO keeps one origin over all its connections: its metadata,
 * and the numbers of its documents, so that what is delivered twice is stored once. An original
 * peer has one origin per XSP session.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "narrows/doc.h"

struct box;
struct json_t;
struct session;
struct xsess;

/* Fields that arrive together; the newest layout of a series holds every field seen so far. */
struct layout {
	int64_t id;
	size_t n_fields;
	char **fields;
};

/* One metadata of one origin. */
struct series {
	char *mid; /* hash key */
	char *event_type, *pid, *params_json, *subject_json;
	/* with what its transfer's says; NULL: there is none that says more */
	struct json_t *whole_subject;
	char *inherited_json;     /* the same as text */
	char *task_id, *hostname; /* own or inherited */
	double dt_s, ts_s;
	int64_t meta_id;
	struct session *session; /* NULL: the host's own */
	bool witness;            /* what a host says of somebody's transfer */
	struct layout layout;
	unsigned n_layouts;
	int64_t last_wall_ns; /* of its newest row; 0: none yet */
	/* between its last report but one and the begin of its last; 0: not known */
	int64_t waited_ns;
	int64_t next_sample;  /* the number its next row should have, where rows have one */
	struct series *older; /* the same mid with another event type or other parameters */
	UT_hash_handle hh;
};

struct held; /* a data document whose metadata has not come */

struct origin {
	char *provider_id; /* hash key; NULL: original peer */
	unsigned refs;
	struct box *box;
	struct xsess *xsess; /* the connection it talks on now, or NULL */
	uint64_t accepted_seq, stored_seq;
	const void *noted_in; /* commit's: the ticket that has this origin, and where */
	size_t noted_at;
	struct series *series;
	/* of all its metadata, the older ones of one mid included; of all its layouts */
	size_t n_series, n_fields;
	struct held *held;
	size_t held_bytes;
	int64_t idle_since_mono_ns, made_room_mono_ns;
	UT_hash_handle hh;
};

/* A new origin (provider_id NULL) or the one of that provider; with one reference. */
struct origin *origin_get(struct box *box, const char *provider_id);
struct origin *origin_hold(struct origin *o);
void origin_release(struct origin *o);
/* Startup: what the store knows of a provider. */
void origin_restore(struct box *box, const char *provider_id, uint64_t stored_seq);
/* Forgets the metadata of providers that nobody has held for a while, and the oldest of very many
 * providers. */
void origin_expire(struct box *box, int64_t now_mono_ns);
void origin_free_all(struct box *box);

/* The numbers up to seq are on disk / will never be: what follows them must be sent again. */
void origin_stored(struct origin *o, uint64_t seq);
void origin_lost(struct origin *o);

/* NULL when unknown. event_type NULL: the newest of that mid. */
struct series *origin_series(struct origin *o, const char *mid, const char *event_type);
/*
 * Whose data it is. Calipers of one file or connection share an id, and their data of generation 3
 * do not say which one speaks: there it is the one whose report can have begun where this one does.
 * Times must be sane. NULL: unknown.
 */
struct series *origin_series_of(struct origin *o, const struct nw_data *d);
/* Nobody measured before 1970 or after 2200: such a time is a mistake, and arithmetic with it would
 * overflow. */
bool data_times_are_sane(const struct nw_data *d);
/* When that row was; now, where its number does not tell it. The series notes that it has come. */
int64_t series_row_time(struct series *s, const struct nw_data *d, size_t row, int64_t now_wall_ns);
/* Keeps a series; identical ones are returned as they are with *is_new false. NULL: over the
 * limit. */
struct series *origin_series_add(struct origin *o, const struct nw_meta *m, bool *is_new);
/* At a limit: what a host said of transfers that are over makes room, but for one. True: something
 * did. */
bool origin_make_room(struct origin *o, const struct series *but);

/* Adds to the subject of s what only its transfer says of disk, network and addresses: on loan as
 * long as s. */
void origin_series_subject(const struct series *s, struct nw_subject *subject);

/* Holds a document until metadata `mid` comes; false when there is no room. */
bool
origin_held_add(struct origin *o, const char *mid, uint16_t opt, const uint8_t *doc, size_t len);
/* Takes out the next document held for mid: free() it. NULL: none. */
uint8_t *origin_held_take(struct origin *o, const char *mid, uint16_t *opt, size_t *len);

#endif
