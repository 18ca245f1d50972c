/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose transfers may be watched: lines "program NAME", "user NAME", "port NUMBER", "network
 * ADDRESS/BITS". A transfer is watched if no line of `deny` fits, and a line of `allow` fits or
 * there is none.
 */
#ifndef HOST_OUTSIDE_FLOW_RULES_H
#define HOST_OUTSIDE_FLOW_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "host/lib/net_addr.h"

struct flow_facts {
	const char *program;
	uint32_t uid;
	struct net_addr local, peer;
};

/* NULL, or the fault of a line. */
const char *flow_rule_check(const char *line);
/* Lines are separated by newlines; NULL: none. */
bool flow_rules_admit(const char *allow, const char *deny, const struct flow_facts *facts);

#endif
