/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns against the definition of a match, and in bounded time. */
#include "web/query/glob.h"

#include "tests/check.h"

/* The definition, in exponential time. */
static bool
is_match(const char *p, const char *t)
{
	if (*p == '\0')
		return *t == '\0';
	if (*p == '*')
		return is_match(p + 1, t) || (*t != '\0' && is_match(p, t + 1));
	return *t != '\0' && (*p == '?' || *p == *t) && is_match(p + 1, t + 1);
}

static void
word_of(unsigned n, const char *letters, char out[8])
{
	size_t base = strlen(letters), i = 0;

	for (; n > 0 && i < 7; n /= (unsigned)base + 1)
		if (n % (base + 1) > 0)
			out[i++] = letters[n % (base + 1) - 1];
	out[i] = '\0';
}

static void
test_all_short(void)
{
	char pattern[8], text[8];
	unsigned p, t;

	for (p = 0; p < 5 * 5 * 5 * 5 * 5; p++)
		for (t = 0; t < 3 * 3 * 3 * 3; t++) {
			word_of(p, "ab*?", pattern);
			word_of(t, "ab", text);
			CHECK_INT(glob_match(pattern, text), is_match(pattern, text));
		}
}

static void
test_sets(void)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} cases[] = {
		{ "nl[:.]*summary*", "nl:tools:calipers:summary:read", true },
		{ "nl[:.]*summary*", "nl.read.summary", true },
		{ "nl[:.]*summary*", "nlx", false },
		{ "[a-c]", "b", true },
		{ "[a-c]", "d", false },
		{ "[^a-c]x", "dx", true },
		{ "[^a-c]x", "ax", false },
		{ "[]]", "]", true },
		{ "[^]]", "]", false },
		{ "[a-]", "-", true },
		{ "[a", "a", false },
		{ "[", "[", false },
		{ "*[0-9]", "eth0", true },
		{ "[", "", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(glob_match(cases[i].pattern, cases[i].text), cases[i].match);
}

static void
test_time(void)
{
	char pattern[256], text[256];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(pattern, '*', sizeof(pattern) - 1);
	memcpy(pattern + 100, "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", 33);
	pattern[133] = '\0';
	CHECK(!glob_match(pattern, text));
	CHECK_INT(glob_prefix("ps:*"), 3);
	CHECK_INT(glob_prefix("plain"), 5);
	CHECK_INT(glob_prefix("?"), 0);
}

int
main(void)
{
	test_all_short();
	test_sets();
	test_time();
	return check_done("test_glob");
}
