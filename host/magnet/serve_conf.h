/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of magnet serve: one line a directive, "name value", '#' begins a comment.
 * magnet(1) has the same in words. */
#ifndef MAGNET_SERVE_CONF_H
#define MAGNET_SERVE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/conftable.h"

/* A text is NULL where no directive sets it. */
struct serve_conf {
	char *box;     /* NULL: nothing is delivered */
	char *tls_dir; /* NULL: the provider's usual directories */
	char *host;    /* NULL: the host's own name */
	char *spool_dir;
	int64_t interval_ns;
	double budget;   /* share of one processor */
	bool host_waits; /* waiting times of the whole host also without an order */
	uint64_t queue_bytes;
};

void serve_conf_init(struct serve_conf *c);
void serve_conf_clear(struct serve_conf *c);
/* Reads a file over c. On an error why has "file:line: what is wrong" and c is unchanged. */
int serve_conf_read(struct serve_conf *c, const char *path, char why[CONF_WHY_BYTES]);
/* Set a directive, by name and value or as "name=value". NW_EINVAL with why. */
int
serve_conf_set(struct serve_conf *c, const char *name, const char *value, char why[CONF_WHY_BYTES]);
int serve_conf_override(struct serve_conf *c, const char *assignment, char why[CONF_WHY_BYTES]);

#endif
