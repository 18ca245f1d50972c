/* SPDX-License-Identifier: BSD-3-Clause */
/* uthash, where an insertion that has no memory fails (its hh.tbl is NULL) and does not exit. */
#ifndef NARROWS_DPSS_HASH_H
#define NARROWS_DPSS_HASH_H

#include <stdlib.h>

#define uthash_fatal(msg) abort()
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
