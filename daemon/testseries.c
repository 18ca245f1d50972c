/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/testseries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uthash.h>

#include "daemon/analysis/schedule.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/hostlist.h"
#include "daemon/hostseries.h"
#include "daemon/session.h"

enum { PAIRS_MAX = 2000 };

struct pair {
	char *key;         /* hash key: source, destination, tool and kind */
	uint32_t fields;   /* of the layout, a bit each */
	int64_t layout_id; /* 0: none yet */
	UT_hash_handle hh;
};

struct testseries {
	struct box *box;
	struct pair *pairs;
};

struct testseries *
testseries_new(struct box *box)
{
	struct testseries *s = xcalloc(1, sizeof(*s));

	s->box = box;
	return s;
}

void
testseries_free(struct testseries *s)
{
	struct pair *p, *tmp;

	if (s == NULL)
		return;
	HASH_ITER (hh, s->pairs, p, tmp) {
		HASH_DEL(s->pairs, p);
		free(p->key);
		free(p);
	}
	free(s);
}

/* NULL: too many pairs. */
static struct pair *
pair_get(struct testseries *s, const struct nw_active_test *t)
{
	char *key = xasprintf("%s->%s %s %s", t->src, t->dst, nw_test_kind_name(t->kind), t->tool);
	struct pair *p;

	HASH_FIND_STR(s->pairs, key, p);
	if (p != NULL || HASH_COUNT(s->pairs) == PAIRS_MAX) {
		free(key);
		return p;
	}
	p = xcalloc(1, sizeof(*p));
	p->key = key;
	HASH_ADD_KEYPTR(hh, s->pairs, p->key, strlen(p->key), p);
	return p;
}

static const char *
host_of(const struct box *box, const struct nw_active_test *t)
{
	return host_is_known(box, t->src) ? t->src
	    : host_is_known(box, t->dst)  ? t->dst
					  : SESSION_ANNOUNCER;
}

/* A test with quantities beside those of the pair so far makes a new metadata with all of them. */
static void
layout_make(struct testseries *s, struct pair *p, const struct nw_active_test *t, uint32_t fields)
{
	const char *names[NW_TEST_FIELD_COUNT];
	char *type = xasprintf("%s%s", NW_TYPE_ACTIVE, nw_test_kind_name(t->kind));
	json_t *subject =
	    json_pack("{s:s, s:s, s:s}", "source", t->src, "destination", t->dst, "tool", t->tool);
	struct hostseries_words words = { .event_type = type,
		.name = p->key,
		.more = subject,
		.params_json = "{\"kind\":\"gauge\"}",
		.fields = names };
	int i;

	p->fields |= fields;
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		if ((p->fields >> i & 1) != 0)
			names[words.n_fields++] = nw_test_field_name((enum nw_test_field)i);
	p->layout_id = hostseries_new(
	    s->box, host_seen(s->box, host_of(s->box, t), NULL), &words, 0, t->end_wall_ns);
	json_decref(subject);
	free(type);
}

static void
row_put(struct testseries *s, struct pair *p, const struct nw_active_test *t)
{
	double values[NW_TEST_FIELD_COUNT];
	uint32_t fields = 0, n = 0;
	int i;

	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		fields |= (uint32_t)isfinite(t->value[i]) << i;
	if (fields == 0)
		return;
	if (p->layout_id == 0 || (fields & ~p->fields) != 0)
		layout_make(s, p, t, fields);
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		if ((p->fields >> i & 1) != 0)
			values[n++] = t->value[i];
	hostseries_put(s->box, p->layout_id, values, n, t->end_wall_ns);
}

void
testseries_put(void *testseries, const struct nw_active_test *t)
{
	struct testseries *s = testseries;
	struct pair *p = t->succeeded ? pair_get(s, t) : NULL;

	if (p != NULL)
		row_put(s, p, t);
	while (nw_batch_provider(
		   commit_batch(s->box->commit), TESTS_OWNER, TESTS_PROVIDER, (uint64_t)t->id) < 0)
		xmalloc_spend();
	commit_check(s->box->commit);
}
