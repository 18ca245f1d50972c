/* SPDX-License-Identifier: BSD-3-Clause */
/* The set as a file: blocks that are read ahead, and kept until the reader is past them. */
#include <string.h>

#include "dpss/client.h"
#include "narrows/err.h"

enum { AHEAD_BYTES = 8 << 20, WAIT_MS = 30000 };

static int
file_take(struct dpss *d, uint64_t logical, struct arrived **out)
{
	struct arrived *a;
	struct dpss_block b;
	int rc;

	for (;;) {
		HASH_FIND(hh, d->file, &logical, sizeof(logical), a);
		if (a != NULL) {
			*out = a;
			return a->block.rc;
		}
		if ((rc = dpss_next(d, WAIT_MS, &b)) != NW_OK)
			return rc;
		if ((a = calloc(1, sizeof(*a))) == NULL)
			return NW_ENOMEM;
		a->block = b;
		HASH_ADD(hh, d->file, block.logical, sizeof(b.logical), a);
	}
}

static void
file_drop(struct dpss *d, struct arrived *a)
{
	HASH_DEL(d->file, a);
	pool_put(a->block.data);
	free(a);
}

/* Blocks behind the reader go; most often it is the one before. */
static void
file_forget(struct dpss *d, uint64_t before)
{
	struct arrived *a, *next;
	uint64_t last = before - 1;

	if (before != UINT64_MAX && d->file_from + 1 >= before) {
		HASH_FIND(hh, d->file, &last, sizeof(last), a);
		if (before > d->file_from && a != NULL)
			file_drop(d, a);
	} else {
		HASH_ITER (hh, d->file, a, next) {
			if (a->block.logical < before)
				file_drop(d, a);
		}
	}
	d->file_from = before;
}

/* A reader who goes on has the next blocks asked for; one who jumped begins anew. */
static int
file_ask(struct dpss *d, uint64_t logical)
{
	uint64_t ahead = AHEAD_BYTES / d->layout.block_bytes + 2, list[DPSS_LIST_MAX], to;
	struct arrived *a;
	size_t n = 0;

	HASH_FIND(hh, d->file, &logical, sizeof(logical), a);
	if (a == NULL && (logical >= d->file_asked || dpss_pending(d) == 0))
		d->file_asked = logical;
	to = logical + ahead < dpss_blocks(d) ? logical + ahead : dpss_blocks(d);
	if (d->file_asked + ahead / 2 > to && d->file_asked > logical && to < dpss_blocks(d))
		return NW_OK;
	for (; d->file_asked < to && n < DPSS_LIST_MAX; d->file_asked++)
		list[n++] = d->file_asked;
	return n > 0 ? dpss_request(d, list, n, NULL) : NW_OK;
}

int
dpss_view(struct dpss *d, uint64_t offset, const void **data, size_t *len)
{
	uint32_t block = d->layout.block_bytes, from = (uint32_t)(offset % block);
	struct arrived *a;
	int rc;

	*len = 0;
	if (offset >= d->layout.bytes)
		return NW_OK;
	file_forget(d, offset / block);
	if ((rc = file_ask(d, offset / block)) != NW_OK ||
	    (rc = file_take(d, offset / block, &a)) != NW_OK)
		return rc == NW_ENOTFOUND ? client_fail(d, rc, "a block is lost") : rc;
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

void
client_file_free(struct dpss *d)
{
	file_forget(d, UINT64_MAX);
}
