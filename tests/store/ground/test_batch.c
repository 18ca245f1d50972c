/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches hold what was put in them, in the form of the tail, and an error leaves them as they
 * were. */
#include "store/ground/batch.h"

#include <stdint.h>

#include "narrows/err.h"
#include "store/ground/tail.h"
#include "tests/check.h"

static void
test_empty(void)
{
	struct nw_batch *b = nw_batch_new();

	CHECK_INT(nw_batch_bytes(b), 0);
	CHECK_INT(b->n_rows, 0);
	CHECK_INT(nw_batch_rows(b, 1, 1, 0, NULL, NULL, NULL, 0), NW_OK);
	CHECK_INT(nw_batch_bytes(b), 0);
	nw_batch_free(b);
	nw_batch_free(NULL);
}

static void
test_rows(void)
{
	struct nw_batch *b = nw_batch_new();
	const struct tail_rec *r;
	static int64_t t[TAIL_ROWS_MAX + 5];
	static double v[2 * (TAIL_ROWS_MAX + 5)];
	size_t at, i;

	for (i = 0; i < TAIL_ROWS_MAX + 5; i++) {
		t[i] = (int64_t)i - 3;
		v[2 * i] = (double)i;
		v[2 * i + 1] = -(double)i;
	}
	CHECK_INT(nw_batch_rows(b, 9, 2, 1, t + 7, v + 14, (const uint8_t *)"abc", 3), NW_OK);
	CHECK_INT(b->rows_len, 24 + 8 + 16 + 8);
	CHECK(memcmp(b->rows + b->rows_len - 8, "abc\0\0\0\0\0", 8) == 0);
	CHECK_INT(nw_batch_rows(b, 5, 2, TAIL_ROWS_MAX + 5, t, v, NULL, 0), NW_OK);
	CHECK_INT(b->n_rows, TAIL_ROWS_MAX + 6);
	CHECK_INT(b->n_samples, 2 * (TAIL_ROWS_MAX + 6));

	r = tail_rec_at(b->rows, b->rows_len);
	CHECK(r != NULL && r->layout_id == 9 && r->n_rows == 1 && r->n_fields == 2 &&
	    r->hist_len == 3);
	CHECK(
	    tail_rec_times(r)[0] == 4 && tail_rec_values(r)[0] == 7 && tail_rec_values(r)[1] == -7);
	at = tail_rec_bytes(1, 2, 3);
	/* more rows than a record holds become two */
	r = tail_rec_at(b->rows + at, b->rows_len - at);
	CHECK(r != NULL && r->layout_id == 5 && r->n_rows == TAIL_ROWS_MAX &&
	    tail_rec_values(r)[5] == -2);
	at += tail_rec_bytes(TAIL_ROWS_MAX, 2, 0);
	r = tail_rec_at(b->rows + at, b->rows_len - at);
	CHECK(r != NULL && r->n_rows == 5 && tail_rec_times(r)[0] == TAIL_ROWS_MAX - 3);
	CHECK_INT(at + tail_rec_bytes(5, 2, 0), b->rows_len);
	nw_batch_free(b);
}

static void
test_refused(void)
{
	struct nw_batch *b = nw_batch_new();
	static double v[TAIL_FIELDS_MAX + 1];
	int64_t t[2] = { 1, 2 };
	const char *const one[] = { "a" };

	CHECK_INT(nw_batch_rows(b, 1, 0, 1, t, v, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_batch_rows(b, 1, TAIL_FIELDS_MAX + 1, 1, t, v, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_batch_rows(b, 1, 1, 2, t, v, (const uint8_t *)"x", 1), NW_EINVAL);
	CHECK_INT(nw_batch_rows(b, 1, 1, 1, t, v, (const uint8_t *)"x", TAIL_HIST_MAX_BYTES + 1),
	    NW_EINVAL);
	CHECK_INT(nw_batch_layout(b, &(struct nw_layout_rec){ 1, 1, 0, one }), NW_EINVAL);
	CHECK_INT(nw_batch_layout(b, &(struct nw_layout_rec){ 1, 1, TAIL_FIELDS_MAX + 1, one }),
	    NW_EINVAL);
	CHECK_INT(nw_batch_bytes(b), 0);
	nw_batch_free(b);
}

static void
test_records(void)
{
	struct nw_batch *b = nw_batch_new();
	const struct batch_value *v;
	char name[] = "host";

	CHECK_INT(nw_batch_host(
		      b, &(struct nw_host_rec){ .id = 3, .name = name, .last_seen_wall_ns = 8 }),
	    NW_OK);
	CHECK_INT(nw_batch_seal(b, 17), NW_OK);
	name[0] = 'X'; /* what is handed in is copied */
	CHECK_INT(b->n_recs, 2);
	CHECK(b->recs[0].kind == BATCH_HOST && b->recs[0].n_values == 5);
	v = b->values + b->recs[0].first_value;
	CHECK(v[0].type == 'i' && v[0].u.i == 3);
	CHECK(v[1].type == 't' && v[1].len == 4 && memcmp(b->text + v[1].u.at, "host", 4) == 0);
	CHECK(v[2].type == 0 && v[3].type == 0 && v[4].type == 'i' && v[4].u.i == 8);
	CHECK(b->recs[1].kind == BATCH_SEAL && b->values[b->recs[1].first_value].u.i == 17);
	CHECK(nw_batch_bytes(b) > 0);
	nw_batch_free(b);
}

int
main(void)
{
	test_empty();
	test_rows();
	test_refused();
	test_records();
	return check_done("batch");
}
