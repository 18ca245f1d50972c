/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control groups named in the configuration (a service, a container), of version 1 or 2: processor
 * time, the time for which a quota held the group, memory, bytes of its disk accesses, and
 * processes. Files that a version does not have leave their numbers out.
 */
#include "host/blipp/probe/probe.h"
#include "host/lib/procread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/err.h"

enum { PATH_BYTES = 400, FILE_BYTES = 8192, GROUPS_MAX = 32 };

enum field { CPU_S, THROTTLED_S, THROTTLED, MEMORY, READ, WRITTEN, PROCESSES };
static const struct series_field fields[] = {
	{ "cpu_s", "s", true },
	{ "throttled_s", "s", true },
	{ "throttled_periods", "{period}", true },
	{ "memory_bytes", "By", false },
	{ "read_bytes", "By", true },
	{ "written_bytes", "By", true },
	{ "processes", "{process}", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { SERIES_PREFIX "cgroup", "cgroup", fields, N_FIELDS };

/* Where a number stands. Without a key the file is the number; key "Read" of the block controller
 * stands in "8:0 Read 123", "rbytes" of version 2 in "8:0 rbytes=123 wbytes=4". Sums of all
 * lines. */
static const struct where {
	enum field field;
	const char *controller; /* "" for version 2 */
	const char *file, *key;
	double unit;
} where[] = {
	{ CPU_S, "", "cpu.stat", "usage_usec", 1e-6 },
	{ THROTTLED_S, "", "cpu.stat", "throttled_usec", 1e-6 },
	{ THROTTLED, "", "cpu.stat", "nr_throttled", 1 },
	{ MEMORY, "", "memory.current", NULL, 1 },
	{ READ, "", "io.stat", "rbytes", 1 },
	{ WRITTEN, "", "io.stat", "wbytes", 1 },
	{ PROCESSES, "", "pids.current", NULL, 1 },
	{ CPU_S, "cpuacct/", "cpuacct.usage", NULL, 1e-9 },
	{ THROTTLED_S, "cpu/", "cpu.stat", "throttled_time", 1e-9 },
	{ THROTTLED, "cpu/", "cpu.stat", "nr_throttled", 1 },
	{ MEMORY, "memory/", "memory.usage_in_bytes", NULL, 1 },
	{ READ, "blkio/", "blkio.throttle.io_service_bytes", "Read", 1 },
	{ WRITTEN, "blkio/", "blkio.throttle.io_service_bytes", "Write", 1 },
	{ PROCESSES, "pids/", "pids.current", NULL, 1 },
};

struct cgroup_probe {
	struct series_set groups;
};

static bool
read_file(const char *root, const struct where *w, const char *group, char *text, size_t cap)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s%.200s/%s", root, w->controller, group, w->file);
	return procread_path(path, text, cap) > 0;
}

double
cgroup_number(const char *text, const char *key)
{
	size_t len = key != NULL ? strlen(key) : 0;
	double sum = NAN, n;
	const char *p = text;
	char *end;

	if (key == NULL) {
		n = strtod(text, &end);
		return end == text ? NAN : n;
	}
	for (; (p = strstr(p, key)) != NULL; p += len) {
		if ((p != text && strchr(" \t\n", p[-1]) == NULL) ||
		    (p[len] != ' ' && p[len] != '='))
			continue;
		n = strtod(p + len + 1, &end);
		if (end != p + len + 1)
			sum = isnan(sum) ? n : sum + n;
	}
	return sum;
}

static bool
group_read(const char *group, double values[N_FIELDS])
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char text[FILE_BYTES];
	bool any = false;
	size_t i, r;

	for (i = 0; i < N_FIELDS; i++)
		values[i] = NAN;
	for (i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		for (r = 0; r < 2; r++) {
			if (!isnan(values[where[i].field]) ||
			    !read_file(roots[r], &where[i], group, text, sizeof(text)))
				continue;
			values[where[i].field] = cgroup_number(text, where[i].key) * where[i].unit;
			any |= !isnan(values[where[i].field]);
		}
	return any;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct cgroup_probe *p = state;
	const char *at = r->groups;
	double values[N_FIELDS];
	char name[SERIES_DEVICE_BYTES];
	struct series *s;
	size_t len, n = 0;
	int rc = NW_OK;

	(void)buf;
	for (; at != NULL && *at != '\0' && n < GROUPS_MAX && rc == NW_OK; n++) {
		len = strcspn(at, "\n");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
		if (group_read(name, values) &&
		    (s = series_set_get(&p->groups, name, strlen(name))) != NULL)
			rc = series_send(s, &kind, r, values);
	}
	series_set_sweep(&p->groups, r);
	return rc;
}

static void
clear(void *state)
{
	struct cgroup_probe *p = state;

	series_set_clear(&p->groups);
}

const struct probe probe_cgroup = {
	.name = "cgroup",
	.source = "/sys/fs/cgroup",
	.event_type = SERIES_PREFIX "cgroup",
	.kinds = { &kind },
	.state_bytes = sizeof(struct cgroup_probe),
	.sample = sample,
	.clear = clear,
};
