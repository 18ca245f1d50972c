/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock record of a host: offset and bound over time, from the series of the store. */
#include "web/answer/hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/result.h"

#define RECORD_NS (30 * INT64_C(86400000000000)) /* the longest time that a record shows */

enum { STEPS = HOST_CLOCK_STEPS, OFFSET = 0, BOUND, LOST, FIELDS };

/* A series of the store that tells of a host's clock. */
struct source {
	const char *event_type;
	const char *id;      /* of the figure */
	const char *against; /* the clock that the offset is counted from */
	bool apart;          /* the bound is of the offset alone, and does not cover it */
};

static const struct source sources[] = {
	{ NW_TYPE_EXCHANGE, "clock", "the box's clock", true },
	{ NW_TYPE_CLOCK, "clock-service", "the time service", false },
};
enum { N_SOURCES = sizeof(sources) / sizeof(sources[0]) };

/* --- the newest row --- */

struct newest {
	struct store_reader *r;
	const struct nw_layout_rec *layout;
	const char *event_type;
	int64_t t_wall_ns;
	double offset_s, bound_s;
};

static int
on_newest_row(void *arg, const struct store_block *b)
{
	struct newest *n = arg;
	size_t last = b->n_rows - 1;
	uint32_t i;

	if (b->n_rows == 0 || b->t_wall_ns[last] < n->t_wall_ns)
		return 0;
	n->t_wall_ns = b->t_wall_ns[last];
	for (i = 0; i < b->n_fields && i < n->layout->n_fields; i++) {
		if (strcmp(n->layout->fields[i], "offset_s") == 0)
			n->offset_s = b->columns[i][last];
		if (strcmp(n->layout->fields[i], "bound_s") == 0)
			n->bound_s = b->columns[i][last];
	}
	return 0;
}

static int
on_newest_layout(void *arg, const struct nw_layout_rec *l)
{
	struct newest *n = arg;
	int rc;

	n->layout = l;
	rc = store_last_row(n->r, l->id, on_newest_row, n);
	return rc == NW_ENOTFOUND ? 0 : rc;
}

static int
on_newest_meta(void *arg, const struct nw_meta_rec *m)
{
	struct newest *n = arg;

	return strcmp(m->event_type, n->event_type) == 0
	    ? store_layouts(n->r, m->id, on_newest_layout, n)
	    : 0;
}

static int
newest_read(struct newest *n, struct store_reader *r, int64_t host_id, const struct source *s)
{
	*n =
	    (struct newest){ .r = r, .event_type = s->event_type, .offset_s = NAN, .bound_s = NAN };
	return store_metas(r, 0, host_id, s->event_type, on_newest_meta, n);
}

int
host_clock_newest(
    struct store_reader *r, const struct nw_host_rec *host, double *offset_s, double *bound_s)
{
	struct newest n;
	int rc = newest_read(&n, r, host->id, &sources[0]);

	*offset_s = n.offset_s;
	*bound_s = n.bound_s;
	return rc;
}

/* --- the record --- */

struct record {
	struct store_reader *r;
	const char *event_type;
	int64_t from_wall_ns, to_wall_ns, step_ns;
	uint32_t field[2]; /* places of the fields in the layout in hand */
	/* sums of the offsets and their number, and largest bounds; afterwards means, NaN where
	 * nothing is */
	double n[STEPS], offset[STEPS], bound[STEPS];
	double lowest, highest;
};

