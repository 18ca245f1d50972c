/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs in the kernel (bpf/outside.bpf.c): loaded, attached, given processes to watch, read.
 * What they leave in the kernel is gone when the trace is closed or its process ends. */
#ifndef HOST_OUTSIDE_TRACE_H
#define HOST_OUTSIDE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/outside/record.h"

enum { TRACE_WHY_BYTES = 160 };

struct trace;

/* Loads the programs, which is most of the work; nothing runs before trace_begin().
 * NW_EUNSUPPORTED: the kernel refuses, and `why` says which capability is missing. */
int trace_open(struct trace **out, char why[TRACE_WHY_BYTES]);
int trace_begin(struct trace *t, char why[TRACE_WHY_BYTES]);
void trace_close(struct trace *t);
/* Whether requests of io_uring are recorded: their tracepoints differ between kernels. */
bool trace_has_uring(const struct trace *t);

/* From now on the calls of the process, and of the processes it makes, are recorded. Also tells
 * what descriptors of the process were made for before. NW_EFULL */
int trace_add(struct trace *t, uint32_t pid);
void trace_remove(struct trace *t, uint32_t pid);
/* Processes that enter the control group are recorded from then on. */
int trace_add_group(struct trace *t, uint64_t group);
/* Ends all recording; records in the ring stay. */
void trace_stop(struct trace *t);

/* Waits for records at most timeout_ms and hands over all that are there. */
typedef void trace_record_fn(void *arg, const void *record, size_t bytes);
void trace_read(struct trace *t, int timeout_ms, trace_record_fn *fn, void *arg);
/* Hands over all threads' calls under way, and calls that have just ended. */
typedef void trace_thread_fn(void *arg, uint32_t tid, const struct outside_thread *now);
void trace_threads(struct trace *t, trace_thread_fn *fn, void *arg);
/* Records of the process that found no room in the ring so far. */
void trace_lost(const struct trace *t, uint32_t pid, uint64_t *ops, uint64_t *bytes);

#endif
