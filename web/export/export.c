/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/export.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "web/export/shape.h"

enum { SLICE_METAS = 16 }; /* series per slice, so that a slice ends even if all series are empty */

/* --- series by series --- */

static char *
make_label(void *arg, const char *field)
{
	struct export *x = arg;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	x->opts.shape->label(x, f, x->meta, field);
	if (fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int
make_prefix(struct export *x)
{
	size_t len = 0;
	FILE *f = open_memstream(&x->prefix, &len);
	int rc;

	if (f == NULL)
		return NW_ENOMEM;
	rc = x->opts.shape->prefix(x, f, x->meta);
	return fclose(f) == 0 ? rc : NW_ENOMEM;
}

static void
series_close(struct export *x)
{
	merge_free(x->merge);
	free(x->prefix);
	x->merge = NULL;
	x->prefix = NULL;
	x->meta = NULL;
}

static int
series_open(struct export *x, bool *done)
{
	int rc;

	if ((rc = walk_next(x->walk, &x->meta)) < 0)
		return rc;
	*done = x->meta == NULL;
	if (*done)
		return NW_OK;
	if ((rc = make_prefix(x)) < 0)
		return rc;
	rc = merge_open(x->reader, x->meta->id, x->opts.resolution_ns, shape_t0(x, x->meta),
	    shape_t1(x, x->meta), make_label, x, &x->merge);
	if (rc == NW_OK && x->opts.shape->hist)
		merge_want_hist(x->merge);
	return rc;
}

/* Writes rows of the current series until the series ends or the slice is full. */
static int
series_rows(struct export *x)
{
	struct merge_row row;
	int rc = NW_OK;

	while (x->out.n_bytes < SHAPE_SLICE_BYTES) {
		if ((rc = merge_next(x->merge, &row)) <= 0) {
			series_close(x);
			return rc;
		}
		if ((rc = x->opts.shape->row(x, x->prefix, &row)) < 0)
			return rc;
	}
	return NW_OK;
}

static int
series_slice(struct export *x, bool *done)
{
	size_t metas;
	int rc;

	for (metas = 0; metas < SLICE_METAS && x->out.n_bytes < SHAPE_SLICE_BYTES; metas++) {
		if (x->merge == NULL && ((rc = series_open(x, done)) < 0 || *done))
			return rc;
		if ((rc = series_rows(x)) < 0)
			return rc;
	}
	return NW_OK;
}

/* --- an export --- */

int
export_new(
    struct store_reader *r, int64_t session_id, const struct export_opts *o, struct export **out)
{
	struct export *x = calloc(1, sizeof(*x));
	int rc;

	if (x == NULL)
		return NW_ENOMEM;
	x->opts = *o;
	x->reader = r;
	x->session_id = session_id;
	if ((rc = walk_new(r, session_id, o->series, &x->walk)) < 0 ||
	    (o->shape->state_new != NULL && (rc = o->shape->state_new(x)) < 0)) {
		export_free(x);
		return rc;
	}
	walk_lead(x->walk, o->clock_lead_ns);
	*out = x;
	return NW_OK;
}

void
export_free(struct export *x)
{
	if (x == NULL)
		return;
	series_close(x);
	if (x->state != NULL)
		x->opts.shape->state_free(x->state);
	walk_free(x->walk);
	free(x);
}

static int
slice(struct export *x, bool *done)
{
	const struct shape *s = x->opts.shape;
	int rc;

	if (!x->header_written) {
		x->header_written = true;
		if (s->header != NULL &&
		    ((rc = textout_puts(&x->out, s->header)) < 0 || (rc = shape_end_line(x)) < 0))
			return rc;
	}
	rc = s->slice != NULL ? s->slice(x, done) : series_slice(x, done);
	return rc == NW_OK && *done && s->end != NULL ? s->end(x) : rc;
}

int
export_next(struct export *x, export_write_fn *write, void *arg, bool *done)
{
	int rc, flushed;

	textout_begin(&x->out, write, arg);
	*done = false;
	rc = slice(x, done);
	flushed = textout_flush(&x->out);
	return rc < 0 ? rc : flushed;
}

static int
stream_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	return export_next(state, write, arg, done);
}

static void
stream_end(void *state)
{
	export_free(state);
}

struct stream
export_stream(struct export *x)
{
	return (struct stream){ .next = stream_next, .free = stream_end, .state = x };
}

int
export_session(struct store_reader *r, int64_t session_id, const struct export_opts *o,
    export_write_fn *write, void *arg)
{
	struct export *x = NULL;
	bool done = false;
	int rc;

	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = export_new(r, session_id, o, &x);
	while (rc >= 0 && !done)
		rc = export_next(x, write, arg, &done);
	export_free(x);
	store_reader_end(r);
	return rc < 0 ? rc : NW_OK;
}
