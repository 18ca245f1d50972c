/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows as bytes between two boxes. Numbers are little-endian: the magic "NWF2" and a text, the
 * name of the table, or "NWF1" for sessions; u16 columns and for each a text, its name; u32 rows,
 * and for each row each column: a byte, 1 if the value is known, and then a text, or 8 bytes of an
 * integer, a time or an IEEE double. A text is u32 bytes and so many bytes. Columns are known by
 * name: a box takes the rows of an older box.
 */
#ifndef FLEET_ROWPACK_H
#define FLEET_ROWPACK_H

#include "fleet/fleet.h"

enum { ROWPACK_ROWS_MAX = 100000 };

/* free() *bytes. NW_ETOOBIG: a text of 4 GiB. */
int rowpack_write(const struct fleet_rows *rows, char **bytes, size_t *len);
/* Appends the rows of bytes that a peer sent. Allocates at most a small multiple of len. NW_EPROTO:
 * the bytes are cut off, or have a table or a column that is unknown here, or a row without its key
 * (but for the site), judged_ns and start_ns; *rows then has what was read before the fault. */
int rowpack_read(const char *bytes, size_t len, struct fleet_rows *rows);

#endif
