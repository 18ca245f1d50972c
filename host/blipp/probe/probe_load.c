/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/loadavg: three averages with two decimals each, runnable and all tasks. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"

static const struct series_field fields[] = {
	{ "onemin", "{process}", false },
	{ "fivemin", "{process}", false },
	{ "fifteenmin", "{process}", false },
	{ "runnable", "{task}", false },
	{ "tasks", "{task}", false },
};
static const struct series_kind kind = { SERIES_PREFIX "cpu:load", NULL, fields,
	sizeof(fields) / sizeof(fields[0]) };

struct load_probe {
	struct procfs_file file;
	struct series series;
};

int
load_parse(struct scan text, struct load_info *out)
{
	uint64_t whole, hundredths;
	struct scan word;
	int i;

	for (i = 0; i < 3; i++) {
		if (!scan_word(&text, &word) || !scan_u64(&word, &whole) ||
		    word.end - word.at != 3 || *word.at++ != '.' || !scan_u64(&word, &hundredths))
			return NW_EPROTO;
		out->averages[i] = (double)whole + (double)hundredths / 100;
	}
	if (!scan_u64(&text, &out->runnable) || text.at == text.end || *text.at++ != '/' ||
	    !scan_u64(&text, &out->tasks))
		return NW_EPROTO;
	return NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct load_probe *p = state;
	struct load_info l;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/loadavg", buf, &text)) < 0 ||
	    (rc = load_parse(text, &l)) < 0)
		return rc;
	return series_send(&p->series, &kind, r,
	    (const double[]){
		l.averages[0], l.averages[1], l.averages[2], (double)l.runnable, (double)l.tasks });
}

static void
clear(void *state)
{
	procfs_close(&((struct load_probe *)state)->file);
}

const struct probe probe_load = {
	.name = "load",
	.source = "/proc/loadavg",
	.event_type = SERIES_PREFIX "cpu:load",
	.kinds = { &kind },
	.state_bytes = sizeof(struct load_probe),
	.sample = sample,
	.clear = clear,
};
