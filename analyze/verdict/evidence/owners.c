/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/evidence/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uthash.h>

#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/task.h"

enum { ADDRESSES_MAX = 16, NAMED_MAX = 100000, KEY_BYTES = 320 };

/* An address, or a connection (shared by several owners perhaps), that an owner named. */
struct named {
	char *key; /* hash key: the connection's two ends in order, or the owner and an address */
	size_t owner;
	UT_hash_handle hh;
};

struct owners_loader {
	struct store_reader *reader;
	struct owners *o;
	struct named *connections, *addresses;
	int rc;
};

/* --- owners --- */

static size_t
owner_get(struct owners *o, const char *name)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		if (strcmp(o->owner[i].name, name) == 0)
			return i;
	o->owner = xreallocarray(o->owner, o->n + 1, sizeof(*o->owner));
	o->owner[o->n] = (struct owner){ .name = xstrdup(name), .tied = o->n };
	return o->n++;
}

/* "10.0.0.1/5006" and "::1/5006" without the port; free() it. */
static char *
address_of(const char *peer)
{
	char *text = xstrdup(peer), *slash = strrchr(text, '/');

	if (slash != NULL)
		*slash = '\0';
	return text;
}

static void
address_add(struct owner *w, const char *peer)
{
	char *text = address_of(peer);
	size_t i;

	for (i = 0; i < w->n_addresses && strcmp(w->address[i], text) != 0; i++)
		continue;
	if (i < w->n_addresses || i == ADDRESSES_MAX) {
		free(text);
		return;
	}
	w->address = xreallocarray(w->address, i + 1, sizeof(*w->address));
	w->address[w->n_addresses++] = text;
}

static size_t
share_add(struct owners *o, const struct nw_xsp_rec *x)
{
	size_t i = owner_get(o, x->owner != NULL ? x->owner : "");

	if (x->peer != NULL)
		address_add(&o->owner[i], x->peer);
	o->share = xreallocarray(o->share, o->n_shares + 1, sizeof(*o->share));
	o->share[o->n_shares++] = (struct owner_share){ x->id, i };
	return i;
}

static int
on_share(void *arg, const struct nw_xsp_rec *x)
{
	struct owners *o = arg;
	size_t i = share_add(o, x);
	struct owner *w = &o->owner[i];

	w->documents += x->docs;
	w->bytes += x->bytes;
	return 0;
}

/* An XSP session of a host's own provider: a witness. */
static int
on_witness(void *arg, const struct nw_xsp_rec *x)
{
	share_add(arg, x);
	return 0;
}

static int
share_order(const void *id, const void *share)
{
	int64_t a = *(const int64_t *)id, b = ((const struct owner_share *)share)->xsp_id;

	return a < b ? -1 : a > b;
}

/* The session's own shares stand first, by id; witnesses follow. */
static const struct owner_share *
share_find(const struct owners *o, int64_t xsp_id)
{
	const struct owner_share *found = NULL;
	size_t i;

	if (o->n_own > 0)
		found = bsearch(&xsp_id, o->share, o->n_own, sizeof(*o->share), share_order);
	for (i = o->n_own; i < o->n_shares && found == NULL; i++)
		if (o->share[i].xsp_id == xsp_id)
			found = &o->share[i];
	return found;
}

/* --- what they name --- */

static const char *
text_of(const json_t *o, const char *a, const char *b)
{
	const char *text = json_string_value(json_object_get(o, a));

	if (text == NULL)
		text = json_string_value(json_object_get(o, b));
	if (text != NULL && strncmp(text, "::ffff:", 7) == 0 && strchr(text, '.') != NULL)
		text += 7;
	return text;
}

static bool
connection_key(char key[KEY_BYTES], const json_t *subject, const char *src, const char *dst)
{
	char a[KEY_BYTES / 2], b[KEY_BYTES / 2];
	int64_t sport = json_integer_value(json_object_get(subject, "sport")),
		dport = json_integer_value(json_object_get(subject, "dport"));
	int order;

	if (sport <= 0 || dport <= 0)
		return false;
	snprintf(a, sizeof(a), "%.120s/%lld", src, (long long)sport);
	snprintf(b, sizeof(b), "%.120s/%lld", dst, (long long)dport);
	order = strcmp(a, b);
	snprintf(key, KEY_BYTES, "%s %s", order < 0 ? a : b, order < 0 ? b : a);
	return true;
}

static size_t
root_of(const struct owners *o, size_t i)
{
	while (o->owner[i].tied != i)
		i = o->owner[i].tied;
	return i;
}

static void
tie(struct owners *o, size_t a, size_t b)
{
	a = root_of(o, a);
	b = root_of(o, b);
	if (a < b)
		o->owner[b].tied = a;
	else
		o->owner[a].tied = b;
}

