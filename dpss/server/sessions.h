/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sessions of clients at this server, found by the master's grant and the session's number. A
 * session is held by its tasks, and by the table while its connection lives.
 *
 * Locks, in the order of taking: of all sessions, of a session, of a disk's or an outbox's queue.
 */
#ifndef NARROWS_DPSS_SESSIONS_H
#define NARROWS_DPSS_SESSIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpss/blocklog.h"
#include "dpss/hash.h"
#include "dpss/server/datagrams.h"
#include "dpss/server/disk_queue.h"
#include "dpss/server/places.h"

struct session_key {
	uint64_t id;
	uint32_t grant, unused; /* unused: 0 */
};

struct session {
	struct session_key key;
	struct sessions *all;
	struct grant *grant;
	uint32_t set;
	struct outbox *out;
	struct datagrams *packets; /* NULL: blocks go on the connection */
	bool from_file;            /* blocks may go from the file to the connection */
	atomic_uint holders;
	atomic_uint latest_list;
	atomic_bool over;
	pthread_mutex_t lock;  /* of the fields below */
	pthread_cond_t change; /* of underway or places */
	struct task *held, **held_last;
	size_t underway, underway_max;
	bool pumping; /* a thread lets held requests enter */
	struct place *places;
	UT_hash_handle hh;
};

struct sessions_opts {
	size_t n_disks;
	size_t cache_bytes;
	uint64_t pace_bytes_per_s; /* at most, to each client; 0: no limit */
	struct blocklog *log;      /* NULL: none */
};

struct sessions {
	struct sessions_opts opts;
	struct blockcache *cache;
	struct disk *disks[DISKS_MAX];
	pthread_mutex_t lock;
	struct session *by_key;
};

/* calls: what the disks' threads call for tasks of the sessions. NW_ENOMEM. */
int sessions_new(
    const struct sessions_opts *opts, const struct disk_calls *calls, struct sessions **out);
void sessions_free(struct sessions *all); /* after all connections have ended */

/* One holder. NW_ECONFLICT: the session has a connection. NW_ENOMEM. */
int
session_new(struct sessions *all, struct grant *g, const struct ticket *t, struct session **out);
/* Held, or NULL. */
struct session *session_find(struct sessions *all, const struct grant *g, uint64_t id);
void session_leave(struct session *s); /* not found from now on */
void session_drop(struct session *s);

#endif
