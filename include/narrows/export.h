/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything measured for a session, in one of several shapes, made in slices, so that a slow
 * reader of a large export delays no other reader. Memory depends on the number of series, not of
 * samples (web/export/shape.h).
 */
#ifndef NARROWS_EXPORT_H
#define NARROWS_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

struct shape;
struct export;

enum { EXPORT_SERIES_BYTES = 128 };

struct export_opts {
	const struct shape *shape;
	bool crlf;      /* CSV: lines end as RFC 4180 says */
	bool safe_text; /* CSV: no text cell that a spreadsheet takes for a formula */
	char series[EXPORT_SERIES_BYTES]; /* prefix of event types; "": all */
	int64_t t0_wall_ns, t1_wall_ns;   /* rows from t0 to before t1 */
	/* how long before and after the session measurements of its hosts' clocks count, too */
	int64_t clock_lead_ns;
	int64_t resolution_ns; /* 0: all rows; of the wide shape: a step of one second */
};

/*
 * What the query of ".csv", ".ndjson", ".lp" or ".bson" (ending) asks for: shape, eol, safe,
 * series, from, to, resolution. query may be NULL; parameters of other names are ignored. NW_EINVAL
 * with static *why.
 */
int
export_opts_parse(struct export_opts *o, const char *ending, const char *query, const char **why);
const char *export_content_type(const struct export_opts *o);
const char *export_ending(const struct export_opts *o);

typedef int export_write_fn(void *arg, const char *text, size_t len);

/*
 * NW_ENOTFOUND, NW_ENOMEM, NW_ETOOBIG (wide: too many columns). The reader stays the caller's and
 * must outlive the export.
 */
int export_new(
    struct store_reader *r, int64_t session_id, const struct export_opts *o, struct export **out);
void export_free(struct export *x);
/*
 * Writes the next piece, at most some 64 KiB unless one line is longer; a piece may be empty. *done
 * tells that the piece was the last. No transaction stays open between calls: rows stored meanwhile
 * may or may not be in the export.
 */
int export_next(struct export *x, export_write_fn *write, void *arg, bool *done);

/* The whole export at once, from one snapshot. */
int export_session(struct store_reader *r, int64_t session_id, const struct export_opts *o,
    export_write_fn *write, void *arg);

#endif
