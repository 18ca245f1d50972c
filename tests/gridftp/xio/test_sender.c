/* SPDX-License-Identifier: BSD-3-Clause */
/* The sender's thread and a box: the end of a process sends what is left, and a box that is away
 * costs no time. */
#include "gridftp/xio/sender.h"

#include "tests/fakebox.h"
#include "tests/gridftp/xio/measure_clear.h"
#include "narrows/clock.h"

#define MS INT64_C(1000000)

static struct flow *
open_flow(struct measure *m, enum flow_kind kind, const char *task)
{
	const struct flow_label label = { .kind = kind,
		.size_bytes = -1,
		.fd = -1,
		.transport = "tcp",
		.path = kind == FLOW_DISK ? "/f" : NULL };
	struct options o;

	options_init(&o);
	strcpy(o.task_id, task);
	return flow_open(m, &label, &o, kind == FLOW_DISK, nw_caliper_now());
}

static void
move(struct measure *m, struct flow *f, enum flow_dir dir, size_t bytes)
{
	struct op *o = op_begin(m, f, dir, NULL, bytes, 1, bytes, nw_caliper_now());

	op_returned(m, o, OP_NOW);
	op_done(m, o, bytes, OP_OK, OP_NOW);
}

struct ending {
	struct sender *sender;
	int64_t wait_ns;
};

static void *
end(void *arg)
{
	const struct ending *e = arg;

	sender_finish(e->sender, e->wait_ns);
	return NULL;
}

static void
test_last_words(void)
{
	static struct fakebox b;
	struct ending e = { .wait_ns = 20000 * MS };
	struct measure m;
	struct flow *f;
	pthread_t thread;
	int i;

	fakebox_start(&b);
	b.commit_each = true;
	setenv("NARROWS_BOX", b.addr, 1);
	measure_init(&m, false);
	e.sender = sender_start(&m, "narrows");
	CHECK(e.sender != NULL);
	f = open_flow(&m, FLOW_NET, "");
	(void)open_flow(&m, FLOW_DISK, "task-9");
	for (i = 0; i < 100; i++)
		move(&m, f, FLOW_READ, 1000);
	/* the flows stay open, as in a client */
	CHECK_INT(pthread_create(&thread, NULL, end, &e), 0);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		fakebox_step(&b);
	CHECK_STR(b.software, "gridftp-xio");
	CHECK_STR(b.task_id, "task-9");
	CHECK_INT(b.opens, 1);
	CHECK(b.metas >= 3); /* process, stage, stream */
	CHECK(b.docs >= 3);
	/* another life of the module in the process reports the same flows */
	b.metas = b.docs = 0;
	e.sender = sender_start(&m, "narrows");
	move(&m, f, FLOW_READ, 1000);
	CHECK_INT(pthread_create(&thread, NULL, end, &e), 0);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		fakebox_step(&b);
	CHECK_INT(b.opens, 2);
	CHECK(b.metas >= 3);
	CHECK(b.docs >= 3);
	fakebox_stop(&b);
	measure_clear(&m);
}

static void
test_box_away(void)
{
	struct measure m;
	struct sender *x;
	int64_t begin;

	setenv("NARROWS_BOX", "127.0.0.1/9", 1);
	measure_init(&m, false);
	x = sender_start(&m, "narrows");
	CHECK(x != NULL);
	move(&m, open_flow(&m, FLOW_NET, "task-10"), FLOW_WRITE, 1000);
	begin = nw_mono_ns();
	sender_finish(x, 60000 * MS);
	CHECK(nw_mono_ns() - begin < 30000 * MS); /* a tenth of the wait, on a slow machine */
	sender_finish(NULL, 0);
	measure_clear(&m);
}

static void
test_no_box(void)
{
	struct measure m;
	struct sender *x;
	struct flow *f;

	setenv("NARROWS_BOX", "not an address", 1);
	measure_init(&m, false);
	x = sender_start(&m, "narrows");
	f = open_flow(&m, FLOW_NET, "task-11");
	move(&m, f, FLOW_WRITE, 1000);
	flow_close(&m, f, nw_caliper_now());
	sender_finish(x, 1000 * MS);
	CHECK_INT(m.n_flows, 0); /* closed flows are freed without a report */
	measure_clear(&m);
}

int
main(void)
{
	test_last_words();
	test_box_away();
	test_no_box();
	return check_done("test_sender");
}
