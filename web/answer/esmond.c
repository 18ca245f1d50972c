/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/esmond.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "web/answer/esmond_in.h"
#include "web/answer/api.h"

enum { ROUTES_MAX = 2000, WORD_BYTES = 24 };
#define S_MAX INT64_C(9000000000) /* int64_t has room for the nanoseconds */
static const char ARROW[] = " -> ";

/* --- the query --- */

/* What a client asks of every address: a page, a form, and times. */
static const char *const asked_always[] = { "limit", "offset", "format", "time", "time-start",
	"time-end", "time-range" };
/* What narrows the list: esmond's properties of a metadata, also those of no metadata here. A name
 * with '-' at the end begins several properties. */
static const char *const filters[] = { "bw-buffer-size", "bw-ignore-first-seconds",
	"bw-parallel-streams", "bw-stripes", "bw-target-bandwidth", "destination", "dns-match-rule",
	"event-type", "gridftp-", "input-destination", "input-source", "ip-dscp", "ip-tos",
	"ip-transport-protocol", "measurement-agent", "metadata-key", "pscheduler-reference-",
	"pscheduler-test-type", "sample-bucket-width", "sample-size", "source", "subject-type",
	"summary-type", "summary-window", "tcp-dynamic-window-size", "tcp-max-segment-size",
	"tcp-window-size", "time-duration", "time-interval", "time-probe-interval",
	"time-probe-timeout", "time-test-timeout", "tool-name", "trace-", "uri", "url" };

static bool
is_among(const char *name, const char *const *list, size_t n)
{
	size_t i, len;

	for (i = 0; i < n; i++) {
		len = strlen(list[i]);
		if (strcmp(name, list[i]) == 0 ||
		    (list[i][len - 1] == '-' && strncmp(name, list[i], len) == 0))
			return true;
	}
	return false;
}

static bool
is_asked_always(const char *name)
{
	return is_among(name, asked_always, sizeof(asked_always) / sizeof(asked_always[0]));
}

/* A filter without effect would seem to have an effect. */
static int
names_check(const struct esmond_query *q, bool is_list)
{
	const struct evkeyval *f;

	for (f = q->fields.tqh_first; f != NULL; f = f->next.tqe_next) {
		if (is_asked_always(f->key) ||
		    (is_list && is_among(f->key, filters, sizeof(filters) / sizeof(filters[0]))))
			continue;
		snprintf(q->why, q->why_size, "%.40s: there is no such parameter", f->key);
		return NW_EINVAL;
	}
	return NW_OK;
}

static int
number_take(struct esmond_query *q, const char *name, int64_t otherwise, int64_t *out)
{
	const char *text = evhttp_find_header(&q->fields, name);
	char *end;
	double v;

	*out = otherwise;
	if (text == NULL)
		return NW_OK;
	v = strtod(text, &end);
	if (end == text || *end != '\0' || !(v >= 0 && v <= (double)S_MAX)) {
		snprintf(q->why, q->why_size, "%s: a number of at least 0", name);
		return NW_EINVAL;
	}
	*out = (int64_t)v;
	q->has_times |= strncmp(name, "time", 4) == 0;
	return NW_OK;
}

/* time-range counts back from time-end or now, and onward from time-start alone. */
static int
query_take(struct esmond_query *q)
{
	int64_t at, start, end, range, limit, offset;
	int rc;

	if ((rc = number_take(q, "time", -1, &at)) < 0 ||
	    (rc = number_take(q, "time-start", -1, &start)) < 0 ||
	    (rc = number_take(q, "time-end", -1, &end)) < 0 ||
	    (rc = number_take(q, "time-range", -1, &range)) < 0 ||
	    (rc = number_take(q, "limit", ESMOND_PAGE, &limit)) < 0 ||
	    (rc = number_take(q, "offset", 0, &offset)) < 0)
		return rc;
	q->from_s = start >= 0 ? start : 0;
	q->to_s = end >= 0 ? end : S_MAX;
	if (at >= 0)
		q->from_s = q->to_s = at;
	else if (range >= 0 && start >= 0 && end < 0)
		q->to_s = start + range < S_MAX ? start + range : S_MAX;
	else if (range >= 0 && start < 0)
		q->from_s = (end >= 0 ? end : nw_wall_ns() / ESMOND_NS) - range;
	q->limit = limit > 0 && limit < ESMOND_PAGE ? (size_t)limit : ESMOND_PAGE;
	q->offset = (size_t)offset;
	return NW_OK;
}

