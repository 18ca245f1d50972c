/* SPDX-License-Identifier: BSD-3-Clause */
/* How disks and mounts are set up: /sys/block and /proc/self/mountinfo. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "host/blipp/probe/filter.h"
#include "host/blipp/settings/settings_list.h"

enum { PATH_BYTES = 512, DISKS_MAX = 64, MOUNTS_MAX = 64 };

/* "none [mq-deadline] kyber" */
static void
put_scheduler(struct settings *s, const char *disk)
{
	char path[PATH_BYTES], text[SETTING_VALUE_BYTES], *from, *to;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", disk);
	if (!settings_read(path, text, sizeof(text)))
		return;
	if ((from = strchr(text, '[')) != NULL && (to = strchr(from, ']')) != NULL) {
		*to = '\0';
		settings_put(s, "disk", disk, "scheduler", from + 1);
	} else {
		settings_put(s, "disk", disk, "scheduler", text);
	}
}

static void
put_disk(struct settings *s, const char *disk)
{
	static const struct {
		const char *name, *file;
	} files[] = { { "read_ahead_kb", "queue/read_ahead_kb" },
		{ "nr_requests", "queue/nr_requests" }, { "rotational", "queue/rotational" },
		{ "write_cache", "queue/write_cache" }, { "wbt_lat_usec", "queue/wbt_lat_usec" },
		{ "nomerges", "queue/nomerges" }, { "rq_affinity", "queue/rq_affinity" },
		{ "max_sectors_kb", "queue/max_sectors_kb" },
		{ "logical_block_size", "queue/logical_block_size" }, { "size_sectors", "size" },
		{ "read_only", "ro" }, { "model", "device/model" }, { "vendor", "device/vendor" },
		{ "firmware", "device/rev" }, { "firmware", "device/firmware_rev" },
		{ "queue_depth", "device/queue_depth" }, { "backing_file", "loop/backing_file" } };
	char path[PATH_BYTES];
	size_t i;

	put_scheduler(s, disk);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, files[i].file);
		settings_put_file(s, "disk", disk, files[i].name, path);
	}
}

/* A loop device without a file is no disk. */
static bool
is_empty(const char *disk)
{
	char path[PATH_BYTES], text[32];

	snprintf(path, sizeof(path), "/sys/block/%s/size", disk);
	return !settings_read(path, text, sizeof(text)) || strcmp(text, "0") == 0;
}

void
settings_of_disks(struct settings *s, const struct filter *filter)
{
	DIR *d = opendir("/sys/block");
	struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL && n < DISKS_MAX)
		if (e->d_name[0] != '.' && strlen(e->d_name) < 32 &&
		    strncmp(e->d_name, "ram", 3) != 0 && filter_takes(filter, e->d_name) &&
		    !is_empty(e->d_name)) {
			put_disk(s, e->d_name);
			n++;
		}
	if (d != NULL)
		closedir(d);
}

/* --- mounts --- */

/* File systems on disks and servers, memory below /tmp and /dev/shm, and a container's root; no
 * pseudo file systems of the kernel. */
static bool
is_wanted(const char *source, const char *type, const char *path)
{
	static const char *const types[] = { "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs",
		"beegfs", "ceph", "zfs", "btrfs", "9p", "virtiofs", "panfs" };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	if (strcmp(type, "tmpfs") == 0)
		return strcmp(path, "/tmp") == 0 || strcmp(path, "/dev/shm") == 0;
	if (strcmp(type, "overlay") == 0)
		return strcmp(path, "/") == 0;
	return source[0] == '/' && strncmp(type, "fuse", 4) != 0 && strcmp(type, "squashfs") != 0;
}

/* The options of a mount are blipp's own where a service is confined: read-only there is not
 * read-only elsewhere. So "ro" and "rw" come from the file system. */
static void
put_options(struct settings *s, const char *path, char *mount, const char *super)
{
	char text[SETTING_VALUE_BYTES];
	const char *word;
	size_t len;

	len = (size_t)snprintf(text, sizeof(text), "%s", super);
	while ((word = strsep(&mount, ",")) != NULL && len < sizeof(text))
		if (strcmp(word, "ro") != 0 && strcmp(word, "rw") != 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, ",%s", word);
	settings_put(s, "mount", path, "options", text);
}

/* "36 35 98:0 /root /path options optional - type source super", see proc_pid_mountinfo(5). */
static void
put_mount(struct settings *s, char *line, const struct filter *filter, int *n)
{
	char *field[6], *type, *source;
	size_t i;

	for (i = 0; i < 6; i++)
		field[i] = strsep(&line, " ");
	while (line != NULL && strncmp(line, "- ", 2) != 0)
		strsep(&line, " ");
	if (line == NULL)
		return;
	line += 2;
	type = strsep(&line, " ");
	source = strsep(&line, " ");
	if (line == NULL || strlen(field[4]) > 64 || *n == MOUNTS_MAX ||
	    !is_wanted(source, type, field[4]) || !filter_takes(filter, field[4]))
		return;
	if (strcmp(field[3], "/") != 0 && strcmp(field[4], "/") != 0 &&
	    strcmp(type, "btrfs") != 0 && strncmp(type, "nfs", 3) != 0)
		return; /* a directory that stands in another place as well */
	(*n)++;
	settings_put(s, "mount", field[4], "source", source);
	settings_put(s, "mount", field[4], "type", type);
	put_options(s, field[4], field[5], line);
}

void
settings_of_mounts(struct settings *s, const char *mounts, const struct filter *filter)
{
	char line[1024];
	size_t len;
	int n = 0;

	for (; *mounts != '\0'; mounts += len + (mounts[len] == '\n')) {
		len = strcspn(mounts, "\n");
		if (len == 0 || len >= sizeof(line))
			continue;
		memcpy(line, mounts, len);
		line[len] = '\0';
		put_mount(s, line, filter, &n);
	}
}
