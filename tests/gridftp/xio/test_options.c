/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/options.h"

#include <stdio.h>

#include "tests/check.h"

static unsigned
key_of(const char *key)
{
	unsigned i;

	for (i = 0; options_keys[i] != NULL; i++)
		if (strcmp(options_keys[i], key) == 0)
			return i;
	return i;
}

static const struct {
	const char *key, *value, *want;
} cases[] = {
	{ "interval", "0.5", "interval=0.5;exact=yes;stack=auto;refused=0" },
	{ "interval", "0", "interval=0;exact=yes;stack=auto;refused=0" },
	{ "interval", "3600", "interval=3600;exact=yes;stack=auto;refused=0" },
	{ "interval", "3601", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "0.01", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "-1", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "nan", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "1e400", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "interval", "5s", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "exact", "no", "interval=0;exact=no;stack=auto;refused=0" },
	{ "exact", "OFF", "interval=0;exact=no;stack=auto;refused=0" },
	{ "exact", "1", "interval=0;exact=yes;stack=auto;refused=0" },
	{ "exact", "perhaps", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "stack", "fs", "interval=0;exact=yes;stack=disk;refused=0" },
	{ "io_type", "net", "interval=0;exact=yes;stack=net;refused=0" },
	{ "io_type", "both", "interval=0;exact=yes;stack=auto;refused=0" },
	{ "stack", "tape", "interval=0;exact=yes;stack=auto;refused=1" },
	{ "mask", "255", "interval=0;exact=yes;stack=auto;refused=0" },
	{ "level", "15", "interval=0;exact=yes;stack=auto;refused=0" },
	{ "label", "a \xff label", "interval=0;exact=yes;stack=auto;refused=1" },
};

static const struct {
	const char *id;
	bool joins;
} ids[] = { { "run-7", true }, { "a", true }, { "", false }, { "none", false }, { "None", false },
	{ "unset", false }, { "null", false }, { "nonesuch", true }, { "two words", false },
	{ "tab\t", false }, { "\xc3\xa4", false }, { "del\x7f", false } };

int
main(void)
{
	char text[OPTIONS_TEXT_BYTES], longest[OPTIONS_ID_BYTES + 1];
	struct options o;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options_init(&o);
		options_set(&o, key_of(cases[i].key), cases[i].value);
		options_text(&o, text);
		CHECK_STR(text, cases[i].want);
	}
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		CHECK_INT(options_id_joins(ids[i].id), ids[i].joins);
		options_init(&o);
		strcpy(o.task_id, "before");
		options_set(&o, key_of("uuid"), ids[i].id);
		CHECK_STR(o.task_id, ids[i].joins ? ids[i].id : "");
		CHECK_INT(o.refused, !ids[i].joins);
	}
	memset(longest, 'x', sizeof(longest));
	longest[OPTIONS_ID_BYTES - 1] = '\0';
	CHECK(options_id_joins(longest));
	longest[OPTIONS_ID_BYTES - 1] = 'x';
	longest[OPTIONS_ID_BYTES] = '\0';
	CHECK(!options_id_joins(longest));
	memset(longest, 'y', OPTIONS_LABEL_BYTES - 1);
	longest[OPTIONS_LABEL_BYTES - 1] = '\0';
	options_init(&o);
	options_set(&o, key_of("label"), longest);
	CHECK_STR(o.label, longest);
	options_set(&o, key_of("label"), "");
	CHECK_STR(o.label, "");
	/* numbers and values that the table does not have */
	options_set(&o, 1000000, "x");
	options_set(&o, key_of("task_id"), NULL);
	CHECK_INT(o.refused, 0);
	return check_done("test_options");
}
