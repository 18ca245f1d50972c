/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/export/bson_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#define SECOND_NS INT64_C(1000000000)

/* --- metadata --- */

static const struct keys {
	const char *id, *pid, *event_type, *params;
} keys[] = {
	[DOCUMENT_G1] = { "_id", "_pid", "event_type", "params" },
	[DOCUMENT_G2] = { "id", "pid", "event_type", "params" },
	[DOCUMENT_G3] = { "id", "pid", "eventType", "parameters" },
};

static bool
has(const bson_t *doc, const char *key)
{
	return bson_has_field(doc, key);
}

unsigned
document_generation(const bson_t *sent)
{
	bool typed = has(sent, "eventType") || has(sent, "event_type") || has(sent, "type");

	if (typed && (has(sent, "$schema") || has(sent, "selfRef")))
		return DOCUMENT_G3;
	if (has(sent, "_id") && !has(sent, "id"))
		return DOCUMENT_G1;
	return has(sent, "eventType") ? DOCUMENT_G3 : DOCUMENT_G2;
}

static void object_append(bson_t *out, const json_t *object, const bson_t *sent);

static void
json_append(bson_t *out, const char *key, const json_t *v)
{
	json_int_t i = json_integer_value(v);
	bson_t child;
	char index[24];
	size_t k;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		bson_append_document_begin(out, key, -1, &child);
		object_append(&child, v, NULL);
		bson_append_document_end(out, &child);
		break;
	case JSON_ARRAY:
		bson_append_array_begin(out, key, -1, &child);
		for (k = 0; k < json_array_size(v); k++) {
			snprintf(index, sizeof(index), "%zu", k);
			json_append(&child, index, json_array_get(v, k));
		}
		bson_append_array_end(out, &child);
		break;
	case JSON_INTEGER:
		if (i >= INT32_MIN && i <= INT32_MAX)
			bson_append_int32(out, key, -1, (int32_t)i);
		else
			bson_append_int64(out, key, -1, i);
		break;
	case JSON_STRING: bson_append_utf8(out, key, -1, json_string_value(v), -1); break;
	case JSON_REAL: bson_append_double(out, key, -1, json_real_value(v)); break;
	case JSON_TRUE:
	case JSON_FALSE: bson_append_bool(out, key, -1, json_is_true(v)); break;
	case JSON_NULL: bson_append_null(out, key, -1); break;
	}
}

/* `sent` has types without a difference in JSON. */
static void
object_append(bson_t *out, const json_t *object, const bson_t *sent)
{
	bson_iter_t at;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key, v) if (sent != NULL &&
	    bson_iter_init_find(&at, sent, key)) bson_append_iter(out, key, -1, &at);
	else json_append(out, key, v);
}

/* The document or array sent under the first of the names. */
static bool
part_find(const bson_t *sent, const char *const *names, bson_t *part)
{
	const uint8_t *data;
	bson_iter_t at;
	uint32_t len;
	size_t i;

	if (sent == NULL || !bson_iter_init(&at, sent))
		return false;
	while (bson_iter_next(&at))
		for (i = 0; names[i] != NULL; i++) {
			if (strcmp(bson_iter_key(&at), names[i]) != 0)
				continue;
			if (BSON_ITER_HOLDS_DOCUMENT(&at))
				bson_iter_document(&at, &len, &data);
			else if (BSON_ITER_HOLDS_ARRAY(
				     &at)) /* some senders declared an array and named the keys */
				bson_iter_array(&at, &len, &data);
			else
				return false;
			return bson_init_static(part, data, len);
		}
	return false;
}

/* The record may hold more than was sent: inherited parameters. */
static void
part_append(
    bson_t *out, const char *key, const bson_t *sent, const char *const *names, const char *json)
{
	json_t *object = json_loads(json, 0, NULL);
	bson_t part, child;
	bool found = part_find(sent, names, &part);

	bson_append_document_begin(out, key, -1, &child);
	object_append(&child, object, found ? &part : NULL);
	bson_append_document_end(out, &child);
	json_decref(object);
}

/* "text", or "text:field" of a field alone. */
static void
text_append(bson_t *out, const char *key, const char *text, const char *field)
{
	char *whole = bson_strdup_printf(
	    "%s%s%s", text, field != NULL ? ":" : "", field != NULL ? field : "");

	bson_append_utf8(out, key, -1, whole, -1);
	bson_free(whole);
}

void
document_meta(bson_t *out, unsigned generation, const struct walk_meta *m, const bson_t *sent,
    const char *field)
{
	static const char *const subject[] = { "subject", NULL },
				 *const params[] = { "parameters", "params", "param", NULL };
	const struct keys *k = &keys[generation];

	text_append(out, k->id, m->mid, field);
	if (field != NULL || m->pid[0] != '\0')
		bson_append_utf8(out, k->pid, -1, field != NULL ? m->mid : m->pid, -1);
	text_append(out, k->event_type, m->event_type, field);
	part_append(out, "subject", sent, subject, m->subject_json);
	part_append(out, k->params, sent, params, m->params_json);
}

/* --- data --- */

/* Dividing in a single step would round twice. */
static double
seconds(int64_t t_wall_ns)
{
	return (double)(t_wall_ns / SECOND_NS) + (double)(t_wall_ns % SECOND_NS) / 1e9;
}

