/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/condwait.h"

#include <time.h>

bool
nw_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_mono_ns)
{
	const struct timespec until = { until_mono_ns / 1000000000, until_mono_ns % 1000000000 };

	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) == 0;
}
