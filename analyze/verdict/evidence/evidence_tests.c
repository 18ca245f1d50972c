/* SPDX-License-Identifier: BSD-3-Clause */
/* Active tests of the session's path, from the sending host to the receiving host, near in time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/evidence/evidence_in.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* TESTS_READ: newest of the two hours around a session. */
enum { TESTS_READ = 2000 };
static const int64_t TEST_NEAR_NS = INT64_C(3600000000000);
static const char ARROW[] = " -> ";

struct nearest {
	const struct evidence *e;
	struct evidence_test throughput, loss;
	bool has_throughput, has_loss;
};

static void
nearest_take(struct evidence_test *to, bool *has, const struct evidence_test *t)
{
	if (*has && to->apart_s <= t->apart_s)
		return;
	*to = *t;
	to->test.details = NULL; /* on loan */
	*has = true;
}

static int
on_test(void *arg, const struct nw_active_test *test)
{
	struct nearest *n = arg;
	const int64_t before_ns = n->e->first_wall_ns - test->end_wall_ns,
		      after_ns = test->start_wall_ns - n->e->last_wall_ns;
	const struct evidence_test t = { .test = *test,
		.apart_s = before_ns > 0 ? (double)before_ns * 1e-9
		    : after_ns > 0       ? (double)after_ns * 1e-9
					 : 0,
		.is_before = before_ns > 0 };

	if (!test->succeeded || after_ns > TEST_NEAR_NS)
		return 0;
	if (test->value[NW_TEST_bits_per_s] > 0)
		nearest_take(&n->throughput, &n->has_throughput, &t);
	else if (isfinite(test->value[NW_TEST_loss]) && test->value[NW_TEST_packets_sent] > 0)
		nearest_take(&n->loss, &n->has_loss, &t);
	return 0;
}

int
evidence_tests(struct store_reader *r, const char *route, struct evidence *e)
{
	const char *to = route != NULL ? strstr(route, ARROW) : NULL;
	struct nearest n = { .e = e };
	char *from;
	int rc;

	if (to == NULL || e->first_wall_ns == 0 || e->last_wall_ns == 0)
		return NW_OK;
	from = xasprintf("%.*s", (int)(to - route), route);
	rc = store_tests_between(r, from, to + strlen(ARROW), e->first_wall_ns - TEST_NEAR_NS,
	    e->last_wall_ns + 2 * TEST_NEAR_NS, TESTS_READ, on_test, &n);
	free(from);
	if (rc < 0 || (!n.has_throughput && !n.has_loss))
		return rc;
	e->tests = xcalloc(EVIDENCE_TESTS_MAX, sizeof(*e->tests));
	if (n.has_throughput)
		e->tests[e->n_tests++] = n.throughput;
	if (n.has_loss)
		e->tests[e->n_tests++] = n.loss;
	return NW_OK;
}

void
evidence_tests_clear(struct evidence *e)
{
	free(e->tests);
	e->tests = NULL;
	e->n_tests = 0;
}
