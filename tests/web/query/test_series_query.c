/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of /api/v1: values at both sides of each bound, and a reason that names the
 * parameter. */
#include "web/query/series_query.h"

#include <inttypes.h>

#include "narrows/err.h"
#include "tests/check.h"

#define S INT64_C(1000000000)

static void
test_steps(void)
{
	static const struct {
		const char *text;
		int64_t ns; /* 0: refused */
	} cases[] = {
		{ "1ns", 1 },
		{ "250us", 250000 },
		{ "250ms", 250000000 },
		{ "10s", 10 * S },
		{ "1min", 60 * S },
		{ "24h", 86400 * S },
		{ "1440min", 86400 * S },
		{ "86400000000000ns", 86400 * S },
		{ "86400000000001ns", 0 },
		{ "25h", 0 },
		{ "1441min", 0 },
		{ "9223372036854775807h", 0 },
		{ "99999999999999999999ns", 0 },
		{ "0s", 0 },
		{ "-1s", 0 },
		{ "s", 0 },
		{ "10", 0 },
		{ "10 s", 0 },
		{ "10m", 0 },
		{ "10sec", 0 },
		{ "1.5s", 0 },
		{ "", 0 },
	};
	int64_t ns;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ns = 0;
		CHECK_INT(query_step(cases[i].text, &ns), cases[i].ns != 0);
		CHECK_INT(ns, cases[i].ns);
	}
}

static void
test_times(void)
{
	static const struct {
		const char *text;
		bool is;
		int64_t t_wall_ns;
	} cases[] = {
		{ "1970-01-01T00:00:01Z", true, S },
		{ "2026-11-20T08:12:11.25Z", true, 1795162331 * S + 250000000 },
		{ "0", true, 0 },
		{ "-5", true, -5 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "9223372036854775808", false, 0 },
		{ "1795162331.25", false, 0 },
		{ "2026-11-20", false, 0 },
		{ "now", false, 0 },
		{ "", false, 0 },
	};
	int64_t t;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(query_time(cases[i].text, &t), cases[i].is);
		if (cases[i].is)
			CHECK_INT(t, cases[i].t_wall_ns);
	}
}

static void
test_defaults(void)
{
	static const char *const none[] = { NULL, "" };
	char why[QUERY_WHY_BYTES] = "";
	struct query q;
	size_t i;

	for (i = 0; i < 2; i++) {
		CHECK_INT(query_parse(&q, QUERY_STATISTICS, none[i], why), NW_OK);
		CHECK(q.what == QUERY_STATISTICS && q.format == QUERY_JSON);
		CHECK(q.event_type[0] == '\0' && q.subject[0] == '\0' && q.series_id == 0);
		CHECK(q.t0_wall_ns == INT64_MIN && q.t1_wall_ns == INT64_MAX);
		CHECK_INT(q.step_ns, 60 * S);
		CHECK_INT(q.session, QUERY_ANY_SESSION);
		CHECK_INT(q.limit, 10000);
		CHECK_INT(q.columns, (1 << QUERY_COLUMNS) - 1);
	}
}

