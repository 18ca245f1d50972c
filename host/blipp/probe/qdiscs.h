/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queueing disciplines of all interfaces, and the shapers among them: a root discipline, or a
 * discipline or class below, whose rate the kernel tells. A shaper limits an interface in a round
 * if the shaper held packets back, and nearly all bytes of the interface passed through the shaper.
 * A shaper that held nothing back tells nothing of the network's room: another place limits.
 */
#ifndef QDISCS_H
#define QDISCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;

enum { QDISC_FIELDS = 8, QDISC_BYTES = 0, QDISC_SENT_LIMIT = 7 };

/* A root discipline with the values of a round, or a shaper. */
struct qdisc {
	int interface;
	uint32_t handle; /* of the discipline, or of the class */
	bool is_class;
	bool has_classes;             /* root: shaping classes may exist on the interface */
	double rate;                  /* shaper: bytes/s that may pass */
	double bytes_more, held_more; /* bytes, and times of holding packets back, of the round */
	double values[QDISC_FIELDS];
};

struct qdisc_list {
	struct qdisc *list;
	size_t n, cap, next;
};

/* The round in hand and the round before; zero to start. */
struct qdiscs {
	struct qdisc_list roots[2], shapers[2];
	size_t now; /* index of the round in hand */
};

/* Begins a round. */
void qdiscs_begin(struct qdiscs *q);
/* Takes a message RTM_NEWQDISC or RTM_NEWTCLASS; after the disciplines of an interface come its
 * classes. Other messages, and what memory has no room for, are left out. */
void qdiscs_take(struct qdiscs *q, const struct nlmsghdr *h);
/* Ends a round: fills the limit in the values of each root, 0 where none is known. */
void qdiscs_end(struct qdiscs *q);
/* The roots of the round; on loan until the next round. */
const struct qdisc_list *qdiscs_roots(const struct qdiscs *q);
void qdiscs_clear(struct qdiscs *q);

#endif
