/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/export/layout_merge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum {
	ROW_VALUES_MAX = 1 << 16, /* shared by the layouts */
	ROWS_MIN = 64,
};

/* A layout, and the layout's buffered rows. */
struct merge_layout {
	int64_t id;
	size_t n_fields;
	char **labels;
	int64_t *t;
	double *values;
	struct merge_hist {
		uint8_t *bytes;
		size_t len;
	} * hist; /* per row; NULL: not wanted */
	size_t cap, n, pos;
	int64_t next_t; /* where reading goes on ... */
	size_t skip;    /* rows of exactly the time to skip */
	bool at_end;
};

struct merge {
	struct store_reader *reader;
	int64_t step_ns, t0, t1;
	char *(*label)(void *arg, const char *field);
	void *label_arg;
	struct merge_layout *layouts;
	size_t n_layouts;
	bool want_hist;
};

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct merge *m = arg;
	struct merge_layout *grown = reallocarray(m->layouts, m->n_layouts + 1, sizeof(*grown)), *l;
	size_t k;

	if (grown == NULL)
		return NW_ENOMEM;
	m->layouts = grown;
	l = &m->layouts[m->n_layouts++];
	*l = (struct merge_layout){ .id = rec->id, .next_t = m->t0 };
	if ((l->labels = calloc(rec->n_fields > 0 ? rec->n_fields : 1, sizeof(*l->labels))) == NULL)
		return NW_ENOMEM;
	l->n_fields = rec->n_fields;
	for (k = 0; k < rec->n_fields; k++)
		if ((l->labels[k] = m->label(m->label_arg, rec->fields[k])) == NULL)
			return NW_ENOMEM;
	return 0;
}

static int
layouts_reserve(struct merge *m)
{
	size_t columns = 0, rows, i;

	for (i = 0; i < m->n_layouts; i++)
		columns += m->layouts[i].n_fields + 1;
	rows = columns > 0 ? ROW_VALUES_MAX / columns : 0;
	if (rows < ROWS_MIN)
		rows = ROWS_MIN;
	for (i = 0; i < m->n_layouts; i++) {
		struct merge_layout *l = &m->layouts[i];

		l->cap = rows;
		if ((l->t = calloc(rows, sizeof(*l->t))) == NULL ||
		    (l->values = calloc(
			 rows * (l->n_fields > 0 ? l->n_fields : 1), sizeof(*l->values))) == NULL)
			return NW_ENOMEM;
	}
	return NW_OK;
}

int
merge_open(struct store_reader *r, int64_t meta_id, int64_t step_ns, int64_t t0_wall_ns,
    int64_t t1_wall_ns, char *(*label)(void *arg, const char *field), void *arg, struct merge **out)
{
	struct merge *m = calloc(1, sizeof(*m));
	int rc;

	if (m == NULL)
		return NW_ENOMEM;
	*m = (struct merge){ .reader = r,
		.step_ns = step_ns,
		.t0 = t0_wall_ns,
		.t1 = t1_wall_ns,
		.label = label,
		.label_arg = arg };
	if ((rc = store_layouts(r, meta_id, on_layout, m)) < 0 || (rc = layouts_reserve(m)) < 0) {
		merge_free(m);
		return rc;
	}
	*out = m;
	return NW_OK;
}

void
merge_want_hist(struct merge *m)
{
	m->want_hist = true;
}

static void
hist_clear(struct merge_layout *l)
{
	size_t i;

	for (i = 0; l->hist != NULL && i < l->n; i++) {
		free(l->hist[i].bytes);
		l->hist[i].bytes = NULL;
	}
}

void
merge_free(struct merge *m)
{
	size_t i, k;

	if (m == NULL)
		return;
	for (i = 0; i < m->n_layouts; i++) {
		for (k = 0; k < m->layouts[i].n_fields; k++)
			free(m->layouts[i].labels[k]);
		hist_clear(&m->layouts[i]);
		free(m->layouts[i].hist);
		free(m->layouts[i].labels);
		free(m->layouts[i].t);
		free(m->layouts[i].values);
	}
	free(m->layouts);
	free(m);
}

