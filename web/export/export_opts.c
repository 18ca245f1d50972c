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
	&shape_tidy, &shape_wide, &shape_keys, &shape_keys_long, &shape_ndjson, &shape_influx,
	&shape_bson, &shape_g1, &shape_g2, &shape_g3,
#define X(id, name) &shape_##name,
	NW_EVENT_FORMAT_LIST(X)
#undef X
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

static int
opts_fill(struct export_opts *o, const char *ending, const struct evkeyvalq *q, const char **why)
{
	const char *eol = evhttp_find_header(q, "eol"), *safe = evhttp_find_header(q, "safe");
	const char *series = evhttp_find_header(q, "series"),
		   *step = evhttp_find_header(q, "resolution");
	const char *from = evhttp_find_header(q, "from"), *to = evhttp_find_header(q, "to");

	*o = (struct export_opts){ .t0_wall_ns = INT64_MIN, .t1_wall_ns = INT64_MAX };
	if ((o->shape = shape_named(evhttp_find_header(q, "shape"), ending)) == NULL)
		*why = "shape: tidy, wide, keys or keys-long; of .bson: bson, g1, g2 or g3; "
#define X(id, name) " " #name
		       "of .log: one of" NW_EVENT_FORMAT_LIST(X);
#undef X
	else if (eol != NULL && strcmp(eol, "lf") != 0 && strcmp(eol, "crlf") != 0)
		*why = "eol: lf or crlf";
	else if (safe != NULL && strcmp(safe, "0") != 0 && strcmp(safe, "1") != 0)
		*why = "safe: 0 or 1";
	else if (series != NULL && strlen(series) >= sizeof(o->series))
		*why = "series: too long";
	else if ((from != NULL && !query_time(from, &o->t0_wall_ns)) ||
	    (to != NULL && !query_time(to, &o->t1_wall_ns)))
		*why = "from, to: a time like 2026-11-20T08:12:11.25Z, or nanoseconds since 1970";
	else if (o->t0_wall_ns >= o->t1_wall_ns)
		*why = "from, to: the one has to be before the other";
	else if (step != NULL && !query_step(step, &o->resolution_ns))
		*why = "resolution: a time like 250ms or 1min, at most 24h";
	else {
		o->crlf = eol != NULL && strcmp(eol, "crlf") == 0;
		o->safe_text = safe != NULL && strcmp(safe, "1") == 0;
		if (series != NULL)
			strcpy(o->series, series);
		return NW_OK;
	}
	return NW_EINVAL;
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
