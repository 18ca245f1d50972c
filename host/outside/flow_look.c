/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/flow_look.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
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
enum { ANSWER_BYTES = 32768, LEAF_BYTES = 2048, LINE_BYTES = 8192, NAME_BYTES = 64 };
enum { PATH_BYTES = 320, LINK_BYTES = 64, HOLDERS_MAX = 64 };

/* --- connections --- */

static void
note(struct flows *f, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	struct flow_sample s = { .inode = m->idiag_inode,
		.uid = m->idiag_uid,
		.queued_bytes = (int64_t)m->idiag_wqueue - (int64_t)m->idiag_rqueue };
	double acked, received;

	s.cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	net_addr_set(&s.local, m->idiag_family, m->id.idiag_src, ntohs(m->id.idiag_sport));
	net_addr_set(&s.peer, m->idiag_family, m->id.idiag_dst, ntohs(m->id.idiag_dport));
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

/* What a question to the kernel begins with. */
struct ask {
	struct nlmsghdr h;
	struct inet_diag_req_v2 r;
};

static struct ask
ask_new(uint8_t family, uint32_t sequence, uint16_t flags)
{
	struct ask ask = { .h = { .nlmsg_len = sizeof(ask),
			       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			       .nlmsg_flags = NLM_F_REQUEST | flags,
			       .nlmsg_seq = sequence } };

	ask.r.sdiag_family = family;
	ask.r.sdiag_protocol = IPPROTO_TCP;
	ask.r.idiag_ext = 1 << (INET_DIAG_INFO - 1);
	ask.r.idiag_states = STATES;
	return ask;
}

static bool
dump_ask(int fd, uint8_t family, uint32_t sequence)
{
	struct ask ask = ask_new(family, sequence, NLM_F_DUMP);

	return send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask);
}

/* 1: the answer goes on; 0: it is complete; -1: an error. */
static int
answer_take(struct flows *f, const void *bytes, ssize_t n, uint32_t sequence)
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

static uint32_t sequence;

/* The next part of an answer. -1: an error. */
static ssize_t
answer_get(int fd, void *answer, size_t cap)
{
	ssize_t n;

	do
		n = recv(fd, answer, cap, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static bool
dump(int fd, struct flows *f, uint8_t family)
{
	static _Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	ssize_t n;
	int rc = 1;

	if (!dump_ask(fd, family, ++sequence))
		return false;
	while (rc > 0) {
		n = answer_get(fd, answer, sizeof(answer));
		rc = n < 0 ? -1 : answer_take(f, answer, n, sequence);
	}
	return rc == 0;
}

struct followed {
	int fd;
	struct flows *flows;
	bool failed; /* the kernel did not answer */
};

/* Asks for a connection, by ends and number. The absence of the connection is an answer, too. */
static void
on_followed(void *arg, struct flow *flow)
{
	struct ask ask = ask_new(flow->last.local.family, ++sequence, 0);
	_Alignas(struct nlmsghdr) char answer[LEAF_BYTES];
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
	struct followed *a = arg;
	size_t ip_bytes = ask.r.sdiag_family == AF_INET ? 4 : 16;
	ssize_t n;

	if (flow->state != FLOW_TAKEN)
		return;
	ask.r.id.idiag_sport = htons(flow->last.local.port);
	ask.r.id.idiag_dport = htons(flow->last.peer.port);
	memcpy(ask.r.id.idiag_src, flow->last.local.ip, ip_bytes);
	memcpy(ask.r.id.idiag_dst, flow->last.peer.ip, ip_bytes);
	ask.r.id.idiag_cookie[0] = (uint32_t)flow->last.cookie;
	ask.r.id.idiag_cookie[1] = (uint32_t)(flow->last.cookie >> 32);
	if (send(a->fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask)) {
		a->failed = true;
		return;
	}
	do
		n = answer_get(a->fd, answer, sizeof(answer));
	while (n > 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_seq != sequence);
	a->failed |= n <= 0;
	if (n > 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)) &&
	    (1 << ((const struct inet_diag_msg *)NLMSG_DATA(h))->idiag_state & STATES) != 0)
		note(a->flows, h);
}

