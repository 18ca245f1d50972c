/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/utf8.h"

#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *s;
		size_t left, want;
	} cases[] = {
		{ "a", 1, 1 },
		{ "", 1, 1 },
		{ "a", 0, 0 },
		{ "\xc3\xa9", 2, 2 },
		{ "\xc3\xa9", 1, 0 },
		{ "\xe2\x82\xac", 3, 3 },
		{ "\xe2\x82\xac", 2, 0 },
		{ "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xed\xa0\x80", 3, 0 }, /* a surrogate */
		{ "\xe0\x9f\xbf", 3, 0 }, /* overlong */
		{ "\xf0\x8f\xbf\xbf", 4, 0 },
		{ "\xc1\xbf", 2, 0 },
		{ "\xc3(", 2, 0 },
		{ "\xe2\x82(", 3, 0 },
		{ "\x80", 1, 0 },
		{ "\xff", 1, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(utf8_length(cases[i].s, cases[i].left), cases[i].want);
	return check_done("utf8");
}
