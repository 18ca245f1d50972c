/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions of PromQL: their parts, their order, and refusals that name what is not supported. */
#include "web/query/promql.h"

#include "narrows/err.h"
#include "tests/check.h"

#define S INT64_C(1000000000)

static struct promql q;
static char why[PROMQL_WHY_BYTES];

static int
parse(const char *text)
{
	why[0] = '\0';
	return promql_parse(&q, text, why);
}

/* The stages as text, in the order in which values go through them. */
static const char *
stages_text(void)
{
	static const char *const words[] = { "", "sum", "avg", "min", "max", "count", "top",
		"bottom" },
				 *const ops[] = { "+", "-", "*", "/", "%", "^", "==", "!=", ">",
					 "<", ">=", "<=" };
	const struct promql_node *node = &q.nodes[q.n_nodes - 1];
	static char text[512];
	size_t i, k, len = 0;

	text[0] = '\0';
	for (i = 0; i < node->n_stages; i++) {
		const struct promql_stage *s = &node->stages[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", i > 0 ? " " : "");
		if (s->aggregate == PROMQL_ARITHMETIC) {
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    s->number_first ? "%1$g%2$s%3$s." : ".%2$s%3$s%1$g", s->number,
			    ops[s->op], s->is_bool ? "bool " : "");
			continue;
		}
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", words[s->aggregate],
		    s->without ? "-" : "");
		if (s->aggregate >= PROMQL_TOP)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%g", s->number);
		for (k = 0; k < s->n_labels; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%s",
			    k > 0 ? ',' : ':', s->labels[k]);
	}
	return text;
}

static void
test_numbers(void)
{
	static const struct {
		const char *text;
		double v;
	} cases[] = {
		{ "1 + 2 * 3", 7 },
		{ "(1 + 2) * 3", 9 },
		{ "8 / 4 / 2", 1 },
		{ "8 - 4 - 2", 2 },
		{ "2 * 3 + 4 * 5", 26 },
		{ "-2 * -(3 - 1)", 4 },
		{ "- - 2", 2 },
		{ ".5e3", 500 },
		{ " 1\t/\n4 ", 0.25 },
		{ "7 % 4 + 1", 4 },
		{ "2 ^ 3 ^ 2", 512 },
		{ "-2 ^ 2", -4 },
		{ "2 ^ -1 * 4", 2 },
		{ "1 + 1 == bool 2", 1 },
		{ "3 < bool 2", 0 },
		{ "1 >= bool 1 + 1", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i].text), NW_OK);
		CHECK(q.is_number);
		CHECK_NEAR(q.number, cases[i].v, 1e-15, 0);
	}
}

static void
test_stages(void)
{
	static const struct {
		const char *text, *stages;
	} cases[] = {
		{ "x", "" },
		{ "x * 8", ".*8" },
		{ "8 * x", "8*." },
		{ "1 - x - 2", "1-. .-2" },
		{ "2 * 3 + x / 4", "./4 6+." },
		{ "sum(x)", "sum" },
		{ "sum by (a) (x)", "sum:a" },
		{ "sum(x) by (a, b)", "sum:a,b" },
		{ "max without (a) (x)", "max-:a" },
		{ "min(avg without (a) (x * 2)) by (b) / 3", ".*2 avg-:a min:b ./3" },
		{ "count by () (x)", "count" },
		{ "sum + 1", ".+1" }, /* a metric of this name */
		{ "-x", "-1*." },
		{ "x > 3", ".>3" },
		{ "3 >= bool x * 2", ".*2 3>=bool ." },
		{ "topk(3.7, x)", "top3" },
		{ "bottomk by (a) (1, x % 2) != 0", ".%2 bottom1:a .!=0" },
		{ "topk(2, x) without (b)", "top-2:b" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i].text), NW_OK);
		CHECK(!q.is_number);
		CHECK_STR(stages_text(), cases[i].stages);
	}
}

