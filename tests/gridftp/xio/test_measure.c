/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in all orders of pass and callback, headers of mode E, times apart, and which flows
 * share a session. Times are the test's own. */
#include "gridftp/xio/measure.h"

#include "tests/check.h"
#include "tests/gridftp/xio/measure_clear.h"

enum { MS = 1000000 };

static struct measure m;

static void
anew(bool threads)
{
	measure_clear(&m);
	measure_init(&m, threads);
}

static void
options_of(struct options *o, const char *task)
{
	options_init(o);
	strcpy(o->task_id, task);
}

static struct flow *
open_flow(enum flow_kind kind, const char *task, bool exact)
{
	const struct flow_label label = { .kind = kind, .size_bytes = -1, .fd = -1, .path = "/f" };
	struct options o;

	options_of(&o, task);
	return flow_open(&m, &label, &o, exact, nw_caliper_now());
}

/* An operation from begin to end, in ms; the pass returns at `back`. */
static void
run(struct flow *f, enum flow_dir dir, const uint8_t *buf, int n_bufs, size_t asked, size_t got,
    int64_t begin, int64_t back, int64_t end)
{
	size_t first = n_bufs > 1 ? HEADER_BYTES : asked;
	struct op *o = op_begin(&m, f, dir, buf, first, n_bufs, asked, begin * MS);

	if (back <= end) {
		op_returned(&m, o, back * MS);
		op_done(&m, o, got, OP_OK, end * MS);
	} else {
		op_done(&m, o, got, OP_OK, end * MS);
		op_returned(&m, o, back * MS);
	}
}

static void
header_make(uint8_t h[HEADER_BYTES], uint8_t flags, uint64_t bytes)
{
	int i;

	memset(h, 0, HEADER_BYTES);
	h[0] = flags;
	for (i = 8; i >= 1; i--, bytes >>= 8)
		h[i] = (uint8_t)bytes;
}

static void
test_exact(void)
{
	struct flow *f;

	anew(false);
	f = open_flow(FLOW_DISK, "a", true);
	run(f, FLOW_WRITE, NULL, 1, 1000, 1000, 10, 13, 50); /* the pass's 3 ms, not the 40 */
	CHECK_INT(f->sum[FLOW_WRITE].ns, 3 * MS);
	run(f, FLOW_WRITE, NULL, 1, 1000, 400, 60, 70,
	    65); /* another thread's callback came first */
	CHECK_INT(f->sum[FLOW_WRITE].ns, 8 * MS);
	CHECK_INT(f->sum[FLOW_WRITE].bytes, 1400);
	CHECK_INT(f->sum[FLOW_WRITE].ops, 2);
	CHECK_INT(meter_busy_ns(&f->session->meter[1], 100 * (int64_t)MS, 0), 8 * MS);
	CHECK_INT(m.apart_ns, 8 * MS);
	run(f, FLOW_WRITE, NULL, 1, 1000, 0, 80, 81,
	    82); /* moved nothing: the transport waits again */
	CHECK(!f->exact);
	CHECK_INT(f->sum[FLOW_WRITE].ops, 2);
}

/* The transport tells the end within the pass, before a callback on another thread. */
static void
test_told(void)
{
	struct flow *f;
	struct op *o;
	int late;

	anew(true);
	f = open_flow(FLOW_DISK, "a", true);
	for (late = 0; late < 2; late++) {
		o = op_begin(&m, f, FLOW_READ, NULL, 1000, 1, 1000, (10 + 100 * late) * MS);
		atomic_store(&o->told_end_mono_ns, (12 + 100 * late) * (int64_t)MS);
		if (late)
			op_done(&m, o, 1000, OP_OK, 150 * MS);
		op_returned(&m, o, (40 + 100 * late) * MS);
		if (!late)
			op_done(&m, o, 1000, OP_OK, 50 * MS);
	}
	CHECK_INT(f->sum[FLOW_READ].ns, 4 * MS);
	CHECK_INT(meter_busy_ns(&f->session->meter[0], 200 * (int64_t)MS, 0), 4 * MS);
	/* the next operation in the same memory begins without an end */
	run(f, FLOW_READ, NULL, 1, 1000, 1000, 210, 213, 250);
	CHECK_INT(f->sum[FLOW_READ].ns, 7 * MS);
}

