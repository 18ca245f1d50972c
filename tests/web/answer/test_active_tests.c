/* SPDX-License-Identifier: BSD-3-Clause */
/* Active tests in the store and the report: kept once or not at all, with exact values; found by a
 * host's name and by the addresses that its certificate proves, and by nothing else. */
#include "web/answer/active_tests.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "tests/filled.h"

static struct store *store;
static struct store_reader *reader;
static char why[STORE_WHY_BYTES];

#define NS INT64_C(1000000000)

/* --- a store with three hosts --- */

static void
host_put(struct nw_batch *b, int64_t id, const char *name, const char *owner, const char *peer,
    const char *addresses)
{
	nw_batch_host(b, &(struct nw_host_rec){ .id = id, .name = name });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ .id = id,
		.host_id = id,
		.sess_id_hex = "0",
		.peer = peer,
		.owner = owner,
		.addresses = addresses,
		.opened_wall_ns = NS });
}

static void
store_fill(void)
{
	struct nw_batch *b = nw_batch_new();

	host_put(b, 1, "dtn1", "host:dtn1", "192.0.2.1/4000", "10.0.0.1 2001:db8::1");
	host_put(b, 2, "DTN2", "host:DTN2", "127.0.0.1/4000", NULL);
	host_put(b, 3, "liar", "addr:192.0.2.9", "192.0.2.9/4000", NULL);
	host_put(b, 4, "dtn4", "host:dtn4", "2001:db8::4/4000", NULL);
	filled_commit(store, b);
}

/* --- tests of one pair after the other --- */

static struct nw_active_test
test_of(int n, const char *src, const char *dst, int64_t end_s)
{
	struct nw_active_test t = { .kind = NW_TEST_RTT,
		.succeeded = true,
		.start_wall_ns = (end_s - 10) * NS,
		.end_wall_ns = end_s * NS };
	int i;

	snprintf(t.run, sizeof(t.run), "run-%d", n);
	snprintf(t.src, sizeof(t.src), "%s", src);
	snprintf(t.dst, sizeof(t.dst), "%s", dst);
	snprintf(t.tool, sizeof(t.tool), "ping");
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		t.value[i] = NAN;
	t.value[NW_TEST_rtt_s] = 0.1 + n; /* no decimal fraction is exact in 16 digits */
	return t;
}

struct seen {
	size_t n;
	struct nw_active_test newest;
	char details[64];
};

static int
on_test(void *arg, const struct nw_active_test *t)
{
	struct seen *s = arg;

	if (s->n++ > 0)
		return 0;
	s->newest = *t;
	snprintf(s->details, sizeof(s->details), "%s", t->details != NULL ? t->details : "");
	return 0;
}

static struct seen
between(const char *src, const char *dst, int64_t from_s, int64_t to_s)
{
	struct seen s = { 0 };

	CHECK_INT(
	    store_tests_between(reader, src, dst, from_s * NS, to_s * NS, 100, on_test, &s), NW_OK);
	return s;
}

static void
test_store(void)
{
	struct nw_active_test list[] = { test_of(1, "dtn1", "dtn2", 1000),
		test_of(2, "10.0.0.1", "dtn2", 2000), test_of(3, "192.0.2.1", "dtn2", 3000),
		test_of(4, "2001:db8::1", "dtn2", 4000), test_of(5, "127.0.0.1", "dtn2", 5000),
		test_of(6, "192.0.2.9", "dtn1", 6000), test_of(7, "2001:db8::4", "dtn1", 6500),
		test_of(1, "dtn1", "dtn2", 7000) };
	const size_t n = sizeof(list) / sizeof(list[0]);
	struct seen s;
	size_t added;

	list[3].details = strdup("{\"a\":1}");
	CHECK_INT(store_tests_add(filled_path, list, n, &added, why), NW_OK);
	CHECK_INT(added, n - 1); /* the last is the first run once more */
	CHECK_INT(store_tests_add_soon(filled_path, list, n, &added, why), NW_OK);
	CHECK_INT(added, 0);
	free(list[3].details);
	s = between("dtn1", "DTN2", 0, 10000);
	CHECK_INT(s.n, 4);
	CHECK_STR(s.newest.run, "run-4");
	CHECK_STR(s.newest.src, "2001:db8::1");
	CHECK_STR(s.details, "{\"a\":1}");
	CHECK(s.newest.value[NW_TEST_rtt_s] == 4.1);
	CHECK(isnan(s.newest.value[NW_TEST_hops]));
	CHECK_INT(s.newest.end_wall_ns, 4000 * NS);
	CHECK(s.newest.kind == NW_TEST_RTT && s.newest.succeeded);
	CHECK_INT(between("dtn1", "DTN2", 2000, 4000).n, 2); /* from is in, to is not */
	CHECK_INT(between("DTN2", "dtn1", 0, 10000).n, 0);
	CHECK_INT(
	    between("dtn4", "dtn1", 0, 10000).n, 1); /* without addresses in the certificate */
	/* an address without certificate is no host */
	CHECK_INT(between("liar", "dtn1", 0, 10000).n, 0);
	CHECK_INT(between("192.0.2.9", "dtn1", 0, 10000).n, 1);
}

/* --- documents --- */

#define DOC(n, src, dst)                                                                       \
	"{\"id\":\"7d0f8a1e-4f6f-4f0e-9c55-2b2f8d7f3a1" n "\",\"test\":{\"type\":\"rtt\","     \
	"\"spec\":{\"source\":\"" src "\",\"dest\":\"" dst "\"}},\"run\":{\"start-time\":\"20" \
	"26-05-04T10:00:01Z\",\"end-time\":\"2026-05-04T10:00:02Z\"},\"result\":{\"succeeded"  \
	"\":true,\"mean\":\"PT0.25S\"}}"

static int
keep(const char *hosts, const char *body, int stored, int known, int other)
{
	json_t *doc;
	int rc = active_tests_keep(filled_path, hosts, body, &doc, why, sizeof(why));

	CHECK((rc == NW_OK) == (doc != NULL));
	if (rc == NW_OK) {
		CHECK_INT(json_integer_value(json_object_get(doc, "stored")), stored);
		CHECK_INT(json_integer_value(json_object_get(doc, "known")), known);
		CHECK_INT(json_integer_value(json_object_get(doc, "other_kinds")), other);
	}
	json_decref(doc);
	return rc;
}

static void
test_keep(void)
{
	CHECK_INT(keep("a b", "[" DOC("0", "a", "b") "," DOC("1", "B", "A") "]", 2, 0, 0), NW_OK);
	CHECK_INT(keep("any", DOC("1", "b", "a") DOC("2", "c", "a"), 1, 1, 0), NW_OK);
	CHECK_INT(keep("a b", "{\"test\":{\"type\":\"dns\"}}", 0, 0, 1), NW_OK);
	CHECK_INT(keep("a b", DOC("3", "a", "b") DOC("4", "a", "c"), 0, 0, 0), NW_EINVAL);
	CHECK_STR(why, "c is no host of active-tests.");
	CHECK_INT(keep("a b", "{", 0, 0, 0), NW_EINVAL);
	CHECK_INT(between("a", "b", 0, INT32_MAX).n, 1); /* of the refused pair none is there */
}

int
main(void)
{
	char reason[STORE_WHY_BYTES];

	store = filled_open(NULL);
	store_fill();
	CHECK_INT(store_reader_open(filled_path, &reader, reason), NW_OK);
	test_store();
	test_keep();
	store_reader_close(reader);
	store_close(store);
	filled_remove();
	return check_done("active_tests");
}
