/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of the host as blipp tells it: at the start, when it has changed (blipp
 * looks every five minutes), and when the box gives an order for a session. narrows-xsp(7) has the
 * documents.
 * A document tells all settings of a range of names, at most CONFIGURATION_PART of them; blipp
 * sends the ranges in which something has changed. The provider keeps every version until the box
 * has stored what came after.
 */
#ifndef HOST_CONFIGURATION_H
#define HOST_CONFIGURATION_H

#include <stdint.h>

#include "host/blipp/probe/filter.h"
#include "host/blipp/settings/settings_list.h"
#include "narrows/provider.h"

enum { CONFIGURATION_PART = 200, CONFIGURATION_PARTS_MAX = 64, CONFIGURATION_ID_BYTES = 320 };

struct configuration_part {
	char from[SETTING_NAME_BYTES], until[SETTING_NAME_BYTES];
	uint64_t hash; /* of the settings as they were sent */
	char id[CONFIGURATION_ID_BYTES];
};

struct configuration {
	struct configuration_part parts[CONFIGURATION_PARTS_MAX]; /* as sent last */
	size_t n_parts;
	int64_t due_mono_ns, looked_mono_ns; /* of the next look, of the last one */
	uint64_t left_out;                   /* settings beyond the bounds, at the last look */
};                                           /* zero to start */

struct clock_pair;
/* Looks, if it is time, and sends what has changed. Returns the number of documents. */
size_t configuration_step(struct configuration *c, struct nw_provider *p, const char *host,
    const struct filter *filter, struct clock_pair now);
/* A session begins, perhaps: looks at once, but not twice in five seconds. */
void configuration_hasten(struct configuration *c);
/* The same with settings that the caller has collected and sorted. */
size_t configuration_send(struct configuration *c, const struct settings *s, struct nw_provider *p,
    const char *host, int64_t t_wall_ns);
/* Every group of settings, sorted. */
void configuration_collect(struct settings *s, const struct filter *filter);

#endif
