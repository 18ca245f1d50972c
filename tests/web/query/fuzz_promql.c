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
check_selector(const struct promql_selector *s)
{
	size_t i;

	MUST(s->n_matchers > 0 && s->n_matchers <= PROMQL_MATCHERS);
	MUST(s->function == PROMQL_INSTANT || s->range_ns > 0);
	for (i = 0; i < s->n_matchers; i++) {
		MUST(strlen(s->matchers[i].value) < PROMQL_VALUE_BYTES);
		promql_matches(&s->matchers[i], "dtn1");
		promql_matches(&s->matchers[i], "");
	}
}

/* Each node but the last is a side of one join, and stands before the join. */
static void
check_nodes(const struct promql *q)
{
	size_t i, k, n_sides[PROMQL_NODES] = { 0 };

	MUST(q->n_nodes > 0 && q->n_nodes <= PROMQL_NODES && q->n_selectors <= PROMQL_SELECTORS);
	for (i = 0; i < q->n_nodes; i++) {
		const struct promql_node *node = &q->nodes[i];

		MUST(node->n_stages <= PROMQL_STAGES && node->join.n_labels <= PROMQL_LABELS);
		for (k = 0; k < node->n_stages; k++)
			MUST(node->stages[k].n_labels <= PROMQL_LABELS);
		MUST(node->is_join ? node->left < i && node->right < i
				   : node->selector < q->n_selectors);
		if (!node->is_join)
			check_selector(&q->selectors[node->selector]);
		else {
			n_sides[node->left]++;
			n_sides[node->right]++;
		}
	}
	for (i = 0; i < q->n_nodes; i++)
		MUST(n_sides[i] == (i + 1 < q->n_nodes));
}

static void
try_expression(const char *text)
{
	static struct promql q;
	static struct promql_selector alone;
	char why[PROMQL_WHY_BYTES] = "";

	if (promql_parse(&q, text, why) < 0)
		MUST(why[0] != '\0' && strlen(why) < sizeof(why));
	else if (!q.is_number)
		check_nodes(&q);
	why[0] = '\0';
	if (promql_parse_selector(&alone, text, why) < 0)
		MUST(why[0] != '\0' && strlen(why) < sizeof(why));
	else
		check_selector(&alone);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1); /* of the exact size, so that a sanitizer sees the end */
	int64_t ns;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	try_expression(text);
	if (promql_duration(text, &ns))
		MUST(ns > 0);
	free(text);
	return 0;
}
