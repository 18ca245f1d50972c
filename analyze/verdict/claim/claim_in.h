/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of claims as read by printer and checker. */
#ifndef CLAIM_IN_H
#define CLAIM_IN_H

#include "analyze/verdict/claim/claim.h"

/* A text that is part of a line of claims.def. */
struct claim_part {
	const char *s;
	size_t len;
};

struct claim_slot {
	struct claim_part before;      /* words in front of the slot */
	struct claim_part name, field; /* an empty field: nothing to compare with */
	size_t type;                   /* index in claim_types */
};

/* A type of slots: a text, or a number in one form. */
struct claim_type {
	const char *name;
	bool is_text, is_place;
	/* free() the text */
	char *(*print)(const struct claim_value *v);
};

const char *claim_name(enum claim_kind kind);
/* Returns false for an unknown name. */
bool claim_find(const char *name, enum claim_kind *out);
const char *claim_words(enum claim_kind kind);
const struct claim_type *claim_type(size_t type);
/* Takes the next slot from the words at *words, and moves *words behind the slot. Returns false at
 * the end, with the rest of the words in out->before, or for a slot with an unknown type. */
bool claim_slot_next(const char **words, struct claim_slot *out);
/* Index of the slot with a name; CLAIM_SLOTS_MAX for an unknown name. */
size_t claim_slot_find(enum claim_kind kind, struct claim_part name, struct claim_slot *out);

#endif
