/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of PromQL that a box answers: one selector, at most one function over time, then any
 * number of aggregations and operations with a number, one after the other:
 *
 *	sum by (host) (rate(name{label="value"}[5m])) * 8
 *
 * Numbers alone are an expression, too. All else is "not supported", and the message says what.
 */
#ifndef NARROWS_WEB_PROMQL_H
#define NARROWS_WEB_PROMQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/query/regex.h"

enum {
	PROMQL_NAME_BYTES = 64,
	PROMQL_VALUE_BYTES = 256,
	PROMQL_MATCHERS = 10,
	PROMQL_LABELS = 16,
	PROMQL_STAGES = 8,
	PROMQL_WHY_BYTES = 160
};

enum promql_function {
	PROMQL_INSTANT, /* a selector without a range */
	PROMQL_RATE,
	PROMQL_INCREASE,
	PROMQL_AVG,
	PROMQL_MIN,
	PROMQL_MAX,
	PROMQL_SUM,
	PROMQL_LAST,
	PROMQL_COUNT,
	PROMQL_QUANTILE
};

enum promql_match { PROMQL_EQUAL, PROMQL_NOT_EQUAL, PROMQL_REGEX, PROMQL_NOT_REGEX };

struct promql_matcher {
	char label[PROMQL_NAME_BYTES], value[PROMQL_VALUE_BYTES];
	enum promql_match how;
	struct regex regex; /* of PROMQL_REGEX and PROMQL_NOT_REGEX */
};

enum promql_aggregate {
	PROMQL_ARITHMETIC, /* no aggregation: an operation with a number */
	PROMQL_BY_SUM,
	PROMQL_BY_AVG,
	PROMQL_BY_MIN,
	PROMQL_BY_MAX,
	PROMQL_BY_COUNT
};

struct promql_stage {
	enum promql_aggregate aggregate;
	bool without; /* the listed labels go, all others stay */
	size_t n_labels;
	char labels[PROMQL_LABELS][PROMQL_NAME_BYTES];
	char operator; /* + - * / */
	double number;
	bool number_first;
};

struct promql {
	bool is_number;
	double number;
	size_t n_matchers, n_stages;
	struct promql_matcher matchers[PROMQL_MATCHERS];
	enum promql_function function;
	double quantile;
	int64_t range_ns;
	struct promql_stage stages[PROMQL_STAGES];
};

/* NW_EINVAL with why. */
int promql_parse(struct promql *q, const char *text, char why[PROMQL_WHY_BYTES]);
/* A selector alone, as match[] has it. */
int promql_parse_selector(struct promql *q, const char *text, char why[PROMQL_WHY_BYTES]);

/* "5m", "1h30m", "250ms". */
bool promql_duration(const char *text, int64_t *ns);
/* Whether a label's value ("" for an absent label) passes. */
bool promql_matches(const struct promql_matcher *m, const char *value);

#endif
