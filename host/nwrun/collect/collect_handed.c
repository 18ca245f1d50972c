/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small files that one process writes and another reads. A series of each file would be too much:
 * the writer and each reader have one series of "small files of process N", by whose bytes the box
 * knows whether something lay unread. A writer without a reader has no series, but for the first
 * few that end before a reader could be known. The inode tells the file, as most small files have
 * no name here.
 */
#include <string.h>

#include "host/nwrun/collect/collect_in.h"

/* Files of no other process that are read before it is plain that nothing is handed on; writers
 * with a series that ended before a reader was known. */
enum { MISSES_MOST = 64, UNREAD_SAID = 32 };

static struct handed *
handed_get(struct collect *c, uint32_t owner, int writer_pid)
{
	struct handed *h, *unused = NULL;

	for (h = c->handed; h < c->handed + COLLECT_HANDED; h++) {
		if (h->used && h->owner == owner && h->writer_pid == writer_pid)
			return h;
		unused = unused == NULL && !h->used ? h : unused;
	}
	if (unused != NULL)
		*unused = (struct handed){ .used = true,
			.owner = owner,
			.writer_pid = writer_pid,
			.reads = c->watch[owner].pid != writer_pid };
	return unused;
}

static struct written *
written_at(struct collect *c, const struct nwshm_object *o)
{
	return &c->written[((o->dev ^ o->ino) * 0x9e3779b97f4a7c15u >> 32) % COLLECT_WRITTEN];
}

/* The series of the writer, from which on a reader is known. */
static void
writer_is_read(struct collect *c, int writer_pid)
{
	struct handed *h;

	for (h = c->handed; h < c->handed + COLLECT_HANDED; h++)
		if (h->used && !h->reads && h->writer_pid == writer_pid)
			h->matched = true;
}

static struct handed *
of_file(struct collect *c, uint32_t owner, const struct nwshm_object *o, bool writes)
{
	struct written *w = written_at(c, o);
	const int pid = c->watch[owner].pid;
	struct handed *h;

	if (writes) {
		if ((h = handed_get(c, owner, pid)) != NULL) {
			*w = (struct written){ .dev = o->dev, .ino = o->ino, .pid = pid };
			if (!c->handed_is_over)
				atomic_store(&c->shm->handing, 1);
		}
		return h;
	}
	if (w->pid == 0 || w->dev != o->dev || w->ino != o->ino || w->pid == pid) {
		c->handed_is_over |= !c->handed_is_found && ++c->handed_misses >= MISSES_MOST;
		if (c->handed_is_over)
			atomic_store(&c->shm->handing, 0);
		return NULL;
	}
	c->handed_is_found = true;
	writer_is_read(c, w->pid);
	return handed_get(c, owner, w->pid);
}

bool
handed_take(
    struct collect *c, uint32_t owner, const struct nwshm_object *o, const struct object_delta *d)
{
	struct handed *h;
	int dir;

	if (c->handed_is_over || o->ino == 0 ||
	    (h = of_file(c, owner, o, d->bytes[NWSHM_WRITE] > 0)) == NULL)
		return false;
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		h->due.bytes[dir] += d->bytes[dir];
		h->due.ns[dir] += d->ns[dir];
	}
	return true;
}

static bool
is_due(const struct handed *h)
{
	return h->due.bytes[NWSHM_READ] + h->due.bytes[NWSHM_WRITE] > 0;
}

static void
handed_report(struct collect *c, struct handed *h, int64_t now_wall_ns)
{
	if (!is_due(h) || !(h->reads || h->matched))
		return;
	say_handed(c, h, now_wall_ns);
	memset(&h->due, 0, sizeof(h->due));
}

void
handed_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns)
{
	struct handed *h;

	for (h = c->handed; h < c->handed + COLLECT_HANDED; h++) {
		if (!h->used ||
		    now_mono_ns - h->said_mono_ns < collect_interval_ns(c, h->owner, now_mono_ns))
			continue;
		handed_report(c, h, now_wall_ns);
		h->said_mono_ns = now_mono_ns;
	}
}

void
handed_end(struct collect *c, uint32_t owner, int64_t now_wall_ns)
{
	struct handed *h;

	for (h = c->handed; h < c->handed + COLLECT_HANDED; h++) {
		if (!h->used || h->owner != owner)
			continue;
		if (is_due(h) && !h->reads && !h->matched)
			h->matched = c->handed_unread++ < UNREAD_SAID;
		handed_report(c, h, now_wall_ns);
		if (is_due(h))
			add_to_nameless(c, NWSHM_FILE, &h->due);
		if (h->id[0] != '\0')
			c->sink->end(c->sink->arg, h->id);
		h->used = false;
	}
}
