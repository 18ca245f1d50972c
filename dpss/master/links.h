/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The master's connections to the servers: a thread for each connects, proves the master's grant,
 * listens, and connects again.
 */
#ifndef NARROWS_DPSS_LINKS_H
#define NARROWS_DPSS_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "dpss/master/dpss_catalog.h"
#include "dpss/outbox.h"

struct links;
struct nw_tls_ctx;

struct links_opts {
	struct catalog *catalog;
	const char *name;       /* of the master, as in the grants of the servers' owners */
	struct nw_tls_ctx *tls; /* NULL: clear */
	/* A copy cannot be read; in the link's thread. */
	void (*on_damaged)(void *arg, uint32_t set, const struct catalog_place *at,
	    uint64_t session, uint32_t list);
	/* A server has come; in the link's thread. */
	void (*on_up)(void *arg, const struct catalog_server *s);
	void *arg;
};

int links_new(const struct links_opts *opts, struct links **out);
void links_free(struct links *l); /* ends all threads */
/* Begins to connect to a server of the catalogue. */
int links_add(struct links *l, const struct catalog_server *s);
void links_remove(struct links *l, uint32_t server); /* ends the connection and its thread */
bool links_is_up(void *links, uint32_t server);
/* Sends to a server; the packer is freed. NW_ECLOSED: the server is away. */
int links_send(struct links *l, uint32_t server, uint16_t type, struct packer *p);

#endif
