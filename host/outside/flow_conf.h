/* SPDX-License-Identifier: BSD-3-Clause */
/* nwflow's configuration: one directive a line; nwflow(8) has the same in words. */
#ifndef HOST_OUTSIDE_FLOW_CONF_H
#define HOST_OUTSIDE_FLOW_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "host/outside/flow_list.h"
#include "narrows/conftable.h"

/* A text is NULL where no directive sets it. */
struct flow_conf {
	bool watch;
	char *box, *host, *tls_dir;
	char *allow, *deny; /* lines, as flow_rules.h has them */
	bool loopback;
	char *notices; /* socket of flow_notices.h; "none": no socket */
	uint64_t bytes, rate_bytes_per_s, sessions_max;
	int64_t after_ns, quiet_ns, look_ns;
	double budget; /* share of a processor for looks at all connections */
};

void flow_conf_init(struct flow_conf *c);
void flow_conf_clear(struct flow_conf *c);
/* On an error why has "file:line: what is wrong" and c is unchanged. */
int flow_conf_read(struct flow_conf *c, const char *path, char why[CONF_WHY_BYTES]);
int flow_conf_override(struct flow_conf *c, const char *assignment, char why[CONF_WHY_BYTES]);

#endif
