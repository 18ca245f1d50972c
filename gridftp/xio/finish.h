/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a transport of Globus XIO ends an operation within the pass.
 *
 * In a server with threads the toolkit's function for the end wakes another thread, which takes the
 * processor: a pass then lasts up to three times as long as its system call, and a callback comes
 * no earlier than the woken thread. So the transports of libglobus_xio.so call that function by way
 * of this file, which notes the time and goes on to the function with the same arguments.
 */
#ifndef GRIDFTP_FINISH_H
#define GRIDFTP_FINISH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Puts this file between the transports and the function, once in a process, for as long as the
 * process lives. Any thread, one at a time. Returns false where the library keeps the function's
 * address elsewhere or write-protected; passes then tell no ends. */
bool finish_watch(void);

/* The first end of an operation on this thread sets *end_mono_ns; NULL: none is of interest. The
 * place is the caller's until the next call. Returns the place before, to be set again. */
_Atomic int64_t *finish_expect(_Atomic int64_t *end_mono_ns);

#endif
