/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "fleet/fleet_outbox.h"
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
 * and with "gone_to" all sessions up to that number are deleted. "given" are the sessions whose
 * chunks leave although they are not pinned, "chunks" has the run of each session whose chunks the
 * fleet has. Days of runs after "levels_run" are to be counted anew, and "levels_ns" is the time of
 * the last count. "asked" is true once the fleet was asked for the deleted sessions, which a lost
 * memory does not have.
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
	json_object_set_new(memory, "levels_run", json_integer(0));
	json_object_set_new(memory, "marks", json_array());
	json_object_set_new(memory, "chunks", json_object());
	json_object_set_new(memory, "asked", json_false());
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
	json_int_t run = is_old ? json_integer_value(json_array_get(mark, 1)) : 0;

	json_object_set_new(memory, "run", json_integer(run));
	if (json_integer_value(json_object_get(memory, "levels_run")) > run)
		json_object_set_new(memory, "levels_run", json_integer(run));
	json_object_set_new(memory, "chunks", json_object());
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

/* The numbers of a list of the memory, in order; free() them. */
static int64_t *
numbers_of(const json_t *memory, const char *key, size_t *n)
{
	const json_t *list = json_object_get(memory, key);
	int64_t *numbers;
	size_t i;

	*n = json_array_size(list);
	numbers = xcalloc(*n + 1, sizeof(*numbers));
	for (i = 0; i < *n; i++)
		numbers[i] = (int64_t)json_integer_value(json_array_get(list, i));
	qsort(numbers, *n, sizeof(*numbers), compare);
	return numbers;
}

/* Adds numbers to a list of the memory. */
static void
numbers_add(json_t *memory, const char *key, const int64_t *numbers, size_t n)
{
	json_t *list = memory_list(memory, key);
	int64_t *has;
	size_t i, n_has;

	has = numbers_of(memory, key, &n_has);
	for (i = 0; i < n; i++)
		if (bsearch(&numbers[i], has, n_has, sizeof(*has), compare) == NULL)
			json_array_append_new(list, json_integer((json_int_t)numbers[i]));
	free(has);
}

static void
gone_read(struct pushing *s)
{
	s->gone_to = (int64_t)json_integer_value(json_object_get(s->memory, "gone_to"));
	s->gone = numbers_of(s->memory, "gone", &s->n_gone);
}

static bool
is_gone(const void *arg, int64_t session)
{
	const struct pushing *s = arg;

	return session <= s->gone_to ||
	    bsearch(&session, s->gone, s->n_gone, sizeof(*s->gone), compare) != NULL;
}

