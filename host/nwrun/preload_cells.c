/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on a file in cells of size by duration, and the steps between them. Threads that share
 * a file may get a step wrong, as they may in the file; no operation is lost.
 */
#include "host/nwrun/preload.h"

#include <sys/single_threaded.h>

static __attribute__((noinline)) bool
cells_prepare(struct nwshm_object *o, struct nwshm_cells *c)
{
	if (!region_touch(c, sizeof(*c)))
		return false;
	atomic_store_explicit(&o->cells_ready, 1, memory_order_release);
	return true;
}

static inline struct nwshm_cells *
cells_of(struct nwshm_object *o)
{
	size_t i = (size_t)(o - region->object);
	struct nwshm_cells *c = &region->cells[i];

	if (likely(atomic_load_explicit(&o->cells_ready, memory_order_relaxed) != 0 ||
		i < NWSHM_OBJECTS_FIXED || cells_prepare(o, c)))
		return c;
	return NULL;
}

static inline int64_t
get(const _Atomic int64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static inline void
set(_Atomic int64_t *p, int64_t v)
{
	atomic_store_explicit(p, v, memory_order_relaxed);
}

static inline void
add_one(_Atomic uint32_t *p)
{
	atomic_store_explicit(
	    p, atomic_load_explicit(p, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline enum nwshm_step
step_of(const struct nwshm_cells *c, int64_t begin, int64_t end)
{
	if (begin == get(&c->last_end))
		return NWSHM_STEP_FORWARD;
	if (begin == get(&c->last_begin))
		return NWSHM_STEP_SAME;
	if (end == get(&c->last_begin))
		return NWSHM_STEP_BACKWARD;
	return begin - get(&c->last_begin) == get(&c->last_step) ? NWSHM_STEP_STRIDED
								 : NWSHM_STEP_RANDOM;
}

static inline void
walk_add(struct nwshm_cells *c, enum nwshm_dir dir, uint64_t bytes, int64_t offset,
    int64_t begin_mono_ns, int64_t end_mono_ns)
{
	int64_t begin = offset >= 0 ? offset : get(&c->at), end = begin + (int64_t)bytes;
	int64_t last_mono_ns = get(&c->last_mono_ns);
	enum nwshm_step step;

	if (last_mono_ns != 0) {
		step = step_of(c, begin, end);
		add_one(&c->steps[dir].n[step]);
		if (begin_mono_ns > last_mono_ns)
			nwshm_add(&c->steps[dir].pause_ns[step],
			    (uint64_t)(begin_mono_ns - last_mono_ns));
		set(&c->last_step, begin - get(&c->last_begin));
	}
	set(&c->last_begin, begin);
	set(&c->last_end, end);
	set(&c->last_mono_ns, end_mono_ns);
	if (offset < 0)
		set(&c->at, end);
}

void
cells_add(struct nwshm_object *o, enum nwshm_dir dir, uint64_t bytes, int64_t offset,
    int64_t begin_mono_ns, int64_t end_mono_ns)
{
	bool named = o >= &region->object[NWSHM_OBJECTS_FIXED];
	int64_t ns = end_mono_ns - begin_mono_ns;
	struct nwshm_cells *c = cells_of(o);
	_Atomic uint32_t *count;
	unsigned row;

	if (unlikely(c == NULL))
		return;
	if (named)
		walk_add(c, dir, bytes, offset, begin_mono_ns, end_mono_ns);
	if (ns <= 0)
		return; /* without a time, no cell */
	row = nwshm_cell_row_get(c->octave[dir], nw_cell_octave(bytes) + 1);
	count = &c->count[dir][row][nw_cell_duration((uint64_t)ns)];
	if (named && __libc_single_threaded)
		add_one(count);
	else
		atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void
cells_seek(struct nwshm_object *o, int64_t position)
{
	struct nwshm_cells *c;

	if (o < &region->object[NWSHM_OBJECTS_FIXED] || (c = cells_of(o)) == NULL)
		return;
	set(&c->at, position);
}
