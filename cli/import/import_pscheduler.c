/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of pScheduler's active tests (narrows/activetest.h): rows of their own in the store. */
#include "cli/import/import.h"

#include <string.h>

#include "narrows/activetest.h"
#include "narrows/err.h"
#include "narrows/store.h"

enum { HEAD_BYTES = 65536 };

bool
import_is_pscheduler(const struct import *im)
{
	const size_t len =
	    (size_t)(im->end - im->bytes) < HEAD_BYTES ? (size_t)(im->end - im->bytes) : HEAD_BYTES;
	const struct slice head = { im->bytes, len };
	static const char *const keys[] = { "\"participants\"", "\"test\"", "\"result\"" };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (memmem(head.s, head.len, keys[i], strlen(keys[i])) == NULL)
			return false;
	return slice_starts(head, "{") || slice_starts(head, "[");
}

int
import_pscheduler(struct import *im, const char *path)
{
	char why[STORE_WHY_BYTES];
	struct nw_active_tests tests;
	const char *fault;
	size_t added = 0;
	int rc = nw_pscheduler_read(im->bytes, (size_t)(im->end - im->bytes), &tests, &fault);

	if (rc < 0)
		return stat_fail(im->err, rc, "%s: %s", im->name, fault);
	if (path != NULL && (rc = store_tests_add(path, tests.list, tests.n, &added, why)) < 0)
		stat_fail(im->err, rc, "%s: %s", path, why);
	if (rc == NW_OK) {
		printf("%zu active tests", tests.n);
		if (path == NULL)
			fputs("; nothing imported", stdout);
		else if (added < tests.n)
			printf("; the box had %zu of them already", tests.n - added);
		if (tests.n_foreign > 0)
			printf("; %zu tests of other kinds left out", tests.n_foreign);
		putchar('\n');
	}
	nw_active_tests_clear(&tests);
	return rc;
}
