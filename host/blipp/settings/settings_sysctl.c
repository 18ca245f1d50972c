/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/sys/net and /proc/sys/vm as "sysctl.net..." and "sysctl.vm...". Left out are secrets,
 * files that do something when they are read, numbers that move by themselves, and the copies of
 * "all" and "default" that every interface has.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/blipp/settings/settings_list.h"

enum { DEPTH_MAX = 6, PATH_BYTES = 512 };

static const char *const never[] = { "vm.stat_refresh", "vm.compact_memory", "vm.drop_caches",
	"net.ipv4.route.flush", "net.ipv6.route.flush", "net.netfilter.nf_conntrack_count",
	"net.ipv4.tcp_fastopen_key", "net.core.netdev_rss_key", "net.core.flow_limit_cpu_bitmap" };

static bool
is_left_out(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcmp(name, never[i]) == 0)
			return true;
	return strstr(name, "secret") != NULL;
}

/* Directories of one interface each stand below "conf" and "neigh". */
static bool
is_copy(const char *directory, const char *entry)
{
	const char *slash = strrchr(directory, '/');

	return slash != NULL && (strcmp(slash, "/conf") == 0 || strcmp(slash, "/neigh") == 0) &&
	    strcmp(entry, "all") != 0 && strcmp(entry, "default") != 0;
}

/* A file's setting; rest is the path below root, with dots for slashes. */
static void
put_file(struct settings *s, const char *path, const char *rest)
{
	char name[PATH_BYTES], *p;

	snprintf(name, sizeof(name), "%s", rest);
	for (p = name; *p != '\0'; p++)
		if (*p == '/')
			*p = '.';
	if (!is_left_out(name))
		settings_put_file(s, "sysctl", NULL, name, path);
}

static void
walk(struct settings *s, const char *directory, size_t root_len, int depth)
{
	DIR *d = depth < DEPTH_MAX ? opendir(directory) : NULL;
	char path[PATH_BYTES];
	struct dirent *e;
	struct stat st;
	int len;

	while (d != NULL && (e = readdir(d)) != NULL) {
		len = snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		if (e->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof(path) ||
		    lstat(path, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode) && (st.st_mode & 0444) != 0)
			put_file(s, path, path + root_len + 1);
		else if (S_ISDIR(st.st_mode) && !is_copy(directory, e->d_name))
			walk(s, path, root_len, depth + 1);
	}
	if (d != NULL)
		closedir(d);
}

void
settings_of_sysctl(struct settings *s, const char *root)
{
	static const char *const trees[] = { "net", "vm" };
	char path[PATH_BYTES];
	size_t i;

	for (i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, trees[i]);
		walk(s, path, strlen(root), 0);
	}
}
