/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers behind local sockets. The kernel tells the socket at the other end; the sender, which has
 * the rights, finds the process that has that socket open. Where no such process shows, the process
 * that began to listen is named, by its number in the credentials of the connection.
 *
 * Connections to one name are one server. Of a process's servers a few are kept; the one with most
 * of the bytes through pipes and local sockets in a direction is reported with the process.
 */
#include "host/nwrun/collect/collect_in.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

union answer {
	struct nlmsghdr h;
	uint8_t bytes[4096];
};

static bool
answer_wait(int fd, uint32_t sequence, union answer *answer)
{
	ssize_t n;

	do {
		n = recv(fd, answer, sizeof(*answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !NLMSG_OK(&answer->h, (size_t)n))
			return false;
	} while (n < 0 || answer->h.nlmsg_seq != sequence);
	return answer->h.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    answer->h.nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg));
}

/* Names that no file has begin with a NUL. */
static void
name_copy(char out[NWSHM_SOCKET_BYTES], const char *name, size_t len)
{
	if (len >= NWSHM_SOCKET_BYTES)
		len = NWSHM_SOCKET_BYTES - 1;
	memcpy(out, name, len);
	out[len] = '\0';
	if (len > 0 && out[0] == '\0')
		out[0] = '@';
}

bool
local_peer_ask(int fd, uint64_t ino, struct local_peer *out)
{
	static uint32_t sequence = UINT32_MAX / 2; /* the rest of the numbers is tcpinfo's */
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST },
		.r = { .sdiag_family = AF_UNIX,
		    .udiag_states = ~0u,
		    .udiag_ino = (uint32_t)ino,
		    .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME,
		    .udiag_cookie = { ~0u, ~0u } } };
	const struct rtattr *a;
	union answer answer;
	int left;

	*out = (struct local_peer){ .ino = 0 };
	ask.h.nlmsg_seq = ++sequence;
	if (fd < 0 || ino == 0 || ino > UINT32_MAX ||
	    send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask) ||
	    !answer_wait(fd, sequence, &answer))
		return false;
	a = (const struct rtattr *)((const struct unix_diag_msg *)NLMSG_DATA(&answer.h) + 1);
	left = (int)answer.h.nlmsg_len - (int)NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(out->ino))
			memcpy(&out->ino, RTA_DATA(a), sizeof(out->ino));
		else if (a->rta_type == UNIX_DIAG_NAME)
			name_copy(out->name, RTA_DATA(a), RTA_PAYLOAD(a));
	return true;
}

static uint64_t
bytes_of(const struct server *s)
{
	return s->bytes[NWSHM_READ] + s->bytes[NWSHM_WRITE];
}

/* The entry of the object's server: known, free, or of the server with the least bytes. */
static struct server *
server_get(struct watch *w, const struct nwshm_object *o)
{
	struct server *s, *least = w->server;
	char path[NWSHM_SOCKET_BYTES];

	copy_text(path, o->u.local.path, sizeof(path));
	for (s = w->server; s < w->server + WATCH_SERVERS; s++) {
		if (s->used && (path[0] != '\0' ? strcmp(s->path, path) == 0 : s->ino == o->ino))
			return s;
		if (!s->used || (least->used && bytes_of(s) < bytes_of(least)))
			least = s;
	}
	*least = (struct server){ .used = true, .ino = o->ino };
	memcpy(least->path, path, sizeof(path));
	return least;
}

/* Asks while the connection is open, if it is: a closed socket has no other end. */
static void
server_ask(struct collect *c, struct watch *w, struct server *s, const struct nwshm_object *o)
{
	struct local_peer own, peer;
	struct proc_socket question = { .pid = w->foreign ? 0 : o->u.local.peer_pid,
		.not_pid = w->foreign ? 0 : w->pid };

	if (s->pid != 0 || c->servers_asked >= COLLECT_SERVERS_ASKED)
		return;
	c->servers_asked++;
	if (local_peer_ask(c->tcp_fd, o->ino, &own)) {
		question.ino = own.ino;
		if (s->path[0] == '\0' && local_peer_ask(c->tcp_fd, own.ino, &peer))
			memcpy(s->path, peer.name, sizeof(s->path));
	}
	if (c->sink->socket != NULL)
		c->sink->socket(c->sink->arg, &question);
	s->pid = question.pid;
	copy_text(s->program, question.program, sizeof(s->program));
	w->servers++;
}

void
local_report(struct collect *c, uint32_t owner, const struct nwshm_object *o,
    const struct object_delta *d, bool first)
{
	struct watch *w = &c->watch[owner];
	struct server *s = server_get(w, o);

	s->bytes[NWSHM_READ] += d->bytes[NWSHM_READ];
	s->bytes[NWSHM_WRITE] += d->bytes[NWSHM_WRITE];
	if (first)
		server_ask(c, w, s, o);
}

const struct server *
local_server_of(const struct watch *w, enum nwshm_dir dir)
{
	uint64_t all = w->pipe_total[dir].bytes;
	const struct server *s;

	for (s = w->server; s < w->server + WATCH_SERVERS; s++)
		if (s->used && s->bytes[dir] > all / 2)
			return s;
	return NULL;
}
