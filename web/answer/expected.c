/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/expected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/quantity.h"
#include "narrows/result.h"

#define MINUTE_NS INT64_C(60000000000)
#define DAY_NS    (1440 * MINUTE_NS)
enum { ROUTES_MAX = 500, BEGINS_MAX = 400, PAUSES_MIN = 10, PAUSES_WEEK_MIN = 30, REST = 100 };
/* A route that has been silent for so many pauses has ended, and is not expected any more. */
enum { ENDED_PAUSES = 10 };

/* --- told --- */

int
expected_line_parse(
    const char *text, struct expected_line *out, const char **next, const char **why)
{
	size_t len = strcspn(text, "\n"), every, program;
	char word[32];
	const char *at;

	*next = text + len + (text[len] == '\n');
	*why = "write EVERY PROGRAM ROUTE, as in: 1d rsync dtn1 -> dtn2";
	every = strcspn(text, " \t");
	if (every >= sizeof(word) || every >= len)
		return NW_EINVAL;
	snprintf(word, sizeof(word), "%.*s", (int)every, text);
	if (quantity_duration(word, &out->every_ns, why) < 0)
		return NW_EINVAL;
	*why = "a session is expected every minute at most, and once in 366 days at least";
	if (out->every_ns < MINUTE_NS || out->every_ns > 366 * DAY_NS)
		return NW_EINVAL;
	at = text + every + strspn(text + every, " \t");
	program = strcspn(at, " \t\n");
	*why = "write EVERY PROGRAM ROUTE, as in: 1d rsync dtn1 -> dtn2";
	if (program == 0 || program >= sizeof(out->program) || at[program] == '\n')
		return NW_EINVAL;
	snprintf(out->program, sizeof(out->program), "%.*s", (int)program, at);
	at += program + strspn(at + program, " \t");
	len = (size_t)(text + len - at);
	if (len == 0 || len >= sizeof(out->route))
		return NW_EINVAL;
	snprintf(out->route, sizeof(out->route), "%.*s", (int)len, at);
	return NW_OK;
}

/* --- learnt --- */

static int
int64_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Begins of runs in place of those of sessions; returns how many. */
static size_t
runs_make(int64_t *begin, size_t n, int64_t gap_ns)
{
	size_t i, runs = 0;
	int64_t before = 0;

	for (i = 0; i < n; i++) {
		int64_t at = begin[i];

		if (i == 0 || at - before > gap_ns)
			begin[runs++] = at;
		before = at;
	}
	return runs;
}

static bool
pauses_are_regular(const int64_t *rising, size_t n)
{
	double median = (double)rising[n / 2], low = (double)rising[0],
	       high = (double)rising[n - 1];

	return (n >= PAUSES_MIN && high <= 1.5 * median && low >= median / 2) ||
	    (n >= PAUSES_WEEK_MIN && high <= 3.2 * median && low >= median / 3);
}

static bool
runs_learn(const int64_t *begin, size_t n, struct expected *out)
{
	int64_t pause[BEGINS_MAX];
	size_t i;

	if (n < PAUSES_MIN + 1 || n > BEGINS_MAX || begin[n - 1] - begin[0] < 3 * DAY_NS)
		return false;
	for (i = 1; i < n; i++)
		pause[i - 1] = begin[i] - begin[i - 1];
	qsort(pause, n - 1, sizeof(*pause), int64_compare);
	if (!pauses_are_regular(pause, n - 1))
		return false;
	out->every_ns = pause[(n - 1) / 2];
	out->due_wall_ns = begin[n - 1] + pause[n - 2] + pause[n - 2] / 2;
	out->n_runs = n;
	return true;
}

bool
expected_learn(const int64_t *begin_wall_ns, size_t n, struct expected *out)
{
	int64_t begin[BEGINS_MAX], longest = 0;
	size_t i;

	if (n < 2 || n > BEGINS_MAX)
		return false;
	for (i = 1; i < n; i++)
		if (begin_wall_ns[i] - begin_wall_ns[i - 1] > longest)
			longest = begin_wall_ns[i] - begin_wall_ns[i - 1];
	memcpy(begin, begin_wall_ns, n * sizeof(*begin));
	return runs_learn(begin, runs_make(begin, n, longest / 8), out);
}

/* --- the list --- */

struct looking {
	struct expected_list *l;
	struct store_reader *r;
	const char *lines;
	int64_t now_wall_ns;
	int64_t begin[BEGINS_MAX]; /* latest first */
	size_t n;
	int64_t last_id;
	struct expected *names; /* routes and programs that may be regular */
	size_t n_names;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct looking *in = arg;

	if (in->n == 0)
		in->last_id = s->id;
	in->begin[in->n++] = res->start_wall_ns;
	return in->n == BEGINS_MAX;
}

static int
begins_read(struct looking *in, const char *route, const char *program)
{
	size_t i;
	int rc;

	in->n = 0;
	in->last_id = 0;
	/* a clock of the future made no session that says anything of the present */
	rc = store_sessions_of_route(
	    in->r, route, program, in->now_wall_ns + DAY_NS, BEGINS_MAX, on_session, in);
	for (i = 0; i < in->n / 2; i++) {
		int64_t swap = in->begin[i];

		in->begin[i] = in->begin[in->n - 1 - i];
		in->begin[in->n - 1 - i] = swap;
	}
	return rc;
}

