/* SPDX-License-Identifier: BSD-3-Clause */
/* Active tests of the session's path, from the sending host to the receiving host, near in time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/evidence/evidence_in.h"
#include "narrows/analysis.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* TESTS_READ: newest of the two hours around a session. */
enum { TESTS_READ = 2000 };
static const int64_t TEST_NEAR_NS = INT64_C(3600000000000);
static const char ARROW[] = " -> ";

struct nearest {
	int64_t first_wall_ns, last_wall_ns;
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
	const int64_t before_ns = n->first_wall_ns - test->end_wall_ns,
		      after_ns = test->start_wall_ns - n->last_wall_ns;
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

/* The nearest tests of a path to a time. Without an arrow the route has no path. */
static int
nearest_find(struct store_reader *r, const char *route, struct nearest *n)
{
	const char *to = route != NULL ? strstr(route, ARROW) : NULL;
	char *from;
	int rc;

	if (to == NULL)
		return NW_OK;
	from = xasprintf("%.*s", (int)(to - route), route);
	rc = store_tests_between(r, from, to + strlen(ARROW), n->first_wall_ns - TEST_NEAR_NS,
	    n->last_wall_ns + 2 * TEST_NEAR_NS, TESTS_READ, on_test, n);
	free(from);
	return rc;
}

int
evidence_tests(struct store_reader *r, const char *route, struct evidence *e)
{
	struct nearest n = { .first_wall_ns = e->first_wall_ns, .last_wall_ns = e->last_wall_ns };
	int rc;

	if (e->first_wall_ns == 0 || e->last_wall_ns == 0)
		return NW_OK;
	rc = nearest_find(r, route, &n);
	if (rc < 0 || (!n.has_throughput && !n.has_loss))
		return rc;
	e->tests = xcalloc(EVIDENCE_TESTS_MAX, sizeof(*e->tests));
	if (n.has_throughput)
		e->tests[e->n_tests++] = n.throughput;
	if (n.has_loss)
		e->tests[e->n_tests++] = n.loss;
	return NW_OK;
}

struct speech {
	struct store_reader *r;
	const struct nw_active_test *test;
	analysis_session_fn *fn;
	void *arg;
};

static int
on_beside(void *arg, const struct nw_beside_rec *s)
{
	const struct speech *o = arg;
	struct nearest n = { .first_wall_ns = s->start_wall_ns, .last_wall_ns = s->end_wall_ns };
	int rc = nearest_find(o->r, s->route, &n);

	if (rc == NW_OK &&
	    ((n.has_throughput && n.throughput.test.id == o->test->id) ||
		(n.has_loss && n.loss.test.id == o->test->id)))
		rc = o->fn(o->arg, s->session_id, s->owner);
	return rc;
}

int
analysis_sessions_of_test(struct store_reader *r, const struct nw_active_test *test, size_t limit,
    analysis_session_fn *fn, void *arg)
{
	struct speech o = { r, test, fn, arg };

	return test->succeeded ? store_sessions_beside(r, test, TEST_NEAR_NS, limit, on_beside, &o)
			       : NW_OK;
}

void
evidence_tests_clear(struct evidence *e)
{
	free(e->tests);
	e->tests = NULL;
	e->n_tests = 0;
}