bool
flow_look(int diag_fd, struct flows *f, int64_t now_mono_ns, bool all)
{
	struct followed a = { .fd = diag_fd, .flows = f };

	flows_begin(f, now_mono_ns, all);
	if (all)
		a.failed = !dump(diag_fd, f, AF_INET) || !dump(diag_fd, f, AF_INET6);
	else
		flows_each(f, on_followed, &a);
	if (a.failed)
		return false;
	flows_end(f);
	return true;
}

/* --- bytes of the host --- */

/* Adds the numbers below two names in the kernel's pairs of lines, names first. */
static uint64_t
pair_sum(const char *names, const char *numbers, const char *first, const char *second)
{
	char name[NAME_BYTES];
	unsigned long long number;
	uint64_t sum = 0;
	int n = 0, m = 0;

	if (sscanf(names, "%*s%n", &n) < 0 || sscanf(numbers, "%*s%n", &m) < 0)
		return 0;
	for (names += n, numbers += m; sscanf(names, " %63s%n", name, &n) == 1 &&
	     sscanf(numbers, " %llu%n", &number, &m) == 1;
	     names += n, numbers += m)
		if (strcmp(name, first) == 0 || strcmp(name, second) == 0)
			sum += number;
	return sum;
}

static uint64_t
bytes_of_ipv4(void)
{
	static char names[LINE_BYTES], numbers[LINE_BYTES];
	FILE *f = fopen("/proc/thread-self/net/netstat", "re");
	uint64_t sum = 0;

	while (f != NULL && fgets(names, sizeof(names), f) != NULL &&
	    fgets(numbers, sizeof(numbers), f) != NULL)
		if (strncmp(names, "IpExt:", 6) == 0)
			sum = pair_sum(names, numbers, "InOctets", "OutOctets");
	if (f != NULL)
		fclose(f);
	return sum;
}

static uint64_t
bytes_of_ipv6(void)
{
	static char line[LINE_BYTES];
	FILE *f = fopen("/proc/thread-self/net/snmp6", "re");
	unsigned long long number;
	uint64_t sum = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Ip6InOctets %llu", &number) == 1 ||
		    sscanf(line, "Ip6OutOctets %llu", &number) == 1)
			sum += number;
	if (f != NULL)
		fclose(f);
	return sum;
}

uint64_t
flow_host_bytes(void)
{
	return bytes_of_ipv4() + bytes_of_ipv6();
}

/* --- processes --- */

static void
socket_name(uint64_t inode, char name[LINK_BYTES])
{
	snprintf(name, LINK_BYTES, "socket:[%llu]", (unsigned long long)inode);
}

static bool
has_socket(const char *pid, const char *wanted, unsigned *fds_left)
{
	char path[PATH_BYTES], link[LINK_BYTES];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	if ((d = opendir(path)) == NULL)
		return false;
	for (; !found && *fds_left > 0 && (e = readdir(d)) != NULL; (*fds_left)--) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		found = strcmp(link, wanted) == 0;
	}
	closedir(d);
	return found;
}

bool
flow_is_held(uint32_t pid, uint64_t inode, unsigned *fds_left)
{
	char wanted[LINK_BYTES], name[16];

	snprintf(name, sizeof(name), "%u", pid);
	socket_name(inode, wanted);
	return inode != 0 && has_socket(name, wanted, fds_left);
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
	unsigned fds_left;
	struct dirent *e;
	size_t n = 0;
	DIR *d = opendir("/proc");

	socket_name(inode, wanted);
	while (d != NULL && n < HOLDERS_MAX && (e = readdir(d)) != NULL) {
		fds_left = UINT_MAX;
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    has_socket(e->d_name, wanted, &fds_left))
			holders[n++] = (uint32_t)strtoul(e->d_name, NULL, 10);
	}
	if (d != NULL)
		closedir(d);
	owner = topmost(holders, n);
	if (owner == 0 || !targets_describe(owner, program, cap, arguments, sizeof(arguments)))
		return 0;
	return owner;
}
