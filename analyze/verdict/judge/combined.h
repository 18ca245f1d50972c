/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that read the disk and send at once, as a blocking sendfile() does: calipers see such
 * calls in both stages and cannot choose, but the kernel's account of the connection can.
 */
#ifndef COMBINED_H
#define COMBINED_H

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/limit.h"
#include "analyze/verdict/judge/resources.h"

/* Decides a limit of such calls by the account of the same windows. Returns whether the account
 * named the stage; without an opinion the limit becomes unknown. Leaves other limits alone. */
bool combined_decide(
    const struct evidence *e, const struct nw_path *p, const struct resources *r, struct limit *l);
/* Whether two stages show the same calls. */
bool combined_is_pair(
    const struct evidence *e, const struct nw_path *p, const struct limit *l, size_t a, size_t b);

#endif
