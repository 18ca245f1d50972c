/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel says no more of a refused call than "not permitted": which capability it lacks. */
#ifndef HOST_CAPABILITY_H
#define HOST_CAPABILITY_H

enum { CAPABILITY_NET_ADMIN = 12, CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39 };

/* The name of the first of the n capabilities that this process lacks. NULL: none, as with
 * CAP_SYS_ADMIN, which stands for all of them. */
const char *capability_missing(const int *needed, int n);

#endif
