/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/terminal.h"

#include "tests/check.h"

/* Text of a peer cannot move the cursor, colour a terminal, or turn the direction of other text. */
static void
test_string(void)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "" },
		{ "dtn-a -> dtn-b", "dtn-a -> dtn-b" },
		{ "K\xc3\xb6ln", "K\xc3\xb6ln" },
		{ "\x1b[31mred\n", "?[31mred?" },
		{ "a\x7f"
		  "b\xff",
		    "a?b?" },
		{ "\xc2\x9b"
		  "31m",
		    "\\u009b31m" },
		{ "cod\xe2\x80\xae"
		  "fdp.exe",
		    "cod\\u202efdp.exe" },
		{ "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069" },
		{ "\xd8\x9c", "\\u061c" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(terminal_text(cases[i].text), cases[i].shown);
}

static void
test_long(void)
{
	char text[4096];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK(strlen(terminal_text(text)) < 1024);
	text[1015] = '\xe2', text[1016] = '\x80', text[1017] = '\xae';
	CHECK(strchr(terminal_text(text), '\xe2') == NULL);
}

int
main(void)
{
	test_string();
	test_long();
	return check_done("terminal");
}
