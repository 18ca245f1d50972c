/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/clock.h"

int64_t
nw_clock_mono_ns(void)
{
	return nw_mono_ns();
}

int64_t
nw_clock_wall_ns(void)
{
	return nw_wall_ns();
}