/* --- points of a route --- */

struct point {
	int64_t ts_s, session;
	double bits_per_s, bytes, duration_s, exit_status, effect;
	char stage[WORD_BYTES], confidence[WORD_BYTES];
};

struct points {
	struct point *list;
	size_t n, room;
	const struct esmond_query *q;
};

static int64_t
end_s(const struct nw_result_rec *res)
{
	return (res->start_wall_ns + res->duration_ns) / ESMOND_NS;
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct points *p = arg;
	struct point *to;
	void *room;

	if (res == NULL || end_s(res) < p->q->from_s || end_s(res) > p->q->to_s ||
	    s->closed_wall_ns == 0)
		return 0;
	if (p->n == p->room) {
		p->room = p->room > 0 ? 2 * p->room : 64;
		if ((room = realloc(p->list, p->room * sizeof(*p->list))) == NULL)
			return NW_ENOMEM;
		p->list = room;
	}
	to = &p->list[p->n++];
	*to = (struct point){ .ts_s = end_s(res),
		.session = s->id,
		.bits_per_s = 8 * res->bytes_per_s,
		.bytes = res->bytes,
		.duration_s = (double)res->duration_ns / 1e9,
		.exit_status = res->exit_status,
		.effect = res->effect };
	snprintf(to->stage, sizeof(to->stage), "%s", res->stage != NULL ? res->stage : "");
	snprintf(to->confidence, sizeof(to->confidence), "%s",
	    res->confidence != NULL ? res->confidence : "");
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->ts_s != y->ts_s ? (x->ts_s > y->ts_s) - (x->ts_s < y->ts_s)
				  : (x->session > y->session) - (x->session < y->session);
}

/* Every session begins before the session's end: the bound of ends holds for begins, too. */
static int
points_read(struct store_reader *r, const struct nw_route_rec *of, struct points *p)
{
	int rc = store_sessions_of_route(r, of->route, of->program, (p->q->to_s + 1) * ESMOND_NS,
	    ESMOND_POINTS_MAX, on_session, p);

	if (p->n > 0)
		qsort(p->list, p->n, sizeof(*p->list), by_time);
	return rc;
}

/* --- event types: a row each, with the value of a point; NULL: the point has none --- */

static json_t *
value_throughput(const struct point *p)
{
	return p->bits_per_s > 0 ? json_integer((json_int_t)llround(p->bits_per_s)) : NULL;
}

static json_t *
value_failures(const struct point *p)
{
	return p->exit_status > 0
	    ? json_pack("{s:o}", "error",
		  json_sprintf("session %" PRId64 ": the program ended with status %.0f",
		      p->session, p->exit_status))
	    : NULL;
}

static json_t *
real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *
value_verdict(const struct point *p)
{
	return json_pack("{s:I s:o s:o s:o s:o s:o}", "session", (json_int_t)p->session, "stage",
	    api_text_or_null(p->stage), "confidence", api_text_or_null(p->confidence), "effect",
	    real_or_null(p->effect), "bytes", real_or_null(p->bytes), "duration",
	    real_or_null(p->duration_s));
}

static const struct event_type {
	const char *name;
	json_t *(*value)(const struct point *p);
	bool has_means; /* summaries: means of an hour and of a day */
} event_types[] = {
	{ "throughput", value_throughput, true },
	{ "failures", value_failures, false },
	{ "narrows-verdict", value_verdict, false },
};
enum { EVENT_TYPES = sizeof(event_types) / sizeof(event_types[0]) };
static const int64_t windows_s[] = { 3600, 86400 };
enum { WINDOWS = sizeof(windows_s) / sizeof(windows_s[0]) };

int
esmond_point_put(json_t *list, int64_t ts_s, json_t *value)
{
	json_t *v = json_pack("{s:I s:o}", "ts", (json_int_t)ts_s, "val", value);

	return v != NULL && json_array_append_new(list, v) == 0 ? NW_OK : NW_ENOMEM;
}

