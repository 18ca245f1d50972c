/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of addresses. One row per parameter has name, type and bounds, the place of the value,
 * and words; the parser of the query and the OpenAPI document read the row.
 */
#ifndef NARROWS_WEB_PARAM_H
#define NARROWS_WEB_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARAM_NAME_BYTES = 32 }; /* a name is shorter */
enum param_type { PARAM_TEXT, PARAM_NUMBER, PARAM_WORD };

struct param {
	const char *name; /* NULL behind the last row of a list */
	enum param_type type;
	int64_t min, max;         /* of a number; max of a text: its bytes; 0: no bound */
	const char *const *words; /* of a word: all words, then NULL */
	size_t at;                /* offset of the value in the struct of the query */
	/* reads a value that is more than a text, a number or a word; or NULL */
	bool (*take)(void *out, const char *text);
	const char *meaning, *form, *example;
	const char *also; /* a second name, which other resources or older versions have; or NULL */
	unsigned of;      /* a bit for each kind of request that takes the parameter; 0: all */
};

/* Writes the value into `query`: a text into char[max + 1], a number into int64_t, a word into an
 * enum. Returns false if the value breaks type or bounds. */
bool param_take(const struct param *p, void *query, const char *text);
/* The row of a name, or of a second name, for a kind of request; or NULL. */
const struct param *param_find(const struct param *list, const char *name, unsigned kind);
static inline bool
param_is_of(const struct param *p, unsigned kind)
{
	return p->of == 0 || (p->of >> kind & 1) != 0;
}

#endif
