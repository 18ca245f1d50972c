/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement documents in BSON, as peers send them, from what is stored. xsp/doc.c has the
 * generations, and reads all of this. libbson ends the program when memory ends, as the box does.
 */
#ifndef NARROWS_WEB_DOCUMENT_H
#define NARROWS_WEB_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "web/merge.h"
#include "web/walk.h"

enum { DOCUMENT_G1 = 1, DOCUMENT_G2, DOCUMENT_G3 };

/* Which one a metadata as sent is of. Generation 4 counts as 3: neither needs an envelope around it
 * to be understood. */
unsigned document_generation(const bson_t *sent);

/*
 * One metadata in a generation. Subject and parameters are the record's, with the types that `sent`
 * has them in. field: a series of this field alone, child of the metadata; NULL: all of it.
 */
void document_meta(bson_t *out, unsigned generation, const struct walk_meta *m, const bson_t *sent,
    const char *field);

/* One row in the shape of its generation. */
struct document_series {
	const char *mid, *event_type;
	bool shares_mid;   /* with others, so that data have to say of which event type they are */
	double ts_s, dt_s; /* generation 1: times are ts + sample number * dt; NaN: they are not */
};
void document_row_g1(bson_t *out, const struct document_series *s, const struct merge_row *r);
void document_row_g3(bson_t *out, const struct document_series *s, const struct merge_row *r);
/* A time and a value; generation 2 has no more. field NULL: the metadata's only one. */
void document_pair(bson_t *out, const struct document_series *s, const char *field,
    int64_t t_wall_ns, double value);
/* Does a double of seconds, rounded to microseconds as readers do, keep this time? */
bool document_time_fits(int64_t t_wall_ns);

/* {version, meta: [...], data: [...]}: the items go into the list that is open, and document_end()
 * closes both. */
struct document_envelope {
	bson_t whole, list;
	bool is_data;
	uint32_t n;
};
void document_begin(struct document_envelope *e, bool is_data);
void document_item(struct document_envelope *e, const bson_t *item);
const bson_t *document_end(struct document_envelope *e); /* on loan until bson_destroy(&e->whole) */

#endif