bool
document_time_fits(int64_t t_wall_ns)
{
	return t_wall_ns % 1000 == 0;
}

static void
time_append(bson_t *out, int64_t t_wall_ns)
{
	bson_append_double(out, "ts", 2, seconds(t_wall_ns));
	if (!document_time_fits(t_wall_ns))
		bson_append_int64(out, "ts_ns", 5, t_wall_ns);
}

/*
 * A missing value is written as NaN, as original clients write missing values: so a reader learns
 * all fields of a series, and their order, from the first row. count is always an integer.
 */
static void
field_append(bson_t *out, const char *name, double value)
{
	if (strcmp(name, "count") == 0 && value == floor(value) && fabs(value) <= INT32_MAX)
		bson_append_int32(out, name, -1, (int32_t)value);
	else
		bson_append_double(out, name, -1, value);
}

static void
hist_append(bson_t *out, const struct merge_row *r)
{
	if (r->hist != NULL)
		bson_append_binary(
		    out, "h_dur", 5, BSON_SUBTYPE_BINARY, r->hist, (uint32_t)r->hist_len);
}

/* sum_v is sum.v in generation 1. */
static const char *
dotted(const char *name, char buf[8])
{
	static const char *const statistics[] = { "sum_", "min_", "max_", "mean_", "sd_" };
	size_t i, n;

	for (i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++) {
		n = strlen(statistics[i]);
		if (strncmp(name, statistics[i], n) == 0 && name[n] != '\0' &&
		    strchr("vrgd", name[n]) != NULL && name[n + 1] == '\0') {
			strcpy(buf, name);
			buf[n - 1] = '.';
			return buf;
		}
	}
	return name;
}

/*
 * The number of the sample at a time, if a reader computes the same time from the number, else -1.
 */
static int32_t
sample_number(const struct document_series *s, int64_t t_wall_ns)
{
	double n = round((seconds(t_wall_ns) - s->ts_s) / s->dt_s), t_s = s->ts_s + n * s->dt_s;

	return n >= 0 && n <= INT32_MAX && t_s >= 0 && t_s < 9e9 &&
		(int64_t)(t_s * 1e9) == t_wall_ns
	    ? (int32_t)n
	    : -1;
}

void
document_row_g1(bson_t *out, const struct document_series *s, const struct merge_row *r)
{
	int32_t sample = sample_number(s, r->t_wall_ns);
	bson_t values;
	char buf[8];
	size_t k;

	bson_append_utf8(out, "_mid", 4, s->mid, -1);
	bson_append_utf8(out, "event_type", 10, s->event_type, -1);
	bson_append_document_begin(out, "values", 6, &values);
	if (sample >= 0)
		bson_append_int32(&values, "_sample", 7, sample);
	else
		time_append(&values, r->t_wall_ns);
	for (k = 0; k < r->n_fields; k++)
		field_append(&values, dotted(r->labels[k], buf), r->values[k]);
	hist_append(&values, r);
	bson_append_document_end(out, &values);
}

void
document_row_g3(bson_t *out, const struct document_series *s, const struct merge_row *r)
{
	bson_t data;
	size_t k;

	bson_append_utf8(out, "mid", 3, s->mid, -1);
	if (s->shares_mid)
		bson_append_utf8(out, "eventType", 9, s->event_type, -1);
	bson_append_document_begin(out, "data", 4, &data);
	time_append(&data, r->t_wall_ns);
	for (k = 0; k < r->n_fields; k++)
		field_append(&data, r->labels[k], r->values[k]);
	hist_append(&data, r);
	bson_append_document_end(out, &data);
}

void
document_pair(bson_t *out, const struct document_series *s, const char *field, int64_t t_wall_ns,
    double value)
{
	bson_t values, pair;

	text_append(out, "mid", s->mid, field);
	if (s->shares_mid)
		text_append(out, "event_type", s->event_type, field);
	bson_append_array_begin(out, "values", 6, &values);
	bson_append_array_begin(&values, "0", 1, &pair);
	bson_append_double(&pair, "0", 1, seconds(t_wall_ns));
	bson_append_double(&pair, "1", 1, value);
	bson_append_array_end(&values, &pair);
	bson_append_array_end(out, &values);
}

/* --- envelopes --- */

void
document_begin(struct document_envelope *e, bool is_data)
{
	e->is_data = is_data;
	e->n = 0;
	bson_init(&e->whole);
	bson_append_utf8(&e->whole, "version", 7, "0.1", 3);
	bson_append_array_begin(&e->whole, "meta", 4, &e->list);
	if (is_data) {
		bson_append_array_end(&e->whole, &e->list);
		bson_append_array_begin(&e->whole, "data", 4, &e->list);
	}
}

void
document_item(struct document_envelope *e, const bson_t *item)
{
	char index[12];

	snprintf(index, sizeof(index), "%u", (unsigned)e->n++);
	bson_append_document(&e->list, index, -1, item);
}

const bson_t *
document_end(struct document_envelope *e)
{
	bson_append_array_end(&e->whole, &e->list);
	if (!e->is_data) {
		bson_append_array_begin(&e->whole, "data", 4, &e->list);
		bson_append_array_end(&e->whole, &e->list);
	}
	return &e->whole;
}
