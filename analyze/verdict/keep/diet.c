/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/keep/diet_in.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/main_metrics.h"

/* --- the book --- */

static struct diet_series *
series_get(struct diet_host *h, const char *name)
{
	struct diet_series *s;

	HASH_FIND_STR(h->series, name, s);
	if (s != NULL)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->name = xstrdup(name);
	HASH_ADD_KEYPTR(hh, h->series, s->name, strlen(s->name), s);
	return s;
}

static int64_t
number_of(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

static int
on_seen(void *arg, const struct nw_diet_rec *rec)
{
	json_t *doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL, *o;
	struct diet_host *h = arg;
	const char *name;

	json_object_foreach(doc, name, o)
	{
		struct diet_series *s = series_get(h, name);

		s->first_ns = number_of(o, "first");
		s->last_ns = number_of(o, "last");
		s->carried_ns = number_of(o, "carried");
		s->runs = number_of(o, "runs");
		s->moved = json_is_true(json_object_get(o, "moved"));
	}
	json_decref(doc);
	return 0;
}

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct diet_book *b = arg;
	struct diet_host *h;

	if (rec->name == NULL)
		return 0;
	b->host = xreallocarray(b->host, b->n_hosts + 1, sizeof(*b->host));
	h = &b->host[b->n_hosts++];
	*h = (struct diet_host){ .id = rec->id, .name = xstrdup(rec->name) };
	return 0;
}

struct diet_book *
diet_book_new(struct store_reader *r, const struct diet_params *p)
{
	struct diet_book *b = xcalloc(1, sizeof(*b));
	size_t i;
	int rc;

	b->params = *p;
	rc = store_hosts(r, on_host, b);
	for (i = 0; rc == NW_OK && i < b->n_hosts; i++)
		if ((rc = store_diet_seen(r, b->host[i].id, on_seen, &b->host[i])) == NW_ENOTFOUND)
			rc = NW_OK;
	if (rc == NW_OK)
		return b;
	diet_book_free(b);
	return NULL;
}

void
diet_book_free(struct diet_book *b)
{
	struct diet_series *s, *next;
	size_t i;

	if (b == NULL)
		return;
	for (i = 0; i < b->n_hosts; i++) {
		HASH_ITER (hh, b->host[i].series, s, next) {
			HASH_DEL(b->host[i].series, s);
			free(s->name);
			free(s);
		}
		json_decref(b->host[i].risks);
		free(b->host[i].name);
	}
	free(b->host);
	free(b);
}

/* --- names of metrics --- */

/* The host with a role in the group's sessions; NULL: not known. */
static struct diet_host *
host_of(struct diet_book *b, const struct keep_work *w, const char *role, size_t len)
{
	const struct keep_host *of = NULL;
	size_t i;

	for (i = 0; i < w->own.n_hosts && of == NULL; i++)
		if (strncmp(w->own.host[i].role, role, len) == 0 &&
		    w->own.host[i].role[len] == '\0')
			of = &w->own.host[i];
	for (i = 0; of != NULL && i < b->n_hosts; i++)
		if (strcmp(b->host[i].name, of->name) == 0)
			return &b->host[i];
	return NULL;
}

/* "sender: disk:partition:sda io_ms" is a metric of the series "disk:partition:sda". Resources of
 * programs under nwrun ("process NAME cpu_user") are no series of the host. */
static struct diet_series *
series_of(
    struct diet_book *b, const struct keep_work *w, const char *metric, struct diet_host **host)
{
	const char *colon = strstr(metric, ": "), *field = strrchr(metric, ' ');
	struct diet_series *s = NULL;
	char *name;

	if (colon == NULL || field == NULL || field <= colon + 2)
		return NULL;
	*host = host_of(b, w, metric, (size_t)(colon - metric));
	name = xasprintf("%.*s", (int)(field - colon - 2), colon + 2);
	if (*host != NULL && strncmp(name, "process ", 8) != 0)
		s = series_get(*host, name);
	free(name);
	return s;
}

void
diet_group_name(const char *series, char out[DIET_GROUP_BYTES])
{
	size_t len = strcspn(series, ": ");

	if (series[len] == ':')
		len += 1 + strcspn(series + len + 1, ": ");
	if (len >= DIET_GROUP_BYTES)
		len = DIET_GROUP_BYTES - 1;
	memcpy(out, series, len);
	out[len] = '\0';
}

/* Series for verdicts, and series for people's first look. */
static bool
is_reserved(const char *series)
{
	static const char *const kept[] = { "cpu:utilization", "disk:partition",
		"memory:utilization", "network:utilization", "pressure",
#define MAIN_TYPE(type, field, counter, unit, words) type,
		NW_MAIN_METRICS(MAIN_TYPE) };
	size_t i, len;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		len = strlen(kept[i]);
		if (strncmp(series, kept[i], len) == 0 &&
		    (series[len] == '\0' || series[len] == ':' || series[len] == ' '))
			return true;
	}
	return false;
}

