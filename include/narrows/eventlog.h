/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of a program, at the cost of a caliper: nw_event() notes the time, a point of the
 * program's path and some values in a buffer, without system call, lock or allocation. One thread
 * moves what has gathered to a provider (narrows/provider.h) now and then. A full buffer drops the
 * new event and counts it.
 *
 *	int read_begin = nw_event_point(log, "disk.read.start", keys, 2);   (keys: block.id, bytes)
 *	...
 *	nw_event(log, read_begin, (int64_t[]){ block, bytes });
 *	...
 *	nw_eventlog_flush(log, provider);    (once a second, by the provider's thread)
 */
#ifndef NARROWS_EVENTLOG_H
#define NARROWS_EVENTLOG_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/event.h"
#include "narrows/public.h"

enum { NW_EVENTLOG_KEYS_MAX = 6, NW_EVENTLOG_POINTS_MAX = 1024 };

struct nw_eventlog;
struct nw_provider;

/* program: told with each event; NULL: not told. n_events: room, rounded up to a power of two; 0:
 * 65,536 (5 MiB). NW_ENOMEM, NW_EINVAL. */
NW_PUBLIC int nw_eventlog_new(const char *program, size_t n_events, struct nw_eventlog **out);
NW_PUBLIC void nw_eventlog_free(struct nw_eventlog *l); /* NULL is fine */
/*
 * A point of the program, with the keys of its values; keys named like ids are ids
 * (nw_event_key_is_id()). Any thread. The number for nw_event(), the same for the same name and
 * keys; NW_EINVAL, NW_ETOOBIG, NW_ENOMEM. Text is copied.
 */
NW_PUBLIC int
nw_event_point(struct nw_eventlog *l, const char *name, const char *const *keys, size_t n_keys);
/* The program is at a point now: values in the order of the point's keys. Any thread, but no signal
 * handler that may interrupt another call. A number that is no point is ignored. */
NW_PUBLIC void nw_event(struct nw_eventlog *l, int point, const int64_t *values);
/* The same for a time that was taken before. */
NW_PUBLIC void
nw_event_at(struct nw_eventlog *l, int point, int64_t t_wall_ns, const int64_t *values);

/* Moves events to a builder, one thread at a time. NW_OK: all; NW_ETOOBIG: the builder is full;
 * NW_ENOMEM. */
NW_PUBLIC int nw_eventlog_take(struct nw_eventlog *l, struct nw_events *b);
/* Moves all events to the provider's queue, by the provider's thread. Or why not all. */
NW_PUBLIC int nw_eventlog_flush(struct nw_eventlog *l, struct nw_provider *p);
/* Events dropped for want of room. */
NW_PUBLIC uint64_t nw_eventlog_dropped(const struct nw_eventlog *l);

#endif
