/* SPDX-License-Identifier: BSD-3-Clause */
/* The user at the other end of a TCP connection on this machine, from the kernel's socket
 * diagnostics. */
#ifndef SOCKUSER_H
#define SOCKUSER_H

#include <stdbool.h>
#include <stdint.h>

/* fd is the accepted end. False for a peer on another machine, or a socket that is gone. Does not
 * wait. */
bool sockuser_get(int fd, uint32_t *uid);

#endif