/* --- rows --- */

struct refill {
	struct merge_layout *l;
	size_t skip;
};

/* Keeps the histogram of row i of the block, which becomes the last buffered row. */
static int
hist_keep(struct merge_layout *l, const struct store_block *b, size_t i)
{
	struct merge_hist *h = &l->hist[l->n];

	*h = (struct merge_hist){ 0 };
	if (b->hist == NULL || b->hist[i] == NULL || b->hist_len[i] == 0)
		return NW_OK;
	if ((h->bytes = malloc(b->hist_len[i])) == NULL)
		return NW_ENOMEM;
	memcpy(h->bytes, b->hist[i], h->len = b->hist_len[i]);
	return NW_OK;
}

static int
on_block(void *arg, const struct store_block *b)
{
	struct refill *fill = arg;
	struct merge_layout *l = fill->l;
	size_t i, k;

	if (b->n_fields != l->n_fields)
		return NW_ECORRUPT;
	for (i = 0; i < b->n_rows; i++) {
		if (fill->skip > 0 && b->t_wall_ns[i] == l->next_t) {
			fill->skip--;
			continue;
		}
		if (l->n == l->cap) {
			l->at_end = false;
			return 1;
		}
		l->t[l->n] = b->t_wall_ns[i];
		for (k = 0; k < l->n_fields; k++)
			l->values[l->n * l->n_fields + k] = b->columns[k][i];
		if (l->hist != NULL && hist_keep(l, b, i) < 0)
			return NW_ENOMEM;
		l->n++;
	}
	return 0;
}

/*
 * Reads on where the buffered rows of this layout ended. Several rows may have that same time: the
 * count of rows read is skipped. With a step, the rest of the step is skipped too, because its row
 * has the time of the last row in the step.
 */
static int
layout_refill(struct merge *m, struct merge_layout *l)
{
	struct refill fill = { .l = l, .skip = l->skip };
	size_t same;
	int rc;

	hist_clear(l);
	l->n = l->pos = 0;
	l->at_end = true;
	if (m->want_hist && l->hist == NULL && (l->hist = calloc(l->cap, sizeof(*l->hist))) == NULL)
		return NW_ENOMEM;
	rc = m->step_ns > 0
	    ? store_rows_at(m->reader, l->id, m->step_ns, l->next_t, m->t1, on_block, &fill)
	    : store_rows(m->reader, l->id, l->next_t, m->t1, on_block, &fill);
	if (rc < 0 || l->n == 0)
		return rc;
	for (same = 0; same < l->n && l->t[l->n - 1 - same] == l->t[l->n - 1]; same++)
		;
	l->skip = same + (same == l->n && l->t[0] == l->next_t ? l->skip : 0);
	l->next_t = l->t[l->n - 1];
	return NW_OK;
}

int
merge_next(struct merge *m, struct merge_row *row)
{
	struct merge_layout *best = NULL;
	size_t i;
	int rc;

	for (i = 0; i < m->n_layouts; i++) {
		struct merge_layout *l = &m->layouts[i];

		if (l->pos == l->n && !l->at_end && (rc = layout_refill(m, l)) < 0)
			return rc;
		if (l->pos < l->n && (best == NULL || l->t[l->pos] < best->t[best->pos]))
			best = l;
	}
	if (best == NULL)
		return 0;
	*row = (struct merge_row){ .t_wall_ns = best->t[best->pos],
		.n_fields = best->n_fields,
		.labels = (const char *const *)best->labels,
		.values = &best->values[best->pos * best->n_fields] };
	if (best->hist != NULL) {
		row->hist = best->hist[best->pos].bytes;
		row->hist_len = best->hist[best->pos].len;
	}
	best->pos++;
	return 1;
}