static int
list_add(struct looking *in, const struct expected *e, const char *route, const char *program)
{
	struct expected_list *l = in->l;
	struct expected *all = reallocarray(l->all, l->n + 1, sizeof(*all)), *out;

	if (all == NULL)
		return NW_ENOMEM;
	l->all = all;
	out = &all[l->n++];
	*out = *e;
	out->route = strdup(route);
	out->program = strdup(program);
	out->last_wall_ns = in->n > 0 ? in->begin[in->n - 1] : 0;
	out->last_id = in->last_id;
	return out->route != NULL && out->program != NULL ? NW_OK : NW_ENOMEM;
}

static bool
is_told(const struct looking *in, const char *route, const char *program)
{
	struct expected_line line;
	const char *at, *why;

	for (at = in->lines; at != NULL && *at != '\0';)
		if (expected_line_parse(at, &line, &at, &why) == NW_OK &&
		    strcmp(line.route, route) == 0 && strcmp(line.program, program) == 0)
			return true;
	return false;
}

/* The store gives one answer at a time: routes are kept, and looked at afterwards. */
static int
on_route(void *arg, const struct nw_route_rec *route)
{
	struct looking *in = arg;
	struct expected *names;

	if (route->n_sessions <= PAUSES_MIN || is_told(in, route->route, route->program))
		return 0;
	if ((names = reallocarray(in->names, in->n_names + 1, sizeof(*names))) == NULL)
		return NW_ENOMEM;
	in->names = names;
	names[in->n_names++] =
	    (struct expected){ .route = strdup(route->route), .program = strdup(route->program) };
	return names[in->n_names - 1].route != NULL && names[in->n_names - 1].program != NULL
	    ? 0
	    : NW_ENOMEM;
}

static int
told_read(struct looking *in, int64_t since_wall_ns)
{
	struct expected_line line;
	const char *at, *why;
	int rc = NW_OK;

	for (at = in->lines; at != NULL && *at != '\0' && rc == NW_OK;) {
		struct expected e = { .told = true };
		int64_t last;

		if (expected_line_parse(at, &line, &at, &why) < 0 ||
		    (rc = begins_read(in, line.route, line.program)) < 0)
			continue;
		last = in->n > 0 ? in->begin[in->n - 1] : since_wall_ns;
		e.every_ns = line.every_ns;
		e.due_wall_ns = last + line.every_ns + line.every_ns / 4;
		rc = list_add(in, &e, line.route, line.program);
	}
	return rc;
}

static void
names_free(struct expected *names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(names[i].route);
		free(names[i].program);
	}
	free(names);
}

static int
learnt_read(struct looking *in)
{
	int rc = store_routes(in->r, ROUTES_MAX, on_route, in);
	size_t i;

	for (i = 0; i < in->n_names && rc == NW_OK; i++) {
		struct expected e = { .told = false };
		const struct expected *name = &in->names[i];

		rc = begins_read(in, name->route, name->program);
		if (rc == NW_OK && expected_learn(in->begin, in->n, &e) &&
		    in->now_wall_ns - e.due_wall_ns < ENDED_PAUSES * e.every_ns)
			rc = list_add(in, &e, name->route, name->program);
	}
	names_free(in->names, in->n_names);
	return rc;
}

static int
due_compare(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	return int64_compare(&x->due_wall_ns, &y->due_wall_ns);
}

int
expected_read(struct expected_list *l, struct store_reader *r, const char *lines,
    int64_t since_wall_ns, int64_t now_wall_ns, int64_t now_mono_ns)
{
	struct looking *in;
	int rc;

	if (l->made_mono_ns != 0 && now_mono_ns - l->made_mono_ns < REST * l->took_ns)
		return NW_OK;
	expected_clear(l);
	if ((in = malloc(sizeof(*in))) == NULL)
		return NW_ENOMEM;
	*in = (struct looking){ .l = l, .r = r, .lines = lines, .now_wall_ns = now_wall_ns };
	if ((rc = told_read(in, since_wall_ns)) == NW_OK)
		rc = learnt_read(in);
	free(in);
	if (rc < 0) {
		expected_clear(l);
		return rc;
	}
	if (l->n > 1)
		qsort(l->all, l->n, sizeof(*l->all), due_compare);
	l->made_mono_ns = now_mono_ns;
	l->took_ns = nw_mono_ns() - now_mono_ns;
	return rc;
}

void
expected_clear(struct expected_list *l)
{
	names_free(l->all, l->n);
	*l = (struct expected_list){ .n = 0 };
}

bool
expected_is_missing(const struct expected *e, int64_t now_wall_ns)
{
	return now_wall_ns >= e->due_wall_ns;
}

size_t
expected_n_missing(const struct expected_list *l, int64_t now_wall_ns)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		n += expected_is_missing(&l->all[i], now_wall_ns);
	return n;
}

json_t *
expected_document(const struct expected_list *l, int64_t now_wall_ns)
{
	json_t *doc = json_object(), *list = json_array(), *o;
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct expected *e = &l->all[i];

		o = json_object();
		result_put_text(o, KEY_expected_route, e->route);
		result_put_text(o, KEY_expected_program, e->program);
		result_put_flag(o, KEY_expected_told, e->told);
		result_put_real(o, KEY_expected_every_s, (double)e->every_ns / 1e9);
		result_put_iso(o, KEY_expected_last, e->last_wall_ns);
		result_set(o, KEY_expected_last_session,
		    e->last_id != 0 ? json_integer(e->last_id) : json_null());
		result_put_iso(o, KEY_expected_due, e->due_wall_ns);
		result_put_int(o, KEY_expected_runs, e->n_runs);
		result_put_flag(o, KEY_expected_missing, expected_is_missing(e, now_wall_ns));
		json_array_append_new(list, o);
	}
	result_put_text(doc, KEY_expected_list_schema, "narrows-expected/1");
	result_set(doc, KEY_expected_list_expected, list);
	return doc;
}
