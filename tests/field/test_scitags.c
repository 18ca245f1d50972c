/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/announce.h"
#include "narrows/err.h"
#include "tests/check.h"

int
main(void)
{
	static const char text[] = "# names\n2 ATLAS\n2.9 Production Download # old\n\n 3\tCMS  \n";
	static const struct {
		int64_t experiment, activity;
		const char *label;
	} cases[] = { { 2, 9, "ATLAS/Production Download" }, { 2, -1, "ATLAS" },
		{ 2, 8, "ATLAS/activity 8" }, { 3, -1, "CMS" }, { 7, 1, "experiment 7/activity 1" },
		{ -1, 4, "" } };
	static const struct {
		const char *text;
		unsigned line;
	} bad[] = { { "2 ATLAS\nx\n", 2 }, { "70000 a", 1 }, { "2.", 1 }, { "2", 1 }, { "2.1", 1 },
		{ "\n\n2 \xff", 3 },
		{ "2 a name of more than forty characters, which no list has room for", 1 } };
	struct nw_scitags *names;
	char label[NW_SCITAGS_LABEL_BYTES];
	const char *why;
	unsigned line;
	size_t i;

	CHECK_INT(nw_scitags_read(text, &names, &line, &why), NW_OK);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nw_scitags_label(names, cases[i].experiment, cases[i].activity, label);
		CHECK_STR(label, cases[i].label);
	}
	nw_scitags_free(names);
	nw_scitags_label(NULL, 2, 9, label);
	CHECK_STR(label, "experiment 2/activity 9");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(nw_scitags_read(bad[i].text, &names, &line, &why), NW_EINVAL);
		CHECK_INT(line, bad[i].line);
	}
	return check_done("scitags");
}
