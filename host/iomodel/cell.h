/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One cell of the benchmark: many accesses of one size in one layout to one file, in one state of
 * the page cache, each timed alone. Only the call that moves data is timed, unless `compat` asks
 * for the timing of the first benchmark, which included the choice of the position and lseek(2).
 *
 * A cell's folder holds
 *
 *	out-T.csv     of thread T: start_time,duration,size,offset,op,error,cached (s, s, bytes,
 *	              bytes, word, errno or 0, share of pages in memory before, or empty).
 *	              Operation 0 is there; the sync has a file of its own.
 *	sync-T.csv    the fsync at the end of writes
 *	stats-0.csv   /proc/self/io, memory and block device every 0.1 s
 *	proc.csv      counters of /proc before, after, and their difference
 *	params.txt    the parameters in one line, as the first benchmark printed them
 *	done          written last: a cell without this file is run again
 *
 * With `compat`, out-T.csv has the first benchmark's layout: two columns, no operation 0, the sync
 * as last row.
 */
#ifndef IOMODEL_CELL_H
#define IOMODEL_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "host/iomodel/layout.h"

enum cell_state {
	STATE_AS_IS,    /* whatever the page cache holds */
	STATE_CACHED,   /* the file is in the page cache: read before, and verified */
	STATE_UNCACHED, /* the file is on the device only: dropped before, and verified */
	STATE_DISCARD   /* /dev/zero and /dev/null: the cost of the call itself */
};

enum cell_call { CALL_PREAD, CALL_LSEEK, CALL_MMAP, CALL_URING };

struct cell {
	const char *file, *folder, *device; /* device: block device for stats-0.csv, or NULL */
	bool write, direct, compat;
	enum cell_state state;
	enum cell_call call;
	uint64_t access_bytes, file_bytes, memory_bytes, seed;
	struct layout file_layout, memory_layout;
	uint64_t n_ops; /* at most, per thread */
	double seconds; /* at most; 0: until n_ops */
	unsigned threads;
	bool sync_each; /* fdatasync after each write, within the timing */
};

enum { CELL_WHY_BYTES = 256 };

/* The result of a cell, for the printed line. */
struct cell_result {
	uint64_t n_ops, errors, bytes;
	double runtime_s; /* from the first access to the end of the last, gaps included */
	double moving_s;  /* sum of the durations of all operations of all threads */
	double sync_s;
	double cached_before; /* share of the file's pages in memory before the first access */
	double cached_ops;    /* share of operations with all pages in memory; NaN: not known */
};

extern const struct cell cell_default;

/* NW_EINVAL: parameters that cannot be; NW_EIO: the file; NW_ECONFLICT: the state of the page cache
 * could not be brought about. The words are in why. */
int cell_run(const struct cell *c, struct cell_result *out, char why[CELL_WHY_BYTES]);

/* Whether the cell's folder marks the cell as complete. */
bool cell_is_done(const struct cell *c);

const char *state_name(enum cell_state s);
const char *call_name(enum cell_call c);
int state_parse(const char *word, enum cell_state *out);
int call_parse(const char *word, enum cell_call *out);

#endif
