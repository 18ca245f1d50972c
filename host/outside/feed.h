/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From records of the kernel (record.h) to the region that nwrun's collector reads (nwshm.h): the
 * same slots, lanes and objects that nwrun.so fills from inside, filled by the same code. The files
 * preload_op.c, preload_cells.c and preload_object.c are linked here, with a preload_sys.c of this
 * room that answers for the watched process.
 *
 *	feed.c       records, in their order
 *	feed_call.c  calls into the counters
 *	feed_proc.c  slots of processes and threads
 *	feed_fd.c    descriptors and their objects
 *	feed_sys.c   what the watched process would be told by the system
 *
 * All of this belongs to one thread, and there is one feed in a process.
 */
#ifndef HOST_OUTSIDE_FEED_H
#define HOST_OUTSIDE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/nwrun/collect/region.h"
#include "host/outside/record.h"

struct feed;

/* NULL: no memory for the map. The region stays the caller's and outlives the feed. */
struct feed *feed_new(struct region *region);
/* Ends all processes as at the end of a watch. */
void feed_free(struct feed *f);
/* Begins to count for a running process. Returns false without such a process or a free slot. */
bool feed_attach(struct feed *f, uint32_t pid);
/* Connections with another address than this (on loan) count for nothing; NULL: all count. */
void feed_only_peer(struct feed *f, const struct net_addr *peer);
/* A process just before the exec of the program to watch. */
void feed_expect(struct feed *f, uint32_t pid);
/* A record as it came from the ring; malformed records are left out. */
void feed_record(struct feed *f, const void *record, size_t bytes);
/* Counts the last call of every thread, which the next record could still lengthen: now and then,
 * and at the end. */
void feed_settle(struct feed *f);
/* A thread's call under way. */
void feed_under_way(struct feed *f, uint32_t tid, const struct outside_thread *t);
/* Records of a process that found no room, in total. */
void feed_lost(struct feed *f, uint32_t pid, uint64_t ops, uint64_t bytes);
/* Ends a process that is gone without a record of its end: a process that ended just before the
 * watch began. The second call in a row that finds no process ends it, since the record may still
 * be on its way at the first. Within feed_each, too. */
void feed_gone_check(struct feed *f, uint32_t pid);
/* Number of watched and expected processes. */
size_t feed_count(const struct feed *f);
/* Calls fn for each watched process. */
void feed_each(const struct feed *f, void (*fn)(void *arg, uint32_t pid), void *arg);

#endif
