/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions of strangers: a taken expression is within its bounds and can be matched, a refused
 * one says why. */
#include "web/query/promql.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static void
try_expression(
    const char *text, int (*parse)(struct promql *q, const char *text, char why[PROMQL_WHY_BYTES]))
{
	static struct promql q;
	char why[PROMQL_WHY_BYTES] = "";
	size_t i;

	if (parse(&q, text, why) < 0) {
		MUST(why[0] != '\0' && strlen(why) < sizeof(why));
		return;
	}
	MUST(q.n_matchers <= PROMQL_MATCHERS && q.n_stages <= PROMQL_STAGES);
	MUST(q.is_number || q.n_matchers > 0);
	MUST(q.is_number || q.function == PROMQL_INSTANT || q.range_ns > 0);
	for (i = 0; i < q.n_matchers; i++) {
		MUST(strlen(q.matchers[i].value) < PROMQL_VALUE_BYTES);
		promql_matches(&q.matchers[i], "dtn1");
		promql_matches(&q.matchers[i], "");
	}
	for (i = 0; i < q.n_stages; i++)
		MUST(q.stages[i].n_labels <= PROMQL_LABELS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1); /* of its size, so that a sanitizer sees where it ends */
	int64_t ns;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	try_expression(text, promql_parse);
	try_expression(text, promql_parse_selector);
	if (promql_duration(text, &ns))
		MUST(ns > 0);
	free(text);
	return 0;
}
