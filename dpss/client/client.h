/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the client library. A thread for the master and one for each server read; the owner's
 * thread writes. One lock guards all shared state, and is not held during a send. "Locked" below
 * means: called with the lock held.
 */
#ifndef NARROWS_DPSS_CLIENT_H
#define NARROWS_DPSS_CLIENT_H

#include <pthread.h>
#include <stdio.h>

#include "dpss/hash.h"

#include "dpss/channel.h"
#include "dpss/blocklog.h"
#include "dpss/set_layout.h"
#include "dpss/client/pool.h"
#include "dpss/proto.h"
#include "narrows/dpss.h"

struct nw_tls_ctx;

#define NS_PER_MS INT64_C(1000000)
enum { MASK_WORDS = DPSS_SERVERS_MAX / 64, COPIES_MAX = 4, CONNECT_MS = 3000 };
#define AWAITED_ANY UINT64_MAX

struct server {
	struct dpss *d;
	uint32_t id;
	char host[DPSS_NAME_BYTES];
	uint16_t port;
	uint8_t mac[32];      /* of the ticket */
	struct channel *wire; /* changes under `sending` only */
	pthread_mutex_t sending;
	pthread_t thread;
	struct udp *udp;                /* NULL: blocks come on the connection */
	unsigned damaged;               /* blocks in a row whose bytes did not fit their checksum */
	bool started, alive, silent;    /* alive, silent: under the lock of all */
	int64_t silent_mono_ns;         /* since when */
	_Atomic int64_t packet_mono_ns; /* the last packet by UDP, a sign of life, too */
};

/* An awaited block. */
struct pending {
	uint64_t logical;
	uint32_t list, wanted; /* wanted: so many requests */
	int64_t asked_mono_ns;
	bool rebuilding; /* no server has the block; the client asks for its group */
	UT_hash_handle hh;
};

struct arrived {
	struct dpss_block block;
	struct arrived *prev, *next;
	UT_hash_handle hh; /* in the file's cache, by logical */
};

/* A block, computed from the other blocks of its group as these arrive. */
struct rebuild {
	uint64_t logical, first, parity_at; /* its group: blocks from `first` on, and the parity */
	uint32_t list, n, missing;
	uint8_t *data;
	struct rebuild *prev, *next;
	bool seen[256]; /* members of the group, the parity last */
};

struct place {
	uint64_t slot;
	uint32_t server, disk;
};

/* Places of a block before its write. */
struct placing {
	uint64_t logical;
	size_t n;
	struct place place[COPIES_MAX];
	UT_hash_handle hh;
};

/* A block on its way to disks. */
struct writing {
	uint64_t logical;
	uint32_t servers[COPIES_MAX]; /* without an answer yet */
	size_t n;
	bool stored;
	UT_hash_handle hh;
};

struct dpss {
	struct dpss_opts opts;
	char name[DPSS_NAME_BYTES], master_at[DPSS_NAME_BYTES];
	char master_host[DPSS_NAME_BYTES]; /* of master_at; empty: the usual master on this host */
	struct nw_tls_ctx *tls;
	struct channel *master; /* changes under master_sending only */
	pthread_mutex_t master_sending;
	pthread_t master_thread;
	bool master_started, closing;
	bool master_away, master_gone; /* away: may come again; gone: was waited for in vain */
	struct blocklog *log;
	FILE *trace; /* the lists under way; NULL for none */
	int64_t trace_mono_ns;
	uint64_t session, key, expiry;
	uint32_t set, list;
	char master_name[DPSS_NAME_BYTES];
	struct dpss_layout layout;
	struct pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct server servers[DPSS_SERVERS_MAX];
	/* reading */
	struct pending *pending;
	struct arrived *arrived; /* in order of arrival */
	uint64_t awaited;        /* block for which the reader sleeps; AWAITED_ANY */
	size_t n_arrived;        /* since the reader slept */
	struct rebuild *rebuilds;
	int64_t heard_mono_ns; /* when the last block came or was asked for */
	struct arrived *file;  /* blocks held by dpss_read() */
	uint64_t file_asked;   /* blocks before were asked for */
	size_t file_max;       /* the most blocks to hold */
	uint64_t file_at;      /* the last block viewed */
	uint64_t piece_last;   /* the last frame read */
	uint32_t tile_x, tile_y;
	dpss_predict *predict; /* NULL: the reader goes on as before */
	void *predict_arg;
	/* writing */
	bool answered; /* the answer to a PLACE or SEAL has come */
	int answer_rc;
	dpss_where *where; /* the application's layout, or NULL */
	void *where_arg;
	struct placing *placings;
	struct writing *writings;
	uint64_t copies_missed;
	int write_rc;    /* of a block without a stored copy */
	uint8_t *parity; /* of the group under way */
	uint64_t parity_group, parity_n;
	char why[DPSS_WHY_BYTES];
};

