/* SPDX-License-Identifier: BSD-3-Clause */
/* The series of a sender: versions and event types of one id, inherited times, rows by number,
 * documents that wait, layouts that grow. */
#include "narrows/catalog.h"

#include "narrows/err.h"
#include "tests/check.h"

enum { SERIES_MAX = 150 };

static struct series *
add(struct catalog *c, const char *id, const char *pid, const char *event, const char *params,
    double dt_s, double ts_s)
{
	struct nw_meta m = { .id = id,
		.pid = pid,
		.event_type = event,
		.subject_json = "{}",
		.params_json = params,
		.dt_s = dt_s,
		.ts_s = ts_s };
	struct series *s;
	bool is_new;
	int rc = catalog_add(c, &m, &s, &is_new);

	return rc == NW_OK && is_new ? s : NULL;
}

static void
test_versions(void)
{
	struct catalog c;
	struct series *read, *write, *again;

	catalog_init(&c, SERIES_MAX, NULL);
	CHECK(catalog_find(&c, "a", NULL) == NULL);
	CHECK((read = add(&c, "a", NULL, "read", "{}", NAN, NAN)) != NULL);
	CHECK((write = add(&c, "a", NULL, "write", "{}", NAN, NAN)) != NULL);
	CHECK(add(&c, "a", NULL, "read", "{}", NAN, NAN) == NULL);
	CHECK(catalog_find(&c, "a", NULL) == write); /* said again is not newer */
	CHECK(catalog_find(&c, "a", "read") == read);
	CHECK(catalog_find(&c, "a", "open") == NULL);
	CHECK((again = add(&c, "a", NULL, "read", "{\"dt\":1}", 1, NAN)) != NULL);
	CHECK(catalog_find(&c, "a", NULL) == again && catalog_find(&c, "a", "read") == again);
	CHECK(catalog_find(&c, "a", "write") == write);
	catalog_clear(&c);
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
	struct catalog c;
	struct series *s;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		catalog_init(&c, SERIES_MAX, NULL);
		s = add(&c, "a", "gone", "e", "{}", cases[i].dt_s, cases[i].ts_s);
		d.t_wall_ns = &cases[i].t;
		d.sample_number = &cases[i].sample;
		CHECK_INT(series_row_time(s, &d, 0, NOW), cases[i].want);
		CHECK_INT(s->last_wall_ns, cases[i].want);
		CHECK_INT(s->next_sample, cases[i].next);
		catalog_clear(&c);
	}
	CHECK(data_times_are_sane(&(struct nw_data){ .n_rows = 3, .t_wall_ns = sane }));
	CHECK(!data_times_are_sane(&(struct nw_data){ .n_rows = 2, .t_wall_ns = before }));
	CHECK(!data_times_are_sane(&(struct nw_data){ .n_rows = 1, .t_wall_ns = after }));
}

static void
test_parents(void)
{
	struct catalog c;
	struct series *s;
	char id[16], pid[16];
	int i;

	catalog_init(&c, SERIES_MAX, NULL);
	add(&c, "0", "0", "e", "{}", 2, NAN); /* a series as parent of the same series */
	CHECK((s = add(&c, "1", "0", "e", "{}", NAN, 7)) != NULL && s->dt_s == 2 && s->ts_s == 7);
	CHECK((s = add(&c, "2", "1", "e", "{}", 3, NAN)) != NULL && s->dt_s == 3 && s->ts_s == 7);
	add(&c, "x", "y", "e", "{}", NAN, NAN);
	/* a circle ends */
	CHECK((s = add(&c, "y", "x", "e", "{}", NAN, NAN)) != NULL && isnan(s->dt_s));
	for (i = 100; i < 200; i++) {
		snprintf(id, sizeof(id), "%d", i);
		snprintf(pid, sizeof(pid), "%d", i - 1);
		s = add(&c, id, i > 100 ? pid : "2", "e", "{}", NAN, NAN);
	}
	CHECK(s != NULL && s->dt_s == 3); /* each inherits the field from the series before */
	for (i = 200;
	     add(&c, (snprintf(id, sizeof(id), "%d", i), id), NULL, "e", "{}", NAN, NAN) != NULL;
	     i++)
		;
	CHECK_INT(c.n_series, SERIES_MAX);
	catalog_clear(&c);
}

static bool
is_sixth(struct series *s, int64_t now_wall_ns)
{
	CHECK_INT(now_wall_ns, 77);
	return s->meta_id % 6 == 0;
}

