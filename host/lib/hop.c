/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/hop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xsp/wire.h"

/* id 63, protocol name 10 (empty), padding 3, flags 4 (odd encoding), child count 2, padding 2 */
enum { FLAGS_AT = 76, CHILDREN_AT = 80 };

struct hop *
hop_add(struct hop *parent, const char *id, uint16_t flags)
{
	struct hop *h, **at;

	if (id[0] == '\0' || strlen(id) > NW_HOP_ID_BYTES) {
		errno = EINVAL;
		return NULL;
	}
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	memcpy(h->id, id, strlen(id));
	h->flags = flags;
	for (at = &parent->children; *at != NULL; at = &(*at)->next)
		continue;
	*at = h;
	return h;
}

struct hop *
hop_find(struct hop *root, const char *id)
{
	struct hop *h, *found;

	if (strcmp(root->id, id) == 0)
		return root;
	for (h = root->children; h != NULL; h = h->next)
		if ((found = hop_find(h, id)) != NULL)
			return found;
	return NULL;
}

struct hop *
hop_last(struct hop *root)
{
	struct hop *h = root;

	while (h->children != NULL)
		for (h = h->children; h->next != NULL; h = h->next)
			continue;
	return h;
}

static size_t
count_children(const struct hop *h)
{
	size_t n = 0;

	for (h = h->children; h != NULL; h = h->next)
		n++;
	return n;
}

size_t
hop_count_below(const struct hop *h)
{
	size_t n = 0;

	for (h = h->children; h != NULL; h = h->next)
		n += 1 + hop_count_below(h);
	return n;
}

uint8_t *
hop_write_below(const struct hop *h, uint8_t *out)
{
	for (h = h->children; h != NULL; h = h->next) {
		memset(out, 0, HOP_RECORD_BYTES);
		memcpy(out, h->id, strlen(h->id));
		nw_odd32_put(out + FLAGS_AT, h->flags);
		put_be16(out + CHILDREN_AT, (uint16_t)count_children(h));
		out = hop_write_below(h, out + HOP_RECORD_BYTES);
	}
	return out;
}

void
hop_clear(struct hop *root)
{
	struct hop *h;

	while ((h = root->children) != NULL) {
		root->children = h->next;
		hop_clear(h);
		free(h);
	}
}
