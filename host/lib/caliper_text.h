/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_CALIPER_TEXT_H
#define HOST_CALIPER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct nw_caliper;

/* Whether a line is due; the call sets the time of the next. */
bool caliper_log_due(struct nw_caliper *c, int64_t now_mono_ns, int64_t interval_ns);

#endif
