/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shape: how rows of a session's series become text. Most shapes give the text before every row
 * of a series (prefix) and before every field (label), each made once per series, and write rows
 * with both. A shape whose rows run across series makes slices by itself.
 */
#ifndef NARROWS_WEB_SHAPE_H
#define NARROWS_WEB_SHAPE_H

#include <stdio.h>

#include "narrows/event_line.h"
#include "narrows/export.h"
#include "web/export/layout_merge.h"
#include "web/query/param.h"
#include "web/query/textout.h"
#include "web/export/series_walk.h"

enum { SHAPE_SLICE_BYTES = 65536 };

struct shape {
	const char *name, *ending, *content_type;
	const char *header; /* first line, without its end; NULL: no first line */
	bool hist;          /* rows with their histograms */
	/* generation of documents; 0: the generation in which each document was sent */
	unsigned generation;
	/*
	 * Both write into a stream of text. prefix may put lines of its own first, with
	 * textout_put().
	 */
	int (*prefix)(struct export *x, FILE *f, const struct walk_meta *m);
	void (*label)(
	    const struct export *x, FILE *f, const struct walk_meta *m, const char *field);
	int (*row)(struct export *x, const char *prefix, const struct merge_row *row);
	int (*end)(struct export *x); /* behind the last series; NULL: no text */
	/* For shapes without the three functions above: writes up to SHAPE_SLICE_BYTES of text. */
	int (*slice)(struct export *x, bool *done);
	int (*state_new)(struct export *x); /* NULL: no state */
	void (*state_free)(void *state);
};

extern const struct shape shape_tidy, shape_wide, shape_keys, shape_keys_long, shape_ndjson,
    shape_influx, shape_bson, shape_g0, shape_g1, shape_g2, shape_g3, shape_nmwg;
#define X(id, name) extern const struct shape shape_##name;
NW_EVENT_FORMAT_LIST(X)
#undef X

struct export
{
	struct export_opts opts;
	struct store_reader *reader;
	int64_t session_id;
	struct walk *walk;
	void *state; /* the shape's own */
	bool header_written;
	const struct walk_meta *meta; /* series in hand, with its rows and prefix */
	struct merge *merge;
	char *prefix;
	struct textout out;
};

/* The export as a stream; the stream owns the export. */
struct stream export_stream(struct export *x);
/* Parameters of an export's address. */
extern const struct param export_params[];

int shape_end_line(struct export *x); /* as asked for */
/* Of CSV cells, as asked for. */
unsigned shape_cell_how(const struct export *x);
/* Begin and end of the requested part of a series' rows. */
int64_t shape_t0(const struct export *x, const struct walk_meta *m);
int64_t shape_t1(const struct export *x, const struct walk_meta *m);

#endif
