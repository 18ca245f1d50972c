/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/hosts.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/web.h"
#include "web/answer/diet_list.h"

enum { LINKS_LOOKED_AT = 1000, SETTINGS_MAX = 3000 };

/* A host of the store, with texts of its own. */
struct known {
	struct nw_host_rec rec;
	size_t n[COLLECTOR_GONE + 1]; /* collectors in each state */
	int64_t last_wall_ns;
	json_t *row;
};

struct listing {
	struct store_reader *r;
	const struct hosts_now *now;
	struct known *all;
	size_t n, cap;
};

/* --- the query --- */

#define AT(member) .at = offsetof(struct hosts_query, member)

const struct param hosts_params[] = {
	{ "offset", PARAM_NUMBER, 0, INT32_MAX, AT(offset),
	    .meaning = "So many hosts of the list are left out.",
	    .form = "a number, as next_offset of the page before has it", .example = "0" },
	{ "limit", PARAM_NUMBER, 1, HOSTS_PAGE_MAX, AT(limit),
	    .meaning = "Entries of a page, 50 if missing.", .form = "1 to 1000", .example = "50" },
	{ .name = NULL },
};

const struct param settings_params[] = {
	{ "before", PARAM_NUMBER, 1, INT64_MAX, AT(before_wall_ns),
	    .meaning = "Older changes only.",
	    .form = "nanoseconds since 1970, as next_before of the page before has them",
	    .example = "1795162331250000000" },
	{ .name = NULL },
};

/* The first value of each parameter counts. */
static bool
take_all(struct hosts_query *q, const struct param *p, const struct evkeyvalq *fields)
{
	const char *text;

	for (; p->name != NULL; p++)
		if ((text = evhttp_find_header(fields, p->name)) != NULL &&
		    !param_take(p, q, text)) {
			q->bad = p;
			return false;
		}
	return true;
}

bool
hosts_query_parse(struct hosts_query *q, const char *query)
{
	struct evkeyvalq fields;
	bool ok;

	*q = (struct hosts_query){ .limit = HOSTS_PAGE, .before_wall_ns = INT64_MAX };
	if (query == NULL || *query == '\0')
		return true;
	if (evhttp_parse_query_str(query, &fields) != 0)
		return false;
	ok = take_all(q, hosts_params, &fields) && take_all(q, settings_params, &fields);
	evhttp_clear_headers(&fields);
	return ok;
}

/* --- hosts in short --- */

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct listing *l = arg;
	struct known *k;

	if (!array_room(&l->all, &l->cap, l->n + 1, sizeof(*l->all)))
		return NW_ENOMEM;
	k = &l->all[l->n];
	*k = (struct known){ .rec = *rec, .last_wall_ns = rec->last_seen_wall_ns };
	k->rec.info_json = NULL;
	if ((k->rec.name = strdup(rec->name != NULL ? rec->name : "")) == NULL)
		return NW_ENOMEM;
	l->n++;
	return 0;
}

static void
known_clear(struct known *k)
{
	free((char *)(uintptr_t)k->rec.name);
	json_decref(k->row);
}

static void
listing_clear(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		known_clear(&l->all[i]);
	free(l->all);
}

static int
on_collector(void *arg, const struct collector *c)
{
	struct listing *l = arg;
	size_t i;

	/* hosts stand in the order of their numbers */
	size_t low = 0, high = l->n;

	while (low < high) {
		i = low + (high - low) / 2;
		if (l->all[i].rec.id < c->host_id)
			low = i + 1;
		else
			high = i;
	}
	if (low == l->n || l->all[low].rec.id != c->host_id)
		return 0;
	l->all[low]
	    .n[collector_state(c->t_wall_ns, l->now->started_wall_ns, l->now->now_wall_ns)]++;
	if (c->t_wall_ns > l->all[low].last_wall_ns)
		l->all[low].last_wall_ns = c->t_wall_ns;
	return 0;
}

static const enum collector_state states_by_weight[] = { COLLECTOR_SILENT, COLLECTOR_AWAITED,
	COLLECTOR_SPEAKS, COLLECTOR_GONE };
enum { STATES = sizeof(states_by_weight) / sizeof(states_by_weight[0]) };

/* Which of the states is told of the host; STATES of a host without a collector. */
static size_t
weight_of(const struct known *k)
{
	size_t i = 0;

	while (i < STATES && k->n[states_by_weight[i]] == 0)
		i++;
	return i;
}

/* Silent hosts first, hosts of the past last, by name among themselves. */
static int
known_compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	size_t v = weight_of(x), w = weight_of(y);

	/* without a collector: between speaking hosts and hosts of the past */
	v = v == STATES ? 2 * STATES - 3 : 2 * v;
	w = w == STATES ? 2 * STATES - 3 : 2 * w;
	return v != w ? (v > w) - (v < w) : strcmp(x->rec.name, y->rec.name);
}

