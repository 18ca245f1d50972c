/* SPDX-License-Identifier: BSD-3-Clause */
/* One import from first byte to last: finds the format, runs the parser, checks the whole. */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "cli/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/fnv.h"

/* --- formats --- */

static bool
has_text(struct slice text, const char *part)
{
	return memmem(text.s, text.len, part, strlen(part)) != NULL;
}

/* Formats, in the order of their trial on the first line with text. */
static const struct format {
	const char *name;
	int (*parse)(struct import *im);
	bool of_session;    /* whether a file without a session's name becomes a session */
	const char *begins; /* beginning of a line ... */
	const char *has[3]; /* ... and further parts of the same line */
} formats[] = {
	{ "wide", import_wide, true, "time,t_ns", { NULL } },
	{ "keys", import_keys, true, "key,timestamp,value", { NULL } },
	{ "keys-long", import_keys_long, true, "key,type,subject,param,timestamp,value", { NULL } },
	{ "tidy", import_tidy, true, "", { "event_type,", "field,", "value" } },
	{ "ndjson", import_ndjson, true, "{", { "\"event", "\"" } },
	{ "ndjson", import_ndjson, true, "{", { "\"data\"" } },
	{ "sadf", import_sadf, false, "{", { NULL } },
	{ "ulm", import_ulm, true, "", { "DATE=", "NL.EVNT=" } },
	{ "bp", import_bp, true, "", { "ts=", "event=" } },
	{ "influx", import_influx, true, "", { " ", "=" } },
};

static bool
is_format(const struct format *f, struct slice line)
{
	size_t i;

	for (i = 0; i < sizeof(f->has) / sizeof(f->has[0]) && f->has[i] != NULL; i++)
		if (!has_text(line, f->has[i]))
			return false;
	return slice_starts(line, f->begins);
}

static const struct format format_bson = {
	.name = "bson", .parse = import_bson, .of_session = true
};

static const struct format format_events = {
	.name = "events", .parse = import_events, .of_session = true
};

static const struct format format_magnet = {
	.name = "magnet", .parse = import_magnet, .of_session = true
};

static const struct format format_nmwg = {
	.name = "nmwg", .parse = import_nmwg, .of_session = true
};

static const struct format format_g0 = { .name = "g0", .parse = import_g0, .of_session = true };

static const struct format format_report = {
	.name = "report", .parse = import_report, .of_session = true
};

static const char format_names[] =
    "tidy, wide, keys, keys-long, ndjson, sadf, ulm, bp, events, magnet, influx, bson, "
    "g0, nmwg, report, pscheduler";

static const struct format *
format_find(struct import *im, const char *name)
{
	const char *at = im->bytes;
	struct slice line;
	size_t i;

	if (name != NULL ? strcmp(name, format_bson.name) == 0 : import_is_bson(im))
		return &format_bson;
	if (name != NULL ? strcmp(name, format_magnet.name) == 0 : import_is_magnet(im))
		return &format_magnet;
	if (name != NULL ? strcmp(name, format_nmwg.name) == 0 : import_is_nmwg(im))
		return &format_nmwg;
	if (name != NULL ? strcmp(name, format_g0.name) == 0 : import_is_g0(im))
		return &format_g0;
	if (name != NULL ? strcmp(name, format_report.name) == 0 : import_is_report(im))
		return &format_report;
	do
		if (!import_line(&at, im->end, &line)) {
			stat_fail(im->err, NW_EPROTO, "%s:1:1: the file is empty", im->name);
			return NULL;
		}
	while (line.len == 0 || (name == NULL && line.s[0] == '#'));
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (name != NULL ? strcmp(formats[i].name, name) == 0
				 : is_format(&formats[i], line))
			return &formats[i];
	if (name != NULL ? strcmp(name, format_events.name) == 0 : import_is_events(im))
		return &format_events;
	if (name != NULL)
		import_fail(im, line.s, "%s is no format (%s)", name, format_names);
	else
		import_fail(
		    im, line.s, "unknown format: choose one with --format (%s)", format_names);
	return NULL;
}

/* dir/run-3.csv.gz: run-3 */
static char *
session_of_name(const char *name)
{
	const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
	size_t len = strcspn(base + (*base == '.'), ".") + (*base == '.');

	return xasprintf("%.*s", len > 0 ? (int)len : 6, len > 0 ? base : "import");
}

void
import_init(struct import *im, const char *name, const char *bytes, size_t len, const char *session,
    const char *host, struct stat_error *err)
{
	*im = (struct import){ .name = name,
		.bytes = bytes,
		.end = bytes + len,
		.session = xstrdup(session),
		.err = err,
		.host = xstrdup(host != NULL ? host : "import"),
		.t_min_wall_ns = INT64_MAX,
		.t_max_wall_ns = INT64_MIN,
		.hash = { FNV_BEGIN, UINT64_C(0x84222325cbf29ce4) } };
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		im->bytes += 3; /* UTF-8 byte order mark */
}

void
import_clear(struct import *im)
{
	struct import_series *s, *tmp;
	size_t i;

	HASH_ITER (hh, im->series, s, tmp) {
		HASH_DEL(im->series, s);
		import_series_free(s);
	}
	for (i = 0; i < im->n_hosts; i++) {
		catalog_clear(&im->hosts[i].catalog);
		free(im->hosts[i].sender);
		free(im->hosts[i].name);
	}
	free(im->hosts);
	if (im->spool != NULL)
		fclose(im->spool);
	nw_doc_buf_clear(&im->doc);
	free(im->session);
	free(im->host);
}

/* The task_id of a series names the session, unless the user named another; then the series
 * keeps its task_id as source_task_id. */
static void
session_settle(struct import *im, struct import_series *s, bool given)
{
	json_t *task = json_object_get(s->subject, "task_id");

	if (!json_is_string(task))
		return;
	if (im->session == NULL)
		im->session = xstrdup(json_string_value(task));
	else if (given && strcmp(im->session, json_string_value(task)) != 0) {
		json_object_set(s->subject, "source_task_id", task);
		json_object_del(s->subject, "task_id");
	}
}

int
import_parse(struct import *im, const char *format)
{
	const struct format *f = format_find(im, format);
	struct import_series *s, *tmp;
	bool given = im->session != NULL;
	int rc;

	if (f == NULL)
		return NW_EPROTO;
	if ((im->spool = tmpfile()) == NULL)
		return stat_fail(im->err, NW_EIO, "temporary file: %s", strerror(errno));
	if ((rc = f->parse(im)) < 0)
		return rc;
	HASH_ITER (hh, im->series, s, tmp)
		if ((rc = import_row_flush(im, s, im->end)) < 0)
			return rc;
	if (im->n_values == 0 && im->n_events == 0)
		return import_fail(im, im->bytes, "the file has no values");
	HASH_ITER (hh, im->series, s, tmp)
		session_settle(im, s, given);
	if (im->session == NULL && f->of_session)
		im->session = session_of_name(im->name);
	HASH_ITER (hh, im->series, s, tmp)
		if ((rc = import_meta_check(im, s)) < 0)
			return rc;
	return fflush(im->spool) == 0
	    ? NW_OK
	    : stat_fail(im->err, NW_EIO, "temporary file: %s", strerror(errno));
}
