/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders and answers of strangers: the first byte is the option, the rest its document. What is
 * taken is whole. */
#include "narrows/order.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

/* What was taken is said again in the same words. */
static void
check_order(const struct nw_order *o)
{
	struct nw_doc_buf doc = { 0 };
	struct nw_order again;
	const char *why;

	MUST(nw_order_check(o, &why) == NW_OK);
	MUST(nw_order_encode(&doc, o) == NW_OK);
	MUST(nw_order_decode(&again, o->opt, doc.data, doc.len, &why) == NW_OK);
	MUST(strcmp(o->id, again.id) == 0);
	if (o->opt != NW_OPT_STOP)
		MUST(o->collection_ns == again.collection_ns && o->report_ns == again.report_ns &&
		    o->lease_ns == again.lease_ns && strcmp(o->event_type, again.event_type) == 0);
	nw_doc_buf_clear(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_order_status s;
	struct nw_order o;
	struct nw_diet d;
	struct nw_clock c;
	const char *why = NULL;
	double offset_s, bound_s;
	int rc = NW_OK;

	if (len == 0)
		return 0;
	switch (data[0]) {
	case NW_OPT_STATUS: rc = nw_order_status_decode(&s, data + 1, len - 1, &why); break;
	case NW_OPT_DIET: rc = nw_diet_decode(&d, data + 1, len - 1, &why); break;
	case NW_OPT_CLOCK:
		rc = nw_clock_decode(&c, data + 1, len - 1, &why);
		if (rc == NW_OK && nw_clock_offset(&c, c.t1_wall_ns, &offset_s, &bound_s) == NW_OK)
			MUST(bound_s >= 0);
		break;
	default:
		if ((rc = nw_order_decode(&o, data[0], data + 1, len - 1, &why)) == NW_OK)
			check_order(&o);
	}
	MUST(rc == NW_OK || why != NULL);
	return 0;
}
