/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/tail.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"

struct blob {
	struct blob *next;
	int64_t id;
	size_t len;
	uint8_t *bytes;
};

struct tail {
	struct blob *first, **end; /* rising ids */
	int64_t last_id;
	size_t bytes;
	struct tail_layout **buckets; /* n_buckets is a power of two, at least n_layouts */
	size_t n_buckets, n_layouts;
	struct tail_layout *oldest, *newest;
	size_t full_rows;
	int64_t *full; /* layouts full at some time; some are no longer full */
	size_t n_full, cap_full;
};

enum { BUCKETS_FIRST = 256 };

const struct tail_rec *
tail_rec_at(const uint8_t *p, size_t len)
{
	const struct tail_rec *r = (const void *)p;

	if (len < sizeof(*r) || r->n_rows == 0 || r->n_rows > TAIL_ROWS_MAX || r->n_fields == 0 ||
	    r->n_fields > TAIL_FIELDS_MAX || r->hist_len > TAIL_HIST_MAX_BYTES ||
	    (r->hist_len > 0 && r->n_rows != 1) || r->zero != 0 ||
	    tail_rec_bytes(r->n_rows, r->n_fields, r->hist_len) > len)
		return NULL;
	return r;
}

struct tail *
tail_new(size_t full_rows)
{
	struct tail *t = calloc(1, sizeof(*t));

	if (t == NULL ||
	    (t->buckets = calloc(BUCKETS_FIRST, sizeof(struct tail_layout *))) == NULL) {
		free(t);
		return NULL;
	}
	t->full_rows = full_rows;
	t->n_buckets = BUCKETS_FIRST;
	t->end = &t->first;
	return t;
}

void
tail_free(struct tail *t)
{
	if (t == NULL)
		return;
	tail_clear(t);
	free(t->buckets);
	free(t->full);
	free(t);
}

size_t
tail_bytes(const struct tail *t)
{
	return t->bytes;
}

size_t
tail_layouts(const struct tail *t)
{
	return t->n_layouts;
}

int64_t
tail_first_id(const struct tail *t)
{
	return t->first == NULL ? 0 : t->first->id;
}

int64_t
tail_last_id(const struct tail *t)
{
	return t->last_id;
}

static struct tail_layout **
bucket_of(const struct tail *t, int64_t layout_id)
{
	return &t->buckets[((uint64_t)layout_id * 0x9e3779b97f4a7c15u >> 32) & (t->n_buckets - 1)];
}

struct tail_layout *
tail_find(const struct tail *t, int64_t layout_id)
{
	struct tail_layout *l = *bucket_of(t, layout_id);

	while (l != NULL && l->id != layout_id)
		l = l->same_bucket;
	return l;
}

struct tail_layout *
tail_oldest(const struct tail *t)
{
	return t->oldest;
}

struct tail_layout *
tail_next_full(struct tail *t, size_t *at)
{
	struct tail_layout *l;

	while (*at < t->n_full) {
		l = tail_find(t, t->full[*at]);
		if (l != NULL && l->n_rows >= t->full_rows) {
			++*at;
			return l;
		}
		t->full[*at] = t->full[--t->n_full];
	}
	return NULL;
}

int64_t
tail_excess_id(const struct tail *t, size_t max_bytes)
{
	const struct blob *b;
	size_t left = t->bytes;
	int64_t id = 0;

	for (b = t->first; b != NULL && left > max_bytes; b = b->next) {
		left -= b->len;
		id = b->id;
	}
	return id;
}

static int
full_add(struct tail *t, int64_t layout_id)
{
	if (!array_room(&t->full, &t->cap_full, t->n_full + 1, sizeof(*t->full)))
		return NW_ENOMEM;
	t->full[t->n_full++] = layout_id;
	return NW_OK;
}

static int
buckets_grow(struct tail *t)
{
	struct tail_layout **grown = calloc(t->n_buckets * 2, sizeof(*grown)), **b, *l;

	if (grown == NULL)
		return NW_ENOMEM;
	free(t->buckets);
	t->buckets = grown;
	t->n_buckets *= 2;
	for (l = t->oldest; l != NULL; l = l->newer) {
		b = bucket_of(t, l->id);
		l->same_bucket = *b;
		*b = l;
	}
	return NW_OK;
}

static struct tail_layout *
layout_new(struct tail *t, int64_t id, uint32_t n_fields)
{
	struct tail_layout *l, **b;

	if (t->n_layouts >= t->n_buckets && buckets_grow(t) != NW_OK)
		return NULL;
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->id = id;
	l->n_fields = n_fields;
	b = bucket_of(t, id);
	l->same_bucket = *b;
	*b = l;
	l->older = t->newest;
	*(t->newest == NULL ? &t->oldest : &t->newest->newer) = l;
	t->newest = l;
	t->n_layouts++;
	return l;
}

