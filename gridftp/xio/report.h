/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents of one session of a process: process, four stages, files and streams, in the form
 * of nwrun's collector. The sender's thread alone. */
#ifndef GRIDFTP_REPORT_H
#define GRIDFTP_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "gridftp/xio/measure.h"
#include "narrows/provider.h"

struct report;

/* NULL: no memory, or no valid address of a box. */
struct report *report_new(const struct session *s, const char *driver, const struct measure *m);
/* Waits at most `wait_ns` for the box. NULL is fine. */
void report_free(struct report *r, int64_t wait_ns);
struct nw_provider *report_provider(struct report *r);

/* Takes the session's windows and sums, and queues the documents. Frees the session's flows that
 * are closed. */
void report_make(struct report *r, struct measure *m, struct session *s, int64_t now_mono_ns);

#endif
