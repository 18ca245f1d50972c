/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells of files: operations by size, duration and step (narrows/cells.h). A large file has one
 * series per direction; the cells of all others are summed up.
 */
#include "host/nwrun/collect/collect_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/log.h"

#define CELLS_INTERVAL_NS INT64_C(5000000000)

static const char *const pause_fields[NWSHM_STEPS] = { "forward_pause_s", "backward_pause_s",
	"same_pause_s", "strided_pause_s", "random_pause_s" };

enum { FIELDS_MAX = 3 + 2 * NWSHM_STEPS };

static double
middle_ns(unsigned i)
{
	double low, high;

	nw_cell_duration_bounds(i, &low, &high);
	return (low + high) / 2;
}

/* New operations of a direction since the last time, added to `counts`, and their number; the
 * program may have written anything into the region. */
static uint64_t
counts_take(const struct nwshm_cells *cells, struct nwshm_cells *sent, enum nwshm_dir dir,
    uint64_t counts[NW_HIST_BUCKETS], double *time_s)
{
	uint32_t d, now;
	uint64_t n = 0;
	unsigned i, k, octave;

	*time_s = 0;
	for (i = 0; i < NWSHM_CELL_ROWS; i++) {
		octave = atomic_load_explicit(&cells->octave[dir][i], memory_order_relaxed);
		if (octave == 0 || octave > NW_CELL_OCTAVES)
			continue;
		for (k = 0; k < NW_CELL_DURATIONS; k++) {
			now = atomic_load_explicit(&cells->count[dir][i][k], memory_order_relaxed);
			d = now - sent->count[dir][i][k];
			sent->count[dir][i][k] = now;
			counts[(octave - 1) * NW_HIST_SUB + k] += d;
			n += d;
			*time_s += d * middle_ns(k) * 1e-9;
		}
	}
	return n;
}

/* Steps since the last time, with the pauses before; kinds that did not occur are left out. */
static size_t
steps_take(const struct nwshm_cells *cells, struct nwshm_cells *sent, enum nwshm_dir dir,
    const char **name, double *value)
{
	uint64_t pause_ns;
	uint32_t steps;
	size_t n = 0;
	int i;

	for (i = 0; i < NWSHM_STEPS; i++) {
		steps = atomic_load_explicit(&cells->steps[dir].n[i], memory_order_relaxed);
		pause_ns = nwshm_get(&cells->steps[dir].pause_ns[i]);
		name[n] = collect_step_names[i];
		value[n++] = (uint32_t)(steps - sent->steps[dir].n[i]);
		name[n] = pause_fields[i];
		value[n++] = (double)(pause_ns - sent->steps[dir].pause_ns[i]) * 1e-9;
		sent->steps[dir].n[i] = steps;
		sent->steps[dir].pause_ns[i] = pause_ns;
	}
	return n;
}

static void
direction_say(struct collect *c, unsigned object, enum nwshm_dir dir, int64_t now_wall_ns)
{
	const struct nwshm_cells *cells = &c->shm->cells[object];
	struct object_seen *seen = &c->object[object];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	const char *name[FIELDS_MAX] = { "ops", "bytes", "s" };
	double value[FIELDS_MAX], time_s;
	uint64_t ops;
	size_t n;

	memset(c->cells, 0, sizeof(c->cells));
	ops = counts_take(cells, seen->cells, dir, c->cells, &time_s);
	if (ops == 0)
		return;
	if (seen->cells_id[dir][0] == '\0')
		say_cells_meta(c, object, dir);
	value[0] = (double)ops;
	value[1] = (double)(seen->bytes[dir] - seen->cells_bytes[dir]);
	seen->cells_bytes[dir] = seen->bytes[dir];
	value[2] = time_s;
	n = 3 + steps_take(cells, seen->cells, dir, name + 3, value + 3);
	c->sink->data(c->sink->arg, seen->cells_id[dir], now_wall_ns, name, value, n, packed,
	    nw_hist_encode(packed, c->cells));
	seen->cells_wall_ns = now_wall_ns;
}

