/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs named in the configuration: processor time, memory, disk accesses and waits of all
 * processes of a name together. The sums go on when a process ends, because what it had is kept.
 * /proc is looked through once a second at most, to find processes that have begun.
 */
#include "host/blipp/probe/probe.h"
#include "host/lib/procread.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"

#define FIND_NS INT64_C(950000000)

enum { PROCESSES_MAX = 256, COMM_BYTES = 16, FILE_BYTES = 2048, NAMES_MAX = 32 };

enum field { USER_S, SYSTEM_S, STARVED_S, READ, WRITTEN, RESIDENT, THREADS, PROCESSES };
static const struct series_field fields[] = {
	{ "user_s", "s", true },
	{ "system_s", "s", true },
	{ "run_queue_s", "s", true },
	{ "read_bytes", "By", true },
	{ "written_bytes", "By", true },
	{ "resident_bytes", "By", false },
	{ "threads", "{thread}", false },
	{ "processes", "{process}", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]), N_COUNTERS = 5 };
static const struct series_kind kind = { SERIES_PREFIX "process", "program", fields, N_FIELDS };

struct process {
	int pid;
	uint64_t started; /* clock ticks since boot: another process with the same number differs */
	char comm[COMM_BYTES];
	double values[N_FIELDS];
};

struct program {
	char comm[COMM_BYTES];
	double ended[N_COUNTERS]; /* of processes that are no more */
};

struct process_probe {
	struct process list[PROCESSES_MAX];
	size_t n, n_programs;
	struct program programs[NAMES_MAX];
	struct series_set series;
	int64_t find_mono_ns;
};

/* The number behind a key of /proc/PID/io; NaN without. */
static double
io_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtod(at + strlen(key), NULL) : NAN;
}

bool
process_parse(const char *stat, char comm[16], uint64_t *started, double values[4])
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	unsigned long long user, system, threads, start;
	double tick = (double)sysconf(_SC_CLK_TCK);
	long long pages;

	if (open == NULL || close == NULL || close < open ||
	    sscanf(close + 1,
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %llu %*d "
		"%llu %*u %lld",
		&user, &system, &threads, &start, &pages) != 5)
		return false;
	snprintf(comm, COMM_BYTES, "%.*s", (int)(close - open - 1), open + 1);
	*started = start;
	values[0] = (double)user / tick;
	values[1] = (double)system / tick;
	values[2] = (double)(pages * sysconf(_SC_PAGESIZE));
	values[3] = (double)threads;
	return true;
}

/* Reads a process anew. Returns false if the process has ended. */
static bool
process_read(struct process *p)
{
	char text[FILE_BYTES], comm[COMM_BYTES];
	double v[4];
	uint64_t started;

	if (procread(p->pid, "stat", text, sizeof(text)) == 0 ||
	    !process_parse(text, comm, &started, v) || (p->started != 0 && started != p->started))
		return false;
	p->started = started;
	memcpy(p->comm, comm, sizeof(comm));
	p->values[USER_S] = v[0];
	p->values[SYSTEM_S] = v[1];
	p->values[RESIDENT] = v[2];
	p->values[THREADS] = v[3];
	p->values[PROCESSES] = 1;
	if (procread(p->pid, "schedstat", text, sizeof(text)) > 0)
		p->values[STARVED_S] =
		    strtod(strchr(text, ' ') != NULL ? strchr(text, ' ') : "0", NULL) / 1e9;
	if (procread(p->pid, "io", text, sizeof(text)) > 0) { /* of the same user */
		p->values[READ] = io_number(text, "read_bytes:");
		p->values[WRITTEN] = io_number(text, "\nwrite_bytes:");
	} else {
		p->values[READ] = p->values[WRITTEN] = NAN;
	}
	return true;
}

static struct program *
program_of(struct process_probe *p, const char *comm)
{
	size_t i;

	for (i = 0; i < p->n_programs; i++)
		if (strcmp(p->programs[i].comm, comm) == 0)
			return &p->programs[i];
	return NULL;
}

static void
programs_want(struct process_probe *p, const char *names)
{
	struct scan list = scan_text(names, strlen(names)), word;

	while (p->n_programs < NAMES_MAX && scan_word(&list, &word)) {
		struct program *g = &p->programs[p->n_programs++];

		*g = (struct program){ .comm = "" };
		snprintf(g->comm, sizeof(g->comm), "%.*s", (int)(word.end - word.at), word.at);
	}
}

static bool
is_known(const struct process_probe *p, int pid)
{
	size_t i;

	for (i = 0; i < p->n && p->list[i].pid != pid; i++)
		continue;
	return i < p->n;
}

static void
processes_find(struct process_probe *p)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char comm[COMM_BYTES + 2];
	int pid;

	while (d != NULL && p->n < PROCESSES_MAX && (e = readdir(d)) != NULL) {
		if ((pid = atoi(e->d_name)) <= 0 || is_known(p, pid) ||
		    procread(pid, "comm", comm, sizeof(comm)) == 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		if (program_of(p, comm) != NULL)
			p->list[p->n++] = (struct process){ .pid = pid };
	}
	if (d != NULL)
		closedir(d);
}

/* Reads all processes; the counts of ended processes stay in their program's sums. */
static void
processes_read(struct process_probe *p)
{
	struct program *g;
	size_t i, kept = 0;
	int f;

	for (i = 0; i < p->n; i++) {
		if (process_read(&p->list[i])) {
			p->list[kept++] = p->list[i];
			continue;
		}
		g = program_of(p, p->list[i].comm);
		for (f = 0; g != NULL && f < N_COUNTERS; f++)
			if (!isnan(p->list[i].values[f]))
				g->ended[f] += p->list[i].values[f];
	}
	p->n = kept;
}

static int
program_send(struct process_probe *p, const struct program *g, struct report *r)
{
	struct series *s = series_set_get(&p->series, g->comm, strlen(g->comm));
	double values[N_FIELDS] = { 0 };
	size_t i;
	int f;

	memcpy(values, g->ended, sizeof(g->ended));
	for (i = 0; i < p->n; i++)
		for (f = 0; f < N_FIELDS && strcmp(p->list[i].comm, g->comm) == 0; f++)
			values[f] += p->list[i].values[f];
	return s != NULL ? series_send(s, &kind, r, values) : NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct process_probe *p = state;
	size_t i;
	int rc = NW_OK;

	(void)buf;
	if (r->programs == NULL)
		return NW_OK;
	if (p->n_programs == 0)
		programs_want(p, r->programs);
	if (now_mono_ns >= p->find_mono_ns) {
		p->find_mono_ns = now_mono_ns + FIND_NS;
		processes_find(p);
	}
	processes_read(p);
	for (i = 0; i < p->n_programs && rc == NW_OK; i++)
		rc = program_send(p, &p->programs[i], r);
	return rc;
}

static void
clear(void *state)
{
	struct process_probe *p = state;

	series_set_clear(&p->series);
}

const struct probe probe_process = {
	.name = "process",
	.source = "/proc/PID",
	.event_type = SERIES_PREFIX "process",
	.kinds = { &kind },
	.state_bytes = sizeof(struct process_probe),
	.sample = sample,
	.clear = clear,
};
