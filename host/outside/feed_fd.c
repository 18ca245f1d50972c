/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of watched processes. Every record says which file or socket its descriptor meant, so
 * a number that comes back to life unseen is noticed; the table keeps the object, and the name,
 * which only an open file has.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/outside/feed_in.h"

enum { FDS_TRIED = 256 };

static uint64_t
dev_of(uint32_t kernel_dev)
{
	return (uint64_t)(kernel_dev >> 20) << 32 | (kernel_dev & 0xfffff);
}

/* The file as the system shows the file now; as in the record where the number means another
 * file. */
static void
statx_fill(struct statx *st, uint32_t pid, int fd, const struct outside_file *file)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, fd);
	if (statx(AT_FDCWD, link, 0, STATX_INO | STATX_SIZE | STATX_BTIME, st) == 0 &&
	    st->stx_ino == file->ino)
		return;
	memset(st, 0, sizeof(*st));
	st->stx_mask = STATX_INO | STATX_SIZE;
	st->stx_ino = file->ino;
	st->stx_size = file->size_bytes;
}

/* The system's name for the descriptor, unless the number means another file now. */
static void
path_learn(struct feed_fd *f, uint32_t pid, const struct statx *st)
{
	char path[NWSHM_PATH_BYTES];

	if ((st->stx_mask & STATX_TYPE) == 0)
		return; /* closed by now: the name by which the program opened the file is all */
	sys_fd_path(pid, f->fd, path);
	if (path[0] != '/')
		return;
	free(f->path);
	f->path = xstrdup(path);
}

/* A pipe has no object. The collector asks for the process behind a local socket. */
static void
local_learn(struct feed_proc *p, struct feed_fd *f, const struct outside_file *file)
{
	char link[64];
	struct stat st;

	if (f->is_pipe)
		return;
	snprintf(link, sizeof(link), "/proc/%u/fd/%d", p->pid, f->fd);
	f->is_pipe = stat(link, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_ino != file->ino;
	if (!f->is_pipe)
		f->object = object_get_local(dev_of(file->dev), file->ino, 0, "", 0);
	f->is_pipe = f->object == NULL;
}

static void
fd_object_make(struct feed_proc *p, struct feed_fd *f, const struct outside_file *file)
{
	struct net_addr local, peer;
	struct statx st;

	sys_about(p, f);
	if (file->stage == NWSHM_NET_READ) {
		if (file->family == 0)
			return;
		net_addr_set(&local, file->family, file->local_ip, file->local_port);
		net_addr_set(&peer, file->family, file->peer_ip, file->peer_port);
		f->object = object_get_conn(dev_of(file->dev), file->ino, &local, &peer);
	} else if (file->stage == NWSHM_PIPE_READ) {
		local_learn(p, f, file);
	} else if (file->stage == NWSHM_DISK_READ) {
		statx_fill(&st, p->pid, f->fd, file);
		path_learn(f, p->pid, &st);
		f->object = object_get_file(f->fd, dev_of(file->dev), 0, &st);
	}
}

static void
entry_forget(struct feed_fd *f)
{
	if (f->object != NULL)
		object_unref(f->object);
	f->object = NULL;
	f->is_pipe = false;
	free(f->path);
	f->path = NULL;
}

static struct feed_fd *
entry_get(struct feed_proc *p, int fd)
{
	struct feed_fd *f;

	HASH_FIND_INT(p->fds, &fd, f);
	if (f != NULL)
		return f;
	f = xcalloc(1, sizeof(*f));
	f->fd = fd;
	HASH_ADD_INT(p->fds, fd, f);
	return f;
}

/* The descriptor means this file from now on. True if the descriptor meant this file before. */
static bool
entry_is(struct feed_fd *f, const struct outside_file *file)
{
	if (f->ino == file->ino && f->dev == file->dev)
		return true;
	entry_forget(f);
	f->ino = file->ino;
	f->dev = file->dev;
	return false;
}

unsigned
feed_fd_stage(struct feed_proc *p, const struct outside_file *file)
{
	const struct net_addr *only = p->feed->only_peer;
	struct net_addr peer;

	if (only == NULL || file->stage != NWSHM_NET_READ)
		return file->stage;
	if (file->family != 0) {
		net_addr_set(&peer, file->family, file->peer_ip, file->peer_port);
		if (peer.family == only->family && memcmp(peer.ip, only->ip, sizeof(peer.ip)) == 0)
			return file->stage;
	}
	p->has_others = true;
	return NWSHM_OTHER_READ;
}

/* The descriptor behind the made-up number of a ring's request: the one that the table or the
 * system shows with the same file. Else the made-up number. */
static int
fd_behind(const struct feed_proc *p, int made_up, const struct outside_file *file)
{
	struct feed_fd *f, *tmp;
	struct stat st;
	char link[64];
	int fd;

	HASH_ITER (hh, p->fds, f, tmp)
		if (f->fd >= 0 && f->ino == file->ino && f->dev == file->dev)
			return f->fd;
	for (fd = 0; fd < FDS_TRIED; fd++) {
		snprintf(link, sizeof(link), "/proc/%u/fd/%d", p->pid, fd);
		if (stat(link, &st) == 0 && st.st_ino == file->ino)
			return fd;
	}
	return made_up;
}

/* A made-up number stays with the file, so the search happens once. */
int
feed_fd_number(struct feed_proc *p, int fd, const struct outside_file *file)
{
	struct feed_fd *f;

	if (fd >= 0)
		return fd;
	HASH_FIND_INT(p->fds, &fd, f);
	return f != NULL && f->ino == file->ino && f->dev == file->dev ? fd
								       : fd_behind(p, fd, file);
}

struct nwshm_object *
feed_fd_object(struct feed_proc *p, int fd, const struct outside_file *file)
{
	struct feed_fd *f;

	if (feed_fd_stage(p, file) > NWSHM_PIPE_READ)
		return NULL;
	f = entry_get(p, fd);
	(void)entry_is(f, file);
	if (f->object == NULL)
		fd_object_make(p, f, file);
	sys_about(p, f);
	return f->object;
}

/* A name relative to the current directory becomes absolute while the directory is known. */
static char *
path_absolute(uint32_t pid, int dir, const char *name)
{
	char base[NWSHM_PATH_BYTES], link[64];
	ssize_t n;

	if (name[0] == '/')
		return xstrdup(name);
	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%u/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, dir);
	if ((n = readlink(link, base, sizeof(base) - 1)) <= 0)
		return NULL;
	base[n] = '\0';
	return xasprintf("%s/%s", base, name);
}

