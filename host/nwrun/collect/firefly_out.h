/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fireflies of measured connections: what a sender sends to its box goes through here, and those
 * whom host.conf names (hostconf.h) hear of each connection at its begin, every half a minute and
 * at its end, with the kernel's account of TCP. Form and names are those of flowd-go's enriched
 * datagrams. Datagrams may be lost; nothing waits for one. One thread, that of the sender.
 */
#ifndef HOST_FIREFLY_OUT_H
#define HOST_FIREFLY_OUT_H

#include <stdint.h>

#include "host/lib/hostconf.h"
#include "host/nwrun/collect/collect.h"

struct firefly_out;
/*
 * NULL where the file names nobody, or without memory. next is on loan until the end; sink gets the
 * functions to use in place of next's meta, data and end, whose results are next's.
 */
struct firefly_out *firefly_out_new(const struct hostconf *conf, const char *host,
    int64_t now_wall_ns, const struct collect_sink *next, struct collect_sink *sink);
/* Says the end of what is still open. Returns how many datagrams went out. */
uint64_t firefly_out_free(struct firefly_out *f, int64_t now_wall_ns);

#endif
