/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement documents in BSON, in the generations that peers send, made from stored rows.
 * xsp/doc.c describes and reads the generations. libbson ends the program when memory runs out, as
 * the box does.
 */
#ifndef NARROWS_WEB_DOCUMENT_H
#define NARROWS_WEB_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "web/export/layout_merge.h"
#include "web/export/series_walk.h"

enum { DOCUMENT_G1 = 1, DOCUMENT_G2, DOCUMENT_G3 };

/*
 * The generation of a metadata as it was sent. Generation 4 counts as 3: both are understood
 * without an envelope.
 */
unsigned document_generation(const bson_t *sent);

/*
 * Writes one metadata in a generation. Subject and parameters are the record's, with the types of
 * `sent`. With a field: a series of this field alone, child of the metadata. Field NULL: the
 * metadata itself.
 */
void document_meta(bson_t *out, unsigned generation, const struct walk_meta *m, const bson_t *sent,
    const char *field);

/* Writers of a row, for each generation. */
struct document_series {
	const char *mid, *event_type;
	bool shares_mid; /* several event types share the id, so data have to name theirs */
	/* generation 1: times are ts_s + sample number * dt_s; NaN for all other times */
	double ts_s, dt_s;
};
void document_row_g1(bson_t *out, const struct document_series *s, const struct merge_row *r);
void document_row_g3(bson_t *out, const struct document_series *s, const struct merge_row *r);
/* A time and a value, all that generation 2 knows. Field NULL: the only field of the metadata. */
void document_pair(bson_t *out, const struct document_series *s, const char *field,
    int64_t t_wall_ns, double value);
/* Whether a double of seconds, rounded to microseconds as readers round, keeps this time. */
bool document_time_fits(int64_t t_wall_ns);

/*
 * {version, meta: [...], data: [...]}: items go into the open list; document_end() closes both
 * lists.
 */
struct document_envelope {
	bson_t whole, list;
	bool is_data;
	uint32_t n;
};
void document_begin(struct document_envelope *e, bool is_data);
void document_item(struct document_envelope *e, const bson_t *item);
const bson_t *document_end(struct document_envelope *e); /* on loan until bson_destroy(&e->whole) */

#endif
