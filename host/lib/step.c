/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/step.h"

#include <stddef.h>

/* Of nwrun.so; NULL in a process without nwrun. */
NW_PUBLIC void nwrun_step(int begins) __attribute__((weak));

void
nw_step_begin(void)
{
	if (nwrun_step != NULL)
		nwrun_step(1);
}

void
nw_step_end(void)
{
	if (nwrun_step != NULL)
		nwrun_step(0);
}
