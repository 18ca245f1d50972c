/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader: the collector's process that maps the region. */
#ifndef HOST_COLLECT_READER_H
#define HOST_COLLECT_READER_H

#include "host/nwrun/collect/collect.h"

/* Serves the sender at the other end of fd until the sender closes. Never returns. */
void collect_read(struct region *region, const struct collect_opts *opts, int fd)
    __attribute__((noreturn));

#endif
