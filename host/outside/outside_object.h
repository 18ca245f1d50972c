/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs in the kernel, compiled: `make outside-object` makes the committed bpf/outside.o
 * from bpf/outside.bpf.c. */
#ifndef HOST_OUTSIDE_OBJECT_H
#define HOST_OUTSIDE_OBJECT_H

#include <stddef.h>

extern const unsigned char outside_object[];
extern const size_t outside_object_bytes;

#endif
