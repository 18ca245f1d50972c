/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/places.h"

#include <stdlib.h>

#include "dpss/hash.h"
#include "narrows/err.h"

struct place {
	struct place_key key;
	UT_hash_handle hh;
};

int
places_add(struct place **places, const struct place_key *key)
{
	struct place *p = calloc(1, sizeof(*p)), *old;

	if (p == NULL)
		return NW_ENOMEM;
	p->key = *key;
	HASH_FIND(hh, *places, key, sizeof(*key), old);
	if (old == NULL)
		HASH_ADD(hh, *places, key, sizeof(*key), p);
	if (old != NULL || p->hh.tbl == NULL)
		free(p);
	return NW_OK;
}

bool
places_take(struct place **places, const struct place_key *key)
{
	struct place *p;

	HASH_FIND(hh, *places, key, sizeof(*key), p);
	if (p == NULL)
		return false;
	HASH_DEL(*places, p);
	free(p);
	return true;
}

void
places_clear(struct place **places)
{
	struct place *p, *next;

	HASH_ITER (hh, *places, p, next) {
		HASH_DEL(*places, p);
		free(p);
	}
}
