/* SPDX-License-Identifier: BSD-3-Clause */
/* XSP sessions on a played wire: numbers, repeated and lost documents, documents before their
 * metadata, and names that a certificate contradicts. */
#include "daemon/ingest.h"
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

/* Numbers of one life have documents: a gap between them is a loss, whatever HELLO says. */
static void
test_gap(void)
{
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "gap", 1, 0, NULL, NULL), NW_OK);
	CHECK_INT(wired_meta(&w, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(wired_hello(&w, "gap", 9, 0, NULL, NULL), NW_OK);
	CHECK_INT(w.x->dropped, 0);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	CHECK_INT(w.x->dropped, 7);
	CHECK_INT(wired_hello(&w, "gap", (INT64_C(1) << 40) + 1, 2, NULL, NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 3), NW_OK);
	CHECK_INT(w.x->dropped, 9);
	wired_close(&w);
}

static int
wired_lost(struct wired *w, int64_t first, const char *task_id)
{
	struct nw_kv kv[] = { { "first", NW_KV_INT, { .i = first } },
		{ "task_id", NW_KV_TEXT, { .text = task_id } } };
	struct nw_doc_buf doc = { 0 };
	const char *why = NULL;
	int rc;

	CHECK_INT(nw_kv_encode(&doc, kv, 2), NW_OK);
	rc = xsess_block(w->x, NW_OPT_LOST, doc.data, doc.len, &why);
	CHECK((why != NULL) == (rc < 0));
	nw_doc_buf_clear(&doc);
	return rc;
}

/* A provider died with documents in memory: those that the box does not have are lost, and count
 * for the session of their task, once. */
static void
test_died(void)
{
	static const int64_t life = INT64_C(5) << 40;
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "dies", life + 1, 0, "died", NULL), NW_OK);
	CHECK_INT(wired_meta(&w, "m", "nl:tools:calipers:summary:read", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	wired_close(&w);

	/* numbers 1 to 10 were given, 3 to 10 were in no file; the box has 1 and 2 */
	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_lost(&w, 1, NULL), NW_EPROTO); /* before HELLO */
	CHECK_INT(wired_hello(&w, "dies", life + 10, 0, NULL, NULL), NW_OK);
	CHECK_INT(wired_lost(&w, life + 11, NULL), NW_EPROTO);
	CHECK_INT(wired_lost(&w, 5, NULL), NW_EPROTO); /* of another life */
	CHECK_INT(wired_lost(&w, 0, NULL), NW_EPROTO);
	CHECK_INT(wired_lost(&w, life + 1, "died"), NW_OK);
	CHECK_INT(w.x->dropped, 8);
	CHECK(w.x->session != NULL && strcmp(w.x->session->label, "died") == 0);
	CHECK_INT(wired_hello(&w, "dies", life + 10, 0, NULL, NULL), NW_OK);
	CHECK_INT(wired_lost(&w, life + 1, "died"), NW_OK); /* told again */
	CHECK_INT(w.x->dropped, 8);
	wired_store();
	CHECK_INT(w.stored, life + 10);
	wired_close(&w);
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT sum(dropped) FROM xsp_session WHERE session_id ="
		      " (SELECT id FROM session WHERE task_id = 'died')"),
	    8);
}

/* What a connection counted is in the store with the documents, while the connection lives: a box
 * that is killed then has both or neither. Repeated documents do not count. */
