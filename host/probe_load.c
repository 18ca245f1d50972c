/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/loadavg: three averages with two decimals each. */
#include "host/probe.h"

#include "narrows/err.h"

static const struct series_field fields[] = {
	{ "onemin", "{process}", false }, { "fivemin", "{process}", false }, { "fifteenmin", "{process}", false },
};
static const struct series_kind kind = { SERIES_PREFIX "cpu:load", NULL, fields, sizeof(fields) / sizeof(fields[0]) };

struct load_probe { struct procfs_file file; struct series series; };

int
load_parse(struct scan text, double out[3])
{
	uint64_t whole, hundredths;
	struct scan word;
	int i;

	for (i = 0; i < 3; i++) {
		if (!scan_word(&text, &word) || !scan_u64(&word, &whole) || word.end - word.at != 3 || *word.at++ != '.' ||
		    !scan_u64(&word, &hundredths))
			return NW_EPROTO;
		out[i] = (double)whole + (double)hundredths / 100;
	}
	return NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct load_probe *p = state;
	double load[3];
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/loadavg", buf, &text)) < 0 || (rc = load_parse(text, load)) < 0)
		return rc;
	return series_send(&p->series, &kind, r, load);
}

static void
clear(void *state)
{
	procfs_close(&((struct load_probe *)state)->file);
}

const struct probe probe_load = { "load", sizeof(struct load_probe), sample, clear, NULL, NULL };
