/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/quantity.h"

#include "narrows/err.h"
#include "tests/check.h"

static const struct {
	const char *text;
	const struct quantity_unit *units;
	double want; /* -1 for a text that is refused */
	const char *why;
} cases[] = {
	{ "250 ms", quantity_time, 250e6, NULL },
	{ "0.1", quantity_time, 1e8, NULL },
	{ "2h", quantity_time, 7200e9, NULL },
	{ "3 min", quantity_time, 180e9, NULL },
	{ "8 MiB", quantity_size, 8388608, NULL },
	{ "1TiB", quantity_size, 1099511627776, NULL },
	{ "5 %", quantity_fraction, 0.05, NULL },
	{ "0", quantity_count, 0, NULL },
	{ "", quantity_time, -1, "not a number" },
	{ "soon", quantity_time, -1, "not a number" },
	{ "-1", quantity_count, -1, "not a number" },
	{ "nan", quantity_count, -1, "not a number" },
	{ "inf", quantity_size, -1, "not a number" },
	{ "1e999", quantity_size, -1, "not a number" },
	{ "5 parsecs", quantity_time, -1, "unknown unit" },
	{ "1 s x", quantity_time, -1, "unknown unit" },
	{ "5 %", quantity_count, -1, "unknown unit" },
};

int
main(void)
{
	const char *why;
	int64_t ns = 0;
	double v;
	size_t i;
	int rc;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why = NULL;
		rc = quantity_parse(cases[i].text, cases[i].units, &v, &why);
		CHECK_INT(rc, cases[i].want < 0 ? NW_EINVAL : NW_OK);
		if (rc == NW_OK)
			CHECK_NEAR(v, cases[i].want, 1e-15, 0);
		else
			CHECK_STR(why, cases[i].why);
	}
	CHECK_INT(quantity_duration("36500 d", &ns, &why), NW_OK);
	CHECK_INT(ns, INT64_C(36500) * 86400 * 1000000000);
	CHECK_INT(quantity_duration("36501 d", &ns, &why), NW_EINVAL);
	CHECK_STR(why, "out of range");
	return check_done("quantity");
}
