/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV to columns: numbers to the last bit, missing values, text, places of errors, names. */
#include <float.h>

#include "tests/check.h"
#include "cli/stat/stat.h"

static struct stat_table *
parse(const char *text, size_t len, struct stat_error *err)
{
	struct stat_table *t;

	err->text[0] = '\0';
	return stat_table_parse("f", text, len, &t, err) == NW_OK ? t : NULL;
}

static void
test_numbers(void)
{
	static const char *const good[] = { "0", "-0", "1", "+1", ".5", "5.", "0.1",
		"123456789012345", "1234567890123456789", "0.30000000000000004", "1e22", "1E-300",
		"4.9e-324", "1.7976931348623157e308", " 7 ", "000000000000000000001",
		"0.000000000000000000000001", "9007199254740993", "1e-400" };
	static const char *const bad[] = { "", " ", "-", ".", "e5", "1e", "1e+", "0x10", "1,5",
		"1 2", "nan", "inf", "1e999", "--1", "1.2.3", "1d5", "1_000" };
	char s[64], longest[600];
	double v;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(stat_number_parse(good[i], strlen(good[i]), &v));
		CHECK(v == strtod(good[i], NULL) && signbit(v) == (good[i][0] == '-'));
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!stat_number_parse(bad[i], strlen(bad[i]), &v));
	for (i = 0; i < 20000; i++) { /* every length and place of the point */
		snprintf(s, sizeof(s), "%.*f", (int)(i % 12),
		    (double)(i * i) * 0.37 / (double)(1 + i % 1000));
		CHECK(stat_number_parse(s, strlen(s), &v) && v == strtod(s, NULL));
	}
	memset(longest, '1', sizeof(longest));
	CHECK(!stat_number_parse(longest, sizeof(longest), &v));
}

static void
test_columns(void)
{
	static const char text[] =
	    "\xef\xbb\xbf"
	    "a, \"b,\"\"x\"\"\" "
	    ",\"c\nd\",\r\n1,NA,x,\r\n,-inf,\"y\"\"\",3\r\n2e0,nan,\"two\nlines\",4";
	static const char plain[] = "\xef\xbb\xbf"
				    "a,\"b,\"\"x\"\"\",\"c\nd\",\r\n1,NA,x,\r\n,-inf,\"y\"\"\","
				    "3\r\n2e0,nan,\"two\nlines\",4";
	struct stat_error err = { "" };
	struct stat_table *t = parse(text, sizeof(text) - 1, &err);
	const char *const *words;
	const double *v;

	CHECK(t == NULL); /* a quote in an unquoted field, here after a blank */
	CHECK_STR(err.text, "f:1:4: quote inside an unquoted field");
	t = parse(plain, sizeof(plain) - 1, &err);
	CHECK(t != NULL);
	if (t == NULL)
		return;
	CHECK(t->n_rows == 3 && t->n_cols == 4);
	CHECK_STR(t->cols[1].name, "b,\"x\"");
	CHECK_STR(t->cols[2].name, "c\nd");
	CHECK_STR(t->cols[3].name, "column 4");
	CHECK_INT(stat_table_find(t, "c\nd"), 2);
	CHECK_INT(stat_table_find(t, "e"), -1);
	v = stat_table_numbers(t, "a", &err);
	CHECK(v != NULL && v[0] == 1 && isnan(v[1]) && v[2] == 2);
	CHECK(t->cols[0].n_missing == 1 && t->cols[1].n_missing == 3 && t->cols[1].n_text == 0);
	CHECK(t->cols[2].n_text == 3 && t->cols[2].text_row == 0 && t->row_line[2] == 5);
	words = stat_table_texts(t, "c\nd", &err);
	CHECK(words != NULL && words == stat_table_texts(t, "c\nd", &err));
	if (words != NULL) {
		CHECK_STR(words[1], "y\"");
		CHECK_STR(words[2], "two\nlines");
	}
	CHECK(err.text[0] == '\0');
	CHECK(stat_table_numbers(t, "c\nd", &err) == NULL);
	CHECK_STR(err.text, "f:3:6: column 3 (c?d): \"x\" is not a number");
	err.text[0] = '\0';
	stat_table_free(t);
	stat_table_free(NULL);
}

