/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/filesystem.h"

static const struct mount unknown = { .type = "unknown" };

/* The file's mount out of the process's table, or out of this process's if the process is gone. */
static bool
look(int pid, uint64_t dev, const char *path, struct mount *out)
{
	char *text = mount_table_read(pid);
	int rc;

	if (text == NULL)
		text = mount_table_read(0);
	rc = text != NULL ? mount_find_device(text, dev, path, out) : NW_ENOTFOUND;
	free(text);
	return rc == NW_OK;
}

/* A mount found by the file's name alone is another file system's if the kernel gave the file a
 * number of another kind: the file's own mount is gone. */
static void
settle(struct mount *m, bool found, uint64_t dev, uint32_t magic)
{
	const char *type = nw_fs_type_of_magic(magic);

	if (found &&
	    (m->dev == dev || type == NULL ||
		nw_fs_place(type, NULL) == nw_fs_place(m->type, m->device)))
		return;
	*m = unknown;
	if (type != NULL)
		memcpy(m->type, type, strlen(type) + 1);
}

static const struct mount *
keep(struct mounts *t, const struct mount *m)
{
	unsigned i;

	for (i = 0; i < t->n_kept; i++)
		if (strcmp(t->kept[i].point, m->point) == 0 &&
		    strcmp(t->kept[i].type, m->type) == 0 &&
		    strcmp(t->kept[i].device, m->device) == 0 &&
		    strcmp(t->kept[i].address, m->address) == 0)
			return &t->kept[i];
	if (t->n_kept == MOUNTS_KEPT)
		return &unknown;
	t->kept[t->n_kept] = *m;
	return &t->kept[t->n_kept++];
}

static bool
is_readable(struct mounts *t)
{
	char *text;

	if (t->asked)
		return t->readable;
	t->asked = true;
	t->readable = (text = mount_table_read(0)) != NULL;
	free(text);
	return t->readable;
}

const struct mount *
mounts_find(struct mounts *t, int pid, uint64_t dev, uint32_t magic, const char *path)
{
	struct mount m;
	unsigned i;

	if (dev >> 32 != 0)
		return is_readable(t) ? NULL : &unknown;
	for (i = 0; i < MOUNTS_LOOKED; i++)
		if (t->looked[i].mount != NULL && t->looked[i].pid == pid &&
		    t->looked[i].dev == dev)
			return t->looked[i].mount;
	settle(&m, look(pid, dev, path, &m), dev, magic);
	i = t->next++ % MOUNTS_LOOKED;
	t->looked[i].pid = pid;
	t->looked[i].dev = dev;
	t->looked[i].mount = keep(t, &m);
	return t->looked[i].mount;
}
