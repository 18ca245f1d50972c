/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The box as the far end of a connection: measurements on their way to the box are no transfer, of
 * whichever program. The address is that of this process's own connections, so that names and
 * several addresses of a box need no lookup.
 */
#ifndef HOST_OUTSIDE_BOX_PEER_H
#define HOST_OUTSIDE_BOX_PEER_H

#include <stdbool.h>

#include "host/lib/net_addr.h"

/* Returns true if this process has a connection to the address and port, which may also be the near
 * end of a connection that the box itself holds. */
bool box_peer_is(const struct net_addr *peer);

#endif
