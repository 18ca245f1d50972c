/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/session_filter.h"

#include <errno.h>
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

static bool
take(struct session_filter *f, const char *name, const char *value)
{
	if (strcmp(name, "before") == 0)
		return take_id(&f->before, value);
	if (strcmp(name, "q") == 0)
		return take_text(f->text, value);
	if (strcmp(name, "stage") == 0)
		return take_text(f->stage, value);
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

int
session_filter_list(struct store_reader *r, const struct session_filter *f, store_session_fn *fn,
    void *arg, int64_t *next)
{
	struct listing l = { .f = f, .fn = fn, .arg = arg };
	int rc = store_sessions(r, f->before, SESSION_SCAN_MAX + 1, on_session, &l);

	*next = l.more ? l.last_id : 0;
	return rc;
}
