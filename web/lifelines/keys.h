/* SPDX-License-Identifier: BSD-3-Clause */
/* The id keys that make an object. */
#ifndef LINESET_KEYS_H
#define LINESET_KEYS_H

#include "web/lifelines/lineset.h"

/* Fills s->keys: the declared ones, or those of the session's first events. No key: no lines. */
int keys_find(struct store_reader *r, const struct lineset_opts *o, struct lineset *s);
/* Words of a list divided by commas, as copies, up to max. */
int keys_declare(const char *list, char **out, size_t max, size_t *n);
/* The value of an attribute as text; too long a text is cut. */
void key_text(const struct nw_attr *a, char *out, size_t size);

#endif
