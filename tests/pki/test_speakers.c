/* SPDX-License-Identifier: BSD-3-Clause */
/* Grants: what a line may say, what a list allows, and what a revoked host keeps: nothing. */
#include "narrows/speakers.h"

#include <unistd.h>

#include "narrows/ca.h"
#include "narrows/err.h"
#include "tests/check.h"

static char dir[] = "/tmp/test_speakers.XXXXXX";

static void
test_lines(void)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{ "dtn1 switch:core-1", "host:dtn1 switch:core-1" },
		{ "  host:dtn1   host:dtn2 ", "host:dtn1 host:dtn2" },
		{ "user:990 storage:*", "user:990 storage:*" },
		{ "addr:10.0.0.1 switch:core", "addr:10.0.0.1 switch:core" },
		{ "dtn1", NULL },
		{ "dtn1 switch:", NULL },
		{ "dtn1 clock:dtn2", NULL },
		{ "dtn1 core-1", NULL },
		{ "dtn1 switch:a b", NULL },
		{ "* switch:core", NULL },
		{ "dtn1 switch:c*", NULL },
		{ "", NULL },
	};
	char line[SPEAKERS_LINE_BYTES];
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(speakers_line(cases[i].text, line, &why),
		    cases[i].line != NULL ? NW_OK : NW_EINVAL);
		if (cases[i].line != NULL)
			CHECK_STR(line, cases[i].line);
	}
}

static void
test_may(void)
{
	static const char list[] =
	    "host:dtn1 switch:core-1\nhost:dtn10 host:*\nuser:990 switch:x\n";
	char own[32];
	static const struct {
		const char *owner, *kind, *name;
		bool may;
	} cases[] = {
		{ "host:dtn1", "switch", "core-1", true },
		{ "host:DTN1", "switch", "CORE-1", true },
		{ "host:dtn1", "switch", "core-10", false },
		{ "host:dtn1", "switch", "core", false },
		{ "host:dtn1", "switch", "", false },
		{ "host:dtn1", "host", "core-1", false },
		{ "host:dtn1", "host", "dtn2", false },
		{ "host:dtn", "switch", "core-1", false },
		{ "host:dtn10", "host", "dtn2", true },
		{ "host:dtn10", "switch", "core-1", false },
		{ "user:990", "switch", "x", true },
		{ "user:99", "switch", "x", false },
		{ "addr:10.0.0.1", "switch", "x", false },
		{ "user:0", "switch", "y", true },
		{ NULL, "switch", "y", true },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(speakers_may(list, cases[i].owner, cases[i].kind, cases[i].name) ==
		    cases[i].may);
	snprintf(own, sizeof(own), "user:%lu", (unsigned long)geteuid());
	CHECK(speakers_may(NULL, own, "switch", "y") && !speakers_may("", "host:a", "host", "b"));
}

static void
test_file(void)
{
	char why[CONF_WHY_BYTES], name[32], *list;
	int i;

	CHECK_INT(speakers_revoke(dir, "dtn1", why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn1", "switch:a", why), NW_EIO); /* no directory of keys */
	CHECK_INT(ca_ensure(dir, why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn1", "switch:a", why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn1", "switch:a", why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn11", "host:b", why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn1", "storage:c", why), NW_OK);
	CHECK_INT(speakers_grant(dir, "dtn1", "all", why), NW_EINVAL);
	CHECK_INT(speakers_grant(dir, "a b", "host:b", why), NW_EINVAL);
	list = speakers_read(dir, "user:7 switch:z\nnonsense");
	CHECK_STR(
	    list, "user:7 switch:z\nhost:dtn1 switch:a\nhost:dtn11 host:b\nhost:dtn1 storage:c\n");
	free(list);
	CHECK_INT(speakers_revoke(dir, "DTN1", why), NW_OK);
	list = speakers_read(dir, NULL);
	CHECK_STR(list, "host:dtn11 host:b\n");
	free(list);
	for (i = 1; i < SPEAKERS_MAX; i++) {
		snprintf(name, sizeof(name), "host:h%d", i);
		CHECK_INT(speakers_grant(dir, "dtn2", name, why), NW_OK);
	}
	CHECK_INT(speakers_grant(dir, "dtn2", "host:more", why), NW_EFULL);
}

int
main(void)
{
	char command[64];

	if (mkdtemp(dir) == NULL || rmdir(dir) != 0)
		return 1;
	test_lines();
	test_may();
	test_file();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("speakers");
}
