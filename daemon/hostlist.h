/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured hosts by name. */
#ifndef HOSTLIST_H
#define HOSTLIST_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

struct box;

struct host {
	int64_t id;
	char *name; /* hash key */
	int64_t first_seen_wall_ns;
	/* layout of the host's nw:clock (hostclock.h), 0 before the first exchange */
	int64_t clock_layout_id;
	double clock_offset_s;       /* by the last exchange */
	unsigned clock_senders;      /* connected senders with this clock */
	struct hostcost *collectors; /* hostcost.h */
	/* a clock put forward by each document of settings; see settings.c */
	int64_t settings_mono_ns;
	UT_hash_handle hh;
};

/* Finds or makes a host and notes the time. The host lives as long as the box. */
struct host *host_seen(struct box *box, const char *name, const char *info_json);
bool host_is_known(const struct box *box, const char *name);
/* Startup. */
void host_restore(struct box *box, int64_t id, const char *name, int64_t first_seen_wall_ns);
void host_free_all(struct box *box);

#endif
