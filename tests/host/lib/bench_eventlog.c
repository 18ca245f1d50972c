/* SPDX-License-Identifier: BSD-3-Clause */
/* What nw_event() costs, with the moving to blocks apart. */
#include <stdio.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/eventlog.h"

enum { EVENTS = 60000, ROUNDS = 50 };

int
main(void)
{
	static const char *const keys[] = { "block.id", "bytes" };
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	int64_t values[2] = { 0, 65536 }, begin, noted = 0, taken = 0, best = INT64_MAX;
	struct nw_eventlog *l;
	int point, i, round;

	if (b == NULL || nw_eventlog_new("bench", 65536, &l) != NW_OK)
		return 1;
	point = nw_event_point(l, "disk.read.start", keys, 2);
	for (round = 0; round < ROUNDS; round++) {
		begin = nw_mono_ns();
		for (i = 0; i < EVENTS; i++) {
			values[0]++;
			nw_event(l, point, values);
		}
		begin = nw_mono_ns() - begin;
		noted += begin;
		best = begin < best ? begin : best;
		begin = nw_mono_ns();
		while (nw_eventlog_take(l, b) == NW_ETOOBIG)
			nw_events_clear(b);
		nw_events_clear(b);
		taken += nw_mono_ns() - begin;
	}
	printf("nw_event(): %.1f ns, best round %.1f ns; to a block: %.1f ns; dropped %llu\n",
	    (double)noted / ROUNDS / EVENTS, (double)best / EVENTS, (double)taken / ROUNDS / EVENTS,
	    (unsigned long long)nw_eventlog_dropped(l));
	nw_eventlog_free(l);
	nw_events_free(b);
	return 0;
}
