/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the bytes of a file system are, by its type, and which server the mount's source names.
 * The rows stand in filesystem.def. Type and source come from the mount table of a host, and so
 * may have any bytes.
 */
#ifndef NARROWS_FILESYSTEM_H
#define NARROWS_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nw_fs_place { NW_FS_UNKNOWN, NW_FS_LOCAL, NW_FS_NETWORK };

/* Bytes of a type, a mount point, a source, a server: longer texts are cut. */
enum { NW_FS_TEXT_BYTES = 256 };

/* The place of a type. A type without a row is the network's if its source names a server, local if
 * its source is a block device of the host, else unknown. Each text may be NULL. */
enum nw_fs_place nw_fs_place(const char *type, const char *source);
/* Whether the type says that the bytes are not the host's. */
static inline bool
nw_fs_is_far(enum nw_fs_place place)
{
	return place != NW_FS_LOCAL;
}
/* The type of an f_type of statfs(2). NULL for a number without a row. Static text. */
const char *nw_fs_type_of_magic(uint32_t magic);
/* Name or address of the server in a source, without user, port and brackets; "" if the source of
 * such a type names no server. */
void nw_fs_server(const char *type, const char *source, char out[NW_FS_TEXT_BYTES]);
/* "network", "local", "unknown". Static text. */
const char *nw_fs_place_name(enum nw_fs_place place);

#endif
