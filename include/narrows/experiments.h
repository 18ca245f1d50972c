/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The natural experiments of the fleet (narrows/natural.h), "narrows-experiments/1": settings that
 * changed on some hosts in the last 60 days, and the rates of all routes over these hosts. The
 * daily job makes the document; the list of incidents shows it.
 */
#ifndef NARROWS_EXPERIMENTS_H
#define NARROWS_EXPERIMENTS_H

#include "narrows/store.h"

/* The document as JSON; free() the text. NW_ENOMEM or the store's code. */
int experiments_make(struct store_reader *r, int64_t now_wall_ns, char **json);

#endif
