/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that leave errno alone. */
#include "host/nwrun/preload/preload.h"

#include <fcntl.h>
#include <sys/syscall.h>

bool sealed;

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	return kernel_call(number, a, b, c, d, e, f);
}

bool
sys_read_file(const char *path, char *text, size_t cap, size_t *len)
{
	size_t n = 0;
	long fd, rc = 0;

	*len = 0;
	text[0] = '\0';
	if (sealed || (fd = sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	/* of files in /proc, a short read is the last */
	if ((rc = sys(SYS_read, fd, text, cap - 1)) > 0)
		n = (size_t)rc;
	sys(SYS_close, fd);
	text[n] = '\0';
	*len = n;
	return rc >= 0 && n > 0;
}
