/* SPDX-License-Identifier: BSD-3-Clause */
/* XSP sessions on a played wire: numbers, repeated and lost documents, documents before their
 * metadata, and names that a certificate contradicts. */
#include "tests/daemon/wired.h"

static uint64_t
count(const counter *c)
{
	return counter_get(c);
}

static void
test_numbers(void)
{
	uint64_t repeated = count(&box.counters.duplicates);
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "one", 1, 0, NULL, NULL), NW_OK);
	CHECK(w.hellos == 1 && w.stored == 0);
	CHECK_INT(wired_meta(&w, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	CHECK_INT(w.stored, 0);
	wired_store();
	CHECK(w.stored == 2 && w.stored_count == 1);
	wired_close(&w);

	/* the provider returns and repeats its last document */
	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "one", 2, 0, NULL, NULL), NW_OK);
	CHECK_INT(w.stored, 2);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	CHECK_INT(count(&box.counters.duplicates) - repeated, 1);
	CHECK_INT(wired_data(&w, "m", 3), NW_OK);
	CHECK_INT(count(&box.counters.duplicates) - repeated, 1);
	wired_store();
	CHECK_INT(w.stored, 3);
	wired_close(&w);
}

static void
test_lost(void)
{
	uint64_t dropped = count(&box.counters.dropped_documents);
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "two", 11, 4, NULL, NULL), NW_OK);
	CHECK_INT(wired_meta(&w, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	CHECK_INT(count(&box.counters.dropped_documents) - dropped, 4);
	CHECK_INT(w.x->dropped, 4);
	wired_close(&w);
}

static void
test_held(void)
{
	uint64_t held = count(&box.counters.held_documents), samples = count(&box.counters.samples),
		 without = count(&box.counters.data_without_metadata);
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_data(&w, "late", 1), NW_OK);
	CHECK_INT(wired_data(&w, "never", 1), NW_OK);
	CHECK_INT(count(&box.counters.held_documents) - held, 2);
	CHECK_INT(count(&box.counters.samples) - samples, 0);
	CHECK_INT(wired_meta(&w, "late", "ps:cpu", NULL), NW_OK);
	CHECK_INT(count(&box.counters.samples) - samples, 1);
	wired_close(&w);
	CHECK_INT(count(&box.counters.data_without_metadata) - without, 1);
}

static void
test_refused(void)
{
	static const uint8_t garbage[] = { 1, 2, 3 };
	uint64_t rejected = count(&box.counters.rejected_documents);
	const char *why = NULL;
	struct wired w, other;

	wired_open(&w, "192.0.2.1", "dtn1");
	CHECK_INT(wired_hello(&w, "p", 1, 0, NULL, "dtn2"), NW_EPROTO);
	CHECK_INT(wired_hello(&w, "p", 0, 0, NULL, NULL), NW_EPROTO);
	CHECK_INT(wired_hello(&w, NULL, 1, 0, NULL, NULL), NW_EPROTO);
	CHECK_INT(w.hellos, 0);
	CHECK_INT(wired_hello(&w, "p", 1, 0, NULL, "DTN1"), NW_OK);
	CHECK_INT(xsess_block(w.x, NW_OPT_DATA, garbage, sizeof(garbage), &why), NW_OK);
	CHECK_INT(count(&box.counters.rejected_documents) - rejected, 1);
	CHECK(w.failed == NULL);

	/* a second connection of the same provider ends the first */
	wired_open(&other, "192.0.2.1", "dtn1");
	CHECK_INT(wired_hello(&other, "p", 1, 0, NULL, NULL), NW_OK);
	CHECK(w.failed != NULL && other.failed == NULL);
	wired_close(&w);
	CHECK_INT(wired_meta(&other, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&other, "m", 2), NW_OK);
	wired_store();
	CHECK_INT(other.stored, 1);
	wired_close(&other);
}

int
main(void)
{
	log_open("test_xsess", false, false);
	boxed_begin();
	test_numbers();
	test_lost();
	test_held();
	test_refused();
	boxed_end();
	return check_done("test_xsess");
}
