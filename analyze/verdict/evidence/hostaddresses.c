/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/evidence/hostaddresses.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* CONNECTIONS_SEEN: the newest of a host; earlier ones may have had addresses that moved on. */
enum { CONNECTIONS_SEEN = 8, ADDRESSES_MAX = 4096 };
static const char kind[] = "host:";

struct loading {
	struct store_reader *r;
	struct host_addresses *out;
	const char *host; /* in hand */
};

static void
address_add(struct loading *l, const char *address, bool is_certified)
{
	struct host_addresses *a = l->out;
	struct host_address *h;

	if (address_is_loopback(address) || a->n == ADDRESSES_MAX)
		return;
	for (h = a->list; h < a->list + a->n; h++)
		if (h->is_certified == is_certified && strcmp(h->address, address) == 0 &&
		    strcmp(h->host, l->host) == 0)
			return;
	a->list = xreallocarray(a->list, a->n + 1, sizeof(*a->list));
	a->list[a->n++] = (struct host_address){ xstrdup(address), xstrdup(l->host), is_certified };
}

/* Takes what a sender with the host's certificate proves. */
static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct loading *l = arg;
	char *text, *rest, *one;

	if (x->owner == NULL || strncmp(x->owner, kind, sizeof(kind) - 1) != 0 ||
	    strcasecmp(x->owner + sizeof(kind) - 1, l->host) != 0)
		return 0;
	rest = text = xstrdup(x->addresses);
	while ((one = strsep(&rest, " ")) != NULL)
		if (*one != '\0')
			address_add(l, one, true);
	free(text);
	if (x->peer == NULL)
		return 0;
	text = xstrdup(x->peer);
	if ((rest = strrchr(text, '/')) != NULL)
		*rest = '\0';
	address_add(l, text, false);
	free(text);
	return 0;
}

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct loading *l = arg;

	l->host = h->name;
	return store_xsp_of_host(l->r, h->id, CONNECTIONS_SEEN, on_xsp, l);
}

int
host_addresses_load(struct store_reader *r, struct host_addresses *out)
{
	struct loading l = { .r = r, .out = out };

	*out = (struct host_addresses){ 0 };
	return store_hosts(r, on_host, &l);
}

const char *
host_addresses_find(const struct host_addresses *a, const char *address)
{
	const struct host_address *h, *found = NULL;
	bool is_shared = false;

	for (h = a->list; h < a->list + a->n; h++) {
		if (strcmp(h->address, address) != 0 ||
		    (found != NULL && found->is_certified && !h->is_certified))
			continue;
		is_shared = found != NULL && found->is_certified == h->is_certified;
		found = h;
	}
	return is_shared || found == NULL ? NULL : found->host;
}

void
host_addresses_clear(struct host_addresses *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		free(a->list[i].address);
		free(a->list[i].host);
	}
	free(a->list);
	*a = (struct host_addresses){ 0 };
}
