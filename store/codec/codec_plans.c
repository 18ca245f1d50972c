/* SPDX-License-Identifier: BSD-3-Clause */
/* A table with a place per kind. A kind replaces another kind in its place; a column above the
 * limit empties the table. Either loss costs a further look per column, and the table needs no
 * bookkeeping. */
#include "store/codec/codec_plans.h"

#include <stdlib.h>

enum {
	N_PLACES = 2048,     /* a power of two */
	COLUMNS_MAX = 32768, /* columns in all places, about 3 MB; many more than any chunk has */
	RECALLS_MAX = 15,    /* chunks between two looks: data change over time */
	SLACK_BYTES = 16
};

struct place {
	uint64_t kind; /* 0: free */
	uint32_t n_columns, n_recalls;
	struct known_column *column;
};

struct plan_memory {
	struct place place[N_PLACES];
	uint32_t n_columns; /* in all places */
};

struct plan_memory *
plans_new(void)
{
	return calloc(1, sizeof(struct plan_memory));
}

static void
place_clear(struct plan_memory *memory, struct place *place)
{
	memory->n_columns -= place->n_columns;
	free(place->column);
	memset(place, 0, sizeof(*place));
}

static void
forget_all(struct plan_memory *memory)
{
	uint32_t i;

	for (i = 0; i < N_PLACES; i++)
		place_clear(memory, &memory->place[i]);
}

void
plans_free(struct plan_memory *memory)
{
	if (memory != NULL)
		forget_all(memory);
	free(memory);
}

static struct place *
place_of(struct plan_memory *memory, uint64_t kind)
{
	return &memory->place[(kind * UINT64_C(0x9e3779b97f4a7c15) >> 32) % N_PLACES];
}

struct known_column *
plans_recall(
    struct plan_memory *memory, uint64_t kind, uint32_t n_columns, enum chunk_effort effort)
{
	struct place *place = place_of(memory, kind);

	if (kind == 0 || place->kind != kind || place->n_columns != n_columns)
		return NULL;
	if (effort == CHUNK_COMPACT && place->n_recalls++ == RECALLS_MAX)
		return NULL;
	return place->column;
}

void
plans_learn(struct plan_memory *memory, uint64_t kind, const struct column_plan *plan,
    const uint32_t *piece_len, uint32_t n_columns, uint32_t n_rows)
{
	struct place *place = place_of(memory, kind);
	uint32_t c;

	if (kind == 0 || n_columns == 0 || n_rows == 0)
		return;
	place_clear(memory, place);
	if (n_columns > COLUMNS_MAX - memory->n_columns)
		forget_all(memory);
	if ((place->column = calloc(n_columns, sizeof(*place->column))) == NULL)
		return;
	place->kind = kind;
	place->n_columns = n_columns;
	memory->n_columns += n_columns;
	for (c = 0; c < n_columns; c++) {
		place->column[c].plan = plan[c];
		place->column[c].plan.skip = SKIP_NONE;
		place->column[c].bytes_per_row[CHUNK_COMPACT] = (float)piece_len[c] / (float)n_rows;
	}
}

bool
plan_is_stale(struct known_column *known, size_t len, uint32_t n_rows, enum chunk_effort effort)
{
	float *bytes_per_row = &known->bytes_per_row[effort];

	if (*bytes_per_row > 0)
		return (float)len > 1.2f * *bytes_per_row * (float)n_rows + SLACK_BYTES;
	if (n_rows > 0)
		*bytes_per_row = (float)len / (float)n_rows;
	return false;
}
