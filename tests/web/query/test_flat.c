/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/flat.h"

#include "tests/check.h"

static void
check_flat(const char *json, const char *want)
{
	char *flat = flat_text(json);

	CHECK_STR(flat, want);
	free(flat);
}

int
main(void)
{
	check_flat("{\"sport\":1,\"dport\":\"2\"}", "sport=1;dport=2");
	check_flat("{\"a\":{\"b\":[1,null]},\"c\":true,\"\":\"\"}", "a={\"b\":[1,null]};c=true;=");
	check_flat("{}", "");
	check_flat(NULL, "");
	check_flat("not json", "not json");
	check_flat("[1]", "[1]");
	return check_done("flat");
}
