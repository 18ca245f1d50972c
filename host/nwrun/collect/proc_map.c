/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest map of a file on a file system of FUSE, by a process's tables of maps and mounts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/mount.h"
#include "host/nwrun/collect/proc_facts.h"
#include "narrows/err.h"

/* A line "begin-end rights offset major:minor inode  path", of a file without a block device. */
static bool
line_parse(char *line, struct proc_map *out)
{
	uint64_t begin, end;
	unsigned major, minor;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %*s %n", &begin, &end, &major,
		&minor, &at) != 4 ||
	    at == 0 || line[at] != '/' || end <= begin || major != 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	out->dev = minor;
	out->bytes = end - begin;
	snprintf(out->path, sizeof(out->path), "%s", line + at);
	return true;
}

static bool
is_fuse(const char *mountinfo, const struct proc_map *m)
{
	struct mount at;

	return mount_find_device(mountinfo, m->dev, m->path, &at) == NW_OK && at.dev == m->dev &&
	    strncmp(at.type, "fuse", 4) == 0;
}

void
proc_map_find(FILE *maps, const char *mountinfo, struct proc_map *out)
{
	uint64_t other = UINT64_MAX; /* of another type, at the line before */
	struct proc_map m;
	char *line = NULL;
	size_t cap = 0;

	memset(out, 0, sizeof(*out));
	while (getline(&line, &cap, maps) > 0) {
		if (!line_parse(line, &m) || m.dev == other || m.bytes <= out->bytes)
			continue;
		if (is_fuse(mountinfo, &m))
			*out = m;
		else
			other = m.dev;
	}
	free(line);
}

void
proc_map_read(int pid, struct proc_map *out)
{
	char path[64], *mountinfo = mount_table_read(pid);
	FILE *f;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = mountinfo != NULL ? fopen(path, "re") : NULL;
	if (f != NULL) {
		proc_map_find(f, mountinfo, out);
		fclose(f);
	}
	free(mountinfo);
}
