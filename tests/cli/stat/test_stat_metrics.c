/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and thresholds as people write them; tables as a response and metrics. */
#include "tests/check.h"
#include "cli/stat/stat_metrics.h"

static void
test_numbers(void)
{
	static const struct {
		const char *text;
		size_t n;
		double first, last;
	} good[] = {
		{ "0, 0.05 .. 1", 21, 0, 1 },
		{ "0,0.05..1", 21, 0, 1 },
		{ "0.5", 1, 0.5, 0.5 },
		{ "8 5 2,1", 4, 8, 1 },
		{ "0.1, 0.5, 0.6 .. 0.9, 0.95", 7, 0.1, 0.95 },
		{ "1, 2 .. 2.5", 2, 1, 2 },
		{ "1,2..4", 4, 1, 4 },
	};
	static const char *const bad[] = { "", "x", "1,,x", "0 .. 1", "0..1", "0, 1 ..",
		"1, 0.5 .. 0", "0, 1e-9 .. 1", "inf", "nan", "1 .. 2 3" };
	double *v;
	size_t n;
	char buf[32];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CHECK_INT(stat_numbers(good[i].text, &v, &n), NW_OK);
		CHECK_INT(n, good[i].n);
		CHECK(v[0] == good[i].first && v[n - 1] == good[i].last);
		if (i == 0)
			/* steps join as they would be written */
			CHECK(v[3] == 0.15 && v[7] == 0.35);
		free(v);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int rc = stat_numbers(bad[i], &v, &n);

		CHECK_INT(rc, NW_EINVAL);
		if (rc == NW_OK)
			free(v);
	}
	CHECK_STR(stat_number_name(0.15, buf, sizeof(buf)), "0.15");
	CHECK_STR(stat_number_name(1, buf, sizeof(buf)), "1");
}

static void
test_list(void)
{
	size_t n;
	char **list = stat_list(" a, b c ,,d", &n);

	CHECK_INT(n, 3);
	CHECK_STR(list[0], "a");
	CHECK_STR(list[1], "b c");
	CHECK_STR(list[2], "d");
	CHECK(list[3] == NULL);
	free(list);
	list = stat_list("", &n);
	CHECK_INT(n, 0);
	free(list);
}

static void
test_metrics(void)
{
	static const char text[] = "a,y,b\n1,2,\n3,,5\n", words[] = "a,y\n1,2\n3,high\n";
	static const char *const names[] = { "b" }, *const wrong[] = { "y" };
	struct stat_error err = { "" };
	struct stat_table *t;
	struct metrics m;

	CHECK_INT(stat_table_parse("t.csv", text, sizeof(text) - 1, &t, &err), NW_OK);
	CHECK_INT(metrics_init(&m, t, "y", &err), NW_OK);
	CHECK_INT(m.p, 2);
	CHECK_INT(m.n, 2);
	CHECK_STR(m.name[1], "b");
	CHECK(m.y[0] == 2 && isnan(m.y[1]) && isnan(m.x[1][0]) && m.x[1][1] == 5);
	CHECK_INT(metrics_find(&m, "b"), 1);
	CHECK(metrics_find(&m, "y") == SIZE_MAX);
	CHECK_INT(metrics_choose(&m, names, 1, &err), NW_OK);
	CHECK_INT(m.p, 1);
	CHECK_STR(m.name[0], "b");
	CHECK_STR(err.text, "");
	/* the response predicts itself too well */
	CHECK_INT(metrics_choose(&m, wrong, 1, &err), NW_EINVAL);
	CHECK(strstr(err.text, "\"y\"") != NULL);
	metrics_clear(&m);
	err.text[0] = '\0';
	CHECK_INT(stat_table_parse("t.csv", text, sizeof(text) - 1, &t, &err), NW_OK);
	CHECK_INT(metrics_init(&m, t, "z", &err), NW_EINVAL);
	CHECK(strstr(err.text, "t.csv") != NULL && strstr(err.text, "z") != NULL);
	metrics_clear(&m);
	err.text[0] = '\0';
	CHECK_INT(stat_table_parse("t.csv", words, sizeof(words) - 1, &t, &err), NW_OK);
	CHECK_INT(metrics_init(&m, t, "a", &err), NW_EINVAL);
	CHECK(strstr(err.text, "t.csv:3") != NULL);
	metrics_clear(&m);
}

/* The first whole object or nothing: no half document leaves. */
static void
test_whole(void)
{
	struct stat_error err = { "" };
	json_t *out = NULL;

	CHECK(stat_whole(json_object(), -1) == NULL);
	CHECK(stat_whole(NULL, 0) == NULL);
	CHECK_INT(stat_finish(json_object(), -1, &out, &err), NW_ENOMEM);
	CHECK(out == NULL && err.text[0] != '\0');
	CHECK_INT(stat_finish(json_object(), 0, &out, &err), NW_OK);
	CHECK(json_is_object(out));
	json_decref(out);
}

int
main(void)
{
	test_numbers();
	test_list();
	test_metrics();
	test_whole();
	return check_done("stat_metrics");
}
