/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "send/memory.h"

enum { BATCH_MAX = 1000, MARKS_MAX = 4000 };
/* A fleet without memory gets the rows of the last hour again. */
static const int64_t KEPT_NS = INT64_C(3600) * 1000000000;

/*
 * What is remembered, as JSON: "fleet" and "site" of the last push, "run", the newest run that the
 * fleet has, and "marks", [time in ns, run] of batches of the last hour, oldest first. The first
 * mark is at least an hour old, if so old a batch was. "gone" are the numbers of deleted sessions,
 * and with "gone_to" all sessions up to that number are deleted.
 */

static bool
is_same(const json_t *memory, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(memory, key));

	return text != NULL && strcmp(text, value) == 0;
}

static int64_t
run_of(const json_t *memory)
{
	return (int64_t)json_integer_value(json_object_get(memory, "run"));
}

/* Another fleet or site lacks everything, and so does the fleet of a box whose numbers of runs
 * begin again, because its store is another one. */
static void
memory_begin(json_t *memory, const struct fleet_push *p, int64_t newest_run)
{
	if (!p->all && is_same(memory, "fleet", p->conf->fleet) &&
	    is_same(memory, "site", p->conf->site) && run_of(memory) <= newest_run)
		return;
	json_object_set_new(memory, "fleet", json_string(p->conf->fleet));
	json_object_set_new(memory, "site", json_string(p->conf->site));
	json_object_set_new(memory, "run", json_integer(0));
	json_object_set_new(memory, "marks", json_array());
}

static void
memory_put(json_t *memory, int64_t now_wall_ns, int64_t run)
{
	json_t *marks = json_object_get(memory, "marks"), *second;

	json_object_set_new(memory, "run", json_integer((json_int_t)run));
	json_array_append_new(marks, json_pack("[I, I]", (json_int_t)now_wall_ns, (json_int_t)run));
	while ((second = json_array_get(marks, 1)) != NULL &&
	    (json_array_size(marks) > MARKS_MAX ||
		json_integer_value(json_array_get(second, 0)) < now_wall_ns - KEPT_NS))
		json_array_remove(marks, 0);
}

/* Back to the run before the last hour. */
static void
memory_back(json_t *memory, int64_t now_wall_ns)
{
	const json_t *mark = json_array_get(json_object_get(memory, "marks"), 0);
	bool is_old = json_integer_value(json_array_get(mark, 0)) < now_wall_ns - KEPT_NS;

	json_object_set_new(
	    memory, "run", json_integer(is_old ? json_integer_value(json_array_get(mark, 1)) : 0));
}

/* --- the push --- */

struct pushing {
	struct fleet_push *p;
	struct outbox_newest newest;
	int64_t *gone, gone_to; /* in order */
	size_t n_gone;
	json_t *memory;
	struct veil *veil;
	struct fleet *fleet;
};

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
gone_read(struct pushing *s)
{
	const json_t *list = json_object_get(s->memory, "gone");
	size_t i, n = json_array_size(list);

	s->gone_to = (int64_t)json_integer_value(json_object_get(s->memory, "gone_to"));
	s->gone = xcalloc(n + 1, sizeof(*s->gone));
	for (i = 0; i < n; i++)
		s->gone[i] = (int64_t)json_integer_value(json_array_get(list, i));
	qsort(s->gone, n, sizeof(*s->gone), compare);
	s->n_gone = n;
}

/* Deleted sessions do not leave any more. */
static void
gone_drop(const struct pushing *s, struct fleet_rows *rows)
{
	size_t i, c, n = 0;

	for (i = 0; i < rows->n; i++) {
		const int64_t session = rows->row[i].cell[FLEET_session].i;

		if (session > s->gone_to &&
		    bsearch(&session, s->gone, s->n_gone, sizeof(*s->gone), compare) == NULL) {
			rows->row[n++] = rows->row[i];
			continue;
		}
		for (c = 0; c < FLEET_COLUMNS; c++)
			free(rows->row[i].cell[c].text);
	}
	rows->n = n;
}

static int
opened(struct pushing *s, char why[FLEET_WHY_BYTES])
{
	char *hosts = NULL;
	int rc = outbox_hosts(s->p->store_path, &hosts, &s->newest, why);

	if (rc == NW_OK)
		rc = veil_open(s->p->conf, hosts, &s->veil, why);
	free(hosts);
	if (rc == NW_OK && (s->memory = memory_read(s->p->memory_path, why)) == NULL)
		rc = NW_EINVAL;
	if (rc == NW_OK)
		memory_begin(s->memory, s->p, s->newest.run);
	if (rc == NW_OK)
		gone_read(s);
	return rc;
}

static void
closed(struct pushing *s)
{
	fleet_close(s->fleet);
	veil_close(s->veil);
	json_decref(s->memory);
	free(s->gone);
}

