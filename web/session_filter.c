/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/session_filter.h"

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
static bool
route_has(const char *route, const char *host)
{
	size_t len;

	if (*host == '\0')
		return true;
	for (; route != NULL && *route != '\0'; route += len + strspn(route + len, " ->")) {
		len = strcspn(route, " ");
		if (strlen(host) == len && strncmp(route, host, len) == 0)
			return true;
	}
	return false;
}

static bool
state_passes(const char *state, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	switch (*state) {
	case 'o': return s->closed_wall_ns == 0;
	case 'f': return res != NULL && res->exit_status > 0;
	case 's': return res != NULL && res->usual >= SESSION_SLOWER;
	default: return true;
	}
}

static bool
numbers_pass(
    const struct session_filter *f, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	int64_t start =
	    res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns;
	double rate = res != NULL ? res->bytes_per_s : NAN;

	return (f->since_wall_ns == 0 || start >= f->since_wall_ns) &&
	    (f->until_wall_ns == 0 || start < f->until_wall_ns) &&
	    (!(f->rate_min > 0) || rate >= f->rate_min) &&
	    (!(f->rate_max > 0) || rate <= f->rate_max);
}

bool
session_filter_passes(
    const struct session_filter *f, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	const char *stage = res != NULL ? res->stage : NULL;

	if (f->stage[0] != '\0' && strcmp(stage != NULL ? stage : "none", f->stage) != 0)
		return false;
	if (!is_text(res != NULL && res->program != NULL ? res->program : s->program, f->program) ||
	    !is_text(res != NULL ? res->label : NULL, f->label) ||
	    !is_text(res != NULL ? res->route : NULL, f->route) ||
	    !route_has(res != NULL ? res->route : NULL, f->host) ||
	    !state_passes(f->state, s, res) || !numbers_pass(f, s, res))
		return false;
	return f->text[0] == '\0' || has(s->task_id, f->text) || has(s->program, f->text) ||
	    (res != NULL &&
		(has(res->route, f->text) || has(res->program, f->text) ||
		    has(res->label, f->text) || has(res->sentence, f->text)));
}

bool
session_is_idle(const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	return s->closed_wall_ns != 0 && res != NULL && res->stage == NULL && !(res->bytes > 0) &&
	    !(res->exit_status > 0);
}

struct listing {
	const struct session_filter *f;
	store_session_fn *fn;
	void *arg;
	int64_t last_id;
	size_t n, n_seen;
	bool more;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *l = arg;
	int rc = 0;

	if (l->n == SESSION_LIST_MAX || l->n_seen == SESSION_SCAN_MAX) {
		l->more = true;
		return 1;
	}
	l->n_seen++;
	l->last_id = s->id;
	if (session_filter_passes(l->f, s, res)) {
		rc = l->fn(l->arg, s, res);
		l->n++;
	}
	return rc;
}

/* --- by a number --- */

/* A session of the list, copied because the store's texts end with the callback. */
struct kept {
	struct nw_session_rec s;
	struct nw_result_rec res;
	double rank; /* the highest comes first */
};

struct ranking {
	struct listing l;
	struct kept kept[SESSION_LIST_MAX];
	bool no_memory;
};

static char *
copied(struct ranking *k, const char *text)
{
	char *copy = text != NULL ? strdup(text) : NULL;

	k->no_memory |= text != NULL && copy == NULL;
	return copy;
}

static void
kept_take(struct ranking *k, struct kept *to, const struct nw_session_rec *s,
    const struct nw_result_rec *res)
{
	to->s = *s;
	to->res = *res;
	to->res.json = NULL;
	to->s.task_id = copied(k, s->task_id);
	to->s.program = copied(k, s->program);
	to->res.route = copied(k, res->route);
	to->res.program = copied(k, res->program);
	to->res.stage = copied(k, res->stage);
	to->res.confidence = copied(k, res->confidence);
	to->res.sentence = copied(k, res->sentence);
	to->res.label = copied(k, res->label);
}

static void
kept_free(struct kept *old)
{
	free((char *)old->s.task_id);
	free((char *)old->s.program);
	free((char *)old->res.route);
	free((char *)old->res.program);
	free((char *)old->res.stage);
	free((char *)old->res.confidence);
	free((char *)old->res.sentence);
	free((char *)old->res.label);
}

/* NaN for a session without the number. */
static double
rank_of(enum session_sort sort, const struct nw_result_rec *res)
{
	if (!(res->bytes > 0))
		return NAN;
	switch (sort) {
	case SORT_SLOWEST: return -res->bytes_per_s;
	case SORT_FASTEST: return res->bytes_per_s;
	case SORT_LONGEST: return (double)res->duration_ns;
	default: return res->bytes;
	}
}

/* Of equal sessions the newest comes first. */
static int
on_ranked(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct ranking *k = arg;
	struct listing *l = &k->l;
	double rank;
	size_t at;

	if (l->n_seen == SESSION_SCAN_MAX) {
		l->more = true;
		return 1;
	}
	l->n_seen++;
	l->last_id = s->id;
	if (res == NULL || !session_filter_passes(l->f, s, res))
		return 0;
	rank = rank_of(l->f->sort, res);
	for (at = l->n; at > 0 && rank > k->kept[at - 1].rank; at--)
		;
	if (isnan(rank) || at == SESSION_LIST_MAX)
		return 0;
	if (l->n == SESSION_LIST_MAX)
		kept_free(&k->kept[--l->n]);
	memmove(&k->kept[at + 1], &k->kept[at], (l->n - at) * sizeof(k->kept[0]));
	k->kept[at].rank = rank;
	kept_take(k, &k->kept[at], s, res);
	l->n++;
	return k->no_memory ? NW_ENOMEM : 0;
}

static int
ranking_list(struct store_reader *r, const struct session_filter *f, store_session_fn *fn,
    void *arg, int64_t *next)
{
	struct ranking *k = calloc(1, sizeof(*k));
	size_t i;
	int rc;

	if (k == NULL)
		return NW_ENOMEM;
	k->l.f = f;
	rc = store_sessions(r, f->before, SESSION_SCAN_MAX + 1, on_ranked, k);
	*next = k->l.more ? k->l.last_id : 0;
	for (i = 0; i < k->l.n; i++) {
		if (rc == NW_OK)
			rc = fn(arg, &k->kept[i].s, &k->kept[i].res);
		kept_free(&k->kept[i]);
	}
	free(k);
	return rc;
}

int
session_filter_list(struct store_reader *r, const struct session_filter *f, store_session_fn *fn,
    void *arg, int64_t *next)
{
	struct listing l = { .f = f, .fn = fn, .arg = arg };
	int rc;

	if (f->sort != SORT_NEWEST)
		return ranking_list(r, f, fn, arg, next);
	rc = store_sessions(r, f->before, SESSION_SCAN_MAX + 1, on_session, &l);
	*next = l.more ? l.last_id : 0;
	return rc;
}
