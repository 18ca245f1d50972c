/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of Rucio, the data management of the LHC's experiments: a client or a pilot sends a JSON
 * document by HTTP (POST /traces/) for each file that it read or wrote, with the times of its own
 * steps. Bytes in, structs out, as in narrows/announce.h. A trace names its storage by Rucio's name
 * of the storage element, unless the pilot adds the URL.
 */
#ifndef NARROWS_RUCIO_H
#define NARROWS_RUCIO_H

#include "narrows/announce.h"

enum { NW_RUCIO_TRACES_MAX = 64 };

/* What became of a document. */
struct nw_rucio_got {
	unsigned traces;    /* in the document */
	unsigned transfers; /* traces of a transfer that is done; passed to the caller */
};

/* Called for each transfer; `a` is on loan. */
typedef void nw_rucio_fn(void *arg, const struct nw_announcement *a);

/*
 * Reads a trace, or a list of at most NW_RUCIO_TRACES_MAX. `peer` is the numeric address of the
 * sender, and the client's end of a transfer whose trace says no address. Traces of other events,
 * failed transfers and transfers without times are no fault, and are not passed. NW_EPROTO or
 * NW_ETOOBIG with static *why; the transfers before the fault have been passed.
 */
int nw_rucio_read(const char *bytes, size_t len, const char *peer, nw_rucio_fn *fn, void *arg,
    struct nw_rucio_got *got, const char **why);

#endif
