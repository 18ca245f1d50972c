/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/ceiling.h"

#include <stdio.h>

#include "narrows/err.h"
#include "store/write/writesql.h"

/* A reader that stays for long, as for a big export, keeps the WAL growing: in a big store commits
 * must go on meanwhile. */
static const uint64_t wal_max_bytes = UINT64_C(4) << 30;
enum {
	WAL_FRAME_HEAD_BYTES = 24,
	SPARE_BYTES = 64 << 10, /* the index of the WAL, and other files beside the store */
	HEADROOM_SHARE = 16,
	DESCRIPTIONS_SHARE = 2,
	CONNECTION_BYTES = 300, /* size of a connection's row and of its session's row */
	DESCRIBED_EVERY = 64,   /* sessions forgotten between two looks for their host */
	REST = 10,
	RESTART_WAIT_MS = 100
};

int
ceiling_init(struct ceiling *c, struct compactor *k, struct mover *m, struct forgetter *f,
    uint64_t max_bytes)
{
	char pragma[64];
	int64_t got;
	size_t share;
	int rc;

	c->k = k;
	c->evictor.k = k;
	c->mover = m;
	c->forgetter = f;
	c->counted_live = INT64_MAX;
	if ((c->max_bytes = max_bytes) == 0)
		return NW_OK;
	if ((rc = db_int(k->c->db, "PRAGMA page_size", &c->page_bytes)) != NW_OK)
		return rc;
	share = (size_t)(max_bytes / 4 < wal_max_bytes ? max_bytes / 4 : wal_max_bytes);
	c->wal_max_bytes = share;
	c->group_max_bytes = share / 3;
	/* The size of a transaction is an estimate: a sixteenth is for larger transactions. */
	c->pages_max = (int64_t)(max_bytes - share - max_bytes / 16 - SPARE_BYTES) / c->page_bytes;
	if (k->limits.tail_bytes > share / 4)
		k->limits.tail_bytes = share / 4;
	if (k->limits.step_values > share / 32)
		k->limits.step_values = share / 32;
	snprintf(pragma, sizeof(pragma), "PRAGMA max_page_count = %lld", (long long)c->pages_max);
	return db_int(k->c->db, pragma, &got);
}

void
ceiling_clear(struct ceiling *c)
{
	evictor_clear(&c->evictor);
}

static int
pages(const struct ceiling *c, int64_t *n_pages, int64_t *n_live)
{
	int64_t n_free = 0;
	int rc;

	if ((rc = db_int(c->k->c->db, "PRAGMA page_count", n_pages)) == NW_OK)
		rc = db_int(c->k->c->db, "PRAGMA freelist_count", &n_free);
	*n_live = *n_pages - n_free;
	return rc;
}

bool
ceiling_is_exceeded(const struct ceiling *c)
{
	int64_t n_pages, n_live;

	return c->max_bytes > 0 && pages(c, &n_pages, &n_live) == NW_OK && n_pages > c->pages_max;
}

/* Are n pages more surely no more than allowed? Two statements count pages exactly, so a store far
 * from its ceiling adds what commits may have added since the last count; and a page that SQLite
 * leaves out at 1 GiB. */
static bool
surely_fits(const struct ceiling *c, int64_t n)
{
	return c->counted_live != INT64_MAX &&
	    c->counted_live + c->k->c->pages_most - c->counted_most + 1 + n <= c->pages_max;
}

/* Counts the pages in use, for surely_fits(). */
static int
live_count(struct ceiling *c, int64_t *n_live)
{
	int64_t n_pages;
	int rc = pages(c, &n_pages, n_live);

	c->counted_live = rc == NW_OK ? *n_live : INT64_MAX;
	c->counted_most = c->k->c->pages_most;
	return rc;
}

/* --- making room --- */