static int
on_buckets(void *arg, const struct store_bucket_block *b)
{
	struct record *c = arg;
	const uint32_t o = c->field[OFFSET], w = c->field[BOUND];
	size_t i;
	int64_t at;

	for (i = 0; i < b->n_buckets; i++) {
		at = (b->t_wall_ns[i] - c->from_wall_ns) / c->step_ns;
		if (at < 0 || at >= STEPS || !(b->n[o][i] > 0) || !(b->max[w][i] >= 0) ||
		    !isfinite(b->sum[o][i]))
			continue;
		c->n[at] += b->n[o][i];
		c->offset[at] += b->sum[o][i];
		c->bound[at] = fmax(c->bound[at], b->max[w][i]);
		c->lowest = fmin(c->lowest, b->min[o][i]);
		c->highest = fmax(c->highest, b->max[o][i]);
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct record *c = arg;
	uint32_t i;

	c->field[OFFSET] = c->field[BOUND] = UINT32_MAX;
	for (i = 0; i < l->n_fields; i++) {
		if (strcmp(l->fields[i], "offset_s") == 0)
			c->field[OFFSET] = i;
		if (strcmp(l->fields[i], "bound_s") == 0)
			c->field[BOUND] = i;
	}
	if (c->field[OFFSET] == UINT32_MAX || c->field[BOUND] == UINT32_MAX)
		return 0;
	return store_buckets(
	    c->r, l->id, c->field, 2, c->from_wall_ns, c->to_wall_ns, c->step_ns, on_buckets, c);
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	struct record *c = arg;

	return strcmp(m->event_type, c->event_type) == 0 ? store_layouts(c->r, m->id, on_layout, c)
							 : 0;
}

static int
record_read(struct record *c, const struct nw_host_rec *host, const struct source *s)
{
	int64_t from = host->first_seen_wall_ns, to = host->last_seen_wall_ns;
	struct newest newest;
	int rc = newest_read(&newest, c->r, host->id, s);

	/* a collector tells of the clock long after its connection began */
	if (newest.t_wall_ns > to)
		to = newest.t_wall_ns;
	if (rc < 0 || to < from || to > INT64_MAX - 2 * RECORD_NS || from < 0)
		return rc;
	if (to - from > RECORD_NS)
		from = to - RECORD_NS;
	c->step_ns = (to - from) / STEPS + INT64_C(1000000000);
	c->from_wall_ns = from;
	c->to_wall_ns = from + STEPS * c->step_ns;
	c->event_type = s->event_type;
	c->lowest = INFINITY;
	c->highest = -INFINITY;
	return store_metas(c->r, 0, host->id, s->event_type, on_meta, c);
}

/* --- as a document --- */

static void
append(json_t *list, double v)
{
	json_array_append_new(list, isfinite(v) ? json_real(v) : json_null());
}

/* Steps with values, as lists of the document; returns how many offsets are beyond their bounds. */
static size_t
steps_put(json_t *o, const struct record *c)
{
	json_t *t = json_array(), *offset = json_array(), *bound = json_array();
	size_t i, n_apart = 0;

	for (i = 0; i < STEPS; i++) {
		if (!(c->n[i] > 0))
			continue;
		json_array_append_new(
		    t, json_string(fmt_int(c->from_wall_ns + (int64_t)i * c->step_ns).s));
		append(offset, c->offset[i] / c->n[i]);
		append(bound, c->bound[i]);
		n_apart += fabs(c->offset[i] / c->n[i]) > c->bound[i];
	}
	result_set(o, KEY_clock_record_t_ns, t);
	result_set(o, KEY_clock_record_offset_s, offset);
	result_set(o, KEY_clock_record_bound_s, bound);
	return n_apart;
}

/* NULL: no step has values. */
static json_t *
record_document(const struct record *c, const struct source *s)
{
	json_t *o = json_object();
	size_t n_apart = steps_put(o, c);

	if (json_array_size(result_list(o, KEY_clock_record_t_ns)) == 0) {
		json_decref(o);
		return NULL;
	}
	result_put_text(o, KEY_clock_record_figure, s->id);
	result_put_text(o, KEY_clock_record_against, s->against);
	result_put_real(o, KEY_clock_record_step_s, (double)c->step_ns / 1e9);
	result_put_real(o, KEY_clock_record_lowest_s, c->lowest);
	result_put_real(o, KEY_clock_record_highest_s, c->highest);
	result_set(o, KEY_clock_record_n_apart,
	    s->apart ? json_integer((json_int_t)n_apart) : json_null());
	return o;
}

int
host_clock_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out)
{
	struct record *c = malloc(sizeof(*c));
	json_t *list = json_array(), *o;
	size_t i;
	int rc = c != NULL ? NW_OK : NW_ENOMEM;

	for (i = 0; i < N_SOURCES && rc == NW_OK; i++) {
		*c = (struct record){ .r = r };
		rc = record_read(c, host, &sources[i]);
		if (rc == NW_OK && (o = record_document(c, &sources[i])) != NULL)
			json_array_append_new(list, o);
	}
	free(c);
	*out = list;
	if (rc < 0) {
		json_decref(list);
		*out = NULL;
	}
	return rc;
}
