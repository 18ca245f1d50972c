/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1
#include "narrows/fairq.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#include "narrows/err.h"

struct fairq_owner {
	char *name; /* hash key */
	double weight;
	double virtual_time; /* of the service so far; an idle owner's may be in the past */
	struct fairq_item *items;
	size_t n_items;
	struct fairq_owner *prev,
	    *next; /* among the owners with items, least recently served first */
	UT_hash_handle hh;
};

struct fairq {
	struct fairq_limits limits;
	struct fairq_owner *owners; /* hash by name */
	struct fairq_owner *busy;   /* owners with items */
	double virtual_time;        /* start of the newest service */
	size_t n_items;
};

struct fairq *
fairq_new(const struct fairq_limits *limits)
{
	struct fairq *q = calloc(1, sizeof(*q));

	if (q != NULL)
		q->limits = *limits;
	return q;
}

static void
owner_free(struct fairq *q, struct fairq_owner *o)
{
	struct fairq_item *item, *tmp;

	if (o->items != NULL)
		DL_DELETE(q->busy, o);
	DL_FOREACH_SAFE(o->items, item, tmp)
	*item = (struct fairq_item){ 0 };
	HASH_DEL(q->owners, o);
	free(o->name);
	free(o);
}

void
fairq_free(struct fairq *q)
{
	struct fairq_owner *o, *tmp;

	if (q == NULL)
		return;
	HASH_ITER (hh, q->owners, o, tmp)
		owner_free(q, o);
	free(q);
}

/* Forgets owners without items, unless other owners have still to catch up with their service. */
static void
owners_forget(struct fairq *q)
{
	struct fairq_owner *o, *tmp;

	HASH_ITER (hh, q->owners, o, tmp)
		if (o->items == NULL && o->weight == 1 && o->virtual_time <= q->virtual_time)
			owner_free(q, o);
}

static struct fairq_owner *
owner_find(const struct fairq *q, const char *name)
{
	struct fairq_owner *o;

	HASH_FIND_STR(q->owners, name, o);
	return o;
}

static struct fairq_owner *
owner_add(struct fairq *q, const char *name)
{
	struct fairq_owner *o = calloc(1, sizeof(*o));

	if (o == NULL || (o->name = strdup(name)) == NULL) {
		free(o);
		return NULL;
	}
	o->weight = 1;
	HASH_ADD_KEYPTR(hh, q->owners, o->name, strlen(o->name), o);
	if (o->hh.tbl == NULL) { /* no memory for the table */
		free(o->name);
		free(o);
		return NULL;
	}
	return o;
}

/* Finds or makes the account of an owner; the common one where accounts are used up. */
static struct fairq_owner *
owner_get(struct fairq *q, const char *name)
{
	struct fairq_owner *o = owner_find(q, name);

	if (o != NULL)
		return o;
	if (HASH_COUNT(q->owners) >= q->limits.owners_max)
		owners_forget(q);
	if (HASH_COUNT(q->owners) >= q->limits.owners_max) {
		if ((o = owner_find(q, "")) != NULL)
			return o;
		name = "";
	}
	return owner_add(q, name);
}

int
fairq_weigh(struct fairq *q, const char *owner, double weight)
{
	struct fairq_owner *o;

	if (!(weight > 0))
		return NW_EINVAL;
	if ((o = owner_get(q, owner)) == NULL)
		return NW_ENOMEM;
	o->weight = weight;
	return NW_OK;
}

static void
item_unlink(struct fairq *q, struct fairq_item *item)
{
	struct fairq_owner *o = item->owner;

	DL_DELETE(o->items, item);
	*item = (struct fairq_item){ 0 };
	if (--o->n_items == 0)
		DL_DELETE(q->busy, o);
	q->n_items--;
}

/* The newest item of the owner with the most for its weight, if that owner keeps more without the
 * item than another with n places has; else NULL. */
static struct fairq_item *
item_displace(struct fairq *q, double n)
{
	struct fairq_owner *o, *most = NULL;
	struct fairq_item *newest;

	DL_FOREACH (q->busy, o)
		if (most == NULL ||
		    (double)o->n_items / o->weight > (double)most->n_items / most->weight)
			most = o;
	if (most == NULL || (double)(most->n_items - 1) / most->weight <= n)
		return NULL;
	newest = most->items->prev; /* utlist: the head's prev is the tail */
	item_unlink(q, newest);
	return newest;
}

int
fairq_put(
    struct fairq *q, const char *owner, struct fairq_item *item, struct fairq_item **displaced)
{
	struct fairq_owner *o = owner_get(q, owner);

	*displaced = NULL;
	if (o == NULL)
		return NW_ENOMEM;
	if (o->n_items >= q->limits.owner_items_max)
		return NW_EFULL;
	if (q->n_items >= q->limits.items_max &&
	    (*displaced = item_displace(q, (double)o->n_items / o->weight)) == NULL)
		return NW_EFULL;
	item->owner = o;
	if (o->n_items++ == 0) {
		if (o->virtual_time < q->virtual_time)
			o->virtual_time = q->virtual_time;
		DL_APPEND(q->busy, o);
	}
	DL_APPEND(o->items, item);
	q->n_items++;
	return NW_OK;
}

