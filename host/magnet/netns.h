/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network namespaces besides this process's own. A program of netfilter sees the namespace of its
 * link: for each namespace that a view or a filter asks for, such programs have further links
 * there. A namespace with links stays until its last view and the filter are gone.
 */
#ifndef MAGNET_NETNS_H
#define MAGNET_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/magnet/program.h"

struct netns_set;

/* The cookie of the namespace at a path, of the process's own for NULL; 0: none. */
uint64_t netns_cookie(const char *path);

/* NULL without memory. */
struct netns_set *netns_set_new(void);
void netns_set_free(struct netns_set *s);

/*
 * Watches a namespace for one more view, or for the filter: links all programs there. 0 or a
 * negative errno; NULL and the own namespace need nothing, and are 0.
 */
int netns_watch(struct netns_set *s, const char *path, bool by_filter);
/* Ends the watch of one view. */
void netns_unwatch(struct netns_set *s, uint64_t cookie);
/* Ends the watch of the filter, in all namespaces. */
void netns_unfilter(struct netns_set *s);

/* Takes a program on loan that the own namespace has, for all watched namespaces. 0 or a negative
 * errno of the first that refuses. */
int netns_program_add(struct netns_set *s, const struct program *p, const char *where);

#endif
