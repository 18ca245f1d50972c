/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_labels.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"

static const char metric_label[] = "__name__";

/* `colon`: whether ':' may stay. */
static void
name_clean(char *text, bool colon)
{
	size_t i;

	for (i = 0; text[i] != '\0'; i++)
		if (!isalnum((unsigned char)text[i]) && !(colon && text[i] == ':'))
			text[i] = '_';
	if (isdigit((unsigned char)text[0]))
		text[0] = '_';
}

static json_t *
metric_name(const char *event_type, const char *field)
{
	size_t event_len = strlen(event_type), len = event_len + strlen(field) + 2;
	char *text = malloc(len);
	json_t *name;

	if (text == NULL)
		return NULL;
	strcpy(text, event_type);
	name_clean(text, true);
	snprintf(text + event_len, len - event_len, ":%s", field);
	name_clean(text + event_len + 1, false);
	name = json_string(text);
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

static void
put_subject(json_t *labels, const char *subject_json)
{
	json_t *subject = json_loads(subject_json, 0, NULL), *v;
	char name[PROMQL_NAME_BYTES];
	const char *key;

	json_object_foreach(subject, key, v)
	{
		if (strlen(key) >= sizeof(name) || key[0] == '\0')
			continue;
		strcpy(name, key);
		name_clean(name, false);
		/* a series may lack its own labels host and session */
		if (json_object_get(labels, name) != NULL || strcmp(name, "host") == 0 ||
		    strcmp(name, "session") == 0)
			continue;
		if (json_is_string(v))
			put(labels, name, json_string_value(v));
		else if (json_is_integer(v))
			put(labels, name, fmt_int(json_integer_value(v)).s);
		else if (json_is_real(v))
			put(labels, name, fmt_exact(json_real_value(v)).s);
		else if (json_is_boolean(v))
			put(labels, name, json_is_true(v) ? "true" : "false");
	}
	json_decref(subject);
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
	put_subject(labels, of->subject_json);
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
