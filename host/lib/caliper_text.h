/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_CALIPER_TEXT_H
#define HOST_CALIPER_TEXT_H

#include <stdint.h>

struct nw_caliper;

enum { CALIPER_EVENT_BYTES = 96 };

/* State of a caliper's lines; zero to start. */
struct caliper_log {
	int64_t due_mono_ns; /* of the next line; 0 before the first call */
	const char *said;    /* the caller's text that `event` is a copy of: only compared */
	char event
	    [CALIPER_EVENT_BYTES]; /* name of the last line, which the end of the caliper writes */
	void (*end)(struct nw_caliper *c);
};
struct caliper_log *caliper_log_of(struct nw_caliper *c);

#endif
