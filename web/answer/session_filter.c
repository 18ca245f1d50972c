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

/* What a query may ask for, and where the text goes. */
const struct session_param session_params[] = {
	{ "q", "Part of the task, route, program, label or sentence.", "text", "rsync" },
	{ "stage", "Stage that limited the session.", "a stage or none", "disk.write" },
	{ "program", "Program that moved the data.", "text", "rsync" },
	{ "label", "The user's name for the session.", "text", "nightly" },
	{ "host", "One of the hosts of the route.", "a name", "dtn1" },
	{ "route", "The route as the list has it.", "text", "dtn1%20-%3E%20dtn2" },
	{ "state", "Sessions that still run, whose program failed, or slower than usual.",
	    "open, failed or slower", "failed" },
	{ "since", "Begin at this time or later.", "ISO 8601, or a span before now",
	    "2026-11-20T08:00:00Z" },
	{ "until", "Begin before this time.", "ISO 8601, or a span before now", "7d" },
	{ "rate_min", "Mean rate of at least so many bytes a second.", "a size", "10MB" },
	{ "rate_max", "Mean rate of at most so many bytes a second.", "a size", "1GB" },
};
const size_t session_params_count = sizeof(session_params) / sizeof(session_params[0]);

static bool
take_text(char *out, size_t size, const char *text)
{
	if (strlen(text) >= size)
		return false;
	strcpy(out, text);
	return true;
}

/* A time, a day, or a time span before now. Empty text asks for nothing. */
static bool
take_time(int64_t *out, const char *text)
{
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
take_rate(double *out, const char *text)
{
	static const struct quantity_unit units[] = { { "", 1 }, { "B", 1 }, { "kB", 1e3 },
		{ "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 }, { "KiB", 1024 }, { "MiB", 1048576 },
		{ "GiB", 1073741824 }, { NULL, 0 } };
	const char *why;

	return *text == '\0' || quantity_parse(text, units, out, &why) == NW_OK;
}

static bool
take_state(char *out, size_t size, const char *text)
{
	return (*text == '\0' || strcmp(text, "open") == 0 || strcmp(text, "failed") == 0 ||
		   strcmp(text, "slower") == 0) &&
	    take_text(out, size, text);
}

static bool
take_id(int64_t *out, const char *text)
{
	char *end;

	if (*text < '1' || *text > '9')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static const char *const sort_names[] = {
	[SORT_NEWEST] = "newest",
	[SORT_SLOWEST] = "slowest",
	[SORT_FASTEST] = "fastest",
	[SORT_LONGEST] = "longest",
	[SORT_LARGEST] = "largest",
};

const char *
session_sort_name(enum session_sort sort)
{
	return sort_names[sort];
}

/* Empty text is the order without the parameter. */
static bool
take_sort(enum session_sort *out, const char *text)
{
	size_t i;

	if (*text == '\0')
		return true;
	for (i = 0; i < sizeof(sort_names) / sizeof(sort_names[0]); i++)
		if (strcmp(sort_names[i], text) == 0) {
			*out = (enum session_sort)i;
			return true;
		}
	return false;
}

static bool
take(struct session_filter *f, const char *name, const char *value)
{
	const struct {
		const char *name;
		char *text;
		size_t size;
	} texts[] = {
		{ "q", f->text, sizeof(f->text) },
		{ "stage", f->stage, sizeof(f->stage) },
		{ "program", f->program, sizeof(f->program) },
		{ "label", f->label, sizeof(f->label) },
		{ "host", f->host, sizeof(f->host) },
		{ "route", f->route, sizeof(f->route) },
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(name, texts[i].name) == 0)
			return take_text(texts[i].text, texts[i].size, value);
	if (strcmp(name, "before") == 0)
		return take_id(&f->before, value);
	if (strcmp(name, "limit") == 0)
		return take_id(&f->limit, value) && f->limit <= SESSION_LIST_LIMIT_MAX;
	if (strcmp(name, "sort") == 0)
		return take_sort(&f->sort, value);
	if (strcmp(name, "state") == 0)
		return take_state(f->state, sizeof(f->state), value);
	if (strcmp(name, "since") == 0)
		return take_time(&f->since_wall_ns, value);
	if (strcmp(name, "until") == 0)
		return take_time(&f->until_wall_ns, value);
	if (strcmp(name, "rate_min") == 0)
		return take_rate(&f->rate_min, value);
	if (strcmp(name, "rate_max") == 0)
		return take_rate(&f->rate_max, value);
	return true;
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
