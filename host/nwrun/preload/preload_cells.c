/* SPDX-License-Identifier: BSD-3-Clause */
/* What operations on files seldom need; preload_count.h has the rest. */
#include "host/nwrun/preload/preload_count.h"

bool
cells_prepare(struct nwshm_object *o, struct nwshm_cells *c)
{
	if (!region_touch(c, sizeof(*c)))
		return false;
	atomic_store_explicit(&o->cells_ready, 1, memory_order_release);
	return true;
}

uint32_t
cells_begin_life(struct nwshm_cells *c)
{
	uint32_t none = 0, life = atomic_fetch_add(&region->lives, 1) + 1;

	return life == 0 || atomic_compare_exchange_strong(&c->life, &none, life) ? life : none;
}

void
cells_seek(struct nwshm_object *o, int64_t position)
{
	struct nwshm_cells *c;

	if (o < &region->object[NWSHM_OBJECTS_FIXED] || (c = cells_of(o)) == NULL)
		return;
	atomic_store_explicit(&c->at, position, memory_order_relaxed);
}
