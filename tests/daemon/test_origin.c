/* SPDX-License-Identifier: BSD-3-Clause */
/* What a sender has described: versions and event types of one id, inherited times, rows by
 * number. */
#include "daemon/origin.h"

#include "daemon/box.h"
#include "daemon/conf.h"
#include "daemon/session.h"
#include "tests/check.h"

static const struct conf conf = { .max_series_per_session = 150 };
static struct box box = { .conf = &conf };

static struct series *
add(struct origin *o, const char *id, const char *pid, const char *event, const char *params,
    double dt_s, double ts_s)
{
	struct nw_meta m = { .id = id,
		.pid = pid,
		.event_type = event,
		.subject_json = "{}",
		.params_json = params,
		.dt_s = dt_s,
		.ts_s = ts_s };
	bool is_new;
	struct series *s = origin_series_add(o, &m, &is_new);

	return is_new ? s : NULL;
}

static void
test_versions(void)
{
	struct origin *o = origin_get(&box, NULL);
	struct series *read, *write, *again;

	CHECK(origin_series(o, "a", NULL) == NULL);
	CHECK((read = add(o, "a", NULL, "read", "{}", NAN, NAN)) != NULL);
	CHECK((write = add(o, "a", NULL, "write", "{}", NAN, NAN)) != NULL);
	CHECK(add(o, "a", NULL, "read", "{}", NAN, NAN) == NULL);
	CHECK(origin_series(o, "a", NULL) == write); /* said again is not newer */
	CHECK(origin_series(o, "a", "read") == read);
	CHECK(origin_series(o, "a", "open") == NULL);
	CHECK((again = add(o, "a", NULL, "read", "{\"dt\":1}", 1, NAN)) != NULL);
	CHECK(origin_series(o, "a", NULL) == again && origin_series(o, "a", "read") == again);
	CHECK(origin_series(o, "a", "write") == write);
	origin_release(o);
}

static void
test_times(void)
{
	enum { NOW = 77 };
	static const struct {
		double ts_s, dt_s;
		int64_t t, sample, want, next;
	} cases[] = {
		{ NAN, NAN, 5, -1, 5, 0 },
		{ 100, 1, 5, 3, 5, 4 },
		{ NAN, NAN, NW_TIME_BY_SAMPLE, 0, NOW, 1 },
		{ 100, NAN, NW_TIME_BY_SAMPLE, 0, NOW, 1 },
		{ NAN, 1, NW_TIME_BY_SAMPLE, 0, NOW, 1 },
		{ 100, 0.5, NW_TIME_BY_SAMPLE, 3, INT64_C(101500000000), 4 },
		{ -1, 1, NW_TIME_BY_SAMPLE, 0, NOW, 1 },
		{ 100, 1, NW_TIME_BY_SAMPLE, -1, NOW, 0 },
		{ 100, 1e300, NW_TIME_BY_SAMPLE, 9, NOW, 10 },
		{ 7258118399, 1, NW_TIME_BY_SAMPLE, 1, NOW, 2 },
	};
	static const int64_t sane[] = { 0, INT64_C(7258118399999999999), NW_TIME_BY_SAMPLE },
			     before[] = { 5, -1 }, after[] = { INT64_C(7258118400000000000) };
	struct nw_data d = { .n_rows = 1 };
	struct origin *o;
	struct series *s;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o = origin_get(&box, NULL);
		s = add(o, "a", "gone", "e", "{}", cases[i].dt_s, cases[i].ts_s);
		d.t_wall_ns = &cases[i].t;
		d.sample_number = &cases[i].sample;
		CHECK_INT(series_row_time(s, &d, 0, NOW), cases[i].want);
		CHECK_INT(s->last_wall_ns, cases[i].want);
		CHECK_INT(s->next_sample, cases[i].next);
		origin_release(o);
	}
	CHECK(data_times_are_sane(&(struct nw_data){ .n_rows = 3, .t_wall_ns = sane }));
	CHECK(!data_times_are_sane(&(struct nw_data){ .n_rows = 2, .t_wall_ns = before }));
	CHECK(!data_times_are_sane(&(struct nw_data){ .n_rows = 1, .t_wall_ns = after }));
}

static void
test_parents(void)
{
	struct origin *o = origin_get(&box, NULL);
	struct series *s;
	char id[16], pid[16];
	int i;

	add(o, "0", "0", "e", "{}", 2, NAN); /* its own parent */
	CHECK((s = add(o, "1", "0", "e", "{}", NAN, 7)) != NULL && s->dt_s == 2 && s->ts_s == 7);
	CHECK((s = add(o, "2", "1", "e", "{}", 3, NAN)) != NULL && s->dt_s == 3 && s->ts_s == 7);
	add(o, "x", "y", "e", "{}", NAN, NAN);
	/* a circle ends */
	CHECK((s = add(o, "y", "x", "e", "{}", NAN, NAN)) != NULL && isnan(s->dt_s));
	for (i = 100; i < 200; i++) {
		snprintf(id, sizeof(id), "%d", i);
		snprintf(pid, sizeof(pid), "%d", i - 1);
		s = add(o, id, i > 100 ? pid : "2", "e", "{}", NAN, NAN);
	}
	CHECK(s != NULL && s->dt_s == 3); /* each has it from the one before */
	for (i = 200;
	     add(o, (snprintf(id, sizeof(id), "%d", i), id), NULL, "e", "{}", NAN, NAN) != NULL;
	     i++)
		;
	CHECK_INT(o->n_series, conf.max_series_per_session);
	origin_release(o);
}

/* A host speaks for months, of transfer after transfer: those that are over make room, and nothing
 * else does. */
static void
test_room(void)
{
	struct session over = { .state = SESSION_CLOSED, .closed_wall_ns = 1, .refs = 1000 },
		       open = { .state = SESSION_OPEN, .refs = 1000 };
	struct origin *o = origin_get(&box, NULL);
	struct series *s, *first = NULL;
	char id[16];
	size_t i;

	for (i = 0; i < conf.max_series_per_session; i++) {
		/* some have the same id, and other parameters */
		snprintf(id, sizeof(id), "%zu", i % 100);
		CHECK((s = add(o, id, NULL, i < 100 ? "e" : "f", "{}", NAN, NAN)) != NULL);
		s->session = i % 3 == 0 ? &over : i % 3 == 1 ? &open : NULL;
		s->witness = i % 2 == 0;
		first = first == NULL ? s : first;
	}
	CHECK(origin_make_room(o, first)); /* each sixth of them, but that one */
	CHECK_INT(o->n_series, conf.max_series_per_session - 24);
	CHECK(origin_series(o, "0", "e") == first && origin_series(o, "6", "e") == NULL);
	/* the newer of two */
	CHECK(origin_series(o, "2", "f") == NULL && origin_series(o, "2", "e") != NULL);
	CHECK(origin_series(o, "3", "e") != NULL && origin_series(o, "4", "e") != NULL);
	CHECK_INT(over.refs, 1000 - 24);
	CHECK(!origin_make_room(o, NULL)); /* a moment ago */
	o->made_room_mono_ns = 0;
	for (i = 0;
	     add(o, (snprintf(id, sizeof(id), "new%zu", i), id), NULL, "e", "{}", NAN, NAN) != NULL;
	     i++)
		;
	CHECK_INT(i, 25); /* with the place of the one that was spared */
	CHECK(origin_series(o, "0", "e") == NULL);
	CHECK_INT(o->n_series, conf.max_series_per_session);
	origin_release(o);
}

int
main(void)
{
	test_room();
	test_versions();
	test_times();
	test_parents();
	return check_done("test_origin");
}
