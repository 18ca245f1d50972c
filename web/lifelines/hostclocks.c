/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/hostclocks.h"

#include <math.h>
#include <string.h>

#include "narrows/clockspan.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"

#define HOUR_NS    INT64_C(3600000000000)
#define LEAD_MAX_S 4e9

struct clocks {
	struct store_reader *r;
	struct lineset *s;
	struct lineset_clock *clock; /* clock of the host in hand */
	uint32_t offset, bound;      /* fields of the layout in hand */
	bool exchange;               /* by CLOCK, not by chrony */
	struct nw_clock_rows rows;
};

static int
on_rows(void *arg, const struct store_block *b)
{
	struct clocks *c = arg;
	double offset;
	int rc = NW_OK;
	size_t i;

	for (i = 0; i < b->n_rows && rc == NW_OK; i++) {
		offset = b->columns[c->offset][i];
		/* chrony's bound covers the offset */
		rc = nw_clock_rows_add(
		    &c->rows, b->t_wall_ns[i], c->exchange ? offset : 0, b->columns[c->bound][i]);
	}
	return rc;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct clocks *c = arg;
	const struct lineset *s = c->s;
	int64_t from = s->first_wall_ns > HOUR_NS ? s->first_wall_ns - HOUR_NS : 0,
		to = s->last_wall_ns < INT64_MAX - HOUR_NS ? s->last_wall_ns + HOUR_NS : INT64_MAX;
	uint32_t i;

	c->offset = c->bound = UINT32_MAX;
	for (i = 0; i < l->n_fields; i++) {
		if (strcmp(l->fields[i], "offset_s") == 0)
			c->offset = i;
		if (strcmp(l->fields[i], "bound_s") == 0)
			c->bound = i;
	}
	if (c->offset == UINT32_MAX || c->bound == UINT32_MAX)
		return 0;
	return store_rows(c->r, l->id, from, to, on_rows, c);
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	struct clocks *c = arg;

	if (c->exchange && strstr(m->subject_json, "\"" NW_CLOCK_OF_SENDER "\":") != NULL)
		return 0; /* the clock of one sender, not the host's */
	return store_layouts(c->r, m->id, on_layout, c);
}

/* The events bear the times of a clock that may be far ahead: what is known of the clock at those
 * times tells when the events were by the box's clock. */
static void
clock_settle(struct clocks *c)
{
	double *offset = &c->clock->offset_s, *bound = &c->clock->bound_s;
	int64_t from, to;

	if (c->rows.n > 0 &&
	    nw_clock_span(&c->rows, c->s->first_wall_ns, c->s->last_wall_ns, offset, bound) &&
	    fabs(*offset) < LEAD_MAX_S &&
	    !__builtin_sub_overflow(c->s->first_wall_ns, llround(*offset * 1e9), &from) &&
	    !__builtin_sub_overflow(c->s->last_wall_ns, llround(*offset * 1e9), &to))
		(void)nw_clock_span(&c->rows, from, to, offset, bound);
	nw_clock_rows_clear(&c->rows);
}

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct clocks *c = arg;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < c->s->hosts.n; i++)
		if (strcmp(c->s->hosts.text[i], h->name) == 0)
			break;
	if (i == c->s->hosts.n)
		return 0;
	c->clock = &c->s->clock[i];
	c->exchange = true;
	rc = store_metas(c->r, 0, h->id, NW_TYPE_EXCHANGE, on_meta, c);
	clock_settle(c);
	c->exchange = false;
	if (rc == NW_OK && isnan(c->clock->bound_s))
		rc = store_metas(c->r, 0, h->id, NW_TYPE_CLOCK, on_meta, c);
	clock_settle(c);
	return rc;
}

int
hostclocks_read(struct store_reader *r, struct lineset *s)
{
	struct clocks c = { .r = r, .s = s };
	size_t i;

	for (i = 0; i < s->hosts.n; i++)
		s->clock[i] = (struct lineset_clock){ .offset_s = NAN, .bound_s = NAN };
	return s->hosts.n > 0 ? store_hosts(r, on_host, &c) : NW_OK;
}

double
hostclock_settle(struct lineset_clock *c, bool raw)
{
	double bound = c->bound_s;
	bool far = fabs(c->offset_s) > bound && fabs(c->offset_s) < LEAD_MAX_S;

	if (isnan(bound))
		return bound;
	c->measured = far && !raw;
	if (c->measured)
		c->lead_ns = llround(c->offset_s * 1e9);
	else
		c->bound_s += fabs(c->offset_s);
	return far ? bound : c->bound_s;
}
