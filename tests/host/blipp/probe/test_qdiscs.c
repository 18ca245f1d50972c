/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of route netlink about queueing disciplines and classes, whole and cut: which shaper
 * limits an interface in a round. */
#include "host/blipp/probe/qdiscs.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "tests/check.h"

enum { INTERFACE = 9, ROOT = 0x10000, CLASS = 0x10010, CHILD = 0x200000 };

static union {
	struct nlmsghdr h;
	char bytes[512];
} m;

/* What the kernel says of a discipline or class. */
struct said {
	const char *kind;
	uint32_t handle, parent;
	bool is_class;
	uint32_t rate;   /* in the parameters */
	uint64_t rate64; /* 0: no such attribute */
	uint32_t bytes, held;
};

static struct rtattr *
attribute(struct rtattr *at, unsigned short type, const void *data, size_t len)
{
	at->rta_type = type;
	at->rta_len = (unsigned short)RTA_LENGTH(len);
	if (data != NULL)
		memcpy(RTA_DATA(at), data, len);
	return (struct rtattr *)((char *)at + RTA_ALIGN(at->rta_len));
}

static size_t
between(const void *begin, const void *end)
{
	return (size_t)((const char *)end - (const char *)begin);
}

static struct rtattr *
options_put(struct rtattr *at, const struct said *s)
{
	const struct tc_tbf_qopt bucket = { .rate.rate = s->rate };
	const struct tc_htb_opt class = { .rate.rate = 1, .ceil.rate = s->rate };
	unsigned short rate64 = TCA_CAKE_BASE_RATE64;

	if (strcmp(s->kind, "tbf") == 0) {
		at = attribute(at, TCA_TBF_PARMS, &bucket, sizeof(bucket));
		rate64 = TCA_TBF_RATE64;
	} else if (strcmp(s->kind, "htb") == 0 && s->is_class) {
		at = attribute(at, TCA_HTB_PARMS, &class, sizeof(class));
		rate64 = TCA_HTB_CEIL64;
	}
	return s->rate64 > 0 ? attribute(at, rate64, &s->rate64, sizeof(s->rate64)) : at;
}

static void
build(const struct said *s)
{
	const struct gnet_stats_basic basic = { .bytes = s->bytes, .packets = 7 };
	const struct gnet_stats_queue queue = {
		.qlen = 1, .backlog = 66, .drops = 3, .requeues = 4, .overlimits = s->held
	};
	struct tcmsg *t = NLMSG_DATA(&m.h);
	struct rtattr *options, *stats, *end;

	memset(&m, 0, sizeof(m));
	t->tcm_ifindex = INTERFACE;
	t->tcm_handle = s->handle;
	t->tcm_parent = s->parent;
	options = attribute((struct rtattr *)((char *)t + NLMSG_ALIGN(sizeof(*t))), TCA_KIND,
	    s->kind, strlen(s->kind) + 1);
	end = options_put(RTA_DATA(options), s);
	stats = attribute(options, TCA_OPTIONS, NULL, between(RTA_DATA(options), end));
	end = attribute(RTA_DATA(stats), TCA_STATS_BASIC, &basic, sizeof(basic));
	end = attribute(end, TCA_STATS_QUEUE, &queue, sizeof(queue));
	attribute(stats, TCA_STATS2 | NLA_F_NESTED, NULL, between(RTA_DATA(stats), end));
	m.h.nlmsg_len = (uint32_t)between(&m, end);
	m.h.nlmsg_type = s->is_class ? RTM_NEWTCLASS : RTM_NEWQDISC;
}

static void
round_take(struct qdiscs *q, const struct said *s, size_t n)
{
	qdiscs_begin(q);
	for (; n > 0; n--, s++) {
		build(s);
		qdiscs_take(q, &m.h);
	}
	qdiscs_end(q);
}

