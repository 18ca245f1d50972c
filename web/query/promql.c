/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/promql.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum { DEPTH_MAX = 16 };
#define RANGE_MAX_NS (366 * 86400 * INT64_C(1000000000))

struct parser {
	const char *at;
	struct promql *q;
	char *why;
	unsigned depth;
};

/* An expression in hand: a number, or a vector, which is a node of the query. */
struct operand {
	bool is_number;
	double number;
	size_t node;
};

static int __attribute__((format(printf, 2, 3))) refuse(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, PROMQL_WHY_BYTES, fmt, ap);
	va_end(ap);
	return NW_EINVAL;
}

/* --- tokens --- */

static void
blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\r\n");
}

static bool
take(struct parser *p, char c)
{
	blanks(p);
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

static int
must(struct parser *p, char c)
{
	return take(p, c)    ? NW_OK
	    : *p->at == '\0' ? refuse(p, "'%c' is missing at the end", c)
			     : refuse(p, "'%c' is missing before \"%.20s\"", c, p->at);
}

static bool
is_name_byte(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' || c == ':' ||
	    (!first && isdigit((unsigned char)c));
}

/* The length of a name that begins here, 0 for other text. */
static size_t
name_len(const char *text)
{
	size_t n = 0;

	while (is_name_byte(text[n], n == 0))
		n++;
	return n;
}

static bool
is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && strncmp(text, word, len) == 0;
}

static int
take_name(struct parser *p, char out[PROMQL_NAME_BYTES])
{
	size_t len;

	blanks(p);
	if ((len = name_len(p->at)) == 0)
		return refuse(p, "a name is missing before \"%.20s\"", p->at);
	if (len >= PROMQL_NAME_BYTES)
		return refuse(p, "a label's name is too long: \"%.20s\"", p->at);
	memcpy(out, p->at, len);
	out[len] = '\0';
	p->at += len;
	return NW_OK;
}

