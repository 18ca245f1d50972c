/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a descriptor is: a file on a disk, an internet socket, a pipe or local socket to a
 * neighbour, or something else. Found out on first use, kept in a table, forgotten whenever the
 * number may get a new meaning. Forgetting too often only costs another look.
 *
 * A pipe leads to a neighbour unless this process made the pipe and has both ends: threads wake
 * each other so, and a wait for a thread is no wait for a neighbour. Such a pair is private until
 * one end is closed or a child may have it.
 */
#include "host/nwrun/preload/preload.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>

static _Atomic uint32_t fd_used;    /* highest number ever entered, plus one */
static _Atomic bool fd_has_private; /* or had */

static uint32_t
fd_word(unsigned stage, bool again, const struct nwshm_object *o)
{
	uint32_t object = o == NULL ? 0 : (uint32_t)(o - region->object) + 1;

	return object << FD_OBJECT_SHIFT | (again ? FD_AGAIN : 0) | (stage + 1);
}

/* /proc and its like are kernel memory behind file calls: no disk. */
static bool
is_pseudo(uint32_t magic)
{
	switch (magic) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case BPF_FS_MAGIC:
	case ANON_INODE_FS_MAGIC: return true;
	}
	return false;
}

/* Answers by device, direct mapped: the device's minor number, the answer. 0: no entry. */
enum { DEVICES = 64 };
static _Atomic uint64_t fs_magics[DEVICES];

/* The f_type of a file's file system. Pseudo file systems, and those over a network, have no device
 * of their own: their numbers have major 0. Each such number is asked about once. 0 for a file on a
 * device, and where the system does not tell. */
static uint32_t
fs_magic_get(int fd, uint64_t dev)
{
	_Atomic uint64_t *at = &fs_magics[dev % DEVICES];
	uint64_t known;
	struct statfs fs;

	if (dev >> 32 != 0)
		return 0;
	known = atomic_load_explicit(at, memory_order_relaxed);
	if (known != 0 && known >> 32 == dev)
		return (uint32_t)known;
	if (sys(SYS_fstatfs, fd, &fs) < 0)
		return 0;
	atomic_store_explicit(at, dev << 32 | (uint32_t)fs.f_type, memory_order_relaxed);
	return (uint32_t)fs.f_type;
}

