/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/qdiscs.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_BYTES = 16, HELD = 3 /* of the values: overlimits */ };

/* A shaper through which so large a part of an interface's bytes passed limits the interface. The
 * counts of root and classes are asked one after the other, so the parts differ a little. */
static const double PASSES = 0.9;

/* Where the kernel tells the rate of a kind, in bytes a second: 32 bits in the parameters, or an
 * attribute of its own, which counts where it is not 0. Both are maxima of all flows together:
 * `maxrate` of fq is a limit of each flow, and netem does not count the packets held back. */
static const struct {
	const char *kind;
	unsigned short parms;  /* 0: none */
	size_t at;             /* of the rate in the parameters */
	unsigned short rate64; /* 64 bits */
} kinds[] = {
	{ "tbf", TCA_TBF_PARMS, offsetof(struct tc_tbf_qopt, rate.rate), TCA_TBF_RATE64 },
	{ "htb", TCA_HTB_PARMS, offsetof(struct tc_htb_opt, ceil.rate), TCA_HTB_CEIL64 },
	{ "cake", 0, 0, TCA_CAKE_BASE_RATE64 },
};

/* Copies an attribute's payload from an offset on, as far as both reach. */
static void
attribute_copy(const struct rtattr *a, size_t from, void *out, size_t size)
{
	size_t len = RTA_PAYLOAD(a);

	len = len > from ? len - from : 0;
	memcpy(out, (const char *)RTA_DATA(a) + from, len < size ? len : size);
}

static void
stats_parse(
    const struct rtattr *stats, struct gnet_stats_basic *basic, struct gnet_stats_queue *queue)
{
	const struct rtattr *a = RTA_DATA(stats);
	int left = (int)RTA_PAYLOAD(stats);

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_STATS_BASIC)
			attribute_copy(a, 0, basic, sizeof(*basic));
		else if (a->rta_type == TCA_STATS_QUEUE)
			attribute_copy(a, 0, queue, sizeof(*queue));
	}
}

/* 0 of disciplines and classes without a known rate: a discipline of the kind htb has none. */
static double
rate_parse(const char *kind, const struct rtattr *options)
{
	const struct rtattr *a;
	uint64_t rate64 = 0;
	uint32_t rate = 0;
	size_t k;
	int left;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kind, kinds[k].kind) != 0; k++)
		;
	if (k == sizeof(kinds) / sizeof(kinds[0]) || options == NULL)
		return 0;
	a = RTA_DATA(options);
	left = (int)RTA_PAYLOAD(options);
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == kinds[k].rate64)
			attribute_copy(a, 0, &rate64, sizeof(rate64));
		else if (kinds[k].parms != 0 && a->rta_type == kinds[k].parms)
			attribute_copy(a, kinds[k].at, &rate, sizeof(rate));
	}
	return rate64 > 0 ? (double)rate64 : (double)rate;
}

/* Returns false for a message that is cut. kind has KIND_BYTES. */
static bool
message_parse(const struct nlmsghdr *h, char *kind, struct qdisc *out)
{
	struct gnet_stats_basic basic = { 0 };
	struct gnet_stats_queue queue = { 0 };
	const struct tcmsg *t = NLMSG_DATA(h);
	const struct rtattr *a, *options = NULL;
	int left;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*t)))
		return false;
	left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*t));
	a = (const struct rtattr *)((const char *)t + NLMSG_ALIGN(sizeof(*t)));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		switch (a->rta_type & NLA_TYPE_MASK) {
		case TCA_KIND: attribute_copy(a, 0, kind, KIND_BYTES - 1); break;
		case TCA_OPTIONS: options = a; break;
		case TCA_STATS2: stats_parse(a, &basic, &queue); break;
		default: break;
		}
	*out = (struct qdisc){ .interface = t->tcm_ifindex,
		.handle = t->tcm_handle,
		.is_class = h->nlmsg_type == RTM_NEWTCLASS,
		.rate = rate_parse(kind, options),
		.values = { (double)basic.bytes, (double)basic.packets, (double)queue.drops,
		    (double)queue.overlimits, (double)queue.requeues, (double)queue.backlog,
		    (double)queue.qlen } };
	return true;
}

