/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun becomes the program, so the collector is no parent of the program, and cannot wait for it.
 * A descriptor of a process tells how the process ended, also after its parent has waited
 * (PIDFD_GET_INFO of Linux 6.15; headers may be older).
 */
#include "host/nwrun/collect/exitcode.h"

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define INFO_EXIT 8u /* in mask, asked for and given */

/* The first version of the kernel's structure. */
struct info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define GET_INFO _IOWR(0xff, 11, struct info)

int
exitcode_open(int pid)
{
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

bool
exitcode_get(int pidfd, int *status)
{
	struct info info = { .mask = INFO_EXIT };

	if (pidfd < 0 || ioctl(pidfd, GET_INFO, &info) < 0 || (info.mask & INFO_EXIT) == 0)
		return false;
	*status = info.exit_code;
	return true;
}
