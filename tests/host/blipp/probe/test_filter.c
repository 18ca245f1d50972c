/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/filter.h"

#include "tests/check.h"

static const struct {
	struct filter f;
	const char *name;
	bool takes;
} cases[] = {
	{ { NULL, NULL }, "sda", true },
	{ { "*", NULL }, "sda", true },
	{ { "nvme* sd?", NULL }, "sda", true },
	{ { "nvme* sd?", NULL }, "sdaa", false },
	{ { "  nvme*\t", NULL }, "nvme0n1", true },
	{ { NULL, "loop* ram*" }, "loop3", false },
	{ { NULL, "loop* ram*" }, "sda", true },
	{ { "loop*", "loop3" }, "loop3", false },
	{ { "loop*", "loop3" }, "loop4", true },
	{ { "/data/*", NULL }, "/data/a/b", true },
	{ { "", NULL }, "sda", false },
};

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(filter_takes(&cases[i].f, cases[i].name), cases[i].takes);
	return check_done("filter");
}
