/* SPDX-License-Identifier: BSD-3-Clause */
/* Did the bottleneck move, or does the limiting stage wait where no call is timed? */
#ifndef CLI_STAT_HIDDEN_H
#define CLI_STAT_HIDDEN_H
#include "cli/stat/stat.h"

/* Compares the windows before `change_at` with the windows from `change_at` on: {before, after:
 * {tuples, plain_verdict, delivered_bytes_per_s, busy_fraction, accounted_fraction}, count_ratio,
 * sd_ratio, ..}. The table has one row per window and component: t, component, count, dur_sum,
 * nbytes_sum, tput_mean, tput_sd. */
int hidden_wait_report(struct stat_table *t, double change_at, json_t *out, struct stat_error *err);

#endif