/* Deleted sessions do not leave any more. */
static void
gone_drop(const struct pushing *s, struct fleet_rows *rows)
{
	struct fleet_row row;
	size_t i, n = 0;

	for (i = 0; i < rows->n; i++) {
		if (is_gone(s, rows->row[i].cell[FLEET_session].i))
			continue;
		row = rows->row[n]; /* rows that do not leave gather at the end */
		rows->row[n++] = rows->row[i];
		rows->row[i] = row;
	}
	while (rows->n > n)
		fleet_rows_drop(rows);
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

static int
rows_put(struct pushing *s, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	const struct fleet_engine *engine;
	void *e;

	engine = fleet_engine_of(s->fleet, &e);
	return rows->n > 0 ? engine->put(e, rows, why) : NW_OK;
}

/* *looked 0: the fleet has all. */
static int
batch_push(struct pushing *s, size_t *looked, char why[FLEET_WHY_BYTES])
{
	size_t max = s->p->conf->rate < BATCH_MAX ? (size_t)s->p->conf->rate : BATCH_MAX;
	struct fleet_rows rows = { 0 };
	int64_t last_run;
	int rc;

	rc = outbox_read(s->p->store_path, s->p->conf, s->veil, run_of(s->memory), max, &rows, NULL,
	    &last_run, looked, why);
	gone_drop(s, &rows);
	if (rc == NW_OK)
		rc = rows_put(s, &rows, why);
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

/*
 * Counts the days of new runs anew, and sends the roll-ups. A count reads all sessions of a route's
 * day, so that a busy route is not counted with each of its sessions, but at most once in
 * levels_wait_ns. A count is due after a clock was set back, too.
 */
static int
levels_push(struct pushing *s, char why[FLEET_WHY_BYTES])
{
	const int64_t now = nw_wall_ns(), run = run_of(s->memory);
	const int64_t last = (int64_t)json_integer_value(json_object_get(s->memory, "levels_ns"));
	int64_t after = (int64_t)json_integer_value(json_object_get(s->memory, "levels_run"));
	struct fleet_rows rows = { .table = FLEET_LEVELS };
	struct level_days days = { 0 };
	int rc;

	if (after >= run || (now >= last && now - last < s->p->levels_wait_ns))
		return NW_OK;
	if ((rc = outbox_days(s->p->store_path, after, &days, why)) == NW_OK)
		rc = levels_read(
		    s->p->store_path, s->p->conf, s->veil, &days, is_gone, s, now, &rows, why);
	if (rc == NW_OK && (rc = rows_put(s, &rows, why)) == NW_OK) {
		json_object_set_new(s->memory, "levels_run", json_integer((json_int_t)run));
		json_object_set_new(s->memory, "levels_ns", json_integer((json_int_t)now));
		rc = memory_write(s->p->memory_path, s->memory, why);
	}
	fleet_rows_clear(&rows);
	level_days_clear(&days);
	return rc;
}

/* --- chunks --- */

struct chunking {
	struct pushing *s;
	char *why;
};

static int
on_chunks(void *arg, const struct fleet_rows *rows)
{
	const struct chunking *c = arg;
	int rc = rows_put(c->s, rows, c->why);

	if (rc == NW_OK)
		c->s->p->chunks += rows->n;
	return rc;
}

/* A session's chunks leave again once the session was judged again: rows may have come late. */
static int
chunks_push(struct pushing *s, char why[FLEET_WHY_BYTES])
{
	json_t *has = json_object_get(s->memory, "chunks");
	struct chunking chunking = { s, why };
	struct outbox_given *given = NULL;
	int64_t *listed;
	size_t i, n_listed, n = 0;
	char key[24];
	int rc = NW_OK;

	if (s->p->conf->names == FLEET_HASHED)
		return NW_OK;
	if (has == NULL) {
		has = json_object();
		json_object_set_new(s->memory, "chunks", has);
	}
	listed = numbers_of(s->memory, "given", &n_listed);
	if (n_listed > 0 || s->p->conf->chunks == FLEET_CHUNKS_PINNED)
		rc = outbox_given(s->p->store_path, s->p->conf, listed, n_listed, &given, &n, why);
	for (i = 0; rc == NW_OK && i < n; i++) {
		snprintf(key, sizeof(key), "%" PRId64, given[i].session);
		if (!given[i].leaves || is_gone(s, given[i].session) ||
		    json_integer_value(json_object_get(has, key)) == given[i].run)
			continue;
		rc = chunks_read(s->p->store_path, s->p->conf, given[i].session, nw_wall_ns(),
		    on_chunks, &chunking, why);
		if (rc == NW_OK) {
			json_object_set_new(has, key, json_integer((json_int_t)given[i].run));
			rc = memory_write(s->p->memory_path, s->memory, why);
		}
	}
	free(given);
	free(listed);
	return rc;
}

/* A roll-up counts no deleted session, also after the memory was lost. */
static int
gone_ask(struct pushing *s, char why[FLEET_WHY_BYTES])
{
	const struct fleet_engine *engine;
	int64_t *sessions = NULL;
	size_t n = 0;
	void *e;
	int rc;

	if (json_is_true(json_object_get(s->memory, "asked")))
		return NW_OK;
	engine = fleet_engine_of(s->fleet, &e);
	if ((rc = engine->gone(e, s->p->conf->site, &sessions, &n, why)) == NW_OK) {
		numbers_add(s->memory, "gone", sessions, n);
		free(s->gone);
		gone_read(s);
		json_object_set_new(s->memory, "asked", json_true());
	}
	free(sessions);
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
		if (rc == NW_OK)
			rc = gone_ask(&s, why);
		while (rc == NW_OK && looked > 0)
			rc = batch_push(&s, &looked, why);
		if (rc == NW_OK)
			rc = levels_push(&s, why);
		if (rc == NW_OK)
			rc = chunks_push(&s, why);
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
    void (*fn)(void *arg, const struct fleet_rows *rows), void *arg, char why[FLEET_WHY_BYTES])
{
	struct fleet_push copy = *p;
	struct pushing s = { .p = &copy };
	struct fleet_rows rows = { 0 }, levels = { .table = FLEET_LEVELS };
	struct level_days days = { 0 };
	int64_t last_run;
	size_t looked = 1, n;
	int rc = opened(&s, why);

	if (rc == NW_OK)
		last_run = run_of(s.memory);
	for (n = 0; rc == NW_OK && n < max && looked > 0; n += rows.n) {
		fleet_rows_clear(&rows);
		rc = outbox_read(p->store_path, p->conf, s.veil, last_run,
		    max - n < BATCH_MAX ? max - n : BATCH_MAX, &rows, &days, &last_run, &looked,
		    why);
		gone_drop(&s, &rows);
		if (rc == NW_OK)
			fn(arg, &rows);
	}
	if (rc == NW_OK)
		rc = levels_read(
		    p->store_path, p->conf, s.veil, &days, is_gone, &s, nw_wall_ns(), &levels, why);
	if (rc == NW_OK)
		fn(arg, &levels);
	fleet_rows_clear(&rows);
	fleet_rows_clear(&levels);
	level_days_clear(&days);
	closed(&s);
	return rc;
}

static int
gone_remember(struct pushing *s, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	numbers_add(s->memory, "gone", sessions, n);
	if (n == 0) {
		json_array_clear(json_object_get(s->memory, "gone"));
		json_object_set_new(
		    s->memory, "gone_to", json_integer((json_int_t)s->newest.session));
	}
	/* the fleet lacks the roll-ups of all days now */
	json_object_set_new(s->memory, "levels_run", json_integer(0));
	json_object_set_new(s->memory, "levels_ns", json_integer(0));
	free(s->gone);
	gone_read(s);
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

int
fleet_give(struct fleet_push *p, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	struct pushing s = { .p = p };
	int rc = opened(&s, why);

	if (rc == NW_OK && p->conf->names == FLEET_HASHED) {
		snprintf(why, FLEET_WHY_BYTES, "names are hashed: series stay here");
		rc = NW_EINVAL;
	}
	if (rc == NW_OK) {
		numbers_add(s.memory, "given", sessions, n);
		rc = memory_write(p->memory_path, s.memory, why);
	}
	closed(&s);
	return rc;
}
