/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of a loop that takes a batch and computes, such as the training of a model.
 *
 *	nw_step_end();                     (the loop begins: its first wait counts, too)
 *	for (;;) {
 *		batch = next_batch();
 *		nw_step_begin();
 *		compute(batch);            (and wait for the device, if a device computes)
 *		nw_step_end();
 *	}
 *
 * Under nwrun the box stores the number of steps and the time inside and between steps. Without
 * nwrun the calls do nothing. Between steps the loop has no work for the device that computes the
 * steps, if a step ends after the device's work. Each thread has steps of its own. A second begin
 * without an end, or a second end, does nothing.
 *
 * Any thread. No errors, no locks; a call takes some tens of nanoseconds.
 */
#ifndef NARROWS_STEP_H
#define NARROWS_STEP_H

#include "narrows/public.h"

NW_PUBLIC void nw_step_begin(void);
NW_PUBLIC void nw_step_end(void);

#endif
