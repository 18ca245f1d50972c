/* SPDX-License-Identifier: BSD-3-Clause */
/* Printed numbers read back to the same bits and are as short as can be; strings and tables are
 * quoted. */
#include <float.h>
#include <stdint.h>

#include "tests/check.h"
#include "cli/stat/stat.h"

static void
check_number(double v, const char *want)
{
	json_t *n = json_real(v);
	char *s = stat_out_text(n, false);

	if (s != NULL && strlen(s) > 0)
		s[strlen(s) - 1] = '\0';
	if (want != NULL)
		CHECK_STR(s, want);
	CHECK(s != NULL && strtod(s, NULL) == v && signbit(strtod(s, NULL)) == signbit(v));
	free(s);
	json_decref(n);
}

static void
test_numbers(void)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = { { 0, "0" }, { -0.0, "-0" }, { 1, "1" }, { 0.1, "0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" }, { 1e22, "1e22" }, { 1e-7, "1e-7" },
		{ 123456789, "123456789" }, { 5e-324, "5e-324" },
		{ DBL_MAX, "1.7976931348623157e308" }, { DBL_MIN, "2.2250738585072014e-308" },
		{ 1.0 / 3, "0.3333333333333333" }, { 9007199254740993.0, "9007199254740992" },
		{ -1.5e-300, "-1.5e-300" }, { 1e100, "1e100" } };
	uint64_t seed = 9, bits;
	double v;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_number(cases[i].v, cases[i].want);
	for (i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = seed ^ seed >> 32;
		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			check_number(v, NULL);
	}
}

static void
test_documents(void)
{
	const double v[] = { 1, NAN, INFINITY, -INFINITY };
	json_t *doc = json_pack("{s:o,s:s,s:{},s:[{s:b}],s:[]}", "a", stat_json_array(v, 4),
	    "q\"\\\n\x01", "\xc3\xa9\x7f", "e", "n", "t", 1, "l");
	char *s = stat_out_text(doc, false), *pretty = stat_out_text(doc, true);
	json_t *again;

	CHECK_STR(s,
	    "{\"a\":[1,null,\"Inf\",\"-Inf\"],\"q\\\"\\\\\\u000a\\u0001\":\"\xc3\xa9\\u007f\","
	    "\"e\":{},\"n\":[{\"t\":true}],"
	    "\"l\":[]}\n");
	CHECK(
	    pretty != NULL && strstr(pretty, "\n  \"a\": [1, null, \"Inf\", \"-Inf\"],\n") != NULL);
	again = pretty == NULL ? NULL : json_loads(pretty, 0, NULL);
	CHECK(again != NULL && json_object_size(again) == 5);
	json_decref(again);
	free(s);
	free(pretty);
	json_decref(doc);
}

static void
test_tables(void)
{
	json_t *rows = json_pack(
	    "[{s:s,s:f,s:[]},{s:n,s:b},{}]", "a", "x,\"y\"", "b", 0.5, "nested", "a", "c", 1);
	json_t *named = json_pack("{s:{s:i},s:{s:i}}", "r1", "v", 1, "r,2", "v", 2);
	char *s = stat_out_csv(rows);

	CHECK_STR(s, "a,b,c\n\"x,\"\"y\"\"\",0.5,\n,,true\n,,\n");
	free(s);
	s = stat_out_csv(named);
	CHECK_STR(s, "name,v\nr1,1\n\"r,2\",2\n");
	free(s);
	json_decref(rows);
	json_decref(named);
}

int
main(void)
{
	test_numbers();
	test_documents();
	test_tables();
	return check_done("stat_out");
}
