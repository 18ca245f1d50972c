/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a process that is no child of this process. */
#ifndef HOST_NWRUN_EXITCODE_H
#define HOST_NWRUN_EXITCODE_H

#include <stdbool.h>

/* A descriptor of a living process, or -1. */
int exitcode_open(int pid);
/* The status as of waitpid(2), once the process has ended. False where the kernel (Linux before
 * 6.15) does not tell. */
bool exitcode_get(int pidfd, int *status);

#endif
