/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/hostclock.h"

#include <math.h>
#include <stdio.h>

#include "daemon/hostlist.h"
#include "daemon/hostseries.h"
#include "narrows/eventtype.h"

static const char *const fields[] = { "offset_s", "bound_s" };
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct hostseries_words words = { .event_type = NW_TYPE_EXCHANGE,
	.params_json = "{\"unit\":\"s\",\"kind\":\"gauge\"}",
	.fields = fields,
	.n_fields = N_FIELDS };
/* Times so far apart are those of two clocks. */
static const double APART_S = 1;

static bool
is_apart(const struct host *h, double offset_s, double bound_s)
{
	return h->clock_senders > 0 && fabs(offset_s - h->clock_offset_s) > APART_S + bound_s;
}

/* A sender with the host's clock keeps the host's clock, also after a step. */
static void
sender_settle(struct box *box, struct host *h, struct hostclock_sender *s, int64_t xsp_id,
    double offset_s, double bound_s, int64_t now_wall_ns)
{
	struct hostseries_words own = words;
	char name[24];

	if (s->shares || s->layout_id != 0)
		return;
	if (is_apart(h, offset_s, bound_s)) {
		snprintf(name, sizeof(name), "%lld", (long long)xsp_id);
		own.key = NW_CLOCK_OF_SENDER;
		own.name = name;
		s->layout_id = hostseries_new(box, h, &own, xsp_id, now_wall_ns);
		return;
	}
	s->shares = true;
	h->clock_senders++;
	if (h->clock_layout_id == 0)
		h->clock_layout_id = hostseries_new(box, h, &words, xsp_id, now_wall_ns);
}

void
hostclock_put(struct box *box, struct host *h, struct hostclock_sender *s, int64_t xsp_id,
    double offset_s, double bound_s, int64_t now_wall_ns)
{
	const double values[N_FIELDS] = { offset_s, bound_s };

	sender_settle(box, h, s, xsp_id, offset_s, bound_s, now_wall_ns);
	if (s->shares)
		h->clock_offset_s = offset_s;
	hostseries_put(
	    box, s->shares ? h->clock_layout_id : s->layout_id, values, N_FIELDS, now_wall_ns);
}

void
hostclock_leave(struct host *h, struct hostclock_sender *s)
{
	if (s->shares)
		h->clock_senders--;
	*s = (struct hostclock_sender){ 0 };
}
