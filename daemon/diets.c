/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/diets.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "daemon/control.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/log.h"
#include "narrows/order.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* An order lasts so long without the box. */
static const int64_t LEASE_NS = INT64_C(600000000000);

/* An open proposal or diet. */
struct one {
	int64_t id, interval_ns;
	char *host, *group;
	char *series; /* each with a newline behind */
	size_t n_series;
	bool in_force, ended;
};

struct list {
	struct one *one;
	size_t n;
};

struct decision {
	int64_t id;
	bool ended;
};

struct diets {
	struct store *store;
	const char *accept;

	/* of the net thread */
	struct list list;
	struct decision *decision;
	size_t n_decisions;
	uint64_t version; /* changes with the diets in force */

	/* The lock guards published diets, not yet taken over. */
	pthread_mutex_t lock;
	struct list fresh;
	bool is_fresh;
};

static void
list_clear(struct list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		free(l->one[i].host);
		free(l->one[i].group);
		free(l->one[i].series);
	}
	free(l->one);
	*l = (struct list){ 0 };
}

struct diets *
diets_new(struct store *st, const char *accept)
{
	struct diets *d = xcalloc(1, sizeof(*d));

	d->store = st;
	d->accept = accept;
	d->version = 1;
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

void
diets_free(struct diets *d)
{
	if (d == NULL)
		return;
	list_clear(&d->list);
	list_clear(&d->fresh);
	free(d->decision);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* --- reading --- */

struct loading {
	struct list open;
	struct list ended; /* host and group only */
	struct store_reader *r;
	char *host; /* of the present row */
};

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct loading *l = arg;

	l->host = xstrdup(rec->name != NULL ? rec->name : "");
	return 0;
}

static struct one *
list_add(struct list *l)
{
	l->one = xreallocarray(l->one, l->n + 1, sizeof(*l->one));
	l->one[l->n] = (struct one){ 0 };
	return &l->one[l->n++];
}

static void
series_join(struct one *one, const json_t *series)
{
	const json_t *name;
	char *longer;
	size_t i;

	one->series = xstrdup("");
	json_array_foreach(series, i, name)
	{
		if (json_string_value(name) == NULL ||
		    strlen(one->series) + strlen(json_string_value(name)) > NW_DIET_BYTES_MAX / 4)
			continue;
		longer = xasprintf("%s%s\n", one->series, json_string_value(name));
		free(one->series);
		one->series = longer;
		one->n_series++;
	}
}

static int
on_diet(void *arg, const struct nw_diet_rec *rec)
{
	struct loading *l = arg;
	struct one *one = list_add(rec->ended_wall_ns != 0 ? &l->ended : &l->open);
	json_t *doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	int rc;

	l->host = NULL;
	rc = store_host_get(l->r, rec->host_id, on_host, l);
	one->id = rec->id;
	one->host = l->host != NULL ? l->host : xstrdup("");
	one->group = xstrdup(rec->group);
	one->in_force = rec->accepted_wall_ns != 0;
	one->interval_ns = (int64_t)(result_number(doc, KEY_diet_interval_s) * 1e9);
	if (rec->ended_wall_ns == 0)
		series_join(one, result_list(doc, KEY_diet_series));
	json_decref(doc);
	return rc == NW_ENOTFOUND ? 0 : rc;
}

/* --- decisions --- */

static int
decide(struct diets *d, int64_t id, bool end, int64_t now_wall_ns)
{
	struct nw_batch *b = nw_batch_new();
	int rc = b != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK)
		rc = end ? nw_batch_diet_end(b, id, now_wall_ns)
			 : nw_batch_diet_accept(b, id, now_wall_ns);
	if (rc == NW_OK && (rc = store_submit(d->store, b)) == NW_OK) {
		log_info("diet.%s id=%" PRId64, end ? "end" : "accept", id);
		return rc;
	}
	nw_batch_free(b);
	return rc;
}

static bool
was_ended(const struct list *ended, const struct one *one)
{
	size_t i;

	for (i = 0; i < ended->n; i++)
		if (strcmp(ended->one[i].host, one->host) == 0 &&
		    strcmp(ended->one[i].group, one->group) == 0)
			return true;
	return false;
}

static void
accept_by_directive(struct diets *d, struct loading *l, int64_t now_wall_ns)
{
	size_t i;

	for (i = 0; i < l->open.n; i++) {
		struct one *one = &l->open.one[i];

		if (one->in_force || was_ended(&l->ended, one) ||
		    (strcmp(d->accept, "any") != 0 && !nw_order_word(d->accept, one->host)))
			continue;
		one->in_force = decide(d, one->id, false, now_wall_ns) == NW_OK;
	}
}

