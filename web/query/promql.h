/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of PromQL that a box answers: selectors, each with at most one function over time, then
 * any number of aggregations and operations with a number, one after the other; and operations that
 * join two of these vectors:
 *
 *	topk(3, sum by (host) (rate(name{label="value"}[5m] offset 1d)) * 8 / on (host) other)
 *
 * A query is a tree of nodes. A node begins with a selector, or with the join of two nodes, whose
 * numbers are smaller; the stages of the node follow. The last node is the root. Numbers alone are
 * an expression, too. All else is "not supported", and the message says what.
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
	PROMQL_STAGES = 8, /* of a node */
	PROMQL_SELECTORS = 4,
	PROMQL_NODES = 2 * PROMQL_SELECTORS - 1,
	PROMQL_WHY_BYTES = 160
};

enum promql_function {
	PROMQL_INSTANT, /* a selector without a range */
	PROMQL_RATE,
	PROMQL_IRATE, /* of the last two samples */
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

struct promql_selector {
	size_t n_matchers;
	struct promql_matcher matchers[PROMQL_MATCHERS];
	enum promql_function function;
	double quantile;
	int64_t range_ns, offset_ns; /* offset_ns: how much older the samples are than the steps */
};

enum promql_operator {
	PROMQL_ADD,
	PROMQL_SUBTRACT,
	PROMQL_MULTIPLY,
	PROMQL_DIVIDE,
	PROMQL_MODULO,
	PROMQL_POWER,
	PROMQL_IS_EQUAL, /* comparisons from here on */
	PROMQL_IS_OTHER,
	PROMQL_IS_GREATER,
	PROMQL_IS_LESS,
	PROMQL_IS_AT_LEAST,
	PROMQL_IS_AT_MOST
};

enum promql_aggregate {
	PROMQL_ARITHMETIC, /* no aggregation: an operation with a number, or of two vectors */
	PROMQL_BY_SUM,
	PROMQL_BY_AVG,
	PROMQL_BY_MIN,
	PROMQL_BY_MAX,
	PROMQL_BY_COUNT,
	PROMQL_TOP, /* the series with the largest values at a step */
	PROMQL_BOTTOM
};

struct promql_stage {
	enum promql_aggregate aggregate;
	bool without; /* the listed labels go, all others stay */
	size_t n_labels;
	char labels[PROMQL_LABELS][PROMQL_NAME_BYTES];
	enum promql_operator op;
	bool is_bool;  /* of a comparison: 0 or 1 instead of the values that pass */
	double number; /* of an operation, or how many series stay at the top or the bottom */
	bool number_first;
};

struct promql_node {
	bool is_join;
	size_t selector;          /* of a node that is no join */
	size_t left, right;       /* nodes of a join */
	struct promql_stage join; /* operator; labels: on(), or `without`: ignoring() */
	size_t n_stages;
	struct promql_stage stages[PROMQL_STAGES];
};

struct promql {
	bool is_number;
	double number;
	size_t n_selectors, n_nodes;
	struct promql_selector selectors[PROMQL_SELECTORS];
	struct promql_node nodes[PROMQL_NODES];
};

/* NW_EINVAL with why. */
int promql_parse(struct promql *q, const char *text, char why[PROMQL_WHY_BYTES]);
/* A selector alone, as match[] has it. */
int promql_parse_selector(struct promql_selector *s, const char *text, char why[PROMQL_WHY_BYTES]);

/* The value of an operation; of a comparison 1 or 0. */
double promql_calculate(enum promql_operator op, double a, double b);
/* Whether the results of an operation lose the metric's name. */
bool promql_drops_name(const struct promql_stage *s);

/* "5m", "1h30m", "250ms". */
bool promql_duration(const char *text, int64_t *ns);
/* Whether a label's value ("" for an absent label) passes. */
bool promql_matches(const struct promql_matcher *m, const char *value);

#endif
