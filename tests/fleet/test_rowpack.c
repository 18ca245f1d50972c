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
check_same(const struct fleet_row *a, const struct fleet_row *b)
{
	size_t c;

	for (c = 0; c < FLEET_COLUMNS; c++) {
		CHECK_INT(a->cell[c].known, b->cell[c].known);
		if (a->cell[c].known && fleet_columns[c].type == FLEET_TEXT)
			CHECK_STR(a->cell[c].text, b->cell[c].text);
		else if (a->cell[c].known && fleet_columns[c].type == FLEET_REAL)
			CHECK(a->cell[c].d == b->cell[c].d);
		else
			CHECK_INT(a->cell[c].i, b->cell[c].i);
	}
}

int
main(void)
{
	struct fleet_rows in = { 0 }, out = { 0 };
	char *bytes, *cut;
	size_t len, i;

	rows_make(&in);
	CHECK_INT(rowpack_write(in.row, in.n, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_OK);
	CHECK_INT(out.n, 2);
	for (i = 0; i < in.n && i < out.n; i++)
		check_same(&in.row[i], &out.row[i]);
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
	CHECK_INT(rowpack_write(in.row, in.n, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
	fleet_rows_clear(&out);
	free(bytes);
	in.row[1].cell[FLEET_judged_ns].known = true;
	in.row[1].cell[FLEET_usual] = (struct fleet_cell){ .known = true, .d = NAN };
	CHECK_INT(rowpack_write(in.row, in.n, &bytes, &len), NW_OK);
	CHECK_INT(rowpack_read(bytes, len, &out), NW_EPROTO);
	fleet_rows_clear(&out);
	free(bytes);
	fleet_rows_clear(&in);
	return check_done("rowpack");
}
