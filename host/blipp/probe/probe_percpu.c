/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processors of /proc/stat one by one, as seconds, and the lines of /proc/interrupts, summed
 * over all processors. They are many: so all on request only, and without a request the processors
 * and interrupts of followed connections (queues.h).
 */
#include "host/blipp/probe/probe.h"

#include <unistd.h>

#include "host/blipp/probe/queues.h"
#include "narrows/err.h"

enum { TICKS = 8 };

static const struct series_field cpu_fields[TICKS] = {
	{ "user", "s", true },
	{ "nice", "s", true },
	{ "system", "s", true },
	{ "idle", "s", true },
	{ "iowait", "s", true },
	{ "hwirq", "s", true },
	{ "swirq", "s", true },
	{ "steal", "s", true },
};
static const struct series_kind cpu_kind = { SERIES_PREFIX "percpu:utilization", "processor",
	cpu_fields, TICKS };
static const struct series_field interrupt_fields[] = { { "count", "{interrupt}", true } };
static const struct series_kind interrupt_kind = { SERIES_PREFIX "interrupts:count", "interrupt",
	interrupt_fields, 1 };

struct lines_probe {
	struct procfs_file file;
	struct series_set set;
};

/* The number stands behind so many bytes of the name; a name without a number serves no queue. */
static bool
is_looked_at(const struct queues *only, struct scan name, size_t skip,
    bool (*has)(const struct queues *, uint64_t))
{
	uint64_t number;

	name.at += skip;
	return only == NULL || (scan_u64(&name, &number) && has(only, number));
}

static int
sample_percpu(void *state, struct report *r, struct procfs_buf *buf)
{
	double values[TICKS], second = (double)sysconf(_SC_CLK_TCK);
	struct lines_probe *p = state;
	struct scan text, line, word;
	uint64_t ticks[TICKS];
	struct series *s;
	int rc, i;

	if ((rc = procfs_read(&p->file, "/proc/stat", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && scan_line(&text, &line)) {
		if (!scan_word(&line, &word) || word.end - word.at < 4 ||
		    memcmp(word.at, "cpu", 3) != 0)
			continue;
		s = is_looked_at(r->only, word, 3, queues_has_cpu)
		    ? series_set_get(&p->set, word.at, (size_t)(word.end - word.at))
		    : NULL;
		if (s == NULL || scan_numbers(&line, ticks, TICKS) < TICKS)
			continue;
		for (i = 0; i < TICKS; i++)
			values[i] = (double)ticks[i] / second;
		rc = series_send(s, &cpu_kind, r, values);
	}
	series_set_sweep(&p->set, r);
	return rc;
}

bool
interrupt_next(struct scan *text, struct scan *name, double *count)
{
	struct scan line;
	uint64_t n;

	while (scan_line(text, &line)) {
		if (!scan_word(&line, name) || name->end[-1] != ':')
			continue; /* the heading */
		name->end--;
		*count = 0;
		while (scan_blanks(&line), line.at < line.end && *line.at >= '0' && *line.at <= '9')
			if (scan_u64(&line, &n))
				*count += (double)n;
		return true;
	}
	return false;
}

static int
sample_interrupts(void *state, struct report *r, struct procfs_buf *buf)
{
	struct lines_probe *p = state;
	struct scan text, name;
	struct series *s;
	double count;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/interrupts", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && interrupt_next(&text, &name, &count)) {
		if (!(count > 0) || !is_looked_at(r->only, name, 0, queues_has_irq))
			continue;
		s = series_set_get(&p->set, name.at, (size_t)(name.end - name.at));
		if (s != NULL)
			rc = series_send(s, &interrupt_kind, r, &count);
	}
	series_set_sweep(&p->set, r);
	return rc;
}

static void
clear(void *state)
{
	struct lines_probe *p = state;

	procfs_close(&p->file);
	series_set_clear(&p->set);
}

const struct probe probe_percpu = {
	.name = "percpu",
	.source = "/proc/stat",
	.event_type = SERIES_PREFIX "percpu:utilization",
	.with_transfers = true,
	.kinds = { &cpu_kind },
	.state_bytes = sizeof(struct lines_probe),
	.sample = sample_percpu,
	.clear = clear,
};
const struct probe probe_interrupts = {
	.name = "interrupts",
	.source = "/proc/interrupts",
	.event_type = SERIES_PREFIX "interrupts:count",
	.with_transfers = true,
	.kinds = { &interrupt_kind },
	.state_bytes = sizeof(struct lines_probe),
	.sample = sample_interrupts,
	.clear = clear,
};
