/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file system writes and reads back, measured on a file without a name (O_TMPFILE): no
 * existing file is touched, and the kernel removes the file however its process ends. Written bytes
 * count when they are on the device. Bytes count as read only if none of their pages was in memory.
 */
#ifndef HOST_SCRATCH_H
#define HOST_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCRATCH_BLOCK_BYTES = 1 << 20 };

struct scratch_result {
	uint64_t written_bytes, read_bytes;
	int64_t write_ns, read_ns; /* 0: not measured */
};

/* Writes at most max_bytes, and begins no block after half of max_ns; likewise reads in the other
 * half. NW_EIO: no such directory, or a file system without such files; errno says why. NW_EFULL:
 * less than twice max_bytes are free. Blocks. */
int scratch_measure(
    const char *directory, uint64_t max_bytes, int64_t max_ns, struct scratch_result *out);

/* For other measurements of such a file: whether twice max_bytes are free; new words at every
 * step-th place, nothing for a device to compress; whether no page of the file is in memory. */
bool scratch_has_room(int fd, uint64_t max_bytes);
void scratch_draw(uint64_t *words, size_t n, size_t step, uint64_t *state);
bool scratch_is_on_device(int fd, uint64_t bytes);

#endif
