/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of command lines. */
#ifndef NARROWS_DPSS_OPTION_H
#define NARROWS_DPSS_OPTION_H

#include <stdbool.h>
#include <stdint.h>

/* False: not a number, or not within min and max; *out is unchanged. */
bool option_real(const char *text, double min, double max, double *out);
bool option_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* Bytes, also with a unit: "64 KiB". */
bool option_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
