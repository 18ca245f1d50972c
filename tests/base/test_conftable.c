/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine alone: the two programs' tables have tests of their own. */
#include "narrows/conftable.h"

#include <stdint.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

struct conf {
	char *name, *none;
	bool fast;
	int64_t wait_ns;
	uint64_t room_bytes, n;
	double share;
	int colour;
};

#define AT(field) offsetof(struct conf, field)
static const struct conf_row rows[] = {
	{ "name", &conf_text, AT(name), "narrows", NULL, NULL },
	{ "none", &conf_text, AT(none), NULL, NULL, NULL },
	{ "fast", &conf_bool, AT(fast), "yes", NULL, NULL },
	{ "wait", &conf_duration, AT(wait_ns), "1 s", "1 ms", "1 h" },
	{ "room", &conf_size, AT(room_bytes), "1 MiB", NULL, NULL },
	{ "n", &conf_count, AT(n), "3", "1", NULL },
	{ "colour", &conf_word, AT(colour), "green", "red, light-green, green or blue", NULL },
	{ "share", &conf_fraction, AT(share), "5 %", "0", "1" },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]), sizeof(struct conf),
	false };

static char path[] = "/tmp/narrows-test-XXXXXX";

static int
text_read(const struct conf_table *t, struct conf *c, const char *text, unsigned *line, char *why)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
	return conftable_read(t, c, path, line, why);
}

static void
test_good(void)
{
	unsigned line[sizeof(rows) / sizeof(rows[0])];
	char why[CONF_WHY_BYTES];
	struct conf c;

	CHECK_INT(conftable_init(&table, &c, why), NW_OK);
	CHECK_STR(c.name, "narrows");
	CHECK(c.none == NULL && c.fast && c.wait_ns == 1000000000 && c.room_bytes == 1 << 20 &&
	    c.n == 3);
	CHECK_INT(c.colour, 2);
	CHECK_INT(text_read(&table, &c,
		      "# x\n\n name = a b # y\nfast\tno\nshare 1 %\nn=7\ncolour blue", line, why),
	    NW_OK);
	CHECK_STR(c.name, "a b");
	CHECK(!c.fast && c.n == 7 && c.share == 0.01);
	CHECK(line[0] == 3 && line[1] == 0 && line[2] == 4 && line[5] == 6 && line[7] == 5);
	CHECK_INT(c.colour, 3);
	conftable_clear(&table, &c);
	CHECK(c.name == NULL);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "name a\nname b\n", ":2: name: given twice" },
		{ "name x\nnam y\n", ":2: nam: unknown directive" },
		{ "name\n", ":1: name: no value" },
		{ "name =\n", ":1: name: no value" },
		{ "\nwait 2 h\n", ":2: wait 2 h: out of range 1 ms to 1 h" },
		{ "wait 5 parsecs\n", ":1: wait 5 parsecs: unknown unit" },
		{ "n 0\n", ":1: n 0: out of range 1 to any" },
		{ "n 1e19\n", ":1: n 1e19: out of range" },
		{ "room inf\n", ":1: room inf: not a number" },
		{ "colour or\n", ":1: colour or: write red, light-green, green or blue" },
		{ "colour gree\n", ":1: colour gree: write red" },
		{ "fast maybe\n", ":1: fast maybe: write yes or no" },
	};
	char why[CONF_WHY_BYTES], longest[1100];
	struct conf c;
	size_t i;

	CHECK_INT(conftable_init(&table, &c, why), NW_OK);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(text_read(&table, &c, cases[i].text, NULL, why), NW_EINVAL);
		CHECK(strstr(why, path) == why && strstr(why, cases[i].says) != NULL);
		CHECK_STR(c.name, "narrows"); /* nothing of a bad file is taken */
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[sizeof(longest) - 2] = '\n';
	CHECK_INT(text_read(&table, &c, longest, NULL, why), NW_EINVAL);
	CHECK(strstr(why, ":1: line too long") != NULL);
	CHECK_INT(conftable_read(&table, &c, "/nonexistent/file", NULL, why), NW_EIO);
	conftable_clear(&table, &c);
}

/* The command line may say a name again; a table may share its file with another program. */
static void
test_override_and_shared(void)
{
	const struct conf_table shared = { rows, 1, sizeof(struct conf), true };
	const struct conf_row *row = NULL;
	char why[CONF_WHY_BYTES];
	struct conf c;

	CHECK_INT(conftable_init(&shared, &c, why), NW_OK);
	CHECK_INT(text_read(&shared, &c, "others 1\nothers 2\nname here\n", NULL, why), NW_OK);
	CHECK_STR(c.name, "here");
	CHECK_INT(conftable_override(&shared, &c, "name=there", &row, why), NW_OK);
	CHECK(row == rows);
	CHECK_STR(c.name, "there");
	CHECK_INT(conftable_override(&shared, &c, "others=1", &row, why), NW_EINVAL);
	CHECK_STR(why, "-o others=1: others: unknown directive");
	CHECK_INT(conftable_override(&shared, &c, "name", &row, why), NW_EINVAL);
	CHECK_INT(conftable_set(&shared, &c, "name", "", why), NW_EINVAL);
	conftable_clear(&shared, &c);
}

int
main(void)
{
	close(mkstemp(path));
	test_good();
	test_bad();
	test_override_and_shared();
	unlink(path);
	return check_done("conftable");
}
