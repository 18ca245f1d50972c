/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/field.h"
#include "narrows/format.h"
#include "web/query/glob.h"

/* ids of the store looked at per call; descriptions held */
enum { SCAN_IDS = 4096, WINDOW = 256 };

struct find_host {
	int64_t id;
	char *name;
};

struct find {
	struct store_reader *reader;
	const struct query *q;
	char prefix[QUERY_TEXT_BYTES]; /* start of the event type without wildcards */
	char key[QUERY_TEXT_BYTES];    /* of the subject, "" for all subjects */
	const char *key_pattern;
	struct find_host *hosts;
	size_t n_hosts, cap_hosts;
	struct found window[WINDOW];
	size_t n, next;
	size_t known;     /* of the window, from its begin: their layouts are loaded */
	size_t n_windows; /* loaded so far */
	int64_t after, last, n_found;
	bool full; /* the window became full before the part was looked at */
	bool limited;
};

/* --- matching --- */

static const char *
host_name(const struct find *f, int64_t id)
{
	size_t low = 0, high = f->n_hosts, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (f->hosts[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->n_hosts && f->hosts[low].id == id ? f->hosts[low].name : "";
}

static bool
matches(const char *pattern, const char *text)
{
	return *pattern == '\0' || glob_match(pattern, text);
}

static bool
subject_matches(const struct find *f, const char *subject_json)
{
	json_t *subject, *v;
	const char *text = NULL;
	bool match;

	if (f->key[0] == '\0')
		return true;
	subject = json_loads(subject_json, 0, NULL);
	v = json_object_get(subject, f->key);
	if (json_is_string(v))
		text = json_string_value(v);
	match = text != NULL     ? glob_match(f->key_pattern, text)
	    : json_is_integer(v) ? glob_match(f->key_pattern, fmt_int(json_integer_value(v)).s)
	    : json_is_real(v)    ? glob_match(f->key_pattern, fmt_exact(json_real_value(v)).s)
				 : false;
	json_decref(subject);
	return match;
}

static bool
session_matches(const struct find *f, int64_t session_id)
{
	return f->q->session == QUERY_ANY_SESSION || f->q->session == session_id;
}

/* --- descriptions --- */

static void
found_clear(struct found *m)
{
	size_t i, k;

	for (i = 0; i < m->n_layouts; i++) {
		for (k = 0; k < m->layouts[i].n_fields; k++) {
			free(m->layouts[i].fields[k]);
			free(m->layouts[i].units[k]);
		}
		free(m->layouts[i].fields);
		free(m->layouts[i].units);
		free(m->layouts[i].columns);
	}
	free(m->layouts);
	free(m->event_type);
	free(m->subject_json);
	free(m->params_json);
	*m = (struct found){ 0 };
}

static char *
dup_or_empty(const char *text)
{
	return strdup(text != NULL ? text : "");
}

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct find *f = arg;
	const char *host = host_name(f, rec->host_id);
	struct found *m = &f->window[f->n];

	if (rec->id <= f->after || rec->id > f->last || !session_matches(f, rec->session_id) ||
	    !matches(f->q->event_type, rec->event_type != NULL ? rec->event_type : "") ||
	    !matches(f->q->host, host) ||
	    !subject_matches(f, rec->subject_json != NULL ? rec->subject_json : "{}"))
		return 0;
	if (f->n == WINDOW) {
		f->full = true;
		return 1;
	}
	*m = (struct found){ .series_id = rec->id,
		.session_id = rec->session_id,
		.host = host,
		.event_type = dup_or_empty(rec->event_type),
		.subject_json = dup_or_empty(rec->subject_json),
		.params_json = dup_or_empty(rec->params_json) };
	f->n++;
	return m->event_type != NULL && m->subject_json != NULL && m->params_json != NULL
	    ? 0
	    : NW_ENOMEM;
}

struct layouts {
	const struct find *f;
	struct found *m;
	json_t *params;
	struct nw_field_units units; /* of the metadata's event type */
};

static void
layouts_begin(struct layouts *l)
{
	l->params = json_loads(l->m->params_json, JSON_REJECT_DUPLICATES, NULL);
	nw_field_units(&l->units, l->m->event_type);
}

/* As the column unit of v_series: the sender's word, else the table's. */
static const char *
unit_of(const struct layouts *l, const char *field)
{
	char key[QUERY_TEXT_BYTES];
	const char *unit;

	snprintf(key, sizeof(key), "unit_%s", field);
	if ((unit = json_string_value(json_object_get(l->params, key))) != NULL ||
	    (unit = json_string_value(json_object_get(l->params, "unit"))) != NULL)
		return unit;
	unit = nw_field_unit(&l->units, field);
	return unit != NULL ? unit : "";
}

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct layouts *l = arg;
	struct found_layout *grown, *one;
	size_t k;

	grown = reallocarray(l->m->layouts, l->m->n_layouts + 1, sizeof(*grown));
	if (grown == NULL)
		return NW_ENOMEM;
	l->m->layouts = grown;
	one = &grown[l->m->n_layouts++];
	*one = (struct found_layout){ .id = rec->id,
		.columns = calloc(rec->n_fields + 1, sizeof(*one->columns)),
		.fields = calloc(rec->n_fields + 1, sizeof(*one->fields)),
		.units = calloc(rec->n_fields + 1, sizeof(*one->units)) };
	if (one->columns == NULL || one->fields == NULL || one->units == NULL)
		return NW_ENOMEM;
	for (k = 0; k < rec->n_fields; k++) {
		if (!matches(l->f->q->field, rec->fields[k]))
			continue;
		one->fields[one->n_fields] = strdup(rec->fields[k]);
		one->units[one->n_fields] = strdup(unit_of(l, rec->fields[k]));
		one->columns[one->n_fields++] = (uint32_t)k;
		if (one->fields[one->n_fields - 1] == NULL || one->units[one->n_fields - 1] == NULL)
			return NW_ENOMEM;
	}
	if (one->n_fields == 0) {
		free(one->columns);
		free(one->fields);
		free(one->units);
		l->m->n_layouts--;
	}
	return 0;
}

