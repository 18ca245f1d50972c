/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings in sentences: marks of options, long values, and values that are not there. */
#include "analyze/verdict/claim/setting_text.h"

#include "tests/check.h"

static const struct {
	const char *value, *other, *text;
} cases[] = {
	{ "1", "0", "1" },
	{ NULL, "0", "absent" },
	{ " ", "0", "empty" },
	{ "pfifo #f49c691c", "tbf #2cd2393c", "pfifo" },
	{ "tbf #f49c691c", "tbf #2cd2393c", "tbf (options #f49c691c)" },
	{ "tbf #f49c691c", "tbf", "tbf" },
	{ "pfifo #f49c691c", NULL, "pfifo" },
	{ "pfifo #f49c691", "tbf", "pfifo #f49c691" }, /* no mark: seven digits */
	{ "rw,size=65536k,relatime", "rw,sync", "rw,size=65536k,relatime" },
};

int
main(void)
{
	char longer[2][201];
	char *text;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = setting_text(cases[i].value, cases[i].other);
		CHECK_STR(text, cases[i].text);
		free(text);
	}
	for (i = 0; i < 2; i++) {
		memset(longer[i], 'a', 100);
		memset(longer[i] + 100, 'b' + (int)i, 100);
		longer[i][99] = ' ';
		longer[i][200] = '\0';
	}
	text = setting_text(longer[0], longer[1]);
	CHECK_INT(strlen(text), 4 + 80);
	CHECK(strncmp(text, "... bbbb", 8) == 0);
	free(text);
	return check_done("test_setting_text");
}
