/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block of events:
 *
 *	varint    number of texts, then the texts, each NUL terminated
 *	varint    number of shapes: what events of one kind have in common. Each shape has
 *	            4 varints: host, program, name, level: 0 if not told, else the number of its
 *	            text from 1 on
 *	            varint: number of attributes; each a varint, the number of the key's text from 0
 *	            on, and a byte, 0 for int64, 1 for double, 2 for text, plus 4 for an id
 *	varint    number of events, 1 to 65,536
 *	8 bytes   time of the first event, int64 little endian, nanoseconds since 1970 UTC
 *	varint    for each further event: its time less the time of the event before
 *	varint    for each event: the number of its shape
 *	columns   for each shape and each of its attributes, the values of the shape's events:
 *	            int64: a varint, zigzag, the value less the value before in this column;
 *	            double: 8 bytes, little endian; text: a varint, the number of the text
 *
 * A varint is LEB128, at most ten bytes; zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3. Differences wrap
 * around. Times never fall. Nothing follows the last column.
 */
#include "narrows/event.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/utf8.h"

enum {
	VARINT_MAX_BYTES = 10,
	TYPE_MASK = 3,
	TYPE_ID = 4,
	SLOTS_MIN = 256, /* of a hash table */
	EVENT_BYTES = 2 * VARINT_MAX_BYTES,
	SHAPE_BYTES = 5 * VARINT_MAX_BYTES,
	HEAD_BYTES = 64
};

bool
nw_event_key_is_id(const char *key)
{
	static const char *const whole[] = { "id", "ID", "guid", "TASKID" };
	static const char *const ends[] = { ".id", "_id", ".guid" };
	size_t len = strlen(key), n, i;

	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (strcmp(key, whole[i]) == 0)
			return true;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > (n = strlen(ends[i])) && strcmp(key + len - n, ends[i]) == 0)
			return true;
	return false;
}

/* --- building --- */

struct shape {
	uint32_t head[4]; /* host, program, name, level: 0, or the number of the text from 1 on */
	uint32_t n_attrs;
	size_t first_attr; /* in the attributes of all shapes */
};

struct shape_attr {
	uint32_t key;
	uint8_t type;
};

struct row {
	int64_t t;
	uint32_t shape;
	uint32_t number; /* order of arrival */
	size_t first_cell;
};

struct slots { /* numbers from 1 on, by hash; 0: free */
	uint32_t *at;
	size_t n;
};

struct nw_events {
	char *text; /* NUL terminated texts */
	size_t text_len, cap_text;
	size_t *texts; /* beginnings */
	size_t n_texts, cap_texts;
	struct slots by_text;
	struct shape *shapes;
	size_t n_shapes, cap_shapes;
	struct shape_attr *attrs;
	size_t n_attrs, cap_attrs;
	struct slots by_shape;
	struct row *rows;
	size_t n_rows, cap_rows;
	uint64_t *cells;
	size_t n_cells, cap_cells;
	bool unsorted;
	size_t bytes, max_bytes; /* at most, of the finished block */
	uint8_t *out;
	size_t cap_out;
	uint64_t seed; /* texts of a peer shall not collide on purpose */
};

struct nw_events *
nw_events_new(size_t max_bytes)
{
	struct nw_events *b = calloc(1, sizeof(*b));

	if (b != NULL) {
		b->max_bytes = max_bytes;
		b->bytes = HEAD_BYTES;
		b->seed = (uint64_t)(uintptr_t)b * UINT64_C(0x9e3779b97f4a7c15);
	}
	return b;
}

void
nw_events_free(struct nw_events *b)
{
	if (b == NULL)
		return;
	free(b->text);
	free(b->texts);
	free(b->by_text.at);
	free(b->shapes);
	free(b->attrs);
	free(b->by_shape.at);
	free(b->rows);
	free(b->cells);
	free(b->out);
	free(b);
}

void
nw_events_clear(struct nw_events *b)
{
	b->text_len = b->n_texts = b->n_shapes = b->n_attrs = b->n_rows = b->n_cells = 0;
	b->unsorted = false;
	b->bytes = HEAD_BYTES;
	if (b->by_text.at != NULL)
		memset(b->by_text.at, 0, b->by_text.n * sizeof(*b->by_text.at));
	if (b->by_shape.at != NULL)
		memset(b->by_shape.at, 0, b->by_shape.n * sizeof(*b->by_shape.at));
}

