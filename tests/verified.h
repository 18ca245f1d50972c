/* SPDX-License-Identifier: BSD-3-Clause */
/* The first fault that a check of a store finds, in one call. */
#ifndef TESTS_VERIFIED_H
#define TESTS_VERIFIED_H

#include <stdio.h>

#include "narrows/err.h"
#include "narrows/maintenance.h"

static int
on_first_fault(void *arg, const char *what)
{
	snprintf(arg, STORE_WHY_BYTES, "%s", what);
	return 1;
}

/* NW_OK, or NW_ECORRUPT with the first fault in why. */
static int
store_verify(struct store_reader *r, char why[STORE_WHY_BYTES])
{
	struct store_watch watch = { .fault = on_first_fault, .arg = why };
	struct store_counts n;
	int rc;

	why[0] = '\0';
	rc = store_check(r, &watch, &n);
	if (rc == NW_ECLOSED)
		return NW_ECORRUPT;
	if (rc != NW_OK)
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(rc));
	return rc;
}

#endif
