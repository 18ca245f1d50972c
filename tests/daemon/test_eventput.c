/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents of option OPS on a played wire: events are numbered as rows are, a bad document costs
 * its sender that document, and secret task ids become labels. */
#include "daemon/eventput.h"

#include "narrows/event.h"
#include "narrows/task.h"
#include "tests/daemon/wired.h"

static const char uuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

/* Sends n events from a time on, behind a version byte. */
static int
ops_send(struct wired *w, uint8_t version, int64_t t, int n)
{
	struct nw_attr attr = { "task_id", NW_ATTR_TEXT, true, { .text = uuid } };
	struct nw_event e = { .t_wall_ns = t, .name = "e", .n_attrs = 1, .attrs = &attr };
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	const uint8_t *block;
	const char *why = NULL;
	uint8_t *doc;
	size_t len;
	int rc;

	for (; n > 0; n--, e.t_wall_ns++)
		CHECK_INT(nw_events_add(b, &e), NW_OK);
	CHECK_INT(nw_events_finish(b, &block, &len), NW_OK);
	doc = malloc(len + 1);
	doc[0] = version;
	memcpy(doc + 1, block, len);
	rc = xsess_block(w->x, NW_OPT_OPS, doc, len + 1, &why);
	free(doc);
	nw_events_free(b);
	return rc;
}

static uint64_t
events(void)
{
	return counter_get(&box.counters.events);
}

static void
test_documents(void)
{
	uint64_t rejected = counter_get(&box.counters.rejected_documents);
	const char *why = NULL;
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "ops", 1, 0, NULL, NULL), NW_OK);
	CHECK_INT(ops_send(&w, NW_EVENT_DOC_VERSION, 1000, 3), NW_OK);
	CHECK_INT(events(), 3);
	/* each of these is refused whole, and has its number */
	CHECK_INT(ops_send(&w, 9, 1000, 3), NW_OK);
	CHECK_INT(ops_send(&w, NW_EVENT_DOC_VERSION, -2, 3), NW_OK);
	CHECK_INT(ops_send(&w, NW_EVENT_DOC_VERSION, INT64_MAX - 5, 3), NW_OK);
	CHECK_INT(xsess_block(w.x, NW_OPT_OPS, (const uint8_t *)"", 0, &why), NW_OK);
	CHECK_INT(xsess_block(w.x, NW_OPT_OPS, (const uint8_t *)"\1\377\377", 3, &why), NW_OK);
	CHECK_INT(counter_get(&box.counters.rejected_documents) - rejected, 5);
	CHECK_INT(events(), 3);
	CHECK_INT(ops_send(&w, NW_EVENT_DOC_VERSION, 2000, 1), NW_OK);
	wired_store();
	CHECK_INT(w.stored, 7);
	wired_close(&w);

	/* again: what is stored is dropped */
	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "ops", 7, 0, NULL, NULL), NW_OK);
	CHECK_INT(ops_send(&w, NW_EVENT_DOC_VERSION, 2000, 1), NW_OK);
	CHECK_INT(events(), 4);
	wired_close(&w);
}

struct found {
	int n;
	char text[64];
};

static int
on_event(void *arg, const struct nw_event_rec *r)
{
	struct found *f = arg;

	f->n++;
	snprintf(f->text, sizeof(f->text), "%s", r->event.attrs[0].v.text);
	return 0;
}

static void
test_stored(void)
{
	struct store_reader *r = NULL;
	struct found found = { 0 };
	char why[STORE_WHY_BYTES];

	CHECK_INT(store_reader_open(boxed_path, &r, why), NW_OK);
	CHECK_INT(store_events(r, &(struct nw_event_select){ 0 }, on_event, &found), NW_OK);
	store_reader_close(r);
	CHECK_INT(found.n, 4);
	CHECK(task_is_label(found.text));
}

/* Sends an event with the name of a host. */
static void
said(struct wired *w, const char *name, const char *host)
{
	static int64_t t = 1000000;
	struct nw_event e = { .t_wall_ns = t++, .name = name, .host = host };
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	const uint8_t *block;
	const char *why = NULL;
	uint8_t doc[512] = { NW_EVENT_DOC_VERSION };
	size_t len;

	CHECK_INT(nw_events_add(b, &e), NW_OK);
	CHECK_INT(nw_events_finish(b, &block, &len), NW_OK);
	memcpy(doc + 1, block, len);
	CHECK_INT(xsess_block(w->x, NW_OPT_OPS, doc, len + 1, &why), NW_OK);
	nw_events_free(b);
}

static int
on_said(void *arg, const struct nw_event_rec *r)
{
	const struct nw_event *e = &r->event;
	char *text = arg;

	if (e->t_wall_ns >= 1000000)
		snprintf(text + strlen(text), 512 - strlen(text), "%s:%s%s%s ", e->name, e->host,
		    e->n_attrs > 0 ? "<" : "", e->n_attrs > 0 ? e->attrs[0].v.text : "");
	return 0;
}

/* A host with a certificate speaks for others by a grant alone, a peer in clear has no name. */
static void
test_said(void)
{
	char why[STORE_WHY_BYTES], text[512] = "";
	struct store_reader *r = NULL;
	struct wired w;

	box.speakers = strdup("host:dtn1 host:relayed\nhost:dtn1 storage:disk\n");
	wired_open(&w, "192.0.2.1", "dtn1");
	w.x->wire.owner = "host:dtn1";
	w.x->wire.certified_addresses = "198.51.100.1";
	CHECK_INT(wired_hello(&w, "said", 1, 0, NULL, "dtn1"), NW_OK);
	said(&w, "a", "dtn1");
	said(&w, "b", "DTN1");
	said(&w, "c", "192.0.2.1");
	said(&w, "d", "198.51.100.1");
	said(&w, "e", "dtn2");
	said(&w, "f", "relayed");
	said(&w, "g", "disk");
	said(&w, "DPSS_SERV_IN", "disk");
	CHECK_INT(counter_get(&box.counters.events_for_others), 2);
	wired_store();
	wired_close(&w);
	wired_open(&w, "192.0.2.2", NULL);
	CHECK_INT(wired_hello(&w, "said", 1, 0, NULL, "clear"), NW_OK);
	said(&w, "h", "dtn2");
	wired_store();
	wired_close(&w);
	CHECK_INT(store_reader_open(boxed_path, &r, why), NW_OK);
	CHECK_INT(store_events(r, &(struct nw_event_select){ 0 }, on_said, text), NW_OK);
	store_reader_close(r);
	CHECK_STR(text,
	    "a:dtn1 b:DTN1 c:192.0.2.1 d:198.51.100.1 e:dtn1<dtn2 f:relayed g:dtn1<disk "
	    "DPSS_SERV_IN:disk h:dtn2 ");
	free(box.speakers);
}

int
main(void)
{
	boxed_begin();
	test_documents();
	test_stored();
	test_said();
	boxed_end();
	return check_done("eventput");
}
