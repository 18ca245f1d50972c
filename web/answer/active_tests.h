/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active tests of paths in the report: taking of pScheduler's results, and the tests of a route
 * beside its transfers.
 */
#ifndef NARROWS_WEB_ACTIVE_TESTS_H
#define NARROWS_WEB_ACTIVE_TESTS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"

/*
 * Keeps the tests of a body as narrows/activetest.h reads it. `hosts` lists the hosts whose tests
 * are taken, by blanks, or is "any". *out is a new document with the numbers of tests that were
 * stored, that the store had, and that are of other kinds. After an error nothing is stored, and
 * `why` says why: NW_EINVAL (no such document, or an end that is not listed), NW_EFULL (the store
 * is busy: again later), NW_ENOMEM.
 */
int active_tests_keep(const char *store_path, const char *hosts, const char *body, json_t **out,
    char *why, size_t why_size);

/*
 * Adds the active tests of a route's path to the route's document, and what the tests of throughput
 * got against the usual rate. The store's code, NW_ENOMEM.
 */
int active_tests_add(struct store_reader *r, const char *route, json_t *doc);

#endif