size_t
nw_events_count(const struct nw_events *b)
{
	return b->n_rows;
}

size_t
nw_events_bytes(const struct nw_events *b)
{
	return b->bytes;
}

void
nw_events_span(const struct nw_events *b, int64_t *first, int64_t *last)
{
	size_t i;

	*first = *last = b->rows[0].t;
	for (i = 1; i < b->n_rows; i++) {
		if (b->rows[i].t < *first)
			*first = b->rows[i].t;
		if (b->rows[i].t > *last)
			*last = b->rows[i].t;
	}
}

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint64_t
text_hash(const struct nw_events *b, const char *text, size_t len)
{
	uint64_t h = b->seed ^ len, v;

	for (; len >= 8; len -= 8, text += 8) {
		memcpy(&v, text, 8);
		h = mix(h, v);
	}
	for (v = 0; len > 0; len--)
		v = v << 8 | (uint8_t)*text++;
	return mix(h, v);
}

static uint64_t
shape_hash(const struct nw_events *b, const struct shape *s)
{
	uint64_t h = b->seed ^ s->n_attrs;
	size_t i;

	for (i = 0; i < 4; i++)
		h = mix(h, s->head[i]);
	for (i = 0; i < s->n_attrs; i++)
		h = mix(h,
		    (uint64_t)b->attrs[s->first_attr + i].key << 8 |
			b->attrs[s->first_attr + i].type);
	return h;
}

static uint64_t
hash_of(const struct nw_events *b, bool is_text, size_t number)
{
	const char *text;

	if (!is_text)
		return shape_hash(b, &b->shapes[number]);
	text = b->text + b->texts[number];
	return text_hash(b, text, strlen(text));
}

/* Makes room for one more among n numbers. */
static bool
slots_room(const struct nw_events *b, struct slots *s, bool is_text, size_t n)
{
	size_t want = s->n == 0 ? SLOTS_MIN : 2 * s->n, i, at;
	uint32_t *grown;

	if (2 * (n + 1) <= s->n)
		return true;
	if ((grown = calloc(want, sizeof(*grown))) == NULL)
		return false;
	for (i = 0; i < n; i++) {
		for (at = hash_of(b, is_text, i) & (want - 1); grown[at] != 0;)
			at = (at + 1) & (want - 1);
		grown[at] = (uint32_t)i + 1;
	}
	free(s->at);
	s->at = grown;
	s->n = want;
	return true;
}

/* The number of a text, which is added if it is new. NW_EINVAL: no text for a block. */
static int
text_number(struct nw_events *b, const char *text, uint32_t *out)
{
	size_t len = strnlen(text, NW_EVENT_TEXT_MAX_BYTES), at;
	const char *other;

	if (len == NW_EVENT_TEXT_MAX_BYTES)
		return NW_EINVAL;
	if (!slots_room(b, &b->by_text, true, b->n_texts))
		return NW_ENOMEM;
	for (at = text_hash(b, text, len) & (b->by_text.n - 1); b->by_text.at[at] != 0;
	     at = (at + 1) & (b->by_text.n - 1)) {
		*out = b->by_text.at[at] - 1;
		other = b->text + b->texts[*out];
		if (memcmp(other, text, len < 8 ? len + 1 : 8) == 0 && strcmp(other, text) == 0)
			return NW_OK;
	}
	if (!array_room(&b->text, &b->cap_text, b->text_len + len + 9, 1) ||
	    !array_room(&b->texts, &b->cap_texts, b->n_texts + 1, sizeof(*b->texts)))
		return NW_ENOMEM;
	memcpy(b->text + b->text_len, text, len + 1);
	memset(b->text + b->text_len + len + 1, 0, 8); /* the comparison above reads so far */
	*out = (uint32_t)b->n_texts;
	b->texts[b->n_texts++] = b->text_len;
	b->text_len += len + 1;
	b->bytes += len + 1;
	b->by_text.at[at] = *out + 1;
	return NW_OK;
}

