/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks on a disk: a file of slots, each with a head that names the slot's block. A head or data
 * against their checksums, or another block's head, are damage and never data.
 */
#ifndef NARROWS_DPSS_SLOT_H
#define NARROWS_DPSS_SLOT_H

#include <stdint.h>

struct slot_head {
	uint32_t set, len, sum; /* sum: checksum() of the len bytes of data */
	uint64_t logical, stamp_wall_ns;
};

/* Bytes of a slot for blocks of block_bytes, and where slot n begins. */
uint64_t slot_bytes(uint32_t block_bytes);

/* Reads the block into data, which has room for block_bytes. NW_OK, NW_ENOTFOUND (another block or
 * none), NW_ECORRUPT, NW_EIO. */
int slot_read(int fd, uint64_t slot, uint32_t block_bytes, uint32_t set, uint64_t logical,
    struct slot_head *head, uint8_t *data);
/* The head alone, and where in the file the data stand. */
int slot_head_read(int fd, uint64_t slot, uint32_t block_bytes, uint32_t set, uint64_t logical,
    struct slot_head *head, uint64_t *data_at);
/* Writes head and data; durable only after fdatasync(). NW_EIO. */
int slot_write(
    int fd, uint64_t slot, uint32_t block_bytes, const struct slot_head *head, const uint8_t *data);

#endif
