/* SPDX-License-Identifier: BSD-3-Clause */
/* blipp's configuration: one line a directive, "name value", '#' begins a comment. blipp(8) says
 * the same in words. */
#ifndef HOST_BLIPP_CONF_H
#define HOST_BLIPP_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "host/blipp/probe.h"

enum { BLIPP_PROBES = 10, BLIPP_TEXT_BYTES = 256, BLIPP_WHY_BYTES = 256 };

extern const struct probe *const blipp_probes[BLIPP_PROBES];
extern const char *const blipp_event_types[BLIPP_PROBES]; /* how those of each probe begin */

struct blipp_conf {
	char tls_dir[BLIPP_TEXT_BYTES]; /* "": the provider looks where it usually does */
	char box[BLIPP_TEXT_BYTES];     /* empty: the provider's default */
	char host[BLIPP_TEXT_BYTES];    /* empty: the host's name */
	int64_t interval_ns;
	int64_t report_ns; /* 0: every sample at once */
	uint64_t queue_bytes;
	char spool_dir[BLIPP_TEXT_BYTES]; /* empty: below NARROWS_SPOOL, or none */
	uint64_t spool_bytes;
	int64_t spool_age_ns;
	bool probes[BLIPP_PROBES]; /* wanted, in the order of blipp_probes */
};

void blipp_conf_init(struct blipp_conf *c); /* defaults */
/* Reads a file over c. NW_EINVAL, NW_EIO: why has "file:line: what is wrong"; c is as it was. */
int blipp_conf_read(struct blipp_conf *c, const char *path, char why[BLIPP_WHY_BYTES]);
/* One directive. NW_EINVAL with why. */
int blipp_conf_set(
    struct blipp_conf *c, const char *name, const char *value, char why[BLIPP_WHY_BYTES]);
/* One "name=value" of the command line. */
int blipp_conf_override(struct blipp_conf *c, const char *assignment, char why[BLIPP_WHY_BYTES]);

#endif