static bool
shapes_equal(const struct nw_events *b, const struct shape *x, const struct shape *y)
{
	size_t i;

	if (x->n_attrs != y->n_attrs || memcmp(x->head, y->head, sizeof(x->head)) != 0)
		return false;
	for (i = 0; i < x->n_attrs; i++)
		if (b->attrs[x->first_attr + i].key != b->attrs[y->first_attr + i].key ||
		    b->attrs[x->first_attr + i].type != b->attrs[y->first_attr + i].type)
			return false;
	return true;
}

/* Finds the number of a shape, whose attributes stand behind b->n_attrs. A new shape joins the
 * block and keeps these attributes there. */
static int
shape_number(struct nw_events *b, const struct shape *s, uint32_t *out)
{
	size_t at;

	if (!slots_room(b, &b->by_shape, false, b->n_shapes) ||
	    !array_room(&b->shapes, &b->cap_shapes, b->n_shapes + 1, sizeof(*b->shapes)))
		return NW_ENOMEM;
	for (at = shape_hash(b, s) & (b->by_shape.n - 1); b->by_shape.at[at] != 0;
	     at = (at + 1) & (b->by_shape.n - 1)) {
		*out = b->by_shape.at[at] - 1;
		if (shapes_equal(b, &b->shapes[*out], s))
			return NW_OK;
	}
	*out = (uint32_t)b->n_shapes;
	b->shapes[b->n_shapes++] = *s;
	b->by_shape.at[at] = *out + 1;
	b->n_attrs += s->n_attrs;
	b->bytes += SHAPE_BYTES + s->n_attrs * (VARINT_MAX_BYTES + 1);
	return NW_OK;
}

static int
shape_find(struct nw_events *b, const struct nw_event *e, uint32_t *out)
{
	const char *const head[4] = { e->host, e->program, e->name, e->level };
	struct shape s = { .n_attrs = (uint32_t)e->n_attrs, .first_attr = b->n_attrs };
	uint32_t number;
	size_t i;
	int rc;

	for (i = 0; i < 4; i++) {
		if (head[i] == NULL)
			continue;
		if ((rc = text_number(b, head[i], &number)) != NW_OK)
			return rc;
		s.head[i] = number + 1;
	}
	if (!array_room(&b->attrs, &b->cap_attrs, b->n_attrs + e->n_attrs, sizeof(*b->attrs)))
		return NW_ENOMEM;
	for (i = 0; i < e->n_attrs; i++) {
		if ((rc = text_number(b, e->attrs[i].key, &number)) != NW_OK)
			return rc;
		b->attrs[b->n_attrs + i] = (struct shape_attr){ number,
			(uint8_t)(e->attrs[i].type | (e->attrs[i].is_id ? TYPE_ID : 0)) };
	}
	return shape_number(b, &s, out);
}

static int
cells_put(struct nw_events *b, const struct nw_event *e)
{
	uint32_t number;
	size_t i;
	int rc;

	if (!array_room(&b->cells, &b->cap_cells, b->n_cells + e->n_attrs + 1, sizeof(*b->cells)))
		return NW_ENOMEM;
	for (i = 0; i < e->n_attrs; i++) {
		uint64_t *cell = &b->cells[b->n_cells + i];

		switch (e->attrs[i].type) {
		case NW_ATTR_INT: *cell = (uint64_t)e->attrs[i].v.i; break;
		case NW_ATTR_REAL: memcpy(cell, &e->attrs[i].v.d, sizeof(*cell)); break;
		case NW_ATTR_TEXT:
			if ((rc = text_number(b, e->attrs[i].v.text, &number)) != NW_OK)
				return rc;
			*cell = number;
			break;
		default: return NW_EINVAL;
		}
	}
	b->n_cells += e->n_attrs;
	b->bytes += e->n_attrs * VARINT_MAX_BYTES;
	return NW_OK;
}

/* Bytes of an event's texts and numbers: a bound. */
static size_t
event_bound(const struct nw_event *e)
{
	const char *const head[4] = { e->host, e->program, e->name, e->level };
	size_t n = EVENT_BYTES + SHAPE_BYTES, i;

	for (i = 0; i < 4; i++)
		n += head[i] == NULL ? 0 : strlen(head[i]) + 1;
	for (i = 0; i < e->n_attrs; i++) {
		n += strlen(e->attrs[i].key) + 2 * VARINT_MAX_BYTES + 2;
		if (e->attrs[i].type == NW_ATTR_TEXT)
			n += strlen(e->attrs[i].v.text) + 1;
	}
	return n;
}

