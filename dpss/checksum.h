/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli) of blocks, by the processor's own instruction where there is one. Thread:
 * any. */
#ifndef NARROWS_DPSS_CHECKSUM_H
#define NARROWS_DPSS_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t checksum(const void *bytes, size_t len);
/* The same by tables alone, for tests and other processors. */
uint32_t checksum_by_table(const void *bytes, size_t len);

#endif
