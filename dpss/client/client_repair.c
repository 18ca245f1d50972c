/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies in places that must be left: read from another copy of the block, written anew. */
#include <stdio.h>
#include <string.h>

#include "dpss/client/client.h"
#include "narrows/err.h"

enum { LIST_MAX = 256 + 1, WAIT_MS = 30000 };

/* The blocks for which the master has told new places, in order. */
static size_t
placed_list(struct dpss *d, uint64_t out[LIST_MAX])
{
	struct placing *p, *next;
	size_t n = 0, i;

	pthread_mutex_lock(&d->lock);
	HASH_ITER (hh, d->placings, p, next) {
		for (i = n; i > 0 && out[i - 1] > p->logical; i--)
			out[i] = out[i - 1];
		out[i] = p->logical;
		if (n < LIST_MAX - 1)
			n++;
	}
	pthread_mutex_unlock(&d->lock);
	return n;
}

static void
placing_drop(struct dpss *d, uint64_t logical)
{
	struct placing *p;

	pthread_mutex_lock(&d->lock);
	HASH_FIND(hh, d->placings, &logical, sizeof(logical), p);
	if (p != NULL) {
		HASH_DEL(d->placings, p);
		free(p);
	}
	pthread_mutex_unlock(&d->lock);
}

/* Blocks arrive, and go to their new places. */
static int
list_move(struct dpss *d, const uint64_t *list, size_t n, uint64_t *moved, uint64_t *lost)
{
	struct dpss_block b;
	size_t i;
	int rc = client_request(d, list, n, NULL);

	for (i = 0; i < n && rc == NW_OK; i++) {
		if ((rc = dpss_next(d, WAIT_MS, &b)) != NW_OK)
			break;
		if (b.rc == NW_OK)
			rc = client_block_write(d, b.logical, b.recorded_wall_ns, b.data, b.len);
		else
			placing_drop(d, b.logical);
		*moved += b.rc == NW_OK && rc == NW_OK;
		*lost += b.rc != NW_OK;
		dpss_block_free(&b);
	}
	return rc == NW_OK ? client_writings_end(d) : rc;
}

static int
set_move(struct dpss *d, uint64_t *moved, uint64_t *lost)
{
	uint64_t list[LIST_MAX], from = 0;
	struct packer p = { 0 };
	size_t n;
	int rc;

	for (;;) {
		pack_u64(&p, from);
		rc = client_master_ask(d, DPSS_MOVE, &p);
		pack_free(&p);
		if (rc != NW_OK || (n = placed_list(d, list)) == 0)
			return rc;
		if ((rc = list_move(d, list, n, moved, lost)) != NW_OK)
			return rc;
		from = list[n - 1] + 1;
	}
}

int
dpss_repair(const struct dpss_opts *opts, const char *name, uint64_t *moved, uint64_t *lost,
    char why[DPSS_WHY_BYTES])
{
	struct dpss_opts reading = *opts;
	struct packer p = { 0 };
	struct dpss *d;
	int rc;

	*moved = *lost = 0;
	reading.write = reading.flush = false;
	pack_text(&p, name);
	pack_u8(&p, DPSS_OPEN_MOVE);
	if ((rc = client_begin(&reading, name, DPSS_OPEN, &p, &d, why)) != NW_OK)
		return rc;
	if ((rc = set_move(d, moved, lost)) != NW_OK)
		snprintf(why, DPSS_WHY_BYTES, "%s",
		    *dpss_why(d) != '\0' ? dpss_why(d) : nw_strerror(rc));
	dpss_close(d);
	return rc;
}
