/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP connections of this network name space, and the processes behind them, as the kernel
 * tells: numbers and addresses only. */
#ifndef HOST_OUTSIDE_FLOW_LOOK_H
#define HOST_OUTSIDE_FLOW_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "host/outside/flow_list.h"

/* Notes all connections, or those alone that sessions use: the cost of the former grows with all
 * connections of the host. Returns false, with no connection forgotten, if the kernel did not
 * answer in full. */
bool flow_look(int diag_fd, struct flows *f, int64_t now_mono_ns, bool all);
/* Bytes of all packets of this network name space since the start of the host, both ways; 0:
 * unknown. */
uint64_t flow_host_bytes(void);
/* Whether the process holds the socket. Looks at no more descriptors than *fds_left, and subtracts
 * their number. */
bool flow_is_held(uint32_t pid, uint64_t inode, unsigned *fds_left);
/* The topmost process with the socket, and the process's program. 0: no such process. */
uint32_t flow_owner(uint64_t inode, char *program, size_t cap);

#endif
