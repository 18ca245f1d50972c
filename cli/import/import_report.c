/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report as one file ("narrows report --html"): its result document goes to the box as the events
 * of a session of its own, whose task is made of the document's text (narrows/result.h). No session
 * of the box is touched, whatever number the file names; the same file twice is one session.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/event.h"
#include "narrows/result.h"
#include "narrows/task.h"
#include "narrows/xmalloc.h"

enum { TEXT_MAX_BYTES = RESULT_REPORT_PART_BYTES * RESULT_REPORT_PARTS_MAX };

static const char opens[] = "<script type=\"application/json\" id=\"narrows-result\">";
static const char closes[] = "</script>";

/* The document's text in the file. */
static bool
report_find(const struct import *im, struct slice *text)
{
	const char *from, *to;

	from = memmem(im->bytes, (size_t)(im->end - im->bytes), opens, sizeof(opens) - 1);
	if (from == NULL)
		return false;
	from += sizeof(opens) - 1;
	to = memmem(from, (size_t)(im->end - from), closes, sizeof(closes) - 1);
	*text = (struct slice){ from, (size_t)((to != NULL ? to : im->end) - from) };
	return to != NULL;
}

bool
import_is_report(const struct import *im)
{
	static const char begins[] = "<!DOCTYPE html>";

	return (size_t)(im->end - im->bytes) >= sizeof(begins) - 1 &&
	    memcmp(im->bytes, begins, sizeof(begins) - 1) == 0;
}

static int
document_read(struct import *im, json_t **doc)
{
	struct slice text;
	const char *why = NULL;
	json_error_t e;
	int rc;

	if (!report_find(im, &text))
		return import_fail(im, im->bytes, "no report of narrows is in this page");
	if (text.len > TEXT_MAX_BYTES)
		return import_fail(
		    im, text.s, "the report is longer than %d bytes", TEXT_MAX_BYTES);
	if ((*doc = json_loadb(text.s, text.len, JSON_REJECT_DUPLICATES, &e)) == NULL)
		return import_fail_json(im, text, &e);
	if ((rc = result_check(*doc, &why)) < 0)
		import_fail(im, text.s, "%s", why);
	return rc;
}

/* Undoes the marks of an import: a report from a box that had imported the report is the same. */
static void
document_restore(json_t *doc)
{
	const json_t *before = result_get(doc, KEY_result_imported);
	json_t *session = json_object_get(doc, result_key_name(KEY_result_session)),
	       *id = json_object_get(before, result_key_name(KEY_imported_session));

	if (id != NULL)
		json_object_set(session, result_key_name(KEY_session_id), id);
	json_object_del(doc, result_key_name(KEY_result_imported));
}

/* Text of JSON in ASCII may be cut anywhere. */
static int
parts_put(struct import_events *to, const char *text, size_t len, int64_t t_wall_ns)
{
	size_t n = (len + RESULT_REPORT_PART_BYTES - 1) / RESULT_REPORT_PART_BYTES, i;
	int rc = NW_OK;

	for (i = 0; i < n && rc == NW_OK; i++) {
		char *part = xasprintf(
		    "%.*s", RESULT_REPORT_PART_BYTES, text + i * (size_t)RESULT_REPORT_PART_BYTES);
		struct nw_attr attrs[] = {
			{ .key = "part", .type = NW_ATTR_INT, .v.i = (int64_t)i },
			{ .key = "parts", .type = NW_ATTR_INT, .v.i = (int64_t)n },
			{ .key = "text", .type = NW_ATTR_TEXT, .v.text = part },
		};

		rc = import_events_put(to,
		    &(struct nw_event){ .t_wall_ns = t_wall_ns + (int64_t)i,
			.program = "narrows import",
			.name = RESULT_REPORT_EVENT,
			.n_attrs = sizeof(attrs) / sizeof(attrs[0]),
			.attrs = attrs });
		free(part);
	}
	return rc;
}

/* The session's begin, moved into the times that boxes take. */
static int64_t
report_time(const json_t *doc)
{
	static const int64_t first = INT64_C(1000000000), last = INT64_C(4000000000000000000);
	int64_t t = result_ns(result_get(doc, KEY_result_session), KEY_session_start_ns);

	return t < first ? first : t > last ? last : t;
}

static int
report_spool(struct import *im, const json_t *doc)
{
	char *text = json_dumps(
	    doc, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
	struct import_events to = { .im = im };
	size_t len = text != NULL ? strlen(text) : 0;
	int rc;

	if (text == NULL)
		return stat_fail(im->err, NW_ENOMEM, "out of memory");
	if (len > TEXT_MAX_BYTES) {
		free(text);
		return import_fail(im, im->bytes, "the report is too long");
	}
	im->session = task_of_report(text, len);
	if ((rc = import_events_begin(&to, im->host)) == NW_OK)
		rc = parts_put(&to, text, len, report_time(doc));
	free(text);
	return import_events_end(&to, rc);
}

int
import_report(struct import *im)
{
	json_t *doc = NULL;
	int rc;

	if (im->session != NULL)
		return import_fail(
		    im, im->bytes, "a report is a session of its own: leave --session out");
	if ((rc = document_read(im, &doc)) == NW_OK) {
		document_restore(doc);
		rc = report_spool(im, doc);
	}
	json_decref(doc);
	return rc;
}