static int
row_make(struct listing *l, struct known *k)
{
	double offset_s = NAN, bound_s = NAN;
	size_t weight = weight_of(k);
	struct nw_host_use use;
	json_t *o = k->row = json_object();
	int rc = store_host_use(l->r, k->rec.id, LINKS_LOOKED_AT, &use);

	if (rc < 0 || (rc = host_clock_newest(l->r, &k->rec, &offset_s, &bound_s)) < 0)
		return rc;
	result_put_int(o, KEY_host_listed_id, k->rec.id);
	result_put_text(o, KEY_host_listed_name, k->rec.name);
	result_put_iso_ms(o, KEY_host_listed_first_heard, k->rec.first_seen_wall_ns);
	result_put_iso_ms(o, KEY_host_listed_last_heard,
	    use.last_wall_ns > k->last_wall_ns ? use.last_wall_ns : k->last_wall_ns);
	result_set(o, KEY_host_listed_state,
	    weight < STATES ? json_string(collector_state_name(states_by_weight[weight]))
			    : json_null());
	result_put_int(o, KEY_host_listed_collectors,
	    (k->n[COLLECTOR_SPEAKS] + k->n[COLLECTOR_AWAITED] + k->n[COLLECTOR_SILENT]));
	result_put_int(o, KEY_host_listed_collectors_silent, k->n[COLLECTOR_SILENT]);
	result_put_int(o, KEY_host_listed_connections_open, use.n_open);
	result_put_int(o, KEY_host_listed_sessions, use.n_sessions);
	result_set(o, KEY_host_listed_newest_session,
	    use.newest_session_id != 0 ? json_integer(use.newest_session_id) : json_null());
	result_put_real(o, KEY_host_listed_clock_offset_s, offset_s);
	result_put_real(o, KEY_host_listed_clock_bound_s, bound_s);
	return o != NULL ? NW_OK : NW_ENOMEM;
}

/* A connection without a host's name yet stands for a host of its own, by address. */
static bool
is_stranger(const struct known *k)
{
	uint8_t address[16];

	return (inet_pton(AF_INET, k->rec.name, address) == 1 ||
		   inet_pton(AF_INET6, k->rec.name, address) == 1) &&
	    result_number(k->row, KEY_host_listed_sessions) == 0 &&
	    !isfinite(result_number(k->row, KEY_host_listed_clock_bound_s));
}

/* Leaves out addresses of which nothing is known. */
static int
strangers_drop(struct listing *l)
{
	size_t i, n = 0;
	int rc = NW_OK;

	for (i = 0; i < l->n; i++) {
		if (rc == NW_OK && weight_of(&l->all[i]) == STATES)
			rc = row_make(l, &l->all[i]);
		if (rc == NW_OK && l->all[i].row != NULL && is_stranger(&l->all[i])) {
			known_clear(&l->all[i]);
			continue;
		}
		l->all[n++] = l->all[i];
	}
	l->n = n;
	return rc;
}

int
hosts_document(
    struct store_reader *r, const struct hosts_now *now, const struct hosts_query *q, json_t **out)
{
	struct listing l = { .r = r, .now = now };
	json_t *doc = json_object(), *rows = json_array();
	size_t i, n_silent = 0;
	int rc = store_hosts(r, on_host, &l);

	if (rc == NW_OK)
		rc = collectors_each(r, 0, on_collector, &l);
	if (rc == NW_OK)
		rc = strangers_drop(&l);
	if (rc == NW_OK && l.n > 1)
		qsort(l.all, l.n, sizeof(*l.all), known_compare);
	for (i = 0; i < l.n; i++)
		n_silent += l.all[i].n[COLLECTOR_SILENT] > 0;
	for (i = (size_t)q->offset;
	     rc == NW_OK && i < l.n && i - (size_t)q->offset < (size_t)q->limit; i++)
		if (l.all[i].row != NULL || (rc = row_make(&l, &l.all[i])) == NW_OK)
			rc = json_array_append(rows, l.all[i].row) == 0 ? NW_OK : NW_ENOMEM;
	result_put_text(doc, KEY_hosts_schema, "narrows-hosts/1");
	result_set(doc, KEY_hosts_hosts, rows);
	result_put_int(doc, KEY_hosts_n_hosts, l.n);
	result_put_int(doc, KEY_hosts_n_silent, n_silent);
	result_set(doc, KEY_hosts_next_offset, i < l.n ? json_integer((json_int_t)i) : json_null());
	listing_clear(&l);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- one host --- */

static json_t *
facts_list(const char *info_json)
{
	json_t *info = info_json != NULL ? json_loads(info_json, 0, NULL) : NULL, *value, *fact,
	       *list = json_array();
	const char *key;

	json_object_foreach(info, key, value)
	{
		if (json_is_boolean(value))
			fact = json_string(json_is_true(value) ? "yes" : "no");
		else if (json_is_string(value) || json_is_number(value))
			fact = json_incref(value);
		else
			continue;
		json_array_append_new(list, json_object());
		result_put_text(
		    json_array_get(list, json_array_size(list) - 1), KEY_host_fact_key, key);
		result_set(
		    json_array_get(list, json_array_size(list) - 1), KEY_host_fact_value, fact);
	}
	json_decref(info);
	return list;
}

struct naming {
	struct listing l;
	json_t *facts;
};

static int
on_named(void *arg, const struct nw_host_rec *rec)
{
	struct naming *n = arg;

	n->facts = facts_list(rec->info_json);
	return on_host(&n->l, rec);
}

/* The lists of the host's document, in the order of the page. */
static int
lists_read(struct store_reader *r, const struct hosts_now *now, const struct nw_host_rec *host,
    json_t *doc)
{
	static const struct {
		enum result_key key;
		int (*read)(struct store_reader *r, const struct nw_host_rec *host, json_t **out);
	} lists[] = {
		{ KEY_host_clocks, host_clock_list },
		{ KEY_host_links, host_link_list },
		{ KEY_host_latest, host_latest_list },
		{ KEY_host_kept, host_kept_list },
	};
	json_t *list;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]) && rc == NW_OK; i++)
		if ((rc = lists[i].read(r, host, &list)) == NW_OK)
			result_set(doc, lists[i].key, list);
	if (rc == NW_OK && (rc = collectors_document(r, now, host->id, &list)) == NW_OK) {
		result_set(doc, KEY_host_collectors,
		    json_incref((json_t *)(uintptr_t)result_list(list, KEY_collectors_collectors)));
		json_decref(list);
	}
	if (rc == NW_OK && (rc = diets_list(r, host->id, now->now_wall_ns, &list)) == NW_OK)
		result_set(doc, KEY_host_diets, list);
	return rc;
}

