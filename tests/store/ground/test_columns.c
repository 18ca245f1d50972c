/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows gathered, sorted and cut: values and histograms stay with their times. */
#include "store/ground/columns.h"

#include <stdint.h>

#include "tests/check.h"

/* One record in static memory: rows at the times given, field f of a row at t is 100 t + f. */
static const struct tail_rec *
record(const int64_t *t, uint32_t n_rows, uint32_t n_fields, const char *hist)
{
	static uint64_t mem[512];
	struct tail_rec r = { 1, n_rows, n_fields, hist == NULL ? 0 : (uint32_t)strlen(hist), 0 };
	double *value = (double *)(mem + 3 + n_rows);
	uint32_t i, f;

	memset(mem, 0, sizeof(mem));
	memcpy(mem, &r, sizeof(r));
	memcpy(mem + 3, t, 8 * n_rows);
	for (i = 0; i < n_rows; i++)
		for (f = 0; f < n_fields; f++)
			*value++ = (double)(100 * t[i] + f);
	if (hist != NULL)
		memcpy(value, hist, r.hist_len);
	return (const void *)mem;
}

static void
check_sorted(const struct columns *c, const uint32_t *wanted, size_t n_wanted)
{
	size_t r, i;

	for (r = 0; r < c->n_rows; r++) {
		CHECK(r == 0 || c->t_wall_ns[r - 1] <= c->t_wall_ns[r]);
		for (i = 0; i < n_wanted; i++)
			CHECK(
			    c->value[wanted[i]][r] == (double)(100 * c->t_wall_ns[r] + wanted[i]));
	}
}

static void
test_gather(void)
{
	static const uint32_t all[] = { 0, 1, 2 }, some[] = { 2 };
	struct columns c = { 0 };
	struct columns_piece p = { 0 };
	int round;

	for (round = 0; round < 2; round++) { /* the second into the memory of the first */
		CHECK_INT(columns_reset(&c, 3, round ? some : NULL, 1, 7), 0);
		CHECK_INT(columns_add_rec(&c, record((int64_t[]){ 50, 20 }, 2, 3, NULL)), 0);
		CHECK_INT(columns_add_rec(&c, record((int64_t[]){ 30 }, 1, 3, "thirty")), 0);
		CHECK_INT(columns_add_rec(&c, record((int64_t[]){ 10, 60, 70 }, 3, 3, NULL)), 0);
		CHECK_INT(columns_add_rec(&c, record((int64_t[]){ 40 }, 1, 3, "x")), 0);
		CHECK_INT(columns_sort(&c), 0);
		CHECK_INT(c.n_rows, 7);
		check_sorted(&c, round ? some : all, round ? 1 : 3);
		CHECK(round == 0 || (c.value[0] == NULL && c.value[1] == NULL));
		CHECK_INT(columns_seek(c.t_wall_ns, c.n_rows, 0), 0);
		CHECK_INT(columns_seek(c.t_wall_ns, c.n_rows, 30), 2);
		CHECK_INT(columns_seek(c.t_wall_ns, c.n_rows, 31), 3);
		CHECK_INT(columns_seek(c.t_wall_ns, c.n_rows, 71), 7);
		CHECK_INT(columns_cut(&c, 2, 5, &p), 0);
		CHECK(p.is.n_rows == 3 && p.is.t_wall_ns[0] == 30 && p.is.value[2][1] == 4002);
		CHECK(p.is.attachment_end[0] == 6 && p.is.attachment_end[1] == 7 &&
		    p.is.attachment_end[2] == 7);
		CHECK(memcmp(p.is.attachment, "thirtyx", 7) == 0);
	}
	columns_piece_clear(&p);
	columns_clear(&c);
}

/* Rows of one time keep their order; pieces can be gathered again. */
static void
test_stable(void)
{
	struct columns c = { 0 }, d = { 0 };
	struct columns_piece p = { 0 };
	int64_t t[] = { 5, 5, 5, 4, 5 };
	size_t i;

	CHECK_INT(columns_reset(&c, 1, NULL, 0, 5), 0);
	CHECK_INT(columns_add_rec(&c, record(t, 5, 1, NULL)), 0);
	for (i = 0; i < 5; i++)
		c.value[0][i] = (double)i;
	CHECK_INT(columns_sort(&c), 0);
	CHECK(c.value[0][0] == 3 && c.value[0][1] == 0 && c.value[0][2] == 1 &&
	    c.value[0][3] == 2 && c.value[0][4] == 4);
	CHECK_INT(columns_reset(&d, 1, NULL, 0, 3), 0);
	CHECK_INT(columns_cut(&c, 1, 5, &p), 0);
	CHECK(p.is.attachment_end == NULL);
	CHECK_INT(columns_add_rows(&d, &p.is, 1, 4), 0);
	CHECK(d.n_rows == 3 && d.value[0][0] == 1 && d.value[0][2] == 4 && !d.has_hist);
	columns_piece_clear(&p);
	columns_clear(&c);
	columns_clear(&d);
}

int
main(void)
{
	test_gather();
	test_stable();
	return check_done("columns");
}