int
nw_events_add(struct nw_events *b, const struct nw_event *e)
{
	size_t n = b->n_rows, bound;
	uint32_t shape;
	int rc;

	if (e->name == NULL || e->name[0] == '\0' || e->n_attrs > NW_EVENT_ATTRS_MAX ||
	    (bound = event_bound(e)) > b->max_bytes - HEAD_BYTES)
		return NW_EINVAL;
	if (n == NW_EVENT_BLOCK_ROWS_MAX || (n > 0 && b->bytes + bound > b->max_bytes))
		return NW_ETOOBIG;
	if (!array_room(&b->rows, &b->cap_rows, n + 1, sizeof(*b->rows)))
		return NW_ENOMEM;
	b->rows[n] =
	    (struct row){ .t = e->t_wall_ns, .number = (uint32_t)n, .first_cell = b->n_cells };
	if ((rc = shape_find(b, e, &shape)) != NW_OK || (rc = cells_put(b, e)) != NW_OK)
		return rc; /* texts and a shape may stay behind, which is harmless */
	b->rows[n].shape = shape;
	if (n > 0 && e->t_wall_ns < b->rows[n - 1].t)
		b->unsorted = true;
	b->n_rows++;
	b->bytes += EVENT_BYTES;
	return NW_OK;
}

/* --- to bytes --- */

static uint8_t *
put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)v | 0x80;
	*p++ = (uint8_t)v;
	return p;
}