/* Clients ask on from the second behind the last point: a page never ends within a second. */
static int
base_put(json_t *list, const struct points *p, const struct event_type *type)
{
	int64_t last_s = -1;
	json_t *value;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < p->n && rc == NW_OK; i++) {
		if (json_array_size(list) >= p->q->limit && p->list[i].ts_s != last_s)
			break;
		if ((value = type->value(&p->list[i])) == NULL)
			continue;
		last_s = p->list[i].ts_s;
		rc = esmond_point_put(list, last_s, value);
	}
	return rc;
}

static int
means_put(json_t *list, const struct points *p, int64_t window_s)
{
	double sum = 0;
	size_t i, n = 0;
	int rc = NW_OK;

	for (i = 0; i < p->n && rc == NW_OK; i++) {
		const int64_t at = p->list[i].ts_s / window_s;

		if (p->list[i].bits_per_s > 0) {
			sum += p->list[i].bits_per_s;
			n++;
		}
		if ((i + 1 < p->n && p->list[i + 1].ts_s / window_s == at) || n == 0)
			continue;
		if (json_array_size(list) >= p->q->limit)
			break;
		rc = esmond_point_put(list, at * window_s, json_real(sum / (double)n));
		sum = 0;
		n = 0;
	}
	return rc;
}

/* --- metadata --- */

static void
key_make(const struct nw_route_rec *rec, char key[ESMOND_KEY_BYTES])
{
	uint64_t h = fnv_byte(fnv_text(FNV_BEGIN, rec->route), '\n');

	snprintf(key, ESMOND_KEY_BYTES, "%016" PRIx64, fnv_text(h, rec->program));
}

json_t *
esmond_type_make(const char *key, const char *name, bool has_means, int64_t updated_s)
{
	json_t *summaries = json_array();
	size_t i;

	for (i = 0; has_means && i < WINDOWS; i++)
		json_array_append_new(summaries,
		    json_pack("{s:s s:s s:o s:o}", "event-type", name, "summary-type", "average",
			"summary-window", json_sprintf("%" PRId64, windows_s[i]), "uri",
			json_sprintf(
			    ESMOND_BASE "%s/%s/averages/%" PRId64, key, name, windows_s[i])));
	return json_pack("{s:s s:o s:I s:o}", "event-type", name, "base-uri",
	    json_sprintf(ESMOND_BASE "%s/%s/base", key, name), "time-updated",
	    (json_int_t)updated_s, "summaries", summaries);
}

static int
on_newest(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)s;
	*(int64_t *)arg = res != NULL ? end_s(res) : 0;
	return 0;
}

static json_t *
metadata_make(const struct nw_route_rec *rec, int64_t updated_s)
{
	const char *to = strstr(rec->route, ARROW);
	const int from_len = (int)(to - rec->route);
	char key[ESMOND_KEY_BYTES];
	json_t *types = json_array();
	size_t i;

	key_make(rec, key);
	to += strlen(ARROW);
	for (i = 0; i < EVENT_TYPES; i++)
		json_array_append_new(types,
		    esmond_type_make(
			key, event_types[i].name, event_types[i].has_means, updated_s));
	return json_pack("{s:s s:o s:s s:s# s:s s:s# s:s s:s# s:o s:o}", "metadata-key", key, "uri",
	    json_sprintf(ESMOND_BASE "%s/", key), "subject-type", "point-to-point", "source",
	    rec->route, from_len, "destination", to, "input-source", rec->route, from_len,
	    "input-destination", to, "measurement-agent", rec->route, from_len, "tool-name",
	    json_sprintf("narrows/%s", *rec->program != '\0' ? rec->program : "unknown"),
	    "event-types", types);
}

/* --- lists --- */

struct esmond_list {
	struct store_reader *r;
	const struct esmond_query *q;
	json_t *list;
	size_t n_all; /* passing ones, on all pages */
};

/* Whether an object of the list has the text under `key`. */
static bool
any_is(const json_t *list, const char *key, const char *text)
{
	bool is = false;
	const char *v;
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		v = json_string_value(json_object_get(o, key));
		is |= v != NULL && strcmp(v, text) == 0;
	}
	return is;
}

