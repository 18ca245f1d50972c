/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name from the directory, which ends with a slash. The kernel has resolved the directory, so
 * the one above is found without a look. */
static void
join(char out[PATH_MAX], const char *directory, const char *name)
{
	size_t len = strlen(directory);

	for (; strncmp(name, "../", 3) == 0 && len > 1; name += 3)
		for (len--; directory[len - 1] != '/'; len--)
			;
	if (snprintf(out, PATH_MAX, "%.*s%s", (int)len, directory, name) >= PATH_MAX)
		out[0] = '\0';
}

/* A file that is no link has its absolute path already. */
static bool
resolve(const char *try, char path[PATH_MAX])
{
	struct stat st;

	if (lstat(try, &st) != 0)
		return false;
	if (S_ISLNK(st.st_mode))
		return realpath(try, path) != NULL;
	strcpy(path, try);
	return true;
}

bool
beside_find(char path[PATH_MAX], const char *const *places, int mode, const char *without)
{
	char self[PATH_MAX], try[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	if ((slash = strrchr(self, '/')) == NULL)
		return false;
	slash[1] = '\0';
	for (; *places != NULL; places++) {
		join(try, self, *places);
		if (resolve(try, path) && access(path, mode) == 0 && strpbrk(path, without) == NULL)
			return true;
	}
	return false;
}
