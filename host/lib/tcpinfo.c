/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/tcpinfo.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int
tcpinfo_open(void)
{
	struct timeval patience = { .tv_usec = 200000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* Reads the attributes of an answer. */
static size_t
answer_take(const struct nlmsghdr *h, uint8_t info[TCPINFO_BYTES])
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	size_t len;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO) {
			len = RTA_PAYLOAD(a) < TCPINFO_BYTES ? RTA_PAYLOAD(a) : TCPINFO_BYTES;
			memcpy(info, RTA_DATA(a), len);
			return len;
		}
	return 0;
}

size_t
tcpinfo_ask(
    int fd, const struct net_addr *local, const struct net_addr *peer, uint8_t info[TCPINFO_BYTES])
{
	static uint32_t sequence;
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST } };
	union {
		struct nlmsghdr h;
		uint8_t bytes[4096];
	} answer;
	ssize_t n;

	if (fd < 0)
		return 0;
	ask.h.nlmsg_seq = ++sequence;
	ask.r.sdiag_family = (uint8_t)local->family;
	ask.r.sdiag_protocol = IPPROTO_TCP;
	ask.r.idiag_ext = 1 << (INET_DIAG_INFO - 1);
	ask.r.idiag_states = ~0u;
	ask.r.id.idiag_sport = htons(local->port);
	ask.r.id.idiag_dport = htons(peer->port);
	memcpy(ask.r.id.idiag_src, local->ip, sizeof(local->ip));
	memcpy(ask.r.id.idiag_dst, peer->ip, sizeof(peer->ip));
	ask.r.id.idiag_cookie[0] = ask.r.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
		return 0;
	do {
		n = recv(fd, &answer, sizeof(answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !NLMSG_OK(&answer.h, (size_t)n))
			return 0;
	} while (n < 0 || answer.h.nlmsg_seq != sequence);
	return answer.h.nlmsg_type == SOCK_DIAG_BY_FAMILY ? answer_take(&answer.h, info) : 0;
}
