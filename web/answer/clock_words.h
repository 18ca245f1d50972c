/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a host's clock (object clock of a result document), in words. */
#ifndef NARROWS_WEB_CLOCK_WORDS_H
#define NARROWS_WEB_CLOCK_WORDS_H

#include <jansson.h>

enum { CLOCK_WORDS_BYTES = 200 };

struct clock_words {
	/* "clock right within 400 us", and "at the end, 180 us to 2 ms during the session" */
	char bound[CLOCK_WORDS_BYTES];
	char offset[CLOCK_WORDS_BYTES]; /* "(offset -80 us)", or empty */
};
struct clock_words clock_words(const json_t *clock);

#endif