/* Text in quotes, with the escapes \\ \" \' \n \t; backquotes know no escapes. */
static int
take_string(struct parser *p, char out[PROMQL_VALUE_BYTES])
{
	size_t n = 0;
	char quote, c;

	blanks(p);
	if ((quote = *p->at) != '"' && quote != '\'' && quote != '`')
		return refuse(p, "a text in quotes is missing before \"%.20s\"", p->at);
	for (p->at++; (c = *p->at) != quote; p->at++) {
		if (c == '\\' && quote != '`') {
			c = *++p->at;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		if (c == '\0')
			return refuse(p, "a text has no end");
		if (n + 1 >= PROMQL_VALUE_BYTES)
			return refuse(p, "a text is longer than %d bytes", PROMQL_VALUE_BYTES - 1);
		out[n++] = c;
	}
	p->at++;
	out[n] = '\0';
	return NW_OK;
}

static const struct {
	const char *unit;
	int64_t ns;
} units[] = {
	{ "ms", 1000000 },
	{ "s", INT64_C(1000000000) },
	{ "m", INT64_C(60000000000) },
	{ "h", INT64_C(3600000000000) },
	{ "d", INT64_C(86400000000000) },
	{ "w", INT64_C(604800000000000) },
};

/* Reads a duration and moves *at behind it. */
static bool
duration_read(const char **at, int64_t *ns)
{
	const char *text = *at;
	size_t i, len;
	double v, sum = 0;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	while (isdigit((unsigned char)*text)) {
		v = strtod(text, &end);
		len = strspn(end, "mshdwy");
		for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (strlen(units[i].unit) == len && strncmp(units[i].unit, end, len) == 0)
				break;
		if (i == sizeof(units) / sizeof(units[0]))
			return false;
		sum += v * (double)units[i].ns;
		text = end + len;
	}
	if (!(sum >= 1 && sum <= (double)RANGE_MAX_NS))
		return false;
	*ns = (int64_t)sum;
	*at = text;
	return true;
}

bool
promql_duration(const char *text, int64_t *ns)
{
	return duration_read(&text, ns) && *text == '\0';
}

/* --- selectors --- */

static int
regex_make(struct parser *p, struct promql_matcher *m)
{
	const char *why;

	return regex_compile(&m->regex, m->value, &why)
	    ? NW_OK
	    : refuse(p, "regular expression %.60s: %s", m->value, why);
}

static int
matcher_add(struct parser *p, struct promql_selector *s, const char *label, enum promql_match how,
    const char *value)
{
	struct promql_matcher *m = &s->matchers[s->n_matchers];
	int rc;

	if (s->n_matchers == PROMQL_MATCHERS)
		return refuse(p, "more than %d matchers", PROMQL_MATCHERS);
	if (strlen(value) >= PROMQL_VALUE_BYTES)
		return refuse(p, "a name is longer than %d bytes", PROMQL_VALUE_BYTES - 1);
	m->how = how;
	snprintf(m->label, sizeof(m->label), "%s", label);
	snprintf(m->value, sizeof(m->value), "%s", value);
	if (how >= PROMQL_REGEX && (rc = regex_make(p, m)) < 0)
		return rc;
	s->n_matchers++;
	return NW_OK;
}

static int
take_matcher(struct parser *p, struct promql_selector *s)
{
	char label[PROMQL_NAME_BYTES], value[PROMQL_VALUE_BYTES];
	enum promql_match how;
	int rc;

	if ((rc = take_name(p, label)) < 0)
		return rc;
	blanks(p);
	if (strncmp(p->at, "=~", 2) == 0)
		how = PROMQL_REGEX;
	else if (strncmp(p->at, "!~", 2) == 0)
		how = PROMQL_NOT_REGEX;
	else if (strncmp(p->at, "!=", 2) == 0)
		how = PROMQL_NOT_EQUAL;
	else if (*p->at == '=')
		how = PROMQL_EQUAL;
	else
		return refuse(p, "=, !=, =~ or !~ is missing after %s", label);
	p->at += how == PROMQL_EQUAL ? 1 : 2;
	if ((rc = take_string(p, value)) < 0)
		return rc;
	return matcher_add(p, s, label, how, value);
}

/* name{label="value",...}, where the name or the braces may be absent. */
static int
take_selector(struct parser *p, struct promql_selector *s)
{
	char name[PROMQL_VALUE_BYTES];
	size_t len;
	int rc;

	blanks(p);
	if ((len = name_len(p->at)) >= sizeof(name))
		return refuse(p, "a name is longer than %zu bytes", sizeof(name) - 1);
	memcpy(name, p->at, len);
	name[len] = '\0';
	p->at += len;
	if (len > 0 && (rc = matcher_add(p, s, "__name__", PROMQL_EQUAL, name)) < 0)
		return rc;
	if (take(p, '{') && !take(p, '}')) {
		do {
			blanks(p);
			if (*p->at == '}')
				break;
			if ((rc = take_matcher(p, s)) < 0)
				return rc;
		} while (take(p, ','));
		if ((rc = must(p, '}')) < 0)
			return rc;
	}
	return s->n_matchers > 0 ? NW_OK : refuse(p, "a selector needs a name or a matcher");
}

/* Takes the word, if it stands here. */
static bool
take_word(struct parser *p, const char *word)
{
	size_t len;

	blanks(p);
	len = name_len(p->at);
	if (!is_word(p->at, len, word))
		return false;
	p->at += len;
	return true;
}

/* "offset 5m" or "offset -5m", if it stands here. */
static int
take_offset(struct parser *p, struct promql_selector *s)
{
	bool later;

	if (!take_word(p, "offset"))
		return NW_OK;
	later = take(p, '-');
	blanks(p);
	if (!duration_read(&p->at, &s->offset_ns))
		return refuse(p, "a duration like 5m is missing before \"%.20s\"", p->at);
	if (later)
		s->offset_ns = -s->offset_ns;
	return NW_OK;
}

/* A new node with a new selector. NULL: refused. */
static struct promql_selector *
node_of_selector(struct parser *p, struct operand *out)
{
	struct promql *q = p->q;

	if (q->n_selectors == PROMQL_SELECTORS) {
		refuse(p, "not supported: more than %d selectors", PROMQL_SELECTORS);
		return NULL;
	}
	out->node = q->n_nodes++;
	q->nodes[out->node].selector = q->n_selectors;
	return &q->selectors[q->n_selectors++];
}

/* --- functions and aggregations --- */

static const struct {
	const char *name;
	enum promql_function function;
} functions[] = {
	{ "rate", PROMQL_RATE },
	{ "irate", PROMQL_IRATE },
	{ "increase", PROMQL_INCREASE },
	{ "avg_over_time", PROMQL_AVG },
	{ "min_over_time", PROMQL_MIN },
	{ "max_over_time", PROMQL_MAX },
	{ "sum_over_time", PROMQL_SUM },
	{ "last_over_time", PROMQL_LAST },
	{ "count_over_time", PROMQL_COUNT },
	{ "quantile_over_time", PROMQL_QUANTILE },
};

static const struct {
	const char *name;
	enum promql_aggregate aggregate;
} aggregates[] = {
	{ "sum", PROMQL_BY_SUM },
	{ "avg", PROMQL_BY_AVG },
	{ "min", PROMQL_BY_MIN },
	{ "max", PROMQL_BY_MAX },
	{ "count", PROMQL_BY_COUNT },
	{ "topk", PROMQL_TOP },
	{ "bottomk", PROMQL_BOTTOM },
};

static int
take_range(struct parser *p, struct promql_selector *s)
{
	int rc;

	if ((rc = must(p, '[')) < 0)
		return rc;
	blanks(p);
	if (!duration_read(&p->at, &s->range_ns))
		return refuse(p, "a duration like 5m is missing before \"%.20s\"", p->at);
	blanks(p);
	if (*p->at == ':')
		return refuse(p, "not supported: subqueries");
	return must(p, ']');
}

static int
take_number(struct parser *p, double *v)
{
	char *end;

	blanks(p);
	*v = strtod(p->at, &end);
	if (end == p->at || is_name_byte(*end, true))
		return refuse(p, "a number is missing before \"%.20s\"", p->at);
	p->at = end;
	return NW_OK;
}

static int
take_function(struct parser *p, enum promql_function function, struct operand *out)
{
	struct promql_selector *s = node_of_selector(p, out);
	int rc;

	if (s == NULL)
		return NW_EINVAL;
	if ((rc = must(p, '(')) < 0)
		return rc;
	if (function == PROMQL_QUANTILE &&
	    ((rc = take_number(p, &s->quantile)) < 0 || (rc = must(p, ',')) < 0))
		return rc;
	s->function = function;
	if ((rc = take_selector(p, s)) < 0 || (rc = take_range(p, s)) < 0 ||
	    (rc = take_offset(p, s)) < 0)
		return rc;
	return must(p, ')');
}

static struct promql_stage *
stage_add(struct parser *p, const struct operand *of)
{
	struct promql_node *node = &p->q->nodes[of->node];

	if (node->n_stages == PROMQL_STAGES) {
		refuse(p, "not supported: more than %d operations", PROMQL_STAGES);
		return NULL;
	}
	return &node->stages[node->n_stages++];
}

/* The word `stay` or `go`, and a list of labels (a, b), if the text has them here. */
static int
take_labels(struct parser *p, struct promql_stage *s, const char *stay, const char *go)
{
	bool without = take_word(p, go);
	int rc;

	if (!without && !take_word(p, stay))
		return NW_OK;
	s->without = without;
	if ((rc = must(p, '(')) < 0 || take(p, ')'))
		return rc;
	do {
		if (s->n_labels == PROMQL_LABELS)
			return refuse(p, "more than %d labels", PROMQL_LABELS);
		if ((rc = take_name(p, s->labels[s->n_labels])) < 0)
			return rc;
		s->n_labels++;
	} while (take(p, ','));
	return must(p, ')');
}

static int take_expression(struct parser *p, struct operand *out);

static int
take_aggregate(struct parser *p, enum promql_aggregate aggregate, struct operand *out)
{
	struct promql_stage grouping = { .aggregate = aggregate }, *s;
	bool ranks = aggregate == PROMQL_TOP || aggregate == PROMQL_BOTTOM, grouped;
	int rc;

	if ((rc = take_labels(p, &grouping, "by", "without")) < 0)
		return rc;
	grouped = grouping.n_labels > 0 || grouping.without;
	if ((rc = must(p, '(')) < 0)
		return rc;
	if (ranks && ((rc = take_number(p, &grouping.number)) < 0 || (rc = must(p, ',')) < 0))
		return rc;
	grouping.number = floor(grouping.number);
	if ((rc = take_expression(p, out)) < 0 || (rc = must(p, ')')) < 0)
		return rc;
	if (!grouped && (rc = take_labels(p, &grouping, "by", "without")) < 0)
		return rc;
	if (out->is_number)
		return refuse(p, "an aggregation of a number");
	if ((s = stage_add(p, out)) == NULL)
		return NW_EINVAL;
	*s = grouping;
	return NW_OK;
}

/* --- expressions --- */

/* A selector without a function. */
static int
take_instant(struct parser *p, struct operand *out)
{
	struct promql_selector *s = node_of_selector(p, out);
	int rc;

	if (s == NULL)
		return NW_EINVAL;
	if ((rc = take_selector(p, s)) < 0)
		return rc;
	blanks(p);
	if (*p->at == '[')
		return refuse(p, "not supported: a range without a function over time");
	return take_offset(p, s);
}

static int
take_named(struct parser *p, struct operand *out)
{
	size_t len, i;
	char next;

	len = name_len(p->at);
	next = p->at[len + strspn(p->at + len, " \t\r\n")];
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (next == '(' && is_word(p->at, len, functions[i].name)) {
			p->at += len;
			return take_function(p, functions[i].function, out);
		}
	for (i = 0; i < sizeof(aggregates) / sizeof(aggregates[0]); i++)
		if ((next == '(' || next == 'b' || next == 'w') &&
		    is_word(p->at, len, aggregates[i].name)) {
			p->at += len;
			return take_aggregate(p, aggregates[i].aggregate, out);
		}
	if (next == '(' && len > 0)
		return refuse(
		    p, "not supported: the function %.*s", (int)(len > 60 ? 60 : len), p->at);
	return take_instant(p, out);
}

static int
take_primary(struct parser *p, struct operand *out)
{
	int rc;

	blanks(p);
	*out = (struct operand){ .is_number = true };
	if (isdigit((unsigned char)*p->at) || *p->at == '.')
		return take_number(p, &out->number);
	if (take(p, '(')) {
		if ((rc = take_expression(p, out)) < 0)
			return rc;
		return must(p, ')');
	}
	out->is_number = false;
	return take_named(p, out);
}

/* How strongly operators bind; all but the power join from the left. */
enum level { LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_POWER };

static const struct {
	const char *text; /* no text is the begin of a later text */
	enum promql_operator op;
	enum level level;
} operators[] = {
	{ "==", PROMQL_IS_EQUAL, LEVEL_COMPARE },
	{ "!=", PROMQL_IS_OTHER, LEVEL_COMPARE },
	{ ">=", PROMQL_IS_AT_LEAST, LEVEL_COMPARE },
	{ "<=", PROMQL_IS_AT_MOST, LEVEL_COMPARE },
	{ ">", PROMQL_IS_GREATER, LEVEL_COMPARE },
	{ "<", PROMQL_IS_LESS, LEVEL_COMPARE },
	{ "+", PROMQL_ADD, LEVEL_SUM },
	{ "-", PROMQL_SUBTRACT, LEVEL_SUM },
	{ "*", PROMQL_MULTIPLY, LEVEL_PRODUCT },
	{ "/", PROMQL_DIVIDE, LEVEL_PRODUCT },
	{ "%", PROMQL_MODULO, LEVEL_PRODUCT },
	{ "^", PROMQL_POWER, LEVEL_POWER },
};

/* The operator of this level, with bool, on() or ignoring(). *is_there tells whether the text has
 * an operator here. */
static int
take_operator(struct parser *p, enum level level, struct promql_stage *how, bool *is_there)
{
	size_t i;
	int rc;

	blanks(p);
	*is_there = false;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strncmp(p->at, operators[i].text, strlen(operators[i].text)) == 0)
			break;
	if (i == sizeof(operators) / sizeof(operators[0]) || operators[i].level != level)
		return NW_OK;
	*is_there = true;
	p->at += strlen(operators[i].text);
	*how = (struct promql_stage){ .op = operators[i].op, .without = true };
	how->is_bool = level == LEVEL_COMPARE && take_word(p, "bool");
	if ((rc = take_labels(p, how, "on", "ignoring")) < 0)
		return rc;
	if (take_word(p, "group_left") || take_word(p, "group_right"))
		return refuse(p, "not supported: group_left and group_right");
	return NW_OK;
}

