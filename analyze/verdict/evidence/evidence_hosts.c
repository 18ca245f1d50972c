/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of hosts: processors, disks and clocks. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/log.h"

static const double NS = 1e-9;
static const int64_t LOOK_BACK_NS = 1000000000, SILENCE_NS = 120000000000;

/* A gauge holds since the row before, or for LOOK_BACK_NS where no row came shortly before. */
static struct span
gauge_span(const struct loader *l, int64_t t_wall_ns)
{
	int64_t last = l->source->last_wall_ns;
	struct span s = { .begin_wall_ns = last, .end_wall_ns = t_wall_ns };

	if (last == 0 || t_wall_ns - last >= SILENCE_NS)
		s.begin_wall_ns = t_wall_ns - LOOK_BACK_NS;
	return s;
}

void
cpu_row(struct loader *l, const struct row *r)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double idle = row_cell(r, r->c->idle), iowait = row_cell(r, r->c->iowait);
	struct span s = gauge_span(l, r->b->t_wall_ns[r->i]);

	grid_gauge(l->e, grid_array(l->e, &h->cpu_busy, NAN), &s, 1 - idle - known_or_0(iowait));
	grid_gauge(l->e, grid_array(l->e, &h->cpu_iowait, NAN), &s, iowait);
}

/* The kernel counts pages in KiB. */
void
memory_row(struct loader *l, const struct row *r)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double writeback = row_cell(r, r->c->writeback);
	struct span s = gauge_span(l, r->b->t_wall_ns[r->i]);

	if (writeback >= 0)
		grid_gauge(l->e, grid_array(l->e, &h->writeback_bytes, NAN), &s, 1024 * writeback);
}

/* Raw counters; blipp(8) defines them. A falling counter means a restarted machine. */
void
disk_row(struct loader *l, const struct row *r)
{
	struct source *d = l->source;
	struct evidence_host *h = &l->e->hosts[d->host];
	double bytes = known_or_0(row_cell(r, r->c->read_bytes)) +
	    known_or_0(row_cell(r, r->c->written_bytes));
	double io_ms = known_or_0(row_cell(r, r->c->io_ms));
	struct span s = { .begin_wall_ns = d->last_wall_ns, .end_wall_ns = r->b->t_wall_ns[r->i] };
	double dt_s = (double)(s.end_wall_ns - s.begin_wall_ns) * NS;

	if (dt_s > 0 && bytes >= d->disk_bytes && io_ms >= d->disk_io_ms) {
		grid_raise(l->e, grid_array(l->e, &h->disk_busy, NAN), &s,
		    fmin((io_ms - d->disk_io_ms) / 1000 / dt_s, 1));
		if (bytes > d->disk_bytes)
			grid_spread(l->e, grid_array(l->e, &h->disk_bytes_per_s, 0), &s,
			    (bytes - d->disk_bytes) / ((double)l->e->step_ns * NS));
	}
	d->disk_bytes = bytes;
	d->disk_io_ms = io_ms;
}

void
clock_row(struct loader *l, const struct row *r)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double synced = row_cell(r, r->c->kernel_synced), bound_s = row_cell(r, r->c->bound_s);

	last_known(&h->clock_offset_s, row_cell(r, r->c->offset_s));
	last_known(&h->clock_bound_s, bound_s);
	if (isfinite(bound_s)) {
		h->bound_lowest_s = fmin(h->bound_lowest_s, bound_s);
		h->bound_highest_s = fmax(h->bound_highest_s, bound_s);
	}
	if (isfinite(h->clock_bound_s))
		h->clock_known = true;
	if (isfinite(synced)) {
		h->clock_sync_told = true;
		h->clock_synchronised = synced > 0;
	}
}

void
exchange_row(struct loader *l, const struct row *r)
{
	if (nw_clock_rows_add(&l->exchanges, r->b->t_wall_ns[r->i], row_cell(r, r->c->offset_s),
		row_cell(r, r->c->bound_s)) < 0)
		fatalx("no memory for the exchanges of a clock");
}

/* The times of a host go by the clock of the host's box, so no times of two sites agree better than
 * the clocks of the boxes. */
void
boxes_row(struct loader *l, const struct row *r)
{
	l->e->boxes_bound_s = fmax(l->e->boxes_bound_s, row_cell(r, r->c->bound_s));
}

static int
on_setting(void *arg, const struct nw_setting_rec *s)
{
	struct evidence_host *h = arg;

	if (strcmp(s->name, "cpu.count") == 0 && s->value != NULL)
		h->processors = fmax(0, known_or_0(strtod(s->value, NULL)));
	return 0;
}

static bool
has_waiter(const struct evidence *e, size_t host)
{
	static const double WAITED = 0.02;
	const double least_s = WAITED * (double)(e->last_wall_ns - e->first_wall_ns) * NS;
	const struct evidence_process *p;

	for (p = e->processes; p < e->processes + e->n_processes; p++)
		if (p->host == host && p->cpu_wait_s > least_s)
			return true;
	return false;
}

int
evidence_processors(struct store_reader *r, struct evidence *e)
{
	const int64_t t_wall_ns = e->last_wall_ns != 0 ? e->last_wall_ns : e->opened_wall_ns;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < e->n_hosts && rc == NW_OK; i++)
		if (has_waiter(e, i))
			rc =
			    store_config_at(r, e->hosts[i].id, t_wall_ns, on_setting, &e->hosts[i]);
	return rc;
}

/* Where no chrony speaks, the box's own measurement does; a clock of known error counts as
 * synchronised unless the kernel denies. Between two sites the larger bound counts. */
void
clocks_settle(struct evidence *e)
{
	struct evidence_host *h;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		h = &e->hosts[i];
		if (!h->clock_known && isfinite(h->exchange_bound_s)) {
			h->clock_known = true;
			h->clock_offset_s = h->exchange_offset_s;
			h->clock_bound_s = fabs(h->exchange_offset_s) + h->exchange_bound_s;
			if (!h->clock_sync_told)
				h->clock_synchronised = true;
		}
		if (h->clock_known)
			h->clock_bound_s = fmax(h->clock_bound_s, e->boxes_bound_s);
	}
}
