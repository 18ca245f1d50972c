/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection that speaks lines: the same bytes in one piece, and in pieces of any size, give the
 * same number of events and of bad lines.
 *
 * Input: a byte, the length of pieces less one, then the bytes of the connection.
 */
#include <syslog.h>

#include "daemon/linefeed.h"
#include "tests/daemon/boxed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Feeds the bytes as peer.c does: what is not taken comes again, with more behind. */
static void
feed(const uint8_t *bytes, size_t len, size_t piece)
{
	const struct linefeed_sender sender = {
		.name = "127.0.0.1/1", .address = "127.0.0.1", .host = "h", .owner = "user:0"
	};
	struct linefeed *f = linefeed_new(&box, &sender);
	size_t begin = 0, end = 0, n;

	while (end < len) {
		end = len - end < piece ? len : end + piece;
		if ((n = linefeed_take(f, bytes + begin, end - begin)) > end - begin)
			abort();
		begin += n;
	}
	linefeed_end(f, bytes + begin, len - begin);
	linefeed_free(f);
}

static void
counts(uint64_t *events, uint64_t *bad)
{
	*events = counter_get(&box.counters.events);
	*bad = counter_get(&box.counters.bad_lines);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t events[3], bad[3];
	static unsigned n;

	if (len == 0)
		return 0;
	if (n++ == 0) {
		log_open("fuzz", false, false);
		setlogmask(0);
		boxed_begin();
	}
	counts(&events[0], &bad[0]);
	feed(data + 1, len - 1, len);
	counts(&events[1], &bad[1]);
	feed(data + 1, len - 1, (size_t)data[0] + 1);
	counts(&events[2], &bad[2]);
	if (events[1] - events[0] != events[2] - events[1] || bad[1] - bad[0] != bad[2] - bad[1])
		abort();
	if (n % 100 == 0) {
		commit_flush(box.commit);
		if (store_sync(box.store) < 0)
			abort();
		store_run_completions(box.store);
	}
	return 0;
}
