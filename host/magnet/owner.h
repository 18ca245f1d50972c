/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unix socket between the owner of the kernel's events and its clients: packets
 * (SOCK_SEQPACKET) of one line each way. An answer begins with "ok" or "error"; the answer to "open
 * NAME" carries the two descriptors of the view. The owner's user and root may say everything;
 * another user may open the views made for that user, and nothing else.
 */
#ifndef MAGNET_OWNER_H
#define MAGNET_OWNER_H

#include <stdint.h>

enum { OWNER_LINE_BYTES = 4096, OWNER_NAME_BYTES = 32, OWNER_FDS = 2 };

#define OWNER_SOCKET "/run/magnet.sock"

/* A connection to the owner at path, NULL for OWNER_SOCKET; -1 with errno. */
int owner_dial(const char *path);

/*
 * Says a line and waits for the answer, of at most OWNER_LINE_BYTES with its final zero. fds: room
 * for OWNER_FDS descriptors, or NULL; -1 where none came. Returns NW_OK for "ok", NW_EINVAL for
 * "error"
 * (the text behind that word is in answer), NW_ECLOSED.
 */
int owner_ask(int s, const char *line, char *answer, int *fds);

#endif
