/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider's end of control against a small box: orders, their leases, STATUS and CLOCK on the
 * wire. */
#include "host/lib/control_client.h"

#include "narrows/clock.h"
#include "tests/fakebox.h"

#define S INT64_C(1000000000)

static struct nw_order_status last;
static char last_collecting[64], last_orders[64], last_refused[64];
static unsigned statuses, clocks;
static struct nw_clock last_clock;

static void
on_option(struct fakebox *b, const struct nw_block *block)
{
	const char *why;

	if (block->type == NW_OPT_STATUS) {
		CHECK_INT(nw_order_status_decode(&last, block->data, block->len, &why), NW_OK);
		snprintf(last_collecting, sizeof(last_collecting), "%s",
		    last.collecting != NULL ? last.collecting : "");
		snprintf(
		    last_orders, sizeof(last_orders), "%s", last.orders != NULL ? last.orders : "");
		snprintf(last_refused, sizeof(last_refused), "%s",
		    last.refused != NULL ? last.refused : "");
		statuses++;
	} else if (block->type == NW_OPT_CLOCK) {
		CHECK_INT(nw_clock_decode(&last_clock, block->data, block->len, &why), NW_OK);
		clocks++;
	} else
		b->others++;
}

static void
say(struct fakebox *b, uint16_t opt, const struct nw_doc_buf *doc)
{
	const struct nw_block block = { .type = opt, .data = doc->data, .len = doc->len };

	fakebox_send(b, 1, NW_MSG_APP_DATA, &block);
}

static void
order(struct fakebox *b, uint16_t opt, const char *id, int64_t collection_ns, int64_t lease_ns)
{
	struct nw_order o = { .opt = opt, .collection_ns = collection_ns, .lease_ns = lease_ns };
	struct nw_doc_buf doc = { 0 };

	strcpy(o.id, id);
	CHECK_INT(nw_order_encode(&doc, &o), NW_OK);
	say(b, opt, &doc);
	nw_doc_buf_clear(&doc);
}

static void
steps(struct fakebox *b, struct nw_provider *p)
{
	int i;

	for (i = 0; i < 20; i++) {
		fakebox_step(b);
		nw_provider_run(p, S / 1000);
	}
}

/* What a box that answers hears: clock and status, every 10 s and after a change, and what was
 * malformed or not offered. */
static void
check_answered(struct fakebox *b, struct control_client *o, int64_t now)
{
	const struct nw_doc_buf rubbish = { .data = (uint8_t *)(uintptr_t) "\5\0\0\0\0", .len = 5 };

	CHECK(last_clock.t1_wall_ns == 12345 && last_clock.t2_wall_ns <= last_clock.t3_wall_ns &&
	    nw_wall_ns() - last_clock.t2_wall_ns < 5 * S);
	CHECK_STR(last_collecting, "calipers");
	CHECK_STR(last_orders, "a");
	CHECK_STR(last_refused, "");
	CHECK(isnan(last.cpu_share) && last.samples == NW_STATUS_UNSAID);
	o->samples = 4711;
	o->overruns = 2;
	o->cost_cpu_s = last.cpu_s - 1; /* it took a second since the first STATUS */
	CHECK(last.cpu_s >= 0 && last.rss_bytes > 100000 && last.report_s == 1);
	control_client_status(o, now + 9 * S, "calipers", S / 10, S);
	steps(b, o->provider);
	CHECK_INT(statuses, 1);
	snprintf(o->refused, sizeof(o->refused), "no TCP here");
	control_client_status(o, now + 10 * S, "calipers", S / 10, S);
	steps(b, o->provider);
	CHECK_INT(statuses, 2);
	CHECK_STR(last_refused, "no TCP here");
	CHECK(last.samples == 4711 && last.overruns == 2 && last.cpu_share >= 0.1 &&
	    last.cpu_share < 1.1);
	say(b, NW_OPT_RATE, &rubbish);
	steps(b, o->provider);
	CHECK_INT(o->rejected, 1);
	control_client_status(o, now + 11 * S, "calipers", S / 10, S);
	steps(b, o->provider);
	CHECK(statuses == 3 && last.orders_rejected == 1);
}

static void
test_wire(bool original)
{
	struct nw_provider_opts opts = { .software = "t",
		.host = "h",
		.can = "rate stop status",
		.on_order = control_client_order };
	struct nw_clock question = { .t1_wall_ns = 12345 };
	struct nw_doc_buf doc = { 0 };
	struct control_client *o = calloc(1, sizeof(*o));
	struct fakebox b;
	int64_t now;

	fakebox_start(&b);
	b.original = original;
	b.on_option = on_option;
	statuses = clocks = 0;
	control_client_init(o, opts.can);
	opts.box = b.addr;
	opts.on_order_arg = o;
	CHECK_INT(nw_provider_new(&opts, &o->provider), NW_OK);
	steps(&b, o->provider);

	order(&b, NW_OPT_RATE, "a", S / 10, 5 * S);
	nw_clock_encode(&doc, &question);
	say(&b, NW_OPT_CLOCK, &doc);
	steps(&b, o->provider);
	now = nw_mono_ns();
	CHECK(control_client_step(o, now) != original && !control_client_step(o, now));
	CHECK_INT(leases_interval_ns(&o->leases, "nw:", S), original ? S : S / 10);
	CHECK_INT(clocks, !original);
	control_client_status(o, now, "calipers", S / 10, S);
	steps(&b, o->provider);
	CHECK_INT(statuses, !original);
	if (!original)
		check_answered(&b, o, now);
	CHECK(leases_expire(&o->leases, now + 20 * S) != original);
	nw_provider_close(o->provider, 0);
	control_client_clear(o);
	nw_doc_buf_clear(&doc);
	fakebox_stop(&b);
	free(o);
}

/* Straight to control_client_order(): what the wire may bring. */
static void
test_refusals(void)
{
	const struct nw_kv slow[] = { { "id", NW_KV_TEXT, { .text = "x" } },
		{ "collection_interval_s", NW_KV_REAL, { .d = 1e9 } },
		{ "lease_s", NW_KV_REAL, { .d = 1 } } };
	struct control_client *o = calloc(1, sizeof(*o));
	struct nw_doc_buf doc = { 0 };

	control_client_init(o, "rate stop");
	control_client_order(o, NW_OPT_RATE, (const uint8_t *)"", 0);
	CHECK(o->rejected == 1 && o->why != NULL);
	nw_kv_encode(&doc, slow, 3);
	control_client_order(o, NW_OPT_RATE, doc.data, doc.len);
	CHECK_INT(o->rejected, 2);
	control_client_order(o, NW_OPT_START, doc.data, doc.len); /* not offered */
	CHECK_INT(o->rejected, 3);
	CHECK(o->leases.n == 0 && !control_client_step(o, 0));
	nw_kv_encode(&doc, slow, 1);
	control_client_order(
	    o, NW_OPT_STOP, doc.data, doc.len); /* of nothing: no change, no fault */
	CHECK_INT(o->rejected, 3);
	CHECK(!control_client_step(o, 0));
	nw_doc_buf_clear(&doc);
	control_client_clear(o);
	free(o);
}

int
main(void)
{
	test_wire(false);
	test_wire(true);
	test_refusals();
	return check_done("control_client");
}
