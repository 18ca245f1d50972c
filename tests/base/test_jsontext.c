/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/jsontext.h"

#include "tests/check.h"

static const struct {
	const char *text;
	size_t len;
	const char *want;
} cases[] = {
	{ "", 0, "\"\"" },
	{ "plain/text", 10, "\"plain/text\"" },
	{ "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
	{ "\n\t\x01\x1f\x7f", 5, "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"" },
	{ "\xc3\xa9", 2, "\"\xc3\xa9\"" },
	{ "\xc3", 1, "\"\xef\xbf\xbd\"" },
	{ "a\xff", 2, "\"a\xef\xbf\xbd\"" },
	{ "a\0b", 3,
	    "\"a\xef\xbf\xbd"
	    "b\"" },
};

int
main(void)
{
	char out[64], *stream = NULL;
	size_t i, n, size;
	FILE *f;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = jsontext_write(out, cases[i].text, cases[i].len);
		CHECK(n <= jsontext_room(cases[i].len));
		out[n] = '\0';
		CHECK_STR(out, cases[i].want);
		f = open_memstream(&stream, &size);
		jsontext_put(f, cases[i].text, cases[i].len);
		fclose(f);
		CHECK_STR(stream, cases[i].want);
		free(stream);
	}
	return check_done("jsontext");
}
