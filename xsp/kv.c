/* SPDX-License-Identifier: BSD-3-Clause */
/* Lookups in the flat lists of control documents. */
#include <math.h>
#include <string.h>

#include "narrows/doc.h"

static const struct nw_kv *
kv_find(const struct nw_kv *kv, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return &kv[i];
	return NULL;
}

int64_t
nw_kv_int(const struct nw_kv *kv, size_t n, const char *key, int64_t def)
{
	const struct nw_kv *f = kv_find(kv, n, key);

	return f != NULL && f->type == NW_KV_INT ? f->v.i : def;
}

double
nw_kv_real(const struct nw_kv *kv, size_t n, const char *key, double def)
{
	const struct nw_kv *f = kv_find(kv, n, key);

	if (f == NULL)
		return def;
	return f->type == NW_KV_REAL ? f->v.d : f->type == NW_KV_INT ? (double)f->v.i : NAN;
}

const char *
nw_kv_text(const struct nw_kv *kv, size_t n, const char *key)
{
	const struct nw_kv *f = kv_find(kv, n, key);

	return f != NULL && f->type == NW_KV_TEXT && f->v.text[0] != '\0' ? f->v.text : NULL;
}