static int
join(struct parser *p, struct operand *left, const struct promql_stage *how, size_t right)
{
	struct promql *q = p->q;

	if (q->n_nodes == PROMQL_NODES)
		return refuse(p, "not supported: more than %d selectors", PROMQL_SELECTORS);
	q->nodes[q->n_nodes] = (struct promql_node){
		.is_join = true, .left = left->node, .right = right, .join = *how
	};
	left->node = q->n_nodes++;
	return NW_OK;
}

static int
combine(struct parser *p, struct operand *left, const struct promql_stage *how,
    const struct operand *right)
{
	struct operand vector = left->is_number ? *right : *left;
	struct promql_stage *s;

	if (!left->is_number && !right->is_number)
		return join(p, left, how, right->node);
	if (!how->without || how->n_labels > 0)
		return refuse(p, "on() and ignoring() stand between two vectors alone");
	if (left->is_number && right->is_number) {
		if (how->op >= PROMQL_IS_EQUAL && !how->is_bool)
			return refuse(p, "a comparison of two numbers needs bool");
		left->number = promql_calculate(how->op, left->number, right->number);
		return NW_OK;
	}
	if ((s = stage_add(p, &vector)) == NULL)
		return NW_EINVAL;
	*s = *how;
	s->number = left->is_number ? left->number : right->number;
	s->number_first = left->is_number;
	*left = vector;
	return NW_OK;
}

