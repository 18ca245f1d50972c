/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files, connections and local sockets of this process in the region. A short scan finds an
 * object by its key;
 * when the table is full, two objects without a name take the bytes.
 */
#include "host/nwrun/preload/preload.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define RECENT_NS INT64_C(1000000000)

/* Never 0, the mark of a free key. */
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
	if (atomic_load(&o->state) == NWSHM_LIVE ||
	    atomic_compare_exchange_strong(&o->state, &s, NWSHM_LIVE))
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

/* The kernel's name for the open file: absolute, whatever the program called the file. Returns
 * the length, 0 for none. */
static size_t
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
	return len > 0 ? (size_t)len : 0;
}

/* File systems note births by a clock of some milliseconds: two files of one inode may share a
 * birth as long as the birth is recent. */
static bool
is_recent(int64_t born_ns)
{
	struct timespec now;

	return sys(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now) < 0 ||
	    now.tv_sec * 1000000000 + now.tv_nsec - born_ns < RECENT_NS;
}

/*
 * A file with the inode of a closed file may be the same file again, or a new file in its place:
 * the birth tells, else the name. Without a name the answer is no, which costs a slot.
 */
static bool
is_same_file(const struct nwshm_object *o, int fd, int64_t born_ns)
{
	char path[NWSHM_PATH_BYTES];

	if (o->kind != NWSHM_FILE || atomic_load(&o->state) == NWSHM_LIVE)
		return true;
	if (born_ns != 0 && o->born_ns != 0 && born_ns != o->born_ns)
		return false;
	if (born_ns != 0 && o->born_ns != 0 && !is_recent(born_ns))
		return true;
	if (o->u.path[0] == '\0')
		return false;
	read_fd_path(fd, path);
	return strncmp(path, o->u.path, sizeof(path)) == 0;
}

static struct nwshm_object *
object_find(
    enum nwshm_object_kind kind, uint64_t key, int fd, uint64_t dev, uint64_t ino, int64_t born_ns)
{
	uint32_t used = nwshm_used_get(&region->objects_used, NWSHM_OBJECTS), i;
	struct nwshm_object *o;

	for (i = NWSHM_OBJECTS_FIXED; i < used; i++) {
		if (atomic_load_explicit(&region->object_key[i], memory_order_relaxed) != key)
			continue;
		o = &region->object[i];
		if (o->owner == state->index && o->kind == (uint32_t)kind && o->dev == dev &&
		    o->ino == ino && is_same_file(o, fd, born_ns) && object_ref(o))
			return o;
	}
	return NULL;
}

bool
table_reaches(_Atomic uint32_t *ready, uint32_t index, const void *at, size_t bytes)
{
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)(NWSHM_PAGE - 1), end = (uintptr_t)at + bytes,
		  beyond = (end + NWSHM_PAGE - 1) & ~(uintptr_t)(NWSHM_PAGE - 1);

	if (likely(index < atomic_load_explicit(ready, memory_order_relaxed)))
		return true;
	if (sealed || sys(SYS_madvise, from, end - from, NWSHM_POPULATE_WRITE) < 0)
		return false;
	nwshm_used(ready, index + (uint32_t)((beyond - end) / bytes)); /* the page's others, too */
	return true;
}

static bool
object_take(uint32_t i)
{
	uint32_t s = NWSHM_FREE;

	return atomic_load_explicit(&region->object[i].state, memory_order_relaxed) == NWSHM_FREE &&
	    atomic_compare_exchange_strong(&region->object[i].state, &s, NWSHM_SETUP);
}

/* In state SETUP; NULL when the table is full. A full table is not searched again before the
 * collector has freed an object: most of many small files come while the table is full. */
