/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of command lines. */
#ifndef NARROWS_DPSS_OPTION_H
#define NARROWS_DPSS_OPTION_H

#include <stdbool.h>
#include <stdint.h>

/* Returns false, with *out unchanged, if the text is no number within min and max. */
bool option_real(const char *text, double min, double max, double *out);
bool option_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* Bytes, also with a unit: "64 KiB". */
bool option_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