/* A stream that waits while the thread writes to a disk waited for the disk. */
static void
test_apart(void)
{
	struct flow *disk, *net[2];
	struct op *o[2];
	int64_t busy;

	anew(false);
	disk = open_flow(FLOW_DISK, "a", true);
	net[0] = open_flow(FLOW_NET, "a", false);
	net[1] = open_flow(FLOW_NET, "a", false);
	o[0] = op_begin(&m, net[0], FLOW_READ, NULL, 5000, 1, 5000, 0);
	o[1] = op_begin(&m, net[1], FLOW_READ, NULL, 5000, 1, 5000, 10 * MS);
	op_returned(&m, o[0], 1 * MS);
	op_returned(&m, o[1], 11 * MS);
	run(disk, FLOW_WRITE, NULL, 1, 700, 700, 20, 50, 51);
	op_done(&m, o[0], 5000, OP_OK, 60 * MS);
	op_done(&m, o[1], 4000, OP_OK, 70 * MS);
	CHECK_INT(net[0]->sum[FLOW_READ].ns, 30 * MS);
	CHECK_INT(net[1]->sum[FLOW_READ].ns, 30 * MS);
	busy = meter_busy_ns(&net[0]->session->meter[2], 1000 * (int64_t)MS, m.apart_ns);
	CHECK_INT(busy, 40 * MS); /* once, not per stream */
	/* a call on a disk that has not returned is apart, too */
	o[0] = op_begin(&m, net[0], FLOW_READ, NULL, 5000, 1, 5000, 100 * MS);
	o[1] = op_begin(&m, disk, FLOW_WRITE, NULL, 700, 1, 700, 110 * MS);
	busy = meter_busy_ns(
	    &net[0]->session->meter[2], 150 * MS, measure_apart_ns(&m, 150 * (int64_t)MS));
	CHECK_INT(busy, 50 * MS);
	op_failed(&m, o[1], 150 * MS);
	op_returned(&m, o[0], 151 * MS);
	op_done(&m, o[0], 0, OP_FAILED, 160 * MS);
	CHECK_INT(net[0]->sum[FLOW_READ].errors + disk->sum[FLOW_WRITE].errors, 2);
	/* threads do not wait for each other */
	anew(true);
	disk = open_flow(FLOW_DISK, "a", true);
	net[0] = open_flow(FLOW_NET, "a", false);
	o[0] = op_begin(&m, net[0], FLOW_READ, NULL, 5000, 1, 5000, 0);
	run(disk, FLOW_WRITE, NULL, 1, 700, 700, 20, 50, 51);
	op_returned(&m, o[0], 60 * MS);
	op_done(&m, o[0], 5000, OP_OK, 60 * MS);
	CHECK_INT(net[0]->sum[FLOW_READ].ns, 60 * MS);
}

static void
test_headers(void)
{
	uint8_t h[HEADER_BYTES];
	struct flow *f;

	anew(false);
	f = open_flow(FLOW_NET, "a", false);
	header_make(h, 0, 1000);
	run(f, FLOW_READ, h, 1, HEADER_BYTES, HEADER_BYTES, 0, 0, 30);
	run(f, FLOW_READ, NULL, 1, 1000, 983, 30, 30, 35);
	/* the rest of a block may be as long as a header */
	run(f, FLOW_READ, h, 1, HEADER_BYTES, HEADER_BYTES, 40, 40, 41);
	header_make(h, 8, 0);
	run(f, FLOW_READ, h, 1, HEADER_BYTES, HEADER_BYTES, 50, 50, 55);
	CHECK_INT(f->sum[FLOW_READ].bytes, 1000);
	CHECK_INT(f->sum[FLOW_READ].header_bytes, 2 * HEADER_BYTES);
	CHECK_INT(f->sum[FLOW_READ].ops, 2);
	CHECK_INT(f->sum[FLOW_READ].ns, 36 * MS); /* the wait for a header is the block's */
	flow_close(&m, f, 60 * MS);
	CHECK_INT(f->sum[FLOW_READ].header_ns, 5 * MS);

	f = open_flow(FLOW_NET, "a", false);
	header_make(h, 0, 1000);
	run(f, FLOW_WRITE, h, 2, 1017, 1017, 0, 0, 10);
	run(f, FLOW_WRITE, h, 2, 1017, 5, 20, 20, 21); /* short: within the header */
	run(f, FLOW_WRITE, h + 5, 2, 1012, 1012, 22, 22, 30);
	header_make(h, 0x48, 0);
	run(f, FLOW_WRITE, h, 1, HEADER_BYTES, HEADER_BYTES, 40, 40, 42);
	CHECK_INT(f->sum[FLOW_WRITE].bytes, 2000);
	CHECK_INT(f->sum[FLOW_WRITE].header_bytes, 3 * HEADER_BYTES);
	/* a file of 17 bytes, in one piece */
	header_make(h, 'n', 0x6172726f77730a00);
	run(f, FLOW_WRITE, h, 1, HEADER_BYTES, HEADER_BYTES, 50, 50, 51);
	CHECK_INT(f->sum[FLOW_WRITE].bytes, 2017);
}

