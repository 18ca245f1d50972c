/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without a selector, labels and values come from the tables in which the store counts them. With
 * selectors the list looks at the metadata between the first and the last that can match.
 */
#include "web/query/prom_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "store/ground/label.h"
#include "web/query/find.h"
#include "web/query/prom_labels.h"

enum { SLICE_METAS = 64, SLICE_METRICS = 512, VALUES_MAX = 50000 };

struct list {
	struct prom_list_ask ask;
	struct store_reader *reader;
	struct query query;
	struct find *find;               /* NULL: the list is from the tables */
	struct store_metric_place place; /* in the table of metrics */
	json_t *seen;                    /* labels or values so far */
	size_t n_written;
	bool begun, cut;
	FILE *out;
};

/* How many labels or values the list has at most. */
static size_t
most(const struct list *l)
{
	return l->ask.limit > 0 && l->ask.limit < VALUES_MAX ? l->ask.limit : VALUES_MAX;
}

/* Whether the list is whole but for what follows, which is left out. */
static bool
is_full(struct list *l, size_t max)
{
	l->cut = l->cut || l->n_written >= max;
	return l->n_written >= max;
}

static void
put_text(struct list *l, const char *text)
{
	const char *p = text;
	json_t *v;

	fputs(l->n_written++ > 0 ? "," : "", l->out);
	while (*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
		p++;
	if (*p == '\0') { /* as most are: nothing to escape */
		fprintf(l->out, "\"%s\"", text);
		return;
	}
	v = json_string(text);
	json_dumpf(v, l->out, JSON_ENCODE_ANY);
	json_decref(v);
}

static int
see(struct list *l, const char *text)
{
	if (json_object_get(l->seen, text) != NULL)
		return NW_OK;
	if (json_object_size(l->seen) >= VALUES_MAX) {
		l->cut = true;
		return NW_OK;
	}
	return json_object_set_new(l->seen, text, json_true()) == 0 ? NW_OK : NW_ENOMEM;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Labels and values in the order of their bytes. */
static int
seen_write(struct list *l)
{
	size_t n = 0, i;
	const char **texts = calloc(json_object_size(l->seen) + 1, sizeof(*texts)), *key;
	json_t *v;

	if (texts == NULL)
		return NW_ENOMEM;
	json_object_foreach(l->seen, key, v) texts[n++] = key;
	qsort(texts, n, sizeof(*texts), by_text);
	for (i = 0; i < n && !is_full(l, most(l)); i++)
		put_text(l, texts[i]);
	free(texts);
	return NW_OK;
}

/* --- from the tables --- */

static int
on_value(void *arg, const char *text)
{
	struct list *l = arg;

	if (is_full(l, most(l)))
		return 1;
	put_text(l, text);
	return 0;
}

static int
on_seen(void *arg, const char *text)
{
	return see(arg, text);
}

/* Text that is not UTF-8 is no label. */
static bool
is_label(const char *event_type)
{
	json_t *text = event_type[0] != '\0' ? json_string(event_type) : NULL;
	bool is = text != NULL;

	json_decref(text);
	return is;
}

/* Every series has these labels, and the label of the event type, if known. */
static int
labels_see(struct list *l, const char *event_type)
{
	static const char *const all[] = { "__name__", "field", "series_id", "event_type" };
	size_t i, n = sizeof(all) / sizeof(all[0]) - !is_label(event_type);
	int rc = NW_OK;

	for (i = 0; i < n && rc == NW_OK; i++)
		rc = see(l, all[i]);
	return rc < 0 ? rc : i == sizeof(all) / sizeof(all[0]);
}

static int
name_see(struct list *l, const char *event_type, const char *field)
{
	char *name = prom_metric_name(event_type, field);
	int rc = name != NULL ? see(l, name) : NW_ENOMEM;

	free(name);
	return rc;
}

static int
fields_see(struct list *l, const struct nw_metric_rec *m)
{
	json_t *fields = json_loads(m->fields_json, 0, NULL), *v;
	const char *field;
	size_t i;
	int rc = NW_OK;

	json_array_foreach(fields, i, v)
	{
		if (rc < 0 || (field = json_string_value(v)) == NULL)
			continue;
		if (strcmp(l->ask.label, "field") != 0)
			rc = name_see(l, m->event_type, field);
		else if (field[0] != '\0')
			rc = see(l, field);
	}
	json_decref(fields);
	return rc;
}

static int
on_metric(void *arg, const struct nw_metric_rec *m)
{
	struct list *l = arg;

	if (l->ask.what == PROM_LIST_LABELS)
		return labels_see(l, m->event_type);
	if (strcmp(l->ask.label, "event_type") == 0)
		return is_label(m->event_type) ? see(l, m->event_type) : NW_OK;
	return fields_see(l, m);
}

/* A part of the table of metrics into l->seen. */
static int
metrics_slice(struct list *l, bool *done)
{
	struct store_metric_place before = l->place;
	int rc = store_metrics(l->reader, &l->place, SLICE_METRICS, on_metric, l);

	*done = l->place.rowid == before.rowid ||
	    (l->ask.what == PROM_LIST_LABELS && json_object_get(l->seen, "event_type") != NULL);
	return rc;
}

static bool
is_of_metrics(const struct list *l)
{
	return l->ask.what == PROM_LIST_LABELS || strcmp(l->ask.label, "__name__") == 0 ||
	    strcmp(l->ask.label, "field") == 0 || strcmp(l->ask.label, "event_type") == 0;
}

static int
table_slice(struct list *l, bool *done)
{
	int rc;

	*done = true;
	if (!is_of_metrics(l) && strcmp(l->ask.label, "series_id") != 0)
		return store_label_values(l->reader, l->ask.label, most(l) + 1, on_value, l);
	if (!is_of_metrics(l))
		rc = store_series_ids(l->reader, VALUES_MAX + 1, on_seen, l);
	else if ((rc = metrics_slice(l, done)) == NW_OK && *done && l->ask.what == PROM_LIST_LABELS)
		rc = store_label_names(l->reader, VALUES_MAX + 1, on_seen, l);
	return rc == NW_OK && *done ? seen_write(l) : rc;
}

/* --- from the series that selectors choose --- */

static bool
is_chosen(const struct list *l, const json_t *labels)
{
	size_t i;

	for (i = 0; i < l->ask.n_selectors; i++)
		if (prom_labels_match(&l->ask.selectors[i], labels))
			return true;
	return l->ask.n_selectors == 0;
}

static int
series_take(struct list *l, json_t *labels)
{
	const char *key, *value;
	json_t *v;
	int rc;

	switch (l->ask.what) {
	case PROM_LIST_SERIES:
		if (l->ask.limit > 0 && is_full(l, l->ask.limit))
			return NW_OK;
		fputs(l->n_written++ > 0 ? ",\n" : "\n", l->out);
		json_dumpf(labels, l->out, JSON_COMPACT);
		return NW_OK;
	case PROM_LIST_LABELS:
		json_object_foreach(labels, key, v) if ((rc = see(l, key)) < 0) return rc;
		return NW_OK;
	case PROM_LIST_VALUES:
		value = json_string_value(json_object_get(labels, l->ask.label));
		return value != NULL ? see(l, value) : NW_OK;
	}
	return NW_OK;
}

static bool
is_repeated(const struct found *m, size_t layout, const char *field)
{
	size_t i, k;

	for (i = 0; i < layout; i++)
		for (k = 0; k < m->layouts[i].n_fields; k++)
			if (strcmp(m->layouts[i].fields[k], field) == 0)
				return true;
	return false;
}

static int
metadata_take(struct list *l, const struct found *m)
{
	size_t i, k;
	json_t *labels;
	int rc = NW_OK;

	for (i = 0; i < m->n_layouts; i++)
		for (k = 0; k < m->layouts[i].n_fields && rc == NW_OK; k++) {
			if (is_repeated(m, i, m->layouts[i].fields[k]))
				continue;
			if ((labels = prom_labels(m, m->layouts[i].fields[k])) == NULL)
				return NW_ENOMEM;
			if (is_chosen(l, labels))
				rc = series_take(l, labels);
			json_decref(labels);
		}
	return rc;
}

static int
find_slice(struct list *l, bool *done)
{
	const struct found *m;
	size_t n;
	int state, rc = NW_OK;

	for (n = 0; n < SLICE_METAS && rc == NW_OK && !*done; n++) {
		if ((state = find_next(l->find, &m)) < 0)
			return state;
		if (state == FIND_NONE_YET)
			return NW_OK;
		if (state == FIND_ONE)
			rc = metadata_take(l, m);
		*done = state == FIND_END || (l->ask.what == PROM_LIST_SERIES && l->cut);
	}
	return rc == NW_OK && *done ? seen_write(l) : rc;
}

static int
slice(struct list *l, bool *done)
{
	int rc;

	if (!l->begun)
		fputs("{\"status\":\"success\",\"data\":[", l->out);
	l->begun = true;
	rc = l->find != NULL ? find_slice(l, done) : table_slice(l, done);
	if (rc == NW_OK && *done)
		fputs(l->cut ? "],\"warnings\":[\"results truncated due to limit\"]}\n" : "]}\n",
		    l->out);
	return rc;
}

static int
list_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct list *l = state;
	char *text = NULL;
	size_t len;
	int rc;

	*done = false;
	if ((l->out = open_memstream(&text, &len)) == NULL)
		return NW_ENOMEM;
	rc = slice(l, done);
	if (fclose(l->out) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK && len > 0)
		rc = write(arg, text, len);
	free(text);
	return rc;
}

static void
list_free(void *state)
{
	struct list *l = state;

	find_free(l->find);
	json_decref(l->seen);
	free(l);
}

/* Begins the search among the metadata that one of the selectors can match. */
static int
find_begin(struct list *l)
{
	struct store_span all = { INT64_MAX, 0 };
	size_t i;
	int rc;

	prom_find_query(l->ask.n_selectors == 1 ? &l->ask.selectors[0]
						: &(struct promql_selector){ .n_matchers = 0 },
	    &l->query);
	if ((rc = find_new(l->reader, &l->query, &l->find)) < 0)
		return rc;
	for (i = 0; i < l->ask.n_selectors; i++) {
		struct store_span one = { 0, INT64_MAX };

		if ((rc = prom_narrow(l->reader, &l->ask.selectors[i], &one)) < 0)
			return rc;
		if (one.first < all.first)
			all.first = one.first;
		if (one.last > all.last)
			all.last = one.last;
	}
	find_between(l->find, &all);
	return NW_OK;
}

int
prom_list_stream(struct store_reader *r, const struct prom_list_ask *ask, struct stream *out)
{
	struct list *l = calloc(1, sizeof(*l));
	int rc = NW_ENOMEM;

	if (l == NULL)
		return NW_ENOMEM;
	l->ask = *ask;
	l->reader = r;
	if ((l->seen = json_object()) == NULL ||
	    (ask->n_selectors > 0 && (rc = find_begin(l)) < 0)) {
		list_free(l);
		return rc;
	}
	*out = (struct stream){ .next = list_next, .free = list_free, .state = l };
	return NW_OK;
}
