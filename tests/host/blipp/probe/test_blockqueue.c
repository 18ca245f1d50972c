/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits in front of a device, by the counts of control groups and of the device. */
#include "host/blipp/probe/blockqueue.h"

#include "host/blipp/probe/scan.h"
#include "tests/check.h"

enum { MIB = 1 << 20 };
static const int64_t T0 = 1000, STEP_NS = 100000000;

struct look {
	uint64_t submitted, read; /* bytes */
};

/* What the device says beside its counts. */
struct device {
	uint64_t inflight;
	double limit;
};
static const struct device idle = { 0, BLOCK_UNLIMITED };

/* The bytes that wait to be read at the last of n looks. */
static double
queued_of(struct device d, const struct look *looks, size_t n)
{
	static struct blockqueue q;
	double queued[BLOCK_WAYS] = { NAN, NAN }, limit[BLOCK_WAYS];
	char text[200];
	int64_t t = T0;
	size_t i;

	memset(&q, 0, sizeof(q));
	for (i = 0; i < n; i++, t += STEP_NS) {
		snprintf(text, sizeof(text),
		    "253:2 Read 7\n253:1 Read %llu\n253:1 Write 5\n253:1 Total 9\nTotal 3\n",
		    (unsigned long long)looks[i].submitted);
		blockqueue_parse(&q, scan_text(text, strlen(text)));
		q.list[1].way[BLOCK_READ].limit = d.limit;
		blockqueue_of(&q, 253, 1, (const uint64_t[]){ looks[i].read, 5 }, d.inflight, t,
		    queued, limit);
	}
	CHECK(queued[BLOCK_WRITE] == 0);
	CHECK(limit[BLOCK_READ] == d.limit);
	return queued[BLOCK_READ];
}

static double
queued_after(const struct look *looks, size_t n)
{
	return queued_of(idle, looks, n);
}

/* Counts that differed at the beginning wait for nobody; counts that part later do. */
static void
test_difference(void)
{
	static const struct look first[] = { { 9 * MIB, 4 * MIB } },
				 more[] = { { 9 * MIB, 4 * MIB }, { 10 * MIB, 4 * MIB } },
				 done[] = { { 9 * MIB, 4 * MIB }, { 10 * MIB, 4 * MIB },
					 { 10 * MIB, 5 * MIB } },
				 less[] = { { 9 * MIB, 4 * MIB }, { 9 * MIB, 8 * MIB } };

	CHECK(queued_after(first, 1) == 0);
	CHECK(queued_after(more, 2) == MIB);
	CHECK(queued_after(done, 3) == 0);
	CHECK(queued_after(less, 2) == 0);
}

/* A device whose counts rest for a second has nothing waiting, whatever the counts say, unless an
 * operation is in flight or a throttle is slow. */
static void
test_rest(void)
{
	struct look looks[14] = { { 9 * MIB, 4 * MIB } };
	size_t i;

	for (i = 1; i < 14; i++)
		looks[i] = (struct look){ 12 * MIB, 4 * MIB };
	CHECK(queued_after(looks, 11) == 3 * MIB);
	CHECK(queued_after(looks, 13) == 0);
	CHECK(queued_of((struct device){ 0, 2 * MIB }, looks, 13) == 0);
	CHECK(queued_of((struct device){ 0, 100000 }, looks, 13) == 3 * MIB);
	CHECK(queued_of((struct device){ 1, BLOCK_UNLIMITED }, looks, 13) == 3 * MIB);
	looks[13].submitted += MIB;
	CHECK(queued_after(looks, 14) == MIB);
}

static void
test_unknown(void)
{
	static struct blockqueue q;
	double queued[BLOCK_WAYS], limit[BLOCK_WAYS];
	char line[64], *text = malloc(64 * 2 * BLOCK_DEVICES_MAX);
	size_t len = 0;
	int i;

	for (i = 0; i < 2 * BLOCK_DEVICES_MAX; i++) {
		snprintf(line, sizeof(line), "8:%d Read 1\n", i);
		memcpy(text + len, line, strlen(line));
		len += strlen(line);
	}
	blockqueue_parse(&q, scan_text(text, len));
	CHECK_INT(q.n, BLOCK_DEVICES_MAX);
	blockqueue_of(&q, 8, BLOCK_DEVICES_MAX, (const uint64_t[]){ 0, 0 }, 0, T0, queued, limit);
	CHECK(isnan(queued[BLOCK_READ]) && isnan(queued[BLOCK_WRITE]));
	free(text);
}

int
main(void)
{
	test_difference();
	test_rest();
	test_unknown();
	return check_done("blockqueue");
}
