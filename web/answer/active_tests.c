/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/active_tests.h"

#include <stdio.h>
#include <string.h>

#include "narrows/activetest.h"
#include "narrows/address.h"
#include "narrows/err.h"

/* Whether both ends of every test are listed; `why` names the first end that is not. */
static bool
ends_are_listed(const struct nw_active_tests *tests, const char *hosts, char *why, size_t why_size)
{
	const struct nw_active_test *t;

	for (t = tests->list; t < tests->list + tests->n; t++) {
		const char *end = !address_is_listed(t->src, hosts) ? t->src
		    : !address_is_listed(t->dst, hosts)             ? t->dst
								    : NULL;

		if (end != NULL) {
			snprintf(why, why_size, "%.100s is no host of active-tests.", end);
			return false;
		}
	}
	return true;
}

int
active_tests_keep(const char *store_path, const char *hosts, const char *body, json_t **out,
    char *why, size_t why_size)
{
	char reason[STORE_WHY_BYTES];
	struct nw_active_tests tests;
	const char *fault;
	size_t added = 0;
	int rc = nw_pscheduler_read(body, strlen(body), &tests, &fault);

	*out = NULL;
	if (rc < 0) {
		snprintf(why, why_size, "%s.", fault);
		return rc == NW_ENOMEM ? rc : NW_EINVAL;
	}
	if (!ends_are_listed(&tests, hosts, why, why_size))
		rc = NW_EINVAL;
	else if (tests.n > 0 &&
	    (rc = store_tests_add_soon(store_path, tests.list, tests.n, &added, reason)) < 0) {
		snprintf(why, why_size, "The store is busy: %.120s.", reason);
		rc = NW_EFULL;
	}
	if (rc == NW_OK)
		*out = json_pack("{s:I s:I s:I}", "stored", (json_int_t)added, "known",
		    (json_int_t)(tests.n - added), "other_kinds", (json_int_t)tests.n_foreign);
	nw_active_tests_clear(&tests);
	return rc < 0 ? rc : *out != NULL ? NW_OK : NW_ENOMEM;
}
