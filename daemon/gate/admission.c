/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/gate/admission.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

enum { OPENED, UNOPENED, KINDS, FAIR_FACTOR = 4 };

struct address {
	char *text; /* hash key */
	struct guest *guests[KINDS];
	size_t n[KINDS];
	UT_hash_handle hh;
};

struct admission {
	struct admission_limits limits;
	struct address *addresses;
	size_t n[KINDS];
};

struct admission *
admission_new(const struct admission_limits *limits)
{
	struct admission *a = xcalloc(1, sizeof(*a));

	a->limits = *limits;
	return a;
}

void
admission_free(struct admission *a)
{
	free(a);
}

static struct address *
address_find(struct admission *a, const char *text)
{
	struct address *x;

	HASH_FIND_STR(a->addresses, text, x);
	return x;
}

/* The address with most connections of a kind, NULL without any. */
static struct address *
address_largest(struct admission *a, int kind)
{
	struct address *x, *tmp, *most = NULL;

	HASH_ITER (hh, a->addresses, x, tmp)
		if (x->n[kind] > 0 && (most == NULL || x->n[kind] > most->n[kind]))
			most = x;
	return most;
}

bool
admission_may_enter(
    struct admission *a, const char *address, struct guest **victim, const char **why)
{
	struct address *x = address_find(a, address);

	*victim = NULL;
	if (x != NULL && x->n[OPENED] + x->n[UNOPENED] >= a->limits.per_address) {
		*victim = x->guests[UNOPENED];
		*why = "max-connections-per-address";
		return false;
	}
	if (a->n[UNOPENED] < a->limits.unopened)
		return true;
	if ((x = address_largest(a, UNOPENED)) != NULL)
		*victim = x->guests[UNOPENED];
	*why = "max-handshakes";
	return false;
}

bool
admission_may_open(
    struct admission *a, const struct guest *g, struct guest **victim, const char **why)
{
	struct address *most;

	*victim = NULL;
	if (a->n[OPENED] < a->limits.opened)
		return true;
	most = address_largest(a, OPENED);
	if (most != NULL && most->n[OPENED] > FAIR_FACTOR * (g->address->n[OPENED] + 1))
		*victim = most->guests[OPENED];
	*why = "max-connections";
	return false;
}

static void
guest_add(struct admission *a, struct guest *g)
{
	int kind = g->opened ? OPENED : UNOPENED;

	DL_APPEND(g->address->guests[kind], g);
	g->address->n[kind]++;
	a->n[kind]++;
}

static void
guest_remove(struct admission *a, struct guest *g)
{
	int kind = g->opened ? OPENED : UNOPENED;

	DL_DELETE(g->address->guests[kind], g);
	g->address->n[kind]--;
	a->n[kind]--;
}

void
admission_enter(struct admission *a, const char *address, struct guest *g)
{
	struct address *x = address_find(a, address);

	if (x == NULL) {
		x = xcalloc(1, sizeof(*x));
		x->text = xstrdup(address);
		HASH_ADD_KEYPTR(hh, a->addresses, x->text, strlen(x->text), x);
	}
	g->address = x;
	g->opened = false;
	guest_add(a, g);
}

void
admission_open(struct admission *a, struct guest *g)
{
	guest_remove(a, g);
	g->opened = true;
	guest_add(a, g);
}

void
admission_leave(struct admission *a, struct guest *g)
{
	struct address *x = g->address;

	guest_remove(a, g);
	if (x->n[OPENED] + x->n[UNOPENED] > 0)
		return;
	HASH_DEL(a->addresses, x);
	free(x->text);
	free(x);
}
