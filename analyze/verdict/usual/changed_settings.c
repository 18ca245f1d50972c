/* SPDX-License-Identifier: BSD-3-Clause */
/* Changed settings of the hosts of a route. */
#include "analyze/verdict/usual/changed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum { LINES_MAX = 20000 };

/* A line of the history of a setting. */
struct line {
	char *name, *value, *before; /* value and before may be NULL */
	int64_t t_wall_ns;
	bool first;
};

struct lines {
	struct line *line;
	size_t n;
};

static int
on_line(void *arg, const struct nw_setting_rec *s)
{
	struct lines *l = arg;

	if (l->n == LINES_MAX)
		return 1;
	l->line = xreallocarray(l->line, l->n + 1, sizeof(*l->line));
	l->line[l->n++] = (struct line){ xstrdup(s->name), xstrdup(s->value), xstrdup(s->before),
		s->t_wall_ns, s->first };
	return 0;
}

static void
lines_clear(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		free(l->line[i].name);
		free(l->line[i].value);
		free(l->line[i].before);
	}
	free(l->line);
}

static int
line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : x->t_wall_ns < y->t_wall_ns ? -1 : x->t_wall_ns > y->t_wall_ns;
}

/* Settings with changes of their own, or with another setting in their place. */
static bool
is_noise(const char *name)
{
	return strcmp(name, "kernel.boot_time") == 0;
}

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Settings of passing things (mounts, interfaces, disks) begin with the thing. All other
 * settings existed before their first report. */
