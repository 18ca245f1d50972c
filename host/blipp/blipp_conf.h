/* SPDX-License-Identifier: BSD-3-Clause */
/* blipp's configuration: one line a directive, "name value", '#' begins a comment. blipp(8) has
 * the same in words. */
#ifndef HOST_BLIPP_CONF_H
#define HOST_BLIPP_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "host/blipp/probe/probe.h"
#include "narrows/conftable.h"

extern const struct probe *const blipp_probes[BLIPP_PROBES];

/* A text is NULL where no directive sets it. */
struct blipp_conf {
	char *tls_dir;  /* NULL: the provider's usual directories */
	char *listen;   /* where /metrics is served; NULL: nowhere */
	char *box;      /* NULL: the provider's default */
	char *chronyd;  /* where chronyd takes commands; NULL: the usual place */
	char *host;     /* NULL: the host's own name */
	char *commands; /* lines of the directive `probe`; NULL: none */
	char *peers;    /* lines of the directive `peer`; NULL: none */
	struct bandwidth_conf bandwidth;
	struct scratch_conf scratch;
	char *groups;   /* lines of the directive `cgroup`; NULL: none */
	char *programs; /* names parted by blanks; NULL: none */
	char *include;  /* patterns of devices, see filter.h; NULL: every device */
	char *exclude;  /* NULL: no device */
	int64_t interval_ns;
	int64_t report_ns; /* 0 reports every sample at once */
	uint64_t queue_bytes;
	char *spool_dir; /* NULL: the directory below NARROWS_SPOOL, if that is set */
	uint64_t spool_bytes;
	int64_t spool_age_ns;
	char *log_to; /* where lines of events go, see linelog.h; NULL: nowhere */
	int64_t log_interval_ns;
	double budget_percent;     /* of a core; 0: any */
	bool configuration;        /* the host's settings are sent */
	bool all_tcp_fields;       /* of followed connections, also fields without a reader */
	bool diet;                 /* the box may order series to be sent seldom */
	bool probes[BLIPP_PROBES]; /* probes that are wanted, in the order of blipp_probes */
};

/* Sets the defaults; blipp_conf_clear() frees the texts. */
void blipp_conf_init(struct blipp_conf *c);
void blipp_conf_clear(struct blipp_conf *c);
/* Reads a file over c. On an error why has "file:line: what is wrong" and c is unchanged. */
int blipp_conf_read(struct blipp_conf *c, const char *path, char why[CONF_WHY_BYTES]);
/* Sets one directive. NW_EINVAL with why. */
int
blipp_conf_set(struct blipp_conf *c, const char *name, const char *value, char why[CONF_WHY_BYTES]);
/* Sets one "name=value" of the command line. */
int blipp_conf_override(struct blipp_conf *c, const char *assignment, char why[CONF_WHY_BYTES]);

#endif