static uint8_t *
put_zigzag(uint8_t *p, uint64_t difference)
{
	return put_varint(p, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

static uint8_t *
put_le64(uint8_t *p, uint64_t v)
{
	int i;

	for (i = 0; i < 8; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

static int
row_compare(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static uint8_t *
put_shapes(const struct nw_events *b, uint8_t *p)
{
	const struct shape *s;
	size_t i, k;

	p = put_varint(p, b->n_shapes);
	for (i = 0; i < b->n_shapes; i++) {
		s = &b->shapes[i];
		for (k = 0; k < 4; k++)
			p = put_varint(p, s->head[k]);
		p = put_varint(p, s->n_attrs);
		for (k = 0; k < s->n_attrs; k++) {
			p = put_varint(p, b->attrs[s->first_attr + k].key);
			*p++ = b->attrs[s->first_attr + k].type;
		}
	}
	return p;
}

static uint8_t *
put_column(
    const struct nw_events *b, uint8_t *p, const uint32_t *rows, size_t n, size_t k, int type)
{
	uint64_t before = 0, v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = b->cells[b->rows[rows[i]].first_cell + k];
		if (type == NW_ATTR_INT)
			p = put_zigzag(p, v - before);
		else if (type == NW_ATTR_REAL)
			p = put_le64(p, v);
		else
			p = put_varint(p, v);
		before = v;
	}
	return p;
}

/* The rows of each shape, in order: `first` gets n_shapes + 1 places in `order`. */
static void
rows_by_shape(const uint32_t *shape_of, size_t stride, size_t n_rows, size_t n_shapes,
    uint32_t *order, size_t *first)
{
	size_t i, s;

	memset(first, 0, (n_shapes + 1) * sizeof(*first));
	for (i = 0; i < n_rows; i++)
		first[shape_of[i * stride] + 1]++;
	for (s = 0; s < n_shapes; s++)
		first[s + 1] += first[s];
	for (i = 0; i < n_rows; i++)
		order[first[shape_of[i * stride]]++] = (uint32_t)i;
	for (s = n_shapes; s > 0; s--)
		first[s] = first[s - 1];
	first[0] = 0;
}

/* NULL: no memory */
static uint8_t *
put_columns(const struct nw_events *b, uint8_t *p)
{
	uint32_t *order = malloc(b->n_rows * sizeof(*order));
	size_t *first = malloc((b->n_shapes + 1) * sizeof(*first)), s, k;
	const struct shape *shape;

	if (order != NULL && first != NULL) {
		rows_by_shape(&b->rows[0].shape, sizeof(struct row) / sizeof(uint32_t), b->n_rows,
		    b->n_shapes, order, first);
		for (s = 0; s < b->n_shapes; s++)
			for (shape = &b->shapes[s], k = 0; k < shape->n_attrs; k++)
				p = put_column(b, p, order + first[s], first[s + 1] - first[s], k,
				    b->attrs[shape->first_attr + k].type & TYPE_MASK);
	} else {
		p = NULL;
	}
	free(order);
	free(first);
	return p;
}
_Static_assert(sizeof(struct row) % sizeof(uint32_t) == 0, "rows_by_shape() strides over rows");

int
nw_events_finish(struct nw_events *b, const uint8_t **bytes, size_t *len)
{
	uint8_t *p;
	size_t i;

	if (b->n_rows == 0)
		return NW_EINVAL;
	if (!array_room(&b->out, &b->cap_out, b->bytes, 1))
		return NW_ENOMEM;
	if (b->unsorted)
		qsort(b->rows, b->n_rows, sizeof(*b->rows), row_compare);
	b->unsorted = false;
	for (i = 0; i < b->n_rows; i++)
		b->rows[i].number = (uint32_t)i; /* further events come behind these */
	p = put_varint(b->out, b->n_texts);
	if (b->text_len > 0)
		memcpy(p, b->text, b->text_len);
	p = put_shapes(b, p + b->text_len);
	p = put_le64(put_varint(p, b->n_rows), (uint64_t)b->rows[0].t);
	for (i = 1; i < b->n_rows; i++)
		p = put_varint(p, (uint64_t)b->rows[i].t - (uint64_t)b->rows[i - 1].t);
	for (i = 0; i < b->n_rows; i++)
		p = put_varint(p, b->rows[i].shape);
	if ((p = put_columns(b, p)) == NULL)
		return NW_ENOMEM;
	*bytes = b->out;
	*len = (size_t)(p - b->out);
	return NW_OK;
}

/* --- from bytes --- */

struct nw_event_block {
	const char **texts;
	size_t n_texts, cap_texts;
	struct shape *shapes;
	size_t n_shapes, cap_shapes;
	struct shape_attr *attrs;
	size_t n_attrs, cap_attrs;
	int64_t *t;
	uint32_t *shape_of;
	size_t *first_cell;
	uint64_t *cells;
	uint32_t *order;
	size_t *first;
	size_t n_rows, cap_t, cap_shape_of, cap_first_cell, cap_cells, cap_order, cap_first;
	struct nw_attr out[NW_EVENT_ATTRS_MAX];
	const char *why;
};

struct in {
	const uint8_t *at, *end;
};

struct nw_event_block *
nw_event_block_new(void)
{
	return calloc(1, sizeof(struct nw_event_block));
}

void
nw_event_block_free(struct nw_event_block *b)
{
	if (b == NULL)
		return;
	free(b->texts);
	free(b->shapes);
	free(b->attrs);
	free(b->t);
	free(b->shape_of);
	free(b->first_cell);
	free(b->cells);
	free(b->order);
	free(b->first);
	free(b);
}

size_t
nw_event_block_count(const struct nw_event_block *b)
{
	return b->n_rows;
}

int64_t
nw_event_block_time(const struct nw_event_block *b, size_t i)
{
	return b->t[i];
}

static int
bad(struct nw_event_block *b, const char *why)
{
	b->why = why;
	return NW_EPROTO;
}

static bool
take_varint(struct in *in, uint64_t *v)
{
	unsigned shift;

	*v = 0;
	for (shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		*v |= (uint64_t)(*in->at & 0x7f) << shift;
		if (*in->at++ < 0x80)
			return true;
	}
	return false;
}

/* A count of things that take at least a byte each. */
static bool
take_count(struct in *in, uint64_t *v)
{
	return take_varint(in, v) && *v <= (uint64_t)(in->end - in->at);
}

static bool
text_is_utf8(const char *s, size_t len)
{
	size_t n;

	for (; len > 0; s += n, len -= n) {
		if (len >= 8) {
			uint64_t v;

			memcpy(&v, s, 8);
			if ((v & UINT64_C(0x8080808080808080)) == 0) {
				n = 8;
				continue;
			}
		}
		if ((n = utf8_length(s, len)) == 0)
			return false;
	}
	return true;
}

static int
take_texts(struct nw_event_block *b, struct in *in)
{
	const uint8_t *nul;
	uint64_t n;

	if (!take_count(in, &n))
		return bad(b, "texts of a block are cut short");
	if (!array_room(&b->texts, &b->cap_texts, (size_t)n, sizeof(*b->texts)))
		return NW_ENOMEM;
	for (b->n_texts = 0; b->n_texts < n; b->n_texts++) {
		if ((nul = memchr(in->at, 0, (size_t)(in->end - in->at))) == NULL)
			return bad(b, "texts of a block are cut short");
		if (nul - in->at >= NW_EVENT_TEXT_MAX_BYTES)
			return bad(b, "a text of a block is too long");
		if (!text_is_utf8((const char *)in->at, (size_t)(nul - in->at)))
			return bad(b, "a text of a block is not UTF-8");
		b->texts[b->n_texts] = (const char *)in->at;
		in->at = nul + 1;
	}
	return NW_OK;
}

static int
take_shape(struct nw_event_block *b, struct in *in)
{
	struct shape *s = &b->shapes[b->n_shapes];
	uint64_t v;
	size_t k;

	for (k = 0; k < 4; k++) {
		if (!take_varint(in, &v) || v > b->n_texts)
			return bad(b, "a shape of a block names a text that is not there");
		s->head[k] = (uint32_t)v;
	}
	if (s->head[2] == 0 || b->texts[s->head[2] - 1][0] == '\0')
		return bad(b, "an event without a name");
	if (!take_count(in, &v) || v > NW_EVENT_ATTRS_MAX)
		return bad(b, "an event with too many attributes");
	s->n_attrs = (uint32_t)v;
	s->first_attr = b->n_attrs;
	if (!array_room(&b->attrs, &b->cap_attrs, b->n_attrs + s->n_attrs, sizeof(*b->attrs)))
		return NW_ENOMEM;
	for (k = 0; k < s->n_attrs; k++) {
		if (!take_varint(in, &v) || v >= b->n_texts || in->at == in->end ||
		    (*in->at & ~(TYPE_MASK | TYPE_ID)) != 0 || (*in->at & TYPE_MASK) > NW_ATTR_TEXT)
			return bad(b, "a bad attribute in a block");
		b->attrs[b->n_attrs++] = (struct shape_attr){ (uint32_t)v, *in->at++ };
	}
	b->n_shapes++;
	return NW_OK;
}

static int
take_shapes(struct nw_event_block *b, struct in *in)
{
	uint64_t n;
	int rc = NW_OK;

	b->n_shapes = b->n_attrs = 0;
	if (!take_count(in, &n))
		return bad(b, "shapes of a block are cut short");
	if (!array_room(&b->shapes, &b->cap_shapes, (size_t)n, sizeof(*b->shapes)))
		return NW_ENOMEM;
	while (rc == NW_OK && b->n_shapes < n)
		rc = take_shape(b, in);
	return rc;
}

static int
take_times(struct nw_event_block *b, struct in *in)
{
	uint64_t n, t = 0, step;
	size_t i;

	b->n_rows = 0;
	if (!take_varint(in, &n) || n == 0 || n > NW_EVENT_BLOCK_ROWS_MAX)
		return bad(b, "a block with no or too many events");
	if ((uint64_t)(in->end - in->at) < 8 + (n - 1) + n)
		return bad(b, "events of a block are cut short");
	if (!array_room(&b->t, &b->cap_t, (size_t)n, sizeof(*b->t)))
		return NW_ENOMEM;
	for (i = 0; i < 8; i++)
		t |= (uint64_t)*in->at++ << 8 * i;
	b->t[0] = (int64_t)t;
	for (i = 1; i < n; i++) {
		if (!take_varint(in, &step))
			return bad(b, "times of a block are cut short");
		b->t[i] = (int64_t)(t += step);
		if (b->t[i] < b->t[i - 1])
			return bad(b, "times of a block fall");
	}
	b->n_rows = (size_t)n;
	return NW_OK;
}

static int
take_shapes_of_rows(struct nw_event_block *b, struct in *in)
{
	size_t i, n_cells = 0;
	uint64_t v;

	if (!array_room(&b->shape_of, &b->cap_shape_of, b->n_rows, sizeof(*b->shape_of)) ||
	    !array_room(&b->first_cell, &b->cap_first_cell, b->n_rows, sizeof(*b->first_cell)) ||
	    !array_room(&b->order, &b->cap_order, b->n_rows, sizeof(*b->order)) ||
	    !array_room(&b->first, &b->cap_first, b->n_shapes + 1, sizeof(*b->first)))
		return NW_ENOMEM;
	for (i = 0; i < b->n_rows; i++) {
		if (!take_varint(in, &v) || v >= b->n_shapes)
			return bad(b, "an event of a shape that is not there");
		b->shape_of[i] = (uint32_t)v;
		b->first_cell[i] = n_cells;
		n_cells += b->shapes[v].n_attrs;
	}
	if (n_cells > (size_t)(in->end - in->at)) /* a byte each, at least */
		return bad(b, "columns of a block are cut short");
	return array_room(&b->cells, &b->cap_cells, n_cells + 1, sizeof(*b->cells)) ? NW_OK
										    : NW_ENOMEM;
}

static int
take_column(struct nw_event_block *b, struct in *in, size_t shape, size_t k)
{
	int type = b->attrs[b->shapes[shape].first_attr + k].type & TYPE_MASK;
	uint64_t v = 0, step;
	size_t i, j;

	for (i = b->first[shape]; i < b->first[shape + 1]; i++) {
		if (type == NW_ATTR_REAL) {
			if (in->end - in->at < 8)
				return bad(b, "columns of a block are cut short");
			for (v = 0, j = 0; j < 8; j++)
				v |= (uint64_t)*in->at++ << 8 * j;
		} else if (!take_varint(in, &step)) {
			return bad(b, "columns of a block are cut short");
		} else if (type == NW_ATTR_INT) {
			v += step >> 1 ^ (step & 1 ? UINT64_MAX : 0);
		} else if ((v = step) >= b->n_texts) {
			return bad(b, "a value names a text that is not there");
		}
		b->cells[b->first_cell[b->order[i]] + k] = v;
	}
	return NW_OK;
}

int
nw_event_block_read(struct nw_event_block *b, const uint8_t *bytes, size_t len, const char **why)
{
	struct in in = { bytes, bytes + len };
	size_t s, k;
	int rc;

	b->n_rows = 0;
	b->why = NULL;
	if ((rc = take_texts(b, &in)) == NW_OK && (rc = take_shapes(b, &in)) == NW_OK &&
	    (rc = take_times(b, &in)) == NW_OK)
		rc = take_shapes_of_rows(b, &in);
	if (rc == NW_OK)
		rows_by_shape(b->shape_of, 1, b->n_rows, b->n_shapes, b->order, b->first);
	for (s = 0; rc == NW_OK && s < b->n_shapes; s++)
		for (k = 0; rc == NW_OK && k < b->shapes[s].n_attrs; k++)
			rc = take_column(b, &in, s, k);
	if (rc == NW_OK && in.at != in.end)
		rc = bad(b, "bytes behind the columns of a block");
	if (rc != NW_OK)
		b->n_rows = 0;
	*why = b->why != NULL ? b->why : nw_strerror(rc);
	return rc;
}

static const char *
head_text(const struct nw_event_block *b, const struct shape *s, int which)
{
	return s->head[which] == 0 ? NULL : b->texts[s->head[which] - 1];
}

void
nw_event_block_get(struct nw_event_block *b, size_t i, struct nw_event *out)
{
	const struct shape *s = &b->shapes[b->shape_of[i]];
	const uint64_t *cell = &b->cells[b->first_cell[i]];
	const struct shape_attr *a = s->n_attrs == 0 ? NULL : &b->attrs[s->first_attr];
	struct nw_attr *to = b->out;
	size_t k;

	*out = (struct nw_event){ .t_wall_ns = b->t[i],
		.host = head_text(b, s, 0),
		.program = head_text(b, s, 1),
		.name = head_text(b, s, 2),
		.level = head_text(b, s, 3),
		.n_attrs = s->n_attrs,
		.attrs = to };
	for (k = 0; k < s->n_attrs; k++, to++, a++) {
		to->key = b->texts[a->key];
		to->type = a->type & TYPE_MASK;
		to->is_id = (a->type & TYPE_ID) != 0;
		switch (to->type) {
		case NW_ATTR_INT: to->v.i = (int64_t)cell[k]; break;
		case NW_ATTR_REAL: memcpy(&to->v.d, &cell[k], sizeof(to->v.d)); break;
		case NW_ATTR_TEXT: to->v.text = b->texts[cell[k]]; break;
		}
	}
}
