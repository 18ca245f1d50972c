/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queueing disciplines at the root of every interface, by route netlink: packets that a full
 * queue or a shaper dropped do not appear in the counters of the interface.
 */
#include "host/blipp/probe/probe.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/blipp/probe/qdiscs.h"
#include "narrows/err.h"

enum { ANSWER_BYTES = 16384 };

static const struct series_field fields[QDISC_FIELDS] = {
	{ "bytes", "By", true },
	{ "packets", "{packet}", true },
	{ "drops", "{packet}", true },
	{ "overlimits", "{event}", true },
	{ "requeues", "{packet}", true },
	{ "backlog_bytes", "By", false },
	{ "backlog_packets", "{packet}", false },
	{ "sent_limit", "By/s", false },
};
static const struct series_kind kind = { SERIES_PREFIX "network:qdisc", "interface", fields,
	sizeof(fields) / sizeof(fields[0]) };

struct qdisc_probe {
	bool open;
	int fd;
	struct series_set interfaces;
	struct qdiscs qdiscs;
};

/* An interface's name, by the open socket: if_indextoname(3) opens and closes one of its own. */
static bool
name_find(const struct qdisc_probe *p, int interface, char name[IF_NAMESIZE])
{
	struct ifreq q = { .ifr_ifindex = interface };

	if (!p->open || ioctl(p->fd, SIOCGIFNAME, &q) != 0)
		return if_indextoname((unsigned)interface, name) != NULL;
	memcpy(name, q.ifr_name, IF_NAMESIZE);
	return true;
}

static int
qdisc_send(struct qdisc_probe *p, const struct qdisc *root, struct report *r)
{
	char name[IF_NAMESIZE];
	struct series *s;

	if (!name_find(p, root->interface, name) || !filter_takes(&r->filter, name) ||
	    (s = series_set_get(&p->interfaces, name, strlen(name))) == NULL)
		return NW_OK;
	return series_send(s, &kind, r, root->values);
}

/* Asks for all disciplines, or for the classes of an interface. */
static int
ask(struct qdisc_probe *p, uint16_t type, int interface)
{
	const struct timeval patience = { .tv_usec = 200000 };
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
	} question = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			   .nlmsg_type = type,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.t = { .tcm_ifindex = interface } };

	if (!p->open) {
		if ((p->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) < 0)
			return NW_EIO;
		setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		p->open = true;
	}
	return send(p->fd, &question, question.h.nlmsg_len, 0) < 0 ? NW_EIO : NW_OK;
}

/* Reads the answers. Returns false without the end of the answers: the socket is closed then, so
 * that late answers meet no later question. */
static bool
answers_take(struct qdisc_probe *p)
{
	static char answer[ANSWER_BYTES] __attribute__((aligned(8)));
	const struct nlmsghdr *h;
	unsigned left;
	ssize_t n;

	while ((n = recv(p->fd, answer, sizeof(answer), 0)) > 0) {
		left = (unsigned)n;
		h = (const struct nlmsghdr *)answer;
		for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return true;
			qdiscs_take(&p->qdiscs, h);
		}
	}
	close(p->fd);
	p->open = false;
	return false;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct qdisc_probe *p = state;
	const struct qdisc_list *roots;
	bool whole;
	size_t i;
	int rc;

	(void)buf;
	if ((rc = ask(p, RTM_GETQDISC, 0)) < 0)
		return rc;
	qdiscs_begin(&p->qdiscs);
	whole = answers_take(p);
	roots = qdiscs_roots(&p->qdiscs);
	for (i = 0; i < roots->n && whole; i++)
		if (roots->list[i].has_classes)
			whole = ask(p, RTM_GETTCLASS, roots->list[i].interface) == NW_OK &&
			    answers_take(p);
	qdiscs_end(&p->qdiscs);
	for (i = 0; i < roots->n && rc == NW_OK; i++)
		rc = qdisc_send(p, &roots->list[i], r);
	if (rc == NW_OK && whole)
		series_set_sweep(&p->interfaces, r);
	return rc;
}

static void
clear(void *state)
{
	struct qdisc_probe *p = state;

	if (p->open)
		close(p->fd);
	series_set_clear(&p->interfaces);
	qdiscs_clear(&p->qdiscs);
}

const struct probe probe_qdisc = {
	.name = "qdisc",
	.source = "rtnetlink",
	.event_type = SERIES_PREFIX "network:qdisc",
	.kinds = { &kind },
	.state_bytes = sizeof(struct qdisc_probe),
	.sample = sample,
	.clear = clear,
};