/* --- what a list says --- */

struct naming {
	struct diet_book *b;
	const struct keep_work *w;
};

static void
on_name(void *arg, const char *metric)
{
	struct naming *n = arg;
	struct diet_host *h;
	struct diet_series *s = series_of(n->b, n->w, metric, &h);

	if (s != NULL)
		s->here = true;
}

void
diet_book_names(struct diet_book *b, const struct keep_work *w)
{
	struct naming n = { b, w };
	struct diet_series *s, *next;
	size_t i;

	for (i = 0; i < b->n_hosts; i++)
		HASH_ITER (hh, b->host[i].series, s, next)
			s->here = s->moved_here = s->carried_here = false;
	keeptable_each_name(&w->table, on_name, &n);
}

/* Whether the metrics of a column carry something: the selection of all rows keeps the column, or
 * half-samples choose it or its cluster. */
static void
column_note(struct diet_book *b, const struct keep_work *w, size_t column)
{
	struct diet_host *h;
	struct diet_series *s = series_of(b, w, keeptable_name(&w->table, column), &h);

	if (s == NULL || !s->here)
		return;
	s->moved_here = true;
	s->carried_here |= w->share != NULL && w->share[column] >= DIET_SHARE_MIN;
}

/* Whether a series has carried nothing for long enough, after so many runs. */
static bool
is_spare(const struct diet_book *b, const struct diet_series *s, int64_t runs)
{
	const int64_t since = s->carried_ns > s->first_ns ? s->carried_ns : s->first_ns;

	return b->params.after_ns > 0 && s->first_ns != 0 && runs >= DIET_RUNS_MIN &&
	    b->params.now_wall_ns - since >= b->params.after_ns && !s->carried_now &&
	    !(is_reserved(s->name) && (s->moved || s->moved_here));
}

bool
diet_may_be_spare(const struct diet_book *b, const struct diet_series *s)
{
	return s->here && !s->carried_here && is_spare(b, s, s->runs + 1);
}

bool
diet_is_spare(const struct diet_book *b, const struct diet_series *s)
{
	return s->last_ns == b->params.now_wall_ns && is_spare(b, s, s->runs);
}

int
diet_book_take(struct diet_book *b, const struct keep_work *w)
{
	const bool told = keep_has_headline(w);
	struct diet_series *s, *next;
	size_t i;
	int rc;

	for (i = 0; i < w->x.n_columns; i++)
		column_note(b, w, i);
	if ((rc = diet_risks_take(b, w)) < 0)
		return rc;
	for (i = 0; i < b->n_hosts; i++)
		HASH_ITER (hh, b->host[i].series, s, next) {
			s->looked |= s->here && (told || !s->moved_here);
			s->carried_now |= s->here && told && s->carried_here;
			s->moved |= s->here && s->moved_here;
			s->here = false;
		}
	return NW_OK;
}

struct diet_series *
diet_series_of(
    struct diet_book *b, const struct keep_work *w, size_t column, struct diet_host **host)
{
	return series_of(b, w, keeptable_name(&w->table, column), host);
}

/* --- the end of a run --- */

/* The run becomes part of the past. */
static void
series_end(const struct diet_book *b, struct diet_series *s)
{
	if (!s->looked)
		return;
	s->last_ns = b->params.now_wall_ns;
	if (s->first_ns == 0)
		s->first_ns = s->last_ns;
	s->runs++;
	if (s->carried_now) {
		s->carried_ns = s->last_ns;
		s->runs = 0;
	}
}

static json_t *
seen_document(struct diet_host *h)
{
	json_t *doc = json_object();
	struct diet_series *s, *next;

	HASH_ITER (hh, h->series, s, next)
		if (s->first_ns != 0)
			json_object_set_new(doc, s->name,
			    json_pack("{s:I, s:I, s:I, s:I, s:b}", "first", (json_int_t)s->first_ns,
				"last", (json_int_t)s->last_ns, "carried",
				(json_int_t)s->carried_ns, "runs", (json_int_t)s->runs, "moved",
				(int)s->moved));
	return doc;
}

static int
host_end(struct diet_book *b, struct store_reader *r, struct diet_host *h, struct nw_batch *out)
{
	struct diet_series *s, *next;
	bool looked = false;
	json_t *doc;
	char *text;
	int rc;

	HASH_ITER (hh, h->series, s, next) {
		looked |= s->looked;
		series_end(b, s);
	}
	if (!looked)
		return NW_OK;
	doc = seen_document(h);
	text = json_dumps(doc, JSON_COMPACT);
	json_decref(doc);
	rc = text != NULL ? nw_batch_diet_seen(out, h->id, text) : NW_ENOMEM;
	free(text);
	return rc == NW_OK ? diet_propose(b, r, h, out) : rc;
}

int
diet_book_finish(struct diet_book *b, struct store_reader *r, struct nw_batch *out)
{
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < b->n_hosts && rc == NW_OK; i++)
		rc = host_end(b, r, &b->host[i], out);
	return rc;
}