static int
socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return sys(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* The name of a local socket: a path, or '@' and the name that no file has. */
static size_t
local_name(const struct sockaddr_un *un, socklen_t len, char out[NWSHM_SOCKET_BYTES])
{
	size_t at = offsetof(struct sockaddr_un, sun_path), n = len > at ? len - at : 0;

	if (n > sizeof(un->sun_path))
		n = sizeof(un->sun_path);
	memcpy(out, un->sun_path, n);
	if (n > 0 && out[0] == '\0')
		out[0] = '@';
	out[n] = '\0';
	return strlen(out);
}

/* What is at a local socket's other end. The collector looks closer. */
static uint32_t
look_at_local(int fd, uint64_t dev, uint64_t ino)
{
	union {
		struct sockaddr_storage ss;
		struct sockaddr_un un;
	} peer;
	socklen_t len = sizeof(peer), cred_len = sizeof(struct ucred);
	struct ucred cred = { .pid = 0 };
	char name[NWSHM_SOCKET_BYTES];

	if (sys(SYS_getpeername, fd, &peer, &len) < 0)
		return fd_word(NWSHM_PIPE_READ, socket_option(fd, SO_TYPE) == SOCK_STREAM, NULL);
	if (sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0)
		cred.pid = 0;
	return fd_word(NWSHM_PIPE_READ, false,
	    object_get_local(dev, ino, cred.pid, name, local_name(&peer.un, len, name)));
}

/* A stream without a connection gets another look with every use until there is a peer. */
static uint32_t
look_at_socket(int fd, uint64_t dev, uint64_t ino)
{
	struct sockaddr_storage ss;
	struct net_addr local, peer;
	socklen_t len = sizeof(ss);

	if (sys(SYS_getsockname, fd, &ss, &len) < 0 || socket_option(fd, SO_ACCEPTCONN) == 1)
		return fd_word(NWSHM_OTHER_READ, false, NULL);
	if (ss.ss_family == AF_UNIX)
		return look_at_local(fd, dev, ino);
	if (!net_addr_of_socket(&local, &ss))
		return fd_word(NWSHM_OTHER_READ, false, NULL);
	len = sizeof(ss);
	if (sys(SYS_getpeername, fd, &ss, &len) < 0)
		return fd_word(NWSHM_NET_READ, socket_option(fd, SO_TYPE) == SOCK_STREAM, NULL);
	net_addr_of_socket(&peer, &ss);
	return fd_word(NWSHM_NET_READ, false, object_get_conn(dev, ino, &local, &peer));
}

static uint32_t
look_at_file(int fd, uint64_t dev, uint32_t fs_magic, const struct statx *st, bool reads)
{
	if (reads && object_is_one_of_many(st->stx_size))
		return fd_word(NWSHM_DISK_READ, false, &region->object[NWSHM_OTHER_FILES]);
	return fd_word(NWSHM_DISK_READ, false, object_get_file(fd, dev, fs_magic, st));
}

static uint32_t
look_at(int fd, bool reads)
{
	struct statx st;
	uint32_t magic = 0;
	uint64_t dev;

	if (sys(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME,
		&st) < 0)
		return 0;
	dev = statx_dev(&st);
	if (S_ISSOCK(st.stx_mode))
		return look_at_socket(fd, dev, st.stx_ino);
	if (S_ISREG(st.stx_mode))
		magic = fs_magic_get(fd, dev);
	if (S_ISBLK(st.stx_mode) || (S_ISREG(st.stx_mode) && !is_pseudo(magic)))
		return look_at_file(fd, dev, magic, &st, reads);
	if (S_ISFIFO(st.stx_mode))
		return fd_word(NWSHM_PIPE_READ, false, object_get_pipe(dev, st.stx_ino));
	return fd_word(NWSHM_OTHER_READ, false, NULL);
}

/* Another thread may have looked meanwhile: then its word stands, and its object counts. Or it has
 * closed the descriptor. */
static uint32_t
fd_look(int fd, uint32_t old)
{
	uint32_t word = look_at(fd, (old & FD_READS) != 0);
	bool has_place = (unsigned)fd < FD_MAX && tables_make();

	if (word == 0)
		return fd_word(NWSHM_OTHER_READ, false, NULL);
	if (has_place && atomic_compare_exchange_strong(&tables->fd[fd], &old, word)) {
		nwshm_used(&fd_used, (uint32_t)fd);
		return word;
	}
	if (fd_word_object(word) != NULL)
		object_unref(fd_word_object(word));
	return has_place && old != 0 && (old & FD_AGAIN) == 0 ? old : word;
}

struct fd_info
fd_get(int fd)
{
	uint32_t word = fd_word_get(fd);

	if (unlikely(word == 0 || (word & FD_AGAIN) != 0)) {
		if (sealed)
			return (struct fd_info){ NWSHM_NO_STAGE, NULL };
		word = fd_look(fd, word);
	}
	return fd_word_info(word);
}

void
fd_note_room(int fd, ssize_t written)
{
	uint32_t word = fd_word_get(fd);

	if ((word & FD_STAGE_MASK) != NWSHM_NET_READ + 1 || in_vfork_child())
		return;
	if (written >= 0)
		atomic_fetch_and(&tables->fd[fd], ~(uint32_t)FD_FULL);
	else if (errno == EAGAIN)
		atomic_fetch_or(&tables->fd[fd], FD_FULL);
}

void
fd_waited(int fd, bool out, int64_t ns, int64_t end_mono_ns)
{
	uint32_t word = fd_word_get(fd);
	struct nwshm_object *o = fd_word_object(word);

	if ((word & FD_STAGE_MASK) != NWSHM_PIPE_READ + 1 || o == NULL || in_vfork_child())
		return;
	atomic_fetch_add_explicit(
	    &o->ns[out ? NWSHM_WRITE : NWSHM_READ], (uint64_t)ns, memory_order_relaxed);
	atomic_store_explicit(&o->u.local.used_mono_ns, end_mono_ns, memory_order_relaxed);
}

void
fd_look_all(void)
{
	int fd;

	for (fd = 0; fd < FD_LOOKED; fd++) {
		fd_get(fd);
		fd_name(fd, true);
	}
}

/* The pair of a number is not kept: every private pair counts as a neighbour's from now on. */
void
fd_pairs_shared(void)
{
	uint32_t used = atomic_load_explicit(&fd_used, memory_order_relaxed), i, word;

	if (!atomic_exchange(&fd_has_private, false))
		return;
	for (i = 0; i < used; i++)
		if (((word = fd_word_get((int)i)) & FD_PRIVATE) != 0)
			atomic_compare_exchange_strong(&tables->fd[i], &word, 0);
}

void
fd_forget(int fd)
{
	uint32_t word;

	if (fd_word_get(fd) == 0 || in_vfork_child())
		return;
	word = atomic_exchange(&tables->fd[fd], 0);
	if ((word & FD_PRIVATE) != 0)
		fd_pairs_shared();
	if (region != NULL && fd_word_object(word) != NULL)
		object_unref(fd_word_object(word));
}

/* Devices that some programs open for every file. */
static bool
is_well_known(const char *path)
{
	static const char names[][sizeof("/dev/urandom")] = { "/dev/urandom", "/dev/null",
		"/dev/zero" };
	size_t i;

	if (strncmp(path, "/dev/", sizeof("/dev/") - 1) != 0)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

void
fd_opened(int fd, const char *path, int flags)
{
	uint32_t word;

	fd_forget(fd);
	if (region == NULL || tables == NULL || (unsigned)fd >= FD_MAX || (flags & O_PATH) != 0 ||
	    in_vfork_child())
		return;
	if (is_well_known(path))
		word = fd_word(NWSHM_OTHER_READ, false, NULL);
	else if ((flags & O_ACCMODE) == O_RDONLY)
		word = FD_READS | FD_AGAIN;
	else
		return;
	atomic_store_explicit(&tables->fd[fd], word, memory_order_relaxed);
	nwshm_used(&fd_used, (uint32_t)fd);
}

/* Most programs that read many small files ask for each file's size: then no later call asks
 * again. */
void
fd_learn(int fd, uint64_t dev, uint64_t size_bytes)
{
	uint32_t old = FD_READS | FD_AGAIN;

	if (region == NULL || sealed || in_vfork_child() || !object_is_one_of_many(size_bytes) ||
	    is_pseudo(fs_magic_get(fd, dev)))
		return;
	atomic_compare_exchange_strong(&tables->fd[fd], &old,
	    fd_word(NWSHM_DISK_READ, false, &region->object[NWSHM_OTHER_FILES]));
}

void
fd_pair_made(const int fds[2])
{
	int i;

	fd_forget(fds[0]);
	fd_forget(fds[1]);
	if (region == NULL || in_vfork_child() || !tables_make())
		return;
	for (i = 0; i < 2; i++)
		if ((unsigned)fds[i] < FD_MAX) {
			atomic_store(&tables->fd[fds[i]],
			    fd_word(NWSHM_OTHER_READ, false, NULL) | FD_PRIVATE);
			nwshm_used(&fd_used, (uint32_t)fds[i]);
			atomic_store(&fd_has_private, true);
		}
}

void
fd_closing(int fd)
{
	uint32_t word = fd_word_get(fd);

	if (word == 0)
		return;
	if (region != NULL && !in_vfork_child() && fd_word_object(word) != NULL)
		object_closing(fd_word_object(word), fd);
	fd_forget(fd);
}

void
fd_name(int fd, bool bytes_come)
{
	uint32_t word = fd_word_get(fd);

	if (word == 0 || region == NULL || in_vfork_child() || fd_word_object(word) == NULL)
		return;
	object_name_small(fd_word_object(word), fd, bytes_come);
}

/* The kernel will close the descriptors that the program left open. */
void
fd_closing_all(void)
{
	uint32_t used = atomic_load_explicit(&fd_used, memory_order_relaxed), i;
	struct nwshm_object *o;

	for (i = 0; region != NULL && i < used; i++)
		if ((o = fd_word_object(fd_word_get((int)i))) != NULL)
			object_closing(o, (int)i);
}

void
fd_forget_range(unsigned first, unsigned last)
{
	unsigned used = atomic_load_explicit(&fd_used, memory_order_relaxed);

	for (; first <= last && first < used; first++)
		fd_forget((int)first);
}

/* The objects stay the parent's. */
void
fd_forget_all_on_fork(void)
{
	uint32_t used = atomic_load_explicit(&fd_used, memory_order_relaxed);

	if (tables != NULL)
		memset((void *)tables->fd, 0, used * sizeof(tables->fd[0]));
	atomic_store(&fd_used, 0);
}