static void
wait_for_rate(size_t n, uint64_t rate)
{
	double s = (double)n / (double)rate;
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

/* *looked 0: the fleet has all. */
static int
batch_push(struct pushing *s, size_t *looked, char why[FLEET_WHY_BYTES])
{
	size_t max = s->p->conf->rate < BATCH_MAX ? (size_t)s->p->conf->rate : BATCH_MAX;
	const struct fleet_engine *engine;
	struct fleet_rows rows = { 0 };
	int64_t last_run;
	void *e;
	int rc;

	engine = fleet_engine_of(s->fleet, &e);
	rc = outbox_read(s->p->store_path, s->p->conf, s->veil, run_of(s->memory), max, &rows,
	    &last_run, looked, why);
	gone_drop(s, &rows);
	if (rc == NW_OK && rows.n > 0)
		rc = engine->put(e, rows.row, rows.n, why);
	if (rc == NW_OK && *looked > 0) {
		s->p->sent += rows.n;
		s->p->kept += *looked - rows.n;
		memory_put(s->memory, nw_wall_ns(), last_run);
		rc = memory_write(s->p->memory_path, s->memory, why);
		if (*looked == max)
			wait_for_rate(rows.n, s->p->conf->rate);
	}
	fleet_rows_clear(&rows);
	return rc;
}

int
fleet_push(struct fleet_push *p, char why[FLEET_WHY_BYTES])
{
	const struct fleet_site site = { p->conf->site, nw_wall_ns(), p->clock, NW_VERSION };
	struct pushing s = { .p = p };
	const struct fleet_engine *engine;
	size_t looked = 1;
	bool forgot = false;
	void *e;
	int64_t last_ns;
	int rc = opened(&s, why);

	if (rc == NW_OK)
		rc = fleet_open(p->conf, true, &s.fleet, why);
	if (rc == NW_OK) {
		engine = fleet_engine_of(s.fleet, &e);
		last_ns = (int64_t)json_integer_value(json_object_get(s.memory, "told_ns"));
		if (last_ns > 0 && engine->forgot != NULL)
			rc = engine->forgot(e, last_ns, &forgot, why);
		if (forgot)
			memory_back(s.memory, nw_wall_ns());
		while (rc == NW_OK && looked > 0)
			rc = batch_push(&s, &looked, why);
		if (rc == NW_OK)
			rc = engine->put_site(e, &site, why);
		json_object_set_new(s.memory, "told_ns", json_integer((json_int_t)site.seen_ns));
		if (rc == NW_OK)
			rc = memory_write(p->memory_path, s.memory, why);
	}
	closed(&s);
	return rc;
}

int
fleet_preview(const struct fleet_push *p, size_t max,
    void (*fn)(void *arg, const struct fleet_row *r), void *arg, char why[FLEET_WHY_BYTES])
{
	struct fleet_push copy = *p;
	struct pushing s = { .p = &copy };
	struct fleet_rows rows = { 0 };
	int64_t last_run;
	size_t looked, i, n = 0;
	int rc = opened(&s, why);

	if (rc == NW_OK)
		last_run = run_of(s.memory);
	while (rc == NW_OK && n < max) {
		rc = outbox_read(p->store_path, p->conf, s.veil, last_run,
		    max - n < BATCH_MAX ? max - n : BATCH_MAX, &rows, &last_run, &looked, why);
		gone_drop(&s, &rows);
		for (i = 0; rc == NW_OK && i < rows.n; i++, n++)
			fn(arg, &rows.row[i]);
		fleet_rows_clear(&rows);
		if (looked == 0)
			break;
	}
	closed(&s);
	return rc;
}

static int
gone_remember(struct pushing *s, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	json_t *list = json_object_get(s->memory, "gone");
	size_t i;

	if (list == NULL) {
		list = json_array();
		json_object_set_new(s->memory, "gone", list);
	}
	for (i = 0; i < n; i++)
		if (sessions[i] > s->gone_to &&
		    bsearch(&sessions[i], s->gone, s->n_gone, sizeof(*s->gone), compare) == NULL)
			json_array_append_new(list, json_integer((json_int_t)sessions[i]));
	if (n == 0) {
		json_array_clear(list);
		json_object_set_new(
		    s->memory, "gone_to", json_integer((json_int_t)s->newest.session));
	}
	return memory_write(s->p->memory_path, s->memory, why);
}

int
fleet_delete(struct fleet_push *p, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	struct pushing s = { .p = p };
	const struct fleet_engine *engine;
	void *e;
	int rc = opened(&s, why);

	if (rc == NW_OK)
		rc = gone_remember(&s, sessions, n, why);
	if (rc == NW_OK && (rc = fleet_open(p->conf, true, &s.fleet, why)) == NW_OK) {
		engine = fleet_engine_of(s.fleet, &e);
		rc = engine->remove(e, p->conf->site, sessions, n, why);
	}
	closed(&s);
	return rc;
}
