/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baselines of a host: models of the durations of operations by class, for each mount, trained
 * on what `iomodel baseline` has measured there. The newest baseline of a mount counts. Ways to a
 * device whose durations cannot be told apart (a seek and no seek, on a device without moving
 * parts) become one class, "device".
 */
#ifndef BASELINE_H
#define BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/iocurve.h"
#include "narrows/iomodel.h"
#include "narrows/store.h"

/* The class of operations that came from the device in one of several ways. */
extern const char baseline_device[];

struct baseline_class {
	char *class, *name; /* name: as the administrator says, else the class */
	bool by_administrator, write;
	bool cached;                /* operations of the class are served by the page cache */
	struct nw_io_point *points; /* as measured */
	size_t n_sizes;
	struct nw_io_curve durations; /* decides which operations belong to the class */
	struct nw_io_model limit;     /* lines of the slowest ordinary durations, for people */
};

struct baseline {
	char *mount, *filesystem, *device;
	int64_t measured_wall_ns;
	struct baseline_class *classes;
	size_t n;
};

struct baselines {
	struct baseline *list;
	size_t n;
};

/* NW_ENOMEM or the store's error. A host without baseline has no entries. */
int baselines_load(struct store_reader *r, int64_t host_id, struct baselines *out);
void baselines_clear(struct baselines *b);
/* The baseline of the path's mount; NULL: no baseline. */
const struct baseline *baselines_find(const struct baselines *b, const char *path);
/* Whether the class has a name for operations: not refused, and with a size. */
bool baseline_class_is_usable(const struct baseline_class *k);
/* Index of the class of an operation; b->n if the operation is slower than all classes, or if the
 * direction has none; b->n + 1 if it is faster than all, and the page cache has no class. Sets
 * near, of b->n, and n_near as nw_io_curves_name() does. */
size_t baseline_classify(const struct baseline *b, bool write, double size_bytes, double duration_s,
    bool *near, size_t *n_near);
/* Mean ordinary duration of a cached operation; NaN: not known. */
double baseline_cached_s(const struct baseline *b, bool write, double size_bytes);

#endif
