/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/pressure: how long some, or all, tasks have waited for CPU, disk and memory. Some kernels
 * are without. */
#include "host/blipp/probe/probe.h"

#include <math.h>

#include "narrows/err.h"

enum { N_RESOURCES = 3 };

static const char *const paths[N_RESOURCES] = { "/proc/pressure/cpu", "/proc/pressure/io",
	"/proc/pressure/memory" };

static const struct series_field fields[2 * N_RESOURCES] = {
	{ "cpu_some_us", "us", true },
	{ "cpu_full_us", "us", true },
	{ "io_some_us", "us", true },
	{ "io_full_us", "us", true },
	{ "memory_some_us", "us", true },
	{ "memory_full_us", "us", true },
};
static const struct series_kind kind = { SERIES_PREFIX "pressure", NULL, fields, 2 * N_RESOURCES };

struct pressure_probe {
	struct procfs_file files[N_RESOURCES];
	struct series series;
};

/* Lines "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" and "full ...", which old kernels
 * lack for cpu. */
int
pressure_parse(struct scan text, double *some_us, double *full_us)
{
	static const char mark[] = "total=";
	struct scan line, word, who;
	uint64_t total;

	*some_us = *full_us = NAN;
	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &who))
			continue;
		while (scan_word(&line, &word)) {
			if (word.end - word.at < (ptrdiff_t)sizeof(mark) ||
			    memcmp(word.at, mark, sizeof(mark) - 1) != 0)
				continue;
			word.at += sizeof(mark) - 1;
			if (scan_u64(&word, &total))
				*(scan_is(who, "some") ? some_us : full_us) = (double)total;
		}
	}
	return isnan(*some_us) ? NW_EPROTO : NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct pressure_probe *p = state;
	double v[2 * N_RESOURCES];
	struct scan text;
	int i, rc;

	for (i = 0; i < N_RESOURCES; i++)
		if ((rc = procfs_read(&p->files[i], paths[i], buf, &text)) < 0 ||
		    (rc = pressure_parse(text, &v[2 * i], &v[2 * i + 1])) < 0)
			return rc;
	return series_send(&p->series, &kind, r, v);
}

static void
clear(void *state)
{
	struct pressure_probe *p = state;
	int i;

	for (i = 0; i < N_RESOURCES; i++)
		procfs_close(&p->files[i]);
}

const struct probe probe_pressure = {
	.name = "pressure",
	.source = "/proc/pressure",
	.event_type = SERIES_PREFIX "pressure",
	.kinds = { &kind },
	.state_bytes = sizeof(struct pressure_probe),
	.sample = sample,
	.clear = clear,
};
