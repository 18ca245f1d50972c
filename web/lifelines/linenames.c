/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that get numbers: an open hash table of LINESET_NAMES_MAX * 2 slots. */
#include <stdlib.h>
#include <string.h>

#include "narrows/fnv.h"

#include "web/lifelines/lineset.h"

enum { SLOTS = LINESET_NAMES_MAX * 2 };

static bool
names_begin(struct lineset_names *n)
{
	if (n->slot == NULL)
		n->slot = calloc(SLOTS, sizeof(*n->slot));
	if (n->text == NULL)
		n->text = calloc(LINESET_NAMES_MAX, sizeof(*n->text));
	return n->slot != NULL && n->text != NULL;
}

uint32_t
linename_put(struct lineset_names *n, const char *text)
{
	uint32_t i;

	if (!names_begin(n))
		return UINT32_MAX;
	for (i = (uint32_t)(fnv_text(FNV_BEGIN, text) % SLOTS); n->slot[i] != 0;
	     i = (i + 1) % SLOTS)
		if (strcmp(n->text[n->slot[i] - 1], text) == 0)
			return n->slot[i] - 1;
	if (n->n == LINESET_NAMES_MAX)
		return LINESET_NAMES_MAX - 1;
	if ((n->text[n->n] = strdup(n->n == LINESET_NAMES_MAX - 1 ? "others" : text)) == NULL)
		return UINT32_MAX;
	n->slot[i] = (uint32_t)++n->n;
	return (uint32_t)n->n - 1;
}

void
linenames_clear(struct lineset_names *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		free(n->text[i]);
	free(n->text);
	free(n->slot);
	*n = (struct lineset_names){ 0 };
}