/* Do metadata, connections, sessions and indices take more than their share? */
static bool
descriptions_are_many(const struct ceiling *c, int64_t n_live)
{
	int64_t bytes = n_live * c->page_bytes - (int64_t)tail_bytes(c->mover->tail);
	int k;

	for (k = 0; k < SIZE_KINDS; k++)
		bytes -= c->k->c->sizes.bytes[k];
	return bytes > n_live * c->page_bytes / DESCRIPTIONS_SHARE;
}

/* The host with the most bytes of descriptions, asked for now and then. */
static int
described_look(struct ceiling *c)
{
	int64_t found;
	int rc;

	if (c->forgotten_since++ % DESCRIBED_EVERY != 0)
		return NW_OK;
	rc = db_get_int(&c->k->c->stmts, W_HOST_DESCRIBED, CONNECTION_BYTES, &found);
	c->described = rc == NW_OK ? found / 2 : HOST_ANY;
	c->described_much = rc == NW_OK && found % 2 != 0;
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* Pages of the file for so many bytes. */
static int64_t
pages_needed(const struct ceiling *c, size_t bytes)
{
	return (int64_t)(bytes + bytes / 16) / c->page_bytes + 16;
}

/* Is there room to move the tail into chunks before the tail leaves? Noise does not get smaller
 * there. */
static bool
tail_fits(const struct ceiling *c, int64_t n_live)
{
	return n_live + pages_needed(c, tail_bytes(c->mover->tail)) <= c->pages_max;
}

/* Does the host have more than its share, which is an equal part of the bytes of all hosts? A tenth
 * more does not count. A lone host has its share. */
static bool
host_is_over_share(const struct ceiling *c, int64_t host_id)
{
	const struct sizes *s = &c->k->c->sizes;
	int64_t bytes, own = 0, all = 0, n = 0;
	size_t i;

	for (i = 0; i < s->n_hosts; i++) {
		bytes = evict_host_bytes(&s->hosts[i]);
		all += bytes;
		n += bytes > 0;
		if (s->hosts[i].host_id == host_id)
			own = bytes;
	}
	return own / 11 * 10 * n > all;
}

/* Forgets series of a host without samples, however young. If rows in the tail keep all of them,
 * moves the oldest rows. WRITER_DONE: nothing may go. */
static int
forget_young_of(struct ceiling *c, int64_t host_id, int64_t n_live)
{
	size_t n_dropped;
	int rc = forget_young(c->forgetter, host_id, &n_dropped);

	if (rc != NW_OK || n_dropped > 0)
		return rc == NW_OK ? WRITER_MORE : rc;
	if (!c->forgetter->young_waits || !tail_fits(c, n_live))
		return WRITER_DONE;
	c->forgetter->young_rest_until_mono_ns = 0;
	return mover_step_oldest(c->mover);
}

/* Forgets the oldest session of a host, or of any. WRITER_DONE: no session may go. */
static int
forget_session_of(struct ceiling *c, int64_t host_id, int64_t settled_ns)
{
	const struct forget_search search = { INT64_MAX, settled_ns, host_id };
	int64_t id = SESSION_NONE;
	int rc = forget_oldest(c->forgetter, &search, &id);

	if (rc != NW_OK || id == SESSION_NONE)
		return rc == NW_OK ? WRITER_DONE : rc;
	rc = forget_session(c->forgetter, id);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* Of a host, forgets a session of the host alone that ended so long ago, or else series of the host
 * alone. After a look without success, the same host's descriptions rest for ten times as long as
 * the look took. */
static int
forget_settled(struct ceiling *c, int64_t host_id, int64_t settled_ns)
{
	int64_t begun = connection_mono(c->k->c);
	size_t n_dropped = 0;
	int rc;

	if (c->rest_host == host_id && c->rest_settled_ns <= settled_ns &&
	    begun < c->rest_until_mono_ns)
		return WRITER_DONE;
	if ((rc = forget_session_of(c, host_id, settled_ns)) != WRITER_DONE ||
	    (rc = forget_series(c->forgetter, host_id, settled_ns, &n_dropped)) != NW_OK)
		return rc;
	if (n_dropped > 0)
		return WRITER_MORE;
	c->rest_host = host_id;
	c->rest_settled_ns = settled_ns;
	c->rest_until_mono_ns =
	    connection_mono(c->k->c) + REST * (connection_mono(c->k->c) - begun);
	return WRITER_DONE;
}

/* The same for a host that pays alone: what ended a minute ago, then the youngest series. */
static int
forget_payer(struct ceiling *c, int64_t host_id, int64_t n_live)
{
	int rc = forget_settled(c, host_id, forget_settled_in_need_ns);

	return rc != WRITER_DONE ? rc : forget_young_of(c, host_id, n_live);
}

/* Forgets sessions ended an hour ago, else a minute ago. A host with far more descriptions than
 * the rest loses its sessions of a minute ago, and a host above its share its youngest series, too,
 * before the rest loses anything. WRITER_DONE: nothing may go. */
static int
forget_in_need(struct ceiling *c, int64_t n_live)
{
	int rc;

	if ((rc = described_look(c)) != NW_OK)
		return rc;
	if (c->described != HOST_ANY) {
		if ((rc = forget_settled(c, c->described, forget_settled_ns)) != WRITER_DONE)
			return rc;
		if (c->described_much &&
		    (rc = forget_settled(c, c->described, forget_settled_in_need_ns)) !=
			WRITER_DONE)
			return rc;
		if (host_is_over_share(c, c->described) &&
		    (rc = forget_payer(c, c->described, n_live)) != WRITER_DONE)
			return rc;
	}
	if ((rc = forget_session_of(c, HOST_ANY, forget_settled_ns)) != WRITER_DONE)
		return rc;
	return forget_session_of(c, HOST_ANY, forget_settled_in_need_ns);
}

/* Notes the host with the most bytes. If these are mostly descriptions: forgets sessions ended an
 * hour ago, or a minute ago if the host has far more than the rest. WRITER_DONE: nothing may go. */
static int
forget_talker(struct ceiling *c)
{
	const struct sizes *s = &c->k->c->sizes;
	int64_t bytes, most = 0, all = 0, described = 0;
	size_t i;
	int rc;

	for (i = 0; i < s->n_hosts; i++) {
		bytes = evict_host_bytes(&s->hosts[i]);
		all += bytes;
		if (bytes <= most)
			continue;
		most = bytes;
		c->described = s->hosts[i].host_id;
		described = s->hosts[i].bytes[SIZE_DESCRIPTIONS];
	}
	if (described <= most / DESCRIPTIONS_SHARE)
		return WRITER_DONE;
	c->described_much = 2 * most * (int64_t)s->n_hosts > 3 * all;
	rc = forget_settled(c, c->described, forget_settled_ns);
	if (rc == WRITER_DONE && c->described_much)
		rc = forget_settled(c, c->described, forget_settled_in_need_ns);
	return rc;
}

/* Evicts a transaction's worth, beginning with a victim. After data of the host with the most
 * bytes, data of others wait for free_some(). */
static int
evict_some(struct ceiling *c, struct victim *v, int64_t n_pages, int64_t n_live)
{
	int64_t all, live;
	bool of_most = v->of_most;
	int rc = connection_begin(c->k->c);

	if (rc != NW_OK)
		return rc;
	c->k->values_encoded = 0;
	do {
		if ((rc = evict(&c->evictor, v)) == NW_OK)
			rc = pages(c, &all, &live);
	} while (rc == NW_OK && n_live - live < n_pages &&
	    c->k->values_encoded < c->k->limits.step_values &&
	    (rc = evict_find(&c->evictor, v)) == NW_OK && v->found && (v->of_most || !of_most));
	rc = connection_end(c->k->c, rc);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* Frees a transaction's worth. WRITER_DONE: nothing more may go. */
static int
free_some(struct ceiling *c, int64_t n_pages)
{
	struct victim v;
	int64_t all, live;
	int rc;

	if ((rc = pages(c, &all, &live)) != NW_OK)
		return rc;
	if (descriptions_are_many(c, live) && (rc = forget_in_need(c, live)) != WRITER_DONE)
		return rc;
	if ((rc = forget_talker(c)) != WRITER_DONE || (rc = evict_find(&c->evictor, &v)) != NW_OK)
		return rc;
	/* c->described is the host with the most bytes now */
	if (!v.of_most && (!v.found || host_is_over_share(c, c->described)) &&
	    (rc = forget_payer(c, c->described, live)) != WRITER_DONE)
		return rc;
	if (v.found)
		return evict_some(c, &v, n_pages, live);
	if ((rc = forget_in_need(c, live)) == WRITER_DONE && forget_waits(c->forgetter) &&
	    tail_fits(c, live))
		return mover_step_oldest(c->mover);
	return rc;
}

/* --- room --- */

static size_t
wal_frames_needed(const struct ceiling *c, size_t bytes)
{
	return (bytes + bytes / 4) / (size_t)c->page_bytes + 64;
}

static size_t
wal_frames_max(const struct ceiling *c)
{
	return c->wal_max_bytes / ((size_t)c->page_bytes + WAL_FRAME_HEAD_BYTES);
}

static bool
wal_has_room(struct ceiling *c, size_t bytes)
{
	size_t need = wal_frames_needed(c, bytes), max = wal_frames_max(c);

	return (size_t)c->k->c->wal_frames + need <= max ||
	    (connection_restart_wal(c->k->c, RESTART_WAIT_MS) && need <= max);
}

/* Makes room for a transaction that writes so many bytes and leaves so many free. */
static int
room_make(struct ceiling *c, size_t bytes, size_t spare)
{
	int64_t n_live, need;
	int rc;

	if (c->max_bytes == 0)
		return NW_OK;
	if (wal_frames_needed(c, bytes) > wal_frames_max(c)) {
		snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
		    "size ceiling: %zu bytes at once are too many for it", bytes);
		return NW_ETOOBIG;
	}
	need = pages_needed(c, bytes + spare);
	for (;;) {
		if (!wal_has_room(c, bytes)) {
			snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
			    "size ceiling: a long read keeps the log from starting over");
			return NW_EIO;
		}
		if (surely_fits(c, need))
			return NW_OK;
		if ((rc = live_count(c, &n_live)) != NW_OK || n_live + need <= c->pages_max)
			return rc;
		if ((rc = free_some(c, n_live + need - c->pages_max)) < 0)
			return rc;
		if (rc == WRITER_DONE) {
			snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
			    "size ceiling: %.3g MiB are full, and nothing in them may go",
			    (double)c->max_bytes / (1 << 20));
			return NW_EIO;
		}
		c->k->c->pages_freed = true;
	}
}

int
ceiling_make_room(struct ceiling *c, size_t bytes)
{
	return room_make(c, bytes, 0);
}

int
ceiling_make_room_to_commit(struct ceiling *c, size_t bytes)
{
	return room_make(c, bytes, tail_bytes(c->mover->tail) + bytes);
}

int
ceiling_make_room_to_move(struct ceiling *c)
{
	size_t bytes = tail_bytes(c->mover->tail), most = c->wal_max_bytes / 2;

	if (bytes < c->k->limits.tail_bytes)
		bytes = c->k->limits.tail_bytes;
	return room_make(c, bytes < most ? bytes : most, 0);
}

int
ceiling_step(struct ceiling *c)
{
	int64_t n_live, headroom = c->pages_max / HEADROOM_SHARE;
	int rc;

	if (c->max_bytes == 0 || surely_fits(c, headroom))
		return WRITER_DONE;
	if ((rc = live_count(c, &n_live)) != NW_OK || n_live + headroom <= c->pages_max)
		return rc == NW_OK ? WRITER_DONE : rc;
	if (!wal_has_room(c, c->k->limits.step_values * sizeof(double)))
		return WRITER_DONE; /* commits report a lasting shortage */
	return free_some(c, n_live + headroom - c->pages_max);
}
