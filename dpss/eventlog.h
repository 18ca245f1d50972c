/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events in the common logging format of the DPSS:
 *
 *	keyword; host; seconds; nanoseconds; data; data; ...
 *
 * Lines reach the file whole, at the latest 100 ms after the next event or flush, so that several
 * processes may append to one file. Thread: any.
 */
#ifndef NARROWS_DPSS_EVENTLOG_H
#define NARROWS_DPSS_EVENTLOG_H

#include <stddef.h>
#include <stdint.h>

struct eventlog;

enum { EVENTLOG_WHY_BYTES = 256 };

/* path NULL: *out becomes NULL, and nothing is logged. host NULL: this host's name. */
int eventlog_open(
    const char *path, const char *host, struct eventlog **out, char why[EVENTLOG_WHY_BYTES]);
/* NULL is fine. The first failed write is remembered and said by close: NW_EIO. */
int eventlog_close(struct eventlog *l);
/* host NULL: the log's. */
void eventlog_put(struct eventlog *l, const char *keyword, const char *host, int64_t t_wall_ns,
    const uint64_t *data, size_t n);
void eventlog_flush(struct eventlog *l); /* what waits for longer than 100 ms; NULL is fine */

#endif