static void
test_offsets(void)
{
	struct flow *f;

	anew(false);
	f = open_flow(FLOW_DISK, "a", true);
	flow_seek(&m, f, 1000);
	run(f, FLOW_WRITE, NULL, 1, 100, 100, 0, 1, 2);
	run(f, FLOW_WRITE, NULL, 1, 100, 100, 2, 3, 4);
	CHECK_INT(f->at, 1200);
	CHECK_INT(f->sum[FLOW_WRITE].jumps, 0);
	flow_seek(&m, f, 1200);
	run(f, FLOW_WRITE, NULL, 1, 100, 100, 2, 3, 4);
	CHECK_INT(f->sum[FLOW_WRITE].jumps, 0);
	flow_seek(&m, f, 0);
	run(f, FLOW_WRITE, NULL, 1, 100, 100, 2, 3, 4);
	CHECK_INT(f->sum[FLOW_WRITE].jumps, 1);
}

static void
test_sessions(void)
{
	struct flow *net, *disk, *other, *later;
	struct session *first;

	/* a stream without an id is of the task that the disk brings */
	anew(false);
	net = open_flow(FLOW_NET, "", false);
	CHECK(!net->session->chosen);
	CHECK(strlen(net->session->task_id) == 36);
	disk = open_flow(FLOW_DISK, "a", true);
	CHECK(disk->session == net->session);
	CHECK_STR(net->session->task_id, "a");
	CHECK_INT(m.n_sessions, 1);
	/* another task takes it along; the one with an id stays */
	other = open_flow(FLOW_DISK, "b", true);
	CHECK(other->session != disk->session);
	CHECK(net->session == other->session);
	CHECK_STR(disk->session->task_id, "a");
	CHECK_INT(disk->session->flows, 1);
	CHECK_INT(other->session->flows, 2);
	/* a session that the box knows by a random id keeps it */
	anew(false);
	net = open_flow(FLOW_NET, "", false);
	first = net->session;
	first->started = true;
	disk = open_flow(FLOW_DISK, "a", true);
	CHECK(disk->session != first);
	CHECK(net->session == disk->session);
	CHECK(!first->chosen);
	/* a task that is over does not take a flow without an id */
	flow_close(&m, net, 0);
	flow_close(&m, disk, 0);
	later = open_flow(FLOW_NET, "", false);
	CHECK(later->session == first);
	pthread_mutex_lock(&m.lock);
	CHECK(!session_free(&m, first));
	flow_free(&m, net);
	flow_free(&m, disk);
	CHECK(session_free(&m, session_find(&m, "a")));
	CHECK(session_find(&m, "a") == NULL);
	pthread_mutex_unlock(&m.lock);
	CHECK(measure_summary(&m, "a", 0) == NULL);
}

static void
test_limits(void)
{
	char *text, task[16];
	unsigned i, open = 0;
	struct flow *f;

	anew(false);
	for (i = 0; i < SESSIONS_MAX + 5; i++) {
		snprintf(task, sizeof(task), "t%u", i);
		open += open_flow(FLOW_NET, task, false) != NULL;
	}
	CHECK_INT(open, SESSIONS_MAX);
	CHECK_INT(m.missed_flows, 5);
	anew(false);
	m.no_sender = true;
	CHECK(open_flow(FLOW_NET, "a", false) == NULL);
	anew(false);
	f = open_flow(FLOW_DISK, "a", true);
	run(f, FLOW_READ, NULL, 1, 1000, 1000, 0, 250, 250);
	text = measure_summary(&m, "a", 1000 * (int64_t)MS);
	CHECK_STR(text, "narrows task=a streams=0 disk.read=1000/0.250000s");
	free(text);
}

int
main(void)
{
	test_exact();
	test_told();
	test_apart();
	test_headers();
	test_offsets();
	test_sessions();
	test_limits();
	measure_clear(&m);
	return check_done("test_measure");
}
