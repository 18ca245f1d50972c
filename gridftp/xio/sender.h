/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that reports the counts of measure.h. The thread starts with the first flow, after the
 * server's fork, takes the windows once per interval, and owns the providers, one per session. The
 * thread blocks all signals, and calls no function of Globus.
 *
 *	sender.c   the thread: when to report, when a session is over, the end
 *	report.c   the windows and sums of a session into documents
 */
#ifndef GRIDFTP_SENDER_H
#define GRIDFTP_SENDER_H

#include <stdint.h>

#include "gridftp/xio/measure.h"

struct sender;

/* `driver`: the driver's name, told with the options. NULL: no thread; m->no_sender is set, and
 * nothing will be measured. */
struct sender *sender_start(struct measure *m, const char *driver);
/*
 * Sends the last reports, waits at most `wait_ns` for the box, and ends the thread; a box without
 * any connection so far gets a tenth of the wait. A thread that does not end in time stays with its
 * memory until the process exits.
 */
void sender_finish(struct sender *s, int64_t wait_ns);

#endif
