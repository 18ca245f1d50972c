/* SPDX-License-Identifier: BSD-3-Clause */
/* What this user may measure on this host now. Every answer is a trial, not a guess. */
#ifndef HOST_JOIN_PERMITS_H
#define HOST_JOIN_PERMITS_H

#include <stdbool.h>

enum { PERMIT_TEXT_BYTES = 320 };

struct permit {
	const char *subject; /* word */
	/* Returns true if the subject may be measured. text gets the sentence for either answer,
	 * remedy the command that changes a no. */
	bool (*may)(char text[PERMIT_TEXT_BYTES], char remedy[PERMIT_TEXT_BYTES]);
};

extern const struct permit permits[];
extern const int n_permits;

#endif
