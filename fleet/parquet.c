/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/parquet.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum { ZSTD_LEVEL = 3, PAGE_MAX_BYTES = 2000000000 };
/* Numbers of the format. */
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTES = 6 };
enum { OPTIONAL = 1, CONVERTED_UTF8 = 0, CODEC_ZSTD = 6, PLAIN = 0, RLE = 3, DATA_PAGE = 0 };
/* Types of Thrift's compact protocol. */
enum { T_TRUE = 1, T_I32 = 5, T_I64 = 6, T_BYTES = 8, T_LIST = 9, T_STRUCT = 12 };

/* --- bytes --- */

struct bytes {
	uint8_t *b;
	size_t n, cap;
};

static void
put(struct bytes *o, const void *data, size_t len)
{
	if (!array_room(&o->b, &o->cap, o->n + len, 1))
		abort();
	if (len > 0)
		memcpy(o->b + o->n, data, len);
	o->n += len;
}

static void
put_varint(struct bytes *o, uint64_t v)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		put(o, &byte, 1);
	} while ((v >>= 7) != 0);
}

static void
put_le(struct bytes *o, uint64_t v, size_t len)
{
	uint8_t b[8];
	size_t i;

	for (i = 0; i < len; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	put(o, b, len);
}

/* --- Thrift: fields of a structure, in rising order of their ids --- */

static void
field(struct bytes *o, int *last, int id, int type)
{
	uint8_t head = (uint8_t)(((id - *last) << 4) | type);

	put(o, &head, 1); /* no two ids are more than 15 apart */
	*last = id;
}

static void
zigzag(struct bytes *o, int64_t v)
{
	put_varint(o, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

static void
number(struct bytes *o, int *last, int id, int type, int64_t v)
{
	field(o, last, id, type);
	zigzag(o, v);
}

static void
text(struct bytes *o, const char *s)
{
	put_varint(o, strlen(s));
	put(o, s, strlen(s));
}

static void
list(struct bytes *o, int *last, int id, int type, size_t n)
{
	uint8_t head = (uint8_t)((n < 15 ? n << 4 : 0xf0) | (size_t)type);

	field(o, last, id, T_LIST);
	put(o, &head, 1);
	if (n >= 15)
		put_varint(o, n);
}

static void
stop(struct bytes *o)
{
	put(o, "", 1);
}

/* --- the file --- */

struct chunk {
	int64_t offset, packed, plain; /* of a page with its header */
};

struct group {
	struct chunk column[FLEET_COLUMNS];
	size_t n;
};

struct parquet {
	FILE *f;
	const struct fleet_table *table;
	int64_t at; /* bytes written */
	struct group *groups;
	size_t n_groups, cap;
	int rc;
};

static int
type_of(enum fleet_type t)
{
	return t == FLEET_TEXT || t == FLEET_BYTES ? TYPE_BYTES
	    : t == FLEET_REAL                      ? TYPE_DOUBLE
						   : TYPE_INT64;
}

static void
out(struct parquet *p, const void *data, size_t len)
{
	if (p->rc == NW_OK && fwrite(data, 1, len, p->f) != len)
		p->rc = NW_EIO;
	p->at += (int64_t)len;
}

struct parquet *
parquet_begin(FILE *f, enum fleet_table_id table)
{
	struct parquet *p = xcalloc(1, sizeof(*p));

	p->f = f;
	p->table = &fleet_tables[table];
	out(p, "PAR1", 4);
	return p;
}

/* A bit for each row, 1 for a value: bit-packed groups of eight, of the hybrid encoding. */
static void
levels_put(struct bytes *o, const struct fleet_rows *rows, size_t column)
{
	struct bytes bits = { 0 };
	uint8_t byte;
	size_t i;

	put_varint(&bits, ((rows->n + 7) / 8) << 1 | 1);
	for (i = 0, byte = 0; i < rows->n; i++) {
		byte |= (uint8_t)(rows->row[i].cell[column].known << (i % 8));
		if (i % 8 == 7 || i + 1 == rows->n) {
			put(&bits, &byte, 1);
			byte = 0;
		}
	}
	put_le(o, bits.n, 4);
	put(o, bits.b, bits.n);
	free(bits.b);
}

static void
values_put(struct bytes *o, const struct fleet_rows *rows, size_t column)
{
	const enum fleet_type type = fleet_tables[rows->table].column[column].type;
	uint64_t raw;
	size_t i, len;

	for (i = 0; i < rows->n; i++) {
		const struct fleet_cell *c = &rows->row[i].cell[column];

		if (!c->known)
			continue;
		if (type_of(type) == TYPE_BYTES) {
			len = type == FLEET_TEXT ? strlen(c->text) : c->len;
			put_le(o, len, 4);
			put(o, c->text, len);
		} else if (type == FLEET_REAL) {
			memcpy(&raw, &c->d, sizeof(raw));
			put_le(o, raw, 8);
		} else
			put_le(o, (uint64_t)c->i, 8);
	}
}

static void
page_head(struct bytes *o, size_t n, size_t plain, size_t packed)
{
	int last = 0, inner = 0;

	number(o, &last, 1, T_I32, DATA_PAGE);
	number(o, &last, 2, T_I32, (int64_t)plain);
	number(o, &last, 3, T_I32, (int64_t)packed);
	field(o, &last, 5, T_STRUCT);
	number(o, &inner, 1, T_I32, (int64_t)n);
	number(o, &inner, 2, T_I32, PLAIN);
	number(o, &inner, 3, T_I32, RLE);
	number(o, &inner, 4, T_I32, RLE);
	stop(o);
	stop(o);
}

static void
column_write(struct parquet *p, const struct fleet_rows *rows, size_t column, struct chunk *chunk)
{
	struct bytes plain = { 0 }, head = { 0 };
	void *packed = NULL;
	size_t len = 0, room;

	levels_put(&plain, rows, column);
	values_put(&plain, rows, column);
	room = ZSTD_compressBound(plain.n);
	if (room > PAGE_MAX_BYTES)
		p->rc = NW_ETOOBIG;
	else if ((packed = malloc(room)) == NULL)
		p->rc = NW_ENOMEM;
	else if (ZSTD_isError(len = ZSTD_compress(packed, room, plain.b, plain.n, ZSTD_LEVEL)))
		p->rc = NW_ENOMEM;
	if (p->rc == NW_OK) {
		page_head(&head, rows->n, plain.n, len);
		*chunk =
		    (struct chunk){ p->at, (int64_t)(head.n + len), (int64_t)(head.n + plain.n) };
		out(p, head.b, head.n);
		out(p, packed, len);
	}
	free(head.b);
	free(plain.b);
	free(packed);
}

int
parquet_group(struct parquet *p, const struct fleet_rows *rows)
{
	struct group *g;
	size_t c;

	if (p->rc < 0 || rows->n == 0)
		return p->rc;
	if (!array_room(&p->groups, &p->cap, p->n_groups + 1, sizeof(*p->groups)))
		return p->rc = NW_ENOMEM;
	g = &p->groups[p->n_groups++];
	*g = (struct group){ .n = rows->n };
	for (c = 0; c < p->table->n && p->rc == NW_OK; c++)
		column_write(p, rows, c, &g->column[c]);
	return p->rc;
}

/* --- the end of the file --- */

static void
schema_put(struct bytes *o, int *last, const struct fleet_table *table)
{
	int e, l, t;
	size_t c;

	list(o, last, 2, T_STRUCT, table->n + 1);
	e = 0;
	field(o, &e, 4, T_BYTES);
	text(o, table->name);
	number(o, &e, 5, T_I32, (int64_t)table->n);
	stop(o);
	for (c = 0; c < table->n; c++) {
		e = l = t = 0;
		number(o, &e, 1, T_I32, type_of(table->column[c].type));
		number(o, &e, 3, T_I32, OPTIONAL);
		field(o, &e, 4, T_BYTES);
		text(o, table->column[c].name);
		if (table->column[c].type == FLEET_TEXT) {
			number(o, &e, 6, T_I32, CONVERTED_UTF8);
			field(o, &e, 10, T_STRUCT); /* logical type: string */
			field(o, &l, 1, T_STRUCT);
			stop(o);
			stop(o);
		} else if (table->column[c].type == FLEET_TIME) {
			field(o, &e, 10, T_STRUCT); /* logical type: timestamp */
			field(o, &l, 8, T_STRUCT);
			field(o, &t, 1, T_TRUE); /* UTC */
			field(o, &t, 2, T_STRUCT);
			t = 0;
			field(o, &t, 3, T_STRUCT); /* nanoseconds */
			stop(o);
			stop(o);
			stop(o);
			stop(o);
		}
		stop(o);
	}
}

static void
chunk_put(struct bytes *o, const struct fleet_table *table, const struct group *g, size_t c)
{
	const struct chunk *k = &g->column[c];
	int e = 0, m = 0;

	number(o, &e, 2, T_I64, k->offset);
	field(o, &e, 3, T_STRUCT);
	number(o, &m, 1, T_I32, type_of(table->column[c].type));
	list(o, &m, 2, T_I32, 2);
	zigzag(o, PLAIN);
	zigzag(o, RLE);
	list(o, &m, 3, T_BYTES, 1);
	text(o, table->column[c].name);
	number(o, &m, 4, T_I32, CODEC_ZSTD);
	number(o, &m, 5, T_I64, (int64_t)g->n);
	number(o, &m, 6, T_I64, k->plain);
	number(o, &m, 7, T_I64, k->packed);
	number(o, &m, 9, T_I64, k->offset);
	stop(o);
	stop(o);
}

static void
groups_put(struct bytes *o, int *last, const struct parquet *p)
{
	int64_t plain;
	size_t g, c;
	int e;

	list(o, last, 4, T_STRUCT, p->n_groups);
	for (g = 0; g < p->n_groups; g++) {
		e = 0;
		plain = 0;
		list(o, &e, 1, T_STRUCT, p->table->n);
		for (c = 0; c < p->table->n; c++) {
			chunk_put(o, p->table, &p->groups[g], c);
			plain += p->groups[g].column[c].plain;
		}
		number(o, &e, 2, T_I64, plain);
		number(o, &e, 3, T_I64, (int64_t)p->groups[g].n);
		stop(o);
	}
}

int
parquet_end(struct parquet *p)
{
	struct bytes o = { 0 };
	int64_t n_rows = 0;
	int last = 0, rc;
	size_t g, len;

	for (g = 0; g < p->n_groups; g++)
		n_rows += (int64_t)p->groups[g].n;
	number(&o, &last, 1, T_I32, 2);
	schema_put(&o, &last, p->table);
	number(&o, &last, 3, T_I64, n_rows);
	groups_put(&o, &last, p);
	field(&o, &last, 6, T_BYTES);
	text(&o, "narrows " NW_VERSION);
	stop(&o);
	len = o.n;
	put_le(&o, len, 4);
	put(&o, "PAR1", 4);
	out(p, o.b, o.n);
	rc = p->rc;
	free(o.b);
	free(p->groups);
	free(p);
	return rc;
}
