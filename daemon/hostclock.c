/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/hostclock.h"

#include "daemon/hostlist.h"
#include "daemon/hostseries.h"
#include "narrows/eventtype.h"

static const char *const fields[] = { "offset_s", "bound_s" };
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct hostseries_words words = { .event_type = NW_TYPE_EXCHANGE,
	.params_json = "{\"unit\":\"s\",\"kind\":\"gauge\"}",
	.fields = fields,
	.n_fields = N_FIELDS };

void
hostclock_put(struct box *box, struct host *h, int64_t xsp_id, double offset_s, double bound_s,
    int64_t now_wall_ns)
{
	const double values[N_FIELDS] = { offset_s, bound_s };

	if (h->clock_layout_id == 0)
		h->clock_layout_id = hostseries_new(box, h, &words, xsp_id, now_wall_ns);
	hostseries_put(box, h->clock_layout_id, values, N_FIELDS, now_wall_ns);
}
