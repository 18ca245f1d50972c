/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from nwrun to its collector. The collector is inside nwrun, without TLS: the libraries of
 * TLS take longer to load than the rest of nwrun. Where the box wants TLS, and where nwrun was
 * built without the static library for documents, the collector comes from a library of its own.
 * In a nwrun without shared libraries all is inside.
 */
#ifndef HOST_COLLECTOR_H
#define HOST_COLLECTOR_H

#include "host/nwrun/collect/collect_run.h"

/* Defined where the collector inside has no TLS (conf/plain.c). */
extern const char collector_plain;

/* Chooses the collector for the box, an address or NULL; finds the library, if that is needed, in
 * the directory of nwrun.so, whose path is given. Text on failure. */
const char *collector_find(const char *preload_path, const char *box);

/* In the collector's process: becomes the collector; returns when the process should exit. Words
 * on a failure go to notice_fd. */
void collector_run(struct region *region, const struct collect_run_opts *opts);

#endif
