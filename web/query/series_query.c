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
enum { ROWS = 1 << QUERY_VALUES | 1 << QUERY_STATISTICS };

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
take_subject(void *out, const char *text)
{
	if (strchr(text, '=') == NULL || strlen(text) >= QUERY_TEXT_BYTES)
		return false;
	strcpy(out, text);
	return true;
}

/* A number or "none". */
static bool
take_session(void *out, const char *text)
{
	static const struct param number = { .type = PARAM_NUMBER, .min = 1 };

	*(int64_t *)out = QUERY_NO_SESSION;
	return strcmp(text, "none") == 0 || param_take(&number, out, text);
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

/* "mean,max": names between commas, each at most once. */
static bool
take_columns(void *out, const char *text)
{
	const char *name;
	unsigned *columns = out;
	size_t i, len;
	unsigned bit;

	for (*columns = 0;; text += len + 1) {
		len = strcspn(text, ",");
		for (i = 0, bit = 0; i < QUERY_COLUMNS; i++)
			if (strlen(name = result_key_name(query_statistics[i])) == len &&
			    strncmp(name, text, len) == 0)
				bit = 1U << i;
		if (bit == 0 || *columns & bit)
			return false;
		*columns |= bit;
		if (text[len] == '\0')
			return true;
	}
}

/* --- the table --- */

#define AT(member) .at = offsetof(struct query, member)
#define PATTERN    .type = PARAM_TEXT, .max = QUERY_TEXT_BYTES - 1, .form = "pattern"

static const char *const formats[] = { "json", "csv", "arrow", NULL };

const struct param query_params[] = {
	{ "event_type", PATTERN, AT(event_type), .meaning = "Event type of the metadata.",
	    .example = NW_TYPE_BLIPP "cpu:*" },
	{ "field", PATTERN, AT(field), .meaning = "Name of the field.", .example = "user" },
	{ "host", PATTERN, AT(host), .meaning = "Name of the host.", .example = "dtn*" },
	{ "session", .form = "a number or none", AT(session), .take = take_session,
	    .meaning =
		"Series of one session, or series that belong to hosts alone; default: both.",
	    .example = "7" },
	{ "subject", .form = "KEY=PATTERN", .max = QUERY_TEXT_BYTES - 1, AT(subject),
	    .take = take_subject, .meaning = "Value of one key of the subject.",
	    .example = "resource=/data/*" },
	{ "series_id", PARAM_NUMBER, .form = "a number", .min = 1, AT(series_id),
	    .meaning = "One metadata, as /series numbers them.", .example = "412" },
	{ "from", .also = "since", .form = "time", AT(t0_wall_ns), .take = take_time,
	    .meaning = "First time: ISO 8601 in UTC with Z, or nanoseconds since 1970.",
	    .example = "2026-11-20T08:12:11.25Z", .of = ROWS },
	{ "to", .also = "until", .form = "time", AT(t1_wall_ns), .take = take_time,
	    .meaning = "First time that is too late.", .example = "2026-11-20T09:00:00Z",
	    .of = ROWS },
	{ "step", .form = "a number and ns, us, ms, s, min or h", AT(step_ns), .take = take_step,
	    .meaning = "Length of a step, at most 24 h; default 1min. Steps begin at whole "
		       "multiples since 1970.",
	    .example = "10s", .of = 1 << QUERY_STATISTICS },
	{ "columns", .form = "some of n,sum,mean,min,max,sd", AT(columns), .take = take_columns,
	    .meaning = "The statistics; default: all.", .example = "mean,max",
	    .of = 1 << QUERY_STATISTICS },
	{ "limit", PARAM_NUMBER, .form = "1 to 100000", .min = 1, .max = LIMIT_MAX, AT(limit),
	    .meaning = "Most metadata per answer; default 10000.", .example = "1000" },
	{ "after", PARAM_NUMBER, .form = "a number", AT(after),
	    .meaning = "Next page: the series_id that `next` of the page before names.",
	    .example = "412" },
	{ "format", PARAM_WORD, .form = "json, csv or arrow", .words = formats, AT(format),
	    .meaning = "Form of the answer; arrow is an Apache Arrow IPC stream and not a form of "
		       "/series.",
	    .example = "csv" },
	{ .name = NULL },
};

static int
take(
    struct query *q, const char *name, const char *value, unsigned *seen, char why[QUERY_WHY_BYTES])
{
	const struct param *p = param_find(query_params, name, q->what);
	unsigned bit = p != NULL ? 1U << (p - query_params) : 0;

	if (p == NULL)
		snprintf(why, QUERY_WHY_BYTES, "%.40s: there is no such parameter", name);
	else if (*seen & bit)
		snprintf(why, QUERY_WHY_BYTES, "%s: given twice", name);
	else if (!param_take(p, q, value) || (q->what == QUERY_SERIES && q->format == QUERY_ARROW))
		snprintf(why, QUERY_WHY_BYTES, "%s: %s", name, p->form);
	else {
		*seen |= bit;
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