/* --- the search --- */

static int
on_host(void *arg, const struct nw_host_rec *host)
{
	struct find *f = arg;

	if (!array_room(&f->hosts, &f->cap_hosts, f->n_hosts + 1, sizeof(*f->hosts)))
		return NW_ENOMEM;
	f->hosts[f->n_hosts] = (struct find_host){ host->id, dup_or_empty(host->name) };
	return f->hosts[f->n_hosts++].name != NULL ? 0 : NW_ENOMEM;
}

void
find_between(struct find *f, const struct store_span *span)
{
	if (f->after < span->first - 1)
		f->after = span->first - 1;
	if (f->last > span->last)
		f->last = span->last;
}

int
find_new(struct store_reader *r, const struct query *q, struct find **out)
{
	struct find *f = calloc(1, sizeof(*f));
	const char *is = strchr(q->subject, '=');
	int rc;

	if (f == NULL)
		return NW_ENOMEM;
	f->reader = r;
	f->q = q;
	f->after = q->after;
	memcpy(f->prefix, q->event_type, glob_prefix(q->event_type));
	if (is != NULL) {
		memcpy(f->key, q->subject, (size_t)(is - q->subject));
		f->key_pattern = is + 1;
	}
	if ((rc = store_hosts(r, on_host, f)) < 0 || (rc = store_meta_last(r, &f->last)) < 0) {
		find_free(f);
		return rc;
	}
	if (q->series_id != 0)
		find_between(f, &(struct store_span){ q->series_id, q->series_id });
	*out = f;
	return NW_OK;
}

static void
window_clear(struct find *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		found_clear(&f->window[i]);
	f->n = f->next = f->known = 0;
}

void
find_free(struct find *f)
{
	size_t i;

	if (f == NULL)
		return;
	window_clear(f);
	for (i = 0; i < f->n_hosts; i++)
		free(f->hosts[i].name);
	free(f->hosts);
	free(f);
}

/* The next part of the store into the window. A session's metadata are few and have an index. */
static int
window_load(struct find *f)
{
	int64_t to = f->last - f->after > SCAN_IDS ? f->after + SCAN_IDS : f->last;
	int rc;

	window_clear(f);
	f->n_windows++;
	f->full = false;
	if (f->q->session > 0) {
		rc = store_metas(f->reader, f->q->session, 0, f->prefix, on_meta, f);
		to = f->last;
	} else
		rc = store_metas_between(f->reader, f->after, to, f->prefix, on_meta, f);
	f->after = f->full ? f->window[WINDOW - 1].series_id : to;
	return rc;
}

static int
found_load(struct find *f, struct found *m)
{
	struct layouts l = { .f = f, .m = m };
	int rc;

	layouts_begin(&l);
	rc = store_layouts(f->reader, m->series_id, on_layout, &l);
	json_decref(l.params);
	return rc;
}

bool
find_again(struct find *f)
{
	if (f->n_windows > 1)
		return false;
	f->next = 0;
	f->n_found = 0;
	f->limited = false;
	return true;
}

int
find_next(struct find *f, const struct found **out)
{
	struct found *m;
	int rc;

	if (f->n_found == f->q->limit) {
		f->limited = true;
		return FIND_END;
	}
	if (f->next == f->n) {
		if (f->after >= f->last)
			return FIND_END;
		if ((rc = window_load(f)) < 0)
			return rc;
	}
	while (f->next < f->n) {
		m = &f->window[f->next++];
		if (f->next > f->known) {
			if ((rc = found_load(f, m)) < 0)
				return rc;
			f->known = f->next;
		}
		if (m->n_layouts == 0)
			continue;
		f->n_found++;
		*out = m;
		return FIND_ONE;
	}
	return FIND_NONE_YET;
}

double
find_cost(const struct find *f)
{
	return f->last > f->after && f->q->session <= 0 ? (double)(f->last - f->after) : 0;
}

int64_t
find_rest(const struct find *f)
{
	return f->limited && f->next > 0 ? f->window[f->next - 1].series_id : 0;
}
