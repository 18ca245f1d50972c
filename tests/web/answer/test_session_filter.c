/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of lists of sessions: a value that makes no sense is refused, whatever stands beside. */
#include "web/answer/session_filter.h"

#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

#define BAD (-1)

static const struct {
	const char *query;
	int64_t before;
} cases[] = {
	{ NULL, 0 },
	{ "", 0 },
	{ "before=12", 12 },
	{ "a=1&before=7&b", 7 },
	{ "x", 0 },
	{ "&&", 0 },
	{ "before=", BAD },
	{ "before=0", BAD },
	{ "before=-1", BAD },
	{ "before=1x", BAD },
	{ "before= 1", BAD },
	{ "before=1&before=x", BAD },
	{ "before=9223372036854775807", INT64_MAX },
	{ "before=9223372036854775808", BAD },
	{ "before=5", 5 },
	{ "before=z", BAD },
};

/* Each bound of the table is the parser's: a text of the largest length passes, a longer text does
 * not. */
static void
test_bounds(void)
{
	const struct param *p;
	char query[2048];

	for (p = session_params; p->name != NULL; p++) {
		struct session_filter f;
		int n = snprintf(query, sizeof(query), "%s=%s", p->name, p->example);

		CHECK_INT(session_filter_parse(&f, query), NW_OK);
		if (p->type == PARAM_TEXT && p->max > 0) {
			n = snprintf(query, sizeof(query), "%s=", p->name);
			memset(query + n, 'x', (size_t)p->max + 1);
			query[n + p->max] = '\0';
			CHECK_INT(session_filter_parse(&f, query), NW_OK);
			query[n + p->max] = 'x';
			query[n + p->max + 1] = '\0';
		} else if (p->type == PARAM_NUMBER && p->max < INT64_MAX)
			snprintf(query, sizeof(query), "%s=%lld", p->name, (long long)p->max + 1);
		else
			snprintf(query, sizeof(query), "%s=?", p->name);
		CHECK_INT(session_filter_parse(&f, query), NW_EINVAL);
	}
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session_filter f;
		int rc = session_filter_parse(&f, cases[i].query);

		CHECK_INT(rc, cases[i].before == BAD ? NW_EINVAL : NW_OK);
		if (rc == NW_OK)
			CHECK_INT(f.before, cases[i].before);
	}
	test_bounds();
	return check_done("test_session_filter");
}
