/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wide CSV: one row per step of a grid, one column per series, for spreadsheets and quick plots.
 *
 *	time,t_ns,HOST/METRIC [UNIT],...
 *
 * METRIC is the event type, with ":field" for a field of several (a scalar's field is "value"). If
 * two series would share a column name, "{SUBJECT}#series_id" follows METRIC. Columns come in the
 * order of tidy lines.
 *
 * Alignment: a row covers the times t_ns <= t < t_ns + resolution, with t_ns a multiple of the
 * resolution since 1970. A cell is the last value of its series within the step, as measured, or
 * empty without a value. Steps in which no series has a value have no row.
 *
 * Rows are made a stretch of the grid at a time: GRID_CELLS cells, filled by one query per layout
 * with rows in the stretch, which also finds where the layout goes on. So every sample is read
 * once, a chunk once per stretch that it reaches into (a stretch has GRID_CELLS / columns steps, at
 * most GRID_STEPS_MAX), and empty stretches cost nothing. Memory: the cells, and some bytes per
 * column.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/array.h"
#include "narrows/csv.h"
#include "web/query/flat.h"
#include "narrows/format.h"
#include "web/export/shape.h"

enum {
	COLUMNS_MAX = 16384, /* the most a spreadsheet takes */
	GRID_CELLS = 1 << 20,
	GRID_STEPS_MAX = 4096,
	SLICE_PEEKS = 64, /* layouts searched in a slice */
};

struct wide_column {
	char *field, *name, *unit;
	char *more; /* suffix that tells columns of the same name and unit apart, or NULL */
};

struct wide_layout {
	int64_t id, t1;
	/* time of the first row that is not yet on a grid; t1 behind the last row */
	int64_t next_t;
	size_t n_fields;
	uint32_t *columns; /* column of each field */
};

struct wide_cell {
	int64_t t;
	double value;
};

struct wide {
	struct wide_column *columns;
	struct wide_layout *layouts;
	size_t n_columns, n_layouts, cap_columns, cap_layouts, n_peeked;
	bool header_written;
	struct wide_cell *cells; /* n_steps x n_columns; NaN: empty */
	bool *filled;            /* per step */
	size_t n_steps, step;    /* step: the next to be written */
	int64_t t0, t1;          /* of the grid */
};

/* --- columns --- */

static void
wide_free(void *state)
{
	struct wide *w = state;
	size_t i;

	for (i = 0; i < w->n_columns; i++) {
		free(w->columns[i].field);
		free(w->columns[i].name);
		free(w->columns[i].unit);
		free(w->columns[i].more);
	}
	for (i = 0; i < w->n_layouts; i++)
		free(w->layouts[i].columns);
	free(w->columns);
	free(w->layouts);
	free(w->cells);
	free(w->filled);
	free(w);
}

static int
column_add(struct export *x, struct wide *w, const struct walk_meta *m, const char *subject,
    const char *field)
{
	struct wide_column *c;
	bool scalar = strcmp(field, "value") == 0;
	char unit[128];
	int rc;

	if (!array_room(&w->columns, &w->cap_columns, w->n_columns + 1, sizeof(*w->columns)))
		return NW_ENOMEM;
	if (w->n_columns == COLUMNS_MAX)
		return NW_ETOOBIG;
	if ((rc = store_unit(x->reader, m->id, field, unit, sizeof(unit))) != NW_OK)
		return rc;
	c = &w->columns[w->n_columns++];
	*c = (struct wide_column){ .field = strdup(field) };
	c->unit = strdup(unit);
	if (asprintf(&c->name, "%s/%s%s%s", m->host, m->event_type, scalar ? "" : ":",
		scalar ? "" : field) < 0)
		c->name = NULL;
	if (asprintf(&c->more, "{%s}#%s", subject, fmt_int(m->id).s) < 0)
		c->more = NULL;
	return c->field != NULL && c->unit != NULL && c->name != NULL && c->more != NULL
	    ? NW_OK
	    : NW_ENOMEM;
}

struct meta_columns {
	struct export *x;
	struct wide *w;
	const struct walk_meta *m;
	char *subject;
	size_t first; /* of the series' columns */
};

/* A field in several layouts of a series is a single column. */
static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct meta_columns *a = arg;
	struct wide *w = a->w;
	struct wide_layout *l;
	size_t k, c;
	int rc;

	if (!array_room(&w->layouts, &w->cap_layouts, w->n_layouts + 1, sizeof(*w->layouts)))
		return NW_ENOMEM;
	l = &w->layouts[w->n_layouts++];
	*l = (struct wide_layout){ .id = rec->id,
		.next_t = shape_t0(a->x, a->m),
		.t1 = shape_t1(a->x, a->m),
		.n_fields = rec->n_fields,
		.columns = calloc(rec->n_fields + 1, sizeof(*l->columns)) };
	if (l->columns == NULL)
		return NW_ENOMEM;
	for (k = 0; k < rec->n_fields; k++) {
		for (c = a->first;
		     c < w->n_columns && strcmp(w->columns[c].field, rec->fields[k]) != 0; c++)
			;
		if (c == w->n_columns &&
		    (rc = column_add(a->x, w, a->m, a->subject, rec->fields[k])) < 0)
			return rc;
		l->columns[k] = (uint32_t)c;
	}
	return 0;
}