struct fairq_item *
fairq_take(struct fairq *q)
{
	return fairq_take_unless(q, NULL, NULL);
}

struct fairq_item *
fairq_take_unless(struct fairq *q, bool (*waits)(void *arg, const char *owner), void *arg)
{
	struct fairq_owner *o, *least = NULL;
	struct fairq_item *item;

	DL_FOREACH (q->busy, o)
		if ((waits == NULL || !waits(arg, o->name)) &&
		    (least == NULL || o->virtual_time < least->virtual_time))
			least = o;
	if (least == NULL)
		return NULL;
	q->virtual_time = least->virtual_time;
	DL_DELETE(q->busy, least);
	DL_APPEND(q->busy, least);
	item = least->items;
	item_unlink(q, item);
	return item;
}

void
fairq_charge(struct fairq *q, const char *owner, double cost)
{
	struct fairq_owner *o = owner_get(q, owner);

	if (o == NULL)
		return;
	if (o->virtual_time < q->virtual_time && o->n_items == 0)
		o->virtual_time = q->virtual_time;
	o->virtual_time += cost / o->weight;
}

void
fairq_remove(struct fairq *q, struct fairq_item *item)
{
	if (item->owner != NULL)
		item_unlink(q, item);
}

size_t
fairq_count(const struct fairq *q)
{
	return q->n_items;
}

size_t
fairq_count_owner(const struct fairq *q, const char *owner)
{
	const struct fairq_owner *o = owner_find(q, owner);

	return o != NULL ? o->n_items : 0;
}

const char *
fairq_item_owner(const struct fairq_item *item)
{
	return item->owner->name;
}

/* --- rates --- */

/* An owner's account in the second that the owner asked in last. */
struct asked {
	char *name; /* hash key */
	int64_t second;
	unsigned allowed;
	uint64_t refused; /* since the last event that was allowed */
	UT_hash_handle hh;
};

struct fairrate {
	unsigned per_s;
	size_t owners_max;
	struct asked *owners;
	int64_t second;
	unsigned allowed;              /* of all owners in that second */
	size_t n_asking, n_asked_last; /* owners in that second, and in the second before */
};

struct fairrate *
fairrate_new(unsigned per_s, size_t owners_max)
{
	struct fairrate *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->per_s = per_s;
	r->owners_max = owners_max;
	r->second = INT64_MIN;
	return r;
}

/* Forgets owners that did not ask since a second; INT64_MAX: all. */
static void
asked_forget(struct fairrate *r, int64_t since)
{
	struct asked *a, *tmp;

	HASH_ITER (hh, r->owners, a, tmp)
		if (a->second < since) {
			HASH_DEL(r->owners, a);
			free(a->name);
			free(a);
		}
}

void
fairrate_free(struct fairrate *r)
{
	if (r == NULL)
		return;
	asked_forget(r, INT64_MAX);
	free(r);
}

static struct asked *
asked_get(struct fairrate *r, const char *name)
{
	struct asked *a;

	HASH_FIND_STR(r->owners, name, a);
	if (a != NULL)
		return a;
	if (HASH_COUNT(r->owners) >= r->owners_max)
		asked_forget(r, r->second - 1);
	if (HASH_COUNT(r->owners) >= r->owners_max && name[0] != '\0')
		return asked_get(r, "");
	if ((a = calloc(1, sizeof(*a))) == NULL || (a->name = strdup(name)) == NULL) {
		free(a);
		return NULL;
	}
	a->second = INT64_MIN;
	HASH_ADD_KEYPTR(hh, r->owners, a->name, strlen(a->name), a);
	if (a->hh.tbl == NULL) {
		free(a->name);
		free(a);
		return NULL;
	}
	return a;
}

static void
second_begin(struct fairrate *r, int64_t second)
{
	if (second == r->second)
		return;
	r->n_asked_last = second == r->second + 1 ? r->n_asking : 0;
	r->n_asking = 0;
	r->allowed = 0;
	r->second = second;
}

bool
fairrate_allows(struct fairrate *r, const char *owner, int64_t now_mono_ns, uint64_t *refused)
{
	struct asked *a;
	size_t n;
	unsigned share;

	*refused = 0;
	second_begin(r, now_mono_ns / 1000000000);
	if ((a = asked_get(r, owner)) == NULL)
		return false;
	if (a->second != r->second) {
		a->second = r->second;
		a->allowed = 0;
		r->n_asking++;
	}
	n = r->n_asking > r->n_asked_last ? r->n_asking : r->n_asked_last;
	share = (unsigned)(r->per_s / n);
	if (a->allowed >= (share > 0 ? share : 1) || r->allowed >= 2 * r->per_s) {
		a->refused++;
		return false;
	}
	a->allowed++;
	r->allowed++;
	*refused = a->refused;
	a->refused = 0;
	return true;
}
