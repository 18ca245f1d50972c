/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The canonical documents, one JSON object per line. Metadata come before their data; metadata
 * without data (a host, a parent) are included.
 *
 *	{"series_id":412,"session":7,"host":"dtn1","id":"...","pid":"...","event_type":"...",
 *	 "subject":{},"parameters":{}}
 *	{"series_id":412,"time":"2026-11-20T08:12:11.250000000Z","t_ns":"1795162331250000000",
 *	 "data":{"mean_r":0.25}}
 *
 * (Lines are broken here only.) `id` and `pid` are the sender's; series_id is unique. Nanoseconds
 * are text, because JavaScript's numbers end at 2^53; infinities are text, because JSON lacks them.
 * Missing values are left out. "h_dur" in data is the histogram of durations (narrows/hist.h), its
 * bytes in hex.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/hex.h"
#include "narrows/result.h"
#include "web/export/shape.h"

static json_t *
object_of(const char *json)
{
	json_t *v = json_loads(json, 0, NULL);

	if (json_is_object(v))
		return v;
	json_decref(v);
	return json_object();
}

static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	json_t *doc = json_object();
	char *text;
	int rc = NW_ENOMEM;

	result_put_int(doc, KEY_ndjson_series_series_id, m->id);
	result_put_int(doc, KEY_ndjson_series_session, x->session_id);
	result_put_text(doc, KEY_ndjson_series_host, m->host);
	result_put_text(doc, KEY_ndjson_series_id, m->mid);
	if (m->pid[0] != '\0')
		result_put_text(doc, KEY_ndjson_series_pid, m->pid);
	result_put_text(doc, KEY_ndjson_series_event_type, m->event_type);
	result_set(doc, KEY_ndjson_series_subject, object_of(m->subject_json));
	result_set(doc, KEY_ndjson_series_parameters, object_of(m->params_json));
	text = doc != NULL ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	if (text != NULL && (rc = textout_puts(&x->out, text)) == NW_OK)
		rc = textout_put(&x->out, "\n", 1);
	free(text);
	json_decref(doc);
	fprintf(f, "{\"%s\":%s,", result_key_name(KEY_ndjson_row_series_id), fmt_int(m->id).s);
	return rc;
}

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	json_t *name = json_string(field);
	char *text = name != NULL ? json_dumps(name, JSON_ENCODE_ANY) : NULL;

	(void)x, (void)m;
	fprintf(f, "%s:", text != NULL ? text : "\"\"");
	free(text);
	json_decref(name);
}

/* -0 would be the integer 0 to many readers. */
static void
number(char *out, size_t size, double v)
{
	snprintf(out, size,
	    isinf(v)                   ? "\"%s\""
		: v == 0 && signbit(v) ? "%s.0"
				       : "%s",
	    fmt_exact(v).s);
}

static int
put_hist(struct export *x, const char *sep, const struct merge_row *r)
{
	char hex[3];
	size_t i;
	int rc;

	if ((rc = textout_puts(&x->out, sep)) < 0 ||
	    (rc = textout_puts(&x->out, "\"h_dur\":\"")) < 0)
		return rc;
	for (i = 0; i < r->hist_len; i++) {
		nw_hex_put(hex, &r->hist[i], 1);
		if ((rc = textout_put(&x->out, hex, 2)) < 0)
			return rc;
	}
	return textout_put(&x->out, "\"", 1);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	const char *sep = "";
	char text[160];
	size_t k;
	int rc;

	snprintf(text, sizeof(text), "\"%s\":\"%s\",\"%s\":\"%s\",\"%s\":{",
	    result_key_name(KEY_ndjson_row_time), fmt_iso_ns(r->t_wall_ns).s,
	    result_key_name(KEY_ndjson_row_t_ns), fmt_int(r->t_wall_ns).s,
	    result_key_name(KEY_ndjson_row_data));
	if ((rc = textout_puts(&x->out, before)) < 0 || (rc = textout_puts(&x->out, text)) < 0)
		return rc;
	for (k = 0; k < r->n_fields; k++) {
		if (isnan(r->values[k]))
			continue;
		number(text, sizeof(text), r->values[k]);
		if ((rc = textout_puts(&x->out, sep)) < 0 ||
		    (rc = textout_puts(&x->out, r->labels[k])) < 0 ||
		    (rc = textout_puts(&x->out, text)) < 0)
			return rc;
		sep = ",";
	}
	if (r->hist != NULL && (rc = put_hist(x, sep, r)) < 0)
		return rc;
	return textout_put(&x->out, "}}\n", 3);
}

const struct shape shape_ndjson = {
	.name = "ndjson",
	.ending = ".ndjson",
	.content_type = "application/x-ndjson",
	.hist = true,
	.prefix = prefix,
	.label = label,
	.row = row,
};