/* A power binds more strongly than the sign before its base, and less than the sign behind "^". */
static int
take_power(struct parser *p, struct operand *out)
{
	static const struct promql_stage times = { .op = PROMQL_MULTIPLY, .without = true };
	struct operand right;
	struct promql_stage how;
	bool is_there;
	int rc;

	if (take(p, '-')) {
		if ((rc = take_power(p, &right)) < 0)
			return rc;
		*out = (struct operand){ .is_number = true, .number = -1 };
		return combine(p, out, &times, &right);
	}
	if ((rc = take_primary(p, out)) < 0 ||
	    (rc = take_operator(p, LEVEL_POWER, &how, &is_there)) < 0 || !is_there)
		return rc;
	if ((rc = take_power(p, &right)) < 0)
		return rc;
	return combine(p, out, &how, &right);
}

static int
take_level(struct parser *p, struct operand *out, enum level level)
{
	struct operand right;
	struct promql_stage how;
	bool is_there = true;
	int rc;

	if (level == LEVEL_POWER)
		return take_power(p, out);
	rc = take_level(p, out, level + 1);
	while (rc == NW_OK) {
		if ((rc = take_operator(p, level, &how, &is_there)) < 0 || !is_there)
			return rc;
		if ((rc = take_level(p, &right, level + 1)) == NW_OK)
			rc = combine(p, out, &how, &right);
	}
	return rc;
}

