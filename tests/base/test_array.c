/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/check.h"

static void
test_growth(void)
{
	size_t cap = 0, n, before, grown = 0;
	uint32_t *list = NULL;

	CHECK(array_room(&list, &cap, 0, sizeof(*list)));
	CHECK(list == NULL);
	for (n = 0; n < 100000; n++) {
		before = cap;
		if (!array_room(&list, &cap, n + 1, sizeof(*list)))
			break;
		grown += cap != before;
		list[n] = (uint32_t)n;
	}
	CHECK_INT(n, 100000);
	CHECK(cap >= n && cap < 2 * n);
	CHECK(grown < 20);
	while (n > 0 && list[n - 1] == n - 1)
		n--;
	CHECK_INT(n, 0);
	CHECK(array_room(&list, &cap, 1000000, sizeof(*list)));
	CHECK(cap >= 1000000);
	free(list);
}

/* An array that cannot grow stays. */
static void
test_no_memory(void)
{
	size_t cap = 0;
	char *list = NULL, *before;

	CHECK(array_room(&list, &cap, 3, 1));
	before = list;
	CHECK(!array_room(&list, &cap, SIZE_MAX, 1));
	CHECK(!array_room(&list, &cap, SIZE_MAX / 8, 64));
	CHECK(list == before);
	CHECK_INT(cap, 16);
	free(list);
}

int
main(void)
{
	test_growth();
	test_no_memory();
	return check_done("array");
}