static void
test_counts(void)
{
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "counts", 1, 0, "counted", NULL), NW_OK);
	CHECK_INT(wired_meta(&w, "m", "nl:tools:calipers:summary:read", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	wired_store();
	CHECK_INT(
	    sqlcount(boxed_path, "SELECT docs * 100 + samples FROM xsp_session ORDER BY id DESC"),
	    302);
	CHECK_INT(wired_hello(&w, "counts", 2, 0, NULL, NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 2), NW_OK);
	CHECK_INT(wired_data(&w, "m", 3), NW_OK);
	wired_store();
	CHECK_INT(
	    sqlcount(boxed_path, "SELECT docs * 100 + samples FROM xsp_session ORDER BY id DESC"),
	    403);
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

/*
 * Another host says the id of a provider with a number far ahead: once, the box then told the
 * provider "stored" for everything and kept nothing.
 */
static void
test_owners(void)
{
	struct wired victim, thief, again;

	wired_open(&victim, "192.0.2.1", "dtn1");
	CHECK_INT(wired_hello(&victim, "shared", 1, 0, NULL, NULL), NW_OK);
	CHECK_INT(wired_meta(&victim, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&victim, "m", 1), NW_OK);
	wired_open(&thief, "192.0.2.2", "dtn2");
	CHECK_INT(wired_hello(&thief, "shared", 1000000000, 0, NULL, NULL), NW_OK);
	CHECK_INT(thief.stored, 0);
	CHECK_INT(wired_meta(&thief, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&thief, "m", 1), NW_OK);
	wired_store();
	CHECK_INT(thief.stored, 1000000000);
	CHECK(victim.failed == NULL && victim.stored == 1);
	CHECK_INT(wired_data(&victim, "m", 2), NW_OK);
	wired_store();
	CHECK_INT(victim.stored, 2);
	wired_close(&victim);
	wired_close(&thief);

	/* and again when only their numbers are remembered */
	CHECK(origin_expire(&box, INT64_MAX) > 1);
	wired_open(&again, "192.0.2.1", "dtn1");
	CHECK_INT(wired_hello(&again, "shared", 3, 0, NULL, NULL), NW_OK);
	CHECK_INT(again.stored, 2);
	wired_close(&again);
}

/* Numbers begin a life of a spool or follow its beginning, and end before they wrap. */
static void
test_leaps(void)
{
	static const struct {
		int64_t first;
		bool ok;
	} cases[] = { { 1, true }, { 5001, true }, { (INT64_C(1) << 40) + 1, true },
		{ INT64_C(1) << 40, false }, { INT64_C(1000000000000000), false },
		{ (INT64_C(77) << 40) + 500, true }, { INT64_MAX, false },
		{ (INT64_C(1) << 62) + 1, false }, { 0, false }, { -1, false } };
	const char *why = NULL;
	struct wired w;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wired_open(&w, "192.0.2.1", NULL);
		CHECK_INT(wired_hello(&w, "leaps", cases[i].first, 0, NULL, NULL),
		    cases[i].ok ? NW_OK : NW_EPROTO);
		wired_close(&w);
	}
	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "ends", 1, 0, NULL, NULL), NW_OK);
	w.x->in.next_seq = INGEST_SEQ_MAX - 1;
	CHECK_INT(wired_meta(&w, "m", "ps:cpu", NULL), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(ingest_document(w.x, NW_OPT_DATA, NULL, 0, &why), NW_EPROTO);
	CHECK(w.x->origin->accepted_seq == INGEST_SEQ_MAX - 1);
	wired_close(&w);
}

/* A tick looks at the origins that go, and at one more, however many there are. */
static void
test_expire(void)
{
	struct origin *o;
	char id[24];
	int i;

	(void)origin_expire(&box, INT64_MAX);
	for (i = 0; i < 900; i++) {
		snprintf(id, sizeof(id), "idle-%d", i);
		o = origin_get(&box, "host:a", id);
		o->accepted_seq = o->stored_seq = (uint64_t)i;
		origin_release(o);
	}
	CHECK_INT(origin_expire(&box, 0), 1);
	CHECK_INT(box.idle.count, 900);
	o = origin_get(&box, "host:a", "idle-0"); /* back: no longer idle */
	CHECK_INT(box.idle.count, 899);
	for (i = 900; i < 1100; i++) {
		snprintf(id, sizeof(id), "idle-%d", i);
		origin_release(origin_get(&box, "host:a", id));
	}
	CHECK_INT(origin_expire(&box, 0), 100);
	CHECK_INT(box.idle.count, 1000);
	origin_release(o);
	CHECK_INT(origin_expire(&box, INT64_MAX), 1002);
	CHECK(box.idle.count == 0 && box.idle.oldest == NULL && box.idle.newest == NULL);
	o = origin_get(&box, "host:a", "idle-7");
	CHECK(o->stored_seq == 7 && o->accepted_seq == 7);
	origin_release(o);
}

int
main(void)
{
	log_open("test_xsess", false, false);
	boxed_begin();
	test_numbers();
	test_lost();
	test_gap();
	test_died();
	test_counts();
	test_held();
	test_refused();
	test_owners();
	test_leaps();
	test_expire();
	boxed_end();
	return check_done("test_xsess");
}
