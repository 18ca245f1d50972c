/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks the functions that libnarrows.so exports: everything else is compiled with hidden
 * visibility. */
#ifndef NARROWS_PUBLIC_H
#define NARROWS_PUBLIC_H

#define NW_PUBLIC __attribute__((visibility("default")))

#endif
