/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/csv.h"

#include "tests/check.h"

/* --- reading --- */

/* All fields of a text as "[a][b]\n[c]\n", or the failure as "line:column: why". */
static void
all_read(const char *text, size_t n, bool lenient, char out[512])
{
	struct csv_cursor c = csv_begin(text, n);
	struct csv_field f;
	char cell[256];
	size_t len = 0;

	c.lenient = lenient;
	out[0] = '\0';
	while (c.at < c.end) {
		if (!csv_next(&c, &f)) {
			snprintf(out, 512, "%zu:%zu: %s", c.line, csv_column(&c), c.why);
			return;
		}
		CHECK(f.len < sizeof(cell));
		csv_copy(&f, cell);
		len += (size_t)snprintf(out + len, 512 - len, "[%s]%s", cell, f.last ? "\n" : "");
	}
}

static const struct {
	const char *text, *strict, *lenient; /* lenient NULL: the same */
} cases[] = {
	{ "", "", NULL },
	{ "a,b\nc", "[a][b]\n[c]\n", NULL },
	{ "\xef\xbb\xbf"
	  "a\r\nb\r\n",
	    "[a]\n[b]\n", NULL },
	{ "a,,\n", "[a][][]\n", NULL },
	{ "\"a,b\",\"c\nd\"\n", "[a,b][c\nd]\n", NULL },
	{ "\"say \"\"x\"\"\"", "[say \"x\"]\n", NULL },
	{ "a\n\"b", "2:1: quote that is never closed", NULL },
	{ "a\n\"b\n\nc", "2:1: quote that is never closed", NULL },
	{ "\"a\"b", "1:4: text after a closing quote", NULL },
	{ "x,a\"b\n", "1:4: quote inside an unquoted field", "[x][a\"b]\n" },
	{ "a\rb\n", "1:2: carriage return without line feed", "[a\rb]\n" },
	{ "a\n,b\r", "2:3: carriage return without line feed", "[a]\n[][b]\n" },
};

static void
test_read(void)
{
	char out[512];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		all_read(cases[i].text, strlen(cases[i].text), false, out);
		CHECK_STR(out, cases[i].strict);
		all_read(cases[i].text, strlen(cases[i].text), true, out);
		CHECK_STR(out, cases[i].lenient != NULL ? cases[i].lenient : cases[i].strict);
	}
	all_read("a\0b", 3, false, out);
	CHECK_STR(out, "1:2: NUL byte");
	all_read("\"\0\"", 3, false, out);
	CHECK_STR(out, "1:2: NUL byte");
	all_read("a\0b", 3, true, out);
	CHECK_STR(out, "[a]\n"); /* the text ends there for %s, not for the reader */
}

/* --- writing --- */

static void
check_cell(const char *text, unsigned how, const char *want)
{
	char *got = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&got, &len);

	csv_cell(f, text, how);
	fclose(f);
	CHECK_STR(got, want);
	free(got);
}

static void
test_write(void)
{
	static const struct {
		const char *text;
		unsigned how;
		const char *want;
	} cells[] = {
		{ "", 0, "" },
		{ "a b", 0, "a b" },
		{ "a,b", 0, "\"a,b\"" },
		{ "a\"b", 0, "\"a\"\"b\"" },
		{ "a\nb", 0, "\"a\nb\"" },
		{ "\r", 0, "\"\r\"" },
		{ "", CSV_QUOTED, "\"\"" },
		{ "a", CSV_QUOTED, "\"a\"" },
		{ "\"", CSV_QUOTED, "\"\"\"\"" },
		{ "=1+1", 0, "=1+1" },
		{ "=1+1", CSV_SAFE, "'=1+1" },
		{ "+1", CSV_SAFE, "'+1" },
		{ "-1", CSV_SAFE, "'-1" },
		{ "@A1", CSV_SAFE, "'@A1" },
		{ "\tx", CSV_SAFE, "'\tx" },
		{ "\rx", CSV_SAFE, "\"'\rx\"" },
		{ "=a,b", CSV_SAFE, "\"'=a,b\"" },
		{ "=a", CSV_SAFE | CSV_QUOTED, "\"'=a\"" },
		{ "a=1", CSV_SAFE, "a=1" },
		{ "", CSV_SAFE | CSV_QUOTED, "\"\"" },
	};
	size_t i;

	for (i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		check_cell(cells[i].text, cells[i].how, cells[i].want);
}

int
main(void)
{
	test_read();
	test_write();
	return check_done("csv");
}