/* The limit of an interface by two rounds: in the second the root sent 1,000,000 bytes more. */
static void
test_limits(void)
{
	static const struct {
		const char *what;
		struct said said[3]; /* of the second round; the first had no bytes */
		double limit;
	} cases[] = {
		{ "bucket", { { "tbf", ROOT, TC_H_ROOT, false, 2500000, 0, 1000000, 5 } },
		    2500000 },
		{ "fast bucket", { { "tbf", ROOT, TC_H_ROOT, false, 1, 12500000000, 1000000, 5 } },
		    12500000000 },
		{ "bucket never empty",
		    { { "tbf", ROOT, TC_H_ROOT, false, 2500000, 0, 1000000, 0 } }, 0 },
		{ "cake", { { "cake", ROOT, TC_H_ROOT, false, 0, 3000000, 1000000, 2 } }, 3000000 },
		{ "cake without rate", { { "cake", ROOT, TC_H_ROOT, false, 0, 0, 1000000, 2 } },
		    0 },
		{ "another kind's options", { { "fq", ROOT, TC_H_ROOT, false, 0, 77, 1000000, 2 } },
		    0 },
		{ "class",
		    { { "htb", ROOT, TC_H_ROOT, false, 0, 0, 1000000, 9 },
			{ "htb", CLASS, ROOT, true, 4000000, 0, 1000000, 3 } },
		    4000000 },
		{ "fast class",
		    { { "htb", ROOT, TC_H_ROOT, false, 0, 0, 1000000, 9 },
			{ "htb", CLASS, ROOT, true, 1, 5000000000, 950000, 3 } },
		    5000000000 },
		{ "class of others",
		    { { "htb", ROOT, TC_H_ROOT, false, 0, 0, 1000000, 9 },
			{ "htb", CLASS, ROOT, true, 4000000, 0, 600000, 3 } },
		    0 },
		{ "bucket below a class",
		    { { "htb", ROOT, TC_H_ROOT, false, 0, 0, 1000000, 9 },
			{ "tbf", CHILD, CLASS, false, 3000000, 0, 1000000, 4 },
			{ "htb", CLASS, ROOT, true, 4000000, 0, 1000000, 3 } },
		    3000000 },
	};
	struct said before[3];
	struct qdiscs q;
	size_t i, k, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		q = (struct qdiscs){ 0 };
		for (n = 0; n < 3 && cases[i].said[n].kind != NULL; n++)
			;
		for (k = 0; k < n; k++) {
			before[k] = cases[i].said[k];
			before[k].bytes = before[k].held = 0;
		}
		round_take(&q, before, n);
		CHECK_INT(qdiscs_roots(&q)->n, 1);
		CHECK(qdiscs_roots(&q)->list[0].values[QDISC_SENT_LIMIT] == 0);
		round_take(&q, cases[i].said, n);
		CHECK_INT(qdiscs_roots(&q)->n, 1);
		CHECK_STR(qdiscs_roots(&q)->list[0].values[QDISC_SENT_LIMIT] == cases[i].limit
			? cases[i].what
			: "another limit",
		    cases[i].what);
		CHECK(qdiscs_roots(&q)->list[0].has_classes ==
		    (strcmp(cases[i].said[0].kind, "htb") == 0));
		qdiscs_clear(&q);
	}
}

static void
test_values(void)
{
	static const struct said said = { "fq", ROOT, TC_H_ROOT, false, 0, 0, 5000, 5 };
	static const struct said below = { "fq", CHILD, CLASS, false, 0, 0, 5000, 5 };
	struct qdiscs q = { 0 };
	const struct qdisc *d;
	const double *v;

	round_take(&q, &said, 1);
	d = qdiscs_roots(&q)->list;
	v = d->values;
	CHECK_INT(d->interface, INTERFACE);
	CHECK(v[0] == 5000 && v[1] == 7 && v[2] == 3 && v[3] == 5 && v[4] == 4 && v[5] == 66 &&
	    v[6] == 1 && v[7] == 0);
	round_take(&q, &below, 1);
	CHECK_INT(qdiscs_roots(&q)->n, 0);
	qdiscs_clear(&q);
}

/* The sanitizer looks on. */
static void
test_cut(void)
{
	static const struct said said[] = { { "tbf", ROOT, TC_H_ROOT, false, 1, 12500000000, 5000,
						5 },
		{ "htb", CLASS, ROOT, true, 1, 12500000000, 5000, 5 } };
	struct qdiscs q = { 0 };
	uint32_t len;
	size_t i;

	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		build(&said[i]);
		for (len = m.h.nlmsg_len; len > 0; len--) {
			build(&said[i]);
			m.h.nlmsg_len = len;
			qdiscs_begin(&q);
			qdiscs_take(&q, &m.h);
			qdiscs_end(&q);
		}
		CHECK_INT(qdiscs_roots(&q)->n, 0);
	}
	qdiscs_clear(&q);
}

int
main(void)
{
	test_values();
	test_limits();
	test_cut();
	return check_done("qdiscs");
}
