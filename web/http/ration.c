/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/ration.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/fairq.h"

enum {
	PLACES = 512,
	TRIES = 5,    /* wrong passwords of an address at once */
	AGAIN_S = 10, /* for each further one */
	FRESH_PER_S = 4,
	FAILED_PER_S = 2,
	FAILED_S = 600
};
#define SECOND_NS INT64_C(1000000000)

/* An address, or the network around it. Times of 0: never. */
struct origin {
	uint8_t key[16];
	int64_t full_mono_ns; /* the bucket of wrong passwords is full again */
	int64_t known_mono_ns, failed_mono_ns;
};

struct ration {
	struct origin addresses[PLACES], networks[PLACES];
	struct fairrate *fresh, *failed;
};

struct ration *
ration_new(void)
{
	struct ration *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->fresh = fairrate_new(FRESH_PER_S, PLACES);
	r->failed = fairrate_new(FAILED_PER_S, PLACES);
	if (r->fresh != NULL && r->failed != NULL)
		return r;
	ration_free(r);
	return NULL;
}

void
ration_free(struct ration *r)
{
	if (r == NULL)
		return;
	fairrate_free(r->fresh);
	fairrate_free(r->failed);
	free(r);
}

/* An IPv4 address, or the first bytes of an IPv6 address. */
static void
key_make(const char *peer, size_t six_bytes, uint8_t key[16])
{
	struct in6_addr six;

	memset(key, 0, 16);
	if (inet_pton(AF_INET, peer, key + 12) == 1 || inet_pton(AF_INET6, peer, &six) != 1)
		return;
	if (IN6_IS_ADDR_V4MAPPED(&six))
		memcpy(key + 12, six.s6_addr + 12, 4);
	else
		memcpy(key, six.s6_addr, six_bytes);
}

/* Returns true if a goes before b when a new origin needs a place. */
static bool
goes_before(const struct origin *a, const struct origin *b)
{
	if ((a->known_mono_ns != 0) != (b->known_mono_ns != 0))
		return a->known_mono_ns == 0;
	if (a->failed_mono_ns != b->failed_mono_ns)
		return a->failed_mono_ns < b->failed_mono_ns;
	return a->known_mono_ns < b->known_mono_ns;
}

/* The place of an address; a new address gets the place of the least remarkable one. */
static struct origin *
origin_find(struct origin *all, const uint8_t key[16])
{
	struct origin *least = all, *o;

	for (o = all; o < all + PLACES; o++) {
		if (memcmp(o->key, key, sizeof(o->key)) == 0)
			return o;
		if (goes_before(o, least))
			least = o;
	}
	*least = (struct origin){ .full_mono_ns = 0 };
	memcpy(least->key, key, sizeof(least->key));
	return least;
}

static struct origin *
address_find(struct ration *r, const char *peer)
{
	uint8_t key[16];

	key_make(peer, 8, key);
	return origin_find(r->addresses, key);
}

static struct origin *
network_find(struct ration *r, const char *peer)
{
	uint8_t key[16];

	key_make(peer, 6, key);
	return origin_find(r->networks, key);
}

static bool
has_failed(const struct origin *o, int64_t now)
{
	return o->failed_mono_ns != 0 && now - o->failed_mono_ns < FAILED_S * SECOND_NS;
}

static void
owner_print(const struct origin *o, char out[2 * sizeof(o->key) + 1])
{
	size_t i;

	for (i = 0; i < sizeof(o->key); i++)
		snprintf(out + 2 * i, 3, "%02x", o->key[i]);
}

unsigned
ration_take(struct ration *r, const char *peer, int64_t now_mono_ns)
{
	const struct origin *address = address_find(r, peer), *network = network_find(r, peer);
	int64_t wait = address->full_mono_ns - now_mono_ns - (TRIES - 1) * AGAIN_S * SECOND_NS;
	char owner[2 * sizeof(address->key) + 1];
	bool failed, allowed;
	uint64_t refused;

	if (wait > 0)
		return (unsigned)((wait + SECOND_NS - 1) / SECOND_NS);
	if (address->known_mono_ns != 0)
		return 0;
	failed = has_failed(address, now_mono_ns) || has_failed(network, now_mono_ns);
	owner_print(failed ? address : network, owner);
	allowed = fairrate_allows(failed ? r->failed : r->fresh, owner, now_mono_ns, &refused);
	return allowed ? 0 : 1;
}

void
ration_outcome(struct ration *r, const char *peer, int64_t now_mono_ns, bool good)
{
	struct origin *address = address_find(r, peer);
	int64_t from = address->full_mono_ns > now_mono_ns ? address->full_mono_ns : now_mono_ns;

	if (good) {
		address->known_mono_ns = now_mono_ns;
		return;
	}
	address->full_mono_ns = from + AGAIN_S * SECOND_NS;
	address->failed_mono_ns = network_find(r, peer)->failed_mono_ns = now_mono_ns;
}
