/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights to write: the places that the master has opened to a session, each for one block. The
 * session's lock guards its places.
 */
#ifndef NARROWS_DPSS_PLACES_H
#define NARROWS_DPSS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct place_key {
	uint64_t logical, slot;
	uint32_t disk, set;
};

struct place;

/* An open place stays one place. NW_ENOMEM. */
int places_add(struct place **places, const struct place_key *key);
/* Returns true if the place was open; the right is spent. */
bool places_take(struct place **places, const struct place_key *key);
void places_clear(struct place **places);

#endif
