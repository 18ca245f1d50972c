/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files and connections; bytes of local sockets go to their servers (collect_local.c). A run may
 * touch any number of files and connections; 256 are reported one by one, half of
 * these places are kept for large ones, and a small file waits until the program closes it before
 * it may take a place. All others are summed up in two objects without a name, the first two of the
 * table.
 */
#include "host/nwrun/collect/collect_in.h"

#include <string.h>

static void
label_fill(struct collect *c, uint32_t owner, struct label *l, const struct nwshm_object *o)
{
	const struct watch *w = &c->watch[owner];

	l->known = true;
	l->kind = o->kind < NWSHM_OBJECT_KINDS ? o->kind : NWSHM_FILE;
	l->size_bytes = atomic_load_explicit(&o->size_bytes, memory_order_relaxed);
	if (l->kind == NWSHM_CONN) {
		l->local = o->u.conn.local;
		l->peer = o->u.conn.peer;
		return;
	}
	if (l->kind >= NWSHM_LOCAL)
		return;
	memcpy(l->path, o->u.path, sizeof(l->path));
	l->path[sizeof(l->path) - 1] = '\0';
	l->dev = o->dev;
	if (l->mount == NULL && o >= &c->shm->object[NWSHM_OBJECTS_FIXED])
		l->mount =
		    mounts_find(&c->mounts, w->foreign ? 0 : w->pid, o->dev, o->fs_magic, l->path);
}

static void
seen_start(struct collect *c, struct object_seen *seen, const struct nwshm_object *o)
{
	uint32_t owner = *(const volatile uint32_t *)&o->owner;

	memset(seen, 0, sizeof(*seen));
	seen->used = true;
	seen->owner = owner < NWSHM_PROCS ? owner : 0;
	label_fill(c, seen->owner, &seen->label, o);
}

static bool
delta_take(const struct nwshm_object *o, struct object_seen *seen, struct object_delta *d)
{
	int dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		d->bytes[dir] = nwshm_get(&o->bytes[dir]) - seen->bytes[dir];
		d->ns[dir] = nwshm_get(&o->ns[dir]) - seen->ns[dir];
		seen->bytes[dir] += d->bytes[dir];
		seen->ns[dir] += d->ns[dir];
	}
	return d->bytes[NWSHM_READ] + d->bytes[NWSHM_WRITE] + d->ns[NWSHM_READ] +
	    d->ns[NWSHM_WRITE] >
	    0;
}

static bool
may_be_said(const struct collect *c, const struct object_seen *seen, bool closed)
{
	uint64_t moved = seen->bytes[NWSHM_READ] + seen->bytes[NWSHM_WRITE];

	if (seen->said)
		return true;
	if (c->objects_said >= COLLECT_OBJECTS_SAID)
		return false;
	if (moved >= COLLECT_OBJECT_SMALL_BYTES)
		return true;
	/* Each file takes a KiB in the box for good: a few of very many small files are sample
	 * enough. */
	if (seen->label.kind == NWSHM_CONN)
		return c->objects_said < COLLECT_OBJECTS_SAID / 2;
	return closed && seen->label.path[0] != '\0' && c->objects_said < COLLECT_SMALL_SAID;
}

/* A stage gets the label of its largest object. */
static void
label_stage(struct watch *w, const struct object_seen *seen)
{
	unsigned dir, stage;

	if (seen->label.kind == NWSHM_FILE && seen->label.path[0] == '\0')
		return; /* a small file without a name */
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		stage = (seen->label.kind == NWSHM_CONN ? NWSHM_NET_READ : NWSHM_DISK_READ) + dir;
		if (seen->bytes[dir] == 0 || seen->bytes[dir] < w->stage[stage].label_bytes)
			continue;
		w->stage[stage].label_bytes = seen->bytes[dir];
		w->stage[stage].label = seen->label;
	}
}

/* Whether a program that mapped files waited for a disk at its newest looks. */
static bool
faults_pages(const struct collect *c, uint32_t owner, int64_t now_mono_ns)
{
	const struct watch *w = &c->watch[owner];

	return w->blocked_mono_ns != 0 &&
	    now_mono_ns - w->blocked_mono_ns < COLLECT_ANSWER_BLOCKED_NS &&
	    nwshm_get(&c->shm->proc[owner].mapped_bytes) >= COLLECT_OBJECT_SMALL_BYTES;
}

