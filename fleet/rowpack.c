/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/rowpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static const char magic[4] = { 'N', 'W', 'F', '2' }, magic_sessions[4] = { 'N', 'W', 'F', '1' };

/* --- writing --- */

static void
put_le(FILE *f, uint64_t v, int bytes)
{
	for (; bytes > 0; bytes--, v >>= 8)
		fputc((int)(v & 0xff), f);
}

static void
put_bytes(FILE *f, const char *bytes, size_t len)
{
	put_le(f, len, 4);
	fwrite(bytes, 1, len, f);
}

static void
put_text(FILE *f, const char *text)
{
	put_bytes(f, text, strlen(text));
}

static bool
put_cell(FILE *f, const struct fleet_cell *c, enum fleet_type type)
{
	uint64_t raw = (uint64_t)c->i;
	size_t len;

	fputc(c->known ? 1 : 0, f);
	if (!c->known)
		return true;
	if (type == FLEET_TEXT || type == FLEET_BYTES) {
		len = type == FLEET_TEXT ? strlen(c->text) : c->len;
		if (len > UINT32_MAX)
			return false;
		put_bytes(f, c->text, len);
		return true;
	}
	if (type == FLEET_REAL)
		memcpy(&raw, &c->d, sizeof(raw));
	put_le(f, raw, 8);
	return true;
}

int
rowpack_write(const struct fleet_rows *rows, char **bytes, size_t *len)
{
	const struct fleet_table *t = &fleet_tables[rows->table];
	FILE *f = open_memstream(bytes, len);
	bool fits = rows->n <= ROWPACK_ROWS_MAX;
	size_t i, c;

	if (f == NULL)
		return NW_ENOMEM;
	/* an older box knows sessions alone */
	fwrite(rows->table == FLEET_SESSIONS ? magic_sessions : magic, 1, sizeof(magic), f);
	if (rows->table != FLEET_SESSIONS)
		put_text(f, t->name);
	put_le(f, t->n, 2);
	for (c = 0; c < t->n; c++)
		put_text(f, t->column[c].name);
	put_le(f, rows->n, 4);
	for (i = 0; fits && i < rows->n; i++)
		for (c = 0; fits && c < t->n; c++)
			fits = put_cell(f, &rows->row[i].cell[c], t->column[c].type);
	if (fclose(f) == 0 && fits)
		return NW_OK;
	free(*bytes);
	*bytes = NULL;
	return fits ? NW_ENOMEM : NW_ETOOBIG;
}

/* --- reading --- */

struct input {
	const char *at, *end;
	bool bad; /* bytes were missing, or are wrong */
};

static uint64_t
take_le(struct input *in, size_t bytes)
{
	uint64_t v = 0;
	size_t i;

	if ((size_t)(in->end - in->at) < bytes) {
		in->bad = true;
		return 0;
	}
	for (i = 0; i < bytes; i++)
		v |= (uint64_t)(unsigned char)in->at[i] << (8 * i);
	in->at += bytes;
	return v;
}

/* Bytes behind their number, on loan; NULL if they are cut off. */
static const char *
take_bytes(struct input *in, size_t *len)
{
	const char *bytes;

	*len = (size_t)take_le(in, 4);
	bytes = in->at;
	if (in->bad || (size_t)(in->end - in->at) < *len) {
		in->bad = true;
		return NULL;
	}
	in->at += *len;
	return bytes;
}

/* The same for a text, which has no NUL. */
static const char *
take_text(struct input *in, size_t *len)
{
	const char *text = take_bytes(in, len);

	in->bad = in->bad || memchr(text, 0, *len) != NULL;
	return in->bad ? NULL : text;
}

static void
text_keep(struct fleet_cell *cell, const char *text, size_t len)
{
	free(cell->text);
	if ((cell->text = malloc(len + 1)) == NULL)
		abort();
	memcpy(cell->text, text, len);
	cell->text[len] = '\0';
	cell->len = len;
	cell->known = true;
}

static void
take_cell(struct input *in, struct fleet_cell *cell, enum fleet_type type)
{
	uint64_t known = take_le(in, 1), raw;
	const char *text;
	size_t len;

	if (known > 1)
		in->bad = true;
	if (in->bad || known == 0)
		return;
	if (type == FLEET_TEXT || type == FLEET_BYTES) {
		text = type == FLEET_TEXT ? take_text(in, &len) : take_bytes(in, &len);
		if (text != NULL)
			text_keep(cell, text, len);
		return;
	}
	raw = take_le(in, 8);
	cell->known = !in->bad;
	if (type == FLEET_REAL) {
		memcpy(&cell->d, &raw, sizeof(raw));
		in->bad = in->bad || !isfinite(cell->d);
	} else
		cell->i = (int64_t)raw;
}

static bool
is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Returns false if no table has the peer's name. */
static bool
table_take(struct input *in, enum fleet_table_id *table)
{
	const char *name;
	size_t len, t = 0;

	*table = FLEET_SESSIONS;
	if (memcmp(in->at, magic_sessions, sizeof(magic)) == 0) {
		in->at += sizeof(magic);
		return true;
	}
	in->at += sizeof(magic);
	if (memcmp(in->at - sizeof(magic), magic, sizeof(magic)) != 0 ||
	    (name = take_text(in, &len)) == NULL)
		return false;
	while (t < FLEET_TABLES && !is_name(fleet_tables[t].name, name, len))
		t++;
	if (t < FLEET_TABLES)
		*table = (enum fleet_table_id)t;
	return t < FLEET_TABLES;
}

/* Whether a row must have the column; the receiver knows the site. */
static bool
is_needed(const struct fleet_table *t, size_t column)
{
	return column > 0 && (column < t->n_key || column == t->judged || column == t->start);
}

/* The peer's columns, in the peer's order; false: a column is unknown, or stands twice. */
static bool
columns_take(struct input *in, const struct fleet_table *t, size_t order[FLEET_COLUMNS], size_t *n)
{
	bool has[FLEET_COLUMNS] = { false };
	size_t i, c, len;
	const char *name;

	*n = (size_t)take_le(in, 2);
	if (*n > t->n)
		return false;
	for (i = 0; i < *n; i++) {
		if ((name = take_text(in, &len)) == NULL)
			return false;
		for (c = 0; c < t->n && !is_name(t->column[c].name, name, len); c++)
			continue;
		if (c == t->n || has[c])
			return false;
		has[c] = true;
		order[i] = c;
	}
	for (c = 0; c < t->n; c++)
		if (is_needed(t, c) && !has[c])
			return false;
	return true;
}

int
rowpack_read(const char *bytes, size_t len, struct fleet_rows *rows)
{
	struct input in = { bytes, bytes + len, false };
	const struct fleet_table *t;
	size_t order[FLEET_COLUMNS], n, i, columns;
	struct fleet_row *r;

	if (len < sizeof(magic) || !table_take(&in, &rows->table))
		return NW_EPROTO;
	t = &fleet_tables[rows->table];
	if (!columns_take(&in, t, order, &columns))
		return NW_EPROTO;
	/* each row has a byte for each column, so the bytes bound the rows */
	for (n = (size_t)take_le(&in, 4); n > 0 && !in.bad; n--) {
		r = fleet_rows_add(rows);
		for (i = 0; i < columns && !in.bad; i++)
			take_cell(&in, &r->cell[order[i]], t->column[order[i]].type);
		for (i = 0; i < t->n; i++)
			in.bad = in.bad || (is_needed(t, i) && !r->cell[i].known);
	}
	return !in.bad && in.at == in.end ? NW_OK : NW_EPROTO;
}