/* --- client_handle.c --- */
int client_fail(struct dpss *d, int rc, const char *why);
uint64_t client_blocks_all(const struct dpss *d); /* of data and parity */
/* Sends to the master; the packer is freed. NW_ECLOSED while the master is away. */
int client_master_send(struct dpss *d, uint16_t type, struct packer *p);

/* --- client.c --- */
/* Opens a handle by a request to the master; the packer is freed. NW_E* with why. */
int client_begin(const struct dpss_opts *opts, const char *name, uint16_t type, struct packer *p,
    struct dpss **out, char *why);

/* --- client_link.c --- */
/* OPENED, behind its type: connects to the servers. NW_EPROTO, NW_ENOTFOUND: no server can be
 * reached. */
int client_opened(struct dpss *d, struct unpacker *u);
void *client_master_run(void *dpss);

/* --- client_udp.c --- */
/* The port and key for packets of blocks, of a thread that lives until client_udp_free(). */
int client_udp_new(struct server *s, const struct channel *w, uint16_t *port, uint64_t *key);
void client_udp_free(struct server *s);

/* --- client_read.c --- */
/* As dpss_next(), for a reader that sleeps until a given block or several other blocks come. */
int client_next(struct dpss *d, int wait_ms, uint64_t awaited, struct dpss_block *out);
bool client_is_pending(struct dpss *d, uint64_t logical);
int client_block(struct server *s, struct channel_message *m);
/* A block whose data are whole: checked, logged and delivered. */
int client_block_take(struct server *s, struct dpss_block *b, uint32_t sum);
int64_t client_late_ns(const struct dpss *d);
int client_absent(struct dpss *d, struct unpacker *u);
/* As dpss_request(), parity blocks, too: those have the numbers behind the data. */
int client_request(struct dpss *d, const uint64_t *logical, size_t n, uint32_t *list);
/* Everything that is waited for, once more: after the death of a server, or of a message. */
int client_request_again(struct dpss *d);
void client_read_free(struct dpss *d);

/* --- client_write.c --- */
int client_written(struct server *s, struct unpacker *u);
/* Sends a request and waits for the answer, across the absence of a master. */
int client_master_ask(struct dpss *d, uint16_t type, const struct packer *p);
/* To all places of the block: the places known from the master, else the client asks for them. */
int client_block_write(
    struct dpss *d, uint64_t logical, int64_t stamp_wall_ns, const void *data, uint32_t len);
int client_writings_end(struct dpss *d); /* waits until servers have answered for every block */
int client_placed(struct dpss *d, struct unpacker *u); /* locked */
void client_answered(struct dpss *d, int rc);          /* locked */
void client_copies_end(struct server *s);              /* locked; the server is dead */
void client_write_free(struct dpss *d);

/* --- client_file.c --- */
void client_file_free(struct dpss *d);

/* --- client_ask.c --- */

/* tls: NULL for clear. The connection has said HELLO. */
int client_connect(
    const struct dpss_opts *opts, struct nw_tls_ctx *tls, struct channel **out, char *why);
/* Sends a request and waits for the answer `want`; pings are passed over. NW_E* with why: the
 * master's own words, if it has refused. The packer is freed. */
int client_ask(struct channel *w, uint16_t type, struct packer *p, uint16_t want,
    struct channel_message *m, char *why);

#endif
