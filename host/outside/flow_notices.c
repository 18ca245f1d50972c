/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/flow_notices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/notice/flow_notice.h"
#include "host/outside/flow_look.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

/* A look brings at most READ_MAX notices, and looks at FDS_MAX descriptors of their senders. */
enum { WAITING_MAX = 256, READ_MAX = 64, FDS_MAX = 4096, LOOKS_MAX = 3 };

struct waiting {
	uint32_t pid, uid; /* sender, by the kernel */
	int looks;         /* at all connections so far */
	bool is_done;
	struct flow_notice notice;
};

struct flow_notices {
	int fd;
	unsigned read; /* since the last look */
	size_t n;
	struct waiting waiting[WAITING_MAX];
	struct flow_notices_stats stats;
	char path[];
};

/* --- socket --- */

/* Whether an agent listens at the path: a socket that a dead agent left refuses connections. */
static bool
is_alive(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool alive = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;

	if (fd >= 0)
		close(fd);
	return alive;
}

/* Every user of this host may send: a server runs as the user of the transfer. */
static bool
socket_bind(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	static const int on = 1;
	struct stat st;

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(at.sun_path, path);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (is_alive(&at)) {
			errno = EADDRINUSE;
			return false;
		}
		(void)unlink(path);
	}
	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && chmod(path, 0666) == 0;
}

struct flow_notices *
flow_notices_open(const char *path)
{
	struct flow_notices *n = xcalloc(1, sizeof(*n) + strlen(path) + 1);

	strcpy(n->path, path);
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd >= 0 && socket_bind(n->fd, path))
		return n;
	log_warn(
	    "notices.off path=%s note=\"transfers are found by their connections alone\"", path);
	flow_notices_leave(n);
	free(n);
	return NULL;
}

void
flow_notices_leave(struct flow_notices *n)
{
	if (n != NULL && n->fd >= 0)
		close(n->fd);
}

void
flow_notices_close(struct flow_notices *n)
{
	if (n == NULL)
		return;
	(void)unlink(n->path);
	flow_notices_leave(n);
	free(n);
}

int
flow_notices_fd(const struct flow_notices *n)
{
	return n->fd;
}

/* --- notices that come --- */

/* The sender by the kernel; false where the sender is in no process name space of ours. */
static bool
sender_get(struct msghdr *m, struct ucred *out)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len == CMSG_LEN(sizeof(*out))) {
			memcpy(out, CMSG_DATA(c), sizeof(*out));
			return out->pid > 0;
		}
	return false;
}

static void
waiting_drop(struct flow_notices *n, size_t i)
{
	n->waiting[i] = n->waiting[--n->n];
}

/* A connection that closes needs no look any more. */
static void
closing_take(struct flow_notices *n, const struct flow_notice *notice, uint32_t pid)
{
	struct waiting *w;
	size_t i;

	for (i = 0; i < n->n; i++) {
		w = &n->waiting[i];
		if (w->pid != pid ||
		    memcmp(&w->notice.local, &notice->local, sizeof(notice->local)) != 0 ||
		    memcmp(&w->notice.peer, &notice->peer, sizeof(notice->peer)) != 0)
			continue;
		n->stats.unfound++;
		waiting_drop(n, i--);
	}
}

static void
opening_take(struct flow_notices *n, const struct flow_notice *notice, const struct ucred *from)
{
	if (n->n == WAITING_MAX) {
		n->stats.full++;
		return;
	}
	n->waiting[n->n++] =
	    (struct waiting){ .pid = (uint32_t)from->pid, .uid = from->uid, .notice = *notice };
}

static void
datagram_take(struct flow_notices *n, const char *bytes, size_t len, struct msghdr *m)
{
	struct flow_notice notice;
	struct ucred from;

	if ((m->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || !sender_get(m, &from) ||
	    !flow_notice_parse(bytes, len, &notice)) {
		n->stats.malformed++;
		return;
	}
	n->stats.missed += notice.missed;
	if (notice.closing)
		closing_take(n, &notice, (uint32_t)from.pid);
	else if (strcmp(notice.transport, "tcp") != 0)
		n->stats.unfound++;
	else
		opening_take(n, &notice, &from);
}

bool
flow_notices_read(struct flow_notices *n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	char bytes[FLOW_NOTICE_BYTES];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr m;
	ssize_t len;

	for (; n->read < READ_MAX; n->read++) {
		m = (struct msghdr){ .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control) };
		if ((len = recvmsg(n->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0)
			return true;
		datagram_take(n, bytes, (size_t)len, &m);
	}
	return false;
}

bool
flow_notices_wait(const struct flow_notices *n)
{
	return n->n > 0;
}

/* --- connections --- */

/* The user of a socket is known without a look at descriptors; a process of root may hold the
 * sockets of any user. */
static void
waiting_settle(struct flow_notices *n, struct waiting *w, struct flows *f, unsigned *fds_left)
{
	bool is_ambiguous;
	struct flow *flow = flows_find(f, &w->notice.local, &w->notice.peer, &is_ambiguous);

	if (flow == NULL) {
		w->is_done = is_ambiguous || ++w->looks >= LOOKS_MAX;
		n->stats.ambiguous += is_ambiguous;
		n->stats.unfound += w->is_done && !is_ambiguous;
		return;
	}
	if (*fds_left == 0)
		return; /* a later look has descriptors left for the sender */
	w->is_done = true;
	if ((w->uid == 0 || w->uid == flow->last.uid) &&
	    flow_is_held(w->pid, flow->last.inode, fds_left)) {
		flows_claim(flow, w->pid, w->notice.task);
		n->stats.taken++;
		return;
	}
	n->stats.foreign++;
	log_debug("notice.foreign pid=%u uid=%u", w->pid, w->uid);
}

void
flow_notices_match(struct flow_notices *n, struct flows *f)
{
	unsigned fds_left = FDS_MAX;
	size_t i;

	n->read = 0;
	for (i = 0; i < n->n; i++)
		waiting_settle(n, &n->waiting[i], f, &fds_left);
	for (i = n->n; i-- > 0;)
		if (n->waiting[i].is_done)
			waiting_drop(n, i);
}

void
flow_notices_get_stats(const struct flow_notices *n, struct flow_notices_stats *out)
{
	*out = n->stats;
}
