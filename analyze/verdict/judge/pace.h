/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that keep their own pace. A rate limit, a timer or a fixed pause makes a program wait
 * for nothing but its own time: such waits are counted apart (paused_s of a process), and no
 * argument of a program is read.
 *
 * A pause limits in one of two ways:
 *	- the pauses of an end took as much of the time as any stage or lack of processors;
 *	- the pauses adapt: the bytes of a second are even, but the pauses of a byte are not.
 *	  Such a program pauses for whatever the disk, the network and other programs leave of a
 *	  second, so faster disks, networks and processors would only lengthen its pauses. Where
 *	  the time without a processor varies, too, short pauses are enough: a program that was
 *	  late and keeps its rate nevertheless is ahead of its limit.
 */
#ifndef PACE_H
#define PACE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/limit.h"
#include "narrows/stage.h"

struct pace {
	bool found;
	size_t stage;   /* of the pausing program's end */
	size_t process; /* the pausing program */
	double share;   /* paused share of the time at work */
	bool even;      /* whether the bytes of a second are even */
	bool adapts;    /* whether the pauses make up for what varies beside */
};

/* The end that keeps its own pace, by the limit's shares and each process's seconds without a
 * processor. */
void pace_find(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const double *starved_s, struct pace *out);

#endif