/*
 * Asks the kernel, which answers no sooner than the program leaves the socket: a program that sends
 * a mapped file waits for the file's disk inside send(2), and holds the socket's lock, so that a
 * question may take as long as the transfer. While the program waits so, the connection rests;
 * behind an answer that took long, too, so that such waits take a small share of the collector's
 * time. Returns false without an answer, and while the connection rests.
 */
static bool
tcp_ask_rested(const struct collect *c, struct object_seen *seen, struct tcp_sample *tcp)
{
	int64_t begin_mono_ns = nw_mono_ns(), took_ns;
	bool found;

	if (begin_mono_ns < seen->tcp_rest_mono_ns || faults_pages(c, seen->owner, begin_mono_ns))
		return false;
	found = tcp_ask(c->tcp_fd, &seen->label.local, &seen->label.peer, tcp);
	took_ns = nw_mono_ns() - begin_mono_ns;
	if (took_ns > COLLECT_ANSWER_SLOW_NS)
		seen->tcp_rest_mono_ns = begin_mono_ns + COLLECT_ANSWER_RESTS * took_ns;
	return found;
}

/*
 * A connection may be busy although its program sleeps; then the kernel's numbers are worth a
 * document of their own. For a connection that is closed already, or in another network name space,
 * there are the program's last numbers.
 */
static bool
tcp_look(struct collect *c, const struct nwshm_object *o, struct object_seen *seen,
    struct tcp_sample *tcp, bool *worked)
{
	uint64_t busy_us;
	uint32_t len;

	*worked = false;
	if (seen->label.kind != NWSHM_CONN)
		return false;
	if (!tcp_ask_rested(c, seen, tcp)) {
		len = atomic_load_explicit(&o->u.conn.tcp_info_len, memory_order_acquire);
		if (len == 0 || len > NWSHM_TCP_INFO_BYTES)
			return false;
		tcp_parse(o->u.conn.tcp_info, len, tcp);
	}
	busy_us = tcp->busy_s >= 0 ? (uint64_t)(tcp->busy_s * 1e6) : 0;
	*worked = busy_us != seen->tcp_busy_us;
	seen->tcp_busy_us = busy_us;
	return true;
}

/* Takes back amounts that are not sent yet because the object may stay small; the next look sees
 * them again. */
static void
delta_put_back(struct object_seen *seen, const struct object_delta *d)
{
	int dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		seen->bytes[dir] -= d->bytes[dir];
		seen->ns[dir] -= d->ns[dir];
	}
}

/* Files get other names and sizes while a program writes them. */
static void
label_refresh(struct collect *c, struct object_seen *seen, const struct nwshm_object *o)
{
	uint32_t renames = atomic_load_explicit(&o->renames, memory_order_acquire);

	if ((renames & 1) != 0 ||
	    (renames == seen->renames &&
		atomic_load_explicit(&o->size_bytes, memory_order_relaxed) ==
		    seen->label.size_bytes))
		return;
	seen->renames = renames;
	seen->relabelled = true;
	label_fill(c, seen->owner, &seen->label, o);
}

static void
object_report(struct collect *c, unsigned object, bool closed, int64_t now_wall_ns)
{
	struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	struct tcp_sample tcp;
	struct object_delta d;
	bool moved, has_tcp, tcp_worked, first;

	first = seen->bytes[NWSHM_READ] + seen->bytes[NWSHM_WRITE] == 0;
	label_refresh(c, seen, o);
	moved = delta_take(o, seen, &d);
	if (seen->label.kind >= NWSHM_LOCAL) {
		if (moved && seen->label.kind == NWSHM_LOCAL)
			local_report(c, seen->owner, o, &d, first);
		pipe_report(c, object, now_wall_ns);
		return;
	}
	label_stage(&c->watch[seen->owner], seen);
	has_tcp = tcp_look(c, o, seen, &tcp, &tcp_worked);
	if (!moved && !tcp_worked)
		return;
	if (may_be_said(c, seen, closed)) {
		say_object(c, object, &d, has_tcp ? &tcp : NULL, now_wall_ns);
	} else if (closed) {
		if (seen->label.kind != NWSHM_FILE || !handed_take(c, seen->owner, o, &d))
			add_to_nameless(c, seen->label.kind, &d);
		cells_to_nameless(c, object);
	} else {
		delta_put_back(seen, &d);
	}
}