/* A small file of its own name has no table of its own. */
static bool
is_small(const struct object_seen *seen, unsigned object)
{
	return object >= NWSHM_OBJECTS_FIXED && seen->cells == NULL &&
	    seen->bytes[NWSHM_READ] + seen->bytes[NWSHM_WRITE] < COLLECT_OBJECT_SMALL_BYTES;
}

static bool
has_cells(const struct collect *c, unsigned object)
{
	return object == NWSHM_OTHER_FILES ||
	    (object >= NWSHM_OBJECTS_FIXED &&
		atomic_load_explicit(&c->shm->object[object].cells_ready, memory_order_acquire) !=
		    0);
}

static void
row_add(struct nwshm_cells *to, const struct nwshm_cells *from, enum nwshm_dir dir, unsigned i)
{
	unsigned octave = atomic_load_explicit(&from->octave[dir][i], memory_order_relaxed), row, k;
	uint32_t n;

	if (octave == 0 || octave > NW_CELL_OCTAVES)
		return;
	row = nwshm_cell_row_get(to->octave[dir], octave);
	for (k = 0; k < NW_CELL_DURATIONS; k++) {
		n = atomic_load_explicit(&from->count[dir][i][k], memory_order_relaxed);
		if (n > 0)
			atomic_fetch_add(&to->count[dir][row][k], n);
	}
}

void
add_to_nameless(struct collect *c, enum nwshm_object_kind kind, const struct object_delta *d)
{
	struct nwshm_object *o =
	    &c->shm->object[kind == NWSHM_FILE ? NWSHM_OTHER_FILES : NWSHM_OTHER_CONNS];
	int dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		atomic_fetch_add(&o->bytes[dir], d->bytes[dir]);
		atomic_fetch_add(&o->ns[dir], d->ns[dir]);
	}
}

void
cells_to_nameless(struct collect *c, unsigned object)
{
	struct nwshm_cells *to = &c->shm->cells[NWSHM_OTHER_FILES];
	const struct nwshm_cells *from = &c->shm->cells[object];
	int dir, i;

	if (object < NWSHM_OBJECTS_FIXED || !has_cells(c, object) ||
	    c->object[object].label.kind != NWSHM_FILE)
		return;
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		for (i = 0; i < NWSHM_CELL_ROWS; i++)
			row_add(to, from, dir, (unsigned)i);
		for (i = 0; i < NWSHM_STEPS; i++) {
			atomic_fetch_add(&to->steps[dir].n[i],
			    atomic_load_explicit(&from->steps[dir].n[i], memory_order_relaxed));
			atomic_fetch_add(
			    &to->steps[dir].pause_ns[i], nwshm_get(&from->steps[dir].pause_ns[i]));
		}
	}
}

/* The type has the region's alignment, which calloc() does not know. */
static struct nwshm_cells *
cells_new(void)
{
	struct nwshm_cells *cells = aligned_alloc(NWSHM_PAGE, sizeof(*cells));

	if (cells == NULL)
		fatalx("out of memory: %zu bytes", sizeof(*cells));
	memset(cells, 0, sizeof(*cells));
	return cells;
}

void
cells_report(struct collect *c, unsigned object, bool last, int64_t now_wall_ns)
{
	struct object_seen *seen = &c->object[object];

	if (!seen->said || seen->label.kind != NWSHM_FILE || !has_cells(c, object))
		return;
	if (is_small(seen, object)) {
		if (last)
			cells_to_nameless(c, object);
		return;
	}
	if (seen->cells == NULL) {
		seen->cells = cells_new();
		seen->cells_wall_ns = now_wall_ns;
	}
	if (!last && now_wall_ns - seen->cells_wall_ns < CELLS_INTERVAL_NS)
		return;
	direction_say(c, object, NWSHM_READ, now_wall_ns);
	direction_say(c, object, NWSHM_WRITE, now_wall_ns);
}

void
cells_clear(struct collect *c, unsigned object)
{
	struct object_seen *seen = &c->object[object];

	free(seen->cells);
	seen->cells = NULL;
	if (object >= NWSHM_OBJECTS_FIXED && has_cells(c, object))
		memset(&c->shm->cells[object], 0, sizeof(c->shm->cells[object]));
}
