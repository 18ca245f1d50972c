/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of /api/v1: a query that is taken is within its bounds, a refused query says why. */
#include "web/query/series_query.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "web/query/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static void
try_query(const char *text, enum query_what what)
{
	char why[QUERY_WHY_BYTES] = "";
	struct query q;

	if (query_parse(&q, what, text, why) < 0) {
		MUST(why[0] != '\0' && strlen(why) < sizeof(why));
		return;
	}
	MUST(q.what == what && q.t0_wall_ns < q.t1_wall_ns);
	MUST(q.step_ns > 0 && q.step_ns <= INT64_C(86400000000000));
	MUST(q.limit > 0 && q.limit <= 100000 && q.after >= 0 && q.session >= QUERY_ANY_SESSION);
	MUST(strlen(q.event_type) < sizeof(q.event_type));
	MUST(q.subject[0] == '\0' || strchr(q.subject, '=') != NULL);
	MUST(glob_prefix(q.event_type) <= strlen(q.event_type));
	glob_match(q.field, q.event_type);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1); /* of its size, so that a sanitizer sees where it ends */
	int what;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	for (what = 0; what < QUERY_WHATS; what++)
		try_query(text, (enum query_what)what);
	free(text);
	return 0;
}
