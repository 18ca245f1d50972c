/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access methods: the set as a file of bytes, as frames, as tiles. The client asks ahead for
 * the blocks of the near future; blocks stay for a while after their read.
 */
#include <string.h>

#include "dpss/client/client.h"
#include "narrows/err.h"

enum {
	AHEAD_BYTES = 16 << 20,
	HELD_BYTES = 64 << 20,
	WAIT_MS = 30000,
	WANT_MAX = 1024,   /* blocks of one list */
	PREDICTED_MAX = 64 /* of those, at most so many by the application's word */
};

/* --- blocks held --- */

static void
file_drop(struct dpss *d, struct arrived *a)
{
	HASH_DEL(d->file, a);
	pool_put(a->block.data);
	free(a);
}

/* The held blocks are kept in the order of their last use. */
static struct arrived *
file_find(struct dpss *d, uint64_t logical)
{
	struct arrived *a;

	HASH_FIND(hh, d->file, &logical, sizeof(logical), a);
	return a;
}

static int
file_add(struct dpss *d, const struct dpss_block *b)
{
	struct arrived *a = calloc(1, sizeof(*a)), *old = file_find(d, b->logical);

	if (old != NULL)
		file_drop(d, old);
	while (d->file != NULL && HASH_COUNT(d->file) >= d->file_max)
		file_drop(d, d->file);
	if (a != NULL) {
		a->block = *b;
		HASH_ADD(hh, d->file, block.logical, sizeof(a->block.logical), a);
		if (a->hh.tbl != NULL)
			return NW_OK;
	}
	pool_put(b->data);
	free(a);
	return NW_ENOMEM;
}

/* One block more; NW_EAGAIN: none came within wait_ms. */
static int
file_next(struct dpss *d, int wait_ms, uint64_t awaited)
{
	struct dpss_block b;
	int rc = client_next(d, wait_ms, awaited, &b);

	return rc == NW_OK ? file_add(d, &b) : rc;
}

/* An awaited block may have come and gone again: then the client asks once more. */
static int
file_take(struct dpss *d, uint64_t logical, struct arrived **out)
{
	bool coming;
	int rc;

	while ((*out = file_find(d, logical)) == NULL) {
		coming = client_is_pending(d, logical);
		rc = file_next(d, coming ? WAIT_MS : 0, logical);
		if (rc == NW_EAGAIN && !coming)
			rc = dpss_request(d, &logical, 1, NULL);
		if (rc != NW_OK)
			return rc;
	}
	if ((rc = (*out)->block.rc) == NW_OK)
		return NW_OK;
	file_drop(d, *out); /* the next reader may have better luck */
	return client_fail(d, rc, "a block is lost");
}

/* --- the file --- */

/* A reader behind a block needs the block no more. */
static void
file_forget(struct dpss *d, uint64_t logical)
{
	struct arrived *a;

	if (logical == d->file_at + 1 && (a = file_find(d, d->file_at)) != NULL)
		file_drop(d, a);
	d->file_at = logical;
}

/* Blocks neither held nor on their way, for one list. */
struct want {
	size_t n;
	uint64_t list[WANT_MAX];
};

static void
want_add(struct dpss *d, struct want *w, uint64_t logical)
{
	if (logical < dpss_blocks(d) && w->n < WANT_MAX && file_find(d, logical) == NULL &&
	    !client_is_pending(d, logical))
		w->list[w->n++] = logical;
}

static int
want_send(struct dpss *d, const struct want *w)
{
	size_t max = HELD_BYTES / d->layout.block_bytes + 4;

	d->file_max = 2 * w->n > max ? 2 * w->n : max;
	return w->n > 0 ? dpss_request(d, w->list, w->n, NULL) : NW_OK;
}

static void
want_predicted(struct dpss *d, struct want *w, uint64_t logical)
{
	uint64_t out[PREDICTED_MAX];
	size_t i, n = d->predict(d->predict_arg, logical, out, PREDICTED_MAX);

	for (i = 0; i < n && i < PREDICTED_MAX; i++)
		want_add(d, w, out[i]);
}

/* For a reader in sequence the client asks ahead; a jump begins anew. */
static int
file_ask(struct dpss *d, uint64_t logical)
{
	uint64_t ahead = AHEAD_BYTES / d->layout.block_bytes + 2, to;
	struct want w = { 0 };

	if (ahead > WANT_MAX)
		ahead = WANT_MAX;
	if (d->predict != NULL) {
		want_add(d, &w, logical);
		want_predicted(d, &w, logical);
		return want_send(d, &w);
	}
	if (file_find(d, logical) == NULL && !client_is_pending(d, logical))
		d->file_asked = logical;
	to = logical + ahead < dpss_blocks(d) ? logical + ahead : dpss_blocks(d);
	if (d->file_asked + ahead / 2 > to && d->file_asked > logical && to < dpss_blocks(d))
		return NW_OK;
	for (; d->file_asked < to && w.n < WANT_MAX; d->file_asked++)
		want_add(d, &w, d->file_asked);
	return want_send(d, &w);
}

