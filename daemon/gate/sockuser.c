/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/sockuser.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* Address and port of one end, as the kernel wants them. False for a socket that is not TCP/IP. */
static bool
end_get(const struct sockaddr_storage *ss, uint8_t *family, __be32 address[4], __be16 *port)
{
	const struct sockaddr_in6 *v6 = (const void *)ss;
	const struct sockaddr_in *v4 = (const void *)ss;

	*family = (uint8_t)ss->ss_family;
	if (ss->ss_family == AF_INET) {
		memcpy(address, &v4->sin_addr, sizeof(v4->sin_addr));
		*port = v4->sin_port;
	} else if (ss->ss_family == AF_INET6) {
		memcpy(address, &v6->sin6_addr, sizeof(v6->sin6_addr));
		*port = v6->sin6_port;
	} else
		return false;
	return true;
}

/* The socket of the peer: its own end is our peer, its peer is our end. */
static bool
request_fill(int fd, struct request *r)
{
	struct sockaddr_storage local, peer;
	socklen_t local_len = sizeof(local), peer_len = sizeof(peer);
	struct inet_diag_sockid *id = &r->body.id;
	uint8_t family;

	memset(r, 0, sizeof(*r));
	if (getsockname(fd, (struct sockaddr *)&local, &local_len) != 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0 ||
	    !end_get(&peer, &r->body.sdiag_family, id->idiag_src, &id->idiag_sport) ||
	    !end_get(&local, &family, id->idiag_dst, &id->idiag_dport))
		return false;
	r->head.nlmsg_len = sizeof(*r);
	r->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	r->head.nlmsg_flags = NLM_F_REQUEST;
	r->body.sdiag_protocol = IPPROTO_TCP;
	r->body.idiag_states = ~0u;
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return true;
}

static bool
answer_get(int diag, uint32_t *uid)
{
	union {
		struct nlmsghdr head;
		uint8_t bytes[1024];
	} answer;
	const struct inet_diag_msg *m = NLMSG_DATA(&answer.head);
	ssize_t n = recv(diag, &answer, sizeof(answer), MSG_DONTWAIT);

	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*m)) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	*uid = m->idiag_uid;
	return true;
}

bool
sockuser_get(int fd, uint32_t *uid)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct request r;
	bool found = false;
	int diag;

	if (!request_fill(fd, &r) ||
	    (diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) < 0)
		return false;
	if (sendto(diag, &r, sizeof(r), 0, (struct sockaddr *)&kernel, sizeof(kernel)) ==
	    (ssize_t)sizeof(r))
		found = answer_get(diag, uid);
	close(diag);
	return found;
}