int
diets_load(struct diets *d, struct store_reader *r, int64_t now_wall_ns)
{
	struct loading l = { .r = r };
	int rc = store_diets(r, 0, on_diet, &l);

	if (rc == NW_OK) {
		accept_by_directive(d, &l, now_wall_ns);
		pthread_mutex_lock(&d->lock);
		list_clear(&d->fresh);
		d->fresh = l.open;
		d->is_fresh = true;
		pthread_mutex_unlock(&d->lock);
	} else
		list_clear(&l.open);
	list_clear(&l.ended);
	return rc;
}

static void
decision_apply(struct list *l, const struct decision *what)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->one[i].id == what->id) {
			l->one[i].in_force = !what->ended;
			l->one[i].ended = what->ended;
		}
}

/* The published diets replace the list. */
static void
fresh_take(struct diets *d)
{
	struct list fresh = { 0 };
	bool is_fresh;
	size_t i;

	pthread_mutex_lock(&d->lock);
	if ((is_fresh = d->is_fresh)) {
		fresh = d->fresh;
		d->fresh = (struct list){ 0 };
		d->is_fresh = false;
	}
	pthread_mutex_unlock(&d->lock);
	if (!is_fresh)
		return;
	list_clear(&d->list);
	d->list = fresh;
	for (i = 0; i < d->n_decisions; i++)
		decision_apply(&d->list, &d->decision[i]);
	d->version++;
}

static int
one_decide(struct diets *d, struct one *one, bool end, int64_t now_wall_ns)
{
	int rc = decide(d, one->id, end, now_wall_ns);

	if (rc < 0)
		return rc;
	d->decision = xreallocarray(d->decision, d->n_decisions + 1, sizeof(*d->decision));
	d->decision[d->n_decisions++] = (struct decision){ one->id, end };
	one->in_force = !end;
	one->ended = end;
	d->version++;
	return NW_OK;
}

int
diets_decide(struct diets *d, const char *host, int64_t id, bool end, int64_t now_wall_ns,
    void (*line)(void *arg, const char *text), void *arg)
{
	char name[300], text[400];
	int rc = NW_ENOTFOUND;
	size_t i;

	fresh_take(d);
	for (i = 0; i < d->list.n && (rc == NW_OK || rc == NW_ENOTFOUND); i++) {
		struct one *one = &d->list.one[i];

		if (one->ended || strcmp(one->host, host) != 0 || (id != 0 && one->id != id) ||
		    (!end && one->in_force) || (end && id == 0 && !one->in_force))
			continue;
		if ((rc = one_decide(d, one, end, now_wall_ns)) < 0)
			break;
		snprintf(text, sizeof(text), "%" PRId64 " %s: %zu series, %s", one->id,
		    log_escape(name, sizeof(name), one->group), one->n_series,
		    end ? "ended" : "accepted");
		line(arg, text);
	}
	return rc;
}

/* --- orders --- */

/* The series of all diets in force of a provider's host; the shortest of their intervals. */
static char *
series_of(const struct diets *d, const char *host, int64_t *interval_ns)
{
	char *all = xstrdup(""), *longer;
	size_t i;

	*interval_ns = 0;
	for (i = 0; i < d->list.n; i++) {
		const struct one *one = &d->list.one[i];

		if (!one->in_force || strcmp(one->host, host) != 0 ||
		    strlen(all) + strlen(one->series) > NW_DIET_BYTES_MAX)
			continue;
		longer = xasprintf("%s%s", all, one->series);
		free(all);
		all = longer;
		if (*interval_ns == 0 || one->interval_ns < *interval_ns)
			*interval_ns = one->interval_ns;
	}
	return all;
}

struct telling {
	const struct diets *d;
	int64_t now_mono_ns;
};

static void
peer_tell(struct control_peer *p, void *arg)
{
	const struct telling *t = arg;
	struct nw_doc_buf doc = { 0 };
	struct nw_diet order = { .lease_ns = LEASE_NS };
	char *series;

	if (!p->for_host || (p->can & CAN_DIET) == 0 ||
	    (p->diet_version == t->d->version && t->now_mono_ns < p->diet_mono_ns))
		return;
	order.series = series = series_of(t->d, p->host, &order.interval_ns);
	if (order.interval_ns == 0)
		order.interval_ns = NW_ORDER_PERIOD_MAX_NS; /* of nothing */
	/* a provider without diet needs no message */
	if ((series[0] != '\0' || p->on_diet) && nw_diet_encode(&doc, &order) == NW_OK)
		p->send(p->arg, NW_OPT_DIET, doc.data, doc.len);
	p->on_diet = series[0] != '\0';
	p->diet_version = t->d->version;
	p->diet_mono_ns = t->now_mono_ns + LEASE_NS / 3;
	nw_doc_buf_clear(&doc);
	free(series);
}

void
diets_tick(struct diets *d, struct control *c, int64_t now_mono_ns)
{
	struct telling t = { d, now_mono_ns };

	fresh_take(d);
	control_each(c, peer_tell, &t);
}
