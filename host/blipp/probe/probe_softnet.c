/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/net/softnet_stat: packets that processors took from interfaces, dropped because the queue
 * to a processor was full, and left for the next round because time was up (squeezed). Sums over
 * all processors, and the largest share of one processor: a single busy processor drops first.
 */
#include "host/blipp/probe/probe.h"

#include <stdlib.h>

#include "narrows/err.h"

/* Columns of the file, in hexadecimal. */
enum { PROCESSED, DROPPED, SQUEEZED, RPS = 9, FLOW_LIMIT = 10, COLUMNS = 11 };

static const struct series_field fields[] = {
	{ "processed", "{packet}", true },
	{ "dropped", "{packet}", true },
	{ "squeezed", "{event}", true },
	{ "received_rps", "{event}", true },
	{ "flow_limit", "{packet}", true },
	{ "busiest", "1", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { SERIES_PREFIX "network:softnet", NULL, fields, N_FIELDS };

struct softnet_probe {
	struct procfs_file file;
	struct series series;
};

/* Fills the columns of a line; columns that an old kernel lacks are 0. */
static bool
line_parse(struct scan line, uint64_t column[COLUMNS])
{
	struct scan word;
	char text[20];
	size_t n, i;

	for (i = 0; i < COLUMNS; i++) {
		column[i] = 0;
		if (!scan_word(&line, &word))
			continue;
		n = (size_t)(word.end - word.at);
		if (n == 0 || n >= sizeof(text))
			return false;
		memcpy(text, word.at, n);
		text[n] = '\0';
		column[i] = strtoull(text, NULL, 16);
	}
	return true;
}

int
softnet_parse(struct scan text, double values[SOFTNET_FIELDS])
{
	uint64_t column[COLUMNS], sum[COLUMNS] = { 0 }, most = 0;
	size_t i, lines = 0;
	struct scan line;

	while (scan_line(&text, &line)) {
		if (line.at == line.end || !line_parse(line, column))
			continue;
		lines++;
		for (i = 0; i < COLUMNS; i++)
			sum[i] += column[i];
		if (column[PROCESSED] > most)
			most = column[PROCESSED];
	}
	if (lines == 0)
		return NW_EPROTO;
	values[0] = (double)sum[PROCESSED];
	values[1] = (double)sum[DROPPED];
	values[2] = (double)sum[SQUEEZED];
	values[3] = (double)sum[RPS];
	values[4] = (double)sum[FLOW_LIMIT];
	values[5] = sum[PROCESSED] > 0 ? (double)most / (double)sum[PROCESSED] : 0;
	return NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct softnet_probe *p = state;
	double values[SOFTNET_FIELDS];
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/net/softnet_stat", buf, &text)) < 0 ||
	    (rc = softnet_parse(text, values)) < 0)
		return rc;
	return series_send(&p->series, &kind, r, values);
}

static void
clear(void *state)
{
	procfs_close(&((struct softnet_probe *)state)->file);
}

const struct probe probe_softnet = {
	.name = "softnet",
	.source = "/proc/net/softnet_stat",
	.event_type = SERIES_PREFIX "network:softnet",
	.kinds = { &kind },
	.state_bytes = sizeof(struct softnet_probe),
	.sample = sample,
	.clear = clear,
};
