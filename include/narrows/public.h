/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks the functions of libnarrows.so for programs: all other functions are compiled with hidden
 * visibility. */
#ifndef NARROWS_PUBLIC_H
#define NARROWS_PUBLIC_H

#define NW_PUBLIC __attribute__((visibility("default")))

#endif
