/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/procread.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

size_t
procread_path(const char *path, char *text, size_t cap)
{
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, text, cap - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

size_t
procread(int pid, const char *name, char *text, size_t cap)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return procread_path(path, text, cap);
}
