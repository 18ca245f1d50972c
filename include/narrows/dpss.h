/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client library of the storage system: logical blocks of data sets, striped over servers.
 *
 * A program opens a set, sends lists of the blocks it wants, and takes blocks in the order in which
 * they arrive. Blocks come straight from the servers; each has a checksum, and times at all points
 * of its path. A server that dies is noticed within a second, and its blocks are asked of others
 * that have copies, or computed from parity. A master that is away is waited for during ten
 * seconds; blocks that are on their way arrive meanwhile.
 *
 * With `flush` a new list takes the place of the one before: what was not sent by then is not sent,
 * though it may stay in a server's memory. Without it every block that was asked for is delivered,
 * or reported as lost.
 *
 * One thread owns a handle. Nothing is printed. Functions return NW_OK or NW_E* (narrows/err.h).
 */
#ifndef NARROWS_DPSS_H
#define NARROWS_DPSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libdpss.so shows only the functions of this header. */
#pragma GCC visibility push(default)

struct dpss;

enum { DPSS_WHY_BYTES = 256, DPSS_POINTS_MAX = 8 };

struct dpss_opts {
	const char
	    *master; /* "host/port"; NULL: DPSS_MASTER of the environment, else 127.0.0.1/7071 */
	const char *tls_dir; /* HOST.key, HOST.crt and ca.crt; NULL: clear */
	const char *log;     /* a file that gets each block's events; NULL for none */
	const char *trace;   /* a file to which the lists are appended that are asked for, for
				tv_sim(1); NULL: DPSS_TRACE of the environment, or none */
	bool write, flush;
	/* Blocks come by UDP, in clear only: a block that is lost on the way, or later than
	 * late_ms after its request, is not sent again but delivered as late. */
	bool udp;
	int late_ms;  /* 0: a second */
	bool accepts; /* takes blocks, too, that other clients' dpss_deliver() sends here */
	/* Hears at once, in a thread of the library, which servers come and which die; no function
	 * of this header may be called from there. NULL for no call. */
	void (*on_server)(void *arg, uint32_t server, const char *host, uint16_t port, bool alive);
	void *arg;
};

/* Where the first copy of a block should stand: a server's number (dpss_server_list()) and a disk
 * there, as far as the application cares; there is room elsewhere if not there. */
typedef void dpss_where(void *arg, uint64_t logical, uint32_t *server, uint32_t *disk);

struct dpss_layout {
	uint32_t block_bytes; /* up to 4 MiB */
	uint64_t bytes;       /* of the whole set */
	uint8_t copies;       /* of each block, on different servers: 1 to 4 */
	uint8_t parity;       /* one block of parity for so many of data; 0 for none */
	dpss_where *where;    /* for dpss_create(); NULL: declustered, neighbours apart */
	void *arg;
};

int dpss_open(
    const struct dpss_opts *opts, const char *name, struct dpss **out, char why[DPSS_WHY_BYTES]);
/* Makes a set and opens it for writing. NW_ECONFLICT: the name is taken. */
int dpss_create(const struct dpss_opts *opts, const char *name, const struct dpss_layout *layout,
    struct dpss **out, char why[DPSS_WHY_BYTES]);
/* NW_EIO: events could not be logged. NULL is fine. */
int dpss_close(struct dpss *d);

struct dpss_layout dpss_layout_of(const struct dpss *d);
uint64_t dpss_blocks(const struct dpss *d);                      /* of data */
uint32_t dpss_block_len(const struct dpss *d, uint64_t logical); /* the last one may be shorter */
size_t dpss_servers(const struct dpss *d);                       /* that live */
const char *dpss_why(const struct dpss *d);                      /* the last failure, in words */

/* --- reading --- */

/* Third-party delivery: the address of a handle that accepts, to be given to others in any way; a
 * peer with the address may send blocks of the handle's set there, straight from the servers. */
enum { DPSS_ADDRESS_CHARS = 33 };
void dpss_address(const struct dpss *d, char out[DPSS_ADDRESS_CHARS + 1]);
int dpss_deliver(const struct dpss_opts *opts, const char *address, const uint64_t *logical,
    size_t n, char why[DPSS_WHY_BYTES]);

struct dpss_block {
	uint64_t logical;
	uint32_t list, len, server;
	uint32_t wanted;          /* requests for the block since its last arrival */
	int rc;                   /* NW_OK; NW_ENOTFOUND: no server that lives has the block */
	bool late;                /* by UDP, and not complete in time; rc is NW_ENOTFOUND */
	bool rebuilt;             /* computed from parity */
	int64_t recorded_wall_ns; /* when the writer had the block; 0: computed from parity */
	int64_t times[DPSS_POINTS_MAX]; /* wall clock, ns, at the points of the path; 0: unknown */
	uint8_t *data;                  /* until dpss_block_free(), also beyond dpss_close() */
};

/* Asks for n blocks as one list, whose number *list gets (NULL: not wanted). */
int dpss_request(struct dpss *d, const uint64_t *logical, size_t n, uint32_t *list);
/* The next block that arrives, within wait_ms. NW_EAGAIN: none did. */
int dpss_next(struct dpss *d, int wait_ms, struct dpss_block *out);
void dpss_block_free(struct dpss_block *b);
/* Blocks that were asked for and have neither arrived nor been flushed. */
size_t dpss_pending(struct dpss *d);
/* Forgets all pending requests, and returns how many there were. A caller with `flush` that counts
 * calls this before each list: every other request ends in a block, with its count in `wanted`. */
