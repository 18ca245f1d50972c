/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/flow_look.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/tcpinfo.h"
#include "host/outside/targets.h"

/* Bits of the kernel's states of TCP: established, and closing with bytes still on their way. */
enum { STATES = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 };
enum { ANSWER_BYTES = 32768, PATH_BYTES = 320, LINK_BYTES = 64, HOLDERS_MAX = 64 };

/* --- connections --- */

static void
addr_set(struct net_addr *out, uint8_t family, const void *ip, uint16_t port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	memset(out, 0, sizeof(*out));
	out->port = ntohs(port);
	if (family == AF_INET6 && memcmp(ip, mapped, sizeof(mapped)) == 0) {
		out->family = AF_INET;
		memcpy(out->ip, (const uint8_t *)ip + sizeof(mapped), 4);
		return;
	}
	out->family = family;
	memcpy(out->ip, ip, family == AF_INET ? 4 : 16);
}

static void
note(struct flows *f, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	struct flow_sample s = { .inode = m->idiag_inode, .uid = m->idiag_uid };
	double acked, received;

	s.cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	addr_set(&s.local, m->idiag_family, m->id.idiag_src, m->id.idiag_sport);
	addr_set(&s.peer, m->idiag_family, m->id.idiag_dst, m->id.idiag_dport);
	for (; left > 0 && RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != INET_DIAG_INFO)
			continue;
		acked = tcpinfo_u64(RTA_DATA(a), RTA_PAYLOAD(a), TCP_BYTES_ACKED, 1);
		received = tcpinfo_u64(RTA_DATA(a), RTA_PAYLOAD(a), TCP_BYTES_RECEIVED, 1);
		if (acked >= 0 && received >= 0)
			s.moved_bytes = (uint64_t)(acked + received);
	}
	flows_note(f, &s);
}

static bool
dump_ask(int fd, uint8_t family, uint32_t sequence)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		      .nlmsg_seq = sequence } };

	ask.r.sdiag_family = family;
	ask.r.sdiag_protocol = IPPROTO_TCP;
	ask.r.idiag_ext = 1 << (INET_DIAG_INFO - 1);
	ask.r.idiag_states = STATES;
	return send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask);
}

/* 1: the dump goes on; 0: it is complete; -1: an error. */
static int
dump_take(struct flows *f, const void *bytes, ssize_t n, uint32_t sequence)
{
	const struct nlmsghdr *h = bytes;
	size_t left = (size_t)n;

	for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_seq != sequence)
			continue;
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -1;
		if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			note(f, h);
	}
	return 1;
}

static bool
dump(int fd, struct flows *f, uint8_t family)
{
	static _Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	static uint32_t sequence;
	ssize_t n;
	int rc = 1;

	if (!dump_ask(fd, family, ++sequence))
		return false;
	while (rc > 0) {
		n = recv(fd, answer, sizeof(answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		rc = n < 0 ? -1 : dump_take(f, answer, n, sequence);
	}
	return rc == 0;
}

bool
flow_look(int diag_fd, struct flows *f, int64_t now_mono_ns)
{
	flows_begin(f, now_mono_ns);
	if (!dump(diag_fd, f, AF_INET) || !dump(diag_fd, f, AF_INET6))
		return false;
	flows_end(f);
	return true;
}

bool
flow_is_loopback(const struct net_addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->ip[0] == 127 : memcmp(a->ip, one, sizeof(one)) == 0;
}

/* --- processes --- */

static bool
has_socket(const char *pid, const char *wanted)
{
	char path[PATH_BYTES], link[LINK_BYTES];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	if ((d = opendir(path)) == NULL)
		return false;
	while (!found && (e = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		found = strcmp(link, wanted) == 0;
	}
	closedir(d);
	return found;
}

static uint32_t
topmost(const uint32_t *holders, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n && (k == i || !targets_is_below(holders[i], holders[k])); k++)
			continue;
		if (k == n)
			return holders[i];
	}
	return 0;
}

uint32_t
flow_owner(uint64_t inode, char *program, size_t cap)
{
	char wanted[LINK_BYTES], arguments[PATH_BYTES];
	uint32_t holders[HOLDERS_MAX], owner;
	struct dirent *e;
	size_t n = 0;
	DIR *d = opendir("/proc");

	snprintf(wanted, sizeof(wanted), "socket:[%llu]", (unsigned long long)inode);
	while (d != NULL && n < HOLDERS_MAX && (e = readdir(d)) != NULL)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && has_socket(e->d_name, wanted))
			holders[n++] = (uint32_t)strtoul(e->d_name, NULL, 10);
	if (d != NULL)
		closedir(d);
	owner = topmost(holders, n);
	if (owner == 0 || !targets_describe(owner, program, cap, arguments, sizeof(arguments)))
		return 0;
	return owner;
}
