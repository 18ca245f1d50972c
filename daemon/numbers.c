/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries stand in one array, linked by position: in a chain of their bucket, and in a list by age.
 * Position 0 is the head of the list by age; free entries form a chain, too. The array grows by an
 * eighth, the buckets double.
 */
#include "daemon/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/tls.h"
#include "narrows/xmalloc.h"

enum { KEY_BYTES = 16, ENTRIES_FIRST = 16, BUCKETS_FIRST = 16 };

struct entry {
	uint8_t key[KEY_BYTES];
	uint64_t seq;
	uint32_t older, newer; /* list by age */
	uint32_t next;         /* chain of the bucket, or of free entries */
};

struct numbers {
	struct entry *entry; /* entry[0] is the head of the list by age */
	uint32_t *bucket;
	uint32_t n_buckets, used, cap, free;
	size_t count, max;
};

struct numbers *
numbers_new(size_t providers_max)
{
	struct numbers *n = xcalloc(1, sizeof(*n));

	n->max = providers_max;
	n->cap = ENTRIES_FIRST;
	n->used = 1;
	n->entry = xcalloc(n->cap, sizeof(*n->entry));
	n->n_buckets = BUCKETS_FIRST;
	n->bucket = xcalloc(n->n_buckets, sizeof(*n->bucket));
	return n;
}

void
numbers_free(struct numbers *n)
{
	if (n == NULL)
		return;
	free(n->entry);
	free(n->bucket);
	free(n);
}

static void
key_make(const char *owner, const char *provider, uint8_t key[KEY_BYTES])
{
	char *text = xasprintf("%s\n%s", owner, provider);
	uint8_t hash[NW_TLS_PIN_BYTES];

	nw_tls_sha256(text, strlen(text), hash);
	memcpy(key, hash, KEY_BYTES);
	free(text);
}

static uint32_t *
bucket_of(const struct numbers *n, const uint8_t key[KEY_BYTES])
{
	uint32_t hash;

	memcpy(&hash, key, sizeof(hash));
	return &n->bucket[hash & (n->n_buckets - 1)];
}

/* The link that points to the key's entry, or the 0 at the end of the chain. */
static uint32_t *
link_of(const struct numbers *n, const uint8_t key[KEY_BYTES])
{
	uint32_t *at = bucket_of(n, key);

	while (*at != 0 && memcmp(n->entry[*at].key, key, KEY_BYTES) != 0)
		at = &n->entry[*at].next;
	return at;
}

static void
entry_drop(struct numbers *n, uint32_t *link)
{
	uint32_t at = *link;
	struct entry *e = &n->entry[at];

	*link = e->next;
	n->entry[e->older].newer = e->newer;
	n->entry[e->newer].older = e->older;
	e->next = n->free;
	n->free = at;
	n->count--;
}

static void
buckets_double(struct numbers *n)
{
	uint32_t at, *bucket;

	free(n->bucket);
	n->n_buckets *= 2;
	n->bucket = xcalloc(n->n_buckets, sizeof(*n->bucket));
	for (at = n->entry[0].newer; at != 0; at = n->entry[at].newer) {
		bucket = bucket_of(n, n->entry[at].key);
		n->entry[at].next = *bucket;
		*bucket = at;
	}
}

static uint32_t
entry_take(struct numbers *n)
{
	uint32_t at = n->free;

	if (at != 0) {
		n->free = n->entry[at].next;
		return at;
	}
	if (n->used == n->cap) {
		n->cap += n->cap / 8 + 1;
		n->entry = xreallocarray(n->entry, n->cap, sizeof(*n->entry));
	}
	return n->used++;
}

void
numbers_put(struct numbers *n, const char *owner, const char *provider, uint64_t seq)
{
	uint8_t key[KEY_BYTES];
	uint32_t at, *link;
	struct entry *e;

	key_make(owner, provider, key);
	if (*(link = link_of(n, key)) != 0)
		entry_drop(n, link);
	else if (n->count == n->max) /* the oldest follows the head */
		entry_drop(n, link_of(n, n->entry[n->entry[0].newer].key));
	if (n->count == n->n_buckets)
		buckets_double(n);
	at = entry_take(n);
	e = &n->entry[at];
	memcpy(e->key, key, KEY_BYTES);
	e->seq = seq;
	e->newer = 0;
	e->older = n->entry[0].older;
	n->entry[e->older].newer = at;
	n->entry[0].older = at;
	link = bucket_of(n, key);
	e->next = *link;
	*link = at;
	n->count++;
}

bool
numbers_take(struct numbers *n, const char *owner, const char *provider, uint64_t *seq)
{
	uint8_t key[KEY_BYTES];
	uint32_t *link;

	key_make(owner, provider, key);
	if (*(link = link_of(n, key)) == 0)
		return false;
	*seq = n->entry[*link].seq;
	entry_drop(n, link);
	return true;
}