void
feed_fd_opened(struct feed_proc *p, const struct outside_name *n)
{
	struct feed_fd *f = entry_get(p, n->head.fd);
	size_t len = strnlen(n->path, sizeof(n->path));

	entry_forget(f);
	(void)entry_is(f, &n->file);
	if (len == 0 || len >= sizeof(n->path) - 1)
		return; /* cut names are no names */
	f->path = path_absolute(p->pid, n->dir_fd, n->path);
}

static void
name_learn(struct feed_proc *p, int fd)
{
	struct outside_file file = { 0 };
	char link[64], path[NWSHM_PATH_BYTES];
	struct feed_fd *f;
	struct stat st;

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", p->pid, fd);
	if (stat(link, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	sys_fd_path(p->pid, fd, path);
	if (path[0] != '/')
		return;
	file.ino = st.st_ino;
	file.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	f = entry_get(p, fd);
	if (!entry_is(f, &file))
		f->path = xstrdup(path);
}

void
feed_fd_learn_all(struct feed_proc *p)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", p->pid);
	if ((dir = opendir(path)) == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.')
			name_learn(p, atoi(e->d_name));
	closedir(dir);
}

void
feed_fd_inherit(struct feed_proc *p, const struct feed_proc *parent)
{
	struct feed_fd *f, *tmp, *mine;

	HASH_ITER (hh, parent->fds, f, tmp) {
		if (f->path == NULL)
			continue;
		mine = entry_get(p, f->fd);
		mine->ino = f->ino;
		mine->dev = f->dev;
		mine->path = xstrdup(f->path);
	}
}

void
feed_fd_closed(struct feed_proc *p, int fd)
{
	struct feed_fd *f;

	HASH_FIND_INT(p->fds, &fd, f);
	if (f == NULL)
		return;
	sys_about(p, f);
	if (f->object != NULL)
		object_closing(f->object, fd);
	entry_forget(f);
	HASH_DEL(p->fds, f);
	free(f);
}

void
feed_fd_close_all(struct feed_proc *p)
{
	struct feed_fd *f, *tmp;

	HASH_ITER (hh, p->fds, f, tmp) {
		sys_about(p, f);
		if (f->object != NULL)
			object_closing(f->object, f->fd);
	}
}

/* The objects stay with the slot: the collector frees them. */
void
feed_fd_free_all(struct feed_proc *p)
{
	struct feed_fd *f, *tmp;

	HASH_ITER (hh, p->fds, f, tmp) {
		HASH_DEL(p->fds, f);
		free(f->path);
		free(f);
	}
}

/* Serves op_begin(), which is never called here: a record comes when the call is over. */
struct fd_info
fd_get(int fd)
{
	(void)fd;
	return (struct fd_info){ NWSHM_OTHER_READ, NULL };
}
