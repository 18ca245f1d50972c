/* SPDX-License-Identifier: BSD-3-Clause */
/* The tail in memory: what counts, what is oldest, what may go; and blobs that are none. */
#include "store/ground/tail.h"

#include <stdint.h>

#include "narrows/err.h"
#include "tests/check.h"

/* Appends a record to a malloc'ed blob. */
static uint8_t *
put(uint8_t *blob, size_t *len, int64_t layout, uint32_t n_rows, uint32_t n_fields,
    uint32_t hist_len)
{
	struct tail_rec r = { layout, n_rows, n_fields, hist_len, 0 };
	size_t bytes = tail_rec_bytes(n_rows, n_fields, hist_len);

	if ((blob = realloc(blob, *len + bytes)) == NULL)
		abort();
	memset(blob + *len, 0, bytes);
	memcpy(blob + *len, &r, sizeof(r));
	*len += bytes;
	return blob;
}

/* Blob `id` with one row for each layout from first to last. */
static void
add(struct tail *t, int64_t id, int64_t first, int64_t last)
{
	uint8_t *blob = NULL;
	size_t len = 0;
	int64_t l;

	for (l = first; l <= last; l++)
		blob = put(blob, &len, l, 1, 2, 0);
	CHECK_INT(tail_add(t, id, blob, len), NW_OK);
}

static void
test_order(void)
{
	struct tail *t = tail_new(3);
	size_t one = tail_rec_bytes(1, 2, 0), at = 0;

	CHECK(tail_oldest(t) == NULL && tail_find(t, 1) == NULL && tail_bytes(t) == 0 &&
	    tail_excess_id(t, 0) == 0);
	add(t, 10, 1, 3);
	add(t, 11, 2, 4);
	add(t, 12, 3, 5);
	CHECK_INT(tail_bytes(t), 9 * one);
	CHECK_INT(tail_first_id(t), 10);
	CHECK_INT(tail_last_id(t), 12);
	CHECK_INT(tail_find(t, 3)->n_rows, 3);
	CHECK_INT(tail_find(t, 5)->n_rows, 1);
	CHECK_INT(tail_oldest(t)->id, 1);
	CHECK_INT(tail_excess_id(t, 9 * one), 0);
	CHECK_INT(tail_excess_id(t, 9 * one - 1), 10);
	CHECK_INT(tail_excess_id(t, 3 * one), 11);
	CHECK_INT(tail_next_full(t, &at)->id, 3);
	CHECK(tail_next_full(t, &at) == NULL);

	tail_forget(t, 1, 10);
	CHECK(tail_find(t, 1) == NULL);
	CHECK_INT(tail_oldest(t)->id, 2);
	tail_forget(t, 2, 10); /* the other row keeps the blob, which is no longer the oldest */
	CHECK_INT(tail_find(t, 2)->n_rows, 1);
	CHECK_INT(tail_oldest(t)->id, 3);
	tail_forget(t, 3, 12);
	at = 0;
	CHECK(tail_next_full(t, &at) == NULL && tail_find(t, 3) == NULL);
	CHECK_INT(tail_oldest(t)->recs[0].blob_id, 11);
	tail_trim(t, 12); /* takes the rest of 11 along */
	CHECK(tail_find(t, 2) == NULL);
	CHECK_INT(tail_find(t, 4)->n_rows, 1);
	CHECK_INT(tail_bytes(t), 3 * one);
	CHECK_INT(tail_first_id(t), 12);
	add(t, 20, 1, 1);
	CHECK_INT(tail_find(t, 1)->recs[0].blob_id, 20);
	tail_clear(t);
	CHECK(tail_oldest(t) == NULL && tail_first_id(t) == 0 && tail_last_id(t) == 0 &&
	    tail_bytes(t) == 0);
	add(t, 1, 1, 1);
	tail_free(t);
}

/* More layouts than the first table of buckets holds. */
static void
test_many(void)
{
	struct tail *t = tail_new(SIZE_MAX);
	const struct tail_layout *l;
	int64_t i, n = 0;

	add(t, 1, 1, 3000);
	add(t, 2, 1, 3000);
	for (i = 1; i <= 3000; i++)
		CHECK(tail_find(t, i) != NULL && tail_find(t, i)->n_rows == 2);
	for (i = 1; i <= 3000; i += 2)
		tail_forget(t, i, 2);
	for (l = tail_oldest(t); l != NULL; l = l->newer)
		n += l->id % 2 == 0;
	CHECK_INT(n, 1500);
	tail_free(t);
}

/* Each is one thing wrong with an otherwise good blob. */
static void
test_hostile(void)
{
	static const struct {
		size_t at;
		uint32_t value;
	} cases[] = {
		{ 8, 0 },
		{ 8, 2 },
		{ 8, TAIL_ROWS_MAX + 1 },
		{ 8, UINT32_MAX },
		{ 12, 0 },
		{ 12, 3 },
		{ 12, TAIL_FIELDS_MAX + 1 },
		{ 12, UINT32_MAX },
		{ 16, 9 },
		{ 16, UINT32_MAX },
		{ 20, 1 },
	};
	struct tail *t = tail_new(1);
	uint8_t *blob, *cut;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = 0;
		blob = put(NULL, &len, 1, 1, 2, 8);
		memcpy(blob + cases[i].at, &cases[i].value, 4);
		CHECK_INT(tail_add(t, (int64_t)i + 1, blob, len), NW_ECORRUPT);
		tail_clear(t);
	}
	len = 0;
	blob = put(put(NULL, &len, 1, 3, 2, 0), &len, 2, 1, 1, 5);
	for (i = 1; i < len; i++) { /* cut anywhere but between the records */
		if ((cut = malloc(i)) == NULL)
			abort();
		memcpy(cut, blob, i);
		CHECK_INT(
		    tail_add(t, 1, cut, i), i == tail_rec_bytes(3, 2, 0) ? NW_OK : NW_ECORRUPT);
		tail_clear(t);
	}
	CHECK_INT(tail_add(t, 1, blob, len), NW_OK);
	len = 0;
	blob = put(NULL, &len, 1, 1, 5, 0); /* another number of fields than before */
	CHECK_INT(tail_add(t, 2, blob, len), NW_ECORRUPT);
	tail_free(t);
	tail_free(NULL);
}

int
main(void)
{
	test_order();
	test_many();
	test_hostile();
	return check_done("tail");
}