static int n_forgotten;

static void
on_forget(struct series *gone)
{
	CHECK_INT(gone->meta_id % 6, 0);
	n_forgotten++;
}

/* Pruning takes the series that are over, head of an id or not, except the one to keep. */
static void
test_prune(void)
{
	struct catalog c;
	struct series *s, *first = NULL;
	char id[16];
	size_t i;

	catalog_init(&c, SERIES_MAX, on_forget);
	for (i = 0; i < SERIES_MAX; i++) {
		/* a hundred ids, fifty of them with two event types */
		snprintf(id, sizeof(id), "%zu", i % 100);
		CHECK((s = add(&c, id, NULL, i < 100 ? "e" : "f", "{}", NAN, NAN)) != NULL);
		s->meta_id = (int64_t)i;
		first = first == NULL ? s : first;
	}
	CHECK_INT(catalog_prune(&c, first, is_sixth, 77), 24);
	CHECK_INT(c.n_series, SERIES_MAX - 24);
	CHECK_INT(n_forgotten, 24);
	CHECK(catalog_find(&c, "0", "e") == first && catalog_find(&c, "6", "e") == NULL);
	/* 102 was the newer of two */
	CHECK(catalog_find(&c, "2", "f") == NULL && catalog_find(&c, "2", "e") != NULL);
	CHECK(catalog_find(&c, "3", "e") != NULL && catalog_find(&c, "4", "e") != NULL);
	for (i = 0; (s = add(&c, (snprintf(id, sizeof(id), "new%zu", i), id), NULL, "e", "{}", NAN,
			 NAN)) != NULL;
	     i++)
		s->meta_id = 6;
	CHECK_INT(i, 24);
	CHECK_INT(catalog_prune(&c, NULL, is_sixth, 77), 25);
	c.on_forget = NULL;
	catalog_clear(&c);
	CHECK(c.bytes == 0 && c.n_series == 0 && c.n_fields == 0 && c.series == NULL);
}

static void
test_held(void)
{
	static const uint8_t doc[1000];
	struct catalog c;
	uint8_t *taken;
	uint16_t opt;
	size_t len;
	int i;

	catalog_init(&c, SERIES_MAX, NULL);
	for (i = 0; catalog_hold(&c, i % 2 ? "odd" : "even", 32, doc, sizeof(doc)) == NW_OK; i++)
		continue;
	CHECK_INT(i, CATALOG_HELD_MAX_BYTES / 1000);
	CHECK_INT(c.n_held, i);
	CHECK(c.bytes > (size_t)i * 1000);
	CHECK(catalog_held_take(&c, "none", &opt, &len) == NULL);
	while ((taken = catalog_held_take(&c, "odd", &opt, &len)) != NULL) {
		CHECK(opt == 32 && len == sizeof(doc));
		free(taken);
		i--;
	}
	CHECK_INT(c.n_held, i);
	CHECK_INT(catalog_hold(&c, "even", 32, doc, 0), NW_OK);
	catalog_clear(&c);
	CHECK(c.bytes == 0 && c.n_held == 0 && c.held_bytes == 0);
}

/* A layout keeps its fields in their places and takes new ones behind them. */
static void
test_layout(void)
{
	static const char *const ab[] = { "a", "b" }, *const cb[] = { "c", "b" };
	struct nw_data d = { .n_fields = 2, .fields = ab };
	struct catalog c;
	struct series *s;
	uint32_t where[2];
	size_t before;

	catalog_init(&c, SERIES_MAX, NULL);
	s = add(&c, "m", NULL, "e", "{}", NAN, NAN);
	before = c.bytes;
	CHECK(!layout_map(&s->layout, &d, where));
	CHECK_INT(layout_extend(&c, s, &d), NW_OK);
	CHECK(layout_map(&s->layout, &d, where) && where[0] == 0 && where[1] == 1);
	d.fields = cb;
	CHECK(!layout_map(&s->layout, &d, where));
	CHECK_INT(layout_extend(&c, s, &d), NW_OK);
	CHECK(layout_map(&s->layout, &d, where) && where[0] == 2 && where[1] == 1);
	CHECK(c.n_fields == 3 && s->n_layouts == 2 && c.bytes > before && c.bytes == s->bytes);
	catalog_clear(&c);
	CHECK(c.bytes == 0 && c.n_fields == 0);
}

int
main(void)
{
	test_prune();
	test_held();
	test_layout();
	test_versions();
	test_times();
	test_parents();
	return check_done("test_catalog");
}
