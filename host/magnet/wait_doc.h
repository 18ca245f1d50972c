/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of one waiting time as a data document: a caliper's five numbers and histogram. */
#ifndef MAGNET_WAIT_DOC_H
#define MAGNET_WAIT_DOC_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/hist.h"
#include "narrows/magnet.h"

enum { WAIT_DOC_FIELDS = 8 };
extern const char *const wait_doc_names[WAIT_DOC_FIELDS];

/* one_in: one slot of time of so many was sampled. Returns the length of the histogram. */
size_t wait_doc_fill(const struct magnet_stat *s, double window_s, double one_in,
    double values[WAIT_DOC_FIELDS], uint8_t hist[NW_HIST_ENCODED_MAX_BYTES]);

/* The middle of a bucket of the kernel's histogram. */
double wait_bucket_middle(uint32_t bucket);

#endif
