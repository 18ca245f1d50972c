/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "store/ground/label.h"
#include "web/query/glob.h"

static const char metric_label[] = "__name__";
_Static_assert((int)PROMQL_NAME_BYTES == (int)LABEL_NAME_BYTES, "names fit");

char *
prom_metric_name(const char *event_type, const char *field)
{
	size_t event_len = strlen(event_type), len = event_len + strlen(field) + 2;
	char *text = malloc(len);

	if (text == NULL)
		return NULL;
	strcpy(text, event_type);
	label_clean(text, true);
	snprintf(text + event_len, len - event_len, ":%s", field);
	label_clean(text + event_len + 1, false);
	return text;
}

static json_t *
metric_name(const char *event_type, const char *field)
{
	char *text = prom_metric_name(event_type, field);
	json_t *name = text != NULL ? json_string(text) : NULL;

	free(text);
	return name;
}

/* Text that is not UTF-8 has no label. */
static void
put(json_t *labels, const char *name, const char *value)
{
	if (value[0] != '\0')
		json_object_set_new(labels, name, json_string(value));
}

static int
put_key(void *labels, const char *name, const char *value)
{
	put(labels, name, value);
	return NW_OK;
}

json_t *
prom_labels(const struct found *of, const char *field)
{
	json_t *labels = json_object();

	if (labels == NULL)
		return NULL;
	json_object_set_new(labels, metric_label, metric_name(of->event_type, field));
	put(labels, "host", of->host);
	if (of->session_id > 0)
		put(labels, "session", fmt_int(of->session_id).s);
	put(labels, "event_type", of->event_type);
	put(labels, "field", field);
	put(labels, "series_id", fmt_int(of->series_id).s);
	label_of_subject(of->subject_json, put_key, labels);
	return labels;
}

bool
prom_labels_match(const struct promql_selector *q, const json_t *labels)
{
	size_t i;

	for (i = 0; i < q->n_matchers; i++) {
		const char *v = json_string_value(json_object_get(labels, q->matchers[i].label));

		if (!promql_matches(&q->matchers[i], v != NULL ? v : ""))
			return false;
	}
	return true;
}

/* --- finding --- */

/* Makes the pattern of all names with this clean name. */
static void
pattern_of(char out[QUERY_TEXT_BYTES], const char *text, size_t len)
{
	size_t i;

	if (len >= QUERY_TEXT_BYTES)
		return;
	for (i = 0; i < len; i++)
		out[i] = text[i] == '_' ? '?' : text[i];
	out[len] = '\0';
}

/* Plain text as a pattern, unless it has bytes that mean something in patterns. */
static void
plain_of(char out[QUERY_TEXT_BYTES], const char *text)
{
	if (strlen(text) < QUERY_TEXT_BYTES && strpbrk(text, "*?[") == NULL)
		strcpy(out, text);
}

void
prom_find_query(const struct promql_selector *q, struct query *out)
{
	const char *colon, *end;
	size_t i;

	*out = (struct query){
		.what = QUERY_VALUES, .session = QUERY_ANY_SESSION, .limit = INT64_MAX
	};
	for (i = 0; i < q->n_matchers; i++) {
		const struct promql_matcher *m = &q->matchers[i];

		if (m->how != PROMQL_EQUAL || m->value[0] == '\0')
			continue;
		if (strcmp(m->label, "event_type") == 0)
			plain_of(out->event_type, m->value);
		else if (strcmp(m->label, "field") == 0)
			plain_of(out->field, m->value);
		else if (strcmp(m->label, "host") == 0)
			plain_of(out->host, m->value);
		else if (strcmp(m->label, "session") == 0 && strtoll(m->value, NULL, 10) > 0)
			out->session = strtoll(m->value, NULL, 10);
		else if (strcmp(m->label, metric_label) == 0 &&
		    (colon = strrchr(m->value, ':')) != NULL) {
			end = colon + 1;
			pattern_of(out->event_type, m->value, (size_t)(colon - m->value));
			pattern_of(out->field, end, strlen(end));
		}
	}
}

/* Event types looked at before a search; in a store with more, only labels narrow the search. */
enum { METRICS_MAX = 4096 };

struct metrics_span {
	const struct query *q;
	struct store_span span;
	size_t n;
};

static int
on_metric(void *arg, const struct nw_metric_rec *m)
{
	struct metrics_span *s = arg;

	s->n++;
	if (!glob_match(s->q->event_type, m->event_type))
		return 0;
	if (m->span.first < s->span.first)
		s->span.first = m->span.first;
	if (m->span.last > s->span.last)
		s->span.last = m->span.last;
	return 0;
}

static int
metrics_narrow(struct store_reader *r, const struct query *q, struct store_span *span)
{
	struct metrics_span s = { .q = q, .span = { INT64_MAX, 0 } };
	struct store_metric_place after = { 0 };
	int rc = store_metrics(r, &after, METRICS_MAX, on_metric, &s);

	if (rc < 0 || s.n == METRICS_MAX)
		return rc;
	if (s.span.first > span->first)
		span->first = s.span.first;
	if (s.span.last < span->last)
		span->last = s.span.last;
	return NW_OK;
}

static bool
is_counted(const char *label)
{
	return !label_is_own(label) || strcmp(label, "host") == 0 || strcmp(label, "session") == 0;
}

int
prom_narrow(struct store_reader *r, const struct promql_selector *q, struct store_span *span)
{
	struct query query;
	size_t i;
	int rc;

	prom_find_query(q, &query);
	rc = query.event_type[0] != '\0' ? metrics_narrow(r, &query, span) : NW_OK;
	for (i = 0; i < q->n_matchers && rc == NW_OK; i++) {
		const struct promql_matcher *m = &q->matchers[i];

		if (m->how == PROMQL_EQUAL && m->value[0] != '\0' && is_counted(m->label))
			rc = store_label_span(r, m->label, m->value, span);
	}
	return rc;
}

json_t *
prom_group_labels(const struct promql_stage *s, const json_t *labels)
{
	json_t *group = s->without ? json_copy((json_t *)labels) : json_object();
	size_t i;

	if (group == NULL)
		return NULL;
	if (s->without)
		json_object_del(group, metric_label);
	for (i = 0; i < s->n_labels; i++) {
		json_t *v = json_object_get(labels, s->labels[i]);

		if (s->without)
			json_object_del(group, s->labels[i]);
		else if (v != NULL)
			json_object_set(group, s->labels[i], v);
	}
	return group;
}
