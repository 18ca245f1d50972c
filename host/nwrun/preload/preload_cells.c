/* SPDX-License-Identifier: BSD-3-Clause */
/* What operations on files seldom need; preload_count.h has the rest. */
#include "host/nwrun/preload/preload_count.h"

/* A page for each of many small files that are written would cost more than all else about the
 * file. */
static bool
is_worth_cells(const struct nwshm_object *o)
{
	uint64_t bytes = nwshm_get(&o->bytes[NWSHM_READ]) + nwshm_get(&o->bytes[NWSHM_WRITE]);

	return bytes >= NWSHM_CELLS_BYTES || o->u.path[0] != '\0' ||
	    atomic_load_explicit(&o->size_bytes, memory_order_relaxed) > 0 ||
	    !object_is_one_of_many(bytes);
}

bool
cells_prepare(struct nwshm_object *o, struct nwshm_cells *c)
{
	if (!is_worth_cells(o) || !region_touch(c, sizeof(*c)))
		return false;
	atomic_store_explicit(&o->cells_ready, 1, memory_order_release);
	return true;
}

void
cells_add_nameless(enum nwshm_dir dir, uint64_t bytes, int64_t ns)
{
	struct nwshm_cells *c = &region->cells[NWSHM_OTHER_FILES];
	unsigned row = nwshm_cell_row_get(c->octave[dir], nw_cell_octave(bytes) + 1);

	if (ns > 0)
		add_one(&c->count[dir][row][nw_cell_duration((uint64_t)ns)], false);
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
