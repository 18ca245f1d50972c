/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that peers can provoke, at most a few a second: the rest is counted and told later. */
#ifndef LOGRATE_H
#define LOGRATE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOGRATE_LINES_PER_S = 5 };

struct lograte {
	int64_t second;
	uint64_t lines, suppressed;
};

/* True if a line may be written; *suppressed is the number of lines left out before it. */
static inline bool
lograte_allows(struct lograte *r, int64_t now_mono_ns, uint64_t *suppressed)
{
	int64_t second = now_mono_ns / 1000000000;

	if (second != r->second) {
		r->second = second;
		r->lines = 0;
	}
	if (r->lines >= LOGRATE_LINES_PER_S) {
		r->suppressed++;
		return false;
	}
	r->lines++;
	*suppressed = r->suppressed;
	r->suppressed = 0;
	return true;
}

#endif