uint64_t dpss_forget(struct dpss *d);

/* The set as a file: fills buf from `offset` on; *n: bytes read, less than len only at the end.
 * Blocks ahead of a sequential reader are asked for before they are needed. */
int dpss_read(struct dpss *d, uint64_t offset, void *buf, size_t len, size_t *n);

/* The same without a copy: *data points to the bytes at `offset` up to the end of their block,
 * until the next call for d. *len: 0 at the end. */
int dpss_view(struct dpss *d, uint64_t offset, const void **data, size_t *len);

/* Frame number `frame`, or a tile, of a set that is nothing else, into buf, which has room for the
 * whole; the piece that comes next if the reader goes on as before is asked for, too. */
int dpss_frame(struct dpss *d, uint64_t frame_bytes, uint64_t frame, void *buf);

/* A picture at several levels: level 0 has width times height tiles, row by row, each next level
 * half as many in both directions, rounded up. */
struct dpss_tiles {
	uint32_t tile_bytes, width, height, levels;
};
int dpss_tile(
    struct dpss *d, const struct dpss_tiles *t, uint32_t x, uint32_t y, uint32_t level, void *buf);
/* The tile's place in the set, in tiles; UINT64_MAX: there is no such tile. */
uint64_t dpss_tile_number(const struct dpss_tiles *t, uint32_t x, uint32_t y, uint32_t level);

/* Which blocks will be wanted after the one that is read: fills out with up to max of them and
 * returns how many. NULL: the library's own guess. */
typedef size_t dpss_predict(void *arg, uint64_t logical, uint64_t *out, size_t max);
void dpss_predict_by(struct dpss *d, dpss_predict *hook, void *arg);

/* --- writing --- */

/* Sends a block; waits while 32 MiB are on the way. data has dpss_block_len() bytes. */
int dpss_write(struct dpss *d, uint64_t logical, const void *data);
/* The same with the time at which the block came into being, which is kept with the block. */
int dpss_write_stamped(struct dpss *d, uint64_t logical, int64_t stamp_wall_ns, const void *data);
/* Waits until every block is on the disks of at least one server, and seals the set. */
int dpss_finish(struct dpss *d);
/* The same for a set without parity that became shorter than was thought: its bytes from now on. */
int dpss_finish_at(struct dpss *d, uint64_t bytes);
/* Recording: dpss_record() takes a copy of a block, stamps it with the time and never waits; a
 * thread writes blocks_per_s (0: as fast as can be). Between begin and end the handle belongs to
 * the recorder; sets with parity cannot be recorded. */
struct dpss_recorder;
int dpss_record_begin(
    struct dpss *d, double blocks_per_s, size_t buffer_blocks, struct dpss_recorder **out);
/* NW_EFULL: the buffer is full, the block is dropped. NW_ETOOBIG: the set is. */
int dpss_record(struct dpss_recorder *r, const void *data);
/* The last block, of fewer bytes than a block has. NW_EFULL: the buffer is full; nothing was
 * dropped, and the caller may try again. */
int dpss_record_tail(struct dpss_recorder *r, const void *data, uint32_t len);
/* Waits until everything is stored, and seals the set, which is as long as what was recorded. */
int dpss_record_end(struct dpss_recorder *r, uint64_t *written, uint64_t *dropped);

/* Copies that could not be stored, of blocks with further copies. */
uint64_t dpss_copies_missed(const struct dpss *d);

/* --- the master's other services: each call sends a request and waits for the answer --- */

struct dpss_set {
	char name[256], owner[256];
	struct dpss_layout layout;
	uint64_t blocks, written; /* written: copies that servers have stored */
	bool sealed;
};
struct dpss_server {
	char host[256];
	uint32_t id, disks;
	uint16_t port;
	uint8_t state; /* 0 away, 1 up, 2 draining */
	uint64_t slots, used;
};
int dpss_list(const struct dpss_opts *opts, struct dpss_set **out, size_t *n,
    char why[DPSS_WHY_BYTES]); /* free() the array */
int dpss_server_list(
    const struct dpss_opts *opts, struct dpss_server **out, size_t *n, char why[DPSS_WHY_BYTES]);
int dpss_server_add(const struct dpss_opts *opts, const char *host, uint16_t port,
    const char *secret, char why[DPSS_WHY_BYTES]);
/* New blocks do not go to the server; dpss_repair() moves those that stand there. */
int dpss_server_drain(const struct dpss_opts *opts, uint32_t server, char why[DPSS_WHY_BYTES]);
/* Forgets a server without blocks; NW_ECONFLICT. */
int dpss_server_drop(const struct dpss_opts *opts, uint32_t server, char why[DPSS_WHY_BYTES]);
/* Copies that cannot stay (their server is draining, or they are damaged or were never stored) are
 * stored elsewhere, from other copies or from parity, while others read. *lost: blocks without any
 * copy left. For the operator, at the master's own machine. */
int dpss_repair(const struct dpss_opts *opts, const char *name, uint64_t *moved, uint64_t *lost,
    char why[DPSS_WHY_BYTES]);
int dpss_drop(const struct dpss_opts *opts, const char *name, char why[DPSS_WHY_BYTES]);
/* rights: 0 none, 1 read, 2 write too; user "*" for all users. */
int dpss_allow(const struct dpss_opts *opts, const char *name, const char *user, uint8_t rights,
    char why[DPSS_WHY_BYTES]);

#pragma GCC visibility pop

#endif
