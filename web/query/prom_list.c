/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "web/query/find.h"
#include "web/query/prom_labels.h"

enum { SLICE_METAS = 64, VALUES_MAX = 50000 };

struct list {
	enum prom_list what;
	char label[PROMQL_NAME_BYTES];
	struct promql_selector selectors[PROM_SELECTORS];
	size_t n_selectors;
	struct query query;
	struct find *find;
	json_t *seen; /* labels or values so far */
	size_t n_written;
	bool begun;
	FILE *out;
};

static bool
is_chosen(const struct list *l, const json_t *labels)
{
	size_t i;

	for (i = 0; i < l->n_selectors; i++)
		if (prom_labels_match(&l->selectors[i], labels))
			return true;
	return l->n_selectors == 0;
}

static int
see(struct list *l, const char *text)
{
	if (json_object_size(l->seen) >= VALUES_MAX)
		return NW_OK;
	return json_object_set_new(l->seen, text, json_true()) == 0 ? NW_OK : NW_ENOMEM;
}

static int
series_take(struct list *l, json_t *labels)
{
	const char *key, *value;
	json_t *v;
	int rc;

	switch (l->what) {
	case PROM_LIST_SERIES:
		fputs(l->n_written++ > 0 ? ",\n" : "\n", l->out);
		json_dumpf(labels, l->out, JSON_COMPACT);
		return NW_OK;
	case PROM_LIST_LABELS:
		json_object_foreach(labels, key, v) if ((rc = see(l, key)) < 0) return rc;
		return NW_OK;
	case PROM_LIST_VALUES:
		value = json_string_value(json_object_get(labels, l->label));
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
	json_t *v, *text;

	if (texts == NULL)
		return NW_ENOMEM;
	json_object_foreach(l->seen, key, v) texts[n++] = key;
	qsort(texts, n, sizeof(*texts), by_text);
	for (i = 0; i < n; i++) {
		text = json_string(texts[i]);
		fputs(i > 0 ? "," : "", l->out);
		json_dumpf(text, l->out, JSON_ENCODE_ANY);
		json_decref(text);
	}
	free(texts);
	return NW_OK;
}

static int
slice(struct list *l, bool *done)
{
	const struct found *m;
	size_t n;
	int state, rc = NW_OK;

	if (!l->begun) {
		l->begun = true;
		fputs("{\"status\":\"success\",\"data\":[", l->out);
	}
	for (n = 0; n < SLICE_METAS && rc == NW_OK; n++) {
		if ((state = find_next(l->find, &m)) < 0)
			return state;
		if (state == FIND_NONE_YET)
			return NW_OK;
		if (state == FIND_END) {
			*done = true;
			rc = seen_write(l);
			fputs("]}\n", l->out);
			return rc;
		}
		rc = metadata_take(l, m);
	}
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

int
prom_list_stream(struct store_reader *r, enum prom_list what, const char *label,
    const struct promql_selector selectors[], size_t n, struct stream *out)
{
	struct list *l = calloc(1, sizeof(*l));
	int rc = NW_ENOMEM;

	if (l == NULL)
		return NW_ENOMEM;
	l->what = what;
	snprintf(l->label, sizeof(l->label), "%s", label);
	memcpy(l->selectors, selectors, n * sizeof(*selectors));
	l->n_selectors = n;
	if (n == 1)
		prom_find_query(&l->selectors[0], &l->query);
	else
		prom_find_query(&(struct promql_selector){ .n_matchers = 0 }, &l->query);
	if ((l->seen = json_object()) == NULL || (rc = find_new(r, &l->query, &l->find)) < 0) {
		list_free(l);
		return rc;
	}
	*out = (struct stream){ .next = list_next, .free = list_free, .state = l };
	return NW_OK;
}
