/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/procread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

bool
procread_key(const char *path, const char *key, char *out, size_t cap)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(key);
	bool found = false;
	char line[512], end[] = "\"\n", *p;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, len) != 0)
			continue;
		p = line + len + strspn(line + len, " \t");
		if (!(found = *p == ':' || *p == '='))
			continue;
		end[0] = *p == '=' && p[1] == '\'' ? '\'' : '"';
		p += 1 + strspn(p + 1, " \t");
		p += *p == end[0];
		snprintf(out, cap, "%.*s", (int)strcspn(p, end), p);
	}
	if (f != NULL)
		fclose(f);
	return found;
}
