/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/active_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/activetest.h"
#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"

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
	if (rc == NW_OK && (*out = json_object()) != NULL) {
		result_put_int(*out, KEY_tests_taken_stored, (int64_t)added);
		result_put_int(*out, KEY_tests_taken_known, (int64_t)(tests.n - added));
		result_put_int(*out, KEY_tests_taken_other_kinds, (int64_t)tests.n_foreign);
	}
	nw_active_tests_clear(&tests);
	return rc < 0 ? rc : *out != NULL ? NW_OK : NW_ENOMEM;
}

/* --- the tests of a route --- */

enum { TESTS_MAX = 500 };
static const char ARROW[] = " -> ";

struct route_tests {
	json_t *list;
	double rate[TESTS_MAX]; /* of tests of throughput with a result */
	size_t n;
};

static int
on_test(void *arg, const struct nw_active_test *t)
{
	struct route_tests *l = arg;
	const double rate = t->value[NW_TEST_bits_per_s] / 8;

	if (t->succeeded && rate > 0)
		l->rate[l->n++] = rate;
	return json_array_append_new(l->list, result_active_test(t)) == 0 ? 0 : NW_ENOMEM;
}

static int
by_rate(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
sentence_put(json_t *doc, struct route_tests *l)
{
	const double usual = result_number(doc, KEY_route_median);
	char text[300];
	size_t len;

	qsort(l->rate, l->n, sizeof(l->rate[0]), by_rate);
	len = (size_t)snprintf(text, sizeof(text),
	    "%zu active test%s of throughput got %s in the median, %s at best", l->n,
	    l->n == 1 ? "" : "s", fmt_plain(fmt_bits_per_s(l->rate[l->n / 2])).s,
	    fmt_plain(fmt_bits_per_s(l->rate[l->n - 1])).s);
	if (usual > 0 && len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, "; sessions usually get %s.",
		    fmt_plain(fmt_bits_per_s(usual)).s);
	else if (len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, ".");
	result_put_text(doc, KEY_route_tests_sentence, text);
}

int
active_tests_add(struct store_reader *r, const char *route, json_t *doc)
{
	const char *to = route != NULL ? strstr(route, ARROW) : NULL;
	struct route_tests *l;
	char from[NW_TEST_HOST_BYTES];
	int rc;

	if (to == NULL || (size_t)(to - route) >= sizeof(from))
		return NW_OK;
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NW_ENOMEM;
	snprintf(from, sizeof(from), "%.*s", (int)(to - route), route);
	l->list = json_array();
	rc = store_tests_between(r, from, to + strlen(ARROW), 0, INT64_MAX, TESTS_MAX, on_test, l);
	if (rc == NW_OK && l->n > 0)
		sentence_put(doc, l);
	result_set(doc, KEY_route_active_tests, l->list);
	free(l);
	return rc;
}
