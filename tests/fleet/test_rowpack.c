/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows come back as they went; each cut of the bytes is refused, and so are rows without a key. */
#include <stdlib.h>

#include "fleet/rowpack.h"
#include "narrows/err.h"
#include "tests/check.h"

static void
rows_make(struct fleet_rows *rows)
{
	struct fleet_row *r = fleet_rows_add(rows);

	r->cell[FLEET_session] = (struct fleet_cell){ .known = true, .i = INT64_MAX };
	r->cell[FLEET_judged_ns] = (struct fleet_cell){ .known = true, .i = -1 };
	r->cell[FLEET_start_ns] = (struct fleet_cell){ .known = true, .i = 0 };
	r->cell[FLEET_bytes] = (struct fleet_cell){ .known = true, .d = 5e-324 };
	fleet_text_set(r, FLEET_route, "");
	fleet_text_set(r, FLEET_sentence, "gr\xc3\xbc\xc3\x9f\n\"");
	r = fleet_rows_add(rows);
	r->cell[FLEET_session].known = r->cell[FLEET_judged_ns].known =
	    r->cell[FLEET_start_ns].known = true;
}

static void
check_same(enum fleet_table_id table, const struct fleet_row *a, const struct fleet_row *b)
{
	const struct fleet_table *t = &fleet_tables[table];
	size_t c;

	for (c = 0; c < t->n; c++) {
		CHECK_INT(a->cell[c].known, b->cell[c].known);
		if (a->cell[c].known && t->column[c].type == FLEET_TEXT)
			CHECK_STR(a->cell[c].text, b->cell[c].text);
		else if (a->cell[c].known && t->column[c].type == FLEET_BYTES) {
			CHECK_INT(a->cell[c].len, b->cell[c].len);
			CHECK(memcmp(a->cell[c].text, b->cell[c].text, a->cell[c].len) == 0);
		} else if (a->cell[c].known && t->column[c].type == FLEET_REAL)
			CHECK(a->cell[c].d == b->cell[c].d);
		else
			CHECK_INT(a->cell[c].i, b->cell[c].i);
	}
}

/* The other tables have names on the way; bytes may have NULs; a row lacks no part of its key. */
static void
check_tables(void)
{
	struct fleet_rows in = { 0 }, out = { 0 };
	struct fleet_row *r;
	char *bytes;
	size_t len, t, c;

	for (t = FLEET_LEVELS; t < FLEET_TABLES; t++) {
		in.table = (enum fleet_table_id)t;
		r = fleet_rows_add(&in);
		for (c = 1; c < fleet_tables[t].n; c++)
			if (fleet_tables[t].column[c].type == FLEET_TEXT)
				fleet_text_set(r, c, "x");
			else if (fleet_tables[t].column[c].type == FLEET_BYTES)
				fleet_bytes_set(r, c, "\0\1\0", 3);
			else
				fleet_int_set(r, c, (int64_t)c);
		CHECK_INT(rowpack_write(&in, &bytes, &len), NW_OK);
		CHECK_INT(rowpack_read(bytes, len, &out), NW_OK);
		CHECK_INT(out.table, t);
		CHECK_INT(out.n, 1);
		if (out.n == 1)
			check_same(in.table, &in.row[0], &out.row[0]);
		bytes[8] ^= 1; /* the first letter of the table's name */
		fleet_rows_clear(&out);
		CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
		free(bytes);
		in.row[0].cell[fleet_tables[t].n_key - 1].known = false;
		CHECK_INT(rowpack_write(&in, &bytes, &len), NW_OK);
		fleet_rows_clear(&out);
		CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
		fleet_rows_clear(&out);
		fleet_rows_clear(&in);
		free(bytes);
	}
}

int
main(void)
{
	struct fleet_rows in = { 0 }, out = { 0 };
	char *bytes, *cut;
	size_t len, i;

	check_tables();
	rows_make(&in);
	CHECK_INT(rowpack_write(&in, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_OK);
	CHECK_INT(out.n, 2);
	for (i = 0; i < in.n && i < out.n; i++)
		check_same(FLEET_SESSIONS, &in.row[i], &out.row[i]);
	fleet_rows_clear(&out);
	for (i = 0; i < len; i++) {
		cut = malloc(i + 1); /* of its own, so that a sanitizer sees a read behind it */
		memcpy(cut, bytes, i);
		CHECK_INT(rowpack_read(cut, i, &out), NW_EPROTO);
		fleet_rows_clear(&out);
		free(cut);
	}
	free(bytes);
	in.row[1].cell[FLEET_judged_ns].known = false;
	CHECK_INT(rowpack_write(&in, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
	fleet_rows_clear(&out);
	free(bytes);
	in.row[1].cell[FLEET_judged_ns].known = true;
	in.row[1].cell[FLEET_usual] = (struct fleet_cell){ .known = true, .d = NAN };
	CHECK_INT(rowpack_write(&in, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
	fleet_rows_clear(&out);
	free(bytes);
	fleet_rows_clear(&in);
	return check_done("rowpack");
}
