/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/rowpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static const char magic[4] = { 'N', 'W', 'F', '1' };

/* --- writing --- */

static void
put_le(FILE *f, uint64_t v, int bytes)
{
	for (; bytes > 0; bytes--, v >>= 8)
		fputc((int)(v & 0xff), f);
}

static void
put_text(FILE *f, const char *text)
{
	size_t len = strlen(text);

	put_le(f, len, 4);
	fwrite(text, 1, len, f);
}

static bool
put_cell(FILE *f, const struct fleet_cell *c, enum fleet_type type)
{
	uint64_t raw = (uint64_t)c->i;

	fputc(c->known ? 1 : 0, f);
	if (!c->known)
		return true;
	if (type == FLEET_TEXT) {
		if (strlen(c->text) > UINT32_MAX)
			return false;
		put_text(f, c->text);
		return true;
	}
	if (type == FLEET_REAL)
		memcpy(&raw, &c->d, sizeof(raw));
	put_le(f, raw, 8);
	return true;
}

int
rowpack_write(const struct fleet_row *rows, size_t n, char **bytes, size_t *len)
{
	FILE *f = open_memstream(bytes, len);
	bool fits = n <= ROWPACK_ROWS_MAX;
	size_t i, c;

	if (f == NULL)
		return NW_ENOMEM;
	fwrite(magic, 1, sizeof(magic), f);
	put_le(f, FLEET_COLUMNS, 2);
	for (c = 0; c < FLEET_COLUMNS; c++)
		put_text(f, fleet_columns[c].name);
	put_le(f, n, 4);
	for (i = 0; fits && i < n; i++)
		for (c = 0; fits && c < FLEET_COLUMNS; c++)
			fits = put_cell(f, &rows[i].cell[c], fleet_columns[c].type);
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

/* The bytes of a text, on loan; NULL if the text is cut off or has a NUL. */
static const char *
take_text(struct input *in, size_t *len)
{
	const char *text;

	*len = (size_t)take_le(in, 4);
	text = in->at;
	if (in->bad || (size_t)(in->end - in->at) < *len || memchr(text, 0, *len) != NULL) {
		in->bad = true;
		return NULL;
	}
	in->at += *len;
	return text;
}

static void
text_keep(struct fleet_cell *cell, const char *text, size_t len)
{
	free(cell->text);
	if ((cell->text = strndup(text, len)) == NULL)
		abort();
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
	if (type == FLEET_TEXT) {
		if ((text = take_text(in, &len)) != NULL)
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

/* The peer's columns, in the peer's order; false: a column is unknown, or stands twice. */
static bool
columns_take(struct input *in, enum fleet_column order[FLEET_COLUMNS], size_t *n)
{
	bool has[FLEET_COLUMNS] = { false };
	size_t i, c, len;
	const char *name;

	*n = (size_t)take_le(in, 2);
	if (*n > FLEET_COLUMNS)
		return false;
	for (i = 0; i < *n; i++) {
		if ((name = take_text(in, &len)) == NULL)
			return false;
		for (c = 0; c < FLEET_COLUMNS; c++)
			if (strlen(fleet_columns[c].name) == len &&
			    memcmp(fleet_columns[c].name, name, len) == 0)
				break;
		if (c == FLEET_COLUMNS || has[c])
			return false;
		has[c] = true;
		order[i] = (enum fleet_column)c;
	}
	return has[FLEET_session] && has[FLEET_judged_ns] && has[FLEET_start_ns];
}

int
rowpack_read(const char *bytes, size_t len, struct fleet_rows *rows)
{
	struct input in = { bytes, bytes + len, false };
	enum fleet_column order[FLEET_COLUMNS];
	struct fleet_row *r;
	size_t n, i, columns;

	if (len < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return NW_EPROTO;
	in.at += sizeof(magic);
	if (!columns_take(&in, order, &columns))
		return NW_EPROTO;
	/* each row has a byte for each column, so the bytes bound the rows */
	for (n = (size_t)take_le(&in, 4); n > 0 && !in.bad; n--) {
		r = fleet_rows_add(rows);
		for (i = 0; i < columns && !in.bad; i++)
			take_cell(&in, &r->cell[order[i]], fleet_columns[order[i]].type);
		if (!r->cell[FLEET_session].known || !r->cell[FLEET_judged_ns].known ||
		    !r->cell[FLEET_start_ns].known)
			in.bad = true;
	}
	return !in.bad && in.at == in.end ? NW_OK : NW_EPROTO;
}
