/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that the authors of FNV published. */
#include "narrows/fnv.h"

#include <string.h>

#include "tests/check.h"

static const struct {
	const char *text;
	uint64_t hash;
} cases[] = {
	{ "", UINT64_C(0xcbf29ce484222325) },
	{ "a", UINT64_C(0xaf63dc4c8601ec8c) },
	{ "foobar", UINT64_C(0x85944171f73967e8) },
};

int
main(void)
{
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = strlen(cases[i].text);
		CHECK(fnv_text(FNV_BEGIN, cases[i].text) == cases[i].hash);
		CHECK(fnv_bytes(FNV_BEGIN, cases[i].text, len) == cases[i].hash);
		/* in two parts */
		CHECK(fnv_text(fnv_bytes(FNV_BEGIN, cases[i].text, len / 2),
			  cases[i].text + len / 2) == cases[i].hash);
	}
	return check_done("fnv");
}
