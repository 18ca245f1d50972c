/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of the document are pScheduler's, as its HTTP archiver sends them. */
#include "cli/hook/hook.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "narrows/fnv.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* A session has the same id in every message, so that an archive keeps one of them. */
static json_t *
id_make(const json_t *session)
{
	const char *task = result_text(session, KEY_listed_task_id),
		   *start = result_text(session, KEY_listed_start);
	uint64_t a = fnv_text(
		     fnv_text(FNV_BEGIN, task != NULL ? task : ""), start != NULL ? start : ""),
		 b = fnv_byte(a, 'n');

	/* an UUID of version 8: its bits are the maker's own */
	return json_sprintf("%08" PRIx32 "-%04" PRIx32 "-8%03" PRIx32 "-%04" PRIx32 "-%012" PRIx64,
	    (uint32_t)(a >> 32), (uint32_t)(a >> 16 & 0xffff), (uint32_t)(a & 0xfff),
	    (uint32_t)(b >> 48 & 0x3fff) | 0x8000, b & UINT64_C(0xffffffffffff));
}

/* The value as it is, or null. */
static json_t *
value_of(const json_t *o, enum result_key key)
{
	json_t *v = json_object_get(o, result_key_name(key));

	return v != NULL ? json_incref(v) : json_null();
}

/* A time span as ISO 8601 has it. */
static json_t *
span(double seconds)
{
	return json_sprintf("PT%.3fS", isfinite(seconds) ? seconds : 0);
}

static json_t *
result_make(const json_t *session, double took_s)
{
	const double status = result_number(session, KEY_listed_exit_status),
		     bytes = result_number(session, KEY_listed_bytes),
		     rate = result_number(session, KEY_listed_bytes_per_s);
	json_t *result =
	    json_pack("{s:b s:o s:o s:o}", "succeeded", !(status > 0), "time", span(took_s),
		"bytes-sent", isfinite(bytes) ? json_integer((json_int_t)bytes) : json_null(),
		"throughput", isfinite(rate) ? json_real(8 * rate) : json_null());

	if (status > 0)
		json_object_set_new(
		    result, "error", json_sprintf("the program ended with status %.0f", status));
	return result;
}

json_t *
hook_archive_document(const json_t *event)
{
	static const char arrow[] = " -> ";
	const json_t *session = result_get(event, KEY_hook_event_session);
	const char *route = session != NULL ? result_text(session, KEY_listed_route) : NULL,
		   *to = route != NULL ? strstr(route, arrow) : NULL;
	const double took_s = to != NULL ? result_number(session, KEY_listed_duration_s) : NAN;
	const int from_len = to != NULL ? (int)(to - route) : 0;

	if (to == NULL)
		return NULL;
	to += strlen(arrow);
	return json_pack("{s:o s:{s:s s:{s:i s:o s:o}} s:{s:s s:s} s:{s:o s:o s:o s:o s:o} "
			 "s:{s:o s:{s:s} s:{s:o}} s:[s#,s] s:o s:{s:{s:o s:o s:o s:o s:o s:o}}}",
	    "id", id_make(session), "test", "type", "disk-to-disk", "spec", "schema", 1, "source",
	    json_sprintf("file://%.*s/", from_len, route), "dest", json_sprintf("file://%s/", to),
	    "tool", "name", "narrows", "version", NW_VERSION, "run", "added",
	    value_of(session, KEY_listed_start), "start-time", value_of(session, KEY_listed_start),
	    "end-time", value_of(session, KEY_listed_end), "duration", span(took_s), "href",
	    value_of(event, KEY_hook_event_link), "task", "href",
	    value_of(event, KEY_hook_event_link), "schedule", "slip", "PT0S", "detail", "duration",
	    span(took_s), "participants", route, from_len, to, "result",
	    result_make(session, took_s), "reference", "narrows", "session",
	    value_of(session, KEY_listed_id), "program", value_of(session, KEY_listed_program),
	    "stage", value_of(session, KEY_listed_stage), "confidence",
	    value_of(session, KEY_listed_confidence), "usual", value_of(session, KEY_listed_usual),
	    "sentence", value_of(session, KEY_listed_sentence));
}
