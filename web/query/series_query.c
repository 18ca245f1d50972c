/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/series_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"

#define STEP_MAX_NS   (86400 * INT64_C(1000000000))
#define STEP_USUAL_NS (60 * INT64_C(1000000000))
enum { LIMIT_USUAL = 10000, LIMIT_MAX = 100000 };
enum { ALL = (1 << QUERY_WHATS) - 1, ROWS = 1 << QUERY_VALUES | 1 << QUERY_STATISTICS };

const enum result_key query_statistics[QUERY_COLUMNS] = { KEY_series_n, KEY_series_sum,
	KEY_series_mean, KEY_series_min, KEY_series_max, KEY_series_sd };

/* --- values of parameters --- */

bool
query_time(const char *text, int64_t *t_wall_ns)
{
	char *end;

	if ((*t_wall_ns = fmt_parse_iso(text)) != 0)
		return true;
	errno = 0;
	*t_wall_ns = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

bool
query_step(const char *text, int64_t *ns)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", INT64_C(1000000000) },
		{ "min", INT64_C(60000000000) },
		{ "h", INT64_C(3600000000000) },
	};
	char *end;
	long long v;
	size_t i;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || v < 1)
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0 && v <= STEP_MAX_NS / units[i].ns) {
			*ns = v * units[i].ns;
			return true;
		}
	return false;
}

static bool
parse_count(const char *text, int64_t max, int64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= max;
}

static bool
take_text(char out[QUERY_TEXT_BYTES], const char *text)
{
	if (strlen(text) >= QUERY_TEXT_BYTES)
		return false;
	strcpy(out, text);
	return true;
}

static bool
take_event_type(struct query *q, const char *text)
{
	return take_text(q->event_type, text);
}

static bool
take_field(struct query *q, const char *text)
{
	return take_text(q->field, text);
}

static bool
take_host(struct query *q, const char *text)
{
	return take_text(q->host, text);
}

static bool
take_subject(struct query *q, const char *text)
{
	return strchr(text, '=') != NULL && take_text(q->subject, text);
}

static bool
take_session(struct query *q, const char *text)
{
	q->session = QUERY_NO_SESSION;
	return strcmp(text, "none") == 0 ||
	    (parse_count(text, INT64_MAX, &q->session) && q->session > 0);
}

static bool
take_series_id(struct query *q, const char *text)
{
	return parse_count(text, INT64_MAX, &q->series_id) && q->series_id > 0;
}

static bool
take_from(struct query *q, const char *text)
{
	return query_time(text, &q->t0_wall_ns);
}

static bool
take_to(struct query *q, const char *text)
{
	return query_time(text, &q->t1_wall_ns);
}

static bool
take_step(struct query *q, const char *text)
{
	return query_step(text, &q->step_ns);
}

/* "mean,max": names between commas, each at most once. */
static bool
take_columns(struct query *q, const char *text)
{
	const char *name;
	size_t i, len;
	unsigned bit;

	for (q->columns = 0;; text += len + 1) {
		len = strcspn(text, ",");
		for (i = 0, bit = 0; i < QUERY_COLUMNS; i++)
			if (strlen(name = result_key_name(query_statistics[i])) == len &&
			    strncmp(name, text, len) == 0)
				bit = 1U << i;
		if (bit == 0 || q->columns & bit)
			return false;
		q->columns |= bit;
		if (text[len] == '\0')
			return true;
	}
}

static bool
take_limit(struct query *q, const char *text)
{
	return parse_count(text, LIMIT_MAX, &q->limit) && q->limit > 0;
}

static bool
take_after(struct query *q, const char *text)
{
	return parse_count(text, INT64_MAX, &q->after);
}

static bool
take_format(struct query *q, const char *text)
{
	static const char *const names[] = { "json", "csv", "arrow" };
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			q->format = (enum query_format)i;
			return q->what != QUERY_SERIES || i != QUERY_ARROW;
		}
	return false;
}

/* --- the table --- */

