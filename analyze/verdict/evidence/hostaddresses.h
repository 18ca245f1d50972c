/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured hosts behind addresses, so that a host has one name whatever a program calls it. An
 * address is a host's if the host's certificate lists the address; else if the host, with its
 * certificate, was the only one that spoke to the box from the address of late. A name or an
 * address that a sender claims proves nothing.
 */
#ifndef HOSTADDRESSES_H
#define HOSTADDRESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "narrows/store.h"

struct host_address {
	char *address, *host;
	bool is_certified;
};

struct host_addresses {
	struct host_address *list;
	size_t n;
};

/* O(hosts). The store's code; host_addresses_clear() on success and failure. */
int host_addresses_load(struct store_reader *r, struct host_addresses *out);
/* The host of an address, on loan; NULL if no host is certain. */
const char *host_addresses_find(const struct host_addresses *a, const char *address);
void host_addresses_clear(struct host_addresses *a);

#endif
