/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of route netlink about queueing disciplines, whole and cut. */
#include "host/blipp/probe/probe.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "tests/check.h"

static union {
	struct nlmsghdr h;
	char bytes[512];
} m;

static struct rtattr *
attribute(struct rtattr *at, unsigned short type, const void *data, size_t len)
{
	at->rta_type = type;
	at->rta_len = (unsigned short)RTA_LENGTH(len);
	if (data != NULL)
		memcpy(RTA_DATA(at), data, len);
	return (struct rtattr *)((char *)at + RTA_ALIGN(at->rta_len));
}

static void
build(uint32_t parent, const char *kind, uint64_t rate64)
{
	const struct tc_tbf_qopt bucket = { .rate.rate = 2500000 };
	const struct gnet_stats_basic basic = { .bytes = 5000, .packets = 7 };
	const struct gnet_stats_queue queue = {
		.qlen = 1, .backlog = 66, .drops = 3, .requeues = 4, .overlimits = 5
	};
	struct tcmsg *t = NLMSG_DATA(&m.h);
	struct rtattr *a, *options, *stats, *end;

	memset(&m, 0, sizeof(m));
	t->tcm_ifindex = 9;
	t->tcm_parent = parent;
	a = (struct rtattr *)((char *)t + NLMSG_ALIGN(sizeof(*t)));
	options = attribute(a, TCA_KIND, kind, strlen(kind) + 1);
	end = attribute(RTA_DATA(options), TCA_TBF_PARMS, &bucket, sizeof(bucket));
	if (rate64 > 0)
		end = attribute(end, TCA_TBF_RATE64, &rate64, sizeof(rate64));
	stats = attribute(
	    options, TCA_OPTIONS, NULL, (size_t)((char *)end - (char *)RTA_DATA(options)));
	end = attribute(RTA_DATA(stats), TCA_STATS_BASIC, &basic, sizeof(basic));
	end = attribute(end, TCA_STATS_QUEUE, &queue, sizeof(queue));
	attribute(stats, TCA_STATS2 | NLA_F_NESTED, NULL,
	    (size_t)((char *)end - (char *)RTA_DATA(stats)));
	m.h.nlmsg_len = (uint32_t)((char *)end - (char *)&m);
	m.h.nlmsg_type = RTM_NEWQDISC;
}

int
main(void)
{
	double v[QDISC_FIELDS];
	uint32_t len;
	int interface;

	build(TC_H_ROOT, "tbf", 0);
	CHECK(qdisc_parse(&m.h, &interface, v));
	CHECK_INT(interface, 9);
	CHECK(v[0] == 5000 && v[1] == 7 && v[2] == 3 && v[3] == 5 && v[4] == 4 && v[5] == 66 &&
	    v[6] == 1 && v[7] == 2500000);
	build(TC_H_ROOT, "tbf", UINT64_C(12500000000));
	CHECK(qdisc_parse(&m.h, &interface, v) && v[7] == 12500000000);
	build(TC_H_ROOT, "fq", 0); /* the options of another discipline are other numbers */
	CHECK(qdisc_parse(&m.h, &interface, v) && v[7] == 0);
	build(TC_H_ROOT, "tbf", UINT64_C(12500000000));
	for (len = m.h.nlmsg_len; len > 0; len--) {
		build(TC_H_ROOT, "tbf", UINT64_C(12500000000));
		m.h.nlmsg_len = len;
		(void)qdisc_parse(&m.h, &interface, v); /* the sanitizer looks on */
	}
	CHECK(!qdisc_parse(&m.h, &interface, v));
	build(0x10001, "tbf", 0);
	CHECK(!qdisc_parse(&m.h, &interface, v));
	return check_done("probe_qdisc");
}
