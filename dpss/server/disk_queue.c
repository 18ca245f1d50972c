/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/disk_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "dpss/server/slot.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { SYNC_TASKS = 64 };

struct disk {
	uint32_t index;
	struct blockcache *cache;
	struct disk_calls calls;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct task *first, **last;
	bool over;
	struct task *written[SYNC_TASKS]; /* not durable yet; of the thread alone */
	size_t n_written;
};

static struct blockcache_key
key_of(const struct task *t)
{
	return (struct blockcache_key){ .grant = t->grant->index,
		.disk = t->disk,
		.set = t->set,
		.slot = t->slot,
		.logical = t->logical };
}

static bool
file_ready(struct task *t)
{
	const struct grant *g = t->grant;
	struct slot_head head;

	if (!grant_is_resident(g, t->disk, t->slot) ||
	    slot_head_read(g->fd[t->disk], t->slot, g->block_bytes, t->set, t->logical, &head,
		&t->file.offset) != NW_OK)
		return false;
	t->file.len = head.len;
	t->file.sum = head.sum;
	t->file.stamp_wall_ns = head.stamp_wall_ns;
	return true;
}

/* Returns true for a block in memory: the task has its times, and a buffer or, if the file's bytes
 * may be sent, its place in the file. */
static bool
is_ready(struct blockcache *cache, struct task *t, bool from_file)
{
	struct blockcache_key key = key_of(t);
	uint64_t begin = (uint64_t)nw_wall_ns();

	if (t->careful)
		return false;
	if ((t->buffer = blockcache_get(cache, &key)) == NULL && (!from_file || !file_ready(t)))
		return false;
	t->times[DPSS_START_READ] = begin;
	t->times[DPSS_END_READ] = (uint64_t)nw_wall_ns();
	t->from_memory = true;
	return true;
}

static int
read_block(struct disk *d, struct task *t)
{
	const struct grant *g = t->grant;
	struct blockcache_key key = key_of(t);
	struct slot_head head = { 0 };
	int rc;

	if (is_ready(d->cache, t, false))
		return NW_OK;
	if ((t->buffer = buffer_new(g->block_bytes)) == NULL)
		return NW_ENOMEM;
	t->times[DPSS_START_READ] = (uint64_t)nw_wall_ns();
	rc = slot_read(
	    g->fd[d->index], t->slot, g->block_bytes, t->set, t->logical, &head, t->buffer->data);
	t->times[DPSS_END_READ] = (uint64_t)nw_wall_ns();
	t->buffer->len = head.len;
	t->buffer->sum = head.sum;
	t->buffer->stamp_wall_ns = head.stamp_wall_ns;
	if (rc == NW_OK)
		blockcache_put(d->cache, &key, t->buffer);
	return rc;
}

/* --- writing --- */

static int
write_block(struct disk *d, struct task *t)
{
	const struct grant *g = t->grant;
	struct slot_head head = { t->set, t->buffer->len, t->buffer->sum, t->logical,
		t->buffer->stamp_wall_ns };
	struct blockcache_key key = key_of(t);

	blockcache_forget(d->cache, &key);
	return slot_write(g->fd[d->index], t->slot, g->block_bytes, &head, t->buffer->data);
}

/* Blocks of several grants may wait; each file is synchronised once. */
static void
sync_written(struct disk *d)
{
	const struct grant *g, *synced[SYNC_TASKS];
	int result[SYNC_TASKS];
	size_t i, k, n = 0;

	for (i = 0; i < d->n_written; i++) {
		g = d->written[i]->grant;
		for (k = 0; k < n && synced[k] != g; k++)
			;
		if (k == n) {
			synced[n] = g;
			result[n++] = fdatasync(g->fd[d->index]) == 0 ? NW_OK : NW_EIO;
		}
		d->calls.done(d->written[i], result[k]);
	}
	d->n_written = 0;
}

static void
carry_out(struct disk *d, struct task *t)
{
	int rc;

	if (!d->calls.wanted(t))
		return;
	if (!t->write) {
		d->calls.done(t, read_block(d, t));
		return;
	}
	if ((rc = write_block(d, t)) != NW_OK)
		d->calls.done(t, rc);
	else
		d->written[d->n_written++] = t;
	if (d->n_written == SYNC_TASKS)
		sync_written(d);
}

/* --- the queue --- */

/* The next task; NULL when there is none and something has to be synchronised, or at the end. */
static struct task *
task_take(struct disk *d)
{
	struct task *t;

	pthread_mutex_lock(&d->lock);
	while (d->first == NULL && !d->over && d->n_written == 0)
		pthread_cond_wait(&d->change, &d->lock);
	if ((t = d->first) != NULL && (d->n_written == 0 || t->write)) {
		d->first = t->next;
		if (d->first == NULL)
			d->last = &d->first;
	} else {
		t = NULL;
	}
	pthread_mutex_unlock(&d->lock);
	return t;
}

static bool
is_over(struct disk *d)
{
	bool over;

	pthread_mutex_lock(&d->lock);
	over = d->over && d->first == NULL;
	pthread_mutex_unlock(&d->lock);
	return over;
}

static void *
worker(void *arg)
{
	struct disk *d = arg;
	struct task *t;

	for (;;) {
		if ((t = task_take(d)) != NULL)
			carry_out(d, t);
		else if (d->n_written > 0)
			sync_written(d);
		else if (is_over(d))
			return NULL;
	}
}

void
disk_put(struct disk *d, struct task *t)
{
	t->next = NULL;
	pthread_mutex_lock(&d->lock);
	*d->last = t;
	d->last = &t->next;
	pthread_cond_signal(&d->change);
	pthread_mutex_unlock(&d->lock);
}

void
disk_begin(struct disk *d, struct task *t, bool from_file)
{
	if (is_ready(d->cache, t, from_file))
		d->calls.done(t, NW_OK);
	else
		disk_put(d, t);
}

int
disk_new(
    uint32_t index, struct blockcache *cache, const struct disk_calls *calls, struct disk **out)
{
	struct disk *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NW_ENOMEM;
	*d = (struct disk){ .index = index, .cache = cache, .calls = *calls };
	d->last = &d->first;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->change, NULL);
	if (pthread_create(&d->thread, NULL, worker, d) != 0) {
		free(d);
		return NW_ENOMEM;
	}
	*out = d;
	return NW_OK;
}

void
disk_free(struct disk *d)
{
	if (d == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	d->over = true;
	pthread_cond_signal(&d->change);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->change);
	free(d);
}
