/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the store knows about one session, as arrays on one time grid: per process and operation,
 * per host.
 *
 * The grid's step is the reporting interval that covered most of the session, so that no report is
 * cut finer than it was measured; a row's sums are spread evenly over the time it covers. At most
 * EVIDENCE_WINDOWS_MAX steps: longer sessions get longer ones.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/stage.h"
#include "narrows/store.h"

enum { EVIDENCE_WINDOWS_MAX = 3600, EVIDENCE_LIST_MAX = 50 };

struct evidence_host {
	int64_t id;
	char *name;
	bool clock_known, clock_synchronised;
	double clock_offset_s, clock_bound_s;
	bool clock_sync_told; /* its kernel said whether it is synchronised */
	/* against the box's clock, by the best exchange; NaN: none */
	double exchange_offset_s, exchange_bound_s;
	int64_t ahead_ns;                     /* of the box's clock; taken off all its times here */
	double *cpu_busy, *cpu_iowait;        /* shares, NaN where not measured; NULL: never */
	double *disk_busy, *disk_bytes_per_s; /* of the busiest device; of all devices */
};

struct evidence_process {
	size_t host;             /* index into hosts */
	int64_t pid, parent_pid; /* < 0: not told */
	char *program;
	unsigned threads;                    /* most seen inside operations at once */
	int64_t first_wall_ns, last_wall_ns; /* that its reports cover; 0: none did */
	double *bytes[NW_OP_COUNT], *busy_s[NW_OP_COUNT], *wait_s[NW_OP_COUNT];
	/* throughput of single operations, and how many */
	double *rate_sum[NW_OP_COUNT], *ops[NW_OP_COUNT];
	double *rate_sd_sum[NW_OP_COUNT]; /* its spread within reports, times operations */
	/* pipes and local sockets, read and written: in calls and waiting. NULL: none */
	double *pipe_bytes[2], *pipe_s[2];
	double *cpu;           /* seconds; NULL: not told */
	double cpu_s;          /* NaN: not told */
	double cpu_wait_s;     /* could run, but for a processor; of main threads. NaN: not told */
	double combined_bytes; /* by calls that read and write at once; NaN: not told */
	double storage_read_bytes; /* that the kernel fetched from devices for it */
	double seen_bytes,
	    kernel_bytes; /* what our calls saw, what the kernel counted, with children that it
	                                        waited for; 0: not told */
};

struct evidence_file {
	size_t host;
	char *path;
	int64_t size_bytes; /* -1: unknown */
	double read_bytes, write_bytes;
};

struct evidence_connection {
	size_t host;
	char *src, *dst;
	unsigned sport, dport;
	double bytes_out, bytes_in;
	/* NaN: unknown */
	double rtt_s, rtt_min_s, retrans, cwnd_bytes, busy_s, rwnd_limited_s, sndbuf_limited_s;
};

/* How long the operations of one kind and about one size took, on one host: all reports' histograms
 * merged. */
struct evidence_durations {
	size_t host;
	enum nw_op op;
	int size_class;   /* 4^k <= mean bytes of a report's operations < 4^(k+1); -1: not told */
	uint64_t *counts; /* NW_HIST_BUCKETS */
};

struct evidence {
	int64_t session_id;
	char *task_id, *program;
	bool open;
	int64_t opened_wall_ns, closed_wall_ns;

	int64_t t0_wall_ns, step_ns;
	size_t n_windows;
	int64_t first_wall_ns, last_wall_ns; /* of activity */

	struct evidence_host *hosts;
	size_t n_hosts;
	struct evidence_process *processes;
	size_t n_processes;
	struct evidence_file *files; /* the largest first, at most EVIDENCE_LIST_MAX */
	size_t n_files;
	struct evidence_connection *connections;
	size_t n_connections;
	struct evidence_durations *durations; /* at most EVIDENCE_LIST_MAX */
	size_t n_durations;
	uint64_t durations_rejected; /* histograms that could not be read, or had no room */

	uint64_t rows, samples;
	uint64_t intervals_expected, intervals_got;
	uint64_t documents, documents_rejected, documents_dropped;
};

/* One snapshot of the store between store_reader_begin() and _end(). NW_ENOTFOUND, NW_ENOMEM or
 * what the store says. O(rows of the session). */
int evidence_load(struct store_reader *r, int64_t session_id, struct evidence *out);
void evidence_clear(struct evidence *e);
/* When the path was at work: its windows, no wider than the reports of operations that moved bytes.
 * Both 0: never. */
void evidence_extent(const struct evidence *e, const struct nw_path *p, int64_t *first_wall_ns,
    int64_t *last_wall_ns);
/* Disk or network, read or write: of any generation of caliper metadata. False: it is none. */
bool evidence_caliper_op(const char *event_type, const json_t *subject, enum nw_op *op);

#endif
