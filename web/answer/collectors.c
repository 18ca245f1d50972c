/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/collectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/web.h"

enum { LISTED_MAX = 10000, NAME_BYTES = 64 };
#define SILENT_NS INT64_C(300000000000)
#define GONE_NS   INT64_C(2592000000000000)

static const char *const names[NW_COLLECTOR_FIELDS] = NW_COLLECTOR_NAMES;

/* A collector, with a name of its own. */
struct found {
	char name[NAME_BYTES];
	struct collector c;
};

struct finding {
	struct store_reader *r;
	struct found *list;
	size_t n, cap;
	struct found *at; /* metadata that is read */
	const struct nw_layout_rec *layout;
};

/* A collector that the box has told of in an earlier life is the same one. NULL: no memory, or too
 * many. */
static struct found *
found_get(struct finding *f, int64_t host_id, const char *name)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->list[i].c.host_id == host_id && strcmp(f->list[i].name, name) == 0)
			return &f->list[i];
	if (f->n >= LISTED_MAX)
		return NULL;
	if (!array_room(&f->list, &f->cap, f->n + 1, sizeof(*f->list)))
		return NULL;
	memset(&f->list[f->n], 0, sizeof(f->list[f->n]));
	memcpy(f->list[f->n].name, name, strlen(name) + 1);
	f->list[f->n].c.host_id = host_id;
	return &f->list[f->n++];
}

static int
on_row(void *arg, const struct store_block *b)
{
	struct finding *f = arg;
	struct collector *c = &f->at->c;
	size_t i;
	uint32_t k;

	if (b->n_rows == 0 || b->t_wall_ns[b->n_rows - 1] < c->t_wall_ns)
		return 0;
	c->t_wall_ns = b->t_wall_ns[b->n_rows - 1];
	for (i = 0; i < NW_COLLECTOR_FIELDS; i++) {
		c->v[i] = NAN;
		for (k = 0; k < b->n_fields && k < f->layout->n_fields; k++)
			if (strcmp(f->layout->fields[k], names[i]) == 0)
				c->v[i] = b->columns[k][b->n_rows - 1];
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct finding *f = arg;
	int rc;

	f->layout = l;
	rc = store_last_row(f->r, l->id, on_row, f);
	return rc == NW_ENOTFOUND ? 0 : rc;
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	json_t *subject = m->subject_json != NULL ? json_loads(m->subject_json, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(subject, "collector"));
	struct finding *f = arg;
	int rc = 0;

	if (name != NULL && strlen(name) < NAME_BYTES &&
	    strcmp(m->event_type, NW_TYPE_COLLECTOR) == 0) {
		f->at = found_get(f, m->host_id, name);
		rc = f->at != NULL ? store_layouts(f->r, m->id, on_layout, f) : 0;
	}
	json_decref(subject);
	return rc;
}

int
collectors_each(struct store_reader *r, int64_t host_id, collector_fn *fn, void *arg)
{
	struct finding f = { .r = r };
	int rc = store_metas(r, 0, host_id, NW_TYPE_COLLECTOR, on_meta, &f);
	size_t i;

	for (i = 0; rc == NW_OK && i < f.n; i++) {
		f.list[i].c.name = f.list[i].name;
		if (f.list[i].c.t_wall_ns != 0 && (rc = fn(arg, &f.list[i].c)) != 0)
			break;
	}
	free(f.list);
	return rc < 0 ? rc : NW_OK;
}

enum collector_state
collector_state(int64_t last_wall_ns, int64_t started_wall_ns, int64_t now_wall_ns)
{
	if (last_wall_ns >= now_wall_ns - SILENT_NS)
		return COLLECTOR_SPEAKS;
	if (last_wall_ns < now_wall_ns - GONE_NS)
		return COLLECTOR_GONE;
	return started_wall_ns >= now_wall_ns - SILENT_NS ? COLLECTOR_AWAITED : COLLECTOR_SILENT;
}

const char *
collector_state_name(enum collector_state state)
{
	static const char *const words[] = { [COLLECTOR_SPEAKS] = "speaks",
		[COLLECTOR_AWAITED] = "awaited",
		[COLLECTOR_SILENT] = "silent",
		[COLLECTOR_GONE] = "gone" };

	return words[state];
}

/* --- as a document --- */

struct listing {
	struct store_reader *r;
	const struct hosts_now *now;
	json_t *list;
	json_t *host; /* name of the host of the present collector */
};

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct listing *l = arg;

	l->host = h->name != NULL ? json_string(h->name) : NULL;
	return 0;
}

static int
on_collector(void *arg, const struct collector *c)
{
	static const enum result_key keys[NW_COLLECTOR_FIELDS] = {
#define COLLECTOR_KEY(name, unit, kind) KEY_collector_##name,
		NW_COLLECTOR_LIST(COLLECTOR_KEY)
	};
	struct listing *l = arg;
	json_t *o = json_object();
	size_t i;

	l->host = NULL;
	(void)store_host_get(l->r, c->host_id, on_host, l);
	result_set(o, KEY_collector_host, l->host != NULL ? l->host : json_null());
	result_put_text(o, KEY_collector_name, c->name);
	result_put_text(o, KEY_collector_at, fmt_iso(c->t_wall_ns, 3).s);
	result_put_text(o, KEY_collector_state,
	    collector_state_name(
		collector_state(c->t_wall_ns, l->now->started_wall_ns, l->now->now_wall_ns)));
	for (i = 0; i < NW_COLLECTOR_FIELDS; i++)
		result_put_real(o, keys[i], c->v[i]);
	return json_array_append_new(l->list, o) == 0 ? 0 : NW_ENOMEM;
}

int
collectors_document(
    struct store_reader *r, const struct hosts_now *now, int64_t host_id, json_t **out)
{
	struct listing l = { .r = r, .now = now, .list = json_array() };
	int rc = collectors_each(r, host_id, on_collector, &l);
	json_t *doc = json_object();

	result_put_text(doc, KEY_collectors_schema, "narrows-collectors/1");
	result_set(doc, KEY_collectors_collectors, l.list);
	*out = doc;
	if (rc < 0) {
		json_decref(doc);
		*out = NULL;
	}
	return rc;
}
