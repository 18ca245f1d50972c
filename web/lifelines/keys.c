/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ids make an object: the first KEYS_EVENTS events are looked at. The id key with the most
 * different values leads; the other keys are those that all names of events with the leading key
 * have in common. Logs without ids (positions of the common format) take attributes for ids.
 */
#include "web/lifelines/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "narrows/err.h"
#include "web/lifelines/linepackets.h"

enum { KEYS_EVENTS = 20000, KEYS_SEEN_MAX = 64, VALUES_MAX = 100000 };

struct value { /* of a key */
	char text[72];
	UT_hash_handle hh;
};

struct looker {
	struct lineset_names keys, names;
	bool any; /* whether attributes that are no ids count, too */
	struct value *values[KEYS_SEEN_MAX];
	size_t n_values, n_events;
	bool has_packets; /* events of the kernel, whose objects linepackets.h finds */
	uint64_t mask[LINESET_NAMES_MAX]; /* by name: mask of the keys of all its events */
};

void
key_text(const struct nw_attr *a, char *out, size_t size)
{
	if (a->type == NW_ATTR_INT)
		snprintf(out, size, "%lld", (long long)a->v.i);
	else if (a->type == NW_ATTR_REAL)
		snprintf(out, size, "%.17g", a->v.d);
	else
		snprintf(out, size, "%s", a->v.text);
}

static int
value_put(struct looker *l, uint32_t key, const struct nw_attr *a)
{
	struct value *v;
	char text[sizeof(v->text)] = "";

	key_text(a, text, sizeof(text));
	HASH_FIND_STR(l->values[key], text, v);
	if (v != NULL || l->n_values >= VALUES_MAX)
		return NW_OK;
	if ((v = calloc(1, sizeof(*v))) == NULL)
		return NW_ENOMEM;
	memcpy(v->text, text, sizeof(text));
	HASH_ADD_STR(l->values[key], text, v);
	l->n_values++;
	return NW_OK;
}

static int
on_look(void *arg, const struct nw_event_rec *rec)
{
	struct looker *l = arg;
	const struct nw_event *e = &rec->event;
	size_t i, n_before = l->names.n;
	uint32_t name = linename_put(&l->names, e->name), key;
	uint64_t mask = 0;

	if (name == UINT32_MAX)
		return NW_ENOMEM;
	if (linepackets_is(e)) {
		l->has_packets = true;
		return 0;
	}
	for (i = 0; i < e->n_attrs; i++) {
		if (!e->attrs[i].is_id && (!l->any || e->attrs[i].type == NW_ATTR_REAL))
			continue;
		if ((key = linename_put(&l->keys, e->attrs[i].key)) == UINT32_MAX)
			return NW_ENOMEM;
		if (key >= KEYS_SEEN_MAX)
			continue;
		mask |= UINT64_C(1) << key;
		if (value_put(l, key, &e->attrs[i]) < 0)
			return NW_ENOMEM;
	}
	l->mask[name] = l->names.n > n_before ? mask : l->mask[name] & mask;
	return ++l->n_events >= KEYS_EVENTS;
}

/* The key whose values are most, and which at least two names share. */
static size_t
leading_key(const struct looker *l)
{
	size_t key, best = KEYS_SEEN_MAX, name, shared;
	unsigned most = 0, n;

	for (key = 0; key < l->keys.n && key < KEYS_SEEN_MAX; key++) {
		for (shared = 0, name = 0; name < l->names.n; name++)
			shared += (l->mask[name] >> key & 1) != 0;
		n = HASH_COUNT(l->values[key]);
		if (shared >= 2 && n > most) {
			most = n;
			best = key;
		}
	}
	return best;
}

static int
keys_choose(const struct looker *l, struct lineset *s)
{
	size_t lead = leading_key(l), name, key;
	uint64_t common = UINT64_MAX;

	for (name = 0; name < l->names.n && lead < KEYS_SEEN_MAX; name++)
		if (l->mask[name] >> lead & 1)
			common &= l->mask[name];
	for (key = 0; key < l->keys.n && lead < KEYS_SEEN_MAX; key++)
		if (key < KEYS_SEEN_MAX && (common >> key & 1) && s->n_keys < LINESET_KEYS_MAX) {
			if (l->any && key != lead)
				continue;
			if ((s->keys[s->n_keys] = strdup(l->keys.text[key])) == NULL)
				return NW_ENOMEM;
			s->n_keys++;
		}
	return NW_OK;
}

static void
looker_free(struct looker *l)
{
	struct value *v, *next;
	size_t i;

	for (i = 0; i < KEYS_SEEN_MAX; i++)
		HASH_ITER (hh, l->values[i], v, next) {
			HASH_DEL(l->values[i], v);
			free(v);
		}
	linenames_clear(&l->keys);
	linenames_clear(&l->names);
	free(l);
}

static int
keys_look(struct store_reader *r, struct lineset *s, bool any, bool *has_packets)
{
	const struct nw_event_select select = { .session_id = s->session_id };
	struct looker *l = calloc(1, sizeof(*l));
	int rc;

	if (l == NULL)
		return NW_ENOMEM;
	l->any = any;
	if ((rc = store_events(r, &select, on_look, l)) == NW_OK)
		rc = keys_choose(l, s);
	*has_packets = l->has_packets;
	looker_free(l);
	return rc;
}

int
keys_declare(const char *list, char **out, size_t max, size_t *n)
{
	size_t len;

	for (; *list != '\0' && *n < max; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len > 0 && (out[*n] = strndup(list, len)) == NULL)
			return NW_ENOMEM;
		*n += len > 0;
	}
	return NW_OK;
}

int
keys_find(struct store_reader *r, const struct lineset_opts *o, struct lineset *s)
{
	bool has_packets = false;
	int rc;

	if (o->by != NULL && *o->by != '\0')
		return keys_declare(o->by, s->keys, LINESET_KEYS_MAX, &s->n_keys);
	rc = keys_look(r, s, false, &has_packets);
	if (rc == NW_OK && s->n_keys == 0 && !has_packets)
		rc = keys_look(r, s, true, &has_packets);
	return rc;
}
