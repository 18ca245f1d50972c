/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/session_filter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/quantity.h"

/* A time, a day, or a time span before now. Empty text asks for nothing. */
bool
session_filter_take_time(void *at, const char *text)
{
	int64_t *out = at;
	char day[32];
	int64_t span_ns;
	const char *why;

	if (*text == '\0')
		return true;
	snprintf(day, sizeof(day), "%.10sT00:00:00Z", text);
	if ((*out = fmt_parse_iso(strlen(text) == 10 ? day : text)) > 0)
		return true;
	if (quantity_duration(text, &span_ns, &why) < 0)
		return false;
	*out = nw_wall_ns() - span_ns;
	return true;
}

/* Rates are shown in decimal units. */
static bool
take_rate(void *out, const char *text)
{
	static const struct quantity_unit units[] = { { "", 1 }, { "B", 1 }, { "kB", 1e3 },
		{ "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 }, { "KiB", 1024 }, { "MiB", 1048576 },
		{ "GiB", 1073741824 }, { NULL, 0 } };
	const char *why;

	return *text == '\0' || quantity_parse(text, units, out, &why) == NW_OK;
}

static const char *const state_names[] = { "open", "failed", "slower", NULL };

static bool
take_state(void *out, const char *text)
{
	size_t i = 0;

	while (state_names[i] != NULL && strcmp(state_names[i], text) != 0)
		i++;
	strcpy(out, state_names[i] != NULL ? text : "");
	return *text == '\0' || state_names[i] != NULL;
}

static const char *const sort_names[] = {
	[SORT_NEWEST] = "newest",
	[SORT_SLOWEST] = "slowest",
	[SORT_FASTEST] = "fastest",
	[SORT_LONGEST] = "longest",
	[SORT_LARGEST] = "largest",
	NULL,
};

const char *
session_sort_name(enum session_sort sort)
{
	return sort_names[sort];
}

/* Empty text is the order without the parameter. */
static bool
take_sort(void *out, const char *text)
{
	static const struct param words = { .type = PARAM_WORD, .words = sort_names };

	return *text == '\0' || param_take(&words, out, text);
}

#define AT(member)  .at = offsetof(struct session_filter, member)
#define TEXT(bytes) .type = PARAM_TEXT, .max = (bytes)-1

const struct param session_params[] = {
	{ "before", PARAM_NUMBER, 1, INT64_MAX, AT(before),
	    .meaning = "Sessions behind this one in the order of the list.",
	    .form = "a number, as next_before of the page before has it", .example = "120" },
	{ "sort", PARAM_WORD, .words = sort_names, .take = take_sort, AT(sort),
	    .meaning = "Order; by a number, sessions without that number are left out.",
	    .form = "newest, slowest, fastest, longest or largest", .example = "slowest" },
	{ "limit", PARAM_NUMBER, 1, SESSION_LIST_LIMIT_MAX, AT(limit),
	    .meaning = "Entries of a page, 50 if missing.", .form = "1 to 1000", .example = "50" },
	{ "search", .also = "q", TEXT(SESSION_FILTER_BYTES), AT(text),
	    .meaning = "Part of the task, route, program, label or sentence.", .form = "text",
	    .example = "rsync" },
	{ "stage", .also = "verdict", TEXT(SESSION_FILTER_BYTES), AT(stage),
	    .meaning = "Stage that limited the session.", .form = "a stage or none",
	    .example = "disk.write" },
	{ "program", TEXT(SESSION_FILTER_BYTES), AT(program),
	    .meaning = "Program that moved the data.", .form = "text", .example = "rsync" },
	{ "label", TEXT(SESSION_FILTER_BYTES), AT(label),
	    .meaning = "The user's name for the session.", .form = "text", .example = "nightly" },
	{ "host", TEXT(SESSION_HOST_BYTES), AT(host), .meaning = "One of the hosts of the route.",
	    .form = "a name", .example = "dtn1" },
	{ "route", TEXT(SESSION_ROUTE_BYTES), AT(route), .meaning = "The route as the list has it.",
	    .form = "text", .example = "dtn1%20-%3E%20dtn2" },
	{ "state", PARAM_WORD, .words = state_names, .take = take_state, AT(state),
	    .meaning = "Sessions that still run, whose program failed, or slower than usual.",
	    .form = "open, failed or slower", .example = "failed" },
	{ "from", .also = "since", .take = session_filter_take_time, AT(since_wall_ns),
	    .meaning = "Begin at this time or later.", .form = "ISO 8601, or a span before now",
	    .example = "2026-11-20T08:00:00Z" },
	{ "to", .also = "until", .take = session_filter_take_time, AT(until_wall_ns),
	    .meaning = "Begin before this time.", .form = "ISO 8601, or a span before now",
	    .example = "7d" },
	{ "rate_min", .take = take_rate, AT(rate_min),
	    .meaning = "Mean rate of at least so many bytes a second.", .form = "a size",
	    .example = "10MB" },
	{ "rate_max", .take = take_rate, AT(rate_max),
	    .meaning = "Mean rate of at most so many bytes a second.", .form = "a size",
	    .example = "1GB" },
	{ .name = NULL },
};

const struct param route_params[] = {
	{ "route", TEXT(SESSION_ROUTE_BYTES), AT(route),
	    .meaning = "The route as the list of routes has it.", .form = "text",
	    .example = "dtn1%20-%3E%20dtn2" },
	{ "program", TEXT(SESSION_FILTER_BYTES), AT(program),
	    .meaning = "Program; empty for an unknown one.", .form = "text", .example = "rsync" },
	{ .name = NULL },
};

const struct param host_params[] = {
	{ "host", TEXT(SESSION_HOST_BYTES), AT(host), .meaning = "Name of the host.",
	    .form = "text", .example = "dtn1" },
	{ .name = NULL },
};

static bool
take(struct session_filter *f, const char *name, const char *value)
{
	const struct param *p = param_find(session_params, name, 0);
	bool ok = p == NULL || param_take(p, f, value);

	if (!ok)
		f->bad = p;
	return ok;
}

/* NAME=VALUE, with the value encoded; other text is no parameter. */
static bool
take_part(struct session_filter *f, const char *part, size_t len)
{
	const char *is = memchr(part, '=', len);
	char name[16], *raw, *value = NULL;
	bool ok = true;

	if (is == NULL || (size_t)(is - part) >= sizeof(name))
		return true;
	memcpy(name, part, (size_t)(is - part));
	name[is - part] = '\0';
	if ((raw = strndup(is + 1, len - (size_t)(is + 1 - part))) != NULL &&
	    (value = evhttp_uridecode(raw, 1, NULL)) != NULL)
		ok = take(f, name, value);
	free(value);
	free(raw);
	return ok;
}

int
session_filter_parse(struct session_filter *f, const char *query)
{
	size_t len;

	*f = (struct session_filter){ 0 };
	for (; query != NULL && *query != '\0'; query += len + (query[len] == '&')) {
		len = strcspn(query, "&");
		if (!take_part(f, query, len))
			return NW_EINVAL;
	}
	return NW_OK;
}

static bool
has(const char *text, const char *part)
{
	return text != NULL && strcasestr(text, part) != NULL;
}

static bool
is_text(const char *text, const char *wanted)
{
	return *wanted == '\0' || (text != NULL && strcmp(text, wanted) == 0);
}

/* Whether one of the names in "dtn-a -> dtn-b" or "vm (local)" is the host. */
bool
session_route_has(const char *route, const char *host)
{
	size_t len;

	for (; route != NULL && *route != '\0'; route += len + strspn(route + len, " ->")) {
		len = strcspn(route, " ");
		if (strlen(host) == len && strncmp(route, host, len) == 0)
			return true;
	}
	return false;
}

bool
session_state_passes(const char *state, bool open, double exit_status, double usual)
{
	switch (*state) {
	case 'o': return open;
	case 'f': return exit_status > 0;
	case 's': return usual >= SESSION_SLOWER;
	default: return true;
	}
}

bool
session_numbers_pass(const struct session_filter *f, int64_t start_wall_ns, double bytes_per_s)
{
	return (f->since_wall_ns == 0 || start_wall_ns >= f->since_wall_ns) &&
	    (f->until_wall_ns == 0 || start_wall_ns < f->until_wall_ns) &&
	    (!(f->rate_min > 0) || bytes_per_s >= f->rate_min) &&
	    (!(f->rate_max > 0) || bytes_per_s <= f->rate_max);
}

int64_t
session_start_wall_ns(const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	return res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns;
}

bool
session_filter_passes(
    const struct session_filter *f, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	static const struct nw_result_rec none = {
		.bytes_per_s = NAN, .usual = NAN, .exit_status = NAN
	};
	const struct nw_result_rec *known = res != NULL ? res : &none;
	const char *program = known->program != NULL ? known->program : s->program;
	const bool no_stage = strcmp(f->stage, "none") == 0;

	if (no_stage ? known->stage != NULL : !is_text(known->stage, f->stage))
		return false;
	if (!is_text(program, f->program) || !is_text(known->label, f->label) ||
	    !is_text(known->route, f->route) ||
	    (f->host[0] != '\0' && !session_route_has(known->route, f->host)) ||
	    !session_state_passes(
		f->state, s->closed_wall_ns == 0, known->exit_status, known->usual) ||
	    !session_numbers_pass(f, session_start_wall_ns(s, res), known->bytes_per_s))
		return false;
	return f->text[0] == '\0' || has(s->task_id, f->text) || has(program, f->text) ||
	    has(known->route, f->text) || has(known->label, f->text) ||
	    has(known->sentence, f->text);
}

bool
session_is_idle(const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	return s->closed_wall_ns != 0 && res != NULL && res->stage == NULL && !(res->bytes > 0) &&
	    !(res->exit_status > 0);
}
