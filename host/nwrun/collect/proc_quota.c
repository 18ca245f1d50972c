/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time for which a process's control groups had used up their quota of processor time: the largest
 * count of the group and the groups above, by cpu.stat of cgroup v2 or v1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/nwrun/collect/proc_facts.h"

enum { CGROUP_BYTES = 4096, PATH_BYTES = CGROUP_BYTES + 64 };

/* Mount point of a hierarchy, key of the count in cpu.stat, and nanoseconds of a unit. */
struct hierarchy {
	const char *mount, *key;
	uint64_t unit_ns;
};

static const struct hierarchy v2 = { "/sys/fs/cgroup", "throttled_usec ", 1000 };
static const struct hierarchy v1 = { "/sys/fs/cgroup/cpu", "throttled_time ", 1 };

static bool
file_read(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, cap - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The group in a line of /proc/PID/cgroup, cut out of the text; NULL if no line has the mark. */
static char *
group_of(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (at == NULL)
		return NULL;
	at += strlen(mark);
	at[strcspn(at, "\n")] = '\0';
	return at;
}

static uint64_t
number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The kernel counts periods of a group only while the group has a quota. */
static void
group_add(const struct hierarchy *h, const char *group, struct proc_quota *out)
{
	char path[PATH_BYTES], text[1024];
	uint64_t throttled_ns;

	snprintf(path, sizeof(path), "%s%s/cpu.stat", h->mount, group);
	if (!file_read(path, text, sizeof(text)))
		return;
	throttled_ns = number_after(text, h->key) * h->unit_ns;
	if (throttled_ns > out->throttled_ns)
		out->throttled_ns = throttled_ns;
	out->in_force |= number_after(text, "nr_periods ") > 0;
}

void
proc_quota_read(int pid, struct proc_quota *out)
{
	char path[64], text[CGROUP_BYTES], *group, *end;
	const struct hierarchy *h = &v1;

	*out = (struct proc_quota){ .in_force = false };
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (!file_read(path, text, sizeof(text)))
		return;
	if ((group = group_of(text, ":cpu:")) == NULL &&
	    (group = group_of(text, ":cpu,cpuacct:")) == NULL) {
		h = &v2;
		if (strncmp(text, "0::", 3) != 0 && strstr(text, "\n0::") == NULL)
			return;
		group = group_of(text, "0::");
	}
	while (group != NULL && (end = strrchr(group, '/')) != NULL && group[1] != '\0') {
		group_add(h, group, out);
		*end = '\0';
	}
}
