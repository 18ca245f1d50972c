/* SPDX-License-Identifier: BSD-3-Clause */
/* A program asks for more of its host: the host's provider gets the order, other hosts do not, and
 * what is too much is refused and counted. */
#include "tests/daemon/wired.h"

#include "narrows/order.h"

static unsigned starts[2];

static void
on_first(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	starts[0] += opt == NW_OPT_START;
	wired_on_send(arg, opt, data, len);
}

static void
on_second(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	starts[1] += opt == NW_OPT_START;
	wired_on_send(arg, opt, data, len);
}

static void
host_open(struct wired *w, const char *address, const char *host,
    void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len))
{
	struct nw_kv kv[] = { { "provider", NW_KV_TEXT, { .text = host } },
		{ "first_seq", NW_KV_INT, { .i = 1 } },
		{ "can", NW_KV_TEXT, { .text = "start stop rate status" } },
		{ "host", NW_KV_TEXT, { .text = host } } };
	struct nw_doc_buf doc = { 0 };
	const char *why;

	wired_open(w, address, NULL);
	w->x->wire.send = send;
	CHECK_INT(nw_kv_encode(&doc, kv, 4), NW_OK);
	CHECK_INT(xsess_block(w->x, NW_OPT_HELLO, doc.data, doc.len, &why), NW_OK);
	nw_doc_buf_clear(&doc);
}

static uint64_t
ask(struct wired *w, const char *event_type, int64_t interval_ns, int64_t for_ns)
{
	struct nw_order o = {
		.opt = NW_OPT_START, .id = "ask", .collection_ns = interval_ns, .lease_ns = for_ns
	};
	uint64_t before = w->x->rejected;
	struct nw_doc_buf doc = { 0 };
	const char *why;

	snprintf(o.event_type, sizeof(o.event_type), "%s", event_type);
	CHECK_INT(nw_order_encode(&doc, &o), NW_OK);
	CHECK_INT(xsess_block(w->x, NW_OPT_START, doc.data, doc.len, &why), NW_OK);
	nw_doc_buf_clear(&doc);
	return w->x->rejected - before;
}

int
main(void)
{
	const int64_t second_ns = INT64_C(1000000000);
	struct wired mine, other, program;
	int i;

	boxed_begin();
	host_open(&mine, "192.0.2.1", "dtn1", on_first);
	host_open(&other, "192.0.2.2", "dtn2", on_second);
	wired_open(&program, "192.0.2.1", NULL);
	CHECK_INT(ask(&program, "ps:cpu", second_ns, second_ns), 1); /* before HELLO */
	CHECK_INT(wired_hello(&program, "prog", 1, 0, "a-task", "dtn1"), NW_OK);
	CHECK_INT(ask(&program, "ps:tools", second_ns / 10, 5 * second_ns), 0);
	CHECK_INT(starts[0], 1);
	CHECK_INT(starts[1], 0);
	CHECK_INT(ask(&program, "nw:cpu", second_ns, second_ns), 1);
	CHECK_INT(ask(&program, "ps:cpu", second_ns, 3600 * second_ns), 1);
	for (i = 0; i < 100; i++)
		ask(&program, "ps:tools", second_ns, second_ns);
	CHECK(starts[0] <= 16);
	CHECK_INT(starts[1], 0);
	wired_close(&program);
	wired_close(&mine);
	wired_close(&other);
	boxed_end();
	return check_done("test_ask");
}
