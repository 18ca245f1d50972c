/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"
#include "tests/check.h"

/* Lines first, tables after; hidden keys and empty lists are left out, names are measured in
 * characters. */
static void
test_document(void)
{
	json_t *doc = json_pack("{s:i,s:f,s:[],s:i,s:[s,s],s:[{s:s,s:f,s:n},{s:s,s:f,s:b}]}", "n",
	    12, "adj_r2", 0.123456789, "warnings", "secret", 1, "groups", "a", "b", "rows", "name",
	    "\xc3\xa9t\xc3\xa9", "v", 1e-9, "ok", "name", "x", "v", 20.0, "ok", 1);
	char *s = stat_text(doc, " secret ");

	CHECK_STR(s,
	    "values       12\n"
	    "adjusted R2  0.123457\n"
	    "groups       a, b\n"
	    "\nrows:\n"
	    "name      v  ok\n"
	    "\xc3\xa9t\xc3\xa9   1e-09  -\n"
	    "x        20  yes\n");
	free(s);
	json_decref(doc);
}

/* An object of objects is a table with a column of names; control bytes do not reach a terminal. */
static void
test_named(void)
{
	json_t *doc = json_pack("{s:{s:s},s:{s:s}}", "r1", "t", "a\033b", "long name", "t", "c");
	char *s = stat_text(doc, NULL);

	CHECK_STR(s, "           t\nr1         a?b\nlong name  c\n");
	free(s);
	json_decref(doc);
}

/* Long tables are cut, and say so. */
static void
test_long(void)
{
	json_t *doc = json_object(), *rows = json_array();
	char *s;

	for (int i = 0; i < 200; i++)
		json_array_append_new(rows, json_pack("{s:i}", "x", i));
	json_object_set_new(doc, "rows", rows);
	s = stat_text(doc, NULL);
	CHECK(s != NULL && strstr(s, "\n59\n.. and 140 more: --csv\n") != NULL);
	free(s);
	json_decref(doc);
}

int
main(void)
{
	test_document();
	test_named();
	test_long();
	return check_done("stat_text");
}
