/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations for the parts of the document decoder: the decoder, field names, text. Not for other
 * rooms. */
#ifndef XSP_DECODER_H
#define XSP_DECODER_H

#include "narrows/doc.h"
#include "xsp/walk.h"

/* --- field names (doc_name.c) --- */

enum name_kind { NAME_FIELD, NAME_TS, NAME_TS_NS, NAME_SAMPLE, NAME_HIST };

enum { NAME_MAX_BYTES = 255 };

/* One spelling of a field name. `canon` is the canonical name: the spelling itself unless the
 * spelling has dots or is a synonym. */
struct name {
	uint64_t head;
	const char *spelling;
	struct name *canon;
	uint32_t spelling_len;
	uint32_t column; /* column of the canonical name, within the item whose serial is `item` */
	uint64_t item, row; /* serial numbers of the last item and row with this name */
	uint8_t kind;
	bool is_caliper;   /* a name of calipers alone: the row's time is in seconds */
	bool is_deviation; /* negative means undefined */
};

/* Is s a caliper's deviation: sd_v, sd_r, sd_g or sd_d? */
bool name_is_deviation(const char *s);

/* Spellings seen, so a field of a row costs a hash instead of a search. Bounded: the table is
 * emptied between items when half full, and an item may use at most half. */
struct names {
	struct name *all;
	uint32_t *slots; /* index into all + 1; 0 is free */
	char *text;
	uint32_t n, max, mask;
	uint32_t text_len, text_cap;
};

int names_init(struct names *t, uint32_t fields_max);
void names_clear(struct names *t);
/* To be called where no row refers to a name. */
void names_make_room(struct names *t);
/* NW_EPROTO: not a name; NW_ETOOBIG: too long, or too many. */
int names_get(struct names *t, const char *spelling, uint32_t len, struct name **out);

/* --- text (doc_text.c) --- */

/* Memory grows only in scratch_reserve(): pointers into the scratch stay good until the next call
 * of scratch_reserve(). */
struct scratch {
	char *p;
	size_t len, cap;
};

int scratch_reserve(struct scratch *s, size_t n);
/* Past the reserve nothing is written, but len goes on counting: compare len with cap at the
 * end. */
void scratch_put(struct scratch *s, const char *p, size_t n);

bool text_is_valid(const char *p, size_t len);
/* Copies to scratch with U+FFFD for every byte that is NUL or not UTF-8, and a NUL behind. */
const char *text_repair(struct scratch *s, const char *p, size_t len);
/* The shorter of 15 and 17 digits from which v reads back. Assumes the C numeric locale. */
int number_text(char out[32], double v);
/* The container as JSON. Binary and other types without a JSON form become null, and so do NaN and
 * infinities. */
int json_put(struct nw_doc_decoder *d, struct scratch *s, const struct element *e);

/* --- the decoder --- */

enum part {
	PART_ID,
	PART_ID_OLD,
	PART_PID,
	PART_MID,
	PART_MID_OLD,
	PART_EVENT_TYPE,
	PART_TYPE,
	PART_SUBJECT,
	PART_PARAMS,
	PART_VALUES,
	PART_DATA,
	PART_META,
	PART_VERSION,
	PART_UNIS,
	PART_COUNT
};

/* An item: the top-level elements with a meaning, under the names of any generation. */
struct item {
	const uint8_t *doc;
	size_t len;
	uint32_t depth;
	uint32_t have; /* bit per part */
	bool in_envelope;
	bool is_list;                    /* keys are 0, 1, ...: a list that came as a document */
	struct element part[PART_COUNT]; /* elements; filled where `have` has the bit */
};

static inline bool
item_has(const struct item *it, enum part p)
{
	return it->have >> p & 1;
}

struct rows;

struct nw_doc_decoder {
	struct nw_doc_limits lim;
	const struct nw_doc_sink *sink;
	const char *why;
	uint32_t n_items;
	struct names names;
	struct scratch scratch;
	struct rows *rows;
};

static inline int
decode_fail(struct nw_doc_decoder *d, int rc, const char *why)
{
	d->why = why;
	return rc;
}

static inline int
decode_walk_fail(struct nw_doc_decoder *d, int rc)
{
	return decode_fail(d, rc, walk_why(rc));
}

/* --- items (item.c) --- */

/* Finds the parts of the item at doc, `depth` levels down. Values, data and meta are left to their
 * readers; every other element is checked here. */
int item_read(
    struct nw_doc_decoder *d, const uint8_t *doc, size_t len, uint32_t depth, struct item *it);
/* Text of an id or event type: must be UTF-8 without NUL and not empty. An object id becomes its 24
 * hex digits. */
int decode_id(struct nw_doc_decoder *d, const struct element *e, char hex[25], const char **out);
/* Checks values, data and meta, except the parts in the bit set `used`. */
int item_check_rest(struct nw_doc_decoder *d, const struct item *it, uint32_t used);

/* --- metadata (doc_meta.c) --- */

int meta_decode(struct nw_doc_decoder *d, const struct item *it);

/* --- rows (doc_data.c) --- */

/* The rows of an item, one after the other, `stride` values apart; dense on delivery. */
struct rows {
	const char **fields;                /* fields_max */
	double *values;                     /* room for values_cap, at least fields_max */
	int64_t *t_wall_ns, *sample_number; /* room for rows_cap */
	size_t values_cap, rows_cap;
	size_t n, n_fields, stride;
	uint32_t fields_max;
	uint32_t depth; /* of the rows in the document */
	/* serial numbers, which tell marks of this item and row on names from older marks */
	uint64_t item, row;
	bool unit_is_second; /* by the envelope */
	const uint8_t *hist;
	size_t hist_len;
};

struct rows *rows_new(uint32_t fields_max);
void rows_free(struct rows *r);
/* Make room for n rows, for n values in all rows together. NW_ETOOBIG, NW_ENOMEM. */
int rows_reserve(struct nw_doc_decoder *d, struct rows *r, size_t n);
int values_reserve(struct nw_doc_decoder *d, struct rows *r, size_t n);
/* Hands the rows to the sink unless there are none. */
int rows_deliver(struct nw_doc_decoder *d, struct rows *r, const char *mid, const char *event_type);
int data_decode(struct nw_doc_decoder *d, const struct item *it);

/* --- text (doc_g0.c) --- */

/* Returns true if a block of a transfer begins as text of generation 0. A document of BSON that
 * began so would be longer than any document may be. */
bool g0_is(const uint8_t *p, size_t len);
/* One text as documents of generation 3: metadata, and for calipers data, which else stay empty.
 * The caller clears both buffers. NW_EPROTO, NW_ETOOBIG, NW_ENOMEM. */
int g0_encode(const uint8_t *p, size_t len, struct nw_doc_buf *meta, struct nw_doc_buf *data);

/* --- packed rows (batch_doc.c) --- */

int batch_doc_decode(struct nw_doc_decoder *d, const uint8_t *buf, size_t len);

#endif
