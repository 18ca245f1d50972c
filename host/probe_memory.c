/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/meminfo, in KiB as it comes. dirty and writeback show a page cache that hides a slow disk. */
#include "host/probe.h"

#include "narrows/err.h"

static const struct series_field fields[] = {
	{ "free", "KiBy", false }, { "used", "KiBy", false }, { "buffer", "KiBy", false }, { "cache", "KiBy", false },
	{ "kernel", "KiBy", false }, { "available", "KiBy", false }, { "dirty", "KiBy", false },
	{ "writeback", "KiBy", false }, { "swap_used", "KiBy", false },
};
static const struct series_kind kind = { SERIES_PREFIX "memory:utilization", NULL, fields,
	sizeof(fields) / sizeof(fields[0]) };

struct memory_probe { struct procfs_file file; struct series series; };

int
memory_parse(struct scan text, struct memory_info *out)
{
	const struct { const char *name; uint64_t *to; } wanted[] = {
		{ "MemTotal:", &out->total }, { "MemFree:", &out->free }, { "MemAvailable:", &out->available },
		{ "Buffers:", &out->buffers }, { "Cached:", &out->cached }, { "SwapTotal:", &out->swap_total },
		{ "SwapFree:", &out->swap_free }, { "Dirty:", &out->dirty }, { "Writeback:", &out->writeback },
		{ "Slab:", &out->slab },
	};
	const size_t n_wanted = sizeof(wanted) / sizeof(wanted[0]);
	struct scan line, word;
	size_t i, found = 0;

	memset(out, 0, sizeof(*out));
	while (found < n_wanted && scan_line(&text, &line)) {
		if (!scan_word(&line, &word))
			continue;
		for (i = 0; i < n_wanted; i++) {
			if (scan_is(word, wanted[i].name)) {
				found += scan_u64(&line, wanted[i].to);
				break;
			}
		}
	}
	return out->total > 0 ? NW_OK : NW_EPROTO;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct memory_probe *p = state;
	struct memory_info m;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/meminfo", buf, &text)) < 0 || (rc = memory_parse(text, &m)) < 0)
		return rc;
	return series_send(&p->series, &kind, r, (const double[]){
		(double)m.free, (double)(m.total - m.free), (double)m.buffers, (double)m.cached, (double)m.slab,
		(double)m.available, (double)m.dirty, (double)m.writeback, (double)(m.swap_total - m.swap_free) });
}

static void
clear(void *state)
{
	procfs_close(&((struct memory_probe *)state)->file);
}

const struct probe probe_memory = { "memory", sizeof(struct memory_probe), sample, clear, NULL, NULL };
