/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/session_filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "narrows/err.h"

static bool
take_text(char out[SESSION_FILTER_BYTES], const char *text)
{
	if (strlen(text) >= SESSION_FILTER_BYTES)
		return false;
	strcpy(out, text);
	return true;
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
	if (strcmp(name, "before") == 0)
		return take_id(&f->before, value);
	if (strcmp(name, "q") == 0)
		return take_text(f->text, value);
	if (strcmp(name, "stage") == 0)
		return take_text(f->stage, value);
	if (strcmp(name, "sort") == 0)
		return take_sort(&f->sort, value);
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

bool
session_filter_passes(
    const struct session_filter *f, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	const char *stage = res != NULL ? res->stage : NULL;

	if (f->stage[0] != '\0' && strcmp(stage != NULL ? stage : "none", f->stage) != 0)
		return false;
	return f->text[0] == '\0' || has(s->task_id, f->text) || has(s->program, f->text) ||
	    (res != NULL &&
		(has(res->route, f->text) || has(res->program, f->text) ||
		    has(res->sentence, f->text)));
}

bool
session_is_idle(const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	return s->closed_wall_ns != 0 && res != NULL && res->stage == NULL && !(res->bytes > 0);
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