/* Notes a key of an owner. Returns the entry that was there before, or NULL. */
static const struct named *
named_note(struct named **hash, const char *key, size_t owner)
{
	struct named *n;

	HASH_FIND_STR(*hash, key, n);
	if (n != NULL || HASH_COUNT(*hash) >= NAMED_MAX)
		return n;
	n = xcalloc(1, sizeof(*n));
	n->key = xstrdup(key);
	n->owner = owner;
	HASH_ADD_KEYPTR(hh, *hash, n->key, strlen(n->key), n);
	return NULL;
}

static void
address_note(struct owners_loader *l, size_t owner, const char *address)
{
	char key[KEY_BYTES];

	if (address_is_loopback(address))
		return;
	snprintf(key, sizeof(key), "%zu %.200s", owner, address);
	(void)named_note(&l->addresses, key, owner);
}

static int
on_named(void *arg, const struct nw_meta_rec *m)
{
	struct owners_loader *l = arg;
	json_t *subject = json_loads(m->subject_json, 0, NULL);
	const char *src = text_of(subject, "src", "LocalAddress"),
		   *dst = text_of(subject, "dst", "RemAddress");
	const struct owner_share *share = share_find(l->o, m->xsp_id);
	const struct named *other;
	char key[KEY_BYTES];

	if (share == NULL && store_xsp_get(l->reader, m->xsp_id, on_witness, l->o) >= 0)
		share = share_find(l->o, m->xsp_id);
	if (share != NULL && src != NULL && dst != NULL) {
		if (connection_key(key, subject, src, dst) &&
		    (other = named_note(&l->connections, key, share->owner)) != NULL)
			tie(l->o, share->owner, other->owner);
		address_note(l, share->owner, src);
		address_note(l, share->owner, dst);
	}
	json_decref(subject);
	return 0;
}

/* Returns true if an owner named an address from which another one spoke. */
static bool
names(struct owners_loader *l, size_t from, size_t to)
{
	const struct owner *w = &l->o->owner[to];
	char key[KEY_BYTES];
	struct named *n;
	size_t i;

	for (i = 0; i < w->n_addresses; i++) {
		snprintf(key, sizeof(key), "%zu %.200s", from, w->address[i]);
		HASH_FIND_STR(l->addresses, key, n);
		if (n != NULL)
			return true;
	}
	return false;
}

static void
named_free(struct named *hash)
{
	struct named *n, *tmp;

	HASH_ITER (hh, hash, n, tmp) {
		HASH_DEL(hash, n);
		free(n->key);
		free(n);
	}
}

/* --- whose data count --- */

/* Whether the session has a name that anybody may have chosen. */
static bool
is_chosen_name(const char *task_id)
{
	return task_id != NULL && !task_is_label(task_id) && strncmp(task_id, "xsp:", 4) != 0;
}

static void
settle(struct owners *o, bool all)
{
	size_t i;

	o->n_set_aside = 0;
	for (i = 0; i < o->n; i++) {
		o->owner[i].used = all || o->owner[i].name[0] == '\0' || root_of(o, i) == 0;
		o->n_set_aside += !o->owner[i].used;
	}
}

/* O(metadata of the session, and pairs of owners). */
int
owners_load(struct store_reader *r, int64_t session_id, const char *task_id, struct owners *out)
{
	struct owners_loader l = { .reader = r, .o = out };
	size_t a, b;
	int rc;

	*out = (struct owners){ 0 };
	if ((rc = store_xsp_of_session(r, session_id, on_share, out)) < 0)
		return rc;
	out->n_own = out->n_shares;
	if (!is_chosen_name(task_id)) {
		settle(out, true);
		return NW_OK;
	}
	rc = store_metas(r, session_id, 0, "", on_named, &l);
	for (a = 0; a < out->n && rc == NW_OK; a++)
		for (b = a + 1; b < out->n; b++)
			if (names(&l, a, b) && names(&l, b, a))
				tie(out, a, b);
	named_free(l.connections);
	named_free(l.addresses);
	settle(out, false);
	return rc;
}

bool
owners_use(const struct owners *o, int64_t xsp_id)
{
	const struct owner_share *share;

	if (o->n_set_aside == 0)
		return true;
	share = share_find(o, xsp_id);
	return share == NULL || o->owner[share->owner].used;
}

void
owners_use_all(struct owners *o)
{
	settle(o, true);
}

void
owners_clear(struct owners *o)
{
	size_t i, k;

	for (i = 0; i < o->n; i++) {
		free(o->owner[i].name);
		for (k = 0; k < o->owner[i].n_addresses; k++)
			free(o->owner[i].address[k]);
		free(o->owner[i].address);
	}
	free(o->owner);
	free(o->share);
	*o = (struct owners){ 0 };
}
