/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a long command: one line on a terminal, rewritten in place; silence elsewhere. */
#ifndef NARROWS_PROGRESS_H
#define NARROWS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown, drawn;
	int64_t next_mono_ns;
	uint64_t bytes, of_bytes; /* of_bytes 0: unknown */
	const char *what;
};

/* quiet: the terminal is used for something else. */
void progress_begin(struct progress *p, const char *what, uint64_t of_bytes, bool quiet);
void progress_add(struct progress *p, uint64_t bytes);
void progress_end(struct progress *p); /* wipes the line */

#endif
