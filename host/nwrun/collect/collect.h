/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun's collector: looks at the region from time to time and reports the work of the programs.
 *
 *	collect.c          one look: processes that came, went, or whose interval is over
 *	collect_watch.c    the facts of a process, and the system's account of the process
 *	collect_window.c   a process's threads into one caliper window per stage
 *	collect_object.c   files and connections
 *	collect_local.c    servers behind local sockets
 *	collect_say.c      documents, and the text of NWRUN_REPORT
 *	collect_tcp.c      the kernel's knowledge of a connection (tcpinfo.c)
 *	collect_unseen.c   the first program, when the region never shows any of it
 *	collect_run.c      the two processes around these files, from fork to the last flush
 *
 * All files belong to one thread, and run in the process that maps the region: programs may write
 * anything there, so every index is checked, and texts and times are copied before use. Out of
 * memory ends the collector, never the program.
 */
#ifndef HOST_COLLECT_H
#define HOST_COLLECT_H

#include <stdbool.h>
#include <stdio.h>

#include "host/lib/procfile.h"
#include "host/nwrun/collect/proc_facts.h"
#include "host/nwrun/collect/region.h"
#include "narrows/doc.h"

/* Where documents go and facts come from: the sender, a provider, or a test. Results are as of
 * nw_provider_*(), and only counted here. */
struct collect_sink {
	void *arg;
	int (*meta)(void *arg, const char *id, const char *pid, const char *event_type,
	    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params,
	    size_t n_params);
	int (*caliper)(
	    void *arg, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w);
	int (*data)(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
	    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len);
	void (*end)(void *arg, const char *mid);
	void (*facts)(void *arg, const struct proc_question *q, struct proc_facts *out);
	void (*socket)(void *arg, struct proc_socket *s); /* NULL: nobody looks */
	void (*gone)(void *arg, struct proc_gone *g);     /* NULL: `facts` answers alone */
};

struct collect_opts {
	const char *task_id, *host; /* on loan for the collector's life */
	const char *label;          /* user's name for the session; NULL: none */
	/* name of the first program in place of its own name; NULL keeps the own name */
	const char *program;
	int64_t interval_ns;        /* 0: 0.1 s in a process's first 10 s, then 1 s */
	FILE *report;               /* text about the totals of every process; NULL: no text */
	int root_pid;               /* process that nwrun became; 0: unknown */
	struct procfile_io root_io; /* root_pid's counts before nwrun became the program */
	bool root_io_known;
	/* arguments of the first program, for a program that never shows in the region */
	const char *root_argv;
	const char *root_name; /* by title.h; NULL: not known */
	unsigned root_blind;   /* enum proc_blind, as far as the program's file tells */
	bool outside;          /* another process counts for the programs, and reports their ends */
	uint64_t bytes_before; /* root_pid moved by its connection before the watch; 0: none */
	int net_ns_fd;         /* of the programs, where that is another than ours; -1: ours */
};

/* Bytes by the kernel's count, and the unseen part. */
struct collect_unseen {
	uint64_t kernel_bytes, unseen_bytes;
	const char *by; /* reason of the largest share; NULL: unknown, or all was seen */
	bool hidden;    /* the first program has not shown in the region */
};

struct collect;
struct collect *collect_new(const struct region *region, struct nwshm *shm,
    const struct collect_opts *opts, const struct collect_sink *sink);
/* Looks once. Returns how many processes are alive. Sleeps a millisecond when an interval ends. */
int collect_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);
/* From now on, instead of opts.interval_ns. */
void collect_set_interval(struct collect *c, int64_t interval_ns);
/* Ends all intervals and processes as if everything were over. */
void collect_finish(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);
/* The total of all processes so far. */
void collect_get_unseen(const struct collect *c, struct collect_unseen *out);

/* Writes " key=text" into a line of the report: blanks and control characters become %XX, so
 * that blanks split a line safely. */
void collect_report_text(FILE *to, const char *key, const char *text);

#endif
