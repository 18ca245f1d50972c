/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The box's own measurements of hosts' clocks, as the host's series "nw:clock" with offset_s and
 * bound_s. All senders of a host read one clock. A sender with another time than the senders that
 * are there has a series of its own, whose subject names NW_CLOCK_OF_SENDER: the clock of a
 * container, or of a program under faketime.
 */
#ifndef HOSTCLOCK_H
#define HOSTCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct box;
struct host;

/* A sender's part in the clock of its host; zero to start. */
struct hostclock_sender {
	bool shares;       /* counted among the senders with the host's clock */
	int64_t layout_id; /* of a series of its own, or 0 */
};

/* Stores the result of an exchange: the sender's clock minus the box's, and the error bound. xsp_id
 * is the XSP session of the exchange. */
void hostclock_put(struct box *box, struct host *h, struct hostclock_sender *s, int64_t xsp_id,
    double offset_s, double bound_s, int64_t now_wall_ns);
/* The sender's connection ends. */
void hostclock_leave(struct host *h, struct hostclock_sender *s);

#endif
