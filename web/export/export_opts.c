/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the query of an export; the table of all shapes stands here. */
#include "narrows/export.h"

#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "web/query/series_query.h"
#include "web/export/shape.h"

static const struct shape *const shapes[] = {
	&shape_tidy,
	&shape_wide,
	&shape_keys,
	&shape_keys_long,
	&shape_ndjson,
	&shape_influx,
	&shape_bson,
	&shape_g1,
	&shape_g2,
	&shape_g3,
	&shape_nmwg,
#define X(id, name) &shape_##name,
	NW_EVENT_FORMAT_LIST(X)
#undef X
	    & shape_g0,
};

static const struct shape *
shape_named(const char *name, const char *ending)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(shapes[i]->ending, ending) == 0 &&
		    (name == NULL || strcmp(shapes[i]->name, name) == 0))
			return shapes[i];
	return NULL;
}

static bool
take_eol(void *out, const char *text)
{
	*(bool *)out = strcmp(text, "crlf") == 0;
	return *(bool *)out || strcmp(text, "lf") == 0;
}

static bool
take_safe(void *out, const char *text)
{
	*(bool *)out = strcmp(text, "1") == 0;
	return *(bool *)out || strcmp(text, "0") == 0;
}

static bool
take_time(void *out, const char *text)
{
	return query_time(text, out);
}

static bool
take_step(void *out, const char *text)
{
	return query_step(text, out);
}

#define AT(member) .at = offsetof(struct export_opts, member)
#define TIME                                                     \
	.take = take_time, .example = "2026-11-20T08:12:11.25Z", \
	.form = "from, to: a time like 2026-11-20T08:12:11.25Z, or nanoseconds since 1970"

static const char *const eols[] = { "lf", "crlf", NULL }, *const flags[] = { "0", "1", NULL };

/* The shape is chosen by the ending, too: shape_named() takes it. The form of each parameter is the
 * message about a wrong value. */
const struct param export_params[] = {
	{ "shape", .meaning = "Shape of the table or the documents.", .example = "wide",
	    .form = "shape: tidy, wide, keys or keys-long; of .bson: bson, g1, g2 or g3; "
		    "of .log: bp, ulm, common or g0" },
	{ "eol", PARAM_WORD, .words = eols, AT(crlf), .take = take_eol,
	    .meaning = "End of a line of CSV.", .form = "eol: lf or crlf", .example = "crlf" },
	{ "safe", PARAM_WORD, .words = flags, AT(safe_text), .take = take_safe,
	    .meaning = "1: no cell that a spreadsheet takes for a formula.", .form = "safe: 0 or 1",
	    .example = "1" },
	{ "series", PARAM_TEXT, .max = EXPORT_SERIES_BYTES - 1, AT(series),
	    .meaning = "Begin of the event types.", .form = "series: at most 127 bytes",
	    .example = "app" },
	{ "from", AT(t0_wall_ns), TIME, .meaning = "First time." },
	{ "to", AT(t1_wall_ns), TIME, .meaning = "First time that is too late." },
	{ "resolution", AT(resolution_ns), .take = take_step, .meaning = "Length of a step.",
	    .form = "resolution: a time like 250ms or 1min, at most 24h", .example = "250ms" },
	{ .name = NULL },
};

static int
opts_fill(struct export_opts *o, const char *ending, const struct evkeyvalq *q, const char **why)
{
	const struct param *p = export_params;
	const char *text;

	*o = (struct export_opts){ .t0_wall_ns = INT64_MIN, .t1_wall_ns = INT64_MAX };
	*why = p->form;
	if ((o->shape = shape_named(evhttp_find_header(q, p->name), ending)) == NULL)
		return NW_EINVAL;
	for (p++; p->name != NULL; p++) {
		*why = p->form;
		if ((text = evhttp_find_header(q, p->name)) != NULL && !param_take(p, o, text))
			return NW_EINVAL;
	}
	*why = "from, to: the one has to be before the other";
	return o->t0_wall_ns < o->t1_wall_ns ? NW_OK : NW_EINVAL;
}

int
export_opts_parse(struct export_opts *o, const char *ending, const char *query, const char **why)
{
	struct evkeyvalq q = { 0 };
	int rc;

	if (query != NULL && *query != '\0' && evhttp_parse_query_str(query, &q) != 0) {
		*why = "the query makes no sense";
		return NW_EINVAL;
	}
	if (q.tqh_last == NULL) /* nothing parsed: still a list */
		q.tqh_last = &q.tqh_first;
	rc = opts_fill(o, ending, &q, why);
	evhttp_clear_headers(&q);
	return rc;
}

const char *
export_content_type(const struct export_opts *o)
{
	return o->shape->content_type;
}

const char *
export_ending(const struct export_opts *o)
{
	return o->shape->ending;
}
