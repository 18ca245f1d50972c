/* SPDX-License-Identifier: BSD-3-Clause */
#include "send/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/ownfile.h"

json_t *
memory_read(const char *path, char why[MEMORY_WHY_BYTES])
{
	json_t *memory;
	json_error_t error;

	if (access(path, F_OK) != 0)
		return json_object();
	memory = json_load_file(path, 0, &error);
	if (json_is_object(memory))
		return memory;
	json_decref(memory);
	snprintf(why, MEMORY_WHY_BYTES, "%.300s: is not what this command wrote", path);
	return NULL;
}

int
memory_write(const char *path, const json_t *memory, char why[MEMORY_WHY_BYTES])
{
	char tmp[PATH_MAX];
	FILE *f = NULL;
	bool good;

	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) < (int)sizeof(tmp))
		f = ownfile_stream(tmp, 0600);
	else
		errno = ENAMETOOLONG;
	good = f != NULL && json_dumpf(memory, f, JSON_COMPACT) == 0;
	good = good && fflush(f) == 0 && fsync(fileno(f)) == 0;
	if (f != NULL)
		good = fclose(f) == 0 && good;
	good = good && rename(tmp, path) == 0;
	if (!good)
		snprintf(why, MEMORY_WHY_BYTES, "%.300s: %s", path, strerror(errno));
	return good ? NW_OK : NW_EIO;
}

json_t *
memory_list(json_t *memory, const char *name)
{
	json_t *list = json_object_get(memory, name);

	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(memory, name, list);
	}
	return list;
}
