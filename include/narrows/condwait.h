/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for a condition until a moment of the monotonic clock, which cannot be set: a step of the
 * wall clock neither ends a wait nor makes a wait longer.
 */
#ifndef NARROWS_CONDWAIT_H
#define NARROWS_CONDWAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits like pthread_cond_wait(), the lock held by the caller, but no longer than until the moment
 * (nw_mono_ns()). Returns false if the moment has come. The condition needs no attribute. */
bool nw_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_mono_ns);

#endif
