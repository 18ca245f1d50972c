/* SPDX-License-Identifier: BSD-3-Clause */
/* BSON as JSON: libbson writes what is empty with one blank inside, or with two, by its version;
 * here with one. */
#ifndef BSONTEXT_H
#define BSONTEXT_H

#include <bson/bson.h>

/* bson_free() it. */
static inline char *
bson_text(const bson_t *b)
{
	char *text = bson_as_canonical_extended_json(b, NULL), *from, *to;

	for (from = to = text; *from != '\0'; from++)
		if (from[0] != ' ' || from[1] != ' ' || (from[2] != '}' && from[2] != ']'))
			*to++ = *from;
	*to = '\0';
	return text;
}

#endif