static void
test_selectors(void)
{
	static struct promql_selector alone;

	CHECK_INT(
	    parse("ps:disk{device=\"sd\\\"a\\\\\\n\",host!='b',c=~`a\\.b`,d!~\"x|y\",}"), NW_OK);
	CHECK_INT(q.selectors[0].n_matchers, 5);
	CHECK_STR(q.selectors[0].matchers[0].label, "__name__");
	CHECK_STR(q.selectors[0].matchers[0].value, "ps:disk");
	CHECK_STR(q.selectors[0].matchers[1].value, "sd\"a\\\n");
	CHECK(q.selectors[0].matchers[1].how == PROMQL_EQUAL &&
	    q.selectors[0].matchers[2].how == PROMQL_NOT_EQUAL);
	CHECK(q.selectors[0].matchers[3].how == PROMQL_REGEX &&
	    q.selectors[0].matchers[4].how == PROMQL_NOT_REGEX);
	CHECK(promql_matches(&q.selectors[0].matchers[2], "c") &&
	    !promql_matches(&q.selectors[0].matchers[2], "b"));
	CHECK(promql_matches(&q.selectors[0].matchers[3], "a.b") &&
	    !promql_matches(&q.selectors[0].matchers[3], "a.bc"));
	CHECK(promql_matches(&q.selectors[0].matchers[4], "z") &&
	    !promql_matches(&q.selectors[0].matchers[4], "y"));
	CHECK_INT(promql_parse_selector(&alone, "{a=\"b\"}", why), NW_OK);
	CHECK_INT(alone.n_matchers, 1);
	CHECK_INT(promql_parse_selector(&alone, "x + 1", why), NW_EINVAL);
}

static void
test_functions(void)
{
	static const struct {
		const char *text;
		enum promql_function function;
	} cases[] = {
		{ "x", PROMQL_INSTANT },
		{ "rate(x[1m30s])", PROMQL_RATE },
		{ "irate(x[90s])", PROMQL_IRATE },
		{ "increase(x[90s])", PROMQL_INCREASE },
		{ "avg_over_time(x[ 90s ])", PROMQL_AVG },
		{ "min_over_time(x[90s])", PROMQL_MIN },
		{ "max_over_time(x[90s])", PROMQL_MAX },
		{ "sum_over_time(x[90s])", PROMQL_SUM },
		{ "last_over_time(x[90s])", PROMQL_LAST },
		{ "count_over_time(x[90s])", PROMQL_COUNT },
		{ "quantile_over_time(0.9, x[90s])", PROMQL_QUANTILE },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i].text), NW_OK);
		CHECK_INT(q.selectors[0].function, cases[i].function);
		CHECK_INT(q.selectors[0].range_ns, i > 0 ? 90 * S : 0);
	}
	CHECK_NEAR(q.selectors[0].quantile, 0.9, 1e-15, 0);
}

/* A join comes behind its two sides, and has the labels that decide. */
static void
test_joins(void)
{
	const struct promql_node *root;

	CHECK_INT(parse("rate(a[5m]) / on (host, b) (c offset 1h - d offset -5m) * 8"), NW_OK);
	CHECK_INT(q.n_selectors, 3);
	CHECK_INT(q.n_nodes, 5);
	CHECK_INT(q.selectors[1].offset_ns, 3600 * S);
	CHECK_INT(q.selectors[2].offset_ns, -300 * S);
	root = &q.nodes[4];
	CHECK(root->is_join && root->join.op == PROMQL_DIVIDE && !root->join.without);
	CHECK_INT(root->join.n_labels, 2);
	CHECK_STR(root->join.labels[1], "b");
	CHECK_INT(root->left, 0);
	CHECK_INT(root->right, 3);
	CHECK_STR(stages_text(), ".*8");
	CHECK(q.nodes[3].is_join && q.nodes[3].left == 1 && q.nodes[3].right == 2);
	CHECK(q.nodes[3].join.without && q.nodes[3].join.n_labels == 0);
	CHECK_INT(parse("a > bool ignoring (x) b"), NW_OK);
	root = &q.nodes[2];
	CHECK(root->join.is_bool && root->join.without && root->join.op == PROMQL_IS_GREATER);
	CHECK_STR(root->join.labels[0], "x");
}

