/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and times as others write them, to the nanosecond, and nothing else. */
#include "cli/import/import.h"

#include "tests/check.h"

enum kind { NUMBER, INTEGER, TIME, ULM };

static void
check_value(enum kind kind, const char *text, bool ok, int64_t want, double want_number)
{
	struct slice s = slice_of(text);
	int64_t t = 0;
	double v = 0;
	bool got = kind == NUMBER ? import_number(s, &v)
	    : kind == INTEGER     ? import_integer(s, &t)
	    : kind == TIME        ? import_time(s, &t)
				  : import_time_ulm(s, &t);

	CHECK_INT(got, ok);
	if (got != ok)
		fprintf(stderr, "  \"%s\"\n", text);
	if (!ok)
		return;
	if (kind == NUMBER)
		CHECK(memcmp(&v, &want_number, sizeof(v)) == 0 || (isnan(v) && isnan(want_number)));
	else
		CHECK_INT(t, want);
}

static const struct {
	const char *text;
	bool ok;
	double want;
} numbers[] = {
	{ "1", true, 1 },
	{ "-0", true, -0.0 },
	{ "5e-324", true, 5e-324 },
	{ "1.7976931348623157e+308", true, 1.7976931348623157e308 },
	{ "0.30000000000000004", true, 0.30000000000000004 },
	{ "Inf", true, INFINITY },
	{ "-inf", true, -INFINITY },
	{ "NaN", true, NAN },
	{ "", false, 0 },
	{ "x", false, 0 },
	{ "1x", false, 0 },
	{ "0x10", false, 0 },
	{ "1,5", false, 0 },
	{ "in", false, 0 },
	{ "nano", false, 0 },
};
static const struct {
	enum kind kind;
	const char *text;
	bool ok;
	int64_t want;
} times[] = {
	{ INTEGER, "0", true, 0 },
	{ INTEGER, "9223372036854775807", true, INT64_MAX },
	{ INTEGER, "-9223372036854775808", true, INT64_MIN },
	{ INTEGER, "9223372036854775808", false, 0 },
	{ INTEGER, "-9223372036854775809", false, 0 },
	{ INTEGER, "", false, 0 },
	{ INTEGER, "-", false, 0 },
	{ INTEGER, "1.0", false, 0 },
	{ INTEGER, "+1", false, 0 },
	{ INTEGER, " 1", false, 0 },
	{ TIME, "1970-01-01T00:00:00Z", true, 0 },
	{ TIME, "2026-11-20T08:12:11.250000001Z", true, 1795162331250000001 },
	{ TIME, "2026-11-20 08:12:11", true, 1795162331000000000 },
	{ TIME, "2026-11-20T08:12:11.25", true, 1795162331250000000 },
	{ TIME, "1969-12-31T23:59:59.500000000Z", true, -500000000 },
	{ TIME, "2024-02-29T00:00:00Z", true, 1709164800000000000 },
	{ TIME, "2000-03-01T00:00:00Z", true, 951868800000000000 },
	{ TIME, "1900-03-01T00:00:00Z", true, -2203891200000000000 },
	{ TIME, "2023-02-29T00:00:00Z", false, 0 },
	{ TIME, "1900-02-29T00:00:00Z", false, 0 },
	{ TIME, "2026-13-01T00:00:00Z", false, 0 },
	{ TIME, "2026-11-31T00:00:00Z", false, 0 },
	{ TIME, "2026-11-20T24:00:00Z", false, 0 },
	{ TIME, "2026-11-20T08:12:11.Z", false, 0 },
	{ TIME, "2026-11-20T08:12:11+01:00", false, 0 },
	{ TIME, "2026-11-20", false, 0 },
	{ TIME, "9999-01-01T00:00:00Z", false, 0 },
	{ TIME, "1795162331.250000001", true, 1795162331250000001 },
	{ TIME, "1795162331", true, 1795162331000000000 },
	{ TIME, "-0.5", true, -500000000 },
	{ TIME, "-1.25", true, -1250000000 },
	{ TIME, "0", true, 0 },
	{ TIME, "1795162331.", false, 0 },
	{ TIME, ".5", false, 0 },
	{ TIME, "-", false, 0 },
	{ TIME, "", false, 0 },
	{ TIME, "99999999999", false, 0 },
	{ ULM, "20260504100431.204417", true, 1777889071204417000 },
	{ ULM, "20260504100431.2102", true, 1777889071002102000 },
	{ ULM, "20260504100431.9", true, 1777889071000009000 },
	{ ULM, "20260504100431", true, 1777889071000000000 },
	{ ULM, "20260504100431.204417001", true, 1777889071204417001 },
	{ ULM, "20260504100431.", false, 0 },
	{ ULM, "20260504100431.x", false, 0 },
	{ ULM, "2026050410043", false, 0 },
	{ ULM, "20261304100431", false, 0 },
	{ ULM, "", false, 0 },
};

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check_value(NUMBER, numbers[i].text, numbers[i].ok, 0, numbers[i].want);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		check_value(times[i].kind, times[i].text, times[i].ok, times[i].want, 0);
	return check_done("test_import_value");
}