/* The parameter that the reason begins with; NULL: the query is taken. */
static void
test_refusals(void)
{
	static const struct {
		enum query_what what;
		const char *text, *about;
	} cases[] = {
		{ QUERY_SERIES, "limit=1", NULL },
		{ QUERY_SERIES, "limit=100000", NULL },
		{ QUERY_SERIES, "limit=0", "limit: " },
		{ QUERY_SERIES, "limit=100001", "limit: " },
		{ QUERY_SERIES, "limit=+1", "limit: " },
		{ QUERY_SERIES, "limit=1&limit=1", "limit: given twice" },
		{ QUERY_SERIES, "after=0", NULL },
		{ QUERY_SERIES, "after=-1", "after: " },
		{ QUERY_SERIES, "session=7", NULL },
		{ QUERY_SERIES, "session=none", NULL },
		{ QUERY_SERIES, "session=0", "session: " },
		{ QUERY_SERIES, "session=7x", "session: " },
		{ QUERY_SERIES, "series_id=0", "series_id: " },
		{ QUERY_SERIES, "subject=resource", "subject: " },
		{ QUERY_SERIES, "subject=resource%3D*", NULL },
		{ QUERY_SERIES, "format=csv", NULL },
		{ QUERY_SERIES, "format=arrow", "format: " },
		{ QUERY_VALUES, "format=arrow", NULL },
		{ QUERY_VALUES, "format=xml", "format: " },
		{ QUERY_SERIES, "from=1", "from: there is no such parameter" },
		{ QUERY_LAST, "to=1", "to: there is no such parameter" },
		{ QUERY_VALUES, "from=1&to=2", NULL },
		{ QUERY_VALUES, "from=2&to=2", "from, to: " },
		{ QUERY_VALUES, "from=yesterday", "from: " },
		{ QUERY_VALUES, "step=1s", "step: there is no such parameter" },
		{ QUERY_STATISTICS, "step=1s", NULL },
		{ QUERY_STATISTICS, "step=1d", "step: " },
		{ QUERY_STATISTICS, "columns=mean,max", NULL },
		{ QUERY_STATISTICS, "columns=mean,mean", "columns: " },
		{ QUERY_STATISTICS, "columns=mean,", "columns: " },
		{ QUERY_STATISTICS, "columns=", "columns: " },
		{ QUERY_STATISTICS, "columns=mea", "columns: " },
		{ QUERY_STATISTICS, "hots=a", "hots: there is no such parameter" },
	};
	char why[QUERY_WHY_BYTES];
	struct query q;
	size_t i;
	int rc;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why[0] = '\0';
		rc = query_parse(&q, cases[i].what, cases[i].text, why);
		CHECK_INT(rc, cases[i].about != NULL ? NW_EINVAL : NW_OK);
		if (cases[i].about != NULL && strncmp(why, cases[i].about, strlen(cases[i].about)))
			CHECK_STR(why, cases[i].about);
	}
}

static void
test_fields(void)
{
	char why[QUERY_WHY_BYTES], text[QUERY_TEXT_BYTES + 8] = "host=";
	struct query q;

	CHECK_INT(query_parse(&q, QUERY_STATISTICS,
		      "event_type=ps%3A*&field=user&host=dtn%2B1&subject=k=a=b&session=none&"
		      "columns=sd,n&after=9&limit=3&from=5&to=6&step=2us",
		      why),
	    NW_OK);
	CHECK_STR(q.event_type, "ps:*");
	CHECK_STR(q.field, "user");
	CHECK_STR(q.host, "dtn+1");
	CHECK_STR(q.subject, "k=a=b");
	CHECK_INT(q.session, QUERY_NO_SESSION);
	CHECK_INT(q.columns, 1 << QUERY_SD | 1 << QUERY_N);
	CHECK(q.after == 9 && q.limit == 3 && q.t0_wall_ns == 5 && q.t1_wall_ns == 6);
	CHECK_INT(q.step_ns, 2000);
	memset(text + 5, 'h', QUERY_TEXT_BYTES - 1);
	CHECK_INT(query_parse(&q, QUERY_LAST, text, why), NW_OK);
	text[5 + QUERY_TEXT_BYTES - 1] = 'h';
	CHECK_INT(query_parse(&q, QUERY_LAST, text, why), NW_EINVAL);
}

/* Each example of the table is taken by each question that knows the parameter. */
static void
test_examples(void)
{
	char text[256], why[QUERY_WHY_BYTES];
	struct query q;
	size_t i, what;

	for (i = 0; query_params[i].name != NULL; i++)
		for (what = 0; what < QUERY_WHATS; what++) {
			snprintf(text, sizeof(text), "%s=%s", query_params[i].name,
			    query_params[i].example);
			CHECK_INT(query_parse(&q, (enum query_what)what, text, why) == NW_OK,
			    param_is_of(&query_params[i], (unsigned)what));
		}
}

int
main(void)
{
	test_steps();
	test_times();
	test_defaults();
	test_refusals();
	test_fields();
	test_examples();
	return check_done("test_query");
}
