/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling. */
#ifndef NARROWS_ARRAY_H
#define NARROWS_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for n elements. `array` is the address of a pointer to elements of `size` bytes on the
 * heap, NULL at first; *cap is the number of elements that the array has room for, 0 at first.
 * Returns false without memory, and the array stays as it is.
 */
bool array_room(void *array, size_t *cap, size_t n, size_t size);

#endif
