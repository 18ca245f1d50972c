/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/meminfo (in KiB) and /proc/vmstat: every number in them, because the analysis is to find
 * the number that explains a slow transfer. dirty and writeback show a page cache that hides a slow
 * disk.
 */
#include "host/blipp/probe/probe.h"

#include <math.h>

#include "narrows/err.h"

static const struct table_alias memory_aliases[] = {
	{ "MemFree", "free", NULL, false },
	{ "Buffers", "buffer", NULL, false },
	{ "Cached", "cache", NULL, false },
	{ "Slab", "kernel", NULL, false },
	{ "MemTotal", "total", NULL, false },
	{ "MemAvailable", "available", NULL, false },
	{ "Dirty", "dirty", NULL, false },
	{ "Writeback", "writeback", NULL, false },
	{ NULL, NULL, NULL, false },
};
static const struct table_style memory_style = { NW_TYPE_MEMORY, "KiBy", false, memory_aliases,
	NULL };
static const struct table_style vmstat_style = { SERIES_PREFIX "memory:vmstat", "1", true, NULL,
	"nr_" };

struct memory_probe {
	struct procfs_file file;
	struct table table;
};

int
memory_parse(struct scan text, struct table *t)
{
	const char used[] = "used";
	struct scan line, name;
	uint64_t value;
	int rc;

	if ((rc = table_begin(t, &memory_style)) < 0)
		return rc;
	while (scan_line(&text, &line)) {
		if (!scan_until(&line, ':', &name) || !scan_u64(&line, &value))
			continue;
		/* "kB", or a number of pages */
		table_put(t, name, (double)value, line.at == line.end ? "1" : NULL);
	}
	if (t->n == 0)
		return NW_EPROTO;
	table_put(t, scan_text(used, sizeof(used) - 1),
	    table_get(t, "total") - table_get(t, "free"), NULL);
	return NW_OK;
}

int
vmstat_parse(struct scan text, struct table *t)
{
	struct scan line, name;
	uint64_t value;
	int rc;

	if ((rc = table_begin(t, &vmstat_style)) < 0)
		return rc;
	while (scan_line(&text, &line))
		if (scan_word(&line, &name) && scan_u64(&line, &value))
			table_put(t, name, (double)value, NULL);
	return t->n > 0 ? NW_OK : NW_EPROTO;
}

static int
sample_memory(void *state, struct report *r, struct procfs_buf *buf)
{
	struct memory_probe *p = state;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/meminfo", buf, &text)) < 0 ||
	    (rc = memory_parse(text, &p->table)) < 0)
		return rc;
	return table_send(&p->table, r);
}

static int
sample_vmstat(void *state, struct report *r, struct procfs_buf *buf)
{
	struct memory_probe *p = state;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/vmstat", buf, &text)) < 0 ||
	    (rc = vmstat_parse(text, &p->table)) < 0)
		return rc;
	return table_send(&p->table, r);
}

static void
clear(void *state)
{
	struct memory_probe *p = state;

	procfs_close(&p->file);
	table_clear(&p->table);
}

const struct probe probe_memory = {
	.name = "memory",
	.source = "/proc/meminfo",
	.event_type = NW_TYPE_MEMORY,
	.state_bytes = sizeof(struct memory_probe),
	.sample = sample_memory,
	.clear = clear,
};
const struct probe probe_vmstat = {
	.name = "vmstat",
	.source = "/proc/vmstat",
	.event_type = SERIES_PREFIX "memory:vmstat",
	.state_bytes = sizeof(struct memory_probe),
	.sample = sample_vmstat,
	.clear = clear,
};
