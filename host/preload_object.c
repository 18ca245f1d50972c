/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files and connections of this process in the region. Found by a key that a short scan compares; when the table is
 * full, two objects without a name take the bytes.
 */
#include "host/preload.h"

#include <fcntl.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>

/* Never 0, which marks a free key. */
static uint64_t
object_hash(enum nwshm_object_kind kind, uint64_t dev, uint64_t ino)
{
	uint64_t h = state->index * 2 + (uint64_t)kind + 1;

	h = (h ^ dev) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ ino) * 0xbf58476d1ce4e5b9u;
	return (h ^ h >> 32) | 1;
}

/* A closed object comes back to life unless the collector has already begun to clear it away. */
static bool
object_ref(struct nwshm_object *o)
{
	uint32_t s = NWSHM_ENDED;

	atomic_fetch_add(&o->refs, 1);
	if (atomic_load(&o->state) == NWSHM_LIVE || atomic_compare_exchange_strong(&o->state, &s, NWSHM_LIVE))
		return true;
	atomic_fetch_sub(&o->refs, 1);
	return false;
}

void
object_unref(struct nwshm_object *o)
{
	uint32_t s = NWSHM_LIVE;

	if (o < &region->object[NWSHM_OBJECTS_FIXED] || atomic_fetch_sub(&o->refs, 1) != 1)
		return;
	atomic_compare_exchange_strong(&o->state, &s, NWSHM_ENDED);
}

static struct nwshm_object *
object_find(enum nwshm_object_kind kind, uint64_t key, uint64_t dev, uint64_t ino)
{
	uint32_t used = atomic_load_explicit(&region->objects_used, memory_order_relaxed), i;
	struct nwshm_object *o;

	for (i = NWSHM_OBJECTS_FIXED; i < used; i++) {
		if (atomic_load_explicit(&region->object_key[i], memory_order_relaxed) != key)
			continue;
		o = &region->object[i];
		if (o->owner == state->index && o->kind == (uint32_t)kind && o->dev == dev && o->ino == ino &&
		    object_ref(o))
			return o;
	}
	return NULL;
}

/* In state SETUP; NULL when the table is full. */
static struct nwshm_object *
object_claim(uint32_t *index)
{
	uint32_t i, s, used;

	for (i = NWSHM_OBJECTS_FIXED; i < NWSHM_OBJECTS; i++) {
		s = NWSHM_FREE;
		if (atomic_load_explicit(&region->object[i].state, memory_order_relaxed) != NWSHM_FREE ||
		    !atomic_compare_exchange_strong(&region->object[i].state, &s, NWSHM_SETUP))
			continue;
		while ((used = atomic_load(&region->objects_used)) <= i &&
		    !atomic_compare_exchange_weak(&region->objects_used, &used, i + 1))
			;
		*index = i;
		return &region->object[i];
	}
	return NULL;
}

static struct nwshm_object *
object_new(enum nwshm_object_kind kind, uint64_t dev, uint64_t ino, uint32_t *index)
{
	struct nwshm_object *o;

	if ((o = object_claim(index)) == NULL)
		return NULL;
	o->owner = state->index;
	o->kind = (uint32_t)kind;
	o->dev = dev;
	o->ino = ino;
	atomic_store(&o->refs, 1);
	return o;
}

static void
object_publish(struct nwshm_object *o, uint32_t index, uint64_t key)
{
	atomic_store_explicit(&o->state, NWSHM_LIVE, memory_order_release);
	atomic_store_explicit(&region->object_key[index], key, memory_order_release);
}

/* The kernel's name for the open file: absolute, whatever the program called it. */
static void
read_fd_path(int fd, char path[NWSHM_PATH_BYTES])
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t at = strlen(link), n = 0;
	long len;

	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	while (n > 0)
		link[at++] = digits[--n];
	link[at] = '\0';
	len = sys(SYS_readlinkat, AT_FDCWD, link, path, NWSHM_PATH_BYTES - 1);
	path[len > 0 ? len : 0] = '\0';
}

struct nwshm_object *
object_get_file(int fd, uint64_t dev, uint64_t ino, int64_t size_bytes)
{
	uint64_t key = object_hash(NWSHM_FILE, dev, ino);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(NWSHM_FILE, key, dev, ino)) != NULL)
		return o;
	if ((o = object_new(NWSHM_FILE, dev, ino, &index)) == NULL)
		return &region->object[NWSHM_OTHER_FILES];
	atomic_store_explicit(&o->size_bytes, size_bytes, memory_order_relaxed);
	read_fd_path(fd, o->u.path);
	object_publish(o, index, key);
	return o;
}

struct nwshm_object *
object_get_conn(uint64_t dev, uint64_t ino, const struct nwshm_addr *local, const struct nwshm_addr *peer)
{
	uint64_t key = object_hash(NWSHM_CONN, dev, ino);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(NWSHM_CONN, key, dev, ino)) != NULL)
		return o;
	if ((o = object_new(NWSHM_CONN, dev, ino, &index)) == NULL)
		return &region->object[NWSHM_OTHER_CONNS];
	o->u.conn.local = *local;
	o->u.conn.peer = *peer;
	object_publish(o, index, key);
	return o;
}

void
object_add(struct nwshm_object *o, enum nwshm_dir dir, uint64_t bytes, int64_t ns)
{
	if (__libc_single_threaded && o >= &region->object[NWSHM_OBJECTS_FIXED]) {
		nwshm_add(&o->bytes[dir], bytes);
		nwshm_add(&o->ns[dir], (uint64_t)ns);
		return;
	}
	atomic_fetch_add_explicit(&o->bytes[dir], bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&o->ns[dir], (uint64_t)ns, memory_order_relaxed);
}
