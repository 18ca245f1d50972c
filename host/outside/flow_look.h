/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP connections of this network name space, and the processes behind them, as the kernel
 * tells: numbers and addresses only. */
#ifndef HOST_OUTSIDE_FLOW_LOOK_H
#define HOST_OUTSIDE_FLOW_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "host/outside/flow_list.h"

/* Notes all connections. Returns false, with the table unchanged, if the kernel did not answer in
 * full. */
bool flow_look(int diag_fd, struct flows *f, int64_t now_mono_ns);
bool flow_is_loopback(const struct net_addr *a);
/* The topmost process with the socket, and the process's program. 0: no such process. */
uint32_t flow_owner(uint64_t inode, char *program, size_t cap);

#endif
