/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One JSON object per line: metadata before their data.
 *
 *	{"series_id":412,"host":"dtn1","id":"...","pid":"...","event_type":"...",
 *	 "subject":{},"parameters":{}}
 *	{"series_id":412,"t_ns":"1795162331250000000","data":{"mean_r":0.25}}
 *
 * as `narrows export` writes; also with "mid" or "id" alone for series_id, eventType for
 * event_type, and the time as "time" (ISO 8601), or inside data as "ts_ns" or "ts" (seconds).
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

/* A text, or an integer, under the first present name. */
static struct slice
text_of(json_t *doc, const char *const *names, char buf[24])
{
	json_t *v;

	for (; *names != NULL; names++) {
		v = json_object_get(doc, *names);
		if (json_is_string(v))
			return (struct slice){ json_string_value(v), json_string_length(v) };
		if (json_is_integer(v)) {
			snprintf(buf, 24, "%lld", (long long)json_integer_value(v));
			return slice_of(buf);
		}
	}
	return (struct slice){ "", 0 };
}

static int
meta_take(struct import *im, const char *at, json_t *doc, struct slice key)
{
	static const char *const event_names[] = { "event_type", "eventType", "type", NULL };
	static const char *const host_names[] = { "host", NULL };
	static const char *const param_names[] = { "parameters", "params", NULL };
	char event_buf[24], host_buf[24];
	struct import_series *s;
	const char *const *name;
	const char *id = json_string_value(json_object_get(doc, "id")),
		   *pid = json_string_value(json_object_get(doc, "pid"));

	if (import_series_find(im, key.s, key.len) != NULL)
		return import_fail(im, at, "this series is described twice");
	s = import_series_add(
	    im, at, key, text_of(doc, host_names, host_buf), text_of(doc, event_names, event_buf));
	if (s == NULL)
		return NW_EPROTO;
	if (id != NULL && *id != '\0' && strlen(id) <= 255)
		import_series_name(im, s, id, key);
	if (pid != NULL && *pid != '\0')
		s->pid = xstrdup(pid);
	json_object_update(s->subject, json_object_get(doc, "subject"));
	for (name = param_names; *name != NULL; name++)
		json_object_update(s->params, json_object_get(doc, *name));
	return NW_OK;
}

static bool
time_of(json_t *doc, json_t *data, int64_t *t)
{
	static const struct {
		const char *name;
		bool ns;
	} names[] = {
		{ "t_ns", true },
		{ "ts_ns", true },
		{ "time", false },
		{ "ts", false },
	};
	json_t *v;
	char text[32];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((v = json_object_get(doc, names[i].name)) == NULL &&
		    (v = json_object_get(data, names[i].name)) == NULL)
			continue;
		if (json_is_integer(v) && names[i].ns) {
			*t = json_integer_value(v);
			return true;
		}
		if (json_is_number(v)) { /* a double of seconds has microseconds */
			snprintf(text, sizeof(text), "%.6f", json_number_value(v));
			return import_time(slice_of(text), t);
		}
		if (!json_is_string(v))
			return false;
		return (names[i].ns ? import_integer : import_time)(
		    slice_of(json_string_value(v)), t);
	}
	return false;
}

static int
data_take(struct import *im, const char *at, json_t *doc, json_t *data, struct slice key)
{
	struct import_series *s = import_series_find(im, key.s, key.len);
	const char *name;
	int64_t t;
	json_t *v;
	double d;
	int rc;

	if (s == NULL)
		return import_fail(im, at, "data of a series without metadata before");
	if (!time_of(doc, data, &t))
		return import_fail(im, at, "no time: t_ns, time, or ts_ns or ts within data");
	json_object_foreach(data, name, v)
	{
		if (strcmp(name, "ts") == 0 || strcmp(name, "ts_ns") == 0 ||
		    strcmp(name, "h_dur") == 0)
			continue;
		if (json_is_number(v))
			d = json_number_value(v);
		else if (!json_is_string(v) || !import_number(slice_of(json_string_value(v)), &d))
			return import_fail(im, at, "%s is not a number", name);
		if ((rc = import_value(im, s, at, t, slice_of(name), d)) < 0)
			return rc;
	}
	v = json_object_get(data, "h_dur");
	return v != NULL ? import_hist_hex(im, s, at, t, json_string_value(v)) : NW_OK;
}

static int
line_take(struct import *im, struct slice line)
{
	static const char *const meta_keys[] = { "series_id", "id", NULL },
				 *const data_keys[] = { "series_id", "mid", NULL };
	json_error_t e;
	json_t *doc = json_loadb(line.s, line.len, JSON_REJECT_DUPLICATES, &e), *data;
	char buf[24];
	struct slice key;
	int rc;

	if (doc == NULL)
		return import_fail_json(im, line, &e);
	data = json_object_get(doc, "data");
	key = text_of(doc, data != NULL ? data_keys : meta_keys, buf);
	if (!json_is_object(doc) || key.len == 0)
		rc = import_fail(im, line.s, "not an object with series_id, id or mid");
	else if (data != NULL && !json_is_object(data))
		rc = import_fail(im, line.s, "data is not an object");
	else
		rc = data != NULL ? data_take(im, line.s, doc, data, key)
				  : meta_take(im, line.s, doc, key);
	json_decref(doc);
	return rc;
}

int
import_ndjson(struct import *im)
{
	const char *at = im->bytes;
	struct slice line;
	int rc = NW_OK;

	while (rc == NW_OK && import_line(&at, im->end, &line))
		if (line.len > 0)
			rc = line_take(im, line);
	return rc;
}
