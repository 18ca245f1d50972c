/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/option.h"

#include "tests/check.h"

static void
test_whole(void)
{
	static const char *const bad[] = { "", "x", "-1", "1.5", "101", "0", "7 KiB", "nan",
		"1e400" };
	uint64_t v = 7;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!option_whole(bad[i], 1, 100, &v) && v == 7);
	CHECK(option_whole("100", 1, 100, &v) && v == 100);
	CHECK(option_bytes("64 KiB", 512, 4 << 20, &v) && v == 65536);
	CHECK(option_bytes("512", 512, 4 << 20, &v) && v == 512);
	CHECK(!option_bytes("8 MiB", 512, 4 << 20, &v) && v == 512);
}

static void
test_real(void)
{
	double v = 7;

	CHECK(!option_real("inf", 0.5, 10, &v) && !option_real("0.4", 0.5, 10, &v) && v == 7);
	CHECK(option_real("0.5", 0.5, 10, &v) && v == 0.5);
}

int
main(void)
{
	test_whole();
	test_real();
	return check_done("test_option");
}
