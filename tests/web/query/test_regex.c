/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions against the C library's, where that is safe, and refusals. usage: test_regex [-s
 * SEED] */
#include "web/query/regex.h"

#include <regex.h>

#include "tests/check.h"

static bool
matches(const char *pattern, const char *text)
{
	static struct regex r;
	const char *why;

	CHECK(regex_compile(&r, pattern, &why));
	return regex_match(&r, text);
}

static void
test_known(void)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a|b", "b", true },
		{ "a|b|", "", true },
		{ "sd[ab]", "sdb", true },
		{ "sd[^ab]", "sdb", false },
		{ ".*", "anything", true },
		{ ".+", "", false },
		{ "dtn1\\.site", "dtn1.site", true },
		{ "dtn1\\.site", "dtn1xsite", false },
		{ "(a|b)*c+d?", "ababccd", true },
		{ "(a|b)*c+d?", "abab", false },
		{ "((a*)*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false },
		{ "[]x]+", "]x]", true },
		{ "eth[0-9]+", "eth17", true },
		{ "\xc3\xa4.", "\xc3\xa4.", true },
	};
	static const char *const refused[] = { "(", ")", "a)", "(a", "[a", "[", "*", "a|*", "(?i)a",
		"\\d", "a\\", "a{2}", "^a$", "[\\]]" };
	struct regex r;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(matches(cases[i].pattern, cases[i].text), cases[i].match);
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK(!regex_compile(&r, refused[i], &why) && why != NULL);
}

static size_t
random_pattern(char *out, unsigned depth)
{
	size_t n = 0, parts = 1 + (size_t)rand() % 3;

	while (parts-- > 0) {
		if (depth > 0 && rand() % 3 == 0) {
			out[n++] = '(';
			n += random_pattern(out + n, depth - 1);
			out[n++] = '|';
			n += random_pattern(out + n, depth - 1);
			out[n++] = ')';
		} else
			out[n++] = "ab."[rand() % 3];
		if (rand() % 3 == 0)
			out[n++] = "*+?"[rand() % 3];
	}
	return n;
}

static void
test_random(void)
{
	char pattern[512], whole[520], text[12];
	int i, k, len;
	regex_t theirs;

	for (i = 0; i < 2000; i++) {
		pattern[random_pattern(pattern, 2)] = '\0';
		snprintf(whole, sizeof(whole), "^(%s)$", pattern);
		if (regcomp(&theirs, whole, REG_EXTENDED | REG_NOSUB) != 0)
			continue;
		for (k = 0; k < 30; k++) {
			len = rand() % 8;
			text[len] = '\0';
			while (len-- > 0)
				text[len] = "abc"[rand() % 3];
			CHECK_INT(matches(pattern, text), regexec(&theirs, text, 0, NULL, 0) == 0);
		}
		regfree(&theirs);
	}
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 5;

	printf("seed %u\n", seed);
	srand(seed);
	test_known();
	test_random();
	return check_done("test_regex");
}
