/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled programs of bpf/points.bpf.c: object.c is made by `make magnet-object`. */
#ifndef MAGNET_OBJECT_H
#define MAGNET_OBJECT_H

#include <stddef.h>

extern const unsigned char magnet_object[];
extern const size_t magnet_object_bytes;

#endif
