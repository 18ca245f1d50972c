/* SPDX-License-Identifier: BSD-3-Clause */
/* web_csv_session() in slices, so that one slow reader of a large export holds up nobody. */
#ifndef NARROWS_WEB_CSV_H
#define NARROWS_WEB_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

typedef int csv_write_fn(void *arg, const char *text, size_t len);

struct csv_export;

/* NW_ENOTFOUND, NW_ENOMEM. The reader stays the caller's and must outlive the export. */
int csv_export_new(struct store_reader *r, int64_t session_id, struct csv_export **out);
void csv_export_free(struct csv_export *x);
/*
 * Writes the next piece, at most some 64 KiB unless one line is longer; it may be empty. *done: that was the last.
 * No transaction stays open between calls: what is stored meanwhile may or may not be in the export.
 */
int csv_export_next(struct csv_export *x, csv_write_fn *write, void *arg, bool *done);

/*
 * The unit of a field (UCUM): what the parameters say (`unit_FIELD`, else `unit`); else, for calipers and nwrun, what
 * the field's name says; else "". Written to buf, which is returned.
 */
const char *csv_unit(const char *event_type, const char *params_json, const char *field, char *buf, size_t size);

#endif
