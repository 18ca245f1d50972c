/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/spool_dir.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/spool_given.h"
#include "narrows/err.h"

enum { NAMESAKES_MAX = 16 };

/* Makes a file name of a program's name and a task's; characters unfit for a file name become
 * '_'. */
static void
name_make(char *out, size_t cap, const struct spool_place *place)
{
	static const char good[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t n = 0;

	snprintf(out, cap, "%.60s%s%.120s", place->software, place->task_id != NULL ? "-" : "",
	    place->task_id != NULL ? place->task_id : "");
	while ((n += strspn(out + n, good)) < strlen(out))
		out[n] = '_';
}

int
spool_dir_open(const struct spool_place *place, const char *new_uuid, struct meta_table *metas,
    struct spool_file **out, struct spool_past *past)
{
	const char *parent = secure_getenv("NARROWS_SPOOL");
	char name[200], dir[PATH_MAX];
	int i, rc = NW_ECONFLICT;

	*out = NULL;
	if (place->dir != NULL) {
		rc = spool_file_open(place->dir, new_uuid, place->bytes_max, metas, out, past);
		if (rc == NW_OK && parent != NULL &&
		    strncmp(place->dir, parent, strlen(parent)) == 0)
			spool_file_set_temporary(*out);
		return rc;
	}
	if (parent == NULL || parent[0] == '\0')
		return NW_OK;
	name_make(name, sizeof(name), place);
	for (i = 1; i <= NAMESAKES_MAX && rc == NW_ECONFLICT; i++) {
		if ((size_t)snprintf(dir, sizeof(dir), i > 1 ? "%s/%s.%d" : "%s/%s", parent, name,
			i) >= sizeof(dir))
			break;
		rc = spool_file_open(dir, new_uuid, place->bytes_max, metas, out, past);
	}
	if (rc == NW_OK)
		spool_file_set_temporary(*out);
	return rc == NW_ENOMEM ? rc : NW_OK;
}

static bool
has_documents(const char *dir)
{
	const struct dirent *e;
	DIR *d = opendir(dir);
	bool found = spool_given_waits(dir);

	while (d != NULL && !found && (e = readdir(d)) != NULL)
		found =
		    strlen(e->d_name) > 4 && strcmp(e->d_name + strlen(e->d_name) - 4, ".seg") == 0;
	if (d != NULL)
		closedir(d);
	return found;
}

void
spool_dir_each(bool (*fn)(void *arg, const char *dir), void *arg)
{
	const char *parent = secure_getenv("NARROWS_SPOOL");
	const struct dirent *e;
	char dir[PATH_MAX];
	bool more = true;
	DIR *d;

	if (parent == NULL || (d = opendir(parent)) == NULL)
		return;
	while (more && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' &&
		    (size_t)snprintf(dir, sizeof(dir), "%s/%s", parent, e->d_name) < sizeof(dir) &&
		    has_documents(dir))
			more = fn(arg, dir);
	closedir(d);
}