static int
columns_load(struct export *x, struct wide *w)
{
	struct meta_columns a = { .x = x, .w = w };
	int rc;

	while ((rc = walk_next(x->walk, &a.m)) == NW_OK && a.m != NULL) {
		a.first = w->n_columns;
		if ((a.subject = flat_text(a.m->subject_json)) == NULL)
			return NW_ENOMEM;
		rc = store_layouts(x->reader, a.m->id, on_layout, &a);
		free(a.subject);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int
by_name(const void *a, const void *b)
{
	const struct wide_column *x = *(struct wide_column *const *)a,
				 *y = *(struct wide_column *const *)b;
	int by = strcmp(x->name, y->name);

	return by != 0 ? by : strcmp(x->unit, y->unit);
}

/* Forgets `more` where nothing needs to be told apart. */
static int
columns_name(struct wide *w)
{
	struct wide_column **sorted = calloc(w->n_columns + 1, sizeof(struct wide_column *));
	size_t i;

	if (sorted == NULL)
		return NW_ENOMEM;
	for (i = 0; i < w->n_columns; i++)
		sorted[i] = &w->columns[i];
	qsort(sorted, w->n_columns, sizeof(struct wide_column *), by_name);
	for (i = 0; i < w->n_columns; i++) {
		if ((i > 0 && by_name(&sorted[i - 1], &sorted[i]) == 0) ||
		    (i + 1 < w->n_columns && by_name(&sorted[i], &sorted[i + 1]) == 0))
			continue;
		free(sorted[i]->more);
		sorted[i]->more = NULL;
	}
	free(sorted);
	return NW_OK;
}

static int
wide_new(struct export *x)
{
	struct wide *w = calloc(1, sizeof(*w));
	size_t steps;
	int rc;

	if ((x->state = w) == NULL)
		return NW_ENOMEM;
	if ((rc = columns_load(x, w)) < 0 || (rc = columns_name(w)) < 0)
		return rc;
	steps = w->n_columns > 0 ? GRID_CELLS / w->n_columns : 1;
	w->n_steps = w->step = steps < GRID_STEPS_MAX ? steps : GRID_STEPS_MAX;
	w->cells = calloc(w->n_steps * w->n_columns + 1, sizeof(*w->cells));
	w->filled = calloc(w->n_steps, sizeof(*w->filled));
	return w->cells != NULL && w->filled != NULL ? NW_OK : NW_ENOMEM;
}

/* --- the grid --- */

static int64_t
step_ns(const struct export *x)
{
	return x->opts.resolution_ns > 0 ? x->opts.resolution_ns : INT64_C(1000000000);
}

static int
on_first_row(void *arg, const struct store_block *b)
{
	struct wide_layout *l = arg;

	if (b->n_rows == 0)
		return 0;
	l->next_t = b->t_wall_ns[0];
	return 1;
}

/* Where the layouts begin, some at a time. */
static int
layouts_peek(struct export *x, struct wide *w)
{
	size_t n;
	int rc;

	for (n = 0; n < SLICE_PEEKS && w->n_peeked < w->n_layouts; n++) {
		struct wide_layout *l = &w->layouts[w->n_peeked++];
		int64_t from = l->next_t;

		l->next_t = l->t1;
		if ((rc = store_rows(x->reader, l->id, from, l->t1, on_first_row, l)) < 0)
			return rc;
	}
	return NW_OK;
}

struct fold {
	struct wide *w;
	struct wide_layout *l;
	int64_t resolution;
};

static int
on_block(void *arg, const struct store_block *b)
{
	struct fold *f = arg;
	struct wide *w = f->w;
	size_t i, k, step;

	if (b->n_fields != f->l->n_fields)
		return NW_ECORRUPT;
	for (i = 0; i < b->n_rows; i++) {
		if (b->t_wall_ns[i] >= w->t1) {
			f->l->next_t = b->t_wall_ns[i];
			return 1;
		}
		step = (size_t)((b->t_wall_ns[i] - w->t0) / f->resolution);
		for (k = 0; k < b->n_fields; k++) {
			struct wide_cell *c = &w->cells[step * w->n_columns + f->l->columns[k]];

			if (isnan(b->columns[k][i]) || (!isnan(c->value) && c->t > b->t_wall_ns[i]))
				continue;
			*c = (struct wide_cell){ .t = b->t_wall_ns[i], .value = b->columns[k][i] };
			w->filled[step] = true;
		}
	}
	return 0;
}

/* Lays the grid over the next rows there are. */
static int
grid_next(struct export *x, struct wide *w, bool *none)
{
	struct fold f = { .w = w, .resolution = step_ns(x) };
	int64_t first = INT64_MAX, from;
	size_t i;
	int rc;

	*none = true;
	for (i = 0; i < w->n_layouts; i++)
		if (w->layouts[i].next_t < w->layouts[i].t1 && w->layouts[i].next_t <= first) {
			first = w->layouts[i].next_t;
			*none = false;
		}
	if (*none)
		return NW_OK;
	w->t0 = first - (first % f.resolution + f.resolution) % f.resolution;
	if (__builtin_add_overflow(w->t0, (int64_t)w->n_steps * f.resolution, &w->t1))
		w->t1 = INT64_MAX;
	for (i = 0; i < w->n_steps * w->n_columns; i++)
		w->cells[i].value = NAN;
	memset(w->filled, 0, w->n_steps * sizeof(*w->filled));
	w->step = 0;
	for (i = 0; i < w->n_layouts; i++) {
		f.l = &w->layouts[i];
		if ((from = f.l->next_t) >= w->t1 || from >= f.l->t1)
			continue;
		f.l->next_t = f.l->t1;
		if ((rc = store_rows(x->reader, f.l->id, from, f.l->t1, on_block, &f)) < 0)
			return rc;
	}
	return NW_OK;
}

/* --- text --- */

static int
write_header(struct export *x, struct wide *w)
{
	char *text = NULL, *cell = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&text, &len);
	int rc = NW_ENOMEM;

	if (f == NULL)
		return NW_ENOMEM;
	fputs("time,t_ns", f);
	for (i = 0; i < w->n_columns; i++) {
		const struct wide_column *c = &w->columns[i];

		if (asprintf(&cell, "%s%s [%s]", c->name, c->more != NULL ? c->more : "", c->unit) <
		    0) {
			fclose(f);
			goto out;
		}
		putc(',', f);
		csv_cell(f, cell, shape_cell_how(x));
		free(cell);
	}
	if (fclose(f) == 0 && (rc = textout_put(&x->out, text, len)) == NW_OK)
		rc = shape_end_line(x);
out:
	free(text);
	return rc;
}

static int
write_row(struct export *x, const struct wide *w, size_t step)
{
	const struct wide_cell *row = &w->cells[step * w->n_columns];
	int64_t t = w->t0 + (int64_t)step * step_ns(x);
	size_t i;
	int rc;

	if ((rc = textout_puts(&x->out, fmt_iso_ns(t).s)) < 0 ||
	    (rc = textout_put(&x->out, ",", 1)) < 0 ||
	    (rc = textout_puts(&x->out, fmt_int(t).s)) < 0)
		return rc;
	for (i = 0; i < w->n_columns; i++)
		if ((rc = textout_put(&x->out, ",", 1)) < 0 ||
		    (rc = textout_exact(&x->out, row[i].value)) < 0)
			return rc;
	return shape_end_line(x);
}

/* Makes at most one grid per slice: other clients get their turn. */
static int
slice(struct export *x, bool *done)
{
	struct wide *w = x->state;
	int rc;

	if (!w->header_written) {
		w->header_written = true;
		return write_header(x, w);
	}
	if (w->n_peeked < w->n_layouts)
		return layouts_peek(x, w);
	if (w->step == w->n_steps && ((rc = grid_next(x, w, done)) < 0 || *done))
		return rc;
	for (; w->step < w->n_steps && x->out.n_bytes < SHAPE_SLICE_BYTES; w->step++)
		if (w->filled[w->step] && (rc = write_row(x, w, w->step)) < 0)
			return rc;
	return NW_OK;
}

const struct shape shape_wide = {
	.name = "wide",
	.ending = ".csv",
	.content_type = "text/csv; charset=utf-8; header=present",
	.slice = slice,
	.state_new = wide_new,
	.state_free = wide_free,
};