static bool
summary_is(const json_t *types, const char *key, const char *text)
{
	bool is = false;
	const json_t *type;
	size_t i;

	json_array_foreach(types, i, type)
	{
		is |= any_is(json_object_get(type, "summaries"), key, text);
	}
	return is;
}

static bool
property_passes(const json_t *doc, const char *key, const char *text)
{
	const json_t *types = json_object_get(doc, "event-types");
	const char *v;

	if (is_asked_always(key) || strcmp(key, "dns-match-rule") == 0)
		return true;
	if (strcmp(key, "event-type") == 0)
		return any_is(types, key, text);
	if (strncmp(key, "summary-", 8) == 0)
		return summary_is(types, key, text);
	v = json_string_value(json_object_get(doc, key));
	return v != NULL && strcmp(v, text) == 0;
}

static bool
metadata_passes(const json_t *doc, const struct esmond_query *q)
{
	const struct evkeyval *f;
	bool passes = true;

	for (f = q->fields.tqh_first; f != NULL && passes; f = f->next.tqe_next)
		passes = property_passes(doc, f->key, f->value);
	return passes;
}

int
esmond_list_take(struct esmond_list *l, json_t *metadata, int64_t newest_s)
{
	bool passes;

	if (metadata == NULL)
		return NW_ENOMEM;
	passes = !(l->q->has_times && newest_s < l->q->from_s) && metadata_passes(metadata, l->q);
	if (passes && l->n_all >= l->q->offset && json_array_size(l->list) < l->q->limit)
		json_array_append(l->list, metadata);
	l->n_all += passes;
	json_decref(metadata);
	return 0;
}

/* The end of the newest session decides whether a route has points behind time-start. */
static int
on_listed(void *arg, const struct nw_route_rec *rec)
{
	struct esmond_list *l = arg;
	int64_t updated_s = 0;
	int rc;

	if (strstr(rec->route, ARROW) == NULL)
		return 0;
	if ((rc = store_sessions_of_route(
		 l->r, rec->route, rec->program, INT64_MAX, 1, on_newest, &updated_s)) < 0)
		return rc;
	return esmond_list_take(l, metadata_make(rec, updated_s), updated_s);
}

/* The address of another page of the list; null: there is none. */
static json_t *
page_address(const struct esmond_query *q, bool is, size_t offset)
{
	const struct evkeyval *f;
	json_t *text, *longer;
	char *value;

	if (!is)
		return json_null();
	text = json_sprintf(ESMOND_BASE "?limit=%zu&offset=%zu", q->limit, offset);
	for (f = q->fields.tqh_first; f != NULL && text != NULL; f = f->next.tqe_next) {
		if (strcmp(f->key, "limit") == 0 || strcmp(f->key, "offset") == 0)
			continue;
		value = evhttp_uriencode(f->value, -1, 0);
		longer = value != NULL
		    ? json_sprintf("%s&%s=%s", json_string_value(text), f->key, value)
		    : NULL;
		free(value);
		json_decref(text);
		text = longer;
	}
	return text;
}

/* The first entry tells the length of the list, and the pages around. */
static int
list_answer(struct store_reader *r, const struct esmond_query *q, json_t **out)
{
	struct esmond_list l = { .r = r, .q = q, .list = json_array() };
	int rc = store_routes(r, ROUTES_MAX, on_listed, &l);
	json_t *first;
	size_t n;

	if (rc == NW_OK)
		rc = esmond_tests_list(r, &l);
	first = json_array_get(l.list, 0);
	n = json_array_size(l.list);
	if (first != NULL) {
		json_object_set_new(
		    first, "metadata-count-total", json_integer((json_int_t)l.n_all));
		json_object_set_new(first, "metadata-previous-page",
		    page_address(
			q, q->offset > 0, q->offset > q->limit ? q->offset - q->limit : 0));
		json_object_set_new(first, "metadata-next-page",
		    page_address(q, q->offset + n < l.n_all, q->offset + n));
	}
	*out = l.list;
	return rc;
}

/* --- one metadata --- */

