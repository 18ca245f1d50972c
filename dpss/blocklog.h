/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events in the common logging format of the DPSS:
 *
 *	keyword; host; seconds; nanoseconds; data; data; ...
 *
 * Lines reach the file whole, at the latest 100 ms after the next event or flush, so that several
 * processes may append to one file. Thread: any.
 */
#ifndef NARROWS_DPSS_BLOCKLOG_H
#define NARROWS_DPSS_BLOCKLOG_H

#include <stddef.h>
#include <stdint.h>

struct blocklog;

enum { EVENTLOG_WHY_BYTES = 256 };

/* path NULL: *out becomes NULL, and nothing is logged. host NULL: this host's name. */
int blocklog_open(
    const char *path, const char *host, struct blocklog **out, char why[EVENTLOG_WHY_BYTES]);
/* NULL is fine. The first failed write is remembered and said by close: NW_EIO. */
int blocklog_close(struct blocklog *l);
/* host NULL: the log's. */
void blocklog_put(struct blocklog *l, const char *keyword, const char *host, int64_t t_wall_ns,
    const uint64_t *data, size_t n);
void blocklog_flush(struct blocklog *l); /* what waits for longer than 100 ms; NULL is fine */
void blocklog_write(struct blocklog *l); /* all that waits; NULL is fine */

#endif
