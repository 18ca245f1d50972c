/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baselines of a host: models of the durations of operations by class, for each mount, trained
 * on what `iomodel baseline` has measured there. The newest baseline of a mount counts.
 */
#ifndef BASELINE_H
#define BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/iomodel.h"
#include "narrows/store.h"

struct baseline_class {
	char *class, *name; /* name: as the administrator says, else the class */
	bool by_administrator, write;
	bool cached; /* operations of the class are served by the page cache */
	size_t n_sizes;
	/* the slowest ordinary duration, and the mean of ordinary durations */
	struct nw_io_model limit, mean;
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
/* Index of the class of an operation; b->n if the operation is slower than all classes, or if the
 * direction has none. */
size_t
baseline_classify(const struct baseline *b, bool write, double size_bytes, double duration_s);
/* Mean duration of a cached operation; NaN: not known. */
double baseline_cached_s(const struct baseline *b, bool write, double size_bytes);

#endif
