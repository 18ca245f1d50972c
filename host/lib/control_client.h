/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider's end of control, for blipp and nwrun's collector: takes the box's orders from the
 * provider, keeps their leases, and says STATUS every 10 s and after each change. One thread, the
 * provider's.
 */
#ifndef HOST_CONTROL_CLIENT_H
#define HOST_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/lease.h"
#include "narrows/provider.h"

enum { CONTROL_REFUSED_BYTES = 256, CONTROL_IDS_BYTES = 1024 };

struct control_client {
	struct nw_provider *provider; /* provider of the process; set before orders come */
	const char *can;              /* words of the orders that are taken: "start stop rate" */
	uint64_t rejected;
	const char *why; /* reason of the last rejection; static text, NULL before the first */
	/* why an order in force is not carried out, for the box; empty: all orders are */
	char refused[CONTROL_REFUSED_BYTES];
	char declined[CONTROL_IDS_BYTES]; /* ids of orders in force that will not be carried out */
	double budget, slowed; /* for STATUS, see order.h; 0: the provider has no budget */
	int64_t samples;       /* for STATUS, see order.h */
	/* Takes a DIET, and sets `changed` if the diet is another; a negative code comes with *why.
	 * NULL: the provider takes none. */
	int (*take_diet)(void *arg, const uint8_t *doc, size_t len, const char **why);
	void *diet_arg;
	int64_t diet_series, diet_unknown; /* for STATUS, see order.h */
	int64_t overruns;
	/* begin of the stretch whose share of a core is told next */
	int64_t cost_mono_ns;
	double cost_cpu_s, cpu_share; /* processor time at the begin; share reported last */
	bool changed; /* orders came, changed or ended since the last control_client_step() */
	int64_t status_mono_ns; /* when the next STATUS is due; set to 0 for at once */
	struct nw_doc_buf doc;
	struct leases leases; /* at the end: a short program never touches the list */
};

/* can: on loan. The rest is zero. */
void control_client_init(struct control_client *o, const char *can);
void control_client_clear(struct control_client *o);
/* For nw_provider_opts: on_order; the argument is the control client. */
void control_client_order(void *arg, uint16_t opt, const uint8_t *doc, size_t len);

/* Ends leases whose time is over. Returns true if orders have changed since the last
 * call. */
bool control_client_step(struct control_client *o, int64_t now_mono_ns);
/* After control_client_step(): sends STATUS when due or after a change. collecting: words. */
void control_client_status(struct control_client *o, int64_t now_mono_ns, const char *collecting,
    int64_t collection_ns, int64_t report_ns);
/* Adds an id to a list of ids parted by blanks; an id that does not fit is left out whole. */
void control_client_id_add(char ids[CONTROL_IDS_BYTES], const char *id);
/* Processor time of the process since its start. */
double control_client_cpu_s(void);
/* Call control_client_step() by then. */
int64_t control_client_deadline(const struct control_client *o);

#endif
