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

/* NAMED_MAX, GUESSES_MAX: of an owner in a session. */
enum { ADDRESSES_MAX = 32, NAMED_MAX = 20000, GUESSES_MAX = 256, KEY_BYTES = 320 };

/* An address that an owner named, or a connection as an owner saw it. */
struct named {
	char *key; /* hash key: the connection's two ends in order, or the owner and an address */
	size_t owner;
	bool mirrored;      /* the owner's end stands second in the key */
	char *src, *dst;    /* addresses of the owner's end and of the other end */
	struct named *next; /* the same connection, named by others, or from its other end */
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

static bool
has_address(const struct owner *w, const char *address)
{
	size_t i;

	for (i = 0; i < w->n_addresses; i++)
		if (strcmp(w->address[i], address) == 0)
			return true;
	return false;
}

static void
address_add(struct owner *w, const char *text)
{
	w->local |= address_is_loopback(text);
	if (has_address(w, text) || w->n_addresses == ADDRESSES_MAX)
		return;
	w->address = xreallocarray(w->address, w->n_addresses + 1, sizeof(*w->address));
	w->address[w->n_addresses++] = xstrdup(text);
}

/* Adds addresses that are separated by blanks; changes the text. */
static void
addresses_add(struct owner *w, char *text)
{
	char *one;

	while ((one = strsep(&text, " ")) != NULL)
		if (*one != '\0')
			address_add(w, one);
}

static size_t
share_add(struct owners *o, const struct nw_xsp_rec *x)
{
	size_t i = owner_get(o, x->owner != NULL ? x->owner : "");
	char *text;

	if (x->peer != NULL) {
		text = address_of(x->peer);
		address_add(&o->owner[i], text);
		free(text);
	}
	if (x->addresses != NULL) {
		text = xstrdup(x->addresses);
		addresses_add(&o->owner[i], text);
		free(text);
	}
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
connection_key(
    char key[KEY_BYTES], bool *mirrored, const json_t *subject, const char *src, const char *dst)
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
	*mirrored = order >= 0;
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

static struct named *
named_new(struct owners *o, size_t owner, const char *key)
{
	struct named *n = xcalloc(1, sizeof(*n));

	n->key = xstrdup(key);
	n->owner = owner;
	o->owner[owner].n_named++;
	return n;
}

static void
connection_note(
    struct owners_loader *l, size_t owner, const json_t *subject, const char *src, const char *dst)
{
	struct named *first, *n;
	char key[KEY_BYTES];
	bool mirrored;

	if (!connection_key(key, &mirrored, subject, src, dst) ||
	    l->o->owner[owner].n_named >= NAMED_MAX)
		return;
	HASH_FIND_STR(l->connections, key, first);
	for (n = first; n != NULL; n = n->next)
		if (n->owner == owner && n->mirrored == mirrored)
			return;
	n = named_new(l->o, owner, key);
	n->mirrored = mirrored;
	n->src = xstrdup(src);
	n->dst = xstrdup(dst);
	if (first == NULL) {
		HASH_ADD_KEYPTR(hh, l->connections, n->key, strlen(n->key), n);
		return;
	}
	n->next = first->next;
	first->next = n;
}

static void
address_note(struct owners_loader *l, size_t owner, const char *address)
{
	char key[KEY_BYTES];
	struct named *n;

	if (address_is_loopback(address) || l->o->owner[owner].n_named >= NAMED_MAX)
		return;
	snprintf(key, sizeof(key), "%zu %.200s", owner, address);
	HASH_FIND_STR(l->addresses, key, n);
	if (n != NULL)
		return;
	n = named_new(l->o, owner, key);
	HASH_ADD_KEYPTR(hh, l->addresses, n->key, strlen(n->key), n);
}

static int
on_named(void *arg, const struct nw_meta_rec *m)
{
	struct owners_loader *l = arg;
	json_t *subject = json_loads(m->subject_json, 0, NULL);
	const char *src = text_of(subject, "src", "LocalAddress"),
		   *dst = text_of(subject, "dst", "RemAddress");
	const struct owner_share *share = share_find(l->o, m->xsp_id);

	if (share == NULL && store_xsp_get(l->reader, m->xsp_id, on_witness, l->o) >= 0)
		share = share_find(l->o, m->xsp_id);
	if (share != NULL && src != NULL && dst != NULL) {
		connection_note(l, share->owner, subject, src, dst);
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

/* Returns true if the owner has an address of the connection, or speaks from the box's machine. */
static bool
is_at_end(const struct owners *o, const struct named *n)
{
	const struct owner *w = &o->owner[n->owner];

	return w->local || has_address(w, n->src) || has_address(w, n->dst);
}

/* Returns true if the owner may well have the address of its end, without a proof. */
static bool
can_be_at_end(const struct owners *o, const struct named *n)
{
	size_t i;

	if (is_at_end(o, n))
		return true;
	for (i = 0; i < o->n; i++)
		if (has_address(&o->owner[i], n->src))
			return false;
	return o->owner[n->owner].n_guesses <= GUESSES_MAX;
}

static void
guesses_count(struct owners_loader *l)
{
	const struct named *first, *n;

	for (first = l->connections; first != NULL; first = first->hh.next)
		for (n = first; n != NULL; n = n->next)
			l->o->owner[n->owner].n_guesses += !is_at_end(l->o, n);
}

/* Ties the owners that report the two ends of a connection. */
static void
connection_tie(struct owners *o, const struct named *first)
{
	const struct named *a, *b;

	for (a = first; a != NULL; a = a->next)
		for (b = a->next; b != NULL; b = b->next)
			if (root_of(o, a->owner) != root_of(o, b->owner) &&
			    (a->mirrored != b->mirrored ? can_be_at_end(o, a) && can_be_at_end(o, b)
							: is_at_end(o, a) && is_at_end(o, b)))
				tie(o, a->owner, b->owner);
}

static void
owners_tie(struct owners_loader *l)
{
	struct owners *o = l->o;
	const struct named *n;
	size_t a, b;

	guesses_count(l);
	for (n = l->connections; n != NULL; n = n->hh.next)
		connection_tie(o, n);
	for (a = 0; a < o->n; a++)
		for (b = a + 1; b < o->n; b++)
			if (names(l, a, b) && names(l, b, a))
				tie(o, a, b);
}

static void
named_free(struct named *hash)
{
	struct named *first, *tmp, *n, *next;

	HASH_ITER (hh, hash, first, tmp) {
		HASH_DEL(hash, first);
		for (n = first; n != NULL; n = next) {
			next = n->next;
			free(n->key);
			free(n->src);
			free(n->dst);
			free(n);
		}
	}
}

/* --- whose data count --- */

/* Whether the session's name may be anybody's choice. */
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
	if (rc == NW_OK)
		owners_tie(&l);
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
