/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider's end of control, for blipp and nwrun's collector: takes the box's orders from the
 * provider, keeps their leases, and says STATUS every 10 s and after each change. One thread, the
 * provider's.
 */
#ifndef HOST_OBEY_H
#define HOST_OBEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/lease.h"
#include "narrows/provider.h"

struct obey {
	struct nw_provider *provider; /* set when it exists: orders come after that */
	const char *can;              /* which orders are taken: "start stop rate" */
	struct leases leases;
	uint64_t rejected;
	const char *why; /* the last one was; static text, NULL: none yet */
	bool changed;    /* orders came, changed or ended since obey_step() was called last */
	int64_t status_mono_ns; /* when the next STATUS is due; set to 0 for at once */
	struct nw_doc_buf doc;
};

/* can: on loan. The rest is zero. */
void obey_init(struct obey *o, const char *can);
void obey_clear(struct obey *o);
/* For nw_provider_opts: on_order, with the obey as its argument. */
void obey_order(void *arg, uint16_t opt, const uint8_t *doc, size_t len);

/* Ends leases that are over. True: orders have changed since the last call, so look at them
 * anew. */
bool obey_step(struct obey *o, int64_t now_mono_ns);
/* After obey_step(): says STATUS if it is due or was asked for by a change. collecting: words. */
void obey_status(struct obey *o, int64_t now_mono_ns, const char *collecting, int64_t collection_ns,
    int64_t report_ns);
/* Call obey_step() by then. */
int64_t obey_deadline(const struct obey *o);

#endif
