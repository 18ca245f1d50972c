/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's part in the kernel: the maps, and the programs of attached points. The first
 * switch attaches a point for the life of the process; switching is a store into a mapped page,
 * seen by the kernel at the next event.
 *
 * One thread uses a kernel. Errors are NW_E*; kernel_why() has the words, on loan until the next
 * call.
 */
#ifndef MAGNET_KERNEL_SIDE_H
#define MAGNET_KERNEL_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/magnet/points.h"
#include "narrows/magnet.h"

struct kernel;
struct ring;

enum { KERNEL_WHY_BYTES = 256 };

/* NW_EUNSUPPORTED: the kernel refuses, or a capability lacks; the words name the reason. */
int kernel_open(struct kernel **out, char why[KERNEL_WHY_BYTES]);
void kernel_close(struct kernel *k);
const char *kernel_why(const struct kernel *k);

/* The switches, mapped: a store takes effect at the next event. */
volatile struct magnet_control *kernel_control(struct kernel *k);

/* The ids of points before attaching: the programs load together, several times cheaper than one
 * after the other. A point without attaching costs no event. */
void kernel_points_expect(struct kernel *k, const bool expected[MAGNET_POINTS_MAX]);
/* Attaches a point by the first candidate that works. NW_OK also for an attached point. */
int kernel_point_attach(struct kernel *k, const struct point *p);
/* The candidate in use, or NULL; and why candidate i was refused: an errno, 0 if it was not
 * tried. */
const struct candidate *kernel_point_candidate(const struct kernel *k, const struct point *p);
int kernel_point_refusal(const struct kernel *k, const struct point *p, int i);

/* Why the datagrams that sockets without a peer send have no ends at an attached point: an errno;
 * 0: they have, or the point has none. */
int kernel_point_refusal_beside(const struct kernel *k, const struct point *p);

/* The IP layer's points see the namespace at a path as well, for a view that is made next, or for
 * the filter. Views and filters are whole without the call where the points see all namespaces. */
int kernel_netns_watch(struct kernel *k, const char *path, bool by_filter);
/* Takes a watch for a view back, if the view is not made; removing a view does it, too. */
void kernel_netns_unwatch(struct kernel *k, uint64_t cookie);

/* Points of users (user_point.h has places and fields): each joins, and leaves again. Adding leaves
 * the point off. find returns 0, and name NULL, for a point that is not there. */
int kernel_user_add(struct kernel *k, const char *name, const char *place, char *const *fields,
    size_t n_fields, uint32_t *point);
int kernel_user_remove(struct kernel *k, const char *name);
uint32_t kernel_user_find(const struct kernel *k, const char *name);
const char *kernel_user_name(const struct kernel *k, uint32_t point, const char **where);

/* Attaches and detaches the programs for waiting times between layers. An error of attaching means:
 * not a single program could be attached. */
int kernel_waits_attach(struct kernel *k);
void kernel_waits_detach(struct kernel *k);

/* The sockets that are followed with MAGNET_WAITS_FLOWS, by their cookie. */
int kernel_flow_add(struct kernel *k, uint64_t cookie);
void kernel_flow_remove(struct kernel *k, uint64_t cookie);

/* The source of a view's events; 0: any. The packets of a virtual machine are those of its tap
 * device, everything else of the machine is its process's control group. */
struct view_of {
	uint64_t netns_cookie, cgroup_id, device; /* device: the index of an interface */
};

/*
 * Makes a view with a ring of ring_bytes (a power of two of at least a page). Of all zeros it has
 * all events, and is MAGNET_VIEW_ALL.
 */
int
kernel_view_add(struct kernel *k, uint64_t ring_bytes, const struct view_of *of, uint32_t *view);
int kernel_view_remove(struct kernel *k, uint32_t view);
/* Duplicates of the descriptors for a reader of the view; the caller closes the duplicates. */
int kernel_view_fds(struct kernel *k, uint32_t view, int *ring_fd, int *armed_fd);

/* Filters: adds a value to a set, and switches the filter on. */
enum filter {
	FILTER_CPU,
	FILTER_ID,
	FILTER_CGROUP,
	FILTER_NETNS,
	FILTER_PORT,
	FILTER_PID,
	FILTER_FLOW /* the sum of magnet_end_key() of both ends */
};
int kernel_filter_add(struct kernel *k, enum filter f, uint64_t value);
/* Of a pair of ports or a flow, either port: events without a known peer pass by it. */
int kernel_filter_half_add(struct kernel *k, enum filter f, uint16_t port);
void kernel_filter_clear(struct kernel *k, enum filter f);

/* Sums over processors. */
void kernel_counts(struct kernel *k, uint32_t point, struct magnet_counts *sum);
void kernel_counts_cpu(struct kernel *k, uint32_t point, int cpu, struct magnet_counts *out);
int kernel_cpus(const struct kernel *k);

/*
 * Takes the statistics since the last call: the programs write to the other table from now on. fn
 * is called for each key with the sum over processors, on loan.
 */
typedef void
kernel_stat_fn(void *arg, const struct magnet_stat_key *key, const struct magnet_stat *s);
void kernel_stats_take(struct kernel *k, kernel_stat_fn *fn, void *arg);

/* An event of the user's own at point id (MAGNET_USER_POINTS_FIRST and above). */
int kernel_user_event(struct kernel *k, uint32_t point, uint64_t id, int32_t value);

/* count such events in a row, made inside the kernel: to measure what a ring takes. */
int kernel_burst(struct kernel *k, uint32_t point, uint32_t count);

/* Run time of the attached programs, in nanoseconds and runs, while kernel_own_cost() is on. */
int kernel_own_cost(struct kernel *k, bool on);
void kernel_own_cost_get(struct kernel *k, uint64_t *run_ns, uint64_t *runs, uint64_t *recursions);

#endif
