/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads of mapped files that the kernel does not count for the process: those of FUSE's file
 * systems, as sshfs. While the process waits for storage, its resident memory of files grows by the
 * bytes that arrived. They count as the process's reads from storage, and as reads of its largest
 * mapped file there, whose mount says where the bytes were.
 */
#include <string.h>

#include "host/nwrun/collect/collect_in.h"

/* Looks at the tables of maps and mounts in vain, at most. */
enum { ASKS_MAX = 8 };

static bool
was_blocked(const struct watch *w)
{
	return w->look_mono_ns != 0 && w->blocked_mono_ns == w->look_mono_ns;
}

void
map_ask(const struct collect *c, const struct watch *w, struct proc_question *q)
{
	const struct nwshm_proc *p = &c->shm->proc[w - c->watch];

	if (w->blocked_mono_ns == 0 || (w->map.mount == NULL && w->map.asks == ASKS_MAX) ||
	    nwshm_get(&p->mapped_bytes) < COLLECT_OBJECT_SMALL_BYTES)
		return;
	q->wanted |= PROC_WANT_RESIDENT;
	if (w->map.mount == NULL && was_blocked(w))
		q->wanted |= PROC_WANT_MAP;
}

static void
map_found(struct collect *c, struct watch *w, const struct proc_map *map)
{
	w->map.asks++;
	if (map->bytes < COLLECT_OBJECT_SMALL_BYTES)
		return;
	w->map.mount = mounts_find(&c->mounts, w->foreign ? 0 : w->pid, map->dev, 0, map->path);
	copy_text(w->map.path, map->path, sizeof(w->map.path));
}

void
map_take(
    struct collect *c, struct watch *w, const struct proc_question *q, const struct proc_facts *f)
{
	/* bytes of a device may be those of another map */
	uint64_t device = f->io_known && w->now.io_known && f->io.read_bytes > w->now.io.read_bytes
	    ? f->io.read_bytes - w->now.io.read_bytes
	    : 0;
	uint64_t before = w->map.resident_bytes, now = f->resident_bytes;

	if ((q->wanted & PROC_WANT_MAP) != 0)
		map_found(c, w, &f->map);
	if ((q->wanted & PROC_WANT_RESIDENT) == 0)
		return;
	if (w->map.mount != NULL && before > 0 && now > before + device &&
	    (f->blocked || was_blocked(w)))
		w->now.mapped_bytes += now - before - device;
	/* until the map is known, growth is kept for the map */
	if (w->map.mount != NULL || before == 0)
		w->map.resident_bytes = now;
}
