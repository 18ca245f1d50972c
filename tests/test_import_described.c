/* SPDX-License-Identifier: BSD-3-Clause */
/* What was described, as a box would know it: versions, event types, inherited times, rows by number. */
#include "daemon/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/cmd/import.h"

#include "tests/check.h"

static struct described *
add(struct described **all, const char *id, const char *pid, const char *event, const char *params, double dt_s, double ts_s)
{
	struct nw_meta m = { .id = id, .pid = pid, .event_type = event, .subject_json = "{}", .params_json = params, .dt_s = dt_s, .ts_s = ts_s };
	bool is_new;
	struct described *s = described_add(all, &m, &is_new);

	return is_new ? s : NULL;
}

static void
test_versions(void)
{
	struct described *all = NULL, *read, *write, *again;

	CHECK(described_find(all, "a", NULL) == NULL);
	CHECK((read = add(&all, "a", NULL, "read", "{}", NAN, NAN)) != NULL);
	CHECK((write = add(&all, "a", NULL, "write", "{}", NAN, NAN)) != NULL);
	CHECK(add(&all, "a", NULL, "read", "{}", NAN, NAN) == NULL);
	CHECK(described_find(all, "a", NULL) == write);                  /* said again is not newer */
	CHECK(described_find(all, "a", "read") == read);
	CHECK(described_find(all, "a", "open") == NULL);
	CHECK((again = add(&all, "a", NULL, "read", "{\"dt\":1}", 1, NAN)) != NULL);
	CHECK(described_find(all, "a", NULL) == again && described_find(all, "a", "read") == again);
	CHECK(described_find(all, "a", "write") == write);
	described_clear(&all);
	CHECK(all == NULL);
}

static void
test_times(void)
{
	static const struct { double ts_s, dt_s; int64_t t, sample; bool ok; int64_t want; } cases[] = {
		{ NAN, NAN, 5, -1, true, 5 }, { NAN, NAN, -5, 3, true, -5 }, { NAN, NAN, NW_TIME_BY_SAMPLE, 0, false, 0 },
		{ 100, NAN, NW_TIME_BY_SAMPLE, 0, false, 0 }, { NAN, 1, NW_TIME_BY_SAMPLE, 0, false, 0 },
		{ 100, 0.5, NW_TIME_BY_SAMPLE, 3, true, INT64_C(101500000000) }, { -1, 1, NW_TIME_BY_SAMPLE, 0, false, 0 },
		{ 100, 1e300, NW_TIME_BY_SAMPLE, 9, false, 0 }, { 7258118399, 1, NW_TIME_BY_SAMPLE, 1, false, 0 },
	};
	struct described *all, *s;
	struct nw_data d = { .n_rows = 1 };
	int64_t t;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		all = NULL;
		s = add(&all, "a", "gone", "e", "{}", cases[i].dt_s, cases[i].ts_s);
		d.t_wall_ns = &cases[i].t;
		d.sample_number = &cases[i].sample;
		CHECK_INT(described_time(s, &d, 0, &t), cases[i].ok);
		if (cases[i].ok)
			CHECK_INT(t, cases[i].want);
		described_clear(&all);
	}
}

static void
test_parents(void)
{
	struct described *all = NULL, *s;
	char id[16], pid[16];
	int i;

	add(&all, "0", "0", "e", "{}", 2, NAN);                          /* its own parent */
	CHECK((s = add(&all, "1", "0", "e", "{}", NAN, 7)) != NULL && s->dt_s == 2 && s->ts_s == 7);
	CHECK((s = add(&all, "2", "1", "e", "{}", 3, NAN)) != NULL && s->dt_s == 3 && s->ts_s == 7);
	add(&all, "x", "y", "e", "{}", NAN, NAN);
	CHECK((s = add(&all, "y", "x", "e", "{}", NAN, NAN)) != NULL && isnan(s->dt_s));   /* a circle ends */
	for (i = 100; i < 200; i++) {
		snprintf(id, sizeof(id), "%d", i);
		snprintf(pid, sizeof(pid), "%d", i - 1);
		s = add(&all, id, i > 100 ? pid : "2", "e", "{}", NAN, NAN);
	}
	CHECK(s != NULL && s->dt_s == 3);                                /* each has it from the one before */
	described_clear(&all);
}

int
main(void)
{
	test_versions();
	test_times();
	test_parents();
	return check_done("test_import_described");
}
