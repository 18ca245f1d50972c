/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat tables`: the tables of Kunkel, Identifying Relevant Factors in the I/O-Path using
 * Statistical Methods (2016), out of a folder that `iomodel matrix` has filled, each number beside
 * the paper's. Rows are {table, row, column, ours, paper}; null where a cell was not measured.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_matrix.h"
#include "cli/stat/stat_paper.h"

const struct stat_option tables_options[] = { { "inflate", "F",
						  "the target is F times the limit (1.1)" },
	{ "h-min", "H", "density: lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F",
	    "density: the limit is where the curve is below F times the last peak (0.05)" },
	{ NULL, NULL, NULL } };

/* The matrix, and the rows that are printed. */
struct tables {
	struct matrix m;
	json_t *rows;
};

static void
row_add(struct tables *t, const char *table, const char *row, const char *column, double ours,
    double paper)
{
	json_array_append_new(t->rows,
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
table_1(struct tables *t)
{
	const struct paper_throughput *p;
	const struct size_limit *s;
	struct group *g;
	double mean_s;
	size_t i;

	for (p = paper_table_1; p->row != NULL; p++) {
		g = matrix_group(&t->m, p->state, p->direction, "off0", p->layout);
		for (i = 0; i < PAPER_COLUMNS_1; i++) {
			s = size_find(g, paper_columns_1[i].size_bytes);
			mean_s = s == NULL                     ? NAN
			    : paper_columns_1[i].with_outliers ? s->mean_s
							       : s->ordinary_s;
			row_add(t, p->table, p->row, paper_columns_1[i].name,
			    paper_columns_1[i].size_bytes / mean_s, p->bytes_per_s[i]);
		}
	}
}

/* --- Table 2: counters of /proc --- */

/* The difference of a counter in a cell's proc.csv, per operation; NaN without the counter. */
static double
counter_per_op(const struct group *g, const char *name)
{
	char path[MATRIX_PATH_BYTES + 16], line[256];
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
table_2(struct tables *t)
{
	const struct paper_counters *p;
	const struct size_limit *s;
	struct group *g;

	for (p = paper_table_2; p->row != NULL; p++) {
		g = matrix_group(&t->m, p->state, p->direction, "off0", p->layout);
		s = size_find(g, 262144);
		row_add(t, "2", p->row, "read b_avg",
		    g != NULL ? counter_per_op(g, "self_rchar") : NAN, p->read_bytes);
		row_add(t, "2", p->row, "write b_avg",
		    g != NULL ? counter_per_op(g, "self_wchar") : NAN, p->write_bytes);
		row_add(t, "2", p->row, "device read b_avg",
		    g != NULL ? counter_per_op(g, "self_read_bytes") : NAN, NAN);
		row_add(t, "2", p->row, "Perf. in B/s", s != NULL ? 262144 / s->ordinary_s : NAN,
		    p->bytes_per_s);
	}
}

/* --- Table 3: models --- */

static void
table_3(struct tables *t)
{
	const struct paper_model *p;
	const struct nw_io_line *l;
	const struct outlier_counts *c;
	struct group *g;

	for (p = paper_table_3; p->row != NULL; p++) {
		g = matrix_group(&t->m, p->state, p->direction, p->memory, "off0");
		l = g == NULL ? NULL : p->large ? &g->fit.model.large : &g->fit.model.small;
		c = g == NULL ? NULL : &g->fit.outliers;
		row_add(t, "3", p->row, "I", l != NULL ? l->intercept_s : NAN, p->intercept_s);
		row_add(t, "3", p->row, "c", l != NULL ? l->slope_s_per_byte : NAN, p->slope);
		row_add(t, "3", p->row, "abs. err", l != NULL ? l->abs_err_s : NAN, p->abs_err_s);
		row_add(t, "3", p->row, "rel. err %", l != NULL ? 100 * l->rel_err : NAN,
		    p->rel_err_pct);
		row_add(t, "3", p->row, "outlier % exp.",
		    c != NULL ? 100 * c->purged[p->large] / c->n[p->large] : NAN,
		    p->outliers_exp_pct);
		row_add(t, "3", p->row, "outlier % model",
		    c != NULL ? 100 * c->beyond[p->large] / c->n[p->large] : NAN,
		    p->outliers_model_pct);
	}
}

/* --- Table 4: classes --- */

static void
table_4(struct tables *t)
{
	struct nw_io_model models[MATRIX_MODELS];
	double count[MATRIX_MODELS + 1];
	const struct paper_classes *p;
	struct group *g;
	size_t i;
	bool known;

	for (p = paper_table_4; p->row != NULL; p++) {
		known = matrix_models(&t->m, p->direction, models);
		g = known ? matrix_group(&t->m, p->state, p->direction, p->memory, p->layout)
			  : NULL;
		memset(count, 0, sizeof(count));
		for (i = 0; g != NULL && i < g->ops.n; i++)
			count[nw_io_classify(models, MATRIX_MODELS, g->ops.op[i].size_bytes,
			    g->ops.op[i].duration_s)]++;
		for (i = 0; i <= MATRIX_MODELS; i++)
			row_add(t, "4", p->row,
			    i < MATRIX_MODELS ? matrix_conditions[i].name : "uncached",
			    g != NULL ? 100 * count[i] / (double)g->ops.n : NAN, p->pct[i]);
	}
}

enum { NUMBER_BYTES = 24 };

static void
number_put(char text[NUMBER_BYTES], const json_t *v)
{
	if (json_is_number(v))
		snprintf(text, NUMBER_BYTES, "%.3g", json_number_value(v));
	else
		snprintf(text, NUMBER_BYTES, "-");
}

/* For a person: a matrix per table, whose cells are "ours / paper". */
static json_t *
matrices_of(const json_t *rows)
{
	json_t *out = json_object(), *row, *table, *line;
	const char *name, *label;
	char left[NUMBER_BYTES], right[NUMBER_BYTES], cell[64];
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		name = json_string_value(json_object_get(row, "table"));
		label = json_string_value(json_object_get(row, "row"));
		snprintf(cell, sizeof(cell), "Table %.20s, ours / paper", name);
		if ((table = json_object_get(out, cell)) == NULL)
			json_object_set_new(out, cell, table = json_object());
		if ((line = json_object_get(table, label)) == NULL)
			json_object_set_new(table, label, line = json_object());
		number_put(left, json_object_get(row, "ours"));
		number_put(right, json_object_get(row, "paper"));
		snprintf(cell, sizeof(cell), "%s / %s", left, right);
		json_object_set_new(
		    line, json_string_value(json_object_get(row, "column")), json_string(cell));
	}
	return out;
}

int
tables_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct tables t = { 0 };
	const char *const *files;
	int rc;

	if (stat_arg_files(a, &files) != 1)
		return stat_fail(err, NW_EINVAL, "tables wants the folder of one matrix");
	t.rows = json_array();
	if ((rc = matrix_read(&t.m, a, files[0], err)) == NW_OK) {
		table_1(&t);
		table_2(&t);
		table_3(&t);
		table_4(&t);
		*out = stat_arg_is_form(a, STAT_TABLE) ? matrices_of(t.rows)
						       : json_pack("{s:O}", "rows", t.rows);
	}
	json_decref(t.rows);
	matrix_clear(&t.m);
	return rc;
}
