/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stat/stat_matrix.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reading a folder --- */

/* "cached-read-seq+rnd8388608-4096-1": memory layout, then file layout; memory off0 is not said. */
static bool
name_split(const char *name, struct group *g, uint64_t *size)
{
	char layouts[64], *plus;
	unsigned repeat;

	if (sscanf(name, "%15[a-z]-%7[a-z]-%63[a-z0-9,+]-%" SCNu64 "-%u", g->state, g->direction,
		layouts, size, &repeat) != 5)
		return false;
	plus = strchr(layouts, '+');
	if (plus != NULL)
		*plus = '\0';
	snprintf(g->memory, sizeof(g->memory), "%.31s", plus != NULL ? layouts : "off0");
	snprintf(g->layout, sizeof(g->layout), "%.31s", plus != NULL ? plus + 1 : layouts);
	return true;
}

struct group *
matrix_find(const struct matrix *m, const char *state, const char *direction, const char *memory,
    const char *layout)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (strcmp(m->group[i].state, state) == 0 &&
		    strcmp(m->group[i].direction, direction) == 0 &&
		    strcmp(m->group[i].memory, memory) == 0 &&
		    strcmp(m->group[i].layout, layout) == 0)
			return &m->group[i];
	return NULL;
}

static int
cell_add(struct matrix *m, const struct stat_args *a, const char *folder, const char *name,
    struct stat_error *err)
{
	struct group like = { .fitted = false }, *g, *grown;
	char path[MATRIX_PATH_BYTES];
	uint64_t size;

	if (!name_split(name, &like, &size))
		return NW_OK;
	g = matrix_find(m, like.state, like.direction, like.memory, like.layout);
	if (g == NULL) {
		if ((grown = realloc(m->group, (m->n + 1) * sizeof(*grown))) == NULL)
			return NW_ENOMEM;
		m->group = grown;
		g = &m->group[m->n++];
		*g = like;
	}
	if (size == 262144)
		snprintf(g->folder_256k, sizeof(g->folder_256k), "%.500s/%.400s", folder, name);
	snprintf(path, sizeof(path), "%.500s/%.400s/out-0.csv", folder, name);
	return ops_add_file(&g->ops, path, a, NULL, err);
}

static int
matrix_fill(struct matrix *m, const struct stat_args *a, const char *folder, struct stat_error *err)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int rc = NW_OK;

	if (d == NULL)
		return stat_fail(err, NW_ENOTFOUND, "%s: %s", folder, strerror(errno));
	while (rc == NW_OK && (e = readdir(d)) != NULL)
		rc = cell_add(m, a, folder, e->d_name, err);
	closedir(d);
	if (rc == NW_OK && m->n == 0)
		return stat_fail(err, NW_ENOTFOUND, "%s: no cell of a matrix is there", folder);
	return rc;
}

/* The group with its model; NULL if the matrix has no operations of the group. */
struct group *
matrix_group(struct matrix *m, const char *state, const char *direction, const char *memory,
    const char *layout)
{
	struct group *g = matrix_find(m, state, direction, memory, layout);

	if (g == NULL || g->ops.n == 0)
		return NULL;
	if (!g->fitted && fitted_make(&g->ops, &m->options, &m->settings, &g->fit) != NW_OK)
		return NULL;
	g->fitted = true;
	return g;
}

int
matrix_read(struct matrix *m, const struct stat_args *a, const char *folder, struct stat_error *err)
{
	int rc;

	*m = (struct matrix){ .options = nw_io_defaults };
	if ((rc = density_settings_args(a, &m->settings, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "inflate", 1e-6, 1e6, &m->options.inflate, err)) != NW_OK)
		return rc;
	return matrix_fill(m, a, folder, err);
}

void
matrix_clear(struct matrix *m)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		free(m->group[i].ops.op);
		fitted_clear(&m->group[i].fit);
	}
	free(m->group);
	*m = (struct matrix){ 0 };
}

/* --- the models of the paper --- */

const struct matrix_condition matrix_conditions[MATRIX_MODELS] = {
	{ "discard off0", "discard", "off0" }, { "discard rnd", "discard", "rnd" },
	{ "cached off0", "cached", "off0" }, { "cached rnd", "cached", "rnd" }
};

bool
matrix_models(struct matrix *m, const char *direction, struct nw_io_model out[MATRIX_MODELS])
{
	struct group *g;
	size_t i;

	for (i = 0; i < MATRIX_MODELS; i++) {
		if ((g = matrix_group(m, matrix_conditions[i].state, direction,
			 matrix_conditions[i].memory, "off0")) == NULL)
			return false;
		out[i] = g->fit.model;
	}
	return true;
}
