/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat tables`: the tables of Kunkel, Identifying Relevant Factors in the I/O-Path using
 * Statistical Methods (2016), out of a folder that `iomodel matrix` has filled, each number beside
 * the paper's. Rows are {table, row, column, ours, paper}; null where a cell was not measured.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_models.h"
#include "cli/stat/stat_paper.h"

const struct stat_option tables_options[] = { { "inflate", "F",
						  "the target is F times the limit (1.1)" },
	{ "h-min", "H", "density: lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F",
	    "density: the limit is where the curve is below F times the last peak (0.05)" },
	{ NULL, NULL, NULL } };

enum { PATH_BYTES = 1024, MODELS = 4, CLASSES = MODELS + 1 };

/* All operations of a state, direction, memory layout and file layout. */
struct group {
	char state[16], direction[8], memory[32], layout[32];
	struct ops ops;
	bool fitted;
	struct fitted fit;
	char folder_256k[PATH_BYTES]; /* a cell of 256 KiB; empty if there is none */
};

struct matrix {
	struct group *group;
	size_t n;
	struct nw_io_options options;
	struct density_settings settings;
	json_t *rows;
};

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

static struct group *
group_find(const struct matrix *m, const char *state, const char *direction, const char *memory,
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
	char path[PATH_BYTES];
	uint64_t size;

	if (!name_split(name, &like, &size))
		return NW_OK;
	g = group_find(m, like.state, like.direction, like.memory, like.layout);
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
folder_read(struct matrix *m, const struct stat_args *a, const char *folder, struct stat_error *err)
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

/* The group with its model; NULL if it was not measured. */
static struct group *
group_get(struct matrix *m, const char *state, const char *direction, const char *memory,
    const char *layout)
{
	struct group *g = group_find(m, state, direction, memory, layout);

	if (g == NULL || g->ops.n == 0)
		return NULL;
	if (!g->fitted && fitted_make(&g->ops, &m->options, &m->settings, &g->fit) != NW_OK)
		return NULL;
	g->fitted = true;
	return g;
}

static void
row_add(struct matrix *m, const char *table, const char *row, const char *column, double ours,
    double paper)
{
	json_array_append_new(m->rows,
	    json_pack("{s:s,s:s,s:s,s:o,s:o}", "table", table, "row", row, "column", column, "ours",
		stat_json(ours), "paper", stat_json(paper)));
}

/* --- Table 1: throughput --- */

static const struct size_limit *
size_find(const struct group *g, double size)
{
	size_t i;

	for (i = 0; g != NULL && i < g->fit.n_sizes; i++)
		if (g->fit.sizes[i].size_bytes == size)
			return &g->fit.sizes[i];
	return NULL;
}

static void
table_1(struct matrix *m)
{
	const struct paper_throughput *p;
	const struct size_limit *s;
	struct group *g;
	double mean_s;
	size_t i;

	for (p = paper_table_1; p->row != NULL; p++) {
		g = group_get(m, p->state, p->direction, "off0", p->layout);
		for (i = 0; i < PAPER_COLUMNS_1; i++) {
			s = size_find(g, paper_columns_1[i].size_bytes);
			mean_s = s == NULL                     ? NAN
			    : paper_columns_1[i].with_outliers ? s->mean_s
							       : s->ordinary_s;
			row_add(m, p->table, p->row, paper_columns_1[i].name,
			    paper_columns_1[i].size_bytes / mean_s, p->bytes_per_s[i]);
		}
	}
}

/* --- Table 2: counters of /proc --- */

/* The difference of a counter in a cell's proc.csv, per operation; NaN without the counter. */
static double
counter_per_op(const struct group *g, const char *name)
{
	char path[PATH_BYTES + 16], line[256];
	const struct size_limit *s = size_find(g, 262144);
	double before, after, difference, found = NAN;
	size_t n = strlen(name);
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc.csv", g->folder_256k);
	if (s == NULL || (f = fopen(path, "re")) == NULL)
		return NAN;
	while (isnan(found) && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, n) == 0 && line[n] == ',' &&
		    sscanf(line + n, ",%lf,%lf,%lf", &before, &after, &difference) == 3)
			found = difference;
	fclose(f);
	snprintf(path, sizeof(path), "%s/out-0.csv", g->folder_256k);
	/* repeats have their own counters: the cell's own operations count */
	if ((f = fopen(path, "re")) == NULL)
		return NAN;
	for (n = 0; fgets(line, sizeof(line), f) != NULL; n++)
		;
	fclose(f);
	return n > 1 ? found / (double)(n - 1) : NAN;
}

static void
table_2(struct matrix *m)
{
	const struct paper_counters *p;
	const struct size_limit *s;
	struct group *g;

	for (p = paper_table_2; p->row != NULL; p++) {
		g = group_get(m, p->state, p->direction, "off0", p->layout);
		s = size_find(g, 262144);
		row_add(m, "2", p->row, "read b_avg",
		    g != NULL ? counter_per_op(g, "self_rchar") : NAN, p->read_bytes);
		row_add(m, "2", p->row, "write b_avg",
		    g != NULL ? counter_per_op(g, "self_wchar") : NAN, p->write_bytes);
		row_add(m, "2", p->row, "device read b_avg",
		    g != NULL ? counter_per_op(g, "self_read_bytes") : NAN, NAN);
		row_add(m, "2", p->row, "Perf. in B/s", s != NULL ? 262144 / s->ordinary_s : NAN,
		    p->bytes_per_s);
	}
}

/* --- Table 3: models --- */

static void
table_3(struct matrix *m)
{
	const struct paper_model *p;
	const struct nw_io_line *l;
	const struct outlier_counts *c;
	struct group *g;

	for (p = paper_table_3; p->row != NULL; p++) {
		g = group_get(m, p->state, p->direction, p->memory, "off0");
		l = g == NULL ? NULL : p->large ? &g->fit.model.large : &g->fit.model.small;
		c = g == NULL ? NULL : &g->fit.outliers;
		row_add(m, "3", p->row, "I", l != NULL ? l->intercept_s : NAN, p->intercept_s);
		row_add(m, "3", p->row, "c", l != NULL ? l->slope_s_per_byte : NAN, p->slope);
		row_add(m, "3", p->row, "abs. err", l != NULL ? l->abs_err_s : NAN, p->abs_err_s);
		row_add(m, "3", p->row, "rel. err %", l != NULL ? 100 * l->rel_err : NAN,
		    p->rel_err_pct);
		row_add(m, "3", p->row, "outlier % exp.",
		    c != NULL ? 100 * c->purged[p->large] / c->n[p->large] : NAN,
		    p->outliers_exp_pct);
		row_add(m, "3", p->row, "outlier % model",
		    c != NULL ? 100 * c->beyond[p->large] / c->n[p->large] : NAN,
		    p->outliers_model_pct);
	}
}

/* --- Table 4: classes --- */

static const struct {
	const char *name, *state, *memory;
} classes[MODELS] = { { "discard off0", "discard", "off0" }, { "discard rnd", "discard", "rnd" },
	{ "cached off0", "cached", "off0" }, { "cached rnd", "cached", "rnd" } };

static bool
models_get(struct matrix *m, const char *direction, struct nw_io_model out[MODELS])
{
	struct group *g;
	size_t i;

	for (i = 0; i < MODELS; i++) {
		if ((g = group_get(m, classes[i].state, direction, classes[i].memory, "off0")) ==
		    NULL)
			return false;
		out[i] = g->fit.model;
	}
	return true;
}

static void
table_4(struct matrix *m)
{
	struct nw_io_model models[MODELS];
	double count[CLASSES];
	const struct paper_classes *p;
	struct group *g;
	size_t i;
	bool known;

	for (p = paper_table_4; p->row != NULL; p++) {
		known = models_get(m, p->direction, models);
		g = known ? group_get(m, p->state, p->direction, p->memory, p->layout) : NULL;
		memset(count, 0, sizeof(count));
		for (i = 0; g != NULL && i < g->ops.n; i++)
			count[nw_io_classify(
			    models, MODELS, g->ops.op[i].size_bytes, g->ops.op[i].duration_s)]++;
		for (i = 0; i < CLASSES; i++)
			row_add(m, "4", p->row, i < MODELS ? classes[i].name : "uncached",
			    g != NULL ? 100 * count[i] / (double)g->ops.n : NAN, p->pct[i]);
	}
}

int
tables_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct matrix m = { .options = nw_io_defaults };
	const char *const *files;
	size_t i;
	int rc;

	if (stat_arg_files(a, &files) != 1)
		return stat_fail(err, NW_EINVAL, "tables wants the folder of one matrix");
	if ((rc = density_settings_args(a, &m.settings, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "inflate", 1e-6, 1e6, &m.options.inflate, err)) != NW_OK)
		return rc;
	m.rows = json_array();
	if ((rc = folder_read(&m, a, files[0], err)) == NW_OK) {
		table_1(&m);
		table_2(&m);
		table_3(&m);
		table_4(&m);
		*out = json_pack("{s:O}", "rows", m.rows);
	}
	json_decref(m.rows);
	for (i = 0; i < m.n; i++) {
		free(m.group[i].ops.op);
		fitted_clear(&m.group[i].fit);
	}
	free(m.group);
	return rc;
}
