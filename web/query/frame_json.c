/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *	{"series":[
 *	{"series_id":412,"host":"dtn1","session":7,"event_type":"...","subject":{},
 *	 "fields":["a","b"],"units":["By",""],
 *	 "t_ns":["1795162331250000000"],"value":[[1],[null]]}
 *	],"next":null}
 *
 * t_ns is text, because JavaScript's numbers end at 2^53. value has one list per field; statistics
 * have the lists n, sum, mean, min, max and sd instead. A missing value is null, an infinite value
 * the text "Inf" or "-Inf".
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"
#include "narrows/tcpname.h"
#include "web/query/frame_form.h"

/* "KEY": and the beginning of the value. */
static int
put_key(struct frame_out *o, enum result_key key, const char *value)
{
	int rc;

	if ((rc = textout_put(&o->out, "\"", 1)) < 0 ||
	    (rc = textout_puts(&o->out, result_key_name(key))) < 0 ||
	    (rc = textout_put(&o->out, "\":", 2)) < 0)
		return rc;
	return textout_puts(&o->out, value);
}

/* The same behind another key of the object. */
static int
put_next(struct frame_out *o, enum result_key key, const char *value)
{
	int rc = textout_put(&o->out, ",", 1);

	return rc == NW_OK ? put_key(o, key, value) : rc;
}

static int
begin(struct frame_out *o)
{
	int rc = textout_puts(&o->out, "{");

	return rc == NW_OK ? put_key(o, KEY_series_list_series, "[") : rc;
}

static int
put_text(struct frame_out *o, const char *text)
{
	size_t len = strlen(text);
	char *out = malloc(jsontext_room(len));
	int rc;

	if (out == NULL)
		return NW_ENOMEM;
	rc = textout_put(&o->out, out, jsontext_write(out, text, len));
	free(out);
	return rc;
}

static int
put_texts(struct frame_out *o, enum result_key key, const char *const *texts, size_t n)
{
	size_t i;
	int rc = put_next(o, key, "");

	for (i = 0; i < n && rc == NW_OK; i++)
		if ((rc = textout_puts(&o->out, i > 0 ? "," : "[")) == NW_OK)
			rc = put_text(o, texts[i]);
	return rc == NW_OK ? textout_puts(&o->out, n > 0 ? "]" : "[]") : rc;
}

/* The subject is JSON from the store; text that does not parse becomes an empty object. */
static int
put_subject(struct frame_out *o, const char *json)
{
	json_t *subject = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	char *text = json_is_object(subject) ? json_dumps(subject, JSON_COMPACT) : NULL;
	int rc = textout_puts(&o->out, text != NULL ? text : "{}");

	free(text);
	json_decref(subject);
	return rc;
}

static bool
is_connection(const char *event_type)
{
	return nw_type_begins(event_type, NW_TYPE_TCP) ||
	    nw_type_begins(event_type, NW_TYPE_CONNECTION);
}

static int
put_description(struct frame_out *o, const struct frame *f)
{
	const struct found *m = f->of;
	size_t i;
	int rc;

	if ((rc = textout_puts(&o->out, o->begun ? ",\n{" : "\n{")) < 0 ||
	    (rc = put_key(o, KEY_series_series_id, fmt_int(m->series_id).s)) < 0 ||
	    (rc = put_next(o, KEY_series_host, "")) < 0 || (rc = put_text(o, m->host)) < 0 ||
	    (rc = put_next(o, KEY_series_session,
		 m->session_id > 0 ? fmt_int(m->session_id).s : "null")) < 0 ||
	    (rc = put_next(o, KEY_series_event_type, "")) < 0 ||
	    (rc = put_text(o, m->event_type)) < 0 ||
	    (rc = put_next(o, KEY_series_subject, "")) < 0 ||
	    (rc = put_subject(o, m->subject_json)) < 0 ||
	    (rc = put_texts(o, KEY_series_fields, f->fields, f->n_fields)) < 0)
		return rc;
	if ((rc = put_texts(o, KEY_series_units, f->units, f->n_fields)) < 0 ||
	    !is_connection(m->event_type))
		return rc;
	rc = put_next(o, KEY_series_rfc4898, "[");
	for (i = 0; i < f->n_fields && rc == NW_OK; i++)
		if (i == 0 || (rc = textout_put(&o->out, ",", 1)) == NW_OK)
			rc = put_text(o, nw_tcp_rfc4898(f->fields[i]));
	return rc == NW_OK ? textout_put(&o->out, "]", 1) : rc;
}

static int
put_times(struct frame_out *o, const struct frame *f)
{
	size_t i;
	int rc = put_next(o, KEY_series_t_ns, "[");

	for (i = 0; i < f->n_rows && rc == NW_OK; i++)
		if ((rc = textout_puts(&o->out, i > 0 ? "\",\"" : "\"")) == NW_OK)
			rc = textout_int(&o->out, f->t_wall_ns[i]);
	return rc == NW_OK ? textout_puts(&o->out, f->n_rows > 0 ? "\"]" : "]") : rc;
}

/* Into a place with FMT_EXACT_ROOM bytes. Returns the end. */
static char *
number_write(struct frame_out *o, char *at, double v)
{
	if (isnan(v))
		return stpcpy(at, "null");
	if (isinf(v))
		return stpcpy(at, v > 0 ? "\"Inf\"" : "\"-Inf\"");
	if (v == 0 && signbit(v))
		return stpcpy(at, "-0.0");
	return textout_number(&o->out, at, v);
}

/* The numbers of a field, with commas between them. */
static int
put_numbers(struct frame_out *o, const double *v, size_t n)
{
	const size_t at_once = TEXTOUT_ROOM / (FMT_EXACT_ROOM + 1);
	size_t i, end;
	char *at;
	int rc;

	for (i = 0; i < n; textout_took(&o->out, at)) {
		if ((rc = textout_room(&o->out, &at)) < 0)
			return rc;
		end = n - i < at_once ? n : i + at_once;
		for (; i < end; i++) {
			*at = ',';
			at = number_write(o, at + (i > 0), v[i]);
		}
	}
	return NW_OK;
}

static int
put_column(struct frame_out *o, const struct frame *f, size_t column)
{
	size_t k;
	int rc;

	if ((rc = put_next(o, o->columns.key[column], "[")) < 0)
		return rc;
	for (k = 0; k < f->n_fields; k++)
		if ((rc = textout_puts(&o->out, k > 0 ? ",[" : "[")) < 0 ||
		    (rc = put_numbers(o, f->values[column * f->n_fields + k], f->n_rows)) < 0 ||
		    (rc = textout_put(&o->out, "]", 1)) < 0)
			return rc;
	return textout_put(&o->out, "]", 1);
}

static int
frame(struct frame_out *o, const struct frame *f)
{
	size_t i;
	int rc = put_description(o, f);

	if (rc == NW_OK && f->n_rows > 0)
		rc = put_times(o, f);
	for (i = 0; i < o->columns.n && f->n_rows > 0 && rc == NW_OK; i++)
		rc = put_column(o, f, i);
	return rc == NW_OK ? textout_put(&o->out, "}", 1) : rc;
}

static int
end(struct frame_out *o, int64_t next)
{
	int rc = textout_puts(&o->out, "\n]");

	if (rc == NW_OK)
		rc = put_next(o, KEY_series_list_next, next > 0 ? fmt_int(next).s : "null");
	return rc == NW_OK ? textout_puts(&o->out, "}\n") : rc;
}

const struct frame_form frame_json = { "application/json", begin, frame, end, NULL };