static struct nwshm_object *
object_claim(uint32_t *index)
{
	static _Atomic uint32_t full_at; /* objects freed when the table was full, plus one */
	uint32_t freed = atomic_load_explicit(&region->objects_freed, memory_order_acquire), n, i;

	if (atomic_load_explicit(&full_at, memory_order_relaxed) == freed + 1)
		return NULL;
	i = atomic_load_explicit(&region->objects_from, memory_order_relaxed);
	for (n = 0; n < NWSHM_OBJECTS; n++, i++) {
		if (i < NWSHM_OBJECTS_FIXED || i >= NWSHM_OBJECTS ||
		    !table_reaches(
			&region->objects_ready, i, &region->object[i], sizeof(region->object[i])))
			i = NWSHM_OBJECTS_FIXED;
		if (!object_take(i))
			continue;
		atomic_store_explicit(&region->objects_from, i + 1, memory_order_relaxed);
		nwshm_used(&region->objects_used, i);
		*index = i;
		return &region->object[i];
	}
	atomic_store_explicit(&full_at, freed + 1, memory_order_relaxed);
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

static bool
path_make_absolute(char path[NWSHM_PATH_BYTES], int dir, const char *name)
{
	size_t at = 0, len = strlen(name);
	long n;

	if (name[0] != '/') {
		if (dir != AT_FDCWD)
			at = read_fd_path(dir, path);
		else if ((n = sys(SYS_getcwd, path, NWSHM_PATH_BYTES)) > 1)
			at = (size_t)n - 1; /* counts the NUL */
		if (at == 0 || at + 1 + len >= NWSHM_PATH_BYTES)
			return false;
		if (path[at - 1] != '/')
			path[at++] = '/';
	}
	if (at + len >= NWSHM_PATH_BYTES)
		return false;
	memcpy(path + at, name, len + 1);
	return true;
}

static int64_t
birth_ns(const struct statx *st)
{
	return (st->stx_mask & STATX_BTIME) == 0
	    ? 0
	    : st->stx_btime.tv_sec * 1000000000 + st->stx_btime.tv_nsec;
}

struct nwshm_object *
object_get_file(int fd, uint64_t dev, uint32_t fs_magic, const struct statx *st)
{
	uint64_t key = object_hash(NWSHM_FILE, dev, st->stx_ino);
	int64_t born_ns = birth_ns(st);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(NWSHM_FILE, key, fd, dev, st->stx_ino, born_ns)) != NULL)
		return o;
	if ((o = object_new(NWSHM_FILE, dev, st->stx_ino, &index)) == NULL)
		return &region->object[NWSHM_OTHER_FILES];
	o->born_ns = born_ns;
	o->fs_magic = fs_magic;
	atomic_store_explicit(&o->size_bytes, (int64_t)st->stx_size, memory_order_relaxed);
	object_publish(o, index, key);
	return o;
}

/* Under the lock of `renames`, as every change of a path. */
static void
object_set_path(struct nwshm_object *o, const char path[NWSHM_PATH_BYTES])
{
	uint32_t even = atomic_load(&o->renames) & ~1u;

	if (!atomic_compare_exchange_strong(&o->renames, &even, even + 1))
		return;
	memcpy(o->u.path, path, NWSHM_PATH_BYTES);
	atomic_store_explicit(&o->renames, even + 2, memory_order_release);
	atomic_fetch_or(
	    &region->named[(o - region->object) / 64], UINT64_C(1) << (o - region->object) % 64);
}

void
object_name(struct nwshm_object *o, int fd)
{
	char path[NWSHM_PATH_BYTES] = "";

	if (o < &region->object[NWSHM_OBJECTS_FIXED] || sealed || o->kind != NWSHM_FILE ||
	    read_fd_path(fd, path) == 0)
		return;
	object_set_path(o, path);
}

/* Of many small files the first few are sample enough. */
void
object_name_small(struct nwshm_object *o, int fd, bool bytes_come)
{
	if (o->u.path[0] == '\0' && o->kind == NWSHM_FILE &&
	    (bytes_come ||
		nwshm_get(&o->bytes[NWSHM_READ]) + nwshm_get(&o->bytes[NWSHM_WRITE]) > 0) &&
	    atomic_load_explicit(&region->small_named, memory_order_relaxed) < NWSHM_SMALL_NAMED &&
	    atomic_fetch_add(&region->small_named, 1) < NWSHM_SMALL_NAMED)
		object_name(o, fd);
}

bool
object_is_one_of_many(uint64_t size_bytes)
{
	return size_bytes < NWSHM_NAMED_BYTES &&
	    atomic_load_explicit(&region->small_named, memory_order_relaxed) >= NWSHM_SMALL_NAMED &&
	    atomic_load_explicit(&region->handing, memory_order_relaxed) == 0;
}

struct nwshm_object *
object_get_conn(
    uint64_t dev, uint64_t ino, const struct net_addr *local, const struct net_addr *peer)
{
	uint64_t key = object_hash(NWSHM_CONN, dev, ino);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(NWSHM_CONN, key, -1, dev, ino, 0)) != NULL)
		return o;
	if ((o = object_new(NWSHM_CONN, dev, ino, &index)) == NULL)
		return &region->object[NWSHM_OTHER_CONNS];
	o->u.conn.local = *local;
	o->u.conn.peer = *peer;
	object_publish(o, index, key);
	return o;
}

