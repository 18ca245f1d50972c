/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels of both ends say of the time below the programs: how long bytes lay where, and
 * what follows for the question which end limited.
 *
 * Waits of the send buffer follow one another in a socket, and so do waits for the program's read:
 * their sum is the time in which bytes lay there. Bytes that lie in the receiving socket wait for
 * the receiving program; bytes that lie in the send buffer while the receiving socket is empty
 * wait for the network, as do bytes in the queueing discipline, where a shaper keeps them; with
 * both empty the sending program has nothing to send.
 */
#ifndef KERNELWAITS_H
#define KERNELWAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/stage.h"

/* A waiting time at one end; all 0 without a wait, and NaN where nothing is known. mean_s is the
 * mean of a byte where waits are of bytes in a socket, and their durations are known. */
struct kernel_wait {
	double count, mean_s, p50_s, p99_s, max_s;
	double share; /* sum of waits over the time; above 1 where many bytes wait at once */
};

struct kernel_end {
	bool known; /* whether the kernel of the end reported the session's connections */
	size_t host;
	struct kernel_wait wait[EVIDENCE_WAITS];
	double covered_s; /* watched seconds */
};

struct kernelwaits {
	struct kernel_end sender, receiver;
	enum nw_says says; /* the network, an end, or NW_SAYS_BEYOND_SENDER */
	double one_in;     /* hardest sampling */
};

void kernelwaits_find(const struct evidence *e, const struct nw_path *p, struct kernelwaits *out);
/* The sending end by a connection of the session's programs: 1 the host of k, -1 the far host,
 * 0: no program reported such a connection. */
int kernelwaits_way(const struct evidence *e, const struct evidence_kernel *k);

#endif
