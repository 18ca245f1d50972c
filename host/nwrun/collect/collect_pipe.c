/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipes and local sockets one by one, with the waits of each process in each direction.
 * The box joins the two ends by the pipe's name. A pipe without much work or waiting has no series,
 * for shells make very many of them.
 */
#include "host/nwrun/collect/collect_in.h"

/* Bytes, or waits, from which on a pipe gets a series. */
enum { PIPE_BYTES_MIN = 64 << 10, PIPE_WAIT_NS_MIN = 20000000, SEMAPHORE_POSTS_MIN = 20 };

/* Time in calls and waits at an object, waits under way included. */
static uint64_t
time_at(const struct object_seen *seen, const struct nwshm_object *o, int dir)
{
	return nwshm_get(&o->ns[dir]) + seen->ahead_ns[dir];
}

static bool
is_worth_a_series(
    const struct collect *c, const struct object_seen *seen, const struct nwshm_object *o)
{
	/* a program without any other work, as a shell, gets no series for its children's sake */
	if (seen->label.kind == NWSHM_CHILDREN && !c->watch[seen->owner].said)
		return false;
	if (seen->label.kind == NWSHM_SEMAPHORE &&
	    nwshm_get(&o->bytes[NWSHM_WRITE]) >= SEMAPHORE_POSTS_MIN)
		return true;
	return nwshm_get(&o->bytes[NWSHM_READ]) + nwshm_get(&o->bytes[NWSHM_WRITE]) >=
	    PIPE_BYTES_MIN ||
	    time_at(seen, o, NWSHM_READ) + time_at(seen, o, NWSHM_WRITE) >= PIPE_WAIT_NS_MIN;
}

/* Whether two objects are ends of one pipe or pair of sockets, or one semaphore. */
static bool
is_other_end(const struct object_seen *a, const struct nwshm_object *one,
    const struct object_seen *b, const struct nwshm_object *other)
{
	if (a->label.kind != b->label.kind || a->label.kind == NWSHM_CHILDREN)
		return false;
	if (a->label.kind == NWSHM_LOCAL)
		return a->far_ino != 0 && a->far_ino == other->ino;
	return one->dev == other->dev && one->ino == other->ino;
}

/* Behind a wait stands a process that may have used the channel hardly at all: few bytes of tasks
 * keep many workers waiting. */
static bool
has_said_end(const struct collect *c, unsigned object)
{
	uint32_t used = nwshm_used_get(&c->shm->objects_used, NWSHM_OBJECTS), i;

	for (i = NWSHM_OBJECTS_FIXED; i < used; i++)
		if (i != object && c->object[i].used && c->object[i].said &&
		    is_other_end(&c->object[object], &c->shm->object[object], &c->object[i],
			&c->shm->object[i]))
			return true;
	return false;
}

/* A local socket is a pipe of two inodes. The kernel tells the far inode while both are open. */
static bool
far_end_find(struct collect *c, struct object_seen *seen, const struct nwshm_object *o)
{
	struct local_peer peer;

	if (seen->label.kind != NWSHM_LOCAL || seen->far_ino != 0)
		return true;
	if (c->pipes_asked >= COLLECT_PIPES_SAID)
		return false;
	c->pipes_asked++;
	if (local_peer_ask(c->tcp_fd, o->ino, &peer))
		seen->far_ino = peer.ino;
	return seen->far_ino != 0;
}

/* A time of the measured side in the wall clock; a time far from now is the program's invention. */
static int64_t
wall_of(const struct collect *c, int64_t mono_ns, int64_t now_wall_ns)
{
	static const int64_t far_ns = INT64_C(86400000000000);

	if (mono_ns <= 0 || mono_ns > INT64_MAX / 4 ||
	    mono_ns + c->wall_ahead_ns < now_wall_ns - far_ns ||
	    mono_ns + c->wall_ahead_ns > now_wall_ns + far_ns)
		return now_wall_ns;
	return mono_ns + c->wall_ahead_ns;
}

static bool
has_news(const struct object_seen *seen, const struct nwshm_object *o)
{
	int dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++)
		if (nwshm_get(&o->bytes[dir]) != seen->pipe_bytes[dir] ||
		    time_at(seen, o, dir) > seen->pipe_ns[dir])
			return true;
	return false;
}

/* Takes what was not reported yet. Time reported ahead of a wait's end is not taken again. */
static void
news_take(struct object_seen *seen, const struct nwshm_object *o, struct object_delta *d)
{
	uint64_t ns;
	int dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		d->bytes[dir] = nwshm_get(&o->bytes[dir]) - seen->pipe_bytes[dir];
		seen->pipe_bytes[dir] += d->bytes[dir];
		ns = time_at(seen, o, dir);
		d->ns[dir] = ns > seen->pipe_ns[dir] ? ns - seen->pipe_ns[dir] : 0;
		seen->pipe_ns[dir] += d->ns[dir];
	}
}

static void
news_report(struct collect *c, unsigned object, int64_t now_wall_ns)
{
	const struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	bool waits = seen->ahead_ns[NWSHM_READ] + seen->ahead_ns[NWSHM_WRITE] > 0;
	struct object_delta d;

	if (seen->pipe_from_wall_ns == 0)
		seen->pipe_from_wall_ns = seen->said
		    ? c->watch[seen->owner].objects_wall_ns
		    : wall_of(c, *(const volatile int64_t *)&o->born_ns, now_wall_ns);
	if (!far_end_find(c, seen, o) ||
	    (!seen->said && !is_worth_a_series(c, seen, o) && !has_said_end(c, object)) ||
	    (!seen->said && c->pipes_said >= COLLECT_PIPES_SAID))
		return;
	news_take(seen, o, &d);
	if (!waits)
		now_wall_ns =
		    wall_of(c, atomic_load_explicit(&o->u.local.used_mono_ns, memory_order_relaxed),
			now_wall_ns);
	say_pipe(c, object, &d, seen->pipe_from_wall_ns, now_wall_ns);
	seen->pipe_from_wall_ns = 0;
}

void
pipe_report(struct collect *c, unsigned object, int64_t now_wall_ns)
{
	struct object_seen *seen = &c->object[object];

	if (has_news(seen, &c->shm->object[object]))
		news_report(c, object, now_wall_ns);
	seen->ahead_ns[NWSHM_READ] = seen->ahead_ns[NWSHM_WRITE] = 0;
}
