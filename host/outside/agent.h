/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent: looks at all TCP connections of the host, and has each that becomes a transfer
 * measured from outside, in a session of its own, without a start by hand. One child process per
 * process and peer, which ends with the last connection between the two.
 */
#ifndef HOST_OUTSIDE_AGENT_H
#define HOST_OUTSIDE_AGENT_H

#include "host/outside/flow_conf.h"

/* Runs until a signal ends the agent. Returns the program's exit status. */
int agent_run(const struct flow_conf *conf);

#endif