/* A server has any number of clients: beyond a few, files need the places. */
struct nwshm_object *
object_get_local(uint64_t dev, uint64_t ino, int32_t peer_pid, const char *path, size_t len)
{
	uint64_t key = object_hash(NWSHM_LOCAL, dev, ino);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(NWSHM_LOCAL, key, -1, dev, ino, 0)) != NULL)
		return o;
	if (atomic_fetch_add(&region->locals, 1) >= NWSHM_LOCALS ||
	    (o = object_new(NWSHM_LOCAL, dev, ino, &index)) == NULL) {
		atomic_fetch_sub(&region->locals, 1);
		return NULL;
	}
	o->u.local.peer_pid = peer_pid;
	o->born_ns = nw_cycles_ns(&region->cycles);
	if (len >= NWSHM_SOCKET_BYTES)
		len = NWSHM_SOCKET_BYTES - 1;
	memcpy(o->u.local.path, path, len);
	o->u.local.path[len] = '\0';
	object_publish(o, index, key);
	return o;
}

/* Of very many pipes a few are sample enough. */
static struct nwshm_object *
object_get_like_pipe(enum nwshm_object_kind kind, uint64_t dev, uint64_t ino, uint32_t most)
{
	uint64_t key = object_hash(kind, dev, ino);
	struct nwshm_object *o;
	uint32_t index;

	if ((o = object_find(kind, key, -1, dev, ino, 0)) != NULL)
		return o;
	if (atomic_fetch_add(&region->pipes, 1) >= most ||
	    (o = object_new(kind, dev, ino, &index)) == NULL) {
		atomic_fetch_sub(&region->pipes, 1);
		return NULL;
	}
	o->born_ns = nw_cycles_ns(&region->cycles);
	object_publish(o, index, key);
	return o;
}

struct nwshm_object *
object_get_pipe(uint64_t dev, uint64_t ino)
{
	return object_get_like_pipe(NWSHM_PIPE, dev, ino, NWSHM_PIPES);
}

/* The process holds a reference up to the end. */
struct nwshm_object *
object_get_peer(enum nwshm_object_kind kind, uint64_t dev, uint64_t ino)
{
	struct nwshm_object *o = object_get_like_pipe(kind, dev, ino,
	    kind == NWSHM_CHILDREN    ? NWSHM_PIPES
		: kind == NWSHM_MUTEX ? NWSHM_MUTEXES
				      : NWSHM_PEERS);

	if (o != NULL && atomic_load_explicit(&o->refs, memory_order_relaxed) > 1)
		object_unref(o);
	return o;
}

static bool
path_ends_with(const char *path, const char *name)
{
	size_t n = strnlen(path, NWSHM_PATH_BYTES), len = strlen(name);

	return len < n && path[n - len - 1] == '/' && memcmp(path + n - len, name, len) == 0;
}

bool
object_has_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	uint64_t set;
	size_t i;

	if (region == NULL)
		return false;
	name = slash != NULL ? slash + 1 : name;
	for (i = 0; i < NWSHM_OBJECTS / 64; i++)
		for (set = atomic_load_explicit(&region->named[i], memory_order_relaxed); set != 0;
		     set &= set - 1)
			if (path_ends_with(
				region->object[i * 64 + (size_t)__builtin_ctzll(set)].u.path, name))
				return true;
	return false;
}

/* A file often gets its real name at the end of the writing, from any program. Files without a path
 * stay without. */
void
object_renamed(int dir, const char *name)
{
	char path[NWSHM_PATH_BYTES] = "";
	struct nwshm_object *o;
	uint32_t used;
	struct statx st;

	if (thread_slot() == NULL ||
	    sys(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &st) < 0)
		return;
	used = nwshm_used_get(&region->objects_used, NWSHM_OBJECTS);
	for (o = &region->object[NWSHM_OBJECTS_FIXED]; o < &region->object[used]; o++) {
		if (o->ino != st.stx_ino || o->kind != NWSHM_FILE || o->dev != statx_dev(&st) ||
		    o->u.path[0] == '\0')
			continue;
		if (path[0] == '\0' && !path_make_absolute(path, dir, name))
			return;
		object_set_path(o, path);
	}
}

/* The descriptor is about to be closed: now the size of a written file is known, and a connection's
 * fate. */
void
object_closing(struct nwshm_object *o, int fd)
{
	struct statx st;
	socklen_t len = NWSHM_TCP_INFO_BYTES;

	if (o < &region->object[NWSHM_OBJECTS_FIXED] || sealed ||
	    atomic_load_explicit(&o->refs, memory_order_relaxed) != 1)
		return;
	if (o->kind == NWSHM_CONN) {
		if (sys(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, o->u.conn.tcp_info, &len) == 0)
			atomic_store_explicit(&o->u.conn.tcp_info_len, len, memory_order_release);
		return;
	}
	if (o->kind != NWSHM_FILE)
		return;
	object_name_small(o, fd, false);
	if (o->u.path[0] != '\0' && nwshm_get(&o->bytes[NWSHM_WRITE]) > 0 &&
	    sys(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE, &st) == 0)
		atomic_store_explicit(&o->size_bytes, (int64_t)st.stx_size, memory_order_relaxed);
}