static int
take_expression(struct parser *p, struct operand *out)
{
	int rc;

	if (++p->depth > DEPTH_MAX)
		return refuse(p, "nested more than %d deep", DEPTH_MAX);
	rc = take_level(p, out, LEVEL_COMPARE);
	p->depth--;
	return rc;
}

double
promql_calculate(enum promql_operator op, double a, double b)
{
	switch (op) {
	case PROMQL_ADD: return a + b;
	case PROMQL_SUBTRACT: return a - b;
	case PROMQL_MULTIPLY: return a * b;
	case PROMQL_DIVIDE: return a / b;
	case PROMQL_MODULO: return fmod(a, b);
	case PROMQL_POWER: return pow(a, b);
	case PROMQL_IS_EQUAL: return a == b;
	case PROMQL_IS_OTHER: return a != b;
	case PROMQL_IS_GREATER: return a > b;
	case PROMQL_IS_LESS: return a < b;
	case PROMQL_IS_AT_LEAST: return a >= b;
	case PROMQL_IS_AT_MOST: return a <= b;
	}
	return NAN;
}

bool
promql_drops_name(const struct promql_stage *s)
{
	return s->op < PROMQL_IS_EQUAL || s->is_bool;
}

/* Names what stands behind an expression, as far as it is known and not supported. */
static int
refuse_rest(struct parser *p)
{
	static const char *const words[] = { "and", "or", "unless" };
	size_t i, len = name_len(p->at);

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(p->at, len, words[i]))
			return refuse(p, "not supported: %s", words[i]);
	if (*p->at == '@')
		return refuse(p, "not supported: %c", *p->at);
	return refuse(p, "the expression cannot continue with \"%.40s\"; see narrowsd(8)", p->at);
}

int
promql_parse(struct promql *q, const char *text, char why[PROMQL_WHY_BYTES])
{
	struct parser p = { .at = text, .q = q, .why = why };
	struct operand whole;
	int rc;

	memset(q, 0, sizeof(*q));
	rc = take_expression(&p, &whole);
	blanks(&p);
	if (rc == NW_OK && *p.at != '\0')
		rc = refuse_rest(&p);
	if (rc < 0)
		return rc;
	q->is_number = whole.is_number;
	q->number = whole.number;
	return NW_OK;
}

int
promql_parse_selector(struct promql_selector *s, const char *text, char why[PROMQL_WHY_BYTES])
{
	struct parser p = { .at = text, .why = why };
	int rc;

	memset(s, 0, sizeof(*s));
	rc = take_selector(&p, s);
	blanks(&p);
	if (rc == NW_OK && *p.at != '\0')
		rc = refuse_rest(&p);
	return rc;
}

bool
promql_matches(const struct promql_matcher *m, const char *value)
{
	switch (m->how) {
	case PROMQL_EQUAL: return strcmp(m->value, value) == 0;
	case PROMQL_NOT_EQUAL: return strcmp(m->value, value) != 0;
	case PROMQL_REGEX: return regex_match(&m->regex, value);
	case PROMQL_NOT_REGEX: return !regex_match(&m->regex, value);
	}
	return false;
}