struct found {
	struct store_reader *r;
	const char *key;
	const struct event_type *type; /* NULL: the metadata itself */
	int64_t window_s;              /* of means; 0: points; -1: the event type itself */
	const struct esmond_query *q;
	json_t *doc;
};

static int
points_answer(struct found *f, const struct nw_route_rec *rec)
{
	struct points p = { .q = f->q };
	int rc = points_read(f->r, rec, &p);

	f->doc = json_array();
	if (rc == NW_OK)
		rc = f->window_s == 0 ? base_put(f->doc, &p, f->type)
				      : means_put(f->doc, &p, f->window_s);
	free(p.list);
	return rc;
}

static int
on_sought(void *arg, const struct nw_route_rec *rec)
{
	struct found *f = arg;
	char key[ESMOND_KEY_BYTES];
	int64_t updated_s = 0;
	int rc = 0;

	if (strstr(rec->route, ARROW) == NULL)
		return 0;
	key_make(rec, key);
	if (strcmp(key, f->key) != 0)
		return 0;
	if (f->type != NULL && f->window_s >= 0)
		return (rc = points_answer(f, rec)) == NW_OK ? 1 : rc;
	rc = store_sessions_of_route(
	    f->r, rec->route, rec->program, INT64_MAX, 1, on_newest, &updated_s);
	if (rc == NW_OK)
		f->doc = f->type == NULL
		    ? metadata_make(rec, updated_s)
		    : esmond_type_make(key, f->type->name, f->type->has_means, updated_s);
	return rc == NW_OK ? 1 : rc;
}

/* Reads EVENT-TYPE, EVENT-TYPE/base and EVENT-TYPE/averages/WINDOW. */
static bool
what_take(struct found *f, const char *type, const char *what, const char *window)
{
	size_t i;

	for (i = 0; i < EVENT_TYPES && strcmp(type, event_types[i].name) != 0; i++)
		;
	if (i == EVENT_TYPES)
		return false;
	f->type = &event_types[i];
	f->window_s = *what == '\0' ? -1 : 0;
	if (*what == '\0' || strcmp(what, "base") == 0)
		return *window == '\0';
	if (strcmp(what, "averages") != 0 || !f->type->has_means)
		return false;
	for (i = 0; i < WINDOWS; i++)
		if (strtoll(window, NULL, 10) == windows_s[i])
			f->window_s = windows_s[i];
	return f->window_s > 0;
}

static int
one_answer(struct store_reader *r, const char *path, const struct esmond_query *q, json_t **out)
{
	struct found f = { .r = r, .q = q };
	char part[4][64] = { { 0 } };
	size_t i, len;
	int rc;

	for (i = 0; i < 4 && *path != '\0'; i++, path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 0 || len >= sizeof(part[i]))
			return NW_ENOTFOUND;
		memcpy(part[i], path, len);
	}
	f.key = part[0];
	if (*path != '\0')
		return NW_ENOTFOUND;
	if (i < 4 && (rc = esmond_tests_one(r, part[0], part[1], part[2], q, out)) != NW_ENOTFOUND)
		return rc;
	if (i > 1 && !what_take(&f, part[1], part[2], part[3]))
		return NW_ENOTFOUND;
	rc = store_routes(r, ROUTES_MAX, on_sought, &f);
	*out = f.doc;
	return rc == NW_OK && f.doc == NULL ? NW_ENOTFOUND : rc;
}

int
esmond_document(struct store_reader *r, const char *path, const char *query, char *why,
    size_t why_size, json_t **out)
{
	struct esmond_query q = { .why = why, .why_size = why_size };
	int rc;

	*out = NULL;
	snprintf(why, why_size, "The query cannot be read.");
	if (evhttp_parse_query_str(query != NULL ? query : "", &q.fields) != 0)
		return NW_EINVAL;
	if ((rc = names_check(&q, *path == '\0')) == NW_OK)
		rc = query_take(&q);
	if (rc == NW_OK)
		rc = *path == '\0' ? list_answer(r, &q, out) : one_answer(r, path, &q, out);
	evhttp_clear_headers(&q.fields);
	if (rc < 0) {
		json_decref(*out);
		*out = NULL;
	}
	return rc;
}
