/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel's TCP knows about a connection of another process: one NETLINK_SOCK_DIAG question by addresses and
 * ports, which needs no privilege. The answer's struct tcp_info grows with the kernel; fields are read by their offset,
 * and only those the answer is long enough for.
 */
#include "host/collect_in.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Ends of the fields used, in any kernel that has them: the layout only ever got longer. */
enum {
	TCP_SND_MSS = 16, TCP_RTT_US = 68, TCP_SND_CWND = 80, TCP_TOTAL_RETRANS = 100, TCP_NOTSENT_BYTES = 144,
	TCP_MIN_RTT_US = 148, TCP_DELIVERY_RATE = 160, TCP_BUSY_US = 168, TCP_RWND_LIMITED_US = 176,
	TCP_SNDBUF_LIMITED_US = 184
};

int
tcp_open(void)
{
	struct timeval patience = { .tv_usec = 200000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static double
field32(const uint8_t *info, size_t len, size_t at, double unit)
{
	uint32_t v;

	if (len < at + sizeof(v))
		return NAN;
	memcpy(&v, info + at, sizeof(v));
	return (double)v * unit;
}

static double
field64(const uint8_t *info, size_t len, size_t at, double unit)
{
	uint64_t v;

	if (len < at + sizeof(v))
		return NAN;
	memcpy(&v, info + at, sizeof(v));
	return (double)v * unit;
}

void
tcp_parse(const uint8_t *info, size_t len, struct tcp_sample *out)
{
	out->snd_mss = field32(info, len, TCP_SND_MSS, 1);
	out->rtt_s = field32(info, len, TCP_RTT_US, 1e-6);
	out->rtt_min_s = field32(info, len, TCP_MIN_RTT_US, 1e-6);
	out->cwnd_bytes = field32(info, len, TCP_SND_CWND, out->snd_mss);
	out->retrans = field32(info, len, TCP_TOTAL_RETRANS, 1);
	out->notsent_bytes = field32(info, len, TCP_NOTSENT_BYTES, 1);
	out->delivery_rate = field64(info, len, TCP_DELIVERY_RATE, 1);
	out->busy_s = field64(info, len, TCP_BUSY_US, 1e-6);
	out->rwnd_limited_s = field64(info, len, TCP_RWND_LIMITED_US, 1e-6);
	out->sndbuf_limited_s = field64(info, len, TCP_SNDBUF_LIMITED_US, 1e-6);
	if (out->rtt_min_s >= 4294.967295)   /* all ones: no round trip measured yet */
		out->rtt_min_s = NAN;
}

/* The attributes of one answer. */
static bool
answer_parse(const struct nlmsghdr *h, struct tcp_sample *out)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO) {
			tcp_parse(RTA_DATA(a), RTA_PAYLOAD(a), out);
			return true;
		}
	return false;
}

bool
tcp_ask(int fd, const struct nwshm_addr *local, const struct nwshm_addr *peer, struct tcp_sample *out)
{
	static uint32_t sequence;
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} ask = { .h = { .nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST } };
	union { struct nlmsghdr h; uint8_t bytes[4096]; } answer;
	ssize_t n;

	if (fd < 0)
		return false;
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
		return false;
	do {
		n = recv(fd, &answer, sizeof(answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !NLMSG_OK(&answer.h, (size_t)n))
			return false;
	} while (n < 0 || answer.h.nlmsg_seq != sequence);
	return answer.h.nlmsg_type == SOCK_DIAG_BY_FAMILY && answer_parse(&answer.h, out);
}
