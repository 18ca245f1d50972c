/* SPDX-License-Identifier: BSD-3-Clause */
/* How many events a second one core takes from lines into the store, all threads of the box
 * together. */
#include <time.h>

#include "daemon/linefeed.h"
#include "tests/daemon/boxed.h"

enum { LINES = 1000000, READ_BYTES = 256 << 10 };

static size_t
lines_make(char *text)
{
	size_t len = 0, i;

	for (i = 0; i < LINES; i++)
		len += (size_t)sprintf(text + len,
		    "ts=2026-05-04T10:%02zu:%02zu.%06zuZ event=org.example.io.%s level=Info "
		    "host=dtn%zu prog=xfer block.id=%zu bytes=65536 dur=0.%06zu "
		    "guid=8ae1154d-b79e-49b6-ab77-575d956f%04zx\n",
		    i / 6000000 % 60, i / 100000 % 60, i * 10 % 1000000, i & 1 ? "end" : "start",
		    i % 3, i / 2, i % 1000000, i & 65535);
	return len;
}

static double
cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int
main(void)
{
	const struct linefeed_sender sender = {
		.name = "127.0.0.1/1", .address = "127.0.0.1", .host = "h", .owner = "user:0"
	};
	char *text = malloc((size_t)LINES * 240);
	struct linefeed *f;
	size_t len, at = 0, end;
	double begin, took;

	if (text == NULL)
		return 1;
	boxed_begin();
	f = linefeed_new(&box, &sender);
	len = lines_make(text);
	begin = cpu_s();
	while (at < len) {
		end = len - at < READ_BYTES ? len : at + READ_BYTES;
		at += linefeed_take(f, (const uint8_t *)text + at, end - at);
		store_run_completions(box.store);
	}
	commit_drain(box.commit);
	took = cpu_s() - begin;
	printf("%d lines of %zu bytes: %.0f events/s of one core; %llu bad lines\n", LINES,
	    len / LINES, LINES / took, (unsigned long long)counter_get(&box.counters.bad_lines));
	linefeed_free(f);
	boxed_end();
	free(text);
	return counter_get(&box.counters.events) == LINES ? 0 : 1;
}
