/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as documents of pScheduler: a test that is taken has two hosts, times in order, numbers
 * of at least 0, and texts that end. */
#include <stdlib.h>
#include <string.h>

#include "narrows/activetest.h"
#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
test_check(const struct nw_active_test *t)
{
	int i;

	if (memchr(t->run, 0, sizeof(t->run)) == NULL ||
	    memchr(t->src, 0, sizeof(t->src)) == NULL ||
	    memchr(t->dst, 0, sizeof(t->dst)) == NULL ||
	    memchr(t->tool, 0, sizeof(t->tool)) == NULL ||
	    memchr(t->error, 0, sizeof(t->error)) == NULL)
		abort();
	if (t->run[0] == '\0' || t->src[0] == '\0' || t->dst[0] == '\0' ||
	    t->kind >= NW_TEST_KINDS || t->start_wall_ns <= 0 || t->end_wall_ns < t->start_wall_ns)
		abort();
	if (t->details != NULL && strlen(t->details) > NW_TEST_DETAILS_BYTES)
		abort();
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		if (t->value[i] < 0 && i != NW_TEST_took_s &&
		    (i < NW_TEST_delay_min_s || i > NW_TEST_delay_max_s))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_active_tests tests;
	const char *why;
	int rc = nw_pscheduler_read((const char *)data, len, &tests, &why);
	size_t i;

	if (rc < 0 && (why == NULL || tests.n > 0 || tests.list != NULL))
		abort();
	for (i = 0; i < tests.n; i++)
		test_check(&tests.list[i]);
	nw_active_tests_clear(&tests);
	return 0;
}
