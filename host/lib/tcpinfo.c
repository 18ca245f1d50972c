/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/tcpinfo.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
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

static double
number_at(const struct rtattr *a, size_t index)
{
	uint32_t v;

	if (RTA_PAYLOAD(a) < (index + 1) * sizeof(v))
		return NAN;
	memcpy(&v, (const uint8_t *)RTA_DATA(a) + index * sizeof(v), sizeof(v));
	return (double)v;
}

/* struct tcp_bbr_info: bandwidth in two halves, round trip in microseconds, gains of 1/256 */
static void
bbr_take(const struct rtattr *a, struct tcpinfo_more *out)
{
	if (RTA_PAYLOAD(a) < sizeof(struct tcp_bbr_info))
		return;
	out->bbr_bytes_per_s = number_at(a, 0) + number_at(a, 1) * 4294967296.0;
	out->bbr_min_rtt_us = number_at(a, 2);
	out->bbr_pacing_gain = number_at(a, 3) / 256;
	out->bbr_cwnd_gain = number_at(a, 4) / 256;
}

static void
more_take(const struct rtattr *a, struct tcpinfo_more *out)
{
	size_t i;

	switch (a->rta_type) {
	case INET_DIAG_CONG:
		snprintf(out->congestion, sizeof(out->congestion), "%.*s", (int)RTA_PAYLOAD(a),
		    (const char *)RTA_DATA(a));
		break;
	case INET_DIAG_SKMEMINFO:
		for (i = 0; i < TCP_SKMEM_NUMBERS; i++)
			out->skmem[i] = number_at(a, i);
		break;
	case INET_DIAG_TOS:
	case INET_DIAG_TCLASS:
		if (RTA_PAYLOAD(a) >= 1)
			out->tos = *(const uint8_t *)RTA_DATA(a);
		break;
	case INET_DIAG_BBRINFO: bbr_take(a, out); break;
	}
}

static void
more_init(struct tcpinfo_more *out, const struct inet_diag_msg *m)
{
	size_t i;

	out->congestion[0] = '\0';
	for (i = 0; i < TCP_SKMEM_NUMBERS; i++)
		out->skmem[i] = NAN;
	out->bbr_bytes_per_s = out->bbr_min_rtt_us = out->bbr_pacing_gain = out->bbr_cwnd_gain =
	    out->tos = NAN;
	out->receive_queue_bytes = m->idiag_rqueue;
	out->send_queue_bytes = m->idiag_wqueue;
}

/* Reads the attributes of an answer. */
static size_t
answer_take(const struct nlmsghdr *h, uint8_t info[TCPINFO_BYTES], struct tcpinfo_more *more)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	size_t len = 0;

	if (more != NULL)
		more_init(more, m);
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO) {
			len = RTA_PAYLOAD(a) < TCPINFO_BYTES ? RTA_PAYLOAD(a) : TCPINFO_BYTES;
			memcpy(info, RTA_DATA(a), len);
		} else if (more != NULL) {
			more_take(a, more);
		}
	return len;
}

union answer {
	struct nlmsghdr h;
	uint8_t bytes[4096];
};

/* Asks for a connection and extensions. Returns false without such a connection here. */
static bool
ask(int fd, const struct net_addr *local, const struct net_addr *peer, uint8_t extensions,
    union answer *answer)
{
	static uint32_t sequence;
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST } };
	ssize_t n;

	if (fd < 0)
		return false;
	ask.h.nlmsg_seq = ++sequence;
	ask.r.sdiag_family = (uint8_t)local->family;
	ask.r.sdiag_protocol = IPPROTO_TCP;
	ask.r.idiag_ext = extensions;
	ask.r.idiag_states = ~0u;
	ask.r.id.idiag_sport = htons(local->port);
	ask.r.id.idiag_dport = htons(peer->port);
	memcpy(ask.r.id.idiag_src, local->ip, sizeof(local->ip));
	memcpy(ask.r.id.idiag_dst, peer->ip, sizeof(peer->ip));
	ask.r.id.idiag_cookie[0] = ask.r.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
		return false;
	do {
		n = recv(fd, answer, sizeof(*answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !NLMSG_OK(&answer->h, (size_t)n))
			return false;
	} while (n < 0 || answer->h.nlmsg_seq != sequence);
	return answer->h.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    answer->h.nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg));
}

size_t
tcpinfo_ask(
    int fd, const struct net_addr *local, const struct net_addr *peer, uint8_t info[TCPINFO_BYTES])
{
	return tcpinfo_ask_more(fd, local, peer, info, NULL);
}

size_t
tcpinfo_ask_more(int fd, const struct net_addr *local, const struct net_addr *peer,
    uint8_t info[TCPINFO_BYTES], struct tcpinfo_more *more)
{
	uint8_t extensions = 1 << (INET_DIAG_INFO - 1);
	union answer answer;

	if (more != NULL) /* a request for Vegas gets BBR */
		extensions |= 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_SKMEMINFO - 1) |
		    1 << (INET_DIAG_VEGASINFO - 1) | 1 << (INET_DIAG_TOS - 1) |
		    1 << (INET_DIAG_TCLASS - 1);
	return ask(fd, local, peer, extensions, &answer) ? answer_take(&answer.h, info, more) : 0;
}

uint64_t
tcpinfo_cookie(int fd, const struct net_addr *local, const struct net_addr *peer)
{
	const struct inet_diag_msg *m;
	union answer answer;

	if (!ask(fd, local, peer, 0, &answer))
		return 0;
	m = NLMSG_DATA(&answer.h);
	return (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
}
