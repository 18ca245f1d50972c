/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
beside_find(char path[PATH_MAX], const char *const *places, int mode, const char *without)
{
	char self[PATH_MAX], try[PATH_MAX + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	if ((slash = strrchr(self, '/')) == NULL)
		return false;
	slash[1] = '\0';
	for (; *places != NULL; places++) {
		snprintf(try, sizeof(try), "%s%s", self, *places);
		if (realpath(try, path) != NULL && access(path, mode) == 0 &&
		    strpbrk(path, without) == NULL)
			return true;
	}
	return false;
}
