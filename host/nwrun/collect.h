/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun's collector: looks at the region from time to time and reports the work of the programs.
 *
 *	collect.c          one look: processes that came, went, or whose interval is over
 *	collect_window.c   a process's threads into one caliper window per stage
 *	collect_object.c   files and connections
 *	collect_say.c      documents about them, and the text of NWRUN_REPORT
 *	collect_tcp.c      the kernel's knowledge of a connection (tcpinfo.c)
 *	collect_run.c      the process around the collector, from fork to the last flush
 *
 * All of this belongs to one thread. Out of memory ends the collector, never the program.
 */
#ifndef HOST_COLLECT_H
#define HOST_COLLECT_H

#include <stdbool.h>
#include <stdio.h>

#include "host/nwrun/nwshm.h"
#include "host/lib/procfile.h"
#include "narrows/doc.h"

/* Where documents go: a provider, or a test. Results are as of nw_provider_*(), and only counted
 * here. */
struct collect_sink {
	void *arg;
	int (*meta)(void *arg, const char *id, const char *pid, const char *event_type,
	    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params,
	    size_t n_params);
	int (*caliper)(
	    void *arg, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w);
	int (*data)(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
	    const double *values, size_t n_fields);
	void (*end)(void *arg, const char *mid);
};

struct collect_opts {
	const char *task_id, *host; /* on loan for the collector's life */
	/* name of the first program in place of its own name; NULL keeps the own name */
	const char *program;
	int64_t interval_ns; /* 0: 0.1 s in a process's first 10 s, then 1 s */
	FILE *report;        /* text about the totals of every process; NULL: no text */
};

/* --- collect.c --- */

struct collect;
struct collect *
collect_new(struct nwshm *shm, const struct collect_opts *opts, const struct collect_sink *sink);
void collect_free(struct collect *c);
/* Looks once. Returns how many processes are alive. Sleeps a millisecond when an interval ends. */
int collect_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);
/* From now on, instead of opts.interval_ns. */
void collect_set_interval(struct collect *c, int64_t interval_ns);
/* Ends all intervals and processes as if everything were over. */
void collect_finish(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);

/* --- collect_run.c --- */

struct collect_run_opts {
	struct collect_opts collect;
	const char *box;
	const char *program; /* subject of the run, for the box */
	const char *region_path;
	const char *report_path; /* NULL: none */
	int64_t final_wait_ns;   /* at most, for the box to take the rest */
};
/* The collector process, from its birth on; returns when the process should exit. */
void collect_run(struct nwshm *shm, const struct collect_run_opts *opts);

/* NULL and *why on failure. collect_run unlinks the file, or region_free with the path. */
struct nwshm *region_new(char *path, size_t path_cap, const char **why);
void region_free(struct nwshm *shm, const char *path);

/* Writes " key=text" into a line of the report: blanks and control characters become %XX, so
 * that blanks split a line safely. */
void collect_report_text(FILE *to, const char *key, const char *text);

#endif
