/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active tests of paths, as pScheduler (perfSONAR) runs them: their quantities, and the reader of
 * its documents. Bytes in, structs out; no socket, no clock. A test moves bytes or packets of its
 * own from `src` to `dst`, so a test says what a path can carry, and nothing of a transfer.
 */
#ifndef NARROWS_ACTIVETEST_H
#define NARROWS_ACTIVETEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "narrows/eventtype.h"

/* The kinds that the box keeps, by pScheduler's names; the event type of a kind is its name behind
 * NW_TYPE_ACTIVE. */
enum nw_test_kind {
	NW_TEST_THROUGHPUT,
	NW_TEST_LATENCY,
	NW_TEST_LATENCYBG,
	NW_TEST_RTT,
	NW_TEST_TRACE,
	NW_TEST_KINDS
};
static inline const char *
nw_test_kind_name(enum nw_test_kind kind)
{
	static const char *const names[] = { [NW_TEST_THROUGHPUT] = "throughput",
		[NW_TEST_LATENCY] = "latency",
		[NW_TEST_LATENCYBG] = "latencybg",
		[NW_TEST_RTT] = "rtt",
		[NW_TEST_TRACE] = "trace" };

	return names[kind];
}
/* Returns false for any other name. */
static inline bool
nw_test_kind_read(const char *name, enum nw_test_kind *out)
{
	int i;

	for (i = 0; i < NW_TEST_KINDS; i++)
		if (strcmp(name, nw_test_kind_name((enum nw_test_kind)i)) == 0) {
			*out = (enum nw_test_kind)i;
			return true;
		}
	return false;
}

/*
 * The quantities of a test: X(name, unit, way in which values add up over time). NaN where a test
 * says nothing. rtt_s of a throughput test is the round trip of its TCP; delays are of one way.
 */
/* clang-format off */
#define NW_TEST_FIELDS(X) \
	X(bits_per_s, "bit/s", MEAN) X(moved_bytes, "By", SUM) X(target_bits_per_s, "bit/s", MEAN) \
	X(took_s, "s", SUM) X(streams, "{stream}", MEAN) X(udp, "1", MAX) \
	X(retransmits, "{segment}", SUM) X(window_bytes, "By", MEAN) X(mss_bytes, "By", MEAN) \
	X(mtu_bytes, "By", MIN) X(rtt_s, "s", MEAN) X(rtt_min_s, "s", MIN) X(rtt_max_s, "s", MAX) \
	X(rtt_sd_s, "s", MEAN) X(delay_min_s, "s", MIN) X(delay_median_s, "s", MEAN) \
	X(delay_mean_s, "s", MEAN) X(delay_p95_s, "s", MEAN) X(delay_max_s, "s", MAX) \
	X(jitter_s, "s", MEAN) X(clock_error_s, "s", MAX) X(packets_sent, "{packet}", SUM) \
	X(packets_received, "{packet}", SUM) X(packets_lost, "{packet}", SUM) X(loss, "1", MEAN) \
	X(duplicates, "{packet}", SUM) X(reorders, "{packet}", SUM) X(hops, "{hop}", MEAN)
/* clang-format on */

enum nw_test_field {
#define X(name, unit, agg) NW_TEST_##name,
	NW_TEST_FIELDS(X)
#undef X
	    NW_TEST_FIELD_COUNT
};
static inline const char *
nw_test_field_name(enum nw_test_field field)
{
	static const char *const names[] = {
#define X(name, unit, agg) #name,
		NW_TEST_FIELDS(X)
#undef X
	};

	return names[field];
}

enum {
	NW_TEST_RUN_BYTES = 64,
	NW_TEST_HOST_BYTES = 256,
	NW_TEST_TOOL_BYTES = 64,
	NW_TEST_ERROR_BYTES = 256,
	NW_TEST_DETAILS_BYTES = 16384, /* longer details are left out */
	NW_TESTS_MAX = 1000            /* of a batch */
};

struct nw_active_test {
	int64_t id; /* in a store, rising with arrival; 0: of a document */
	/* the UUID of the run; of latencybg, which has many results in a run, the UUID and a hash
	 * of the result */
	char run[NW_TEST_RUN_BYTES];
	enum nw_test_kind kind;
	/* names in lower case, or numeric addresses in the form of inet_ntop() */
	char src[NW_TEST_HOST_BYTES], dst[NW_TEST_HOST_BYTES];
	char tool[NW_TEST_TOOL_BYTES]; /* empty: not said */
	bool succeeded;
	char error[NW_TEST_ERROR_BYTES]; /* of a failed test; empty: not said */
	int64_t start_wall_ns, end_wall_ns;
	double value[NW_TEST_FIELD_COUNT];
	/* JSON object of lists: intervals and streams of a throughput test, histograms by ms and by
	 * TTL, the hops of a path; NULL: none. Of the heap */
	char *details;
};

struct nw_active_tests {
	struct nw_active_test *list;
	size_t n;
	size_t n_foreign; /* documents of other kinds of tests, left out */
};

/*
 * Reads documents as pScheduler's archivers get them: objects or arrays of objects, any number one
 * behind the other. NW_EPROTO, NW_ETOOBIG (more than NW_TESTS_MAX) or NW_ENOMEM, with static *why;
 * then *out is empty. nw_active_tests_clear() frees the tests. Time and memory grow with len, which
 * the caller bounds.
 */
int
nw_pscheduler_read(const char *bytes, size_t len, struct nw_active_tests *out, const char **why);
void nw_active_tests_clear(struct nw_active_tests *tests);

/* Reads a host as a test names it: a numeric address, or a name. Returns false for any other
 * text. */
bool nw_test_host(const char *text, char out[NW_TEST_HOST_BYTES]);

#endif
