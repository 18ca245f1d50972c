/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queueing disciplines at the root of every interface, by route netlink: packets that a full
 * queue or a shaper dropped do not appear in the counters of the interface.
 */
#include "host/blipp/probe/probe.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "narrows/err.h"

enum { ANSWER_BYTES = 16384 };

static const struct series_field fields[] = {
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
};

/* Copies an attribute's payload, as far as both reach. */
static void
attribute_copy(const struct rtattr *a, void *out, size_t size)
{
	size_t len = RTA_PAYLOAD(a);

	memcpy(out, RTA_DATA(a), len < size ? len : size);
}

static void
stats_parse(
    const struct rtattr *stats, struct gnet_stats_basic *basic, struct gnet_stats_queue *queue)
{
	const struct rtattr *a = RTA_DATA(stats);
	int left = (int)RTA_PAYLOAD(stats);

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_STATS_BASIC)
			attribute_copy(a, basic, sizeof(*basic));
		else if (a->rta_type == TCA_STATS_QUEUE)
			attribute_copy(a, queue, sizeof(*queue));
	}
}

/* Bytes a second that a token bucket lets pass. A rate beyond 32 bits stands in an attribute of its
 * own. */
static double
rate_parse(const struct rtattr *options)
{
	const struct rtattr *a = RTA_DATA(options);
	int left = (int)RTA_PAYLOAD(options);
	struct tc_tbf_qopt bucket = { 0 };
	uint64_t rate = 0;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_TBF_PARMS)
			attribute_copy(a, &bucket, sizeof(bucket));
		else if (a->rta_type == TCA_TBF_RATE64)
			attribute_copy(a, &rate, sizeof(rate));
	}
	return rate > 0 ? (double)rate : (double)bucket.rate.rate;
}

/* Returns false for a discipline below the root: the root includes its counts. */
bool
qdisc_parse(const struct nlmsghdr *h, int *interface, double values[QDISC_FIELDS])
{
	struct gnet_stats_basic basic = { 0 };
	struct gnet_stats_queue queue = { 0 };
	const struct tcmsg *t = NLMSG_DATA(h);
	const struct rtattr *a, *options = NULL;
	char what[sizeof("tbf")] = "";
	int left;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*t)) || t->tcm_parent != TC_H_ROOT)
		return false;
	left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*t));
	a = (const struct rtattr *)((const char *)t + NLMSG_ALIGN(sizeof(*t)));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		switch (a->rta_type & NLA_TYPE_MASK) {
		case TCA_KIND: attribute_copy(a, what, sizeof(what)); break;
		case TCA_OPTIONS: options = a; break;
		case TCA_STATS2: stats_parse(a, &basic, &queue); break;
		default: break;
		}
	*interface = t->tcm_ifindex;
	values[0] = (double)basic.bytes;
	values[1] = (double)basic.packets;
	values[2] = (double)queue.drops;
	values[3] = (double)queue.overlimits;
	values[4] = (double)queue.requeues;
	values[5] = (double)queue.backlog;
	values[6] = (double)queue.qlen;
	values[7] =
	    memcmp(what, "tbf", sizeof(what)) == 0 && options != NULL ? rate_parse(options) : 0;
	return true;
}

static int
qdisc_send(struct qdisc_probe *p, const struct nlmsghdr *h, struct report *r)
{
	double values[QDISC_FIELDS];
	char name[IF_NAMESIZE];
	struct series *s;
	int interface;

	if (!qdisc_parse(h, &interface, values) ||
	    if_indextoname((unsigned)interface, name) == NULL || !filter_takes(&r->filter, name) ||
	    (s = series_set_get(&p->interfaces, name, strlen(name))) == NULL)
		return NW_OK;
	return series_send(s, &kind, r, values);
}

static int
ask(struct qdisc_probe *p)
{
	const struct timeval patience = { .tv_usec = 200000 };
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
	} question = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			   .nlmsg_type = RTM_GETQDISC,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	if (!p->open) {
		if ((p->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) < 0)
			return NW_EIO;
		setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		p->open = true;
	}
	return send(p->fd, &question, question.h.nlmsg_len, 0) < 0 ? NW_EIO : NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	static char answer[ANSWER_BYTES] __attribute__((aligned(8)));
	struct qdisc_probe *p = state;
	const struct nlmsghdr *h;
	unsigned left;
	ssize_t n;
	int rc;

	(void)buf;
	if ((rc = ask(p)) < 0)
		return rc;
	while (rc == NW_OK && (n = recv(p->fd, answer, sizeof(answer), 0)) > 0) {
		left = (unsigned)n;
		h = (const struct nlmsghdr *)answer;
		for (; rc == NW_OK && NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				series_set_sweep(&p->interfaces, r);
				return NW_OK;
			}
			if (h->nlmsg_type == RTM_NEWQDISC)
				rc = qdisc_send(p, h, r);
		}
	}
	return rc;
}

static void
clear(void *state)
{
	struct qdisc_probe *p = state;

	if (p->open)
		close(p->fd);
	series_set_clear(&p->interfaces);
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
