/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/series_diet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/order.h"

enum { NAME_BYTES = SERIES_EVENT_BYTES + SERIES_DEVICE_BYTES };

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
lines_count(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static void
list_free(struct diet *d)
{
	free(d->text);
	free(d->name);
	free(d->met);
	d->text = NULL;
	d->name = NULL;
	d->met = NULL;
	d->n = d->n_met = 0;
}

/* Puts the list of another order in place of the list. */
static int
list_set(struct diet *d, const char *series)
{
	struct diet new = { .n = lines_count(series) };
	char *at, *end;
	size_t i = 0;

	new.text = strdup(series);
	new.name = calloc(new.n + 1, sizeof(*new.name));
	new.met = calloc(new.n + 1, sizeof(*new.met));
	if (new.text == NULL || new.name == NULL || new.met == NULL) {
		list_free(&new);
		return NW_ENOMEM;
	}
	for (at = new.text; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		new.name[i++] = at;
	}
	qsort(new.name, new.n, sizeof(*new.name), by_name);
	list_free(d);
	d->text = new.text;
	d->name = new.name;
	d->met = new.met;
	d->n = new.n;
	return NW_OK;
}

/* Whether the order has the names of the list, in the same order or in another. */
static bool
list_is(const struct diet *d, const char *series)
{
	struct diet other = { 0 };
	bool same;
	size_t i;

	if (lines_count(series) != d->n || list_set(&other, series) < 0)
		return false;
	for (i = 0; i < d->n && strcmp(d->name[i], other.name[i]) == 0; i++)
		continue;
	same = i == d->n;
	list_free(&other);
	return same;
}

int
diet_take(struct diet *d, const uint8_t *doc, size_t len, int64_t now_mono_ns, bool *changed,
    const char **why)
{
	struct nw_diet order;
	int rc;

	*changed = false;
	if ((rc = nw_diet_decode(&order, doc, len, why)) < 0)
		return rc;
	if (!list_is(d, order.series)) {
		if ((rc = list_set(d, order.series)) < 0)
			return rc;
		d->number++;
		*changed = true;
	}
	*changed |= d->interval_ns != order.interval_ns;
	d->interval_ns = order.interval_ns;
	d->until_mono_ns = now_mono_ns + order.lease_ns;
	return NW_OK;
}

bool
diet_expire(struct diet *d, int64_t now_mono_ns)
{
	if (d->n == 0 || now_mono_ns < d->until_mono_ns)
		return false;
	list_free(d);
	d->number++;
	return true;
}

/* The name of a series in lists of metrics: "disk:partition:sda", "network:qdisc eth0". Parts of
 * other kinds (file systems, peers) have no names of their own there. */
static void
name_make(char out[NAME_BYTES], const struct series *s, const struct series_kind *kind)
{
	const char *what = kind->event_type + strlen(SERIES_PREFIX), *key = kind->device_key;
	bool ends_in_device = what[strlen(what) - 1] == ':',
	     told = key != NULL && (strcmp(key, "device") == 0 || strcmp(key, "interface") == 0);

	snprintf(out, NAME_BYTES, "%s%s%s", what, told && !ends_in_device ? " " : "",
	    told || ends_in_device ? s->device : "");
}

/* Looks a series up, once for each list. */
static void
look_up(struct diet *d, struct series *s, const struct series_kind *kind)
{
	char name[NAME_BYTES];
	const char *key = name, **found;

	if (s->diet_number == d->number)
		return;
	name_make(name, s, kind);
	found = bsearch(&key, d->name, d->n, sizeof(*d->name), by_name);
	s->diet_number = d->number;
	s->lean = found != NULL;
	if (found != NULL && !d->met[found - d->name]) {
		d->met[found - d->name] = true;
		d->n_met++;
	}
}

bool
diet_holds(struct diet *d, struct series *s, const struct series_kind *kind, int64_t t_wall_ns)
{
	d->n_asked++;
	if (d->n == 0)
		return false;
	look_up(d, s, kind);
	if (!s->lean)
		return false;
	d->n_lean++;
	if (!d->seldom && s->lean_sent_ns != 0 &&
	    t_wall_ns / d->interval_ns == s->lean_sent_ns / d->interval_ns)
		return true;
	s->lean_sent_ns = t_wall_ns;
	return false;
}

void
diet_clear(struct diet *d)
{
	list_free(d);
}
