/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled programs of bpf/points.bpf.c and bpf/user.bpf.c: `make magnet-object` makes the
 * committed bpf/points.o and bpf/user.o. */
#ifndef MAGNET_OBJECT_H
#define MAGNET_OBJECT_H

#include <stddef.h>

extern const unsigned char magnet_object[];
extern const size_t magnet_object_bytes;
extern const unsigned char magnet_user_object[];
extern const size_t magnet_user_object_bytes;

#endif
