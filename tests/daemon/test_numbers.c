/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of absent providers: found again, oldest forgotten first, few bytes each. */
#include "daemon/numbers.h"

#include "tests/check.h"

enum { MANY = 100000 };

static const char *
name(unsigned i)
{
	static char text[32];

	snprintf(text, sizeof(text), "provider-%u", i);
	return text;
}

int
main(void)
{
	struct numbers *n = numbers_new(MANY);
	uint64_t seq;
	unsigned i, found;

	CHECK(!numbers_take(n, "host:a", "p", &seq));
	numbers_put(n, "host:a", "p", 7);
	numbers_put(n, "host:b", "p", 8);
	numbers_put(n, "host:a", "p", 9);
	CHECK(numbers_take(n, "host:a", "p", &seq) && seq == 9);
	CHECK(!numbers_take(n, "host:a", "p", &seq));
	CHECK(numbers_take(n, "host:b", "p", &seq) && seq == 8);

	for (i = 0; i < MANY + 100; i++) {
		numbers_put(n, "host:a", name(i), i);
		if (i == 50) /* named again, and so not among the oldest */
			numbers_put(n, "host:a", name(3), 1003);
	}
	CHECK(!numbers_take(n, "host:a", name(0), &seq) &&
	    !numbers_take(n, "host:a", name(99), &seq));
	for (i = 100, found = 0; i < MANY + 100; i++)
		found += numbers_take(n, "host:a", name(i), &seq) && seq == i;
	CHECK_INT(found, MANY);
	numbers_put(n, "host:a", "again", 1);
	CHECK(numbers_take(n, "host:a", "again", &seq) && seq == 1);
	numbers_free(n);
	return check_done("test_numbers");
}