/* The same discipline or class in a list; the list has the order of the kernel every time, so the
 * search begins where the last one ended. NULL if there is none. */
static struct qdisc *
list_find(struct qdisc_list *l, const struct qdisc *like)
{
	struct qdisc *d;
	size_t i;

	for (i = 0; i < l->n; i++) {
		d = &l->list[(l->next + i) % l->n];
		if (d->interface == like->interface && d->handle == like->handle &&
		    d->is_class == like->is_class) {
			l->next = (size_t)(d - l->list) + 1;
			return d;
		}
	}
	return NULL;
}

/* Adds a discipline or class with its counts since the round before: 0 without that round, and
 * after a change of the discipline, which counts anew. */
static void
list_add(struct qdisc_list *l, struct qdisc_list *before, const struct qdisc *new)
{
	const struct qdisc *old = list_find(before, new);
	struct qdisc *list;
	size_t cap;

	if (l->n == l->cap) {
		cap = l->cap > 0 ? 2 * l->cap : 8;
		if ((list = reallocarray(l->list, cap, sizeof(*list))) == NULL)
			return;
		l->list = list;
		l->cap = cap;
	}
	l->list[l->n] = *new;
	if (old != NULL && new->values[QDISC_BYTES] >= old->values[QDISC_BYTES]) {
		l->list[l->n].bytes_more = new->values[QDISC_BYTES] - old->values[QDISC_BYTES];
		l->list[l->n].held_more = new->values[HELD] - old->values[HELD];
	}
	l->n++;
}

static struct qdisc *
root_of(struct qdiscs *q, int interface)
{
	struct qdisc_list *l = &q->roots[q->now];
	size_t i;

	for (i = l->n; i > 0; i--)
		if (l->list[i - 1].interface == interface)
			return &l->list[i - 1];
	return NULL;
}

void
qdiscs_begin(struct qdiscs *q)
{
	q->now = 1 - q->now;
	q->roots[q->now].n = q->shapers[q->now].n = 0;
	q->roots[q->now].next = q->shapers[q->now].next = 0;
}

void
qdiscs_take(struct qdiscs *q, const struct nlmsghdr *h)
{
	char kind[KIND_BYTES] = "";
	struct qdisc d, *root;

	if ((h->nlmsg_type != RTM_NEWQDISC && h->nlmsg_type != RTM_NEWTCLASS) ||
	    !message_parse(h, kind, &d))
		return;
	if (!d.is_class && ((const struct tcmsg *)NLMSG_DATA(h))->tcm_parent == TC_H_ROOT)
		list_add(&q->roots[q->now], &q->roots[1 - q->now], &d);
	if (d.rate > 0)
		list_add(&q->shapers[q->now], &q->shapers[1 - q->now], &d);
	if (!d.is_class && strcmp(kind, "htb") == 0 && (root = root_of(q, d.interface)) != NULL)
		root->has_classes = true;
}

void
qdiscs_end(struct qdiscs *q)
{
	const struct qdisc_list *l = &q->shapers[q->now];
	const struct qdisc *s;
	struct qdisc *root;
	double *limit;

	for (s = l->list; s < l->list + l->n; s++) {
		if (!(s->held_more > 0) || (root = root_of(q, s->interface)) == NULL ||
		    s->bytes_more < PASSES * root->bytes_more)
			continue;
		limit = &root->values[QDISC_SENT_LIMIT];
		if (*limit == 0 || s->rate < *limit)
			*limit = s->rate;
	}
}

const struct qdisc_list *
qdiscs_roots(const struct qdiscs *q)
{
	return &q->roots[q->now];
}

void
qdiscs_clear(struct qdiscs *q)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(q->roots[i].list);
		free(q->shapers[i].list);
	}
}
