/* SPDX-License-Identifier: BSD-3-Clause */
/* A TCP listener whose connections are served by processes of their own. Any thread, but
 * tcplisten_child(): single-threaded programs. */
#ifndef NARROWS_TCPLISTEN_H
#define NARROWS_TCPLISTEN_H

#include <sys/socket.h>
#include <sys/types.h>

enum { TCPLISTEN_NAME_BYTES = 80 };

/* Listens at an address as people write addresses (narrows/address.h), and names the address in
 * use. NW_EINVAL, NW_EIO with *fault, a text that stands until the next call. */
int
tcplisten_open(const char *address, int *fd, char name[TCPLISTEN_NAME_BYTES], const char **fault);
/* "host/port" in numbers, or "?". */
void
tcplisten_name(const struct sockaddr_storage *ss, socklen_t len, char name[TCPLISTEN_NAME_BYTES]);
/* fork(). The child does not listen, ends by SIGTERM and SIGINT, and leaves no core, which would
 * have the key. */
pid_t tcplisten_child(int listening);

#endif
