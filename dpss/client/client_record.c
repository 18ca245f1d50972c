/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording: blocks wait in a ring of memory, and a thread writes them at a rate. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dpss/client/client.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define NS_PER_S INT64_C(1000000000)

struct dpss_recorder {
	struct dpss *d;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint8_t *ring;
	int64_t *stamps_wall_ns;
	size_t cap, first, n;
	uint64_t written, dropped;
	uint32_t tail_bytes; /* of the last block, if the block is short; else 0 */
	int64_t pace_ns;     /* between blocks; 0: as fast as can be */
	bool over;
	int rc;
};

static void
sleep_until(int64_t mono_ns)
{
	struct timespec t = { mono_ns / NS_PER_S, mono_ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

/* Returns false at the end, with nothing left. The block at `first`, of *len bytes, belongs to the
 * writer until block_gone(). */
static bool
block_wait(struct dpss_recorder *r, uint32_t *len)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	while (r->n == 0 && !r->over)
		pthread_cond_wait(&r->change, &r->lock);
	more = r->n > 0;
	*len = dpss_block_len(r->d, r->written);
	if (r->n == 1 && r->tail_bytes > 0 && r->tail_bytes < *len)
		*len = r->tail_bytes;
	pthread_mutex_unlock(&r->lock);
	return more;
}

static void
block_gone(struct dpss_recorder *r, int rc)
{
	pthread_mutex_lock(&r->lock);
	r->first = (r->first + 1) % r->cap;
	r->n--;
	r->written += rc == NW_OK;
	if (r->rc == NW_OK)
		r->rc = rc;
	pthread_mutex_unlock(&r->lock);
}

static void *
recorder_run(void *arg)
{
	struct dpss_recorder *r = arg;
	size_t block = r->d->layout.block_bytes;
	int64_t next = nw_mono_ns();
	uint32_t len;

	while (block_wait(r, &len)) {
		if (r->pace_ns > 0) {
			sleep_until(next);
			next += r->pace_ns;
			if (next < nw_mono_ns()) /* nothing is made good after a pause */
				next = nw_mono_ns();
		}
		block_gone(r,
		    r->rc != NW_OK
			? r->rc
			: client_block_write(r->d, r->written, r->stamps_wall_ns[r->first],
			      r->ring + r->first * block, len));
	}
	return NULL;
}

static void
recorder_free(struct dpss_recorder *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->change);
	free(r->ring);
	free(r->stamps_wall_ns);
	free(r);
}

int
dpss_record_begin(
    struct dpss *d, double blocks_per_s, size_t buffer_blocks, struct dpss_recorder **out)
{
	struct dpss_recorder *r;

	if (d->layout.parity > 0 || buffer_blocks == 0 || !(blocks_per_s >= 0))
		return client_fail(d, NW_EINVAL, "a recording has a buffer, and no parity");
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NW_ENOMEM;
	r->d = d;
	r->cap = buffer_blocks;
	r->pace_ns = blocks_per_s > 0 ? (int64_t)((double)NS_PER_S / blocks_per_s) : 0;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->change, NULL);
	r->ring = calloc(buffer_blocks, d->layout.block_bytes);
	r->stamps_wall_ns = calloc(buffer_blocks, sizeof(*r->stamps_wall_ns));
	if (r->ring == NULL || r->stamps_wall_ns == NULL ||
	    pthread_create(&r->thread, NULL, recorder_run, r) != 0) {
		recorder_free(r);
		return NW_ENOMEM;
	}
	*out = r;
	return NW_OK;
}

/* Locked. Puts a copy of a block into the ring. */
static int
block_put(struct dpss_recorder *r, const void *data, size_t len)
{
	size_t at;

	if (r->rc != NW_OK)
		return r->rc;
	if (r->tail_bytes > 0 || r->written + r->n >= dpss_blocks(r->d))
		return NW_ETOOBIG;
	if (r->n == r->cap)
		return NW_EFULL;
	at = (r->first + r->n++) % r->cap;
	memcpy(r->ring + at * r->d->layout.block_bytes, data, len);
	r->stamps_wall_ns[at] = nw_wall_ns();
	pthread_cond_signal(&r->change);
	return NW_OK;
}

int
dpss_record(struct dpss_recorder *r, const void *data)
{
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = block_put(r, data, r->d->layout.block_bytes);
	r->dropped += rc == NW_EFULL;
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int
dpss_record_tail(struct dpss_recorder *r, const void *data, uint32_t len)
{
	int rc;

	if (len == 0 || len >= r->d->layout.block_bytes)
		return NW_EINVAL;
	pthread_mutex_lock(&r->lock);
	if ((rc = block_put(r, data, len)) == NW_OK)
		r->tail_bytes = len;
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int
dpss_record_end(struct dpss_recorder *r, uint64_t *written, uint64_t *dropped)
{
	uint64_t bytes, all = r->d->layout.bytes;
	int rc;

	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	*written = r->written;
	*dropped = r->dropped;
	bytes = r->written * r->d->layout.block_bytes;
	if (r->tail_bytes > 0)
		bytes -= r->d->layout.block_bytes - r->tail_bytes;
	if ((rc = r->rc) == NW_OK)
		rc = dpss_finish_at(r->d, bytes < all ? bytes : all);
	recorder_free(r);
	return rc;
}
