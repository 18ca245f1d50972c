/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a loop, marked by nw_step_begin() and nw_step_end() of libnarrows. */
#include "host/nwrun/preload/preload.h"

#include <errno.h>

/* libnarrows finds this function by name where nwrun.so is loaded. */
void nwrun_step(int begins);

/* The calling thread's slot. A thread without any operation so far takes one. */
static struct nwshm_thread *
slot_of_caller(void)
{
	int error = errno;
	struct nwshm_thread *t = region != NULL && !in_vfork_child() ? thread_slot() : NULL;

	errno = error;
	return t;
}

EXPORT void
nwrun_step(int begins)
{
	struct nwshm_thread *t = slot_of_caller();
	uint64_t since, now, inside = begins != 0;

	if (t == NULL)
		return;
	since = nwshm_get(&t->step_since);
	if (since != 0 && (since & 1) == inside)
		return; /* a second begin, or end */
	now = (uint64_t)(nw_cycles_ns(&region->cycles) - region->base_mono_ns);
	if (since != 0 && now > since >> 1)
		nwshm_add(&t->step_ns[since & 1], now - (since >> 1));
	if (since != 0 && !inside)
		nwshm_add(&t->steps, 1);
	atomic_store_explicit(
	    &t->step_since, (now != 0 ? now : 1) << 1 | inside, memory_order_relaxed);
}
