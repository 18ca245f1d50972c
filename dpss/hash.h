/* SPDX-License-Identifier: BSD-3-Clause */
/* uthash, with insertions that fail without memory (hh.tbl is NULL) instead of an exit. */
#ifndef NARROWS_DPSS_HASH_H
#define NARROWS_DPSS_HASH_H

#include <stdlib.h>

#define uthash_fatal(msg) abort()
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