static void
object_free(struct collect *c, unsigned object)
{
	struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	uint32_t ready = atomic_load(&o->cells_ready);

	if (seen->used)
		say_object_end(c, object);
	seen->used = false;
	cells_clear(c, object);
	if (seen->label.kind == NWSHM_LOCAL)
		atomic_fetch_sub(&c->shm->locals, 1);
	if (seen->label.kind >= NWSHM_PIPE)
		atomic_fetch_sub(&c->shm->pipes, 1);
	atomic_store(&c->shm->object_key[object], 0);
	memset((char *)o + sizeof(o->state), 0, sizeof(*o) - sizeof(o->state));
	atomic_store(&o->cells_ready, ready);
	atomic_store(&o->state, NWSHM_FREE);
	atomic_fetch_add(&c->shm->objects_freed, 1);
}

static bool
object_is_there(const struct nwshm_object *o)
{
	uint32_t s = atomic_load_explicit(&o->state, memory_order_acquire);

	return s == NWSHM_LIVE || s == NWSHM_ENDED;
}

static bool
is_of(const struct collect *c, unsigned object, unsigned index)
{
	return object_is_there(&c->shm->object[object]) && c->shm->object[object].owner == index;
}

void
object_collect(struct collect *c, unsigned index, bool gone, int64_t now_wall_ns)
{
	uint32_t used = nwshm_used_get(&c->shm->objects_used, NWSHM_OBJECTS), i;

	for (i = NWSHM_OBJECTS_FIXED; i < used; i++)
		if (is_of(c, i, index) && !c->object[i].used)
			seen_start(c, &c->object[i], &c->shm->object[i]);
	window_collect_ahead(c, index, now_wall_ns - c->wall_ahead_ns);
	for (i = NWSHM_OBJECTS_FIXED; i < used; i++) {
		if (!is_of(c, i, index))
			continue;
		object_report(c, i, gone, now_wall_ns);
		cells_report(c, i, gone, now_wall_ns);
		if (gone)
			object_free(c, i);
	}
	if (gone)
		handed_end(c, index, now_wall_ns);
	c->watch[index].objects_wall_ns = now_wall_ns;
}

/*
 * Closed at this look and the look before: no operation on the object is still under way. From
 * SETUP on no other thread can find the object.
 */
static void
sweep_closed(struct collect *c, bool written, int64_t now_wall_ns)
{
	uint32_t used = nwshm_used_get(&c->shm->objects_used, NWSHM_OBJECTS), i, ended;
	struct nwshm_object *o;

	for (i = NWSHM_OBJECTS_FIXED; i < used; i++) {
		o = &c->shm->object[i];
		if ((nwshm_get(&o->bytes[NWSHM_WRITE]) > 0) != written)
			continue;
		ended = NWSHM_ENDED;
		if (atomic_load_explicit(&o->state, memory_order_acquire) != NWSHM_ENDED) {
			c->object[i].ended = false;
			continue;
		}
		if (!c->object[i].used)
			seen_start(c, &c->object[i], o);
		if (!c->object[i].ended) {
			c->object[i].ended = true;
			continue;
		}
		if (!atomic_compare_exchange_strong(&o->state, &ended, NWSHM_SETUP))
			continue;
		object_report(c, i, true, now_wall_ns);
		cells_report(c, i, true, now_wall_ns);
		object_free(c, i);
	}
}

static void
report_nameless(struct collect *c, unsigned object, int64_t now_wall_ns)
{
	struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	struct object_delta d;

	if (!seen->used) {
		o->kind = object == NWSHM_OTHER_FILES ? NWSHM_FILE : NWSHM_CONN;
		seen_start(c, seen, o);
		seen->label.known = false;
	}
	if (delta_take(o, seen, &d))
		say_object(c, object, &d, NULL, now_wall_ns);
}

void
object_sweep(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final)
{
	unsigned i;

	sweep_closed(c, true, now_wall_ns); /* before the reader's object of a file */
	sweep_closed(c, false, now_wall_ns);
	handed_look(c, now_mono_ns, now_wall_ns);
	if (!final && now_mono_ns - c->others_mono_ns < INT64_C(1000000000))
		return;
	c->others_mono_ns = now_mono_ns;
	for (i = 0; i < NWSHM_OBJECTS_FIXED; i++) {
		report_nameless(c, i, now_wall_ns);
		cells_report(c, i, final, now_wall_ns);
		if (final && c->object[i].used)
			say_object_end(c, i);
	}
}
