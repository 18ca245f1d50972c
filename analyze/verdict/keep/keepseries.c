/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/keep/keepseries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/evidence/hosttime.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* A value does not hold for longer than this. */
static const int64_t HOLD_MAX_NS = 120000000000;
static const int64_t ALWAYS_NS = INT64_MAX / 4; /* ends of all times that a clock may show */

/* A layout of the wanted series, with the field's place in the layout. */
struct part {
	int64_t layout_id, ahead_ns;
	uint32_t field;
};

struct loader {
	const struct evidence *e;
	const char *field;
	size_t event_len; /* of the event type */
	int64_t *meta, *ahead;
	size_t n_metas, now;
	struct part *part;
	size_t n_parts;
	int64_t before_wall_ns; /* time of the value before; 0 before the first */
	struct keepseries *s;
	double *held_ns;
	int64_t first_wall_ns, last_wall_ns;
};

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	struct loader *l = arg;
	size_t i;

	if (strlen(m->event_type) != l->event_len)
		return 0;
	l->meta = xreallocarray(l->meta, l->n_metas + 1, sizeof(*l->meta));
	l->ahead = xreallocarray(l->ahead, l->n_metas + 1, sizeof(*l->ahead));
	l->ahead[l->n_metas] = 0;
	for (i = 0; i < l->e->n_hosts; i++)
		if (l->e->hosts[i].id == m->host_id)
			l->ahead[l->n_metas] = l->e->hosts[i].ahead_ns;
	l->meta[l->n_metas++] = m->id;
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct loader *l = arg;
	size_t i;

	for (i = 0; i < rec->n_fields; i++)
		if (strcmp(rec->fields[i], l->field) == 0) {
			l->part = xreallocarray(l->part, l->n_parts + 1, sizeof(*l->part));
			l->part[l->n_parts++] =
			    (struct part){ rec->id, l->ahead[l->now], (uint32_t)i };
			break;
		}
	return 0;
}

static int
on_extent(void *arg, const struct store_block *b)
{
	struct loader *l = arg;

	if (b->n_rows == 0)
		return 0;
	if (l->first_wall_ns == 0 || b->t_wall_ns[0] < l->first_wall_ns)
		l->first_wall_ns = b->t_wall_ns[0];
	if (b->t_wall_ns[b->n_rows - 1] > l->last_wall_ns)
		l->last_wall_ns = b->t_wall_ns[b->n_rows - 1];
	return 0;
}

static void
hold(struct loader *l, double from, double to, double v)
{
	const double step = (double)l->s->step_ns;
	size_t i = from > 0 ? (size_t)(from / step) : 0;

	for (; i < l->s->n_rows && (double)i * step < to; i++) {
		double part = fmin(to, (double)(i + 1) * step) - fmax(from, (double)i * step);

		l->s->y[i] += v * part;
		l->held_ns[i] += part;
	}
}

static int
on_values(void *arg, const struct store_block *b)
{
	struct loader *l = arg;
	const struct part *p = &l->part[l->now];
	size_t i;

	for (i = 0; i < b->n_rows; i++) {
		double v = b->columns[p->field][i], to, from;
		int64_t since = l->before_wall_ns;

		if (since == 0 || b->t_wall_ns[i] - since > HOLD_MAX_NS)
			since = b->t_wall_ns[i] - l->s->step_ns;
		to = (double)(b->t_wall_ns[i] - l->s->t0_wall_ns);
		from = (double)(since - l->s->t0_wall_ns);
		if (isfinite(v))
			hold(l, from, to, v);
		l->before_wall_ns = b->t_wall_ns[i];
	}
	return 0;
}

static int
parts_read(struct loader *l, struct store_reader *r, store_block_fn *fn)
{
	int rc = NW_OK;

	for (l->now = 0; rc == NW_OK && l->now < l->n_parts; l->now++) {
		l->before_wall_ns = 0;
		rc = hosttime_rows(r, l->part[l->now].layout_id, &l->part[l->now].field, 1,
		    -ALWAYS_NS, ALWAYS_NS, l->part[l->now].ahead_ns, fn, l);
	}
	return rc;
}

/* Rows from the first value's time on; a value before the first row's end fills the row. */
static int
rows_fill(struct loader *l, struct store_reader *r)
{
	struct keepseries *s = l->s;
	int64_t span = l->last_wall_ns - l->first_wall_ns + s->step_ns;
	size_t i;
	int rc;

	s->t0_wall_ns = l->first_wall_ns - s->step_ns;
	s->n_rows = (size_t)(span / s->step_ns);
	s->n_rows = s->n_rows < s->cap_rows ? s->n_rows : s->cap_rows;
	l->held_ns = xcalloc(s->n_rows + 1, sizeof(*l->held_ns));
	for (i = 0; i < s->n_rows; i++)
		s->y[i] = 0;
	rc = parts_read(l, r, on_values);
	for (i = 0; i < s->n_rows; i++)
		s->y[i] = l->held_ns[i] > 0 ? s->y[i] / l->held_ns[i] : NAN;
	free(l->held_ns);
	return rc;
}

int
keepseries_load(
    struct store_reader *r, const struct evidence *e, const char *name, struct keepseries *s)
{
	struct loader l = { .e = e, .s = s, .event_len = strcspn(name, " ") };
	char *event = xasprintf("%.*s", (int)l.event_len, name);
	int rc;

	l.field = name + l.event_len + (name[l.event_len] == ' ');
	s->n_rows = 0;
	rc = store_metas(r, e->session_id, 0, event, on_meta, &l);
	for (l.now = 0; rc == NW_OK && l.now < l.n_metas; l.now++)
		rc = store_layouts(r, l.meta[l.now], on_layout, &l);
	if (rc == NW_OK)
		rc = parts_read(&l, r, on_extent);
	if (rc == NW_OK && l.first_wall_ns != 0)
		rc = rows_fill(&l, r);
	free(event);
	free(l.meta);
	free(l.ahead);
	free(l.part);
	return rc;
}