static bool
is_of_a_thing(const char *name)
{
	static const char *const groups[] = { "mount.", "net.", "disk." };
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strncmp(name, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

/* The value at a time: the last line up to the time, or the value before the first line. Before
 * the host's first report of a setting, the value counts as the first reported value: a newer
 * blipp reports more, and a program reports its build at its first run. */
static const char *
value_at(const struct line *line, size_t n, int64_t t_wall_ns)
{
	const bool told_first =
	    line[0].first || (line[0].before == NULL && !is_of_a_thing(line[0].name));

	size_t i;

	for (i = 0; i < n && line[i].t_wall_ns <= t_wall_ns; i++)
		;
	return i > 0 ? line[i - 1].value : told_first ? line[0].value : line[0].before;
}

struct setting_test {
	const struct changed_ask *ask;
	struct changed *out;
	const char *host;
	size_t host_at;
	int64_t *quiet_wall_ns; /* changes outside of the interval */
	size_t n_quiet;
};

/* The end of a session, when its settings are known: blipp reports a change seconds after the
 * session's start. */
static int64_t
settled(const struct changed_ask *ask, size_t i)
{
	const struct past_session *p = &ask->session[i];
	double took_s = p->bytes_per_s > 0 ? p->bytes / p->bytes_per_s : 0;

	return p->start_wall_ns + (isfinite(took_s) && took_s < 1e6 ? (int64_t)(took_s * 1e9) : 0);
}

/* The sessions that a change is compared by: `base` has the old value. */
static size_t
base_of(const struct changed_ask *ask)
{
	return ask->low > 1 ? ask->low - 2 : 0;
}

/* The line of the change to the new value; n: no session since the base has another value. */
static size_t
change_find(const struct changed_ask *ask, const struct line *line, size_t n, size_t *first)
{
	const char *base = value_at(line, n, settled(ask, base_of(ask)));
	size_t i;

	for (*first = base_of(ask) + 1; *first < ask->n; ++*first)
		if (!is_same(value_at(line, n, settled(ask, *first)), base))
			break;
	if (*first >= ask->n)
		return n;
	for (i = n; i-- > 0 && line[i].t_wall_ns > settled(ask, *first);)
		;
	return i < n ? i : 0;
}

static bool *
moved_of(const struct changed_ask *ask, const struct line *line, size_t n, const char *value)
{
	const char *base = value_at(line, n, settled(ask, base_of(ask))), *at;
	bool *moved = xcalloc(ask->n, sizeof(*moved));
	size_t i;

	for (i = 0; i < ask->n; i++) {
		at = value_at(line, n, settled(ask, i));
		moved[i] = i + 1 < ask->low ? is_same(at, value) : !is_same(at, base);
	}
	return moved;
}

/* Changes that came before the interval, and so had no effect. */
static void
quiet_add(struct setting_test *t, const struct line *line, size_t n)
{
	const int64_t until = settled(t->ask, base_of(t->ask));
	size_t i;

	for (i = 0; i < n; i++)
		if (line[i].t_wall_ns <= until && !line[i].first && line[i].before != NULL) {
			t->quiet_wall_ns = xreallocarray(
			    t->quiet_wall_ns, t->n_quiet + 1, sizeof(*t->quiet_wall_ns));
			t->quiet_wall_ns[t->n_quiet++] = line[i].t_wall_ns;
		}
}

/* A setting with lines in time order. */
static void
setting_test(struct setting_test *t, const struct line *line, size_t n)
{
	const struct changed_ask *ask = t->ask;
	struct difference *d;
	size_t first, change = change_find(ask, line, n, &first);
	const char *value;

	quiet_add(t, line, n);
	if (change == n)
		return;
	value = value_at(line, n, settled(ask, first));
	d = changed_add(t->out, DIFFERENCE_SETTING);
	d->name = xstrdup(line[0].name);
	d->host = xstrdup(t->host);
	d->host_at = t->host_at;
	d->before_text = xstrdup(value_at(line, n, settled(ask, base_of(ask))));
	d->after_text = xstrdup(value);
	d->at_wall_ns = line[change].t_wall_ns;
	d->moved = moved_of(ask, line, n, value);
	t->out->n_settings++;
}

static void
host_test(struct setting_test *t, struct lines *l)
{
	size_t i, end;

	qsort(l->line, l->n, sizeof(*l->line), line_compare);
	for (i = 0; i < l->n; i = end) {
		for (end = i; end < l->n && strcmp(l->line[end].name, l->line[i].name) == 0; end++)
			;
		if (!is_noise(l->line[i].name))
			setting_test(t, &l->line[i], end - i);
	}
}

static int
time_compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Counts simultaneous changes once. */
static size_t
moments_count(int64_t *t_wall_ns, size_t n)
{
	size_t i, moments = 0;

	if (n > 0)
		qsort(t_wall_ns, n, sizeof(*t_wall_ns), time_compare);
	for (i = 0; i < n; i++)
		moments += i == 0 || t_wall_ns[i] != t_wall_ns[i - 1];
	return moments;
}

/* Moves of the found settings on all hosts, until a day before the last usual session: a change
 * that comes to many hosts at once is no quiet one. */
static int
moves_count(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	const int64_t until =
	    ask->session[ask->low > 0 ? ask->low - 1 : 0].start_wall_ns - INT64_C(86400000000000);
	struct difference *d;
	int rc = NW_OK;

	for (d = out->difference; d < out->difference + out->n && rc == NW_OK; d++)
		rc = store_config_moves(r, d->name, until, &d->n_quiet);
	return rc;
}

int
changed_settings(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	struct setting_test t = { .ask = ask, .out = out };
	int rc = NW_OK;

	for (; t.host_at < ask->evidence->n_hosts && rc == NW_OK; t.host_at++) {
		const struct evidence_host *host = &ask->evidence->hosts[t.host_at];
		struct lines l = { 0 };

		t.host = host->name;
		rc = store_config_changes(r, host->id, ask->session[0].start_wall_ns,
		    settled(ask, ask->n - 1), on_line, &l);
		if (rc == NW_OK && l.n > 0)
			host_test(&t, &l);
		lines_clear(&l);
	}
	out->n_survived = moments_count(t.quiet_wall_ns, t.n_quiet);
	free(t.quiet_wall_ns);
	return rc == NW_OK ? moves_count(r, ask, out) : rc;
}