const struct query_param query_params[] = {
	{ "event_type", "pattern", "Event type of the metadata.", NW_TYPE_BLIPP "cpu:*", ALL },
	{ "field", "pattern", "Name of the field.", "user", ALL },
	{ "host", "pattern", "Name of the host.", "dtn*", ALL },
	{ "session", "a number or none",
	    "Series of one session, or series that belong to hosts alone; default: both.", "7",
	    ALL },
	{ "subject", "KEY=PATTERN", "Value of one key of the subject.", "resource=/data/*", ALL },
	{ "series_id", "a number", "One metadata, as /series numbers them.", "412", ALL },
	{ "from", "time", "First time: ISO 8601 in UTC with Z, or nanoseconds since 1970.",
	    "2026-11-20T08:12:11.25Z", ROWS },
	{ "to", "time", "First time that is too late.", "2026-11-20T09:00:00Z", ROWS },
	{ "step", "a number and ns, us, ms, s, min or h",
	    "Length of a step, at most 24 h; default 1min. Steps begin at whole multiples since "
	    "1970.",
	    "10s", 1 << QUERY_STATISTICS },
	{ "columns", "some of n,sum,mean,min,max,sd", "The statistics; default: all.", "mean,max",
	    1 << QUERY_STATISTICS },
	{ "limit", "1 to 100000", "Most metadata per answer; default 10000.", "1000", ALL },
	{ "after", "a number", "Next page: the series_id that `next` of the page before names.",
	    "412", ALL },
	{ "format", "json, csv or arrow",
	    "Form of the answer; arrow is an Apache Arrow IPC stream and not a form of /series.",
	    "csv", ALL },
};
const size_t query_n_params = sizeof(query_params) / sizeof(query_params[0]);

static bool (*const takers[])(struct query *q, const char *text) = {
	take_event_type,
	take_field,
	take_host,
	take_session,
	take_subject,
	take_series_id,
	take_from,
	take_to,
	take_step,
	take_columns,
	take_limit,
	take_after,
	take_format,
};

static int
take(
    struct query *q, const char *name, const char *value, unsigned *seen, char why[QUERY_WHY_BYTES])
{
	size_t i;

	for (i = 0; i < query_n_params; i++)
		if (strcmp(query_params[i].name, name) == 0 && query_params[i].of & 1U << q->what)
			break;
	if (i == query_n_params)
		snprintf(why, QUERY_WHY_BYTES, "%.40s: there is no such parameter", name);
	else if (*seen & 1U << i)
		snprintf(why, QUERY_WHY_BYTES, "%s: given twice", name);
	else if (!takers[i](q, value))
		snprintf(why, QUERY_WHY_BYTES, "%s: %s", name, query_params[i].form);
	else {
		*seen |= 1U << i;
		return NW_OK;
	}
	return NW_EINVAL;
}

int
query_parse(struct query *q, enum query_what what, const char *text, char why[QUERY_WHY_BYTES])
{
	struct evkeyvalq list = { 0 };
	const struct evkeyval *one;
	unsigned seen = 0;
	int rc = NW_OK;

	*q = (struct query){ .what = what,
		.session = QUERY_ANY_SESSION,
		.t0_wall_ns = INT64_MIN,
		.t1_wall_ns = INT64_MAX,
		.step_ns = STEP_USUAL_NS,
		.columns = (1U << QUERY_COLUMNS) - 1,
		.limit = LIMIT_USUAL };
	if (text == NULL || *text == '\0')
		return NW_OK;
	if (evhttp_parse_query_str(text, &list) != 0) {
		snprintf(why, QUERY_WHY_BYTES, "the query is not NAME=VALUE&...");
		return NW_EINVAL;
	}
	TAILQ_FOREACH(one, &list, next)
	{
		if (rc == NW_OK)
			rc = take(q, one->key, one->value, &seen, why);
	}
	evhttp_clear_headers(&list);
	if (rc == NW_OK && q->t0_wall_ns >= q->t1_wall_ns) {
		snprintf(why, QUERY_WHY_BYTES, "from, to: from has to be before to");
		rc = NW_EINVAL;
	}
	return rc;
}
