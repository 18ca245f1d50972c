/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins of two vectors and rankings of series against answers worked out by hand, at two steps. */
#include "web/query/prom_join.h"

#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"
#include "web/query/prom_group.h"

enum { STEPS = 2, BYTES = 1 << 20 };

static json_t *
labels(const char *name, const char *host, const char *device)
{
	json_t *l = json_pack("{s:s, s:s}", "__name__", name, "host", host);

	if (device != NULL)
		json_object_set_new(l, "device", json_string(device));
	return l;
}

static int
put(struct prom_join *j, enum prom_side side, json_t *l, double a, double b, const char **why)
{
	const double v[STEPS] = { a, b };
	const bool has[STEPS] = { !isnan(a), !isnan(b) };
	int rc = prom_join_add(j, side, l, v, has, why);

	json_decref(l);
	return rc;
}

static void
check_row(const struct prom_row *row, const char *want, double a, double b)
{
	char *text = json_dumps(row->labels, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_STR(text, want);
	free(text);
	CHECK_INT(row->has[0] != 0, !isnan(a));
	CHECK_INT(row->has[1] != 0, !isnan(b));
	if (!isnan(a))
		CHECK_NEAR(row->v[0], a, 1e-15, 0);
	if (!isnan(b))
		CHECK_NEAR(row->v[1], b, 1e-15, 0);
}

static void
test_joins(void)
{
	static const struct promql_stage minus = { .op = PROMQL_SUBTRACT, .without = true },
					 over_host = { .op = PROMQL_DIVIDE,
						 .n_labels = 1,
						 .labels = { "host" } },
					 greater = { .op = PROMQL_IS_GREATER, .without = true },
					 greater_bool = { .op = PROMQL_IS_GREATER,
						 .without = true,
						 .is_bool = true };
	static const struct {
		const struct promql_stage *how;
		const char *labels;
		double a, b; /* of 6 and 2 against 4 and 8 */
	} cases[] = {
		{ &minus, "{\"device\":\"sda\",\"host\":\"a\"}", 2, -6 },
		{ &over_host, "{\"host\":\"a\"}", 1.5, 0.25 },
		{ &greater, "{\"__name__\":\"left\",\"device\":\"sda\",\"host\":\"a\"}", 6, NAN },
		{ &greater_bool, "{\"device\":\"sda\",\"host\":\"a\"}", 1, 0 },
	};
	size_t i, left;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;
		struct prom_join j = { .how = cases[i].how, .n_steps = STEPS, .bytes_left = &left };

		left = BYTES;
		CHECK_INT(put(&j, PROM_RIGHT, labels("right", "a", "sda"), 4, 8, &why), NW_OK);
		CHECK_INT(put(&j, PROM_LEFT, labels("left", "a", "sda"), 6, 2, &why), NW_OK);
		/* without a match on the other side */
		CHECK_INT(put(&j, PROM_LEFT, labels("left", "b", "sda"), 6, 2, &why), NW_OK);
		CHECK_INT(j.out.n, 1);
		check_row(&j.out.list[0], cases[i].labels, cases[i].a, cases[i].b);
		CHECK(why == NULL && left < BYTES);
		prom_join_clear(&j);
		CHECK_INT(left, BYTES);
	}
}

/* Two series of a side may share a match, unless both have a value at the same step. */
static void
test_rivals(void)
{
	static const struct promql_stage times = {
		.op = PROMQL_MULTIPLY, .n_labels = 1, .labels = { "host" }
	};
	size_t left = BYTES;
	const char *why = NULL;
	struct prom_join j = { .how = &times, .n_steps = STEPS, .bytes_left = &left };

	CHECK_INT(put(&j, PROM_RIGHT, labels("r", "a", "sda"), 3, NAN, &why), NW_OK);
	CHECK_INT(put(&j, PROM_RIGHT, labels("r", "a", "sdb"), NAN, 5, &why), NW_OK);
	CHECK_INT(put(&j, PROM_LEFT, labels("l", "a", "sda"), NAN, 2, &why), NW_OK);
	CHECK_INT(put(&j, PROM_LEFT, labels("l", "a", "sdb"), 7, NAN, &why), NW_OK);
	CHECK_INT(j.out.n, 1);
	check_row(&j.out.list[0], "{\"host\":\"a\"}", 21, 10);
	CHECK_INT(put(&j, PROM_LEFT, labels("l", "a", "sdc"), 1, NAN, &why), NW_EINVAL);
	CHECK(why != NULL && strstr(why, "left side") != NULL);
	CHECK_INT(put(&j, PROM_RIGHT, labels("r", "a", "sdc"), 1, NAN, &why), NW_EINVAL);
	CHECK(why != NULL && strstr(why, "right side") != NULL);
	left = 0;
	CHECK_INT(put(&j, PROM_RIGHT, labels("r", "b", "sda"), 1, 1, &why), NW_ETOOBIG);
	prom_join_clear(&j);
}

/* The two largest of five, at each step others; NaN stands last; equal values keep their order. */
static void
test_ranks(void)
{
	static const double v[5][STEPS] = { { 1, 9 }, { NAN, 2 }, { 5, NAN }, { 3, 9 }, { 5, 1 } };
	static const struct promql_stage top = { .aggregate = PROMQL_TOP, .number = 2 },
					 bottom = { .aggregate = PROMQL_BOTTOM, .number = 1 },
					 none = { .aggregate = PROMQL_TOP, .number = 0 };
	static const struct {
		const struct promql_stage *stage;
		double want[5][STEPS]; /* NaN: the series is not among the first */
	} cases[] = {
		{ &top, { { NAN, 9 }, { NAN, NAN }, { 5, NAN }, { NAN, 9 }, { 5, NAN } } },
		{ &bottom, { { 1, NAN }, { NAN, NAN }, { NAN, NAN }, { NAN, NAN }, { NAN, 1 } } },
		{ &none, { { NAN, NAN }, { NAN, NAN }, { NAN, NAN }, { NAN, NAN }, { NAN, NAN } } },
	};
	static const char *const hosts[] = { "0", "1", "2", "3", "4" };
	const bool has[STEPS] = { true, true };
	double got[STEPS];
	bool got_has[STEPS];
	size_t i, k, s, left;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct prom_groups g = {
			.stage = cases[i].stage, .n_steps = STEPS, .bytes_left = &left
		};
		json_t *l;

		left = BYTES;
		for (k = 0; k < 5; k++) {
			l = labels("x", hosts[k], NULL);
			CHECK_INT(prom_groups_add(&g, l, v[k], has), NW_OK);
			json_decref(l);
		}
		for (k = 0; k < 5; k++) {
			if (isnan(cases[i].want[k][0]) && isnan(cases[i].want[k][1]))
				continue;
			do
				CHECK(prom_groups_next(&g, &l, got, got_has));
			while (!got_has[0] && !got_has[1]);
			CHECK_STR(json_string_value(json_object_get(l, "host")), hosts[k]);
			for (s = 0; s < STEPS; s++) {
				CHECK_INT(got_has[s], !isnan(cases[i].want[k][s]));
				if (got_has[s])
					CHECK_NEAR(got[s], cases[i].want[k][s], 1e-15, 0);
			}
		}
		prom_groups_clear(&g);
		CHECK_INT(left, BYTES);
	}
}

int
main(void)
{
	test_joins();
	test_rivals();
	test_ranks();
	return check_done("test_prom_join");
}