static void
list_take_out(struct tail *t, struct tail_layout *l)
{
	*(l->older == NULL ? &t->oldest : &l->older->newer) = l->newer;
	*(l->newer == NULL ? &t->newest : &l->newer->older) = l->older;
}

/* Keeps the list in the order of first blobs when a layout loses some of its first rows. */
static void
list_put_back(struct tail *t, struct tail_layout *l)
{
	struct tail_layout *after = t->newest;

	while (after != NULL && after->recs[0].blob_id > l->recs[0].blob_id)
		after = after->older;
	l->older = after;
	l->newer = after == NULL ? t->oldest : after->newer;
	*(after == NULL ? &t->oldest : &after->newer) = l;
	*(l->newer == NULL ? &t->newest : &l->newer->older) = l;
}

static void
layout_free(struct tail *t, struct tail_layout *l)
{
	struct tail_layout **p = bucket_of(t, l->id);

	while (*p != l)
		p = &(*p)->same_bucket;
	*p = l->same_bucket;
	list_take_out(t, l);
	t->n_layouts--;
	free(l->recs);
	free(l);
}

static int
rec_add(struct tail *t, int64_t blob_id, const struct tail_rec *rec)
{
	struct tail_layout *l = tail_find(t, rec->layout_id);

	if (l == NULL && (l = layout_new(t, rec->layout_id, rec->n_fields)) == NULL)
		return NW_ENOMEM;
	if (l->n_fields != rec->n_fields)
		return NW_ECORRUPT;
	if (!array_room(&l->recs, &l->cap_recs, l->n_recs + 1, sizeof(*l->recs)))
		return NW_ENOMEM;
	l->recs[l->n_recs++] = (struct tail_ref){ blob_id, rec };
	l->n_rows += rec->n_rows;
	if (l->n_rows >= t->full_rows && l->n_rows - rec->n_rows < t->full_rows)
		return full_add(t, l->id);
	return NW_OK;
}

int
tail_add(struct tail *t, int64_t id, uint8_t *bytes, size_t len)
{
	const struct tail_rec *rec;
	struct blob *b = calloc(1, sizeof(*b));
	size_t at;
	int rc = NW_OK;

	if (b == NULL) {
		free(bytes);
		return NW_ENOMEM;
	}
	*b = (struct blob){ NULL, id, len, bytes };
	*t->end = b;
	t->end = &b->next;
	t->last_id = id;
	t->bytes += len;
	for (at = 0; rc == NW_OK && at < len;
	     at += tail_rec_bytes(rec->n_rows, rec->n_fields, rec->hist_len)) {
		if ((rec = tail_rec_at(bytes + at, len - at)) == NULL)
			return NW_ECORRUPT;
		rc = rec_add(t, id, rec);
	}
	return rc;
}

void
tail_forget(struct tail *t, int64_t layout_id, int64_t through_id)
{
	struct tail_layout *l = tail_find(t, layout_id);
	size_t i;

	if (l == NULL || l->n_recs == 0 || l->recs[0].blob_id > through_id)
		return;
	for (i = 0; i < l->n_recs && l->recs[i].blob_id <= through_id; i++)
		l->n_rows -= l->recs[i].rec->n_rows;
	if (i == l->n_recs) {
		layout_free(t, l);
		return;
	}
	l->n_recs -= i;
	memmove(l->recs, l->recs + i, l->n_recs * sizeof(l->recs[0]));
	list_take_out(t, l);
	list_put_back(t, l);
}

void
tail_trim(struct tail *t, int64_t first_kept_id)
{
	struct blob *b;

	while (t->oldest != NULL && t->oldest->recs[0].blob_id < first_kept_id)
		tail_forget(t, t->oldest->id, first_kept_id - 1);
	while ((b = t->first) != NULL && b->id < first_kept_id) {
		t->bytes -= b->len;
		if ((t->first = b->next) == NULL)
			t->end = &t->first;
		free(b->bytes);
		free(b);
	}
}

void
tail_clear(struct tail *t)
{
	struct tail_layout *l, *next;
	struct blob *b;

	for (l = t->oldest; l != NULL; l = next) {
		next = l->newer;
		free(l->recs);
		free(l);
	}
	while ((b = t->first) != NULL) {
		t->first = b->next;
		free(b->bytes);
		free(b);
	}
	memset(t->buckets, 0, t->n_buckets * sizeof(struct tail_layout *));
	t->end = &t->first;
	t->oldest = t->newest = NULL;
	t->last_id = 0;
	t->bytes = t->n_layouts = t->n_full = 0;
}
