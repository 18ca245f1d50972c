/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells read back as what they were; formulas are defused on request only. */
#include "web/csv.h"

#include "tests/check.h"

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
check_flat(const char *json, const char *want)
{
	char *flat = csv_flatten(json);

	CHECK_STR(flat, want);
	free(flat);
}

int
main(void)
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
	check_flat("{\"sport\":1,\"dport\":\"2\"}", "sport=1;dport=2");
	check_flat("{\"a\":{\"b\":[1,null]},\"c\":true,\"\":\"\"}", "a={\"b\":[1,null]};c=true;=");
	check_flat("{}", "");
	check_flat(NULL, "");
	check_flat("not json", "not json");
	check_flat("[1]", "[1]");
	return check_done("test_csv");
}
