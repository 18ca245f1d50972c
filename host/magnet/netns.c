/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/magnet.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { HOOKED_MAX = 4 };

struct netns {
	uint64_t cookie; /* 0: a free place */
	int fd;
	unsigned n_views;
	bool by_filter;
	struct hook_links links[HOOKED_MAX]; /* of each program */
};

struct netns_set {
	struct netns spaces[MAGNET_VIEWS_MAX];
	struct hooked {
		const struct program *program;
		const char *where;
	} hooked[HOOKED_MAX];
	size_t n_hooked;
};

static uint64_t
own_cookie(void)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s >= 0 && getsockopt(s, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) != 0)
		cookie = 0;
	if (s >= 0)
		close(s);
	return cookie;
}

/* Enters a namespace. Returns the way back, -1 with errno. */
static int
enter(int fd)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (home >= 0 && setns(fd, CLONE_NEWNET) != 0) {
		close(home);
		return -1;
	}
	return home;
}

static void
leave(int home)
{
	if (setns(home, CLONE_NEWNET) != 0)
		abort(); /* a process in the wrong namespace must not go on */
	close(home);
}

uint64_t
netns_cookie(const char *path)
{
	int there, home;
	uint64_t cookie = 0;

	if (path == NULL)
		return own_cookie();
	if ((there = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return 0;
	if ((home = enter(there)) >= 0) {
		cookie = own_cookie();
		leave(home);
	}
	close(there);
	return cookie;
}

struct netns_set *
netns_set_new(void)
{
	return calloc(1, sizeof(struct netns_set));
}

static void
space_clear(struct netns *n)
{
	size_t i;

	for (i = 0; i < HOOKED_MAX; i++)
		hook_links_close(&n->links[i]);
	close(n->fd);
	memset(n, 0, sizeof(*n));
}

void
netns_set_free(struct netns_set *s)
{
	size_t i;

	for (i = 0; s != NULL && i < MAGNET_VIEWS_MAX; i++)
		if (s->spaces[i].cookie != 0)
			space_clear(&s->spaces[i]);
	free(s);
}

/* Links the programs from the given one on. */
static int
space_link(struct netns_set *s, struct netns *n, size_t first)
{
	int home = enter(n->fd), rc = 0;
	size_t i;

	if (home < 0)
		return -errno;
	for (i = first; rc == 0 && i < s->n_hooked; i++)
		rc = program_hook(s->hooked[i].program, s->hooked[i].where, &n->links[i]);
	leave(home);
	return rc;
}

static struct netns *
space_find(struct netns_set *s, uint64_t cookie)
{
	size_t i;

	for (i = 0; i < MAGNET_VIEWS_MAX; i++)
		if (s->spaces[i].cookie == cookie)
			return &s->spaces[i];
	return NULL;
}

static int
space_open(struct netns_set *s, const char *path, uint64_t cookie, struct netns **out)
{
	struct netns *n = space_find(s, 0);
	int rc;

	if (n == NULL)
		return -ENOSPC;
	if ((n->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return -errno;
	n->cookie = cookie;
	if ((rc = space_link(s, n, 0)) != 0)
		space_clear(n);
	*out = n;
	return rc;
}

int
netns_watch(struct netns_set *s, const char *path, bool by_filter)
{
	uint64_t cookie = path != NULL ? netns_cookie(path) : 0;
	struct netns *n;
	int rc;

	if (cookie == 0 || cookie == own_cookie())
		return 0;
	if ((n = space_find(s, cookie)) == NULL && (rc = space_open(s, path, cookie, &n)) != 0)
		return rc;
	n->n_views += !by_filter;
	n->by_filter |= by_filter;
	return 0;
}

static void
space_settle(struct netns *n)
{
	if (n->cookie != 0 && n->n_views == 0 && !n->by_filter)
		space_clear(n);
}

void
netns_unwatch(struct netns_set *s, uint64_t cookie)
{
	struct netns *n = cookie != 0 ? space_find(s, cookie) : NULL;

	if (n == NULL || n->n_views == 0)
		return;
	n->n_views--;
	space_settle(n);
}

void
netns_unfilter(struct netns_set *s)
{
	size_t i;

	for (i = 0; i < MAGNET_VIEWS_MAX; i++) {
		s->spaces[i].by_filter = false;
		space_settle(&s->spaces[i]);
	}
}

int
netns_program_add(struct netns_set *s, const struct program *p, const char *where)
{
	int rc = 0;
	size_t i;

	if (s->n_hooked == HOOKED_MAX)
		return -ENOSPC;
	s->hooked[s->n_hooked++] = (struct hooked){ p, where };
	for (i = 0; rc == 0 && i < MAGNET_VIEWS_MAX; i++)
		if (s->spaces[i].cookie != 0)
			rc = space_link(s, &s->spaces[i], s->n_hooked - 1);
	return rc;
}
