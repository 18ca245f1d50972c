/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/targets.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/procfile.h"
#include "host/lib/procread.h"
#include "host/nwrun/preload/title.h"

enum {
	TEXT_BYTES = 1024,
	ARGUMENTS_BYTES = 8192,
	FILE_BYTES = 64,
	PROCS_MAX = 65536,
	DEPTH_MAX = 64
};

static uint32_t
parent_of(uint32_t pid)
{
	struct procfile_stat st;
	char text[TEXT_BYTES];

	if (procread((int)pid, "stat", text, sizeof(text)) == 0 || !procfile_parse_stat(text, &st))
		return 0;
	return (uint32_t)st.ppid;
}

bool
targets_is_below(uint32_t pid, uint32_t above)
{
	int i;

	for (i = 0; pid > 0 && i < DEPTH_MAX; i++, pid = parent_of(pid))
		if (pid == above)
			return true;
	return false;
}

void
targets_tree(uint32_t pid, targets_fn *fn, void *arg)
{
	struct dirent *e;
	DIR *d = opendir("/proc");
	uint32_t n, own = (uint32_t)getpid();

	fn(arg, pid);
	while (d != NULL && (e = readdir(d)) != NULL) {
		n = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (n != 0 && n != pid && targets_is_below(n, pid) && !targets_is_below(n, own))
			fn(arg, n);
	}
	if (d != NULL)
		closedir(d);
}

static void
group_procs(const char *dir, targets_fn *fn, void *arg)
{
	char path[PATH_MAX + 16];
	unsigned pid;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if ((f = fopen(path, "re")) == NULL)
		return;
	while (fscanf(f, "%u", &pid) == 1)
		if (pid != 0 && !targets_is_below(pid, (uint32_t)getpid()))
			fn(arg, pid);
	fclose(f);
}

void
targets_group(const char *dir, targets_fn *fn, void *arg)
{
	char *paths[] = { (char *)dir, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (tree != NULL && (e = fts_read(tree)) != NULL)
		if (e->fts_info == FTS_D)
			group_procs(e->fts_path, fn, arg);
	if (tree != NULL)
		fts_close(tree);
}

/* In file systems of control groups the inode is the group's number. */
uint64_t
targets_group_id(const char *dir)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	return access(path, R_OK) == 0 && stat(dir, &st) == 0 ? st.st_ino : 0;
}

bool
targets_unit(const char *unit, char dir[PATH_MAX])
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup",
		"/sys/fs/cgroup/systemd" };
	const char *end = strchr(unit, '.') == NULL ? ".service" : "";
	size_t i;

	if (strchr(unit, '/') != NULL)
		return false;
	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(dir, PATH_MAX, "%s/system.slice/%s%s", roots[i], unit, end);
		if (targets_group_id(dir) != 0)
			return true;
	}
	return false;
}

/* The map of the memory between nwrun.so and the collector tells. */
bool
targets_is_measured(uint32_t pid)
{
	char path[FILE_BYTES], line[PATH_MAX + 128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, " rw-s ") != NULL && strstr(line, "/nwrun.") != NULL;
	fclose(f);
	return found;
}

bool
targets_describe(uint32_t pid, char *name, size_t name_cap, char *arguments, size_t arguments_cap)
{
	char text[ARGUMENTS_BYTES];
	size_t len, i;

	if (procread((int)pid, "comm", name, name_cap) == 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	if ((len = procread((int)pid, "cmdline", text, sizeof(text))) > 0)
		title_of_cmdline(text, len, name, name_cap);
	if ((len = procread((int)pid, "cmdline", arguments, arguments_cap)) == 0)
		return true;
	for (i = 0; i + 1 < len; i++)
		if (arguments[i] == '\0')
			arguments[i] = ' ';
	return true;
}