int
dpss_view(struct dpss *d, uint64_t offset, const void **data, size_t *len)
{
	uint32_t block = d->layout.block_bytes, from = (uint32_t)(offset % block);
	struct arrived *a;
	int rc;

	*len = 0;
	if (d->opts.flush)
		return client_fail(d, NW_EINVAL, "a handle that flushes is not a file");
	if (offset >= d->layout.bytes)
		return NW_OK;
	file_forget(d, offset / block);
	if ((rc = file_ask(d, offset / block)) != NW_OK ||
	    (rc = file_take(d, offset / block, &a)) != NW_OK)
		return rc;
	*data = a->block.data + from;
	*len = a->block.len - from;
	return NW_OK;
}

int
dpss_read(struct dpss *d, uint64_t offset, void *buf, size_t len, size_t *n)
{
	const void *data;
	size_t part;
	int rc;

	for (*n = 0; *n < len; *n += part) {
		if ((rc = dpss_view(d, offset + *n, &data, &part)) != NW_OK)
			return rc;
		if (part == 0)
			break;
		if (part > len - *n)
			part = len - *n;
		memcpy((char *)buf + *n, data, part);
	}
	return NW_OK;
}

/* --- frames and tiles --- */

void
dpss_predict_by(struct dpss *d, dpss_predict *hook, void *arg)
{
	d->predict = hook;
	d->predict_arg = arg;
}

static void
want_range(struct dpss *d, struct want *w, uint64_t offset, uint64_t len)
{
	uint64_t i;

	for (i = offset / d->layout.block_bytes;
	     len > 0 && offset < d->layout.bytes && i <= (offset + len - 1) / d->layout.block_bytes;
	     i++)
		want_add(d, w, i);
}

/* Piece number `at` of so many bytes; piece `next` is asked for along with it. */
static int
piece_read(struct dpss *d, uint64_t bytes, uint64_t at, uint64_t next, void *buf)
{
	uint64_t offset = at * bytes, block = d->layout.block_bytes, done, part;
	struct want w = { 0 };
	struct arrived *a;
	int rc;

	if (d->opts.flush || bytes == 0 || at >= d->layout.bytes / bytes)
		return client_fail(
		    d, NW_EINVAL, "the set has no such piece, or the handle flushes");
	while (file_next(d, 0, AWAITED_ANY) == NW_OK)
		;
	want_range(d, &w, offset, bytes);
	if (d->predict != NULL)
		want_predicted(d, &w, offset / block);
	else if (next < d->layout.bytes / bytes)
		want_range(d, &w, next * bytes, bytes);
	rc = want_send(d, &w);
	for (done = 0; done < bytes && rc == NW_OK; done += part) {
		part = block - (offset + done) % block;
		if (part > bytes - done)
			part = bytes - done;
		if ((rc = file_take(d, (offset + done) / block, &a)) == NW_OK)
			memcpy((char *)buf + done, a->block.data + (offset + done) % block, part);
	}
	return rc;
}

/* The reader is thought to go on as before: the next piece is as far away as the last one was. */
static uint64_t
piece_next(struct dpss *d, uint64_t at)
{
	uint64_t next = at + (at - d->piece_last);

	d->piece_last = at;
	return next;
}

int
dpss_frame(struct dpss *d, uint64_t frame_bytes, uint64_t frame, void *buf)
{
	return piece_read(d, frame_bytes, frame, piece_next(d, frame), buf);
}

uint64_t
dpss_tile_number(const struct dpss_tiles *t, uint32_t x, uint32_t y, uint32_t level)
{
	uint64_t width = t->width, height = t->height, before = 0;
	uint32_t i;

	for (i = 0; i < level; i++) {
		before += width * height;
		width = (width + 1) / 2;
		height = (height + 1) / 2;
	}
	return level < t->levels && x < width && y < height ? before + y * width + x : UINT64_MAX;
}

int
dpss_tile(
    struct dpss *d, const struct dpss_tiles *t, uint32_t x, uint32_t y, uint32_t level, void *buf)
{
	uint64_t at = dpss_tile_number(t, x, y, level),
		 next = dpss_tile_number(t, 2 * x - d->tile_x, 2 * y - d->tile_y, level);

	d->tile_x = x;
	d->tile_y = y;
	return piece_read(d, t->tile_bytes, at, next, buf);
}

void
client_file_free(struct dpss *d)
{
	struct arrived *a, *next;

	HASH_ITER (hh, d->file, a, next) {
		file_drop(d, a);
	}
}
