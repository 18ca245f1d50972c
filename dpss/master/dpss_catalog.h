/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The master's lasting knowledge: servers, data sets, their users' rights, and the place of each
 * block. One SQLite file; placements are on the disk before a client hears of them.
 *
 * Thread: any; every function takes the catalogue's lock. Lists are copies.
 */
#ifndef NARROWS_DPSS_CATALOG_H
#define NARROWS_DPSS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpss/set_layout.h"
#include "dpss/proto.h"
#include "dpss/ticket.h"

enum {
	CATALOG_WHY_BYTES = 256,
	CATALOG_COPIES_MAX = 4,
	CATALOG_DISKS_MAX = 64,
	CATALOG_MOVES_MAX = 256
};
enum catalog_rights { CATALOG_NONE, CATALOG_READ, CATALOG_WRITE };

struct catalog;

struct catalog_server {
	uint32_t id;
	char host[DPSS_NAME_BYTES];
	uint16_t port;
	uint8_t secret[TICKET_SECRET_BYTES];
	bool draining;
};

struct catalog_set {
	uint32_t id;
	char name[DPSS_NAME_BYTES], owner[DPSS_NAME_BYTES];
	struct dpss_layout layout; /* without the application's wishes */
	uint64_t blocks;           /* of data; parity blocks have the numbers from `blocks` on */
	uint64_t written;          /* copies of blocks, stored by a server's word */
	bool sealed;
};

/* A block without a place, and the wish for its first copy's place if there is room. */
struct catalog_wish {
	uint64_t logical;
	uint32_t server, disk; /* DPSS_ANY: the catalogue's choice */
};

/* The place of a copy of a block. */
struct catalog_place {
	uint64_t logical, slot;
	uint32_t server, disk;
	uint8_t copy;
};

int catalog_open(const char *path, struct catalog **out, char why[CATALOG_WHY_BYTES]);
void catalog_close(struct catalog *c);

/* NW_ECONFLICT: the address has a server. */
int catalog_server_add(struct catalog *c, struct catalog_server *s);
/* The server gets no new blocks, and catalog_move() moves the blocks there. */
int catalog_server_drain(struct catalog *c, uint32_t id);
/* NW_ECONFLICT: blocks stand there. NW_ENOTFOUND. */
int catalog_server_drop(struct catalog *c, uint32_t id);
/* How many slots the server has granted on each disk; free ones are found again. */
int catalog_server_space(
    struct catalog *c, uint32_t id, uint32_t block_bytes, const uint64_t *slots, size_t n_disks);
int catalog_servers(struct catalog *c, struct catalog_server **out, size_t *n);
/* Slots of a server, and how many of them have a block. */
void catalog_server_use(
    struct catalog *c, uint32_t id, uint32_t *disks, uint64_t *slots, uint64_t *used);

/* NW_ECONFLICT: the name is taken. NW_EINVAL. */
int catalog_set_new(struct catalog *c, struct catalog_set *s);
/* The set, and the rights of `user` to the set. NW_ENOTFOUND. */
int catalog_set_find(struct catalog *c, const char *name, const char *user, struct catalog_set *out,
    enum catalog_rights *rights);
/* user NULL: all sets. */
int catalog_sets(struct catalog *c, const char *user, struct catalog_set **out, size_t *n);
int catalog_set_drop(struct catalog *c, uint32_t id);
/* bytes: of data from now on, at most those of the set. */
int catalog_set_seal(struct catalog *c, const struct catalog_set *s, uint64_t bytes);
int catalog_allow(struct catalog *c, uint32_t id, const char *user, enum catalog_rights rights);

/*
 * Places for blocks that have none yet, declustered: neighbours stand on different servers, copies
 * of a block on different servers, too, as long as there are enough; a block with places keeps
 * its places. *out is for the caller to free. NW_EFULL: the servers that are `up` have no room.
 */
int catalog_place(struct catalog *c, const struct catalog_set *s, const struct catalog_wish *wishes,
    size_t n, bool (*is_up)(void *arg, uint32_t server), void *arg, struct catalog_place **out,
    size_t *n_out);
/* The copies of a block, at most CATALOG_COPIES_MAX; 0: it was never placed. */
size_t catalog_find(struct catalog *c, uint32_t set, uint64_t logical,
    struct catalog_place out[CATALOG_COPIES_MAX]);
/* The same for a list, in one look at the file. NW_ENOMEM, NW_EIO. */
struct catalog_found {
	uint64_t logical;
	size_t n;
	struct catalog_place copies[CATALOG_COPIES_MAX];
};
int catalog_find_all(struct catalog *c, uint32_t set, struct catalog_found *found, size_t n);
/* New places for copies of a complete set that cannot stay: copies on draining servers, damaged
 * copies, copies never stored; from a given block on. A copy has moved as soon as a server has
 * stored the copy. *n_out 0: all copies are well. NW_EFULL. */
int catalog_move(struct catalog *c, const struct catalog_set *s, uint64_t from,
    bool (*is_up)(void *arg, uint32_t server), void *arg,
    struct catalog_place out[CATALOG_MOVES_MAX], size_t *n_out);
/* A server's word about the copy at a place. */
void catalog_stored(struct catalog *c, uint32_t set, const struct catalog_place *at);
void catalog_damaged(struct catalog *c, uint32_t set, const struct catalog_place *at);

#endif
