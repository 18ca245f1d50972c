/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipes and local sockets one by one, with the waits of each process in each direction.
 * The box joins the two ends by the pipe's name. A pipe without much work or waiting has no series,
 * for shells make very many of them.
 */
#include "host/nwrun/collect/collect_in.h"

/* Bytes, or waits, from which on a pipe gets a series. */
enum { PIPE_BYTES_MIN = 64 << 10, PIPE_WAIT_NS_MIN = 20000000, SEMAPHORE_POSTS_MIN = 20 };

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
	    nwshm_get(&o->ns[NWSHM_READ]) + nwshm_get(&o->ns[NWSHM_WRITE]) >= PIPE_WAIT_NS_MIN;
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

void
pipe_report(struct collect *c, unsigned object, int64_t now_wall_ns)
{
	const struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	struct object_delta d;
	int dir;

	if (seen->pipe_from_wall_ns == 0)
		seen->pipe_from_wall_ns = seen->said
		    ? c->watch[seen->owner].objects_wall_ns
		    : wall_of(c, *(const volatile int64_t *)&o->born_ns, now_wall_ns);
	if (!far_end_find(c, seen, o) || !is_worth_a_series(c, seen, o) ||
	    (!seen->said && c->pipes_said >= COLLECT_PIPES_SAID))
		return;
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		d.bytes[dir] = nwshm_get(&o->bytes[dir]) - seen->pipe_bytes[dir];
		d.ns[dir] = nwshm_get(&o->ns[dir]) - seen->pipe_ns[dir];
		seen->pipe_bytes[dir] += d.bytes[dir];
		seen->pipe_ns[dir] += d.ns[dir];
	}
	now_wall_ns = wall_of(
	    c, atomic_load_explicit(&o->u.local.used_mono_ns, memory_order_relaxed), now_wall_ns);
	say_pipe(c, object, &d, seen->pipe_from_wall_ns, now_wall_ns);
	seen->pipe_from_wall_ns = 0;
}
