/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which build of a program runs: settings of the group `program` of its host, by the program's
 * name, so that an update of the program is a change that the box knows. A build is told by the
 * identity that its linker gave it, which programs of one source and compiler share, by the size
 * of the file, and by its path.
 */
#ifndef HOST_VERSION_H
#define HOST_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/provider.h"

enum { VERSION_ID_BYTES = 129 };

/* The identity of the ELF file in hexadecimal. Returns false for a file without an identity, and
 * for a file of another kind. */
bool version_id_read(int fd, char id[VERSION_ID_BYTES]);
/* Reports the program that runs as pid. Returns false if the process has not become the program
 * yet, or has ended. */
bool version_say(struct nw_provider *p, const char *host, int pid, int64_t now_wall_ns);

#endif
