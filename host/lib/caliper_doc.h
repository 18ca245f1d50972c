/* SPDX-License-Identifier: BSD-3-Clause */
/* A caliper window as the numbers of a data document. */
#ifndef HOST_CALIPER_DOC_H
#define HOST_CALIPER_DOC_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/caliper.h"
#include "narrows/hist.h"

enum { CALIPER_FIELDS = 30 };
extern const char *const caliper_doc_names[CALIPER_FIELDS];

/* Fills values, in the order of the names, and the encoded histogram. Returns the histogram's
 * length, 0 for a window without. */
size_t caliper_doc_fill(const struct nw_caliper_window *w, double values[CALIPER_FIELDS],
    uint8_t hist[NW_HIST_ENCODED_MAX_BYTES]);

#endif