int
host_document(struct store_reader *r, const struct hosts_now *now, const char *name, json_t **out)
{
	struct naming n = { .l = { .r = r, .now = now } };
	json_t *doc = json_object();
	int rc = store_host_named(r, name, on_named, &n);

	if (rc == NW_OK && (rc = collectors_each(r, n.l.all->rec.id, on_collector, &n.l)) == NW_OK)
		rc = row_make(&n.l, n.l.all);
	result_put_text(doc, KEY_host_schema, "narrows-host/1");
	if (rc == NW_OK) {
		result_set(doc, KEY_host_summary, json_incref(n.l.all->row));
		result_set(doc, KEY_host_facts, json_incref(n.facts));
		rc = lists_read(r, now, &n.l.all->rec, doc);
	}
	json_decref(n.facts);
	listing_clear(&n.l);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- settings --- */

static int
on_setting(void *arg, const struct nw_setting_rec *s)
{
	json_t *list = arg, *o = json_object();

	result_put_text(o, KEY_setting_name, s->name);
	result_put_text(o, KEY_setting_value, s->value);
	if (json_array_append_new(list, o) != 0)
		return NW_ENOMEM;
	return json_array_size(list) >= SETTINGS_MAX;
}

static int
on_change(void *arg, const struct nw_setting_rec *s)
{
	json_t *o;

	if (s->first)
		return 0;
	o = json_object();
	result_put_text(o, KEY_setting_change_t_ns, fmt_int(s->t_wall_ns).s);
	result_put_iso_ms(o, KEY_setting_change_at, s->t_wall_ns);
	result_put_text(o, KEY_setting_change_name, s->name);
	result_put_text(o, KEY_setting_change_before, s->before);
	result_put_text(o, KEY_setting_change_value, s->value);
	return json_array_append_new(arg, o) == 0 ? 0 : NW_ENOMEM;
}

/* The newest changes of `all`, the newest first; those of one time stay together. */
static void
changes_take(const json_t *all, json_t *doc)
{
	json_t *some = json_array(), *o, *next = json_null();
	size_t i = json_array_size(all);
	int64_t t_wall_ns = 0;

	while (i-- > 0) {
		o = json_array_get(all, i);
		if (json_array_size(some) >= HOST_CHANGES_PAGE &&
		    result_ns(o, KEY_setting_change_t_ns) != t_wall_ns) {
			next = json_string(fmt_int(t_wall_ns).s);
			break;
		}
		t_wall_ns = result_ns(o, KEY_setting_change_t_ns);
		json_array_append(some, o);
	}
	result_set(doc, KEY_settings_changes, some);
	result_set(doc, KEY_settings_next_before, next);
}

int
host_settings_document(
    struct store_reader *r, const char *name, int64_t before_wall_ns, json_t **out)
{
	struct listing l = { .r = r };
	json_t *doc = json_object(), *now = json_array(), *changes = json_array();
	int rc = store_host_named(r, name, on_host, &l);

	result_put_text(doc, KEY_settings_schema, "narrows-settings/1");
	result_put_text(doc, KEY_settings_host, name);
	result_set(doc, KEY_settings_settings, now);
	if (rc == NW_OK)
		rc = store_config_at(r, l.all->rec.id, INT64_MAX, on_setting, now);
	if (rc == NW_OK)
		rc = store_config_changes(
		    r, l.all->rec.id, 0, before_wall_ns - 1, on_change, changes);
	changes_take(changes, doc);
	json_decref(changes);
	listing_clear(&l);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}
