/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a folder filled by `iomodel matrix`, for the kinds that print tables and figures from the
 * folder. */
#ifndef CLI_STAT_MATRIX_H
#define CLI_STAT_MATRIX_H
#include "cli/stat/stat_models.h"

enum { MATRIX_PATH_BYTES = 1024, MATRIX_MODELS = 4 };

/* All operations of a state, direction, memory layout and file layout. */
struct group {
	char state[16], direction[8], memory[32], layout[32];
	struct ops ops; /* cell by cell until the group is fitted, then by size */
	bool fitted;
	struct fitted fit;
	char folder_256k[MATRIX_PATH_BYTES]; /* a cell of 256 KiB; empty if there is none */
};

struct matrix {
	struct group *group;
	size_t n;
	struct nw_io_options options;
	struct density_settings settings;
};

/* By the options --inflate, --h-min, --cutoff. NW_ENOTFOUND: the folder has no cell. Free with
 * matrix_clear in any case. */
int matrix_read(
    struct matrix *m, const struct stat_args *a, const char *folder, struct stat_error *err);
void matrix_clear(struct matrix *m);

/* The group; NULL if none of its cells is there. */
struct group *matrix_find(const struct matrix *m, const char *state, const char *direction,
    const char *memory, const char *layout);
/* The group with its model; NULL if the matrix has no operations of the group. */
struct group *matrix_group(struct matrix *m, const char *state, const char *direction,
    const char *memory, const char *layout);

/* The conditions of the paper's four models, in file layout off0. */
struct matrix_condition {
	const char *name, *state, *memory;
};
extern const struct matrix_condition matrix_conditions[MATRIX_MODELS];
/* False unless all four were measured in the direction. */
bool matrix_models(struct matrix *m, const char *direction, struct nw_io_model out[MATRIX_MODELS]);

#endif
