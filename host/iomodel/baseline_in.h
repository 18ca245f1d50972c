/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions of a baseline, for the files of the room. */
#ifndef IOMODEL_BASELINE_IN_H
#define IOMODEL_BASELINE_IN_H

#include "host/iomodel/io_baseline.h"
#include "host/iomodel/durations.h"

struct condition {
	const char *class, *folder; /* folder: first word of the names of its cells */
	bool write;
	enum cell_state state;
	bool direct, sync_each;
	const char *file_layout, *memory_layout;
	enum durations_keep keep;
};
extern const struct condition baseline_conditions[];
extern const size_t baseline_n_conditions;

enum { BASELINE_FOLDER_BYTES = 512 };
/* Sets the cell's folder, too. Returns false if the condition has no cell of the size. */
bool baseline_cell(const struct cell *like, const struct baseline_opts *o,
    const struct condition *k, uint64_t size, struct cell *out, char folder[BASELINE_FOLDER_BYTES]);

/* Sends the results of the cells. Returns an exit status. */
int baseline_send(const struct cell *like, const struct baseline_opts *o);

#endif