static void
test_durations(void)
{
	static const struct {
		const char *text;
		int64_t ns; /* 0: refused */
	} cases[] = {
		{ "1ms", 1000000 },
		{ "1s500ms", 1500000000 },
		{ "1.5m", 90 * S },
		{ "2h", 7200 * S },
		{ "1w1d", 8 * 86400 * S },
		{ "366d", 366 * 86400 * S },
		{ "367d", 0 },
		{ "0s", 0 },
		{ "5", 0 },
		{ "5y", 0 },
		{ "5mm", 0 },
		{ "m", 0 },
		{ "-5m", 0 },
		{ "5m ", 0 },
		{ "", 0 },
	};
	int64_t ns;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(promql_duration(cases[i].text, &ns), cases[i].ns != 0);
		if (cases[i].ns != 0)
			CHECK_INT(ns, cases[i].ns);
	}
}

static void
test_refusals(void)
{
	static const struct {
		const char *text, *part; /* of the reason */
	} cases[] = {
		{ "", "name" },
		{ "x offset", "a duration" },
		{ "x offset 5", "a duration" },
		{ "x and y", "not supported: and" },
		{ "a + b + c + d + e", "more than 4 selectors" },
		{ "a + on (host) group_left b", "not supported: group_left" },
		{ "x + on (a) 3", "between two vectors" },
		{ "1 > 2", "needs bool" },
		{ "x =~ 3", "cannot continue" },
		{ "x @ 3", "not supported: @" },
		{ "x[5m]", "without a function" },
		{ "rate(x)", "'['" },
		{ "rate(x[5m:1m])", "subqueries" },
		{ "rate(x[5])", "a duration" },
		{ "topk(x)", "a number" },
		{ "topk(3)", "','" },
		{ "sum(1)", "a number" },
		{ "sum(x", "')' is missing at the end" },
		{ "{}", "a name or a matcher" },
		{ "x{a=b}", "in quotes" },
		{ "x{a=\"b}", "no end" },
		{ "x{a=~\"(\"}", "regular expression" },
		{ "x{a<\"b\"}", "missing after a" },
		{ "1 2", "cannot continue" },
		{ "((((((((((((((((1))))))))))))))))", "deep" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i].text), NW_EINVAL);
		if (strstr(why, cases[i].part) == NULL)
			CHECK_STR(why, cases[i].part);
	}
}

/* n times a part between head and tail: the last number that is taken. */
static void
check_limit(const char *head, const char *part, const char *tail, size_t most)
{
	char text[4096];
	size_t n, i, len;

	for (n = most; n <= most + 1; n++) {
		len = (size_t)snprintf(text, sizeof(text), "%s", head);
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", part);
		snprintf(text + len, sizeof(text) - len, "%s", tail);
		CHECK_INT(parse(text), n == most ? NW_OK : NW_EINVAL);
	}
}

static void
test_limits(void)
{
	check_limit("x", " * 2", "", PROMQL_STAGES);
	check_limit("{", "a=\"b\",", "}", PROMQL_MATCHERS);
	check_limit("sum by (a", ",a", ") (x)", PROMQL_LABELS - 1);
	check_limit("x{a=\"", "v", "\"}", PROMQL_VALUE_BYTES - 1);
	check_limit("x{", "l", "=\"\"}", PROMQL_NAME_BYTES - 1);
	check_limit("", "n", "", PROMQL_VALUE_BYTES - 1);
}

int
main(void)
{
	test_numbers();
	test_stages();
	test_selectors();
	test_functions();
	test_joins();
	test_durations();
	test_refusals();
	test_limits();
	return check_done("test_promql");
}