static void
test_errors(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = { { "", "f:1:1: no header line" }, { "\n1\n", "f:1:1: no header line" },
		{ "a,b\n1\n", "f:2:2: row ends after 1 of 2 fields" },
		{ "a,b\n1,2,3\n", "f:2:5: more fields than the header's 2" },
		{ "#x\na,b\n1,2\n\n#y,\"\n1\n", "f:6:2: row ends after 1 of 2 fields" },
		{ "#only\n", "f:1:1: no header line" },
		{ "a,b\n1,\"2\n3\n", "f:2:3: quote that is never closed" },
		{ "a,b\n1,\"2\"3\n", "f:2:6: text after a closing quote" },
		{ "a\n1\r2\n", "f:2:2: carriage return without line feed" },
		{ "a,b,a\n", "f:1:1: two columns are named \"a\"" } };
	struct stat_error err;
	struct stat_table *t;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		t = parse(cases[i].text, strlen(cases[i].text), &err);
		CHECK(t == NULL);
		CHECK_STR(err.text, cases[i].want);
		stat_table_free(t);
	}
	CHECK(parse("a\n1\0\n", 5, &err) == NULL);
	CHECK_STR(err.text, "f:2:2: NUL byte");
	t = parse("a\n\xff\x1b[2J\n", 8, &err);
	CHECK(t != NULL && stat_table_numbers(t, "a", &err) == NULL);
	CHECK(strchr(err.text, 0x1b) == NULL); /* no escape sequence reaches a terminal */
	stat_table_free(t);
}

/* One column: a blank line is a missing value, but not at the end. Latin-1 becomes question marks,
 * UTF-8 stays. */
static void
test_shapes(void)
{
	struct stat_error err = { "" };
	struct stat_table *t = parse("a\n1\n\n3\n\n\n", 9, &err);
	const char *const *words;

	CHECK(t != NULL && t->n_rows == 3 && isnan(t->cols[0].value[1]));
	stat_table_free(t);
	/* comments, blank lines beside several columns, and names that are none or in a comment */
	t = parse("#of, \"today\na,b\n1,2\n\r\n# more\n3,4\n\n", 34, &err);
	CHECK(t != NULL && t->n_rows == 2 && t->n_cols == 2 && t->cols[1].value[1] == 4);
	CHECK(t != NULL && t->row_line[1] == 6 && !t->names_are_numbers);
	stat_table_free(t);
	t = parse("# t, rate\n1,2\n3,4\n", 18, &err);
	CHECK(t != NULL && t->n_rows == 2 && stat_table_find(t, "rate") == 1);
	CHECK(t != NULL && stat_table_find(t, "t") == 0 && !t->names_are_numbers);
	stat_table_free(t);
	t = parse("# of today\n1,2\n3,4\n", 19, &err);
	CHECK(t != NULL && t->n_rows == 1 && t->names_are_numbers && t->cols[0].value[0] == 3);
	stat_table_free(t);
	t = parse("a,b", 3, &err);
	CHECK(t != NULL && t->n_rows == 0 && t->n_cols == 2);
	words = t == NULL ? NULL : stat_table_texts(t, "b", &err);
	CHECK(words != NULL);
	stat_table_free(t);
	t = parse("caf\xe9,\xc3\xa9\n\xed\xa0\x80,\xf0\x9f\x98\x80\n", 17, &err);
	CHECK(t != NULL);
	if (t == NULL)
		return;
	CHECK_STR(t->cols[0].name, "caf?");
	CHECK_STR(t->cols[1].name, "\xc3\xa9");
	words = stat_table_texts(t, "caf?", &err);
	CHECK_STR(words == NULL ? NULL : words[0], "???");
	words = stat_table_texts(t, "\xc3\xa9", &err);
	CHECK_STR(words == NULL ? NULL : words[0], "\xf0\x9f\x98\x80");
	stat_table_free(t);
}

int
main(void)
{
	test_numbers();
	test_columns();
	test_errors();
	test_shapes();
	return check_done("stat_table");
}
