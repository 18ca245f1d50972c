/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation into the sums of its thread, its file or connection, and the file's cells: by size
 * and duration, and by the step from the thread's last operation on the file. Every measured call
 * comes here, so all is inline and straight; what happens seldom is a call.
 *
 * A thread follows its own steps, whichever threads and descriptors share the file. The position
 * of a descriptor, which read(2) and write(2) move, is known where a file has one descriptor.
 */
#ifndef HOST_PRELOAD_COUNT_H
#define HOST_PRELOAD_COUNT_H

#include "host/nwrun/preload/preload.h"

#pragma GCC visibility push(hidden)

/* Makes the pages of a file's cells. Returns false without memory, and for one of many small
 * files. */
bool cells_prepare(struct nwshm_object *o, struct nwshm_cells *c);
/* Counts an operation on a file that has no cells with the operations on all such files. */
void cells_add_nameless(enum nwshm_dir dir, uint64_t bytes, int64_t ns);
/* Numbers the file; returns its number. */
uint32_t cells_begin_life(struct nwshm_cells *c);

static inline void
object_add(struct nwshm_object *o, enum nwshm_dir dir, uint64_t bytes, int64_t ns, bool alone)
{
	if (likely(alone)) {
		nwshm_add(&o->bytes[dir], bytes);
		nwshm_add(&o->ns[dir], (uint64_t)ns);
		return;
	}
	atomic_fetch_add_explicit(&o->bytes[dir], bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&o->ns[dir], (uint64_t)ns, memory_order_relaxed);
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

static inline void
add_one(_Atomic uint32_t *p, bool alone)
{
	if (likely(alone))
		atomic_store_explicit(
		    p, atomic_load_explicit(p, memory_order_relaxed) + 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(p, 1, memory_order_relaxed);
}

static inline enum nwshm_step
step_of(const struct nwshm_walk *w, int64_t begin, int64_t end)
{
	if (likely(begin == w->end))
		return NWSHM_STEP_FORWARD;
	if (begin == w->begin)
		return NWSHM_STEP_SAME;
	if (end == w->begin)
		return NWSHM_STEP_BACKWARD;
	return (uint64_t)begin - (uint64_t)w->begin == (uint64_t)w->step ? NWSHM_STEP_STRIDED
									 : NWSHM_STEP_RANDOM;
}

/* Where the operation began, of a call that went on where the descriptor was. */
static inline int64_t
position_pass(struct nwshm_cells *c, int64_t bytes, bool alone)
{
	int64_t begin;

	if (unlikely(!alone))
		return atomic_fetch_add_explicit(&c->at, bytes, memory_order_relaxed);
	begin = atomic_load_explicit(&c->at, memory_order_relaxed);
	atomic_store_explicit(&c->at, begin + bytes, memory_order_relaxed);
	return begin;
}

static inline void
steps_add(struct nwshm_steps *s, enum nwshm_step step, int64_t pause_ns, bool alone)
{
	add_one(&s->n[step], alone);
	if (unlikely(pause_ns <= 0))
		return;
	if (likely(alone))
		nwshm_add(&s->pause_ns[step], (uint64_t)pause_ns);
	else
		atomic_fetch_add_explicit(
		    &s->pause_ns[step], (uint64_t)pause_ns, memory_order_relaxed);
}

struct span {           /* of an operation */
	int64_t offset; /* OP_AT_POSITION: where the descriptor was */
	int64_t begin_mono_ns, end_mono_ns;
	uint64_t bytes;
};

/* The thread's walk through the file, with a step from the last operation if there was one. */
static inline __attribute__((always_inline)) struct nwshm_walk *
walk_add(struct nwshm_thread *t, struct nwshm_cells *c, uint32_t object, enum nwshm_dir dir,
    const struct span *s, bool alone)
{
	uint32_t life = atomic_load_explicit(&c->life, memory_order_relaxed);
	struct nwshm_walk *w = &t->walk[object % NWSHM_WALKS];
	int64_t bytes = (int64_t)s->bytes,
		begin = s->offset >= 0 ? s->offset : position_pass(c, bytes, alone);

	KEEP(w);
	if (likely(w->object == object && w->life == life && life != 0))
		steps_add(&c->steps[dir], step_of(w, begin, (int64_t)((uint64_t)begin + s->bytes)),
		    s->begin_mono_ns - w->end_mono_ns, alone);
	else
		*w = (struct nwshm_walk){ .object = object,
			.life = life != 0 ? life : cells_begin_life(c),
			.begin = begin };
	w->step = (int64_t)((uint64_t)begin - (uint64_t)w->begin);
	w->begin = begin;
	w->end = (int64_t)((uint64_t)begin + s->bytes);
	w->end_mono_ns = s->end_mono_ns;
	return w;
}

/* Most programs move the same number of bytes again and again: the row is looked for once. */
static inline __attribute__((always_inline)) unsigned
walk_row(struct nwshm_walk *w, struct nwshm_cells *c, enum nwshm_dir dir, uint64_t bytes)
{
	if (unlikely(w->bytes[dir] != bytes)) {
		w->bytes[dir] = bytes;
		w->row[dir] =
		    (uint8_t)nwshm_cell_row_get(c->octave[dir], nw_cell_octave(bytes) + 1);
	}
	return w->row[dir] % NWSHM_CELL_ROWS;
}

/* `alone`: no other thread counts on the file. */
static inline __attribute__((always_inline)) void
cells_add(struct nwshm_thread *t, struct nwshm_object *o, enum nwshm_dir dir, const struct span *s,
    bool alone)
{
	uint32_t object = (uint32_t)(o - region->object);
	int64_t ns = s->end_mono_ns - s->begin_mono_ns;
	struct nwshm_cells *c = cells_of(o);
	unsigned row;

	if (unlikely(c == NULL)) {
		cells_add_nameless(dir, s->bytes, ns);
		return;
	}
	KEEP(c);
	if (likely(object >= NWSHM_OBJECTS_FIXED))
		row = walk_row(walk_add(t, c, object, dir, s, alone), c, dir, s->bytes);
	else
		row = nwshm_cell_row_get(c->octave[dir], nw_cell_octave(s->bytes) + 1);
	if (unlikely(ns <= 0))
		return; /* without a time, no cell */
	add_one(&c->count[dir][row][nw_cell_duration((uint64_t)ns)], alone);
}

#pragma GCC visibility pop

#endif
