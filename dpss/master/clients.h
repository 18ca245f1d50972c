/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of the master: their questions about data sets, and their requests for blocks. The master
 * turns requests into places and passes these on to the servers.
 */
#ifndef NARROWS_DPSS_CLIENTS_H
#define NARROWS_DPSS_CLIENTS_H

#include "dpss/blocklog.h"
#include "dpss/master/dpss_catalog.h"
#include "dpss/master/links.h"

struct clients;

struct clients_opts {
	struct catalog *catalog;
	const char *name;     /* of the master, for the message of tickets */
	const char *tls_name; /* in the master's own certificate; "" in clear */
	struct blocklog *log;
};

int clients_new(const struct clients_opts *opts, struct clients **out);
void clients_links(struct clients *all, struct links *links); /* once, before the first client */
void clients_free(struct clients *all);
/* Serves a connection behind its HELLO until the end. */
void clients_serve(struct clients *all, struct channel *w);
/* For links_opts.on_damaged: the block is asked of another server. */
void clients_on_damaged(
    void *clients, uint32_t set, const struct catalog_place *at, uint64_t session, uint32_t list);
/* For links_opts.on_up: clients that have a set open hear of the server. */
void clients_on_up(void *clients, const struct catalog_server *s);

#endif
